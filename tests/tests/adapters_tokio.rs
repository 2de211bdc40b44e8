//! What runs on tokio: timer and spawning, on runtimes of both flavours, with real and with paused time.
#![allow(clippy::unwrap_used)]

use futures_lite::future::{block_on, poll_once};
use runloom::testing::{Attempt, ScriptedModel};
use runloom::tokio::{NoRuntime, TaskEnded, TokioTimer, spawn, spawn_local_on, spawn_on};
use runloom::{
    CancelCause, Completion, Engine, Finish, Host, ModelItem, ModelSpec, Problem, ProblemKind, RunResult,
    Session, SessionState, Shared, Time, Timer, local_model_fn, sleep, sleep_until,
};
use runloom_tests::bare::Flag;
use runloom_tests::runs::{assert_ended, seconds};
use std::pin::pin;
use std::rc::Rc;
use std::task::Context;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

fn threads() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn paused() -> Runtime {
    Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
}

fn session(timer: TokioTimer, script: impl IntoIterator<Item = Attempt>) -> Session<Shared, TokioTimer> {
    let model = ScriptedModel::timed(timer.clone(), script);
    let host = Host::shared().model(ModelSpec::new("scripted"), model).build().unwrap();
    Engine::new(host, timer).session().unwrap()
}

// proves: X3
#[test]
fn without_a_runtime_there_are_errors_and_no_panics() {
    assert_eq!(TokioTimer::current().unwrap_err(), NoRuntime);
    let runtime = threads();
    let session = session(TokioTimer::on(runtime.handle().clone()), ["a".into()]);
    let (run, driver) = session.start("go").unwrap();
    assert_eq!(spawn(driver).unwrap_err(), NoRuntime);
    assert_ended(run.handle());
    assert_eq!(run.handle().try_outcome().unwrap().result, RunResult::Cancelled(CancelCause::DriverDropped));
}

/// The timer of a runtime works where no runtime is.
// proves: X2, X3
#[test]
fn the_timer_works_on_other_executors() {
    let runtime = threads();
    let timer = TokioTimer::on(runtime.handle().clone());
    let busy = Problem::new(ProblemKind::Overloaded, "busy");
    let nap = Attempt::new().wait(Duration::from_millis(5)).text("b");
    let session = session(timer.clone(), [Attempt::new().refuse(busy), nap]);
    let (run, driver) = session.start("go").unwrap();
    let driver = smol::spawn(driver);
    let outcome = block_on(run.outcome());
    assert_eq!(outcome.answer().unwrap().text, "b");
    assert!(timer.now() >= Time::from_millis(1_005), "{}", timer.now());
    block_on(driver);
}

/// Where time is paused it jumps to the next wait, and a run that waits for seconds takes none.
// proves: X2, X3
#[test]
fn paused_time_passes_by_waits_alone() {
    let runtime = paused();
    let timer = TokioTimer::on(runtime.handle().clone());
    let busy = || Problem::new(ProblemKind::Overloaded, "busy");
    let script = [Attempt::new().refuse(busy()), Attempt::new().refuse(busy()), "c".into()];
    let session = session(timer.clone(), script);
    let outcome = runtime.block_on(async {
        let (run, driver) = session.start("go").unwrap();
        let task = spawn(driver).unwrap();
        let outcome = run.outcome().await;
        assert_eq!(task.await.unwrap().result, outcome.result);
        assert_ended(run.handle());
        outcome
    });
    assert_eq!(outcome.answer().unwrap().text, "c");
    assert_eq!(timer.now(), Time::from_secs(3));
}

