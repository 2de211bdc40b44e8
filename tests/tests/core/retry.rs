//! Attempts, waits and what is void (R1-R4, R6, R7).

use crate::hand::*;
use runloom_core::Input;
use runloom_core::config::Config;
use runloom_core::error::RunError;
use runloom_core::event::{Event, Position, ResetReason};
use runloom_core::model::{Finish, ModelItem, Problem, ProblemKind};
use runloom_core::output::{Wake, WakeReason, Work};
use runloom_core::time::Time;
use std::time::Duration;

fn hinted(kind: ProblemKind, hint: Duration) -> ModelItem {
    ModelItem::Failed(Box::new(Problem::new(kind, "no").retry_after(Some(hint))))
}

/// Ends the wait that is under way.
fn sit_out(hand: &mut Hand) -> Time {
    let wake = hand.checked.next().unwrap().wake.unwrap();
    assert_eq!(wake.why, WakeReason::Backoff);
    hand.now = wake.at;
    hand.wake(true);
    wake.at
}

// proves: R1, R2, R3
#[test]
fn four_attempts_with_waits_of_1_2_and_4_seconds() {
    let mut hand = Hand::plain();
    let mut starts = vec![hand.now];
    for _ in 0..3 {
        hand.fail(ProblemKind::Overloaded);
        assert!(hand.is_live());
        starts.push(sit_out(&mut hand));
    }
    assert_eq!(starts, [0, 1, 3, 7].map(Time::from_secs));
    let next = hand.fail(ProblemKind::Overloaded);
    assert!(!next.live && next.wake.is_none());
    assert!(matches!(hand.error(), RunError::Model { attempts: 4, .. }));
    hand.replays();
}

// proves: R2
#[test]
fn a_wait_is_not_over_one_microsecond_early() {
    let mut hand = Hand::plain();
    let next = hand.fail(ProblemKind::Server);
    assert_eq!(next.wake, Some(Wake { at: Time::from_secs(1), why: WakeReason::Backoff }));
    let begun = hand.op();
    hand.now = Time::from_micros(999_999);
    hand.wake(true);
    assert_eq!(hand.op(), begun);
    hand.now = Time::from_secs(1);
    hand.wake(false);
    assert_ne!(hand.op(), begun);
}

// proves: R2
#[test]
fn a_hint_lengthens_a_wait_up_to_60_s_and_never_shortens_it() {
    let wait = |hint: u64| {
        let mut hand = Hand::plain();
        hand.item(hinted(ProblemKind::RateLimited, Duration::from_millis(hint))).wake.unwrap().at
    };
    let cases = [(999, 1_000), (1_001, 1_001), (59_999, 59_999), (60_001, 60_000), (900_000, 60_000)];
    for (hint, expected) in cases {
        assert_eq!(wait(hint), Time::from_millis(expected), "{hint} ms");
    }
}

