//! Required observers: order, what waits for them, failures, the time after the end.

use crate::stage::*;
use futures_lite::future::{block_on, pending};
use runloom::testing::{Attempt, ScriptedModel};
use runloom::{
    BestEffortOptions, CancelReply, DurabilityReason, Engine, EventKind, Host, HostError, MAX_OBSERVERS,
    ManualTimer, ModelSpec, RunError, RunResult, Seq, SessionState, StartError, Time, local_observer_fn,
    observer_fn,
};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn model() -> ScriptedModel {
    ScriptedModel::new(["one".into()])
}

// proves: L5
#[test]
fn o01_log_then_each_required_observer_then_the_best_effort_ones() {
    let seen = crate::stage::Seen::default();
    let (a, b) = (noting("a", &seen, None), noting("b", &seen, None));
    let engine = engine(host(model()).observer(a).observer(b));
    let mut x = engine.best_effort(BestEffortOptions::new(8)).unwrap();
    let (mut run, mut driver) = engine.session().unwrap().start("hello").unwrap();
    let mut at_x = 0;
    let (at_a, at_b) = loop {
        let ended = polled(&mut driver, 1);
        // The log is first, and each of the others is behind the one before.
        let logged = run.handle().events_after(Seq(0), 100).len();
        let (at_a, at_b) = (of(&seen, "a").len(), of(&seen, "b").len());
        while let Some(event) = x.try_next() {
            at_x += 1;
            assert_eq!((event.envelope.seq.0, event.dropped), (at_x as u64, 0));
        }
        assert!(logged >= at_a && at_a >= at_b && at_b >= at_x, "{logged} {at_a} {at_b} {at_x}");
        polled(&mut std::pin::pin!(async { while run.take().is_some() {} }), 1);
        polled(&mut std::pin::pin!(run.fill()), 1);
        if ended.is_some() {
            break (at_a, at_b);
        }
    };
    assert_eq!((at_a, at_b, at_x), (7, 7, 7));
    assert_eq!(of(&seen, "a"), (1..=7).collect::<Vec<_>>());
    assert_eq!(of(&seen, "b"), (1..=7).collect::<Vec<_>>());
}

// proves: L5
#[test]
fn o02_what_the_first_refuses_nobody_sees_and_the_run_fails_with_the_next_numbers() {
    let seen = crate::stage::Seen::default();
    let (a, b) = (noting("a", &seen, Some(2)), noting("b", &seen, None));
    let engine = engine(host(model()).observer(a).observer(b));
    let mut x = engine.best_effort(BestEffortOptions::new(8)).unwrap();
    let (outcome, kinds) = played(&engine.session().unwrap());
    assert_eq!(
        kinds,
        ["run.started", "step.started", "model.started", "model.cancelled", "step.failed", "run.failed"]
    );
    assert_eq!(of(&seen, "a"), [1, 3, 4, 5, 6]);
    assert_eq!(of(&seen, "b"), [1, 3, 4, 5, 6]);
    let at_x: Vec<u64> = std::iter::from_fn(|| x.try_next()).map(|event| event.envelope.seq.0).collect();
    assert_eq!(at_x, [1, 3, 4, 5, 6]);
    let RunResult::Failed(error) = &outcome.result else { panic!("{:?}", outcome.result) };
    assert!(matches!(**error, RunError::Observer { observer: 0, seq: Seq(2), .. }), "{error:?}");
    assert_eq!(outcome.durability, None);
}

// proves: L5
#[test]
fn o03_what_the_second_refuses_the_first_has_kept_and_is_not_asked_about_again() {
    let seen = crate::stage::Seen::default();
    let (a, b) = (noting("a", &seen, None), noting("b", &seen, Some(2)));
    let engine = engine(host(model()).observer(a).observer(b));
    let mut x = engine.best_effort(BestEffortOptions::new(8)).unwrap();
    let (outcome, _) = played(&engine.session().unwrap());
    assert_eq!(of(&seen, "a"), [1, 2, 3, 4, 5, 6]);
    assert_eq!(of(&seen, "b"), [1, 3, 4, 5, 6]);
    let at_x: Vec<u64> = std::iter::from_fn(|| x.try_next()).map(|event| event.envelope.seq.0).collect();
    assert_eq!(at_x, [1, 3, 4, 5, 6]);
    assert!(matches!(&outcome.result, RunResult::Failed(error) if error.code() == "observer_failed"));
}

