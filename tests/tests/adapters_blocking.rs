//! Runs without an executor: a thread that parks, and alarms that it rings itself.
#![allow(clippy::unwrap_used)]

use runloom::blocking::{self, BlockingTimer};
use runloom::testing::{Attempt, ScriptedModel, ScriptedTool};
use runloom::{
    CancelCause, Engine, Event, Host, ModelSpec, Problem, ProblemKind, RunResult, Session, SessionState,
    Shared, StartError, Time, Timer, sleep,
};
use runloom_tests::runs::assert_ended;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Duration;

const BRIEF: Duration = Duration::from_millis(3);

fn session(
    timer: &BlockingTimer,
    script: impl IntoIterator<Item = Attempt>,
) -> Session<Shared, BlockingTimer> {
    let model = ScriptedModel::timed(timer.clone(), script);
    let tool =
        ScriptedTool::timed(timer.clone(), "nap").wait(BRIEF).progress("well").wait(BRIEF).output("slept");
    let host = Host::shared().model(ModelSpec::new("scripted"), model).tool(tool).build().unwrap();
    Engine::new(host, timer.clone()).session().unwrap()
}

/// Waits of model, tool and engine all pass on the one thread, and each event is seen.
// proves: X2, X3
#[test]
fn a_run_needs_no_executor() {
    let timer = BlockingTimer::new();
    let busy = Problem::new(ProblemKind::Overloaded, "busy");
    let attempts = [Attempt::new().refuse(busy), Attempt::new().wait(BRIEF).call("nap", "{}"), "end".into()];
    let session = session(&timer, attempts);
    let mut seen = Vec::new();
    let outcome = blocking::run(&session, "go", |envelope| seen.push(envelope.clone())).unwrap();
    assert_eq!(outcome.answer().unwrap().text, "end");
    assert!(seen.iter().map(|envelope| envelope.seq.0).eq(1..=outcome.last_seq.0));
    assert!(timer.now() >= Time::from_micros(1_009_000), "{}", timer.now());
    assert_eq!((session.state(), session.history().len()), (SessionState::Completed, 4));
}

/// A function that panics ends the run, which is committed; the panic is the caller's.
// proves: C8
#[test]
fn a_panic_in_the_function_ends_the_run() {
    let session = session(&BlockingTimer::new(), [Attempt::new().text("a").hang(), "c".into()]);
    let ended = catch_unwind(AssertUnwindSafe(|| {
        blocking::run(&session, "go", |envelope| assert!(!matches!(envelope.event, Event::TextDelta(_))))
    }));
    assert!(ended.is_err());
    assert_eq!(session.state(), SessionState::Idle);
    let again = blocking::run(&session, "and now?", |_| {}).unwrap();
    assert_eq!(again.answer().unwrap().text, "c");
}

// proves: C7
#[test]
fn another_thread_cancels() {
    let timer = BlockingTimer::new();
    let session = session(&timer, [Attempt::new().text("a").hang()]);
    let (run, driver) = session.start("go").unwrap();
    assert!(matches!(blocking::run(&session, "too", |_| {}), Err(StartError::Busy)));
    let token = run.cancellation_token();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(BRIEF);
        token.cancel();
    });
    let outcome = timer.block_on(driver);
    assert_eq!(outcome.result, RunResult::Cancelled(CancelCause::Requested));
    assert_ended(run.handle());
    thread.join().unwrap();
}

/// Alarms are rung by whatever thread blocks, also those that another thread sets meanwhile, and the earliest counts.
// proves: X3
#[test]
fn threads_ring_each_others_alarms() {
    let timer = BlockingTimer::new();
    let (stop, stopped) = mpsc::channel::<()>();
    let ringer = {
        let timer = timer.clone();
        // It waits for an hour unless it learns of an earlier alarm.
        std::thread::spawn(move || {
            let far = sleep(timer.clone(), Duration::from_secs(3_600));
            timer.block_on(futures_lite::future::or(far, async {
                while stopped.try_recv().is_err() {
                    sleep(timer.clone(), BRIEF).await;
                }
            }));
        })
    };
    let before = timer.now();
    futures_lite::future::block_on(sleep(timer.clone(), 3 * BRIEF));
    assert!(timer.now() >= before.after(3 * BRIEF));
    // Nested, with a thread's token that the inner one takes.
    let sum = timer.block_on(async {
        std::thread::current().unpark();
        let inner = timer.block_on(async {
            sleep(timer.clone(), BRIEF).await;
            1
        });
        sleep(timer.clone(), BRIEF).await;
        inner + 1
    });
    assert_eq!(sum, 2);
    stop.send(()).unwrap();
    ringer.join().unwrap();
}
