//! Cancelling, aborting, late completions (C2-C7, R3).

use crate::hand::*;
use runloom_core::Input;
use runloom_core::config::Config;
use runloom_core::error::RunError;
use runloom_core::event::{Event, Position};
use runloom_core::id::{CommandId, OpId};
use runloom_core::input::AbortCause;
use runloom_core::model::{Finish, ModelItem, ProblemKind};
use runloom_core::outcome::{CancelCause, LateCompletion, RunResult};
use runloom_core::output::CancelReply;
use runloom_core::tool::{ToolEnd, ToolItem, ToolOutput};

// proves: C2
#[test]
fn cancelled_before_its_start_a_run_commits_its_input_and_does_nothing() {
    let mut token = Hand::new(Config::default(), []);
    token.start = token.start.clone().cancelled(true);
    token.begin();
    let mut command = Hand::new(Config::default(), []);
    assert_eq!(command.cancel(), CancelReply::Cancelled);
    command.begin();
    for hand in [token, command] {
        assert_eq!(hand.kinds(), ["run.started", "run.cancelled"]);
        assert_eq!((hand.roles(), hand.outcome().revision.0), (vec!["user"], 8));
        assert!(hand.outputs.iter().all(|output| matches!(output, runloom_core::Output::Reply { .. })));
        hand.replays();
    }
}

// proves: C4
#[test]
fn an_aborted_message_is_there_exactly_if_there_is_text_or_a_complete_call() {
    type Give = fn(&mut Hand);
    let cases: [(&str, Give, &[&str]); 8] = [
        ("nothing", |_| {}, &["user"]),
        ("reasoning", |hand| _ = hand.item(ModelItem::Reasoning("hm".into())), &["user"]),
        ("text", |hand| _ = hand.text("a"), &["user", "aborted_assistant"]),
        ("a call in the making", |hand| _ = hand.delta(Some(0), "c", "t", "{\"a\":"), &["user"]),
        ("a call", |hand| _ = hand.delta(Some(0), "c", "t", "{}"), &["user", "aborted_assistant", "tool"]),
        ("a call without arguments, open", |hand| _ = hand.delta(Some(0), "c", "t", ""), &["user"]),
        (
            "a call without arguments, closed",
            |hand| {
                hand.delta(Some(0), "c", "t", "");
                hand.item(ModelItem::CallEnd(0));
            },
            &["user", "aborted_assistant", "tool"],
        ),
        (
            "a wait",
            |hand| {
                hand.text("void");
                hand.fail(ProblemKind::Server);
            },
            &["user"],
        ),
    ];
    for (name, give, roles) in cases {
        let mut hand = Hand::begun(Config::default(), [shared("t")]);
        give(&mut hand);
        hand.cancel();
        assert_eq!(hand.roles(), roles, "{name}");
        assert_eq!(hand.outcome().revision.0, 8);
        assert!(
            matches!(hand.last(), Event::RunCancelled { revision, cause: CancelCause::Requested } if revision.0 == 8)
        );
    }
}

// proves: C4
#[test]
fn a_failure_commits_as_a_cancel_does() {
    let mut hand = Hand::begun(Config::default(), [shared("t")]);
    hand.text("kept");
    hand.call("c", "t", "{}");
    hand.fail(ProblemKind::Permission);
    assert_eq!(hand.roles(), ["user", "aborted_assistant", "tool"]);
    assert_eq!((hand.outcome().revision.0, hand.statuses()), (8, vec![(0, "interrupted(not_started)")]));
}