// proves: L5, C3
#[test]
fn o05_a_cancel_while_an_observer_works_closes_the_log_at_once_and_waits_for_it_within_the_budget() {
    let timer = ManualTimer::new();
    let observer = observer_fn(|_| pending());
    let engine = Engine::new(host(model()).observer(observer).build().unwrap(), timer.clone());
    let session = engine.session().unwrap();
    let (run, mut driver) = session.start("hello").unwrap();
    assert!(polled(&mut driver, 3).is_none());
    assert_eq!(run.cancel(), CancelReply::Cancelled);
    let handle = run.handle();
    let last = handle.events_after(Seq(0), 100).last().map(|last| last.event.kind());
    assert_eq!(last, Some(EventKind::RunCancelled));
    assert!(handle.try_outcome().is_none());
    assert_eq!(session.state(), SessionState::Cancelling);
    assert!(matches!(session.start("more"), Err(StartError::Busy)));
    timer.set(Time::from_millis(1_999));
    assert!(polled(&mut driver, 3).is_none());
    timer.set(Time::from_millis(2_000));
    let outcome = polled(&mut driver, 3).expect("the time is up");
    assert!(matches!(outcome.result, RunResult::Cancelled(_)));
    let lost = outcome.durability.clone().expect("nobody has answered");
    assert_eq!((lost.observer, lost.seq, lost.reason), (0, Seq(1), DurabilityReason::TimedOut));
    assert_eq!((session.state(), engine.runs()), (SessionState::Idle, 0));
}

// proves: L5
#[test]
fn o08_an_observer_that_refuses_the_terminal_event_shows_in_the_durability_only() {
    let seen = crate::stage::Seen::default();
    let session = session(host(model()).observer(noting("a", &seen, Some(7))));
    let (outcome, kinds) = played(&session);
    assert_eq!(outcome.answer().map(|answer| answer.text.as_str()), Some("one"));
    let lost = outcome.durability.clone().expect("it was refused");
    assert_eq!((lost.kind, lost.seq), (EventKind::RunCompleted, Seq(7)));
    assert_eq!(lost.to_string(), "required observer 0 did not accept event 7, run.completed: refused");
    assert_eq!(kinds.iter().filter(|kind| kind.starts_with("run.")).count(), 2);
    assert_eq!(session.state(), SessionState::Completed);
}

// proves: L5
#[test]
fn many_events_that_come_at_once_are_asked_about_together() {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let own = Arc::clone(&requests);
    let observer = observer_fn(move |request: Arc<runloom::ObserveRequest>| {
        own.lock().unwrap().push((request.after().0, request.through().0));
        std::future::ready(Ok(()))
    });
    let text = (0..40).fold(Attempt::new(), |attempt, _| attempt.text("x"));
    let (outcome, _) = played(&session(host(ScriptedModel::new([text])).observer(observer)));
    let requests = requests.lock().unwrap();
    assert_eq!(requests.first(), Some(&(0, 3)));
    assert!(requests.windows(2).all(|pair| pair[0].1 == pair[1].0), "{requests:?}");
    assert_eq!(requests.last().map(|last| last.1), Some(outcome.last_seq.0));
    // The first delta, and all that was taken in with it; not one request for each.
    assert!(requests.len() <= 6, "{requests:?}");
}

// proves: L5, X2
#[test]
fn local_observers_may_hold_what_stays_on_one_thread() {
    let kept = Rc::new(RefCell::new(Vec::new()));
    let store = Rc::clone(&kept);
    let observer = local_observer_fn(move |request| {
        let store = Rc::clone(&store);
        async move {
            store.borrow_mut().extend(request.events.iter().map(|envelope| envelope.to_json(&request.run)));
            Ok(())
        }
    });
    let host = Host::local().model(ModelSpec::new("m"), model()).observer(observer).build().unwrap();
    let session = Engine::new(host, ManualTimer::new()).session().unwrap();
    let (run, driver) = session.start("hello").unwrap();
    let (handle, stream) = run.split();
    drop_unread(stream, &handle);
    let outcome = block_on(driver);
    let log: Vec<String> = handle.log_json().lines().map(str::to_owned).collect();
    assert_eq!(*kept.borrow(), log);
    assert_eq!(outcome.durability, None);
}

/// The stream goes, and the run goes on: its outcome is awaited.
fn drop_unread(stream: runloom::EventStream, handle: &runloom::RunHandle) {
    let waiting = handle.outcome();
    drop(stream);
    drop(waiting);
}

