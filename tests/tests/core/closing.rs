//! How a run is closed: from the inside, from the ledger, within its bounds (E2, E3, E6, C9, L1, X5).

use crate::hand::*;
use runloom_core::Input;
use runloom_core::config::Config;
use runloom_core::error::{Misuse, RunError};
use runloom_core::model::{Finish, ProblemKind};

/// A run with three calls: one finished, one running, one only begun.
fn mid_batch() -> Hand {
    let mut hand = Hand::begun(Config::default(), [shared("t")]);
    hand.text("a");
    hand.calls(["t", "t", "t"]);
    let tools = hand.tools();
    hand.enter(tools[2].1);
    hand.finish(tools[2].1, "done");
    hand.enter(tools[1].1);
    hand
}

// proves: E3, E2, C5
#[test]
fn what_is_open_is_closed_from_the_inside_with_siblings_in_call_order() {
    let mut hand = mid_batch();
    let events = hand.events.len();
    hand.cancel();
    assert_eq!(
        hand.kinds_from(events),
        ["tool.finished", "tool.finished", "step.cancelled", "run.cancelled"]
    );
    let statuses = [(2, "success"), (0, "interrupted(not_started)"), (1, "interrupted(outcome_unknown)")];
    assert_eq!(hand.statuses(), statuses);
    hand.replays();
}

// proves: X5, E2, E3, E6
#[test]
fn after_a_panic_the_ledger_closes_and_nothing_is_committed() {
    let mut model = Hand::begun(Config::default(), [shared("t")]);
    model.text("a");
    model.call("c", "t", "{}");
    let mut backoff = model.clone();
    backoff.fail(ProblemKind::Server);
    let closed = [
        (model, vec!["model.cancelled", "step.failed", "run.failed"]),
        (backoff, vec!["step.failed", "run.failed"]),
        (mid_batch(), vec!["tool.finished", "tool.finished", "step.failed", "run.failed"]),
    ];
    for (mut hand, kinds) in closed {
        let before = hand.checked.run().log().last_seq();
        hand.checked.plant_panic(0);
        let now = hand.now;
        let step = || hand.checked.step(now, Input::Wake { quiet: true }).map(|_| ());
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(step)).is_err());
        hand.checked.panicked().unwrap();
        let log = hand.checked.run().log();
        let last: Vec<_> = log.after(before).map(|envelope| envelope.event.kind().as_str()).collect();
        assert_eq!(last, kinds);
        assert!(matches!(hand.error(), RunError::Internal));
        assert_eq!((hand.outcome().revision.0, hand.outcome().history.len()), (7, 0));
        assert_eq!(hand.misuse(Input::Wake { quiet: false }), Misuse::Poisoned);
    }
}

// proves: X5
#[test]
fn a_panic_after_the_end_changes_no_end() {
    let mut hand = Hand::plain();
    hand.text("a");
    hand.done(Finish::Stop);
    let events = hand.events.len() as u64;
    hand.checked.panicked().unwrap();
    assert_eq!((hand.answer(), hand.checked.run().log().last_seq().0), ("a", events));
}

// proves: E3, E6
#[test]
fn a_step_that_fails_is_closed_as_failed() {
    let mut hand = Hand::plain();
    hand.fail(ProblemKind::Authentication);
    assert_eq!(hand.kinds_from(3), ["model.failed", "step.failed", "run.failed"]);
    let mut limit = Hand::begun(deadlines(|d| d.run = Some(seconds(1))), [shared("t")]);
    limit.calls(["t"]);
    let events = limit.events.len();
    limit.at(1_000).wake(false);
    assert_eq!(limit.kinds_from(events), ["tool.finished", "step.failed", "run.failed"]);
}