/// An alarm that is set anew goes off at its new time, earlier or later; what is far away stays away.
// proves: X3
#[test]
fn alarms_are_set_anew_and_reach_far() {
    let runtime = paused();
    let mut timer = TokioTimer::on(runtime.handle().clone());
    let (flag, waker) = Flag::new();
    let mut cx = Context::from_waker(&waker);
    let passes = |span| runtime.block_on(async move { tokio::time::sleep(span).await });
    for far in [Time::from_secs(60), Time::MAX, Time::from_secs(u64::MAX / 1_000_000)] {
        assert!(timer.poll_at(far, &mut cx).is_pending());
    }
    assert!(timer.poll_at(Time::from_secs(10), &mut cx).is_pending());
    passes(seconds(9));
    assert!(!flag.take());
    assert!(timer.poll_at(Time::from_secs(20), &mut cx).is_pending());
    passes(seconds(6));
    assert!(!flag.take() && timer.poll_at(Time::from_secs(20), &mut cx).is_pending());
    passes(seconds(6));
    assert!(flag.take() && timer.poll_at(Time::from_secs(20), &mut cx).is_ready());
    // Over the bound of 2^31 ms, and past the two years after which tokio's wheel comes round.
    for days in [30, 1_000] {
        let at = timer.now().after(seconds(days * 24 * 3600));
        runtime.block_on(sleep_until(timer.clone(), at));
        assert_eq!(timer.now(), at);
    }
}

/// A runtime that goes away takes its drivers along, and their runs end (C8).
// proves: C8, X2
#[test]
fn a_runtime_that_is_shut_down_ends_its_runs() {
    for abort in [false, true] {
        let runtime = threads();
        let timer = TokioTimer::on(runtime.handle().clone());
        let session = session(timer, [Attempt::new().text("a").hang()]);
        let (mut run, driver) = session.start("go").unwrap();
        let task = spawn_on(runtime.handle(), driver);
        let mut events = run.events();
        while block_on(events.next()).unwrap().event.kind().as_str() != "text.delta" {}
        if abort {
            task.abort();
            assert_eq!(runtime.block_on(task).unwrap_err(), TaskEnded);
        } else {
            drop(runtime);
            assert!(task.is_finished());
        }
        assert_ended(run.handle());
        let outcome = run.handle().try_outcome().unwrap();
        assert_eq!(outcome.result, RunResult::Cancelled(CancelCause::DriverDropped));
        assert_eq!((session.state(), session.history().len()), (SessionState::Idle, 2));
    }
}

/// A wait on a runtime that is gone fails the run, and nothing panics beyond it.
// proves: E2, X3
#[test]
fn a_timer_without_its_runtime_fails_the_run() {
    let runtime = threads();
    let session = session(TokioTimer::on(runtime.handle().clone()), [Attempt::new().hang()]);
    let (run, driver) = session.start("go").unwrap();
    drop(runtime);
    let mut driver = pin!(driver);
    assert!(block_on(poll_once(&mut driver)).is_some());
    assert_ended(run.handle());
    assert!(matches!(run.handle().try_outcome().unwrap().result, RunResult::Failed(_)));
}

// proves: X2
#[test]
fn local_sets_take_what_is_not_send() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let said = Rc::new("said");
    let model = local_model_fn(move |_, _| {
        let said = Rc::clone(&said);
        async move {
            let text = ModelItem::Text(said.to_string().into());
            let done = ModelItem::Done(Box::new(Completion::new(Some(Finish::Stop), "stop")));
            Ok(futures_lite::stream::iter([text, done].into_iter().inspect(move |_| drop(Rc::clone(&said)))))
        }
    });
    let host = Host::local().model(ModelSpec::new("m"), model).build().unwrap();
    let timer = TokioTimer::on(runtime.handle().clone());
    let session = Engine::new(host, timer.clone()).session().unwrap();
    let (run, driver) = session.start("go").unwrap();
    let set = LocalSet::new();
    let task = spawn_local_on(&set, driver);
    let outcome = set.block_on(&runtime, async {
        sleep(timer, Duration::from_millis(2)).await;
        assert!(task.is_finished());
        task.await.unwrap()
    });
    assert_eq!(outcome.answer().unwrap().text, "said");
    assert_ended(run.handle());
}
