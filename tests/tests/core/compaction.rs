//! Compaction (K1-K5, E11): the older part of the history gives way to something shorter.

use crate::hand::*;
use runloom_core::Input;
use runloom_core::boundary::BoundaryAnswer;
use runloom_core::compaction::{Compaction, CompactionFault, CompactionPolicy};
use runloom_core::config::Config;
use runloom_core::error::RunError;
use runloom_core::event::{Event, ResetReason};
use runloom_core::history::{History, HistoryBounds};
use runloom_core::id::{CallRef, MessageId};
use runloom_core::message::{
    Message, MessageBounds, Part, Role, ToolCall, ToolResult, ToolStatus, check_parts,
};
use runloom_core::model::{Finish, ProblemKind};
use runloom_core::text::Text;
use runloom_core::usage::Usage;
use std::sync::Arc;

const LONG: &str = "a long text that takes some tokens, so that there is something to gain when it goes away";

/// A conversation of `n` messages, from the user and the model in turn.
fn talk(n: usize) -> History {
    let message = |at: usize| {
        let role = if at.is_multiple_of(2) { Role::User } else { Role::Assistant };
        message(at, role, vec![Part::Text(format!("{at} {LONG}").as_str().into())])
    };
    History::from_messages(HistoryBounds::default(), (0..n).map(message)).unwrap()
}

fn message(at: usize, role: Role, parts: Vec<Part>) -> Message {
    let bounds = MessageBounds { parts: 256, text: u64::MAX, image: usize::MAX };
    check_parts(role, &parts, &bounds).unwrap();
    Message::new(MessageId::new(format!("old-{at}").as_str()).unwrap(), role, parts, &bounds).unwrap()
}

fn compacting(policy: CompactionPolicy, history: History) -> Hand {
    let config = limits(|limits| limits.steps = 9).compaction(policy).unwrap();
    let mut hand = Hand::new(config, [shared("t")]);
    hand.start.history = history;
    hand.start = hand.start.clone().compacts(true);
    hand.begin();
    hand
}

fn summary(text: &str) -> Result<Compaction, CompactionFault> {
    Ok(Compaction::summary(text).usage(Usage::new(100, 5)))
}

fn live(hand: &Hand) -> Vec<String> {
    hand.checked.run().candidate().unwrap().iter().map(|message| said(message)).collect()
}

// proves: K1, E4, E11
#[test]
fn a_history_of_many_messages_is_compacted_before_the_next_step_as_a_commit_of_its_own() {
    let mut hand = compacting(CompactionPolicy::after_messages(9).keep_messages(3), talk(8));
    assert_eq!(hand.kinds(), ["run.started", "compaction.started"]);
    assert_eq!(hand.compactions(), [("threshold", 6)]);
    hand.compacted(summary("they talked"));
    assert_eq!(hand.kinds_from(2), ["compaction.completed", "step.started", "model.started"]);
    let (committed, revision) = hand.checked.run().committed().unwrap();
    assert_eq!((committed.len(), revision.0), (4, 8));
    assert_eq!(live(&hand)[0], "u they talked");
    assert!(live(&hand)[1].starts_with("u 6 a long") && live(&hand)[3] == "u hello");
    hand.text("x");
    hand.done(Finish::Stop);
    assert_eq!(hand.outcome().revision.0, 9);
    assert_eq!(hand.outcome().billed, Usage::new(100, 5));
    assert_eq!(hand.outcome().usage, Usage::default());
    hand.replays();
}

// proves: K1
#[test]
fn the_threshold_of_tokens_counts_what_the_provider_reports() {
    let policy = CompactionPolicy::at_tokens(1_000).keep_messages(2);
    let mut hand = compacting(policy, talk(6));
    // The plain estimate is far below.
    assert!(hand.compactions().is_empty());
    hand.usage(900, 1);
    hand.calls(["t"]);
    hand.runs(hand.tools()[0].1, LONG);
    assert_eq!(hand.compactions(), [("threshold", 7)]);
    hand.compacted(summary("s"));
    hand.text("x");
    hand.done(Finish::Stop);
    // The next run of the session begins with what this one has learned.
    let mut next = Hand::new(Config::default().compaction(policy).unwrap(), []);
    next.start.history = talk(20);
    next.start = next.start.clone().compacts(true).context(hand.outcome().context);
    next.begin();
    assert_eq!(next.compactions(), [("threshold", 19)]);
}

