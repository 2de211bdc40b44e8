//! Deadlines, and the clocks that stand still while the stream is full (R10).

use crate::hand::*;
use runloom_core::config::{Config, Limits};
use runloom_core::error::RunError;
use runloom_core::event::Event;
use runloom_core::model::{Finish, ModelItem, ProblemKind};
use runloom_core::output::{Wake, WakeReason};
use runloom_core::time::Time;
use std::time::Duration;

fn wake(hand: &Hand) -> Option<(u64, WakeReason)> {
    hand.checked.next().unwrap().wake.map(|Wake { at, why }| (at.as_micros() / 1_000, why))
}

fn failure(hand: &Hand) -> Option<ProblemKind> {
    hand.events.iter().find_map(|envelope| match &envelope.event {
        Event::ModelFailed(failed) => Some(failed.problem.kind),
        _ => None,
    })
}

// proves: R10, W3
// bounds: deadline: first item
#[test]
fn only_a_quiet_wake_decides_the_first_item_and_only_from_its_time_on() {
    let mut hand = Hand::begun(deadlines(|d| d.first_item = Some(seconds(300))), []);
    assert_eq!(wake(&hand), Some((300_000, WakeReason::FirstItem)));
    hand.at(299_999).wake(true);
    assert_eq!(failure(&hand), None);
    hand.at(300_000).wake(false);
    assert_eq!(failure(&hand), None);
    hand.wake(true);
    assert_eq!(failure(&hand), Some(ProblemKind::Timeout));
    assert_eq!(wake(&hand), Some((301_000, WakeReason::Backoff)));
}

// proves: R10
// bounds: deadline: idle
#[test]
fn any_byte_is_life() {
    let config = deadlines(|d| (d.first_item, d.idle) = (Some(seconds(300)), Some(seconds(120))));
    let mut hand = Hand::begun(config, []);
    hand.at(299_000).item(ModelItem::Alive);
    assert_eq!(wake(&hand), Some((419_000, WakeReason::Idle)));
    hand.at(418_999).item(ModelItem::Alive);
    hand.at(419_000).wake(true);
    assert_eq!(failure(&hand), None);
    hand.at(538_999).wake(true);
    assert_eq!(failure(&hand), Some(ProblemKind::Timeout));
}

// proves: R10
#[test]
fn an_item_at_the_very_deadline_wins_over_it() {
    let mut hand = Hand::begun(deadlines(|d| d.first_item = Some(seconds(1))), []);
    hand.at(1_000).text("a");
    hand.wake(true);
    assert_eq!(failure(&hand), None);
}

// proves: R10
// bounds: deadline: model call
#[test]
fn the_deadline_of_a_model_call_counts_waits_and_commits() {
    let mut hand = Hand::begun(deadlines(|d| d.model_call = Some(Duration::from_millis(1_500))), []);
    hand.fail(ProblemKind::Server);
    hand.at(1_000).wake(false);
    hand.text("kept");
    hand.at(1_499).wake(false);
    assert!(hand.is_live());
    hand.at(1_500).wake(false);
    assert!(matches!(hand.error(), RunError::ModelCallDeadline));
    assert_eq!(hand.roles(), ["user", "aborted_assistant"]);
    assert_eq!(hand.outcome().revision.0, 8);
}

// proves: R10
#[test]
fn a_model_call_whose_time_is_up_during_a_wait_makes_no_further_attempt() {
    let mut hand = Hand::begun(deadlines(|d| d.model_call = Some(seconds(1))), []);
    hand.fail(ProblemKind::Server);
    assert_eq!(wake(&hand), Some((1_000, WakeReason::ModelCall)));
    let begun = hand.op();
    hand.at(1_000).wake(true);
    assert!(matches!(hand.error(), RunError::ModelCallDeadline));
    assert_eq!(hand.op(), begun);
}

