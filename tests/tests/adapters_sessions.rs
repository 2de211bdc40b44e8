//! Sessions, engines, handles and streams (E13, E14, C2, C7-C10, S1, S2, M4).

use futures_lite::future::{block_on, poll_once};
use runloom::testing::{Attempt, ScriptedModel, ScriptedTool};
use runloom::{
    Approval, CancelCause, CancelReply, CancellationToken, Engine, EngineShutdown, EventKind, History, Host,
    ManualTimer, Message, MessageBounds, MessageId, ModelSpec, Part, Revision, Role, RunError, RunOptions,
    RunResult, SessionError, SessionState, StartError, StopReason, ToolStatus, approver_fn,
};
use runloom_tests::bare::Task;
use runloom_tests::runs::{assert_ended, count, engine, events, kinds};
use std::sync::Arc;
use std::time::Duration;

fn message(id: &str, role: Role, text: &str) -> Message {
    let bounds = MessageBounds { parts: 8, text: 1_000, image: 0 };
    let id = MessageId::new(id).expect("an id");
    Message::new(id, role, vec![Part::Text(text.into())], &bounds).expect("a message")
}

// proves: E1, E2, L2
#[test]
fn a_run_from_start_to_answer() {
    let timer = ManualTimer::new();
    let tool = ScriptedTool::timed(timer.clone(), "add").progress("adding").output("2");
    let script = [Attempt::new().text("so: ").call("add", "{}"), "2".into()];
    let engine = engine(script, [tool.clone()], &timer, 64);
    let session = engine.session().unwrap();
    assert_eq!((session.state(), session.revision()), (SessionState::Idle, Revision(0)));
    let (mut run, driver) = session.start("1 + 1?").unwrap();
    assert_eq!(session.state(), SessionState::Running);
    let outcome = block_on(driver);
    assert_eq!(outcome.answer().unwrap().text, "2");
    assert_eq!(outcome.answer().unwrap().stop_reason, StopReason::EndTurn);
    assert_eq!((session.state(), session.revision()), (SessionState::Completed, Revision(1)));
    assert_eq!(session.history(), outcome.history);
    assert_eq!(tool.finished(), 1);
    assert_ended(run.handle());
    let mut seen = Vec::new();
    while let Some(envelope) = block_on(run.events().next()) {
        seen.push(envelope);
    }
    assert_eq!(seen, events(run.handle()));
    assert!(block_on(run.events().next()).is_none());
}

// proves: S2
#[test]
fn a_second_operation_gets_a_typed_error() {
    let timer = ManualTimer::new();
    let engine = engine([Attempt::new().text("a").hang(), "b".into()], [], &timer, 64);
    let session = engine.session().unwrap();
    let (run, driver) = session.start("one").unwrap();
    let mut driver = Task::new(driver);
    assert!(!driver.run());
    assert_eq!(session.start("two").unwrap_err(), StartError::Busy);
    assert_eq!(session.append([message("m", Role::User, "x")]), Err(SessionError::Busy));
    assert_eq!(session.replace_history(History::default()), Err(SessionError::Busy));
    assert_eq!(session.live_history().len(), 1);
    assert_eq!(session.history().len(), 0);
    assert_eq!(run.cancel(), CancelReply::Cancelled);
    assert_eq!(session.state(), SessionState::Idle);
    assert_eq!(session.history().len(), 2);
    assert_eq!(session.append([message("m", Role::User, "x")]), Ok(Revision(2)));
    driver.run();
    let (_run, driver) = session.start("two").unwrap();
    assert_eq!(block_on(driver).answer().unwrap().text, "b");
}

// proves: S2, M1
#[test]
fn a_bad_start_changes_nothing() {
    let timer = ManualTimer::new();
    let engine = engine([Attempt::answer("fine")], [], &timer, 64);
    let session = engine.session().unwrap();
    assert!(matches!(session.start(Vec::new()), Err(StartError::Invalid(_))));
    assert!(matches!(session.start("x".repeat(300_000)), Err(StartError::Invalid(_))));
    assert_eq!((session.state(), session.revision()), (SessionState::Idle, Revision(0)));
    let (_run, driver) = session.start("hello").unwrap();
    assert_eq!(block_on(driver).answer().unwrap().text, "fine");
}

