//! Ends of a run whose requests stand open, and the states of its session (H1, S1, C3-C10, E3).

use crate::stage::{TestDriver, TestSession, asking, begun, calling, host, results, session, spec};
use runloom::testing::ScriptedTool;
use runloom::{
    ApprovalPolicy, CancelCause, Config, Engine, HostAnswer, ManualTimer, RespondError, Run, RunResult,
    SessionState, ToolStatus,
};
use runloom_tests::bare::Task;
use runloom_tests::runs::{assert_ended, count, events};
use std::sync::Arc;

/// A session whose run waits for three kinds of answers.
fn waiting() -> (runloom::Engine<runloom::Shared, ManualTimer>, TestSession) {
    let gated = ScriptedTool::new("gated").declared(|_| spec("gated").approval(ApprovalPolicy::Ask));
    let parts = host(calling(["asks", "page", "gated"])).tool(asking("asks")).tool(gated);
    let host = parts.client_tool(spec("page")).build().unwrap();
    let engine = Engine::builder(host, ManualTimer::new()).config(Config::default()).build();
    let session = engine.session().unwrap();
    (engine, session)
}

type End = fn(&runloom::Engine<runloom::Shared, ManualTimer>, &mut Option<Run>, &mut Task<TestDriver>);

const ENDS: [(&str, End, CancelCause); 5] = [
    ("cancel", |_, run, _| assert!(run.as_ref().is_some_and(was_cancelled)), CancelCause::Requested),
    (
        "token",
        |_, run, driver| {
            run.as_ref().unwrap().cancellation_token().cancel();
            driver.run();
        },
        CancelCause::Requested,
    ),
    ("handle", |_, run, _| drop(run.take()), CancelCause::HandleDropped),
    ("driver", |_, _, driver| driver.kill(), CancelCause::DriverDropped),
    ("shutdown", |engine, _, _| assert_eq!(engine.shutdown(), 1), CancelCause::Shutdown),
];

fn was_cancelled(run: &Run) -> bool {
    run.cancel() == runloom::CancelReply::Cancelled
}

/// Whatever ends the run closes its requests first, each before its call; nothing can be answered afterwards.
// proves: H1, H2, E3, C5, C8, C10
#[test]
fn open_requests_are_closed_by_every_end() {
    for (name, end, cause) in ENDS {
        let (engine, session) = waiting();
        let (run, mut driver) = begun(&session);
        assert_eq!(session.state(), SessionState::WaitingForHostInput, "{name}");
        let (control, requests) = (run.control(), run.requests());
        assert_eq!(requests.len(), 3);
        let log = run.handle().events_after(runloom::Seq(0), usize::MAX).len();
        let mut run = Some(run);
        end(&engine, &mut run, &mut driver);
        assert_eq!(session.state(), SessionState::Idle, "{name}");
        assert!(control.requests().is_empty(), "{name}");
        for request in &requests {
            let late = control.respond(&request.id, HostAnswer::allow());
            assert_eq!(late, Err(RespondError::NotAccepting), "{name}");
        }
        let statuses: Vec<_> = results(&session).into_iter().map(|(status, _)| status).collect();
        let unknown = ToolStatus::InterruptedOutcomeUnknown;
        assert_eq!(statuses, [unknown, unknown, ToolStatus::InterruptedNotStarted], "{name}");
        driver.run();
        if let Some(run) = &run {
            let result = &run.handle().try_outcome().unwrap().result;
            assert!(matches!(result, RunResult::Cancelled(found) if *found == cause), "{name}: {result:?}");
            assert_eq!(count(run.handle(), "host_input.cancelled"), 3, "{name}");
            assert!(events(run.handle()).len() > log);
            assert_ended(run.handle());
        }
        assert_eq!(session.history().open_calls(), 0, "{name}");
    }
}

/// H1, S1: the session waits while any request is open, approvals included, and is running after the last.
// proves: H1, S1
#[test]
fn the_session_waits_as_long_as_any_request_is_open() {
    let (_engine, session) = waiting();
    assert_eq!(session.state(), SessionState::Idle);
    let (run, driver) = session.start("go").unwrap();
    assert_eq!(session.state(), SessionState::Running);
    let mut driver = Task::new(driver);
    driver.run();
    let asked =
        |kind: &str| run.requests().into_iter().find(|request| request.kind.as_str() == kind).unwrap();
    let answers = [
        (asked("question"), HostAnswer::value("\"x\"")),
        (asked("approval"), HostAnswer::allow()),
        (asked("call"), HostAnswer::Result(runloom::ToolOutput::text("ok"))),
    ];
    for (request, answer) in answers {
        assert_eq!(session.state(), SessionState::WaitingForHostInput);
        run.respond(&request.id, answer).unwrap();
    }
    assert_eq!(session.state(), SessionState::Running);
    assert!(driver.run());
    assert_eq!(session.state(), SessionState::Completed);
    assert_ended(run.handle());
}

/// A cancelled token shows as cancelling until the driver looks.
// proves: S1
#[test]
fn a_cancelled_token_shows_as_cancelling() {
    let (_engine, session) = waiting();
    let (run, mut driver) = begun(&session);
    run.cancellation_token().cancel();
    assert_eq!(session.state(), SessionState::Cancelling);
    assert!(driver.run());
    assert_eq!(session.state(), SessionState::Idle);
}

/// Answers race with the end: either the answer is taken before it, or the run takes none.
// proves: H2, C7, W7
#[test]
fn answers_race_with_a_cancel() {
    for round in 0..40 {
        let session = session(host(calling(["asks"])).tool(asking("asks")));
        let (run, mut driver) = begun(&session);
        let control = run.control();
        let request = Arc::clone(&control.requests()[0]);
        let start = Arc::new(std::sync::Barrier::new(2));
        let other = Arc::clone(&start);
        let answers = std::thread::spawn(move || {
            other.wait();
            control.respond(&request.id, HostAnswer::value("\"x\""))
        });
        start.wait();
        run.cancel();
        let reply = answers.join().unwrap();
        assert!(driver.run());
        let answered = count(run.handle(), "host_input.answered");
        assert_eq!(answered, usize::from(reply.is_ok()), "round {round}");
        assert_eq!(answered + count(run.handle(), "host_input.cancelled"), 1);
        assert_ended(run.handle());
    }
}
