//! What several threads do to one run at the same time, many times over.

use futures_lite::future::{block_on, poll_once};
use runloom::testing::{Attempt, ScriptedModel, ScriptedTool};
use runloom::{
    Access, CancelCause, CancelReply, Config, Engine, Envelope, Event, EventStream, Host, Limits,
    ManualTimer, ModelSpec, Run, RunResult, Seq, Session, SessionState, Shared, StartError, ToolContext,
    ToolOutput, ToolSpec, tool_fn,
};
use std::hint::spin_loop;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const TIMES: usize = 500;

type TestSession = Session<Shared, ManualTimer>;

fn engine_over(host: Host<Shared>, capacity: usize) -> Engine<Shared, ManualTimer> {
    let mut limits = Limits::default();
    limits.event_capacity = capacity;
    Engine::builder(host, ManualTimer::new()).config(Config::new(limits).expect("limits")).build()
}

/// An engine whose runs make two steps with two tools between them.
fn engine(capacity: usize) -> Engine<Shared, ManualTimer> {
    let calls = Attempt::new().text("one ").text("moment").call("look", "{}").call("look", "{}");
    let model = ScriptedModel::new((0..TIMES).flat_map(|_| [calls.clone(), "done".into()]));
    let look = ScriptedTool::new("look").declared(|spec| spec.access(Access::Shared));
    let look = look.progress("looking").output("seen");
    engine_over(
        Host::shared().model(ModelSpec::new("m"), model).tool(look).build().expect("a host"),
        capacity,
    )
}

/// One terminal, after numbers without a gap; a history that the next run can go on with.
fn check(session: &TestSession, events: &[Envelope]) {
    for (at, envelope) in events.iter().enumerate() {
        assert_eq!(envelope.seq, Seq(at as u64 + 1));
        assert_eq!(envelope.event.is_terminal(), at + 1 == events.len(), "{events:?}");
    }
    assert!(!events.is_empty());
    assert_eq!(session.history().open_calls(), 0);
    assert!(!matches!(session.state(), SessionState::Running | SessionState::Cancelling));
}

fn wait(turns: usize) {
    (0..turns).for_each(|_| spin_loop());
}

async fn drain(mut stream: EventStream) -> Vec<Envelope> {
    let mut events = Vec::new();
    while let Some(envelope) = stream.next().await {
        events.push(envelope);
    }
    events
}

/// Drives, reads and commands a run in three threads; each time the command comes a little later.
// proves: E2, C3, C7
#[test]
fn a_cancel_from_anywhere_has_one_winner() {
    let (engine, mut won) = (engine(1), 0);
    for time in 0..TIMES {
        let session = engine.session().expect("a session");
        let (run, driver) = session.start("go").expect("a run");
        let (handle, stream) = run.split();
        let barrier = Barrier::new(3);
        let (outcome, events, reply) = thread::scope(|scope| {
            let drives = scope.spawn(|| {
                barrier.wait();
                block_on(driver)
            });
            let reads = scope.spawn(|| {
                barrier.wait();
                block_on(drain(stream))
            });
            barrier.wait();
            wait(time * 120);
            let reply = if time % 2 == 0 {
                handle.cancel()
            } else {
                handle.cancellation_token().cancel();
                CancelReply::AlreadyFinished
            };
            (drives.join().expect("a driver"), reads.join().expect("a reader"), reply)
        });
        check(&session, &events);
        let cancelled = matches!(outcome.result, RunResult::Cancelled(CancelCause::Requested));
        assert!(cancelled || outcome.answer().is_some(), "{:?}", outcome.result);
        if time % 2 == 0 {
            assert_eq!(reply == CancelReply::Cancelled, cancelled);
        }
        won += usize::from(cancelled);
    }
    assert!(won > 0);
}

/// Whatever is dropped while the driver runs in another thread, the run ends once, and at once.
// proves: E2, C8, C9
#[test]
fn drops_race_with_the_driver() {
    let engine = engine(64);
    for time in 0..TIMES {
        let session = engine.session().expect("a session");
        let (run, driver) = session.start("go").expect("a run");
        let (handle, stream) = run.split();
        let mut parts = (Some(handle), Some(stream));
        let barrier = Barrier::new(2);
        let outcome = thread::scope(|scope| {
            let drives = scope.spawn(|| {
                barrier.wait();
                block_on(driver)
            });
            barrier.wait();
            wait(time * 120);
            match time % 3 {
                0 => drop(parts.0.take()),
                1 => drop(parts.1.take()),
                _ => drop((parts.1.take(), parts.0.take())),
            }
            // A stream that goes alone has the run end at its next event.
            if time % 3 == 0 {
                assert!(!matches!(session.state(), SessionState::Running | SessionState::Cancelling));
            }
            drives.join().expect("a driver")
        });
        if let Some(handle) = &parts.0 {
            check(&session, &handle.events_after(Seq(0), usize::MAX));
        }
        let fits = match &outcome.result {
            RunResult::Completed(_) => true,
            RunResult::Cancelled(cause) => *cause == CancelCause::HandleDropped,
            RunResult::Failed(error) => error.code() == "consumer_gone",
            _ => false,
        };
        assert!(fits, "{:?}", outcome.result);
    }
}