// proves: M4
#[test]
fn invalid_histories_are_refused() {
    let timer = ManualTimer::new();
    let engine = engine([], [], &timer, 64);
    let session = engine.session_with(History::default()).unwrap();
    let results = |id: &str| {
        let part = Part::ToolResult(Arc::new(runloom::ToolResult {
            call: runloom::CallRef { step: 1, ordinal: 0 },
            id: "c".into(),
            name: "t".into(),
            status: ToolStatus::Success,
            content: Arc::from([]),
        }));
        let bounds = MessageBounds { parts: 8, text: 1_000, image: 0 };
        Message::new(MessageId::new(id).unwrap(), Role::Tool, vec![part], &bounds).unwrap()
    };
    let call = || {
        let part = Part::ToolCall(Arc::new(runloom::ToolCall {
            call: runloom::CallRef { step: 1, ordinal: 0 },
            id: "c".into(),
            name: "t".into(),
            arguments: "{}".into(),
        }));
        let bounds = MessageBounds { parts: 8, text: 1_000, image: 0 };
        Message::new(MessageId::new("a").unwrap(), Role::Assistant, vec![part], &bounds).unwrap()
    };
    assert!(matches!(session.append([results("r")]), Err(SessionError::History(_))));
    assert_eq!(session.append([call()]), Err(SessionError::OpenCalls { calls: 1 }));
    assert_eq!(session.revision(), Revision(0));
    assert_eq!(session.append([call(), results("r")]), Ok(Revision(1)));
    let mut open = History::default();
    open.push(call()).unwrap();
    assert_eq!(session.replace_history(open.clone()), Err(SessionError::OpenCalls { calls: 1 }));
    assert_eq!(engine.session_with(open).unwrap_err(), SessionError::OpenCalls { calls: 1 });
    assert_eq!(session.history().len(), 2);
}

/// S1: what a session is during and after each kind of run.
// proves: S1
#[test]
fn states_are_observed() {
    let timer = ManualTimer::new();
    let model = ScriptedModel::timed(
        timer.clone(),
        [Attempt::new().call("ask", "{}"), Attempt::new().hang(), Attempt::new().hang()],
    );
    let tool = ScriptedTool::new("ask").declared(|spec| spec.needs_approval());
    let gate = CancellationToken::new();
    let open = gate.clone();
    let approver = approver_fn(move |_, _| {
        let open = open.clone();
        async move {
            open.cancelled().await;
            Approval::Allow
        }
    });
    let host =
        Host::shared().model(ModelSpec::new("m"), model).tool(tool).approver(approver).build().unwrap();
    let session = Engine::new(host, timer).session().unwrap();
    let (run, driver) = session.start("go").unwrap();
    let mut driver = Task::new(driver);
    driver.run();
    assert_eq!(session.state(), SessionState::WaitingForHostInput);
    gate.cancel();
    driver.run();
    assert_eq!(session.state(), SessionState::Running);
    run.cancellation_token().cancel();
    assert_eq!(session.state(), SessionState::Cancelling);
    assert!(driver.run());
    assert_eq!(session.state(), SessionState::Idle);
    let (run, driver) = session.start("go").unwrap();
    let mut driver = Task::new(driver);
    driver.run();
    let (handle, stream) = run.split();
    drop(stream);
    assert_eq!(session.state(), SessionState::Running);
    driver.kill();
    assert_eq!(session.state(), SessionState::Idle);
    assert_ended(&handle);
}

/// E13 with room for one event: exactly one is unread at any time, and none is lost.
// proves: E13
#[test]
fn one_unread_event_holds_the_run() {
    let timer = ManualTimer::new();
    let engine = engine([Attempt::new().texts("x", 20)], [], &timer, 1);
    let (mut run, driver) = engine.session().unwrap().start("go").unwrap();
    let mut driver = Task::new(driver);
    driver.run();
    // The opening events come from one step and may overshoot.
    assert_eq!(kinds(run.handle()), ["run.started", "step.started", "model.started"]);
    for _ in 0..3 {
        assert!(block_on(run.events().next()).is_some());
        driver.run();
    }
    for n in 0..20 {
        // The reader comes back: what it had is acknowledged, and exactly one delta follows.
        let mut events = run.events();
        let mut next = Task::new(events.next());
        assert!(!next.run());
        assert!(!driver.run());
        assert!(next.run());
        assert!(matches!(next.output(), Some(Some(e)) if e.event.kind() == EventKind::TextDelta));
        drop(next);
        assert_eq!(count(run.handle(), "text.delta"), n + 1);
    }
    let mut outcome = Task::new(run.outcome());
    outcome.run();
    assert!(driver.run() && outcome.run());
    assert_eq!(outcome.output().unwrap().answer().unwrap().text.as_str(), "x".repeat(20));
}