// proves: R7, R2
#[test]
fn a_hint_above_15_minutes_ends_the_call_with_a_time_to_come_back() {
    let mut hand = Hand::plain();
    hand.at(5_000);
    hand.item(hinted(ProblemKind::RateLimited, seconds(900) + Duration::from_micros(1)));
    let expected = Time::from_secs(905).after(Duration::from_micros(1));
    assert!(
        matches!(hand.error(), RunError::Model { retry_at: Some(at), attempts: 1, .. } if *at == expected)
    );
    assert!(hand.json(hand.events.len() - 1).contains(r#""retry_at":905000001,"#));
    assert!(!hand.kinds().contains(&"provider.stream_reset"));
}

// proves: R7
#[test]
fn a_quota_is_permanent_whatever_the_provider_says_and_points_to_the_usage_pages() {
    let mut hand = Hand::begun(Config::default().limits_pointer("https://limits.test"), []);
    let quota = Problem::new(ProblemKind::QuotaExhausted, "spent").retryable(Some(true));
    hand.item(ModelItem::Failed(Box::new(quota.retry_after(Some(seconds(1))))));
    let line = hand.json(hand.events.len() - 1);
    assert!(line.contains(r#""limits":"https://limits.test""#), "{line}");
    assert!(line.contains(r#""retry_at":1000000,"retryability":"permanent""#), "{line}");
    let mut other = Hand::begun(Config::default().limits_pointer("https://limits.test"), []);
    other.fail(ProblemKind::Authentication);
    assert!(!other.json(other.events.len() - 1).contains("limits.test"));
}

// proves: R3
#[test]
fn permanent_failures_are_not_tried_again() {
    use ProblemKind::*;
    for kind in ProblemKind::ALL {
        let mut hand = Hand::plain();
        hand.fail(kind);
        let again = matches!(
            kind,
            RateLimited | Overloaded | Server | Timeout | Connection | Truncated | InvalidResponse
        );
        assert_eq!(hand.is_live(), again, "{kind:?}");
    }
}

// proves: R1, R2
#[test]
fn a_malformed_response_is_asked_for_again_at_once_and_the_second_one_is_final() {
    let mut hand = Hand::plain();
    hand.at(40);
    hand.done(Finish::ToolCalls);
    assert_eq!(hand.kinds_from(3), ["model.failed", "provider.stream_reset", "model.started"]);
    assert_eq!(hand.events[5].at, Time::from_millis(40));
    hand.done(Finish::Stop);
    assert!(matches!(
        hand.error(),
        RunError::Model { problem: Problem { kind: ProblemKind::InvalidResponse, .. }, attempts: 2, .. }
    ));
    assert_eq!(hand.kinds_from(6), ["model.failed", "step.failed", "run.failed"]);
}

// proves: R1, R2
#[test]
fn malformed_responses_and_failures_share_the_attempts_and_only_failures_lengthen_the_wait() {
    let mut hand = Hand::plain();
    hand.fail(ProblemKind::Server);
    assert_eq!(sit_out(&mut hand), Time::from_secs(1));
    hand.done(Finish::Stop);
    hand.fail(ProblemKind::Server);
    assert_eq!(sit_out(&mut hand), Time::from_secs(3), "the second failure waits 2 s");
    // The fourth attempt, and only the second malformed one if it is.
    hand.fail(ProblemKind::Server);
    assert!(matches!(hand.error(), RunError::Model { attempts: 4, .. }));
}

// proves: R1
#[test]
fn a_first_malformed_response_in_the_last_attempt_is_final() {
    let mut hand = Hand::plain();
    for _ in 0..3 {
        hand.fail(ProblemKind::Connection);
        sit_out(&mut hand);
    }
    hand.text("partial");
    hand.done(Finish::ToolCalls);
    assert!(matches!(
        hand.error(),
        RunError::Model { problem: Problem { kind: ProblemKind::InvalidResponse, .. }, attempts: 4, .. }
    ));
    assert_eq!(hand.roles(), ["user"], "a malformed attempt leaves nothing (C4)");
}

// proves: R1
#[test]
fn an_invalid_response_is_permanent_even_if_the_adapter_says_otherwise() {
    let mut hand = Hand::plain();
    let problem = Problem::new(ProblemKind::InvalidResponse, "no").retryable(Some(true));
    hand.item(ModelItem::Failed(Box::new(problem.clone())));
    hand.item(ModelItem::Failed(Box::new(problem)));
    assert!(hand.json(hand.events.len() - 1).contains(r#""retryability":"permanent""#));
}

// proves: R4, M6
#[test]
fn a_reset_follows_its_attempt_and_voids_what_it_gave() {
    let mut hand = Hand::begun(Config::default(), [shared("t")]);
    hand.text("void");
    hand.call("c", "t", "{}");
    hand.item(hinted(ProblemKind::RateLimited, seconds(3)));
    let kinds = hand.kinds();
    assert_eq!(kinds[kinds.len() - 2..], ["model.failed", "provider.stream_reset"]);
    let Event::StreamReset(reset) = hand.last() else { panic!() };
    let retry_after = Some(seconds(3));
    assert_eq!(reset.reason, ResetReason::RetryableFailure { kind: ProblemKind::RateLimited, retry_after });
    assert_eq!(reset.position, Position::Partial);
    sit_out(&mut hand);
    hand.text("good");
    hand.done(Finish::Stop);
    assert_eq!(hand.answer(), "good");
    assert_eq!(hand.roles(), ["user", "assistant"]);
    assert!(!hand.kinds().contains(&"tool.proposed") && hand.tools().is_empty());
}

// proves: R4, M6
#[test]
fn the_wish_of_zero_is_no_wish() {
    let mut hand = Hand::plain();
    let mut problem = Problem::new(ProblemKind::RateLimited, "no");
    problem.retry_after = Some(Duration::ZERO);
    hand.item(ModelItem::Failed(Box::new(problem)));
    let Event::StreamReset(reset) = hand.last() else { panic!() };
    assert_eq!(reset.position, Position::Pristine);
    assert!(matches!(reset.reason, ResetReason::RetryableFailure { retry_after: None, .. }));
}

// proves: R6, M2
#[test]
fn a_retry_repeats_the_same_request_and_tools_of_earlier_steps_stay() {
    let mut hand = Hand::begun(Config::default(), [shared("t")]);
    hand.calls(["t"]);
    let (_, op) = hand.tools()[0];
    hand.runs(op, "once");
    let request = |hand: &Hand| match hand.begun_last().1 {
        Work::Model(request) => request,
        other => panic!("{other:?}"),
    };
    let first = request(&hand);
    assert_eq!(first.history.len(), 3);
    hand.text("half");
    hand.fail(ProblemKind::Server);
    sit_out(&mut hand);
    let second = request(&hand);
    assert_eq!((first.attempt, second.attempt), (1, 2));
    assert_eq!(first.operation, second.operation);
    assert_eq!(first.history, second.history);
    assert_eq!(hand.tools().len(), 1);
}

// proves: R3, C3
#[test]
fn a_cancel_ends_a_wait_at_once_and_leaves_no_timer() {
    let mut hand = Hand::plain();
    hand.text("void");
    hand.fail(ProblemKind::Overloaded);
    hand.at(10);
    hand.cancel();
    let next = hand.checked.next().unwrap();
    assert!(!next.live && next.wake.is_none());
    assert_eq!(hand.events.last().unwrap().at, Time::from_millis(10));
    assert_eq!(hand.roles(), ["user"]);
    let begun = hand.op();
    hand.at(5_000).wake(true);
    assert_eq!(hand.op(), begun);
}

// proves: R3, C3, W5
#[test]
fn a_cancel_ends_an_attempt_at_once() {
    let mut hand = Hand::plain();
    let op = hand.op();
    hand.at(10).cancel();
    assert_eq!(hand.abandoned(), [op]);
    assert!(hand.checked.next().unwrap().wake.is_none());
}

// proves: W3
#[test]
fn at_the_end_of_time_no_wait_can_pass_and_the_call_ends() {
    let config = Config::default().retry(policy(|policy| policy.attempts = 300)).unwrap();
    let mut hand = Hand::begun(config, []).quick();
    hand.now = Time::MAX;
    hand.wake(false);
    let next = hand.fail(ProblemKind::Server);
    assert!(!next.live);
    assert!(matches!(hand.error(), RunError::Model { attempts: 1, .. }));
}

// proves: R10, R2
#[test]
fn a_result_that_comes_with_the_deadline_counts() {
    let mut hand = Hand::begun(deadlines(|d| d.attempt = Some(seconds(1))), []);
    hand.at(1_000);
    hand.text("just in time");
    assert_eq!(hand.kinds_from(3), ["text.delta", "model.failed", "provider.stream_reset"]);
    let mut hand = Hand::begun(deadlines(|d| d.attempt = Some(seconds(1))), []);
    hand.at(999).text("in time");
    hand.at(1_000).done(Finish::Stop);
    assert_eq!(hand.answer(), "in time");
}

// proves: C6, W5
#[test]
fn items_of_an_abandoned_attempt_are_counted_and_ignored() {
    let mut hand = Hand::begun(deadlines(|d| d.attempt = Some(seconds(1))), []);
    let op = hand.op();
    hand.at(1_000).wake(false);
    let events = hand.events.len();
    for item in [ModelItem::Text("late".into()), done(Some(Finish::Stop))] {
        hand.give(Input::Model { op, item });
    }
    assert_eq!((hand.events.len(), hand.checked.run().ignored()), (events, 2));
    assert_eq!(hand.abandoned(), [op]);
}
