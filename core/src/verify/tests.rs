//! For each check a smallest bad log that is refused at its last event, next to good logs that pass.

use super::*;
use crate::config::Config;
use crate::error::RunError;
use crate::event::{Metrics, ModelCompleted, ModelFailed, ModelStarted, Position, RunFailed, RunStarted};
use crate::event::{ResetReason, StreamReset, ToolCallDelta, ToolUpdated, UsageUpdated};
use crate::id::{CallRef, RunId, SessionId};
use crate::log::EventLog;
use crate::message::{ToolCall, ToolResult, ToolStatus};
use crate::model::{Completion, Problem};
use crate::outcome::{Answer, CancelCause, StopReason};
use crate::text::Text;
use crate::usage::Usage;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

fn envelopes(events: &[Event]) -> Vec<Envelope> {
    let envelope = |(at, event): (usize, &Event)| {
        let seq = at as u64 + 1;
        Envelope { seq: Seq(seq), at: Time::from_micros(seq), end: 10 * seq, event: event.clone() }
    };
    events.iter().enumerate().map(envelope).collect()
}

fn check(envelopes: &[Envelope]) -> Result<(), Violation> {
    let mut verifier = Verifier::new().attempts(4);
    envelopes.iter().try_for_each(|envelope| verifier.observe(envelope))
}

/// The last of `events` breaks `rule`; those before it are in order.
#[track_caller]
fn refused(rule: &str, events: &[Event]) {
    let violation = check(&envelopes(events)).expect_err("the log is bad");
    assert_eq!((violation.rule, violation.seq.0), (rule, events.len() as u64), "{violation}");
}

#[track_caller]
fn accepted(events: &[Event]) {
    check(&envelopes(events)).unwrap();
}

fn run_started() -> Event {
    let session = SessionId::new("s").unwrap();
    Event::RunStarted(Arc::new(RunStarted { session, revision: Revision(7), model: "m".into() }))
}

fn run_completed() -> Event {
    run_completed_at(8)
}

fn run_completed_at(revision: u64) -> Event {
    Event::RunCompleted(Arc::new(Answer {
        text: Text::EMPTY,
        stop_reason: StopReason::EndTurn,
        usage: Usage::default(),
        revision: Revision(revision),
    }))
}

const RUN_CANCELLED: Event = Event::RunCancelled { revision: Revision(8), cause: CancelCause::Requested };

fn run_failed() -> Event {
    Event::RunFailed(Arc::new(RunFailed { error: Arc::new(RunError::RunDeadline), revision: Revision(8) }))
}

fn step(step: u32) -> Event {
    Event::StepStarted { step, estimated_context_tokens: 1 }
}

fn done(step: u32) -> Event {
    Event::StepCompleted { step }
}

fn model(op: u64, step: u32, attempt: u32) -> Event {
    Event::ModelStarted(Arc::new(ModelStarted { op: OpId(op), step, attempt, model: "m".into() }))
}

fn completed(op: u64, attempt: u32) -> Event {
    Event::ModelCompleted(Arc::new(ModelCompleted {
        op: OpId(op),
        attempt,
        completion: Completion::new(None, ""),
        usage: Usage::default(),
        metrics: Metrics::default(),
    }))
}

fn failed_as(op: u64, attempt: u32, kind: ProblemKind, position: Position) -> Event {
    let problem = Problem::new(kind, "");
    Event::ModelFailed(Arc::new(ModelFailed { op: OpId(op), attempt, problem, position }))
}

fn failed(op: u64, attempt: u32) -> Event {
    failed_as(op, attempt, ProblemKind::Server, Position::Pristine)
}

fn cancelled(op: u64, attempt: u32, position: Position) -> Event {
    Event::ModelCancelled { op: OpId(op), attempt, position }
}

fn reset_as(kind: ProblemKind, retry_after: Option<Duration>, position: Position) -> Event {
    let reason = ResetReason::RetryableFailure { kind, retry_after };
    Event::StreamReset(Arc::new(StreamReset { reason, position }))
}

fn reset() -> Event {
    reset_as(ProblemKind::Server, None, Position::Pristine)
}

fn text(text: &str) -> Event {
    Event::TextDelta(text.into())
}

fn delta(name: Option<&str>, arguments: &str, step: u32) -> Event {
    let call = CallRef { step, ordinal: 0 };
    let name = name.map(Text::new);
    Event::ToolCallDelta(Arc::new(ToolCallDelta { call, name, arguments: arguments.into() }))
}