/// E14: awaiting the outcome lets the handle's own events go; dropped early, the rest can be read.
// proves: E14
#[test]
fn awaiting_the_outcome_discards_own_events() {
    let timer = ManualTimer::new();
    let script = Attempt::new().texts("x", 100).wait(Duration::from_secs(1)).texts("y", 30);
    let engine = engine([script], [], &timer, 8);
    let (mut run, driver) = engine.session().unwrap().start("go").unwrap();
    let mut driver = Task::new(driver);
    assert!(block_on(run.events().next()).is_some());
    driver.run();
    assert!(count(run.handle(), "text.delta") < 10);
    {
        let mut outcome = Task::new(run.outcome());
        for _ in 0..100 {
            outcome.run();
            driver.run();
        }
        assert_eq!(count(run.handle(), "text.delta"), 100);
    }
    timer.advance(Duration::from_secs(1));
    driver.run();
    let next = block_on(run.events().next()).unwrap();
    assert_eq!(next.seq.0, 104);
    let mut outcomes = [Task::new(run.outcome()), Task::new(run.outcome())];
    for _ in 0..100 {
        for outcome in &mut outcomes {
            outcome.run();
        }
        driver.run();
    }
    assert!(outcomes.iter_mut().all(Task::run));
    drop(outcomes);
    assert!(block_on(run.events().next()).is_none());
    assert_ended(run.handle());
}

/// E14: a stream that was split off keeps its events and its pace, also while the outcome is awaited.
// proves: E14
#[test]
fn awaiting_the_outcome_leaves_a_split_stream_alone() {
    let timer = ManualTimer::new();
    let engine = engine([Attempt::new().texts("x", 100)], [], &timer, 8);
    let (run, driver) = engine.session().unwrap().start("go").unwrap();
    let (handle, mut stream) = run.split();
    let mut driver = Task::new(driver);
    let mut outcome = Task::new(handle.outcome());
    for _ in 0..10 {
        assert!(!outcome.run());
        assert!(!driver.run());
    }
    let mut seen = 0;
    while !outcome.run() {
        while stream.take().is_some() {
            seen += 1;
        }
        let _ = block_on(poll_once(stream.fill()));
        driver.run();
    }
    while block_on(stream.fill()) {
        while let Some(envelope) = stream.take() {
            seen += 1;
            assert_eq!(envelope.seq.0, seen);
        }
    }
    assert_eq!(seen, 106);
}

