//! What people add while a run is under way (H3-H5).

use crate::hand::*;
use runloom_core::Output;
use runloom_core::boundary::BoundaryAnswer;
use runloom_core::config::Config;
use runloom_core::event::Event;
use runloom_core::id::SteerId;
use runloom_core::input::AbortCause;
use runloom_core::message::{MessageError, Part};
use runloom_core::model::{Finish, ModelItem, ProblemKind, SteeringItem};
use runloom_core::outcome::StopReason;
use runloom_core::steer::{RetractReply, SteerError};

fn claim() -> ModelItem {
    ModelItem::Steering(Box::new(SteeringItem::Claim))
}

fn delivered(id: &str) -> ModelItem {
    ModelItem::Steering(Box::new(SteeringItem::Delivered(SteerId::new(id).unwrap())))
}

fn released(id: &str) -> ModelItem {
    ModelItem::Steering(Box::new(SteeringItem::Released(SteerId::new(id).unwrap())))
}

/// The inputs that were handed to attempts, in order.
fn handed(hand: &Hand) -> Vec<String> {
    let handed = |output: &Output| match output {
        Output::Steer { steer, .. } => Some(steer.id.as_str().to_owned()),
        _ => None,
    };
    hand.outputs.iter().filter_map(handed).collect()
}

/// The events about steering, with the ids that they name.
fn steering(hand: &Hand) -> Vec<(&'static str, String)> {
    let event = |event: &Event| match event {
        Event::SteeringDelivered(id) => Some(("delivered", id.as_str().to_owned())),
        Event::SteeringApplied(id) => Some(("applied", id.as_str().to_owned())),
        _ => None,
    };
    hand.events.iter().filter_map(|envelope| event(&envelope.event)).collect()
}

// proves: H3, E4
#[test]
fn a_steer_crosses_into_history_behind_the_results_and_before_the_next_step() {
    let mut hand = Hand::begun(Config::default(), [shared("t")]);
    assert_eq!(hand.steer("a", "faster"), Ok("a".into()));
    hand.calls(["t"]);
    assert_eq!(hand.steer("b", "and shorter"), Ok("b".into()));
    let events = hand.events.len();
    hand.runs(hand.tools()[0].1, "done");
    let kinds = [
        "tool.started",
        "tool.finished",
        "step.completed",
        "steering.applied",
        "steering.applied",
        "step.started",
        "model.started",
    ];
    assert_eq!(hand.kinds_from(events), kinds);
    hand.text("yes");
    hand.done(Finish::Stop);
    assert_eq!(hand.said(), ["u hello", "a ", "t ", "u faster", "u and shorter", "a yes"]);
    assert_eq!((hand.unapplied().len(), hand.outcome().revision.0), (0, 8));
    hand.replays();
}

// proves: H5
#[test]
fn staged_inputs_before_an_end_turn_commit_cause_one_more_step() {
    let mut hand = Hand::plain();
    hand.text("that is it");
    hand.steer("a", "not quite").unwrap();
    hand.done(Finish::Stop);
    assert!(hand.is_live());
    hand.text("now it is");
    hand.done(Finish::Stop);
    assert_eq!(hand.said(), ["u hello", "a that is it", "u not quite", "a now it is"]);
    assert_eq!(hand.answer(), "now it is");
    hand.replays();
}

// proves: H5
#[test]
fn what_comes_at_the_last_step_is_returned_and_not_put_where_no_model_reads_it() {
    for (finish, stop) in [(Finish::Stop, StopReason::EndTurn), (Finish::Pause, StopReason::MaxSteps)] {
        let mut hand = Hand::begun(limits(|limits| limits.steps = 1), []);
        hand.steer("a", "too late").unwrap();
        hand.text("x");
        hand.done(finish);
        assert_eq!(hand.outcome().answer().unwrap().stop_reason, stop);
        assert_eq!((hand.said(), hand.unapplied()), (vec!["u hello".into(), "a x".into()], vec!["a"]));
        assert_eq!(&*hand.outcome().unapplied[0].parts, [Part::Text("too late".into())]);
    }
}

// proves: H5
#[test]
fn a_refusal_and_an_output_limit_return_what_is_staged() {
    for finish in [Finish::Length, Finish::Refusal] {
        let mut hand = Hand::plain();
        hand.steer("a", "x").unwrap();
        hand.text("cut");
        hand.done(finish);
        assert_eq!(hand.unapplied(), ["a"], "{finish:?}");
    }
}