fn usage(op: u64, request: u32) -> Event {
    Event::UsageUpdated(Arc::new(UsageUpdated { op: OpId(op), request, usage: Usage::default() }))
}

fn call(step: u32, ordinal: u32) -> Arc<ToolCall> {
    Arc::new(ToolCall {
        call: CallRef { step, ordinal },
        id: format!("c{step}.{ordinal}").into(),
        name: "t".into(),
        arguments: Text::EMPTY,
    })
}

fn proposed(step: u32, ordinal: u32) -> Event {
    Event::ToolProposed(call(step, ordinal))
}

fn started(step: u32, ordinal: u32) -> Event {
    Event::ToolStarted(call(step, ordinal))
}

fn updated(step: u32, ordinal: u32) -> Event {
    Event::ToolUpdated(Arc::new(ToolUpdated { call: call(step, ordinal), progress: "p".into() }))
}

fn finished(step: u32, ordinal: u32, status: ToolStatus) -> Event {
    let call = call(step, ordinal);
    Event::ToolFinished(Arc::new(ToolResult {
        call: call.call,
        id: call.id.clone(),
        name: call.name.clone(),
        status,
        content: Arc::from([]),
    }))
}

const NOT_STARTED: ToolStatus = ToolStatus::InterruptedNotStarted;
const UNKNOWN: ToolStatus = ToolStatus::InterruptedOutcomeUnknown;

/// `run.started`, the first step and its first attempt, then `events`.
fn attempt(events: impl IntoIterator<Item = Event>) -> Vec<Event> {
    [run_started(), step(1), model(1, 1, 1)].into_iter().chain(events).collect()
}

/// A whole response that asked for `calls` calls, all proposed; then `events`.
fn batch(calls: u32, events: impl IntoIterator<Item = Event>) -> Vec<Event> {
    let proposals = (0..calls).map(|ordinal| proposed(1, ordinal));
    attempt([completed(1, 1)].into_iter().chain(proposals).chain(events))
}

fn two_steps() -> Vec<Event> {
    let second = [step(2), model(4, 2, 1), text("b"), usage(4, 1), completed(4, 1), done(2), run_completed()];
    let first = [
        started(1, 1),
        started(1, 0),
        updated(1, 1),
        finished(1, 2, ToolStatus::Denied),
        finished(1, 1, ToolStatus::Success),
        finished(1, 0, ToolStatus::Panicked),
        done(1),
    ];
    batch(3, first.into_iter().chain(second))
}

fn retried() -> Vec<Event> {
    let partial = Position::Partial;
    attempt([
        text("a"),
        delta(Some("t"), "", 1),
        failed_as(1, 1, ProblemKind::Server, partial),
        reset_as(ProblemKind::Server, None, partial),
        model(2, 1, 2),
        completed(2, 2),
        done(1),
        run_completed(),
    ])
}

// proves: W9
#[test]
fn good_logs_pass_and_end() {
    let aborted = [text("a"), cancelled(1, 1, Position::Partial), proposed(1, 0), proposed(1, 1)];
    let closing = [
        finished(1, 0, NOT_STARTED),
        finished(1, 1, NOT_STARTED),
        Event::StepCancelled { step: 1 },
        RUN_CANCELLED,
    ];
    let cut = [
        started(1, 1),
        finished(1, 1, ToolStatus::Success),
        finished(1, 0, NOT_STARTED),
        Event::StepFailed { step: 1 },
        run_failed(),
    ];
    let waiting = [failed(1, 1), reset(), Event::StepCancelled { step: 1 }, RUN_CANCELLED];
    let logs = [
        two_steps(),
        retried(),
        [run_started(), RUN_CANCELLED].into(),
        attempt(aborted.into_iter().chain(closing)),
        batch(2, cut),
        attempt(waiting),
        attempt([failed(1, 1), Event::StepFailed { step: 1 }, run_failed()]),
    ];
    for log in logs {
        let mut verifier = Verifier::new();
        for envelope in envelopes(&log) {
            assert!(!verifier.is_closed() && verifier.finish().is_err());
            verifier.observe(&envelope).unwrap();
        }
        assert!(verifier.is_closed());
        verifier.finish().unwrap();
    }
}