// proves: R10
#[test]
fn each_model_call_has_its_own_deadline() {
    let config = deadlines(|d| d.model_call = Some(seconds(10)));
    let mut hand = Hand::begun(config, [shared("t")]);
    hand.at(9_000).calls(["t"]);
    let (_, op) = hand.tools()[0];
    hand.at(60_000).runs(op, "");
    hand.at(69_000).text("a");
    hand.done(Finish::Stop);
    assert_eq!(hand.answer(), "a");
}

// proves: R10
// bounds: deadline: run
#[test]
fn the_run_deadline_falls_in_every_phase_and_commits() {
    let config = || deadlines(|d| d.run = Some(seconds(5)));
    let mut model = Hand::begun(config(), [shared("t")]);
    model.text("kept");
    let mut wait = model.clone();
    wait.fail(ProblemKind::Server);
    wait.at(4_500).wake(false);
    wait.fail(ProblemKind::Server);
    let mut batch = model.clone();
    batch.calls(["t"]);
    for (mut hand, roles) in [
        (model, vec!["user", "aborted_assistant"]),
        (wait, vec!["user"]),
        (batch, vec!["user", "assistant", "tool"]),
    ] {
        hand.at(4_999).wake(true);
        assert!(hand.is_live());
        assert_eq!(wake(&hand), Some((5_000, WakeReason::Run)));
        hand.at(5_000).wake(false);
        assert!(matches!(hand.error(), RunError::RunDeadline));
        assert_eq!((hand.roles(), hand.outcome().revision.0), (roles, 8));
    }
}

// proves: R10, E7
// bounds: deadline: tool
#[test]
fn a_tool_out_of_time_is_a_result_and_the_rest_goes_on() {
    let config = deadlines(|d| d.tool = Some(seconds(10)));
    let mut hand = Hand::begun(config, [shared("slow").deadline(seconds(1)), shared("t")]);
    hand.calls(["slow", "t", "slow"]);
    let tools = hand.tools();
    hand.at(500).enter(tools[0].1);
    hand.enter(tools[1].1);
    assert_eq!(wake(&hand), Some((1_500, WakeReason::Tool)));
    hand.at(1_499).wake(true);
    hand.at(1_500).wake(false);
    assert_eq!(hand.statuses(), []);
    hand.wake(true);
    assert_eq!(hand.statuses(), [(0, "timed_out")]);
    assert_eq!(hand.abandoned(), [tools[0].1]);
    assert_eq!(wake(&hand), Some((10_500, WakeReason::Tool)), "the third was not entered");
    hand.at(11_000).enter(tools[2].1);
    hand.at(12_000).wake(true);
    assert_eq!(hand.statuses(), [(0, "timed_out"), (1, "timed_out"), (2, "timed_out")]);
    assert_eq!(hand.kinds().last(), Some(&"model.started"));
}

// proves: R10
#[test]
fn a_tools_result_at_its_deadline_counts() {
    let mut hand = Hand::begun(deadlines(|d| d.tool = Some(seconds(1))), [shared("t")]);
    hand.calls(["t"]);
    let (_, op) = hand.tools()[0];
    hand.enter(op);
    hand.at(1_000).finish(op, "in time");
    assert_eq!(hand.statuses(), [(0, "success")]);
}

fn narrow(change: impl FnOnce(&mut runloom_core::config::Deadlines)) -> Config {
    let mut limits = Limits::default();
    limits.event_capacity = 4;
    let mut deadlines = runloom_core::config::Deadlines::default();
    (deadlines.first_item, deadlines.idle) = (None, None);
    change(&mut deadlines);
    Config::new(limits).unwrap().deadlines(deadlines).unwrap()
}

// proves: R10, E13
#[test]
fn the_idle_clock_stands_still_while_the_stream_is_full_and_keeps_what_is_left() {
    let mut hand = Hand::begun_unread(narrow(|d| d.idle = Some(seconds(10))), []);
    let next = hand.at(7_000).text("a");
    assert!(next.credit.is_zero());
    hand.at(9_000).wake(true);
    assert_eq!(wake(&hand), None, "nothing falls due while the stream is full");
    hand.at(500_000).wake(true);
    assert_eq!(failure(&hand), None);
    hand.take();
    assert_eq!(wake(&hand), Some((510_000, WakeReason::Idle)));
    hand.at(509_999).wake(true);
    assert_eq!(failure(&hand), None);
    hand.at(510_000).wake(true);
    assert_eq!(failure(&hand), Some(ProblemKind::Timeout));
}