// proves: E6, E3, C4
#[test]
fn the_complete_calls_of_an_aborted_attempt_are_proposed_after_it_and_interrupted() {
    let mut hand = Hand::begun(Config::default(), [shared("t")]);
    hand.delta(Some(0), "a", "t", "{\"x\":");
    hand.delta(Some(1), "b", "t", "{}");
    hand.delta(Some(2), "c", "u", "{}");
    let events = hand.events.len();
    hand.cancel();
    let kinds = [
        "model.cancelled",
        "tool.proposed",
        "tool.proposed",
        "tool.finished",
        "tool.finished",
        "step.cancelled",
        "run.cancelled",
    ];
    assert_eq!(hand.kinds_from(events), kinds);
    let Event::ModelCancelled { position, .. } = hand.events[events].event else { panic!() };
    assert_eq!(position, Position::Partial);
    let interrupted = "interrupted(not_started)";
    assert_eq!(hand.statuses(), [(1, interrupted), (2, interrupted)]);
}

// proves: C5, C6, E7
#[test]
fn a_batch_that_is_cut_short_keeps_what_is_finished_and_answers_the_rest() {
    let config = limits(|limits| limits.parallel_tools = 2);
    let mut hand = Hand::begun(config, [shared("t"), shared("asks").needs_approval()]);
    hand.calls(["t", "t", "asks", "t", "t"]);
    let tools = hand.tools();
    hand.runs(tools[0].1, "kept");
    hand.enter(tools[1].1);
    hand.cancel();
    let (unknown, not_started) = ("interrupted(outcome_unknown)", "interrupted(not_started)");
    let expected = [(0, "success"), (1, unknown), (2, not_started), (3, not_started), (4, not_started)];
    assert_eq!(hand.statuses(), expected);
    assert_eq!(hand.roles(), ["user", "assistant", "tool"]);
    assert_eq!(hand.outcome().history.last().unwrap().results().count(), 5);
    assert_eq!(hand.outcome().history.open_calls(), 0);
}

// proves: C6, W4
#[test]
fn the_last_late_completions_are_kept_and_not_applied() {
    let config = limits(|limits| limits.late = 2);
    let mut hand = Hand::begun(config, [shared("t")]);
    hand.calls(["t"; 4]);
    let tools = hand.tools();
    for (_, op) in &tools {
        hand.enter(*op);
    }
    hand.cancel();
    let events = hand.events.len();
    for (ordinal, op) in &tools {
        hand.tool(*op, ToolItem::Progress("late".into()));
        hand.finish(*op, &format!("late {ordinal}"));
    }
    let late = |at: usize| LateCompletion {
        op: tools[at].1,
        end: ToolEnd::Output(ToolOutput::text(format!("late {at}"))),
    };
    assert_eq!(hand.checked.run().late(), [late(2), late(3)]);
    assert_eq!((hand.events.len(), hand.checked.run().ignored()), (events, 8));
    let mut none = Hand::begun(limits(|limits| limits.late = 0), [shared("t")]);
    none.calls(["t"]);
    let (_, op) = none.tools()[0];
    none.cancel();
    none.finish(op, "late");
    assert!(none.checked.run().late().is_empty());
}

// proves: C6
#[test]
fn a_tool_that_ends_after_its_deadline_is_in_the_outcome() {
    let mut hand = Hand::begun(deadlines(|d| d.tool = Some(seconds(1))), [shared("t")]);
    hand.calls(["t"]);
    let (_, op) = hand.tools()[0];
    hand.enter(op);
    hand.at(1_000).wake(true);
    hand.finish(op, "too late");
    hand.text("a");
    hand.done(Finish::Stop);
    assert_eq!(hand.outcome().late.len(), 1);
}

// proves: C7, C1
#[test]
fn the_first_to_the_terminal_wins_and_a_cancel_is_idempotent() {
    let mut cancelled = Hand::plain();
    assert_eq!(cancelled.cancel(), CancelReply::Cancelled);
    assert_eq!(cancelled.cancel(), CancelReply::Cancelled);
    let mut completed = Hand::plain();
    completed.text("a");
    completed.done(Finish::Stop);
    let mut failed = Hand::plain();
    failed.fail(ProblemKind::Permission);
    for mut hand in [completed, failed] {
        let events = hand.events.len();
        assert_eq!(hand.cancel(), CancelReply::AlreadyFinished);
        assert_eq!(hand.events.len(), events);
    }
    let mut dropped = Hand::plain();
    dropped.abort(AbortCause::HandleDropped);
    assert_eq!(dropped.cancel(), CancelReply::Cancelled);
}