#[test]
fn every_tail_of_a_good_log_passes() {
    for log in [two_steps(), retried()] {
        for cut in 0..=log.len() {
            verify_tail(&envelopes(&log)[cut..])
                .unwrap_or_else(|violation| panic!("from {cut}: {violation}"));
        }
    }
}

#[test]
fn tails_are_held_to_what_they_show() {
    let refuse = |events: &[Event], rule: &str| {
        let mut envelopes = envelopes(events);
        envelopes.iter_mut().for_each(|envelope| envelope.seq.0 += 100);
        assert_eq!(verify_tail(&envelopes).expect_err("a bad tail").rule, rule);
    };
    refuse(&[text("a"), run_started()], "E2");
    refuse(&[text("a"), run_completed()], "E3");
    refuse(&[run_completed(), text("a")], "E2");
    refuse(&[finished(3, 1, ToolStatus::Success), started(3, 1)], "E7");
    refuse(&[started(3, 1), done(3)], "E3");
    refuse(&[done(3), step(5)], "E4");
    refuse(&[completed(4, 2), text("a")], "E5");
    refuse(&[completed(4, 2), done(1), step(2), model(4, 2, 1)], "E1");
}

#[test]
fn e1_numbers_and_times_only_grow() {
    let good = envelopes(&[run_started(), step(1)]);
    let with = |change: fn(&mut Envelope)| {
        let mut log = good.clone();
        change(&mut log[1]);
        check(&log).expect_err("a bad envelope").rule
    };
    assert_eq!(with(|envelope| envelope.seq = Seq(3)), "E1");
    assert_eq!(with(|envelope| envelope.seq = Seq(1)), "E1");
    assert_eq!(with(|envelope| envelope.at = Time::ZERO), "E1");
    assert_eq!(with(|envelope| envelope.end = 10), "L1");
    assert_eq!(check(&good[1..]).unwrap_err().rule, "E1");
    let mut last = good[0].clone();
    last.seq = Seq(MAX_EXACT + 1);
    assert_eq!(Verifier::tail().observe(&last).unwrap_err().rule, "E1");
    last.seq = Seq(MAX_EXACT);
    let mut verifier = Verifier::tail();
    assert_eq!(verifier.observe(&last).unwrap_err().rule, "E2", "a number that fits");
    refused("E1", &attempt([failed(1, 1), reset(), model(1, 1, 2)]));
}

#[test]
fn e2_the_first_and_the_last_event() {
    refused("E2", &[step(1)]);
    refused("E2", &[run_completed()]);
    refused("E2", &[run_started(), run_started()]);
    refused("E2", &[run_started(), run_completed()]);
    refused("E2", &[run_started(), RUN_CANCELLED, RUN_CANCELLED]);
    refused("E2", &[run_started(), RUN_CANCELLED, step(1)]);
    refused("E2", &batch(0, [done(1), run_completed_at(6)]));
    let ends = |step: Event, run: Event| attempt([failed(1, 1), step, run]);
    let (step_failed, step_cancelled) = (Event::StepFailed { step: 1 }, Event::StepCancelled { step: 1 });
    refused("E2", &ends(step_failed.clone(), RUN_CANCELLED));
    refused("E2", &ends(step_failed, run_completed()));
    refused("E2", &ends(step_cancelled.clone(), run_failed()));
    refused("E2", &ends(step_cancelled, run_completed()));
    let open = Verifier::new().finish().unwrap_err();
    assert_eq!(open.rule, "E2");
}

#[test]
fn e3_what_was_opened_is_closed_once_and_from_the_inside() {
    refused("E3", &attempt([RUN_CANCELLED]));
    refused("E3", &attempt([Event::StepCancelled { step: 1 }]));
    refused("E3", &attempt([cancelled(1, 1, Position::Pristine), RUN_CANCELLED]));
    refused("E3", &attempt([cancelled(1, 1, Position::Pristine), cancelled(1, 1, Position::Pristine)]));
    refused("E3", &attempt([completed(2, 1)]));
    refused("E3", &attempt([completed(1, 2)]));
    refused("E3", &attempt([model(2, 1, 2)]));
    refused("E3", &attempt([failed(1, 1), done(1)]));
    refused("E3", &batch(0, [done(2)]));
    refused("E3", &batch(0, [done(1), done(1)]));
    refused("E3", &batch(0, [step(2)]));
    refused("E3", &batch(1, [done(1)]));
    refused("E3", &batch(1, [Event::StepFailed { step: 1 }]));
    refused("E3", &batch(1, [run_failed()]));
    refused("E3", &batch(2, [finished(1, 1, NOT_STARTED), finished(1, 0, NOT_STARTED)]));
    let interrupted = [started(1, 1), finished(1, 0, NOT_STARTED), finished(1, 1, ToolStatus::Success)];
    refused("E3", &batch(2, interrupted));
    refused("E3", &batch(1, [finished(1, 0, NOT_STARTED), done(1), step(2)]));
    refused("E3", &attempt([failed(1, 1), Event::StepFailed { step: 1 }, step(2)]));
    refused("E3", &[run_started(), model(1, 1, 1)]);
}

