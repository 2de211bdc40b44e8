//! Input at boundaries (B1-B7): what a host has to tell the model between steps.

use crate::hand::*;
use runloom_core::Input;
use runloom_core::boundary::{BoundaryAnswer, BoundaryError};
use runloom_core::config::Config;
use runloom_core::error::{Misuse, RunError};
use runloom_core::event::Event;
use runloom_core::history::{History, HistoryBounds, HistoryError};
use runloom_core::id::{CommandId, OpId};
use runloom_core::input::AbortCause;
use runloom_core::message::{MessageError, Part};
use runloom_core::model::Finish;
use runloom_core::outcome::{RunResult, StopReason};
use runloom_core::tool::ToolSpec;

fn collecting(config: Config, tools: impl IntoIterator<Item = ToolSpec>) -> Hand {
    let mut hand = Hand::new(config, tools);
    hand.start = hand.start.clone().boundaries(true);
    hand.begin();
    hand
}

fn input(text: &str) -> BoundaryAnswer {
    BoundaryAnswer::Input(vec![Part::Text(text.into())])
}

// proves: B1
#[test]
fn without_a_source_nothing_is_asked() {
    let mut hand = Hand::plain();
    hand.text("x");
    hand.done(Finish::Stop);
    assert!(hand.asked().is_empty());
    assert!(!hand.is_live());
}

// proves: B2, B4, E4
#[test]
fn the_source_is_asked_before_each_step_and_before_an_end_turn_commit() {
    let mut hand = collecting(Config::default(), [shared("t")]);
    assert_eq!(hand.kinds(), ["run.started"]);
    assert_eq!(hand.checked.run().phase_name(), "boundary");
    assert!(!hand.tells(""));
    hand.calls(["t"]);
    assert_eq!(hand.asked().len(), 1);
    hand.steer("s", "steered").unwrap();
    hand.runs(hand.tools()[0].1, "done");
    assert_eq!(hand.asked(), ["before_provider", "before_provider"]);
    let events = hand.events.len();
    assert!(hand.tells("a notice"));
    assert_eq!(
        hand.kinds_from(events),
        ["boundary.applied", "steering.applied", "step.started", "model.started"]
    );
    hand.text("x");
    hand.done(Finish::Stop);
    assert_eq!(hand.asked(), ["before_provider", "before_provider", "before_completion"]);
    assert!(!hand.tells(""));
    assert_eq!(hand.said(), ["u hello", "a ", "t ", "b a notice", "u steered", "a x"]);
    // The commit of the input and the run's own.
    assert_eq!(hand.outcome().revision.0, 9);
    hand.replays();
}

// proves: B3, B5
#[test]
fn input_at_completion_causes_another_step_and_the_held_response_is_an_ordinary_message() {
    let mut hand = collecting(Config::default(), []);
    hand.tells("");
    hand.text("held");
    hand.done(Finish::Stop);
    let events = hand.events.len();
    assert!(hand.tells("wait, a child is done"));
    // The next step is a boundary of its own, at which the source is asked again.
    assert_eq!(hand.kinds_from(events), ["step.completed", "boundary.applied"]);
    assert!(hand.tells("another is done"));
    let kinds = ["boundary.applied", "step.started", "model.started"];
    assert_eq!(hand.kinds_from(events + 2), kinds);
    hand.text("final");
    hand.done(Finish::Stop);
    hand.tells("");
    let said = ["u hello", "a held", "b wait, a child is done", "b another is done", "a final"];
    assert_eq!((hand.said(), hand.answer()), (said.map(String::from).to_vec(), "final"));
    assert_eq!(hand.outcome().revision.0, 10);
    hand.replays();
}

// proves: B3
#[test]
fn nothing_is_asked_at_the_completion_of_the_last_step() {
    let mut hand = collecting(limits(|limits| limits.steps = 1), []);
    hand.tells("read this");
    hand.text("x");
    hand.done(Finish::Stop);
    assert_eq!(hand.asked(), ["before_provider"]);
    assert_eq!(hand.outcome().answer().unwrap().stop_reason, StopReason::EndTurn);
}

// proves: B4
#[test]
fn an_accepted_input_is_committed_at_once_and_empty_input_commits_nothing() {
    let mut hand = collecting(Config::default(), []);
    let committed = |hand: &Hand| {
        let (history, revision) = hand.checked.run().committed().unwrap();
        (history.len(), revision.0)
    };
    assert_eq!(committed(&hand), (0, 7));
    for nothing in [BoundaryAnswer::Input(vec![]), input("")] {
        let mut empty = hand.clone();
        assert_eq!(empty.boundary(empty.op(), nothing), Ok(false));
        assert_eq!((committed(&empty), empty.checked.run().phase_name()), ((0, 7), "model"));
    }
    let op = hand.op();
    assert!(hand.tells("notice"));
    assert_eq!(committed(&hand), (2, 8));
    // An answer that comes again is none.
    assert_eq!(hand.boundary(op, input("again")), Ok(false));
    let Event::BoundaryApplied(applied) = &hand.events[1].event else { panic!() };
    assert_eq!((applied.session.as_str(), applied.revision.0), ("s", 8));
}