/// C9: who is there when a split-off stream goes decides what becomes of the run.
// proves: C9
#[test]
fn a_lost_consumer_interrupts_unless_someone_waits() {
    let script = || Attempt::new().text("a").wait(Duration::from_secs(1)).text("b");
    let timer = ManualTimer::new();
    let engine = engine([script(), script(), script(), script()], [], &timer, 64);
    let session = engine.session().unwrap();

    // Nobody waits.
    let (run, driver) = session.start("go").unwrap();
    let (handle, stream) = run.split();
    let mut driver = Task::new(driver);
    driver.run();
    drop(stream);
    assert!(handle.try_outcome().is_none());
    timer.advance(Duration::from_secs(1));
    assert!(driver.run());
    let outcome = handle.try_outcome().unwrap();
    assert!(matches!(&outcome.result, RunResult::Failed(e) if **e == RunError::Interrupted));
    assert_eq!((session.revision(), session.state()), (Revision(0), SessionState::Failed));
    assert_eq!(session.history().len(), 0);
    assert_ended(&handle);

    // Someone has asked for the outcome.
    let (run, driver) = session.start("go").unwrap();
    let (handle, stream) = run.split();
    let mut driver = Task::new(driver);
    driver.run();
    let outcome = handle.outcome();
    drop(stream);
    timer.advance(Duration::from_secs(1));
    driver.run();
    assert_eq!(block_on(outcome).answer().unwrap().text, "ab");

    // The run is unattended.
    let (run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
    let (handle, stream) = run.split();
    let mut driver = Task::new(driver);
    driver.run();
    drop((stream, handle));
    timer.advance(Duration::from_secs(1));
    assert!(driver.run());
    assert_eq!(driver.output().unwrap().answer().unwrap().text, "ab");

    // The handle goes too: that is its end and not the consumer's.
    let (run, driver) = session.start("go").unwrap();
    let (handle, stream) = run.split();
    let mut driver = Task::new(driver);
    driver.run();
    drop(stream);
    drop(handle);
    assert!(driver.run());
    let outcome = driver.output().unwrap();
    assert_eq!(outcome.result, RunResult::Cancelled(CancelCause::HandleDropped));
    assert_eq!(session.revision(), outcome.revision);
}

/// C2: cancelled before the start.
// proves: C2
#[test]
fn a_cancelled_token_makes_no_request() {
    let timer = ManualTimer::new();
    let model = ScriptedModel::timed(timer.clone(), [Attempt::answer("never")]);
    let host = Host::shared().model(ModelSpec::new("m"), model.clone()).build().unwrap();
    let session = Engine::new(host, timer).session().unwrap();
    let token = CancellationToken::new();
    token.cancel();
    let options = RunOptions::new().cancellation_token(token);
    let (run, driver) = session.start_with("go", options).unwrap();
    assert_eq!(kinds(run.handle()), ["run.started", "run.cancelled"]);
    assert_eq!((session.revision(), session.history().len()), (Revision(1), 1));
    assert_eq!(session.state(), SessionState::Idle);
    block_on(driver);

    // Started and cancelled before anyone polled.
    let (run, driver) = session.start("go").unwrap();
    assert_eq!(run.cancel(), CancelReply::Cancelled);
    block_on(driver);
    assert_ended(run.handle());
    assert_eq!(model.requests(), 0);
}

/// A token that belongs to several runs cancels all of them, and none of them cancels it.
// proves: C1, C3
#[test]
fn an_outer_token_cancels_its_runs_but_not_the_other_way_round() {
    let timer = ManualTimer::new();
    let engine = engine([Attempt::new().hang(), Attempt::new().hang()], [], &timer, 64);
    let token = CancellationToken::new();
    let options = || RunOptions::new().cancellation_token(token.clone());
    let (one, driver) = engine.session().unwrap().start_with("go", options()).unwrap();
    let mut one_driver = Task::new(driver);
    let (two, driver) = engine.session().unwrap().start_with("go", options()).unwrap();
    let mut two_driver = Task::new(driver);
    one_driver.run();
    two_driver.run();
    one.cancel();
    assert!(!token.is_cancelled() && one.cancellation_token().is_cancelled());
    assert!(one_driver.run() && !two_driver.run());
    token.cancel();
    assert!(two_driver.run());
    assert!(two.cancellation_token().is_cancelled());
    assert_ended(two.handle());
}

/// C7: who wins.
// proves: C7
#[test]
fn cancel_says_who_won() {
    let timer = ManualTimer::new();
    let engine = engine([Attempt::answer("a"), Attempt::new().hang()], [], &timer, 64);
    let session = engine.session().unwrap();
    let (run, driver) = session.start("go").unwrap();
    block_on(driver);
    assert_eq!(run.cancel(), CancelReply::AlreadyFinished);
    assert!(!run.cancellation_token().is_cancelled());
    let (run, driver) = session.start("go").unwrap();
    assert_eq!(run.cancel(), CancelReply::Cancelled);
    assert_eq!(run.cancel(), CancelReply::Cancelled);
    block_on(driver);
    assert_eq!(run.cancel(), CancelReply::Cancelled);
}

/// C8: the futures of a dropped run may outlive it; the next run begins work only after they are gone.
// proves: C8
#[test]
fn the_next_run_waits_for_the_last_ones_futures() {
    let timer = ManualTimer::new();
    let tool = ScriptedTool::timed(timer.clone(), "slow").hang();
    let model =
        ScriptedModel::timed(timer.clone(), [Attempt::new().call("slow", "{}"), "b".into(), "c".into()]);
    let host = Host::shared().model(ModelSpec::new("m"), model.clone()).tool(tool.clone()).build().unwrap();
    let session = Engine::new(host, timer).session().unwrap();
    let (run, driver) = session.start("one").unwrap();
    let mut first = Task::new(driver);
    first.run();
    assert_eq!((tool.calls(), model.requests()), (1, 1));
    drop(run);
    assert_eq!((session.state(), tool.dropped()), (SessionState::Idle, 0));
    // One that is cancelled while it waits does not open the way for the one behind it.
    let (second, driver) = session.start("two").unwrap();
    let mut second_driver = Task::new(driver);
    assert!(!second_driver.run());
    second.cancel();
    assert!(second_driver.run());
    assert_ended(second.handle());
    let (_third, driver) = session.start("three").unwrap();
    let mut third_driver = Task::new(driver);
    assert!(!third_driver.run());
    assert_eq!(model.requests(), 1);
    assert!(first.run());
    assert_eq!(tool.dropped(), 1);
    assert!(third_driver.run());
    assert_eq!(model.requests(), 2);
}

/// C8: a driver that is done holds nothing up, also while somebody keeps it.
#[test]
fn a_finished_driver_may_be_kept() {
    let timer = ManualTimer::new();
    let engine = engine([Attempt::answer("a"), Attempt::answer("b")], [], &timer, 64);
    let session = engine.session().unwrap();
    let (_run, mut first) = session.start("go").unwrap();
    assert_eq!(engine.runs(), 1);
    let outcome = block_on(&mut first);
    assert_eq!((outcome.answer().unwrap().text.as_str(), engine.runs()), ("a", 0));
    let (_run, second) = session.start("go").unwrap();
    assert_eq!(block_on(second).answer().unwrap().text, "b");
    assert_eq!(block_on(first).last_seq, outcome.last_seq);
}

/// C10.
// proves: C10
#[test]
fn shutdown_ends_every_run_and_admits_no_other() {
    let timer = ManualTimer::new();
    let engine = engine((0..4).map(|_| Attempt::new().hang()), [], &timer, 64);
    let clone = engine.clone();
    let session = engine.session().unwrap();
    let (polled, driver) = session.start("go").unwrap();
    let mut driver = Task::new(driver);
    driver.run();
    let (unpolled, _other_driver) = engine.session().unwrap().start("go").unwrap();
    let unattended = engine.session().unwrap();
    let (run, mut detached) = unattended.start("go").map(|(run, driver)| (run, Task::new(driver))).unwrap();
    run.detach();
    detached.run();
    let (finished, over) = engine.session().unwrap().start("go").unwrap();
    finished.cancel();
    assert_eq!(clone.shutdown(), 3);
    assert_eq!((engine.shutdown(), clone.shutdown()), (0, 0));
    assert!(engine.is_shut_down());
    for run in [&polled, &unpolled] {
        let outcome = run.handle().try_outcome().unwrap();
        assert_eq!(outcome.result, RunResult::Cancelled(CancelCause::Shutdown));
        assert!(run.cancellation_token().is_cancelled());
        assert_ended(run.handle());
    }
    assert_eq!(session.state(), SessionState::Idle);
    assert!(driver.run() && detached.run());
    drop(over);
    assert_eq!(engine.session().unwrap_err(), SessionError::EngineShutdown(EngineShutdown));
    assert_eq!(session.start("go").unwrap_err(), StartError::EngineShutdown(EngineShutdown));
}

/// C11: sessions and engines are handles; runs do not need them.
// proves: C11
#[test]
fn dropping_sessions_and_engines_ends_nothing() {
    let timer = ManualTimer::new();
    let engine = engine([Attempt::answer("a")], [], &timer, 64);
    let session = engine.session().unwrap();
    let (run, driver) = session.start("go").unwrap();
    drop((engine, session));
    assert_eq!(block_on(driver).answer().unwrap().text, "a");
    assert_ended(run.handle());
}