#[test]
fn e4_steps_are_numbered() {
    refused("E4", &[run_started(), step(0)]);
    refused("E4", &[run_started(), step(2)]);
    refused("E4", &batch(0, [done(1), step(1)]));
}

#[test]
fn e5_deltas_are_not_empty_and_belong_to_an_attempt() {
    refused("E5", &attempt([text("")]));
    refused("E5", &attempt([Event::ReasoningDelta(Text::EMPTY)]));
    refused("E5", &attempt([delta(None, "", 1)]));
    accepted(&attempt([delta(Some("t"), "", 1), delta(None, "{", 1)]));
    refused("E5", &[run_started(), text("a")]);
    refused("E5", &[run_started(), step(1), text("a")]);
    refused("E5", &batch(0, [text("a")]));
    refused("E5", &attempt([failed(1, 1), reset(), text("a")]));
    refused(
        "E5",
        &batch(
            0,
            [Event::Diagnostic(Arc::new(crate::event::Diagnostic {
                name: "a.b".into(),
                value: Text::EMPTY,
            }))],
        ),
    );
    refused("E3", &attempt([delta(None, "{", 2)]));
    refused("R5", &attempt([usage(2, 1)]));
    refused("R5", &attempt([usage(1, 2), usage(1, 1)]));
}

#[test]
fn e6_calls_are_proposed_first_in_order_and_after_their_response() {
    refused("E6", &attempt([proposed(1, 0)]));
    refused("E6", &batch(0, [proposed(1, 1)]));
    refused("E6", &batch(2, [proposed(1, 0)]));
    refused("E6", &batch(0, [proposed(2, 0)]));
    refused("E6", &batch(1, [started(1, 1)]));
    refused("E6", &batch(1, [finished(1, 1, ToolStatus::Unavailable)]));
    refused("E6", &attempt([failed(1, 1), reset(), proposed(1, 0)]));
    refused("R4", &attempt([failed(1, 1), proposed(1, 0), finished(1, 0, NOT_STARTED), reset()]));
    let malformed = failed_as(1, 1, ProblemKind::InvalidResponse, Position::Pristine);
    refused("E6", &attempt([malformed, proposed(1, 0)]));
    let stopped = cancelled(1, 1, Position::Pristine);
    refused("E6", &attempt([stopped.clone(), proposed(1, 0), finished(1, 0, ToolStatus::Unavailable)]));
    refused("E7", &attempt([stopped, proposed(1, 0), started(1, 0)]));
    let twin = Event::ToolProposed(Arc::new(ToolCall {
        call: CallRef { step: 1, ordinal: 1 },
        ..(*call(1, 0)).clone()
    }));
    refused("M4", &batch(1, [twin]));
}

#[test]
fn e7_one_result_and_a_start_exactly_if_the_status_says_so() {
    let all = [
        (ToolStatus::Success, true),
        (ToolStatus::Failure, true),
        (ToolStatus::TimedOut, true),
        (ToolStatus::Panicked, true),
        (UNKNOWN, true),
        (ToolStatus::Denied, false),
        (ToolStatus::Unavailable, false),
        (ToolStatus::InvalidArguments, false),
        (NOT_STARTED, false),
    ];
    for (status, ran) in all {
        let end = finished(1, 0, status);
        let (good, bad) = (batch(1, [started(1, 0), end.clone()]), batch(1, [end]));
        let (good, bad) = if ran { (good, bad) } else { (bad, good) };
        accepted(&good);
        if status == ToolStatus::Failure {
            // An infrastructure failure may prevent the start (T3).
            accepted(&bad);
        } else {
            refused("E7", &bad);
        }
    }
    let end = finished(1, 0, ToolStatus::Denied);
    refused("E7", &batch(1, [end.clone(), end.clone()]));
    refused("E7", &batch(1, [end, started(1, 0)]));
    refused("E7", &batch(1, [started(1, 0), started(1, 0)]));
    refused("E7", &batch(1, [updated(1, 0)]));
    refused("E7", &batch(1, [started(1, 0), finished(1, 0, ToolStatus::Success), updated(1, 0)]));
    refused("E7", &batch(2, [started(1, 1), finished(1, 0, NOT_STARTED), updated(1, 1)]));
    refused("E7", &batch(2, [finished(1, 0, NOT_STARTED), started(1, 1)]));
    let other = Event::ToolStarted(Arc::new(ToolCall { name: "u".into(), ..(*call(1, 0)).clone() }));
    refused("E9", &batch(1, [other]));
    let other = Event::ToolStarted(Arc::new(ToolCall { id: "u".into(), ..(*call(1, 0)).clone() }));
    refused("E9", &batch(1, [other]));
}