// proves: K2
#[test]
fn no_cut_separates_a_call_from_its_result() {
    let call = |n: usize| {
        let call = CallRef { step: n as u32, ordinal: 0 };
        Arc::new(ToolCall {
            call,
            id: format!("c{n}").as_str().into(),
            name: "t".into(),
            arguments: "{}".into(),
        })
    };
    let result = |n: usize| {
        let call = call(n);
        let content = [Part::Text(LONG.into())].into();
        let (id, name, status) = (call.id.clone(), call.name.clone(), ToolStatus::Success);
        Part::ToolResult(Arc::new(ToolResult { call: call.call, id, name, status, content }))
    };
    let mut messages = vec![message(0, Role::User, vec![Part::Text(LONG.into())])];
    for n in 1..=3 {
        messages.push(message(2 * n, Role::Assistant, vec![Part::ToolCall(call(n))]));
        messages.push(message(2 * n + 1, Role::Tool, vec![result(n)]));
    }
    messages.push(message(9, Role::Assistant, vec![Part::Text(LONG.into())]));
    let history = History::from_messages(HistoryBounds::default(), messages).unwrap();
    // user, (call, result) x 3, answer, and the run's input: the cut for each number of messages that stay.
    let cuts: Vec<usize> = (1..=6)
        .map(|keep| {
            let policy = CompactionPolicy::after_messages(2).keep_messages(keep).keep_tokens(10_000);
            let mut hand = compacting(policy, history.clone());
            let cut = hand.compactions()[0].1;
            hand.compacted(summary("s"));
            let roles: Vec<Role> =
                hand.checked.run().candidate().unwrap().iter().map(|message| message.role()).collect();
            assert!(roles[1] == Role::User || roles[1] == Role::Assistant, "{roles:?}");
            assert_eq!(roles.len(), 9 - cut + 1);
            cut
        })
        .collect();
    assert_eq!(cuts, [8, 7, 5, 5, 3, 3]);
}

// proves: K3
#[test]
fn it_is_not_tried_at_every_step_when_the_result_is_over_the_threshold_still() {
    let mut policy = CompactionPolicy::after_messages(4).keep_messages(4);
    policy.growth_percent = 100;
    let mut hand = compacting(policy, talk(10));
    hand.compacted(summary(LONG));
    for _ in 0..3 {
        hand.call("c", "t", "{}");
        hand.done(Finish::ToolCalls);
        hand.runs(hand.tools().last().unwrap().1, "");
    }
    assert_eq!(hand.compactions().len(), 1);
    hand.call("c", "t", "{}");
    hand.done(Finish::ToolCalls);
    hand.runs(hand.tools().last().unwrap().1, &LONG.repeat(3));
    assert_eq!(hand.compactions().len(), 2);
}

// proves: K4
#[test]
fn a_compaction_that_fails_is_empty_or_splits_a_pair_leaves_the_history_and_the_run_goes_on() {
    let call = ToolCall {
        call: CallRef { step: 1, ordinal: 0 },
        id: "c".into(),
        name: "t".into(),
        arguments: Text::EMPTY,
    };
    let split = Compaction::of([(Role::Assistant, vec![Part::ToolCall(Arc::new(call))])]);
    let results: [(&str, Result<Compaction, CompactionFault>); 6] = [
        ("failed", Err(CompactionFault::new("no").usage(Usage::new(3, 4)))),
        ("empty", Ok(Compaction::default())),
        ("empty", Ok(Compaction::summary(""))),
        ("splits_a_pair", Ok(split)),
        ("invalid", Ok(Compaction::of([(Role::Tool, vec![Part::Text("x".into())])]))),
        ("no_gain", Ok(Compaction::summary(LONG.repeat(20).as_str()))),
    ];
    for (code, result) in results {
        let mut hand = compacting(CompactionPolicy::after_messages(4).keep_messages(2), talk(6));
        let before = live(&hand);
        let billed = result.as_ref().map_or_else(|fault| fault.usage, |done| done.usage);
        hand.compacted(result);
        let Event::CompactionFailed(failed) = &hand.events[2].event else { panic!("{code}") };
        assert_eq!((failed.error.code(), live(&hand)), (code, before));
        assert_eq!(hand.checked.run().phase_name(), "model");
        hand.text("x");
        hand.done(Finish::Stop);
        assert_eq!((hand.outcome().revision.0, hand.outcome().billed), (8, billed));
        hand.replays();
    }
}

