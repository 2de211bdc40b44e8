//! What went wrong in other programs with steers, boundary inputs and compaction, as tests of this engine; each names
//! the report that it answers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is tests and their helpers"
)]

use runloom::testing::{Attempt, ScriptedTool, World};
use runloom_core::compaction::{Compaction, CompactionPolicy, cut};
use runloom_core::config::Config;
use runloom_core::history::{History, HistoryBounds};
use runloom_core::id::{CallRef, CommandId, MessageId, Revision, SessionId};
use runloom_core::input::{Input, Start};
use runloom_core::message::{Message, MessageBounds, Part, Role, ToolCall, ToolResult, ToolStatus};
use runloom_core::model::{Finish, ModelSpec, Problem, ProblemKind};
use runloom_core::outcome::RunResult;
use runloom_core::output::Reply;
use runloom_core::time::Time;
use std::sync::Arc;
use std::time::Duration;

const NOW: Duration = Duration::ZERO;

fn message(at: usize, role: Role, part: Part) -> Message {
    let bounds = MessageBounds { parts: 9, text: u64::MAX, image: 0 };
    Message::new(MessageId::new(format!("m{at}").as_str()).unwrap(), role, vec![part], &bounds).unwrap()
}

fn start(history: History) -> Start {
    let session = SessionId::new("session").unwrap();
    let input = vec![Part::Text("hello".into())];
    Start::new(session, Revision(0), history, input, Arc::new(ModelSpec::new("scripted")))
}

fn history(messages: impl IntoIterator<Item = Message>) -> History {
    History::from_messages(HistoryBounds::default(), messages).unwrap()
}

// proves: H5
#[test]
fn steer_02_an_input_that_comes_during_the_last_answer_is_applied_or_returned() {
    let report = World::new()
        .model(Attempt::new().text("final").wait(Duration::from_secs(2)).finish(Finish::Stop))
        .model("and x")
        .steer_at(Duration::from_secs(1), "x", "also do x")
        .run();
    assert_eq!(report.answer(), Some("and x"));
    assert!(report.outcome().unwrap().unapplied.is_empty());
    // After its end nothing is acknowledged: the caller is told.
    let ended = World::new().model("one");
    let mut checked = ended.run().checked().clone();
    let late = checked.step(Time::from_secs(9), steer("late")).unwrap();
    assert!(matches!(&late.outputs[..], [runloom_core::Output::Reply { reply: Reply::Steer(Err(_)), .. }]));
}

fn steer(text: &str) -> Input {
    let parts = vec![Part::Text(text.into())];
    Input::Steer(Box::new(runloom_core::input::SteerInput { command: CommandId(99), id: None, parts }))
}

// proves: K2
#[test]
fn comp_01_a_cut_by_position_lies_between_closed_rounds() {
    let call = |n: usize| ToolCall {
        call: CallRef { step: n as u32, ordinal: 0 },
        id: format!("t{n}").as_str().into(),
        name: "t".into(),
        arguments: "{}".into(),
    };
    let mut messages = vec![message(0, Role::User, Part::Text("go".into()))];
    for n in 1..=3 {
        let call = call(n);
        let result = ToolResult {
            call: call.call,
            id: call.id.clone(),
            name: call.name.clone(),
            status: ToolStatus::Success,
            content: [Part::Text("res".into())].into(),
        };
        messages.push(message(2 * n, Role::Assistant, Part::ToolCall(Arc::new(call))));
        messages.push(message(2 * n + 1, Role::Tool, Part::ToolResult(Arc::new(result))));
    }
    messages.push(message(9, Role::Assistant, Part::Text("done".into())));
    let history = history(messages);
    for keep in 1..=8 {
        let policy = CompactionPolicy::default().keep_messages(keep);
        let Some(at) = cut(&history, &policy, usize::MAX, u64::MAX) else { continue };
        let first = history.get(at).unwrap();
        assert!(matches!(first.role(), Role::User | Role::Assistant), "keep {keep}: cut at {at}");
        assert_eq!(
            history.get(at - 1).unwrap().calls().count(),
            0,
            "keep {keep}: a call before the cut is open"
        );
    }
    // Four that are kept would begin with a result; its call is kept with it.
    assert_eq!(cut(&history, &CompactionPolicy::default().keep_messages(4), usize::MAX, u64::MAX), Some(3));
}