#[test]
fn r4_attempt_reset_attempt() {
    refused("R4", &attempt([failed(1, 1), model(2, 1, 2)]));
    refused("R4", &attempt([reset()]));
    refused("R4", &attempt([failed(1, 1), reset(), reset()]));
    refused("R4", &batch(0, [reset()]));
    refused("R4", &attempt([cancelled(1, 1, Position::Pristine), reset()]));
    refused("R4", &attempt([failed(1, 1), reset(), model(2, 1, 3)]));
    refused("R4", &attempt([failed(1, 1), reset(), model(2, 1, 1)]));
    refused("R4", &[run_started(), step(1), model(1, 1, 2)]);
    refused("R4", &attempt([failed(1, 1), reset_as(ProblemKind::Overloaded, None, Position::Pristine)]));
    refused("R4", &attempt([failed(1, 1), reset_as(ProblemKind::Server, None, Position::Partial)]));
    let hint = Some(Duration::from_secs(1));
    refused("R4", &attempt([failed(1, 1), reset_as(ProblemKind::Server, hint, Position::Pristine)]));
    let invalid = StreamReset { reason: ResetReason::InvalidResponse, position: Position::Pristine };
    refused("R4", &attempt([failed(1, 1), Event::StreamReset(Arc::new(invalid))]));
}

#[test]
fn r1_attempts_are_bounded() {
    let more = |last: u32| {
        let next = |n: u32| [failed(u64::from(n), n), reset(), model(u64::from(n) + 1, 1, n + 1)];
        attempt((1..last).flat_map(next))
    };
    accepted(&more(4));
    let mut fifth = more(4);
    fifth.extend([failed(4, 4), reset()]);
    refused("R4", &fifth);
    let envelopes = envelopes(&more(4));
    let mut verifier = Verifier::new().attempts(3);
    let violation = envelopes.iter().find_map(|envelope| verifier.observe(envelope).err()).unwrap();
    assert_eq!(violation.rule, "R4");
}

#[test]
fn m6_positions_follow_from_the_deltas() {
    refused("M6", &attempt([text("a"), failed(1, 1)]));
    refused("M6", &attempt([failed_as(1, 1, ProblemKind::Server, Position::Partial)]));
    refused("M6", &attempt([cancelled(1, 1, Position::Partial)]));
    accepted(&attempt([usage(1, 1), failed(1, 1)]));
}

#[test]
fn a_log_agrees_with_its_bytes_and_its_ledger() {
    let config = Config::default();
    let mut log = EventLog::new(RunId::new("r").unwrap(), &config);
    verify_log(&log).unwrap();
    for event in two_steps() {
        log.append(Time::from_micros(5), event);
        verify_log(&log).unwrap();
    }
    let mut other = Verifier::new();
    assert_eq!(other.agree(&log).unwrap_err().rule, "X5");
    for envelope in log.iter() {
        other.observe(envelope).unwrap();
    }
    other.agree(&log).unwrap();
}

#[test]
fn logs_without_their_head_are_verified_as_tails() {
    let least = Config::default();
    let events = two_steps();
    for kept in 1..=events.len() {
        let mut config = least.clone();
        config.limits.log_events = kept;
        let mut log = EventLog::new(RunId::new("r").unwrap(), &config);
        for event in events.iter().cloned() {
            log.append(Time::ZERO, event);
            verify_log(&log).unwrap();
        }
        assert_eq!(log.len(), kept.min(events.len()));
    }
}