// proves: C7
#[test]
fn earlier_steps_stay_when_a_later_one_is_cancelled() {
    let mut hand = Hand::begun(Config::default(), [shared("t")]);
    hand.calls(["t"]);
    let (_, op) = hand.tools()[0];
    hand.runs(op, "done");
    hand.text("more");
    hand.cancel();
    assert_eq!(hand.roles(), ["user", "assistant", "tool", "aborted_assistant"]);
    assert_eq!(hand.outcome().revision.0, 8, "one commit");
}

// proves: C3, R3, C4
#[test]
fn a_cancel_wins_in_every_phase_and_begins_nothing() {
    let mut model = Hand::begun(Config::default(), [shared("t"), shared("asks").needs_approval()]);
    let mut backoff = model.clone();
    backoff.fail(ProblemKind::Server);
    let mut asking = model.clone();
    asking.calls(["asks"]);
    let mut begun = model.clone();
    begun.calls(["t"]);
    let mut running = begun.clone();
    let op = running.op();
    running.enter(op);
    model.text("a");
    for (phase, mut hand) in
        [("model", model), ("backoff", backoff), ("batch", asking), ("batch", begun), ("batch", running)]
    {
        assert_eq!(hand.checked.run().phase_name(), phase);
        let outputs = hand.outputs.len();
        hand.cancel();
        assert!(matches!(hand.outcome().result, RunResult::Cancelled(CancelCause::Requested)));
        assert!(hand.checked.next().unwrap().wake.is_none());
        let begins = |output: &runloom_core::Output| matches!(output, runloom_core::Output::Begin { .. });
        assert!(!hand.outputs[outputs..].iter().any(begins));
        assert_eq!(hand.checked.open_ops().count(), 0);
        hand.replays();
    }
}

// proves: E2, C8, C10
#[test]
fn each_abrupt_end_has_its_name() {
    for (cause, name) in [
        (AbortCause::HandleDropped, "handle_dropped"),
        (AbortCause::DriverDropped, "driver_dropped"),
        (AbortCause::Shutdown, "shutdown"),
    ] {
        let mut hand = Hand::plain();
        hand.text("kept");
        hand.abort(cause);
        assert_eq!(hand.json(hand.events.len() - 1).matches(name).count(), 1);
        assert_eq!((hand.roles(), hand.outcome().revision.0), (vec!["user", "aborted_assistant"], 8));
        // The first end stays.
        hand.abort(AbortCause::DriverPanicked);
        hand.give(Input::Cancel { command: CommandId(9) });
        assert!(matches!(hand.outcome().result, RunResult::Cancelled(_)));
    }
    let mut hand = Hand::plain();
    hand.text("kept");
    hand.abort(AbortCause::DriverPanicked);
    assert!(matches!(hand.error(), RunError::DriverPanicked));
    assert_eq!(hand.roles(), ["user", "aborted_assistant"]);
}

// proves: C6
#[test]
fn only_the_first_end_of_an_abandoned_tool_is_late() {
    let mut hand = Hand::begun(Config::default(), [shared("t")]);
    hand.call("a", "t", "{}");
    hand.call("b", "t", "{}");
    hand.done(Finish::ToolCalls);
    let ops: Vec<OpId> = hand.tools().iter().map(|(_, op)| *op).collect();
    hand.runs(ops[0], "in time");
    hand.tool(ops[1], ToolItem::Started);
    hand.cancel();
    // One that had ended by itself says so again, the abandoned one says so twice.
    hand.finish(ops[0], "again");
    hand.finish(ops[1], "late");
    hand.finish(ops[1], "later");
    hand.finish(OpId(1), "a model's operation");
    let late = hand.checked.run().late();
    assert_eq!(late.len(), 1);
    assert_eq!(late[0].op, ops[1]);
    assert_eq!(hand.checked.run().ignored(), 4);
}