// proves: K4
#[test]
fn after_two_failures_in_a_row_the_engine_stops_trying_also_in_later_runs() {
    let policy = CompactionPolicy::after_messages(4).keep_messages(2);
    let mut hand = compacting(policy, talk(6));
    hand.compacted(Err(CompactionFault::new("no")));
    hand.call("c", "t", "{}");
    hand.done(Finish::ToolCalls);
    hand.runs(hand.tools().last().unwrap().1, &LONG.repeat(9));
    assert_eq!(hand.compactions().len(), 2);
    hand.compacted(Err(CompactionFault::new("no")));
    hand.call("c", "t", "{}");
    hand.done(Finish::ToolCalls);
    hand.runs(hand.tools().last().unwrap().1, &LONG.repeat(99));
    assert_eq!(hand.compactions().len(), 2);
    hand.text("x");
    hand.done(Finish::Stop);
    let mut next = Hand::new(Config::default().compaction(policy).unwrap(), []);
    next.start.history = talk(90);
    next.start = next.start.clone().compacts(true).context(hand.outcome().context);
    next.begin();
    assert!(next.compactions().is_empty());
    // What the provider refuses as too large is not compacted either.
    next.fail(ProblemKind::ContextOverflow);
    assert!(!next.is_live());
}

// proves: K4
#[test]
fn a_compactor_that_does_not_end_has_failed_when_its_deadline_passes() {
    let policy = CompactionPolicy::after_messages(4).keep_messages(2);
    let config = deadlines(|deadlines| deadlines.compaction = Some(seconds(5))).compaction(policy).unwrap();
    let mut hand = Hand::new(config, []);
    hand.start.history = talk(6);
    hand.start = hand.start.clone().compacts(true);
    let next = hand.begin();
    assert_eq!(next.wake.map(|wake| wake.at.as_micros()), Some(5_000_000));
    hand.at(4_999).wake(true);
    assert_eq!(hand.checked.run().phase_name(), "compact");
    let op = hand.op();
    hand.at(5_000).wake(false);
    assert_eq!(hand.kinds_from(2), ["compaction.failed", "step.started", "model.started"]);
    assert_eq!(hand.abandoned(), [op]);
}

// proves: B5
#[test]
fn what_no_model_has_answered_yet_stays_word_for_word() {
    let policy = CompactionPolicy::after_messages(4).keep_messages(1);
    let config = Config::default().compaction(policy).unwrap();
    let mut hand = Hand::new(config, []);
    hand.start.history = talk(2);
    hand.start = hand.start.clone().compacts(true).boundaries(true);
    hand.begin();
    assert!(hand.compactions().is_empty());
    hand.tells("");
    hand.text(LONG);
    hand.done(Finish::Stop);
    assert!(hand.tells("fresh news"));
    // Threshold by the whole, cut before the news: the user's old words, the answers and the input go.
    assert_eq!(hand.compactions(), [("threshold", 4)]);
    hand.compacted(summary("s"));
    assert_eq!(live(&hand), ["u s", "b fresh news"]);
    hand.tells("more news");
    hand.text("y");
    hand.done(Finish::Stop);
    hand.tells("");
    assert_eq!(hand.said(), ["u s", "b fresh news", "b more news", "a y"]);
    hand.replays();
}