/// A shutdown between any two lines of a start either refuses the run or ends it.
// proves: C10
#[test]
fn a_shutdown_races_with_starts() {
    let mut counted = [0; 2];
    for time in 0..TIMES {
        let engine = engine(64);
        let session = engine.session().expect("a session");
        let barrier = Barrier::new(2);
        let (started, ended) = thread::scope(|scope| {
            let starts = scope.spawn(|| {
                barrier.wait();
                session.start("go")
            });
            barrier.wait();
            wait(time % 400);
            (starts.join(), engine.shutdown())
        });
        match started.expect("no panic") {
            Ok((run, driver)) => {
                let outcome = run.handle().try_outcome().expect("it has ended");
                assert!(matches!(outcome.result, RunResult::Cancelled(CancelCause::Shutdown)));
                check(&session, &run.handle().events_after(Seq(0), usize::MAX));
                assert_eq!(block_on(driver).last_seq, outcome.last_seq);
                counted[0] += ended;
            }
            Err(StartError::EngineShutdown(_)) => {
                assert_eq!(session.state(), SessionState::Idle);
                counted[1] += 1;
            }
            Err(error) => panic!("{error}"),
        }
        assert_eq!(engine.shutdown(), 0);
    }
    assert!(counted[0] > 0, "{counted:?}");
}

/// Of two starts at the same time one gets the session, and the other is told so.
// proves: S2
#[test]
fn two_starts_at_once_have_one_winner() {
    let engine = engine(64);
    for _ in 0..TIMES {
        let session = engine.session().expect("a session");
        let barrier = Barrier::new(2);
        let start = || {
            barrier.wait();
            session.start("go")
        };
        let (one, two) = thread::scope(|scope| {
            let other = scope.spawn(start);
            (start(), other.join().expect("no panic"))
        });
        let refused = [&one, &two].into_iter().filter_map(|start| start.as_ref().err());
        assert_eq!(refused.collect::<Vec<_>>(), [&StartError::Busy]);
    }
}

/// Waiters come and go in several threads; each that stays gets the same outcome.
// proves: E14, C1
#[test]
fn waiters_race_with_the_end() {
    let engine = engine(1);
    for time in 0..TIMES {
        let session = engine.session().expect("a session");
        let (run, driver) = session.start("go").expect("a run");
        let run: &Run = &run;
        let barrier = Barrier::new(3);
        let ends = thread::scope(|scope| {
            let drives = scope.spawn(|| {
                barrier.wait();
                block_on(driver)
            });
            let waits = scope.spawn(|| {
                barrier.wait();
                for _ in 0..3 {
                    let _ = block_on(poll_once(run.outcome()));
                }
                block_on(run.outcome())
            });
            barrier.wait();
            wait(time * 120);
            let dropped = run.outcome();
            let last = block_on(run.outcome());
            drop(dropped);
            [drives.join().expect("a driver"), waits.join().expect("a waiter"), last]
        });
        assert!(ends.iter().all(|end| end.last_seq == ends[0].last_seq && end.answer().is_some()));
        check(&session, &run.handle().events_after(Seq(0), usize::MAX));
    }
}

/// A tool may report from a thread of its own; no report is lost, doubled or moved, and no wake either.
// proves: E7, E9
#[test]
fn reports_come_from_other_threads() {
    const REPORTS: usize = 20;
    let spec = ToolSpec::new("work", "", r#"{"type":"object"}"#).expect("a declaration");
    let work = tool_fn(spec, |_, cx: ToolContext| async move {
        let token = runloom::CancellationToken::new();
        let done = token.clone();
        let reports = thread::spawn(move || {
            (0..REPORTS).for_each(|n| block_on(cx.progress(n.to_string())));
            done.cancel();
        });
        token.cancelled().await;
        reports.join().expect("no panic");
        Ok(ToolOutput::text("done"))
    });
    let model = ScriptedModel::new((0..200).flat_map(|_| [Attempt::new().call("work", "{}"), "done".into()]));
    let host = Host::shared().model(ModelSpec::new("m"), model).tool(work).build().expect("a host");
    for capacity in [1, 2, 64] {
        let engine = engine_over(host.clone(), capacity);
        for _ in 0..60 {
            let session = engine.session().expect("a session");
            let (run, driver) = session.start("go").expect("a run");
            let (_handle, stream) = run.split();
            let drives = thread::spawn(move || block_on(driver));
            let events = block_on(drain(stream));
            assert!(drives.join().expect("a driver").answer().is_some());
            check(&session, &events);
            let reports = events.iter().filter_map(|envelope| match &envelope.event {
                Event::ToolUpdated(update) => Some(update.progress.as_str().to_owned()),
                _ => None,
            });
            assert!(reports.eq((0..REPORTS).map(|n| n.to_string())));
        }
    }
}

/// The wake of a sleeping driver is never lost, whoever cancels.
// proves: C3
#[test]
fn a_sleeping_driver_hears_every_cancel() {
    let asleep = AtomicUsize::new(0);
    let model = ScriptedModel::new((0..TIMES).map(|_| Attempt::new().text("hm").hang()));
    let host = Host::shared().model(ModelSpec::new("m"), model).build().expect("a host");
    let engine = engine_over(host, 64);
    for time in 0..TIMES {
        let session = engine.session().expect("a session");
        let (run, driver) = session.start("go").expect("a run");
        let token = run.cancellation_token();
        thread::scope(|scope| {
            let drives = scope.spawn(|| {
                asleep.fetch_add(1, Ordering::SeqCst);
                block_on(driver)
            });
            while asleep.load(Ordering::SeqCst) <= time {
                spin_loop();
            }
            wait(time % 300 * 20);
            token.cancel();
            assert!(matches!(drives.join().expect("a driver").result, RunResult::Cancelled(_)));
        });
        check(&session, &run.handle().events_after(Seq(0), usize::MAX));
    }
}