// proves: K3, K4
#[test]
fn comp_02_a_context_that_stays_over_the_threshold_is_not_compacted_for_ever() {
    let policy = CompactionPolicy::at_tokens(1_000).keep_messages(1).keep_tokens(1);
    let config = Config::default().compaction(policy).unwrap();
    let old = (0..6).map(|at| {
        let role = if at % 2 == 0 { Role::User } else { Role::Assistant };
        message(at, role, Part::Text("x".repeat(4_000).as_str().into()))
    });
    // Whatever is compacted, the provider measures as much as before: prompt and tools alone are over the threshold.
    let mut world = World::new().config(config).start(start(history(old)));
    for step in 0..30 {
        let attempt = Attempt::new().usage(1_500 + 200 * step, 1).call("t", "{}");
        world = world.model(attempt);
    }
    for _ in 0..30 {
        world = world.compacts(NOW, Ok(Compaction::summary("brief")));
    }
    let report = world.model("end").tool(&ScriptedTool::new("t").output(&"y".repeat(900))).run();
    let count = |kind: &str| report.kinds().iter().filter(|own| **own == kind).count();
    assert_eq!(report.answer(), Some("end"));
    assert_eq!((count("compaction.started"), count("compaction.completed")), (2, 2));
}

// proves: H5, C4
#[test]
fn reference_accepted_steers_are_lost_neither_on_failure_nor_on_cancel() {
    let failing = || Attempt::new().text("x").fail(Problem::new(ProblemKind::Permission, "no"));
    let failed = World::new().model(failing()).steer_at(NOW, "a", "kept").run();
    assert!(matches!(failed.outcome().unwrap().result, RunResult::Failed(_)));
    let cancelled = World::new()
        .model(Attempt::new().text("x").hang())
        .steer_at(NOW, "a", "kept")
        .cancel_at(Duration::from_secs(1))
        .run();
    for report in [failed, cancelled] {
        let unapplied = &report.outcome().unwrap().unapplied;
        assert_eq!(unapplied.iter().map(|steer| steer.id.as_str()).collect::<Vec<_>>(), ["a"]);
    }
}

// proves: H3
#[test]
fn reference_commands_are_answered_in_a_wait_and_before_a_full_stream() {
    let busy = Problem::new(ProblemKind::Overloaded, "busy").retry_after(Some(Duration::from_secs(60)));
    let report = World::new()
        .model(Attempt::new().fail(busy))
        .model("one")
        .steer_at(Duration::from_secs(5), "a", "now")
        .retract_at(Duration::from_secs(6), "a")
        .run();
    let times: Vec<u64> = report
        .outputs
        .iter()
        .filter(|(_, output)| matches!(output, runloom_core::Output::Reply { .. }))
        .map(|(at, _)| at.as_micros() / 1_000_000)
        .collect();
    assert_eq!(times, [5, 6]);
}

// proves: B6
#[test]
fn reference_a_lost_source_keeps_finished_work_and_has_its_event() {
    let report = World::new()
        .model(Attempt::new().call("t", "{}"))
        .tool(&ScriptedTool::new("t").output("worked"))
        .tells(NOW, "")
        .source_goes(NOW)
        .run();
    let outcome = report.outcome().unwrap();
    assert_eq!(report.kinds().last(), Some(&"run.failed"));
    assert_eq!((outcome.history.len(), outcome.revision), (3, Revision(1)));
}

// proves: K4
#[test]
fn reference_a_compactor_that_fails_does_not_end_the_run() {
    let policy = CompactionPolicy::after_messages(2).keep_messages(1);
    let old = (0..4).map(|at| {
        let role = if at % 2 == 0 { Role::User } else { Role::Assistant };
        message(at, role, Part::Text("words".into()))
    });
    let report = World::new()
        .config(Config::default().compaction(policy).unwrap())
        .start(start(history(old)))
        .model("one")
        .compacts(NOW, Err(runloom_core::compaction::CompactionFault::new("cancelled")))
        .run();
    assert_eq!((report.answer(), report.outcome().unwrap().history.len()), (Some("one"), 6));
}

// proves: R1, K5
#[test]
fn reference_attempts_are_numbered_on_behind_a_recovery_from_an_overflow() {
    let overflow = || Attempt::new().fail(Problem::new(ProblemKind::ContextOverflow, "too long"));
    let server = || Attempt::new().fail(Problem::new(ProblemKind::Server, "no"));
    let old = (0..4).map(|at| {
        let role = if at % 2 == 0 { Role::User } else { Role::Assistant };
        message(at, role, Part::Text("words enough to be worth a summary".into()))
    });
    let report = World::new()
        .start(start(history(old)))
        .model(overflow())
        .model(server())
        .model(server())
        .model(server())
        .model("never")
        .compacts(NOW, Ok(Compaction::summary("brief")))
        .run();
    let attempts: Vec<u32> = report
        .events
        .iter()
        .filter_map(|own| match &own.event {
            runloom_core::event::Event::ModelStarted(started) => Some(started.attempt),
            _ => None,
        })
        .collect();
    assert_eq!(attempts, [1, 2, 3, 4]);
    assert!(matches!(report.outcome().unwrap().result, RunResult::Failed(_)));
}