// proves: K5, R1, R4, R6
#[test]
fn a_context_that_is_too_large_is_compacted_once_and_tried_again_within_the_attempts() {
    let mut hand = compacting(CompactionPolicy::default().keep_messages(2), talk(6));
    hand.text("void");
    hand.steer("a", "meanwhile").unwrap();
    let events = hand.events.len();
    hand.fail(ProblemKind::ContextOverflow);
    assert_eq!(hand.kinds_from(events), ["model.failed", "provider.stream_reset", "compaction.started"]);
    let Event::StreamReset(reset) = &hand.events[events + 1].event else { panic!() };
    assert_eq!(reset.reason, ResetReason::ContextOverflow);
    assert_eq!(hand.compactions(), [("overflow", 5)]);
    hand.compacted(summary("s"));
    assert_eq!(hand.kinds_from(events + 3), ["compaction.completed", "model.started"]);
    let Event::ModelStarted(started) = hand.last() else { panic!() };
    assert_eq!((started.attempt, started.step), (2, 1));
    // The second time it is a failure for good.
    let mut again = hand.clone();
    again.fail(ProblemKind::ContextOverflow);
    assert_eq!(again.error().code(), "context_overflow");
    assert_eq!((again.outcome().revision.0, again.unapplied()), (9, vec!["a"]));
    hand.text("x");
    hand.done(Finish::Stop);
    hand.text("y");
    hand.done(Finish::Stop);
    assert_eq!(hand.said()[hand.said().len() - 3..], ["a x", "u meanwhile", "a y"]);
    hand.replays();
}

// proves: K5, R1
#[test]
fn a_context_that_cannot_be_made_smaller_is_a_failure_of_the_model_call() {
    let overflow = |history: History, compacts: bool, attempts: u32| {
        let config = Config::default().retry(policy(|policy| policy.attempts = attempts)).unwrap();
        let mut hand = Hand::new(config, []);
        hand.start.history = history;
        hand.start = hand.start.clone().compacts(compacts);
        hand.begin();
        hand.fail(ProblemKind::ContextOverflow);
        hand
    };
    for hand in [overflow(talk(9), false, 4), overflow(talk(0), true, 4), overflow(talk(9), true, 1)] {
        assert_eq!(hand.error().code(), "context_overflow");
        assert!(hand.compactions().is_empty());
    }
    let mut failed = overflow(talk(9), true, 2);
    failed.compacted(Err(CompactionFault::new("no")));
    assert!(matches!(failed.error(), RunError::Model { attempts: 1, .. }));
    assert_eq!(
        failed.kinds().iter().rev().take(3).copied().collect::<Vec<_>>(),
        ["run.failed", "step.failed", "compaction.failed",]
    );
    failed.replays();
}

// proves: E3, E11, C3
#[test]
fn every_end_closes_a_compaction_that_is_under_way() {
    let due = || compacting(CompactionPolicy::after_messages(4).keep_messages(2), talk(6));
    let overflown = || {
        let mut hand = compacting(CompactionPolicy::default().keep_messages(2), talk(6));
        hand.fail(ProblemKind::ContextOverflow);
        hand
    };
    for (mut hand, step) in [(due(), false), (overflown(), true)] {
        let op = hand.op();
        hand.steer("a", "x").unwrap();
        hand.cancel();
        let mut kinds = vec!["compaction.cancelled"];
        kinds.extend(step.then_some("step.cancelled"));
        kinds.push("run.cancelled");
        assert!(hand.kinds().ends_with(&kinds));
        assert_eq!((hand.outcome().history.len(), hand.unapplied()), (7, vec!["a"]));
        // The compactor comes too late.
        let result = Ok(Box::new(Compaction::summary("late")));
        hand.give(Input::Compacted { op, result });
        assert_eq!(hand.checked.run().ignored(), 1);
        hand.replays();
    }
}