// proves: R10
#[test]
fn a_tools_clock_goes_on_with_what_was_left() {
    let mut hand = Hand::begun(narrow(|d| d.tool = Some(seconds(10))), [shared("t")]);
    hand.calls(["t"]);
    let (_, op) = hand.tools()[0];
    hand.reads = false;
    hand.at(1_000).enter(op);
    hand.at(5_000);
    while !hand.is_full() {
        hand.tool(op, runloom_core::tool::ToolItem::Progress("p".into()));
    }
    hand.at(90_000).wake(true);
    assert_eq!(hand.statuses(), []);
    hand.take();
    assert_eq!(wake(&hand), Some((96_000, WakeReason::Tool)));
    hand.at(96_000).wake(true);
    assert_eq!(hand.statuses(), [(0, "timed_out")]);
}

// proves: R10, E13
#[test]
fn hard_deadlines_and_waits_pass_while_the_stream_is_full() {
    let mut hand = Hand::begun_unread(narrow(|d| d.attempt = Some(seconds(1))), []);
    hand.text("a");
    assert!(hand.is_full());
    hand.at(1_000).wake(true);
    assert_eq!(failure(&hand), Some(ProblemKind::Timeout));
    hand.at(2_000).wake(true);
    assert_eq!(hand.kinds().last(), Some(&"model.started"));
    assert!(hand.is_full());
}

// proves: W3, W2
#[test]
fn time_that_goes_backwards_stands_still() {
    let mut hand = Hand::begun(deadlines(|d| d.run = Some(seconds(5))), []);
    hand.at(4_000).text("a");
    hand.at(1_000).text("b");
    assert_eq!(hand.events.last().unwrap().at, Time::from_secs(4));
    hand.at(0).wake(true);
    assert_eq!(hand.checked.run().now(), Time::from_secs(4));
    hand.at(4_999).text("c");
    hand.at(5_000).wake(false);
    assert!(matches!(hand.error(), RunError::RunDeadline));
    hand.replays();
}

// proves: W3
#[test]
fn the_end_of_time_ends_everything_that_can_end() {
    let all = deadlines(|d| {
        let forever = Some(Duration::MAX);
        (d.first_item, d.idle, d.tool) = (forever, forever, forever);
        (d.attempt, d.model_call, d.run) = (forever, forever, forever);
    });
    let mut hand = Hand::begun(all, [shared("t")]);
    hand.calls(["t"]);
    let (_, op) = hand.tools()[0];
    hand.runs(op, "");
    hand.now = Time::MAX;
    let next = hand.wake(true);
    assert!(!next.live);
    hand.replays();
}

// proves: R3, R10, C3
#[test]
fn what_falls_together_is_decided_in_one_order() {
    // Everything is due at 1 s: the wait, the attempt, the model call, the run; and a cancel comes.
    let config = deadlines(|d| {
        let second = Some(seconds(1));
        (d.attempt, d.model_call, d.run, d.first_item) = (second, second, second, second);
    });
    let mut cancelled = Hand::begun(config.clone(), []);
    cancelled.at(1_000).cancel();
    assert!(matches!(cancelled.last(), Event::RunCancelled { .. }), "an input comes before a deadline");
    let mut run = Hand::begun(config, []);
    run.at(1_000).wake(true);
    assert!(matches!(run.error(), RunError::RunDeadline));
    let mut call = Hand::begun(
        deadlines(|d| {
            (d.attempt, d.model_call, d.first_item) = (Some(seconds(1)), Some(seconds(1)), Some(seconds(1)))
        }),
        [],
    );
    call.at(1_000).wake(true);
    assert!(matches!(call.error(), RunError::ModelCallDeadline));
}