/// Brings a run to each place where it can wait.
fn places() -> Vec<(&'static str, Hand)> {
    let mut backoff = Hand::plain();
    backoff.fail(ProblemKind::Server);
    let mut batch = Hand::begun(Config::default(), [shared("t")]);
    batch.calls(["t"]);
    let mut boundary = Hand::new(Config::default(), []);
    boundary.start = boundary.start.clone().boundaries(true);
    boundary.begin();
    let mut completion = boundary.clone();
    completion.tells("");
    completion.text("x");
    completion.done(Finish::Stop);
    let mut full = Hand::begun_unread(limits(|limits| limits.event_capacity = 3), []);
    full.text("x");
    assert!(full.is_full());
    vec![
        ("model", Hand::plain()),
        ("backoff", backoff),
        ("batch", batch),
        ("boundary", boundary),
        ("boundary", completion),
        ("model", full),
    ]
}

// proves: H3, H5
#[test]
fn commands_are_answered_at_once_wherever_the_run_stands_and_every_end_returns_what_was_accepted() {
    for (phase, hand) in places() {
        assert_eq!(hand.checked.run().phase_name(), phase);
        let mut cancelled = hand.clone();
        for id in ["a", "b", "c"] {
            assert_eq!(cancelled.steer(id, id), Ok(id.into()), "{phase}");
        }
        assert_eq!(cancelled.retract("b"), RetractReply::Retracted);
        assert_eq!(cancelled.retract("b"), RetractReply::NotFound);
        let mut dropped = cancelled.clone();
        cancelled.cancel();
        assert_eq!(cancelled.unapplied(), ["a", "c"], "{phase}");
        dropped.abort(AbortCause::DriverPanicked);
        assert_eq!(dropped.unapplied(), ["a", "c"], "{phase}");
        assert_eq!(dropped.steer("d", "x"), Err(SteerError::NotAccepting));
        assert_eq!(dropped.retract("a"), RetractReply::NotFound);
        dropped.replays();
    }
}

// proves: H3
#[test]
fn a_retraction_is_decided_by_where_the_input_is() {
    let mut hand = Hand::plain();
    hand.steer("a", "1").unwrap();
    hand.item(claim());
    assert_eq!(hand.retract("a"), RetractReply::Delivered);
    hand.item(delivered("a"));
    assert_eq!(hand.retract("a"), RetractReply::Delivered);
    hand.steer("b", "2").unwrap();
    hand.text("x");
    hand.done(Finish::Stop);
    assert_eq!(
        (hand.retract("a"), hand.retract("b")),
        (RetractReply::AlreadyApplied, RetractReply::AlreadyApplied)
    );
    assert_eq!(hand.retract("c"), RetractReply::NotFound);
    hand.text("y");
    hand.done(Finish::Stop);
    assert_eq!(hand.retract("b"), RetractReply::AlreadyApplied);
    assert_eq!(hand.said(), ["u hello", "a x", "u 1", "u 2", "a y"]);
}

// proves: H4
#[test]
fn a_model_takes_inputs_as_it_says_and_the_event_comes_when_its_provider_acknowledges() {
    let mut hand = Hand::plain();
    hand.steer("a", "1").unwrap();
    assert!(handed(&hand).is_empty());
    hand.item(claim());
    hand.item(claim());
    assert_eq!(handed(&hand), ["a"]);
    // The second claim stands open.
    hand.steer("b", "2").unwrap();
    hand.steer("c", "3").unwrap();
    assert_eq!(handed(&hand), ["a", "b"]);
    assert!(steering(&hand).is_empty());
    hand.item(delivered("b"));
    hand.item(delivered("b"));
    hand.item(delivered("c"));
    hand.item(delivered("nobody"));
    assert_eq!(steering(&hand), [("delivered", "b".into())]);
    // What the provider has is applied with the turn; it alone causes no further step, what is staged does.
    hand.item(released("a"));
    hand.text("x");
    hand.done(Finish::Stop);
    let expected = [("delivered", "b"), ("applied", "b"), ("applied", "a"), ("applied", "c")];
    assert_eq!(steering(&hand), expected.map(|(what, id)| (what, id.to_owned())));
    hand.text("y");
    hand.done(Finish::Stop);
    assert_eq!(hand.said(), ["u hello", "a x", "u 2", "u 1", "u 3", "a y"]);
    hand.replays();
}

// proves: H4, H5
#[test]
fn a_delivered_input_is_applied_at_every_end_and_alone_causes_no_step() {
    let end = |end: fn(&mut Hand)| {
        let mut hand = Hand::plain();
        for id in ["a", "b"] {
            hand.steer(id, id).unwrap();
            hand.item(claim());
        }
        hand.item(delivered("a"));
        hand.text("x");
        end(&mut hand);
        hand.replays();
        (hand.roles().join(" "), hand.unapplied().join(" "), steering(&hand).len())
    };
    assert_eq!(end(|hand| _ = hand.cancel()), ("user aborted_assistant user".into(), "b".into(), 2));
    let failed = end(|hand| _ = hand.fail(ProblemKind::Permission));
    assert_eq!(failed, ("user aborted_assistant user".into(), "b".into(), 2));
    let mut hand = Hand::plain();
    hand.steer("a", "a").unwrap();
    hand.item(claim());
    hand.item(delivered("a"));
    hand.text("x");
    hand.done(Finish::Stop);
    assert_eq!(
        (hand.said(), hand.unapplied().len()),
        (vec!["u hello".into(), "a x".into(), "u a".into()], 0)
    );
    assert_eq!(
        hand.kinds().iter().rev().take(3).copied().collect::<Vec<_>>(),
        ["run.completed", "steering.applied", "step.completed",]
    );
}