// proves: B4, B6
#[test]
fn every_end_answers_a_pending_question_with_false_and_keeps_the_held_response() {
    type End = fn(&mut Hand);
    let ends: [(End, bool); 4] = [
        (|hand| _ = hand.cancel(), true),
        (|hand| _ = hand.abort(AbortCause::HandleDropped), true),
        (|hand| _ = hand.abort(AbortCause::DriverPanicked), true),
        (|hand| _ = hand.give(Input::ConsumerGone { awaited: false }), false),
    ];
    for (end, ends_at_once) in ends {
        let mut hand = collecting(Config::default(), []);
        hand.tells("");
        hand.text("held");
        hand.done(Finish::Stop);
        let op = hand.op();
        end(&mut hand);
        assert_eq!(hand.is_live(), !ends_at_once);
        assert_eq!(hand.boundary(op, input("late")), Ok(false));
        assert!(!hand.is_live());
        let expected: &[&str] = if ends_at_once { &["u hello", "a held"] } else { &[] };
        assert_eq!(hand.said(), expected);
        hand.replays();
    }
}

// proves: B6
#[test]
fn a_source_that_is_gone_fails_the_run_and_what_was_done_is_kept() {
    let mut hand = collecting(Config::default(), [shared("t")]);
    hand.tells("");
    hand.calls(["t"]);
    hand.runs(hand.tools()[0].1, "done");
    assert_eq!(hand.boundary(hand.op(), BoundaryAnswer::Lost), Ok(false));
    assert_eq!(hand.error(), &RunError::BoundaryLost);
    assert_eq!((hand.roles(), hand.outcome().revision.0), (vec!["user", "assistant", "tool"], 8));
    let mut hand = collecting(Config::default(), []);
    hand.tells("");
    hand.text("held");
    hand.done(Finish::Stop);
    hand.boundary(hand.op(), BoundaryAnswer::Lost).unwrap();
    assert_eq!(
        (hand.error().code(), hand.said()),
        ("boundary_lost", vec!["u hello".into(), "a held".into()])
    );
    assert_eq!(hand.kinds().iter().rev().take(2).copied().collect::<Vec<_>>(), ["run.failed", "step.failed"]);
    hand.replays();
}

// proves: C9, B4
#[test]
fn an_interruption_keeps_the_commits_of_boundary_inputs() {
    let mut hand = Hand::new(Config::default(), []).unread();
    hand.start = hand.start.clone().boundaries(true);
    hand.begin();
    hand.tells("kept");
    hand.give(Input::ConsumerGone { awaited: false });
    hand.text("lost");
    assert!(matches!(hand.error(), RunError::Interrupted));
    assert_eq!((hand.said(), hand.outcome().revision.0), (vec!["u hello".into(), "b kept".into()], 8));
    hand.replays();
}

// proves: B4
// bounds: boundary input
#[test]
fn input_beyond_a_bound_is_refused_and_the_question_stands_open() {
    let mut hand = collecting(limits(|limits| limits.boundary_bytes = 8), []);
    for fits in ["1234567", "12345678"] {
        assert!(hand.clone().tells(fits));
    }
    let long = hand.boundary(hand.op(), input("123456789"));
    assert_eq!(long, Err(BoundaryError::Invalid(MessageError::Text { limit: 8, observed: 9 })));
    assert_eq!(hand.checked.run().phase_name(), "boundary");
    assert!(hand.tells("shorter"));
    let mut hand = Hand::new(Config::default(), []);
    let bounds = HistoryBounds { messages: 1, bytes: u64::MAX };
    hand.start.history = History::new(bounds);
    hand.start = hand.start.clone().boundaries(true);
    hand.begin();
    let full = hand.boundary(hand.op(), input("x"));
    assert_eq!(full, Err(BoundaryError::History(HistoryError::TooManyMessages { limit: 1 })));
}

// proves: B7
#[test]
fn a_boundary_message_has_a_type_of_its_own() {
    let mut hand = collecting(Config::default(), []);
    hand.tells("notice");
    hand.text("x");
    hand.done(Finish::Stop);
    hand.tells("");
    assert_eq!(hand.roles(), ["user", "boundary", "assistant"]);
    let kinds = hand.kinds();
    assert!(kinds.contains(&"boundary.applied") && !kinds.contains(&"steering.applied"));
}

// proves: W1
#[test]
fn answers_of_what_was_never_asked_are_misuse() {
    let mut hand = Hand::plain();
    let answer = |op| Input::Boundary { op: OpId(op), command: CommandId(9), answer: input("x") };
    assert!(matches!(hand.misuse(answer(9)), Misuse::UnknownOp { .. }));
    assert!(matches!(hand.misuse(answer(1)), Misuse::WrongKind { .. }));
}

// proves: B2, E13
#[test]
fn a_full_stream_holds_neither_the_question_nor_its_answer_back() {
    let mut hand = Hand::new(limits(|limits| limits.event_capacity = 1), []).unread();
    hand.start = hand.start.clone().boundaries(true);
    hand.begin();
    assert!(hand.is_full());
    assert!(hand.tells("notice"));
    assert!(hand.is_full());
    hand.cancel();
    assert!(matches!(hand.outcome().result, RunResult::Cancelled(_)));
    assert_eq!(hand.outcome().revision.0, 9);
}
