//! Configurations that are refused, and that none breaks the builder (L1, E13, bounds).

use crate::hand::*;
use runloom_core::config::{Config, ConfigError, Deadlines, Limits};
use std::time::Duration;

fn with(change: impl FnOnce(&mut Limits)) -> Result<Config, ConfigError> {
    let mut limits = Limits::default();
    change(&mut limits);
    Config::new(limits)
}

// proves: L1
#[test]
fn the_log_must_hold_what_is_unread_two_largest_steps_and_the_close() {
    let config = Config::default();
    let (events, bytes) = (config.min_log_events(), config.min_log_bytes());
    assert!(with(|limits| limits.log_events = events).is_ok());
    assert!(with(|limits| limits.log_events = events + 1).is_ok());
    assert!(with(|limits| limits.log_events = events - 1).is_err());
    assert!(with(|limits| limits.log_bytes = bytes).is_ok());
    assert!(with(|limits| limits.log_bytes = bytes + 1).is_ok());
    assert!(with(|limits| limits.log_bytes = bytes - 1).is_err());
    let more = with(|limits| limits.event_capacity += 10).unwrap();
    assert_eq!(more.min_log_events(), events + 10);
}

// proves: L1, E13, R1
#[test]
fn each_attempt_needs_room_in_the_log() {
    let events = Config::default().min_log_events();
    let tight = with(|limits| limits.log_events = events).unwrap();
    assert!(tight.clone().retry(policy(|policy| policy.attempts = 4)).is_ok());
    assert!(tight.clone().retry(policy(|policy| policy.attempts = 3)).is_ok());
    let refused = tight.retry(policy(|policy| policy.attempts = 5));
    assert!(matches!(refused, Err(ConfigError::TooSmall { what: "log events", .. })));
    let huge = Config::default().retry(policy(|policy| policy.attempts = u32::MAX));
    assert!(matches!(huge, Err(ConfigError::TooSmall { .. })));
}

// proves: E13, L1
#[test]
fn limits_without_bounds_are_refused_and_break_nothing() {
    let changes: [fn(&mut Limits); 16] = [
        |limits| limits.event_capacity = usize::MAX,
        |limits| limits.event_capacity_bytes = u64::MAX,
        |limits| limits.payload_bytes = u64::MAX,
        |limits| limits.response_bytes = u64::MAX,
        |limits| (limits.response_bytes, limits.delta_bytes) = (u64::MAX, 16),
        |limits| limits.argument_bytes = u64::MAX,
        |limits| limits.calls = usize::MAX,
        |limits| limits.parts = usize::MAX,
        |limits| limits.delta_bytes = u64::MAX,
        |limits| limits.tool_output_bytes = u64::MAX,
        |limits| limits.progress_bytes = u64::MAX,
        |limits| limits.error_bytes = u64::MAX,
        |limits| limits.fact_bytes = u64::MAX,
        |limits| (limits.error_bytes, limits.payload_bytes) = (u64::MAX, u64::MAX),
        |limits| (limits.delta_bytes, limits.response_bytes) = (0, 0),
        |limits| (limits.log_events, limits.log_bytes) = (0, 0),
    ];
    for (at, change) in changes.into_iter().enumerate() {
        assert!(with(change).is_err(), "change {at}");
    }
    let boundless = with(|limits| {
        (limits.parallel_tools, limits.late, limits.image_bytes) = (usize::MAX, usize::MAX, usize::MAX);
        (limits.input_bytes, limits.steps, limits.facts) = (u64::MAX, u32::MAX, u32::MAX);
        (limits.log_events, limits.log_bytes) = (usize::MAX, u64::MAX);
        (limits.event_capacity, limits.event_capacity_bytes) = (usize::MAX, u64::MAX);
    });
    let mut hand = Hand::begun(boundless.unwrap(), [shared("t")]);
    hand.calls(["t"]);
    let (_, op) = hand.tools()[0];
    hand.runs(op, "");
    hand.cancel();
}

#[test]
fn what_must_not_be_zero_is_refused() {
    let zeroes: [fn(&mut Limits); 7] = [
        |limits| limits.event_capacity = 0,
        |limits| limits.event_capacity_bytes = 0,
        |limits| limits.calls = 0,
        |limits| limits.steps = 0,
        |limits| limits.parallel_tools = 0,
        |limits| limits.input_bytes = 0,
        |limits| limits.response_bytes = 0,
    ];
    for (at, zero) in zeroes.into_iter().enumerate() {
        assert!(matches!(with(zero), Err(ConfigError::Zero(_))), "{at}");
    }
    let spans: [fn(&mut Deadlines); 6] = [
        |d| d.first_item = Some(Duration::ZERO),
        |d| d.idle = Some(Duration::from_nanos(999)),
        |d| d.attempt = Some(Duration::ZERO),
        |d| d.model_call = Some(Duration::ZERO),
        |d| d.tool = Some(Duration::ZERO),
        |d| d.run = Some(Duration::ZERO),
    ];
    for span in spans {
        let mut deadlines = Deadlines::default();
        span(&mut deadlines);
        assert!(matches!(Config::default().deadlines(deadlines), Err(ConfigError::Zero(_))));
    }
    for (parts, good) in [(129, false), (130, true), (131, true)] {
        assert_eq!(with(|limits| limits.parts = parts).is_ok(), good, "calls + 2");
    }
}

// proves: E13
#[test]
fn no_event_is_larger_than_a_payload_may_be() {
    let least = |payload| {
        with(|limits| {
            (limits.argument_bytes, limits.delta_bytes, limits.response_bytes) = (64, 64, 64);
            (limits.calls, limits.parts) = (1, 3);
            (limits.tool_output_bytes, limits.progress_bytes, limits.error_bytes) = (256, 256, 256);
            (limits.fact_bytes, limits.payload_bytes) = (64, payload);
            (limits.open_questions, limits.question_bytes, limits.answer_bytes) = (1, 256, 256);
        })
    };
    // A provider's display text has no limit of its own in the configuration.
    assert!(least((4 << 10) + 1_024).is_ok());
    assert!(matches!(least((4 << 10) + 1_023), Err(ConfigError::TooSmall { what: "payload bytes", .. })));
}