// proves: H4, H5, R4
#[test]
fn a_reset_stages_what_the_void_attempt_had_taken_and_the_next_may_take_it_again() {
    let mut hand = Hand::plain();
    for id in ["a", "b"] {
        hand.steer(id, id).unwrap();
        hand.item(claim());
    }
    hand.item(delivered("a"));
    hand.fail(ProblemKind::Server);
    assert_eq!(hand.retract("b"), RetractReply::Retracted);
    let mut cancelled = hand.clone();
    cancelled.cancel();
    assert_eq!((cancelled.unapplied(), cancelled.roles()), (vec!["a"], vec!["user"]));
    hand.at(1_000).wake(false);
    // A claim of the void attempt is void too.
    hand.steer("c", "c").unwrap();
    assert_eq!(handed(&hand), ["a", "b"]);
    hand.item(claim());
    hand.item(delivered("a"));
    hand.text("x");
    hand.done(Finish::Stop);
    let expected = [("delivered", "a"), ("delivered", "a"), ("applied", "a"), ("applied", "c")];
    assert_eq!(steering(&hand), expected.map(|(what, id)| (what, id.to_owned())));
    hand.replays();
}

// proves: H5, C9
#[test]
fn an_interruption_returns_also_what_was_applied_and_not_committed() {
    let mut hand = Hand::begun_unread(Config::default(), []);
    hand.steer("a", "1").unwrap();
    hand.text("x");
    hand.done(Finish::Stop);
    hand.steer("b", "2").unwrap();
    hand.give(runloom_core::Input::ConsumerGone { awaited: false });
    hand.text("y");
    assert_eq!(hand.unapplied(), ["a", "b"]);
    assert_eq!((hand.outcome().history.len(), hand.outcome().revision.0), (0, 7));
}

// proves: H3
// bounds: steer; staged steers
#[test]
fn inputs_beyond_a_bound_are_refused_with_a_typed_error() {
    let config = || {
        limits(|limits| {
            limits.steers = 2;
            limits.steer_bytes = 8;
        })
    };
    let mut hand = Hand::begun(config(), []);
    assert!(hand.steer("n-1", "1234567").is_ok());
    assert!(hand.steer("n", "12345678").is_ok());
    assert_eq!(hand.steer("more", "x"), Err(SteerError::TooMany { limit: 2 }));
    hand.retract("n");
    let long = hand.steer("n+1", "123456789");
    assert_eq!(long, Err(SteerError::Invalid(MessageError::Text { limit: 8, observed: 9 })));
    assert_eq!(hand.steer("none", ""), Err(SteerError::Invalid(MessageError::Empty)));
    assert_eq!(hand.steer_parts(None, vec![]), Err(SteerError::Invalid(MessageError::Empty)));
    assert_eq!(hand.steer("n-1", "x"), Err(SteerError::Duplicate(SteerId::new("n-1").unwrap())));
    assert_eq!(hand.steer_parts(None, vec![Part::Text("x".into())]), Ok("steer-1".into()));
    hand.text("x");
    hand.done(Finish::Stop);
    assert_eq!(hand.steer("n-1", "x"), Err(SteerError::Duplicate(SteerId::new("n-1").unwrap())));
    // An id of the host's is not made again.
    assert_eq!(hand.steer("steer-2", "x"), Ok("steer-2".into()));
    assert_eq!(hand.steer_parts(None, vec![Part::Text("x".into())]), Ok("steer-3".into()));
    hand.replays();
}

// proves: H5, B3
#[test]
fn a_steer_that_comes_while_the_source_is_asked_to_finish_causes_one_more_step() {
    let mut hand = Hand::new(Config::default(), []);
    hand.start = hand.start.clone().boundaries(true);
    hand.begin();
    hand.tells("");
    hand.text("x");
    hand.done(Finish::Stop);
    hand.steer("a", "one more thing").unwrap();
    assert_eq!(hand.boundary(hand.op(), BoundaryAnswer::Input(vec![])), Ok(false));
    assert!(hand.is_live());
    hand.text("y");
    hand.done(Finish::Stop);
    assert_eq!(hand.said(), ["u hello", "a x", "u one more thing", "a y"]);
    // The empty answer has ended collection.
    assert_eq!(hand.asked(), ["before_provider", "before_completion"]);
    hand.replays();
}