// proves: L5, C8, C10
#[test]
fn drops_and_shutdown_do_not_wait_and_say_so() {
    let hanging = || host(model()).observer(observer_fn(|_| pending()));
    // The handle.
    let engine = engine(hanging());
    let session = engine.session().unwrap();
    let (run, mut driver) = session.start("hello").unwrap();
    assert!(polled(&mut driver, 3).is_none());
    drop(run);
    assert_eq!((session.state(), engine.runs()), (SessionState::Idle, 0));
    let outcome = polled(&mut driver, 1).expect("it has ended");
    let reason = |outcome: &runloom::Outcome| outcome.durability.clone().map(|lost| lost.reason);
    assert_eq!(reason(&outcome), Some(DurabilityReason::Abandoned));
    // The driver.
    let (run, driver) = session.start("again").unwrap();
    drop(driver);
    let outcome = run.handle().try_outcome().expect("it has ended");
    assert_eq!(reason(&outcome), Some(DurabilityReason::Abandoned));
    // The engine.
    let (run, mut driver) = session.start("again").unwrap();
    assert!(polled(&mut driver, 3).is_none());
    assert_eq!(engine.shutdown(), 1);
    let outcome = run.handle().try_outcome().expect("it has ended");
    assert_eq!(reason(&outcome), Some(DurabilityReason::Abandoned));
    assert_eq!(session.state(), SessionState::Idle);
}

// proves: L5, H6
#[test]
fn the_value_of_a_suspended_run_is_its_outcome_when_its_end_is_accepted() {
    use runloom::{ApprovalPolicy, HostAnswer, ToolOutput, ToolSpec, tool_fn};
    let seen = crate::stage::Seen::default();
    let spec = ToolSpec::new("t", "", "{}").unwrap().approval(ApprovalPolicy::Ask);
    let tool = tool_fn(spec, |_, _| async { Ok(ToolOutput::text("done")) });
    let model = ScriptedModel::new([Attempt::new().call("t", "{}"), Attempt::new().text("end")]);
    let engine = engine(host(model).tool(tool).observer(noting("a", &seen, None)));
    let session = engine.session().unwrap();
    let (run, mut driver) = session.start("hello").unwrap();
    while run.requests().is_empty() {
        assert!(polled(&mut driver, 1).is_none());
    }
    let value = run.suspend().unwrap();
    assert!(run.handle().try_outcome().is_none());
    assert!(matches!(session.resume(Arc::clone(&value)), Err(StartError::Busy)));
    let outcome = block_on(driver);
    assert!(matches!(&outcome.result, RunResult::Suspended(own) if Arc::ptr_eq(own, &value)));
    let (run, driver) = session.resume(value).unwrap();
    let request = run.requests()[0].id.clone();
    run.respond(&request, HostAnswer::allow()).unwrap();
    let (outcome, _) = driven(run, driver);
    assert_eq!(outcome.answer().map(|answer| answer.text.as_str()), Some("end"));
    assert_eq!(of(&seen, "a"), (1..=outcome.last_seq.0).collect::<Vec<_>>());
}

// proves: L5
#[test]
fn a_host_has_a_bounded_number_of_observers() {
    let with = |count: usize| {
        let accepts = || observer_fn(|_| std::future::ready(Ok(())));
        (0..count).fold(host(model()), |host, _| host.observer(accepts())).build()
    };
    let most = MAX_OBSERVERS as usize;
    assert_eq!(with(most).map(|host| host.observers()), Ok(MAX_OBSERVERS));
    assert_eq!(with(most + 1).map(|host| host.observers()), Err(HostError::Observers(most + 1)));
}

// proves: L5, X2
#[test]
fn observers_on_smols_threads_and_real_time() {
    let asked = Arc::new(AtomicUsize::new(0));
    let own = Arc::clone(&asked);
    let observer = observer_fn(move |request: Arc<runloom::ObserveRequest>| {
        own.fetch_add(request.events.len(), Ordering::SeqCst);
        async {
            smol::Timer::after(Duration::from_millis(3)).await;
            Ok(())
        }
    });
    let host = host(ScriptedModel::new([Attempt::new().text("a").text("b"), "c".into()])).observer(observer);
    let session = Engine::new(host.build().unwrap(), runloom::smol::SmolTimer::new()).session().unwrap();
    for _ in 0..2 {
        let (run, driver) = session.start("hello").unwrap();
        let driving = smol::spawn(driver);
        let outcome = smol::block_on(async {
            let outcome = run.outcome().await;
            driving.await;
            outcome
        });
        assert_eq!(asked.swap(0, Ordering::SeqCst) as u64, outcome.last_seq.0);
        assert_eq!(outcome.durability, None);
    }
}
