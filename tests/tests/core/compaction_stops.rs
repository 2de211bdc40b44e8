//! When compaction is not tried (any more), and how that shows (K1, K4, K5, B5).

use crate::hand::*;
use runloom_core::compaction::{
    Compaction, CompactionFault, CompactionPolicy, ContextState, Trigger, cut, unread,
};
use runloom_core::event::Event;
use runloom_core::history::{History, HistoryBounds};
use runloom_core::id::MessageId;
use runloom_core::message::{Message, MessageBounds, Part, Role};
use runloom_core::model::{Finish, ProblemKind};
use runloom_core::usage::Usage;

const LONG: &str = "a long text that takes some tokens, so that there is something to gain when it goes away";

fn history(roles: impl IntoIterator<Item = Role>) -> History {
    let bounds = MessageBounds { parts: 1, text: 1_000, image: 0 };
    let message = |(at, role): (usize, Role)| {
        let id = MessageId::new(format!("old-{at}").as_str()).unwrap();
        Message::new(id, role, vec![Part::Text(format!("{at} {LONG}").as_str().into())], &bounds).unwrap()
    };
    History::from_messages(HistoryBounds::default(), roles.into_iter().enumerate().map(message)).unwrap()
}

fn talk(n: usize) -> History {
    history((0..n).map(|at| if at % 2 == 0 { Role::User } else { Role::Assistant }))
}

fn run(policy: CompactionPolicy, history: History, context: ContextState) -> Hand {
    let config = limits(|limits| limits.steps = 9).compaction(policy).unwrap();
    let mut hand = Hand::new(config, [shared("t")]);
    hand.start.history = history;
    hand.start = hand.start.clone().compacts(true).context(context);
    hand.begin();
    hand
}

/// The failures that each `compaction.stopped` names.
fn stops(hand: &Hand) -> Vec<u32> {
    let stop = |event: &Event| match event {
        Event::CompactionStopped { failures, .. } => Some(*failures),
        _ => None,
    };
    hand.events.iter().filter_map(|envelope| stop(&envelope.event)).collect()
}

/// One more step: a call, and its tool's long result.
fn step(hand: &mut Hand, reported: u64) {
    hand.usage(reported, 1);
    hand.calls(["t"]);
    let (_, op) = *hand.tools().last().unwrap();
    hand.runs(op, &LONG.repeat(4));
}

fn no() -> Result<Compaction, CompactionFault> {
    Err(CompactionFault::new("no"))
}

// proves: K4, E4
#[test]
fn after_the_last_failure_the_record_says_once_that_no_compaction_is_tried_any_more() {
    let policy = CompactionPolicy::after_messages(4).keep_messages(2);
    let mut hand = run(policy, talk(6), ContextState::default());
    hand.compacted(no());
    assert!(stops(&hand).is_empty());
    step(&mut hand, 0);
    let events = hand.events.len();
    hand.compacted(no());
    let kinds = ["compaction.failed", "compaction.stopped", "step.started", "model.started"];
    assert_eq!(hand.kinds_from(events), kinds);
    assert!(
        hand.json(events + 1)
            .contains(r#""kind":"compaction.stopped","payload":{"estimated_context_tokens":"#)
    );
    assert!(hand.json(events + 1).contains(r#""failures":2"#));
    step(&mut hand, 0);
    step(&mut hand, 0);
    hand.text("x");
    hand.done(Finish::Stop);
    assert_eq!(stops(&hand), [2]);
    hand.replays();
    // The record of the session's next run says so too, as soon as one would be wanted.
    let mut next = run(policy, talk(40), hand.outcome().context);
    assert_eq!(next.kinds(), ["run.started", "compaction.stopped", "step.started", "model.started"]);
    step(&mut next, 0);
    assert_eq!((stops(&next), next.compactions().len()), (vec![2], 0));
    // Below the threshold there is nothing to say.
    assert!(stops(&run(policy, talk(2), hand.outcome().context)).is_empty());
    // After a change of the history by hand it is tried again.
    let mut context = hand.outcome().context;
    context.start_over();
    assert_eq!(run(policy, talk(40), context).compactions().len(), 1);
}

/// System prompt, tools and tail exceed the threshold by themselves.
// proves: K3, K4
#[test]
fn field_report_comp_02_two_compactions_that_change_nothing_are_the_last_and_the_record_says_so() {
    let mut policy = CompactionPolicy::at_tokens(33_536).keep_messages(2).keep_tokens(20);
    policy.growth_percent = 0;
    let mut hand = run(policy, talk(6), ContextState::default());
    let mut tried = Vec::new();
    for reported in 1..=20 {
        step(&mut hand, 43_000 + reported);
        if hand.checked.run().phase_name() == "compact" {
            hand.compacted(Ok(Compaction::summary("s").usage(Usage::new(1, 1))));
            tried.push(reported);
        }
        if !hand.is_live() {
            break;
        }
    }
    assert_eq!(tried, [1, 2]);
    assert_eq!(stops(&hand), [2]);
    // The second was over once it was measured: it is said where the third would have begun.
    let kinds = hand.kinds();
    let at = kinds.iter().position(|kind| *kind == "compaction.stopped").unwrap();
    assert_eq!(kinds[at - 1..at + 2], ["step.completed", "compaction.stopped", "step.started"]);
    hand.replays();
}

// proves: K4, K5
#[test]
fn a_failed_recovery_that_was_the_last_says_so_before_the_run_fails() {
    let mut policy = CompactionPolicy::default().keep_messages(2);
    policy.failures = 1;
    let mut hand = run(policy, talk(6), ContextState::default());
    hand.fail(ProblemKind::ContextOverflow);
    let events = hand.events.len();
    hand.compacted(no());
    assert_eq!(
        hand.kinds_from(events),
        ["compaction.failed", "compaction.stopped", "step.failed", "run.failed"]
    );
    assert_eq!(hand.error().code(), "context_overflow");
    hand.replays();
}

/// A history of what people and the host wrote, and no model has answered: it is never compacted, by no way.
// proves: K1, K5, B5
#[test]
fn a_history_that_no_model_has_answered_is_not_compacted() {
    let unanswered = history((0..12).map(|at| if at % 3 == 2 { Role::Boundary } else { Role::User }));
    let policy = CompactionPolicy::after_messages(4).keep_messages(2);
    let mut hand = run(policy, unanswered.clone(), ContextState::default());
    assert!(hand.compactions().is_empty() && stops(&hand).is_empty());
    hand.fail(ProblemKind::ContextOverflow);
    assert_eq!((hand.error().code(), hand.compactions().len()), ("context_overflow", 0));
    assert_eq!(cut(&unanswered, &policy, unread(&unanswered), 0), None);
    // Once a model has answered, it is history like any other.
    let mut hand = run(policy, unanswered, ContextState::default());
    step(&mut hand, 0);
    assert_eq!(hand.compactions(), [(Trigger::Threshold.as_str(), 13)]);
}