// proves: C9, K1
#[test]
fn an_interruption_keeps_what_was_compacted() {
    let config = Config::default().compaction(CompactionPolicy::after_messages(4).keep_messages(2)).unwrap();
    let mut hand = Hand::new(config, []).unread();
    hand.start.history = talk(6);
    hand.start = hand.start.clone().compacts(true);
    hand.begin();
    hand.compacted(summary("s"));
    hand.give(Input::ConsumerGone { awaited: false });
    hand.text("lost");
    assert_eq!((hand.outcome().revision.0, hand.outcome().history.len()), (8, 3));
    // One that is gone before the result comes lets nothing be committed that it would not see.
    let mut hand = Hand::new(hand.checked.run().config().as_ref().clone(), []).unread();
    hand.start.history = talk(6);
    hand.start = hand.start.clone().compacts(true);
    hand.begin();
    hand.give(Input::ConsumerGone { awaited: false });
    hand.compacted(summary("s"));
    assert_eq!((hand.outcome().revision.0, hand.outcome().history.len()), (7, 6));
    assert!(hand.kinds().contains(&"compaction.cancelled"));
}

// proves: E4
#[test]
fn at_one_boundary_compaction_comes_first_then_boundary_input_then_steering() {
    let config = Config::default().compaction(CompactionPolicy::after_messages(4).keep_messages(2)).unwrap();
    let mut hand = Hand::new(config, []);
    hand.start.history = talk(6);
    hand.start = hand.start.clone().compacts(true).boundaries(true);
    hand.begin();
    hand.steer("a", "x").unwrap();
    hand.compacted(summary("s"));
    assert_eq!(hand.boundary(hand.op(), BoundaryAnswer::Input(vec![Part::Text("b".into())])), Ok(true));
    assert_eq!(
        hand.kinds(),
        [
            "run.started",
            "compaction.started",
            "compaction.completed",
            "boundary.applied",
            "steering.applied",
            "step.started",
            "model.started",
        ]
    );
    assert_eq!(live(&hand)[2..], ["u hello", "b b", "u x"]);
    hand.cancel();
    hand.replays();
}

// proves: B5, K5
#[test]
fn inputs_that_a_refused_request_brought_for_the_first_time_stay_word_for_word() {
    let policy = CompactionPolicy::default().keep_messages(1);
    let mut hand = compacting(policy, talk(2));
    hand.text(LONG);
    hand.steer("a", "first").unwrap();
    hand.steer("b", "second").unwrap();
    hand.done(Finish::Stop);
    hand.fail(ProblemKind::ContextOverflow);
    assert_eq!(hand.compactions(), [("overflow", 4)]);
    hand.compacted(summary("s"));
    assert_eq!(live(&hand), ["u s", "u first", "u second"]);
}

// proves: K5
#[test]
fn a_context_that_could_be_made_smaller_still_is_not_compacted_twice_in_a_model_call() {
    let mut hand = compacting(CompactionPolicy::default().keep_messages(4), talk(10));
    hand.fail(ProblemKind::ContextOverflow);
    assert_eq!(hand.compactions(), [("overflow", 7)]);
    hand.compacted(summary("s"));
    assert_eq!(live(&hand).len(), 5);
    hand.fail(ProblemKind::ContextOverflow);
    assert_eq!((hand.compactions().len(), hand.error().code()), (1, "context_overflow"));
}

// proves: B5
#[test]
fn what_a_run_that_was_cancelled_had_been_told_reaches_the_model_in_the_next_run_word_for_word() {
    let policy = CompactionPolicy::after_messages(4).keep_messages(1);
    let mut hand = Hand::new(Config::default().compaction(policy).unwrap(), []);
    let mut history = talk(3);
    history.push(message(3, Role::Boundary, vec![Part::Text("news".into())])).unwrap();
    hand.start.history = history;
    hand.start = hand.start.clone().compacts(true);
    hand.begin();
    assert_eq!(hand.compactions(), [("threshold", 2)]);
    hand.compacted(summary("s"));
    assert_eq!(live(&hand)[2..], ["b news", "u hello"]);
}
