//! Tokens, and how attempts went (R5, R8, T7).

use crate::hand::*;
use runloom_core::Input;
use runloom_core::config::Config;
use runloom_core::event::{Event, Metrics};
use runloom_core::input::AbortCause;
use runloom_core::model::{Activity, Finish, ModelItem, ProblemKind};
use runloom_core::usage::{GenerationTokens, Usage};
use std::time::Duration;

fn retry(hand: &mut Hand, delay: Duration) {
    let activity = Activity::RequestRetry { kind: ProblemKind::Connection, delay };
    hand.item(ModelItem::Activity(Box::new(activity)));
}

fn metrics(hand: &Hand) -> Metrics {
    let metrics = |event: &Event| match event {
        Event::ModelCompleted(done) => Some(done.metrics),
        _ => None,
    };
    hand.events.iter().rev().find_map(|envelope| metrics(&envelope.event)).unwrap()
}

// proves: R5
#[test]
fn reports_replace_within_a_request_and_requests_add_up() {
    let mut hand = Hand::plain();
    hand.usage(10, 1);
    hand.usage(10, 4);
    hand.fail(ProblemKind::Server);
    hand.at(1_000).wake(false);
    hand.usage(10, 2);
    retry(&mut hand, Duration::ZERO);
    let mut partly = Usage::new(0, 0);
    (partly.input_tokens, partly.output_tokens) = (None, Some(3));
    hand.item(ModelItem::Usage(Box::new(partly)));
    hand.text("a");
    hand.done(Finish::Stop);
    assert_eq!(hand.outcome().billed, Usage::new(20, 9));
    assert_eq!(hand.outcome().usage, partly, "the successful request; what it did not say is not zero");
    let requests: Vec<_> = hand
        .events
        .iter()
        .filter_map(|envelope| match &envelope.event {
            Event::UsageUpdated(update) => Some((update.op.0, update.request)),
            _ => None,
        })
        .collect();
    assert_eq!(requests, [(1, 1), (1, 1), (2, 1), (2, 2)]);
}

// proves: R5
#[test]
fn an_attempt_that_is_cut_off_is_billed_however_the_run_ends() {
    type End = fn(&mut Hand);
    let ends: [(&str, End); 4] = [
        ("cancel", |hand| {
            hand.cancel();
        }),
        ("abort", |hand| {
            hand.abort(AbortCause::DriverPanicked);
        }),
        ("reader gone", |hand| {
            hand.give(Input::ConsumerGone { awaited: false });
            hand.text("b");
        }),
        ("panic", |hand| {
            hand.checked.panicked().unwrap();
        }),
    ];
    for (name, end) in ends {
        let mut hand = Hand::plain();
        hand.usage(10, 1);
        retry(&mut hand, Duration::ZERO);
        hand.usage(20, 2);
        hand.text("a");
        end(&mut hand);
        assert_eq!(hand.outcome().billed, Usage::new(30, 3), "{name}");
        assert!(hand.outcome().usage.is_empty(), "{name}: no response succeeded");
    }
}

// proves: R5, C9
#[test]
fn a_response_that_nobody_saw_complete_is_no_successful_one() {
    let mut hand = Hand::plain();
    hand.usage(10, 1);
    hand.text("a");
    hand.give(Input::ConsumerGone { awaited: false });
    hand.done(Finish::Stop);
    assert_eq!(hand.kinds_from(5), ["model.cancelled", "step.failed", "run.failed"]);
    assert!(hand.outcome().usage.is_empty());
    assert_eq!(hand.outcome().billed, Usage::new(10, 1));
}

// proves: R5
#[test]
fn sums_saturate() {
    let mut hand = Hand::begun(Config::default(), [shared("t")]);
    hand.usage(u64::MAX, u64::MAX);
    hand.calls(["t"]);
    let (_, op) = hand.tools()[0];
    hand.runs(op, "");
    hand.usage(5, 5);
    hand.text("a");
    hand.done(Finish::Stop);
    assert_eq!(hand.outcome().usage, Usage::new(u64::MAX, u64::MAX));
}

// proves: R8
#[test]
fn what_a_provider_does_by_itself_is_shown_and_bounded() {
    let mut hand = Hand::plain();
    let events = hand.events.len();
    retry(&mut hand, Duration::MAX);
    let detail = "\u{1}".repeat(5_000);
    hand.item(ModelItem::Activity(Box::new(Activity::WebSearch { detail: detail.as_str().into() })));
    let tool = Activity::HostedTool {
        name: "y".repeat(300).as_str().into(),
        detail: "x".repeat(5_000).as_str().into(),
    };
    hand.item(ModelItem::Activity(Box::new(tool)));
    let kinds = ["provider.request_retry", "provider.web_search", "provider.hosted_tool"];
    assert_eq!(hand.kinds_from(events), kinds);
    let Event::HostedTool(tool) = hand.last() else { panic!() };
    assert_eq!((tool.name.len(), tool.detail.len()), (256, 4_096));
}

// proves: T7
#[test]
fn metrics_leave_out_the_time_in_which_the_stream_was_full() {
    let config = limits(|limits| limits.event_capacity = 4);
    let mut hand = Hand::begun_unread(config, []);
    hand.at(1_000).text("first");
    assert!(hand.is_full());
    hand.at(60_000).take();
    hand.at(62_000).text("second");
    hand.item(ModelItem::GenerationTokens(GenerationTokens::Unavailable));
    hand.usage(3, 9);
    hand.done(Finish::Stop);
    let expected = Metrics {
        output_tokens: Some(9),
        generation_output_tokens: Some(GenerationTokens::Unavailable),
        time_to_first_token: Some(seconds(1)),
        generation_time: Some(seconds(2)),
    };
    assert_eq!(metrics(&hand), expected);
}

// proves: T7
#[test]
fn the_first_token_may_come_while_the_stream_is_full() {
    let config = limits(|limits| limits.event_capacity = 3);
    let mut hand = Hand::begun_unread(config, []);
    assert!(hand.is_full());
    // A driver may hold an item that it took in before.
    hand.at(50_000).text("first");
    hand.at(60_000).take();
    hand.at(61_000).text("second");
    hand.done(Finish::Stop);
    assert_eq!(metrics(&hand).time_to_first_token, Some(Duration::ZERO));
    assert_eq!(metrics(&hand).generation_time, Some(seconds(1)));
}

// proves: T7
#[test]
fn each_attempt_is_measured_from_its_own_start() {
    let mut hand = Hand::plain();
    hand.text("void");
    hand.fail(ProblemKind::Server);
    hand.at(1_000).wake(false);
    hand.at(1_400).item(ModelItem::Reasoning("hm".into()));
    hand.at(2_000).text("a");
    hand.item(ModelItem::GenerationTokens(GenerationTokens::Reported(5)));
    hand.done(Finish::Stop);
    let metrics = metrics(&hand);
    assert_eq!(metrics.time_to_first_token, Some(Duration::from_millis(400)));
    assert_eq!(metrics.generation_time, Some(Duration::from_millis(600)));
    assert_eq!(metrics.generation_output_tokens, Some(GenerationTokens::Reported(5)));
    assert_eq!(metrics.output_tokens, None);
}

// proves: T7
#[test]
fn metrics_leave_out_the_wait_of_a_physical_retry() {
    let mut hand = Hand::plain();
    retry(&mut hand, Duration::from_millis(700));
    hand.at(1_000).text("a");
    retry(&mut hand, Duration::from_millis(400));
    hand.at(2_000).done(Finish::Stop);
    let metrics = metrics(&hand);
    assert_eq!(metrics.time_to_first_token, Some(Duration::from_millis(300)));
    assert_eq!(metrics.generation_time, Some(Duration::from_millis(600)));
}

// proves: T7
#[test]
fn a_wait_while_the_stream_is_full_is_left_out_once() {
    let config = limits(|limits| limits.event_capacity = 4);
    let mut hand = Hand::begun_unread(config, []);
    hand.at(1_000);
    retry(&mut hand, Duration::from_secs(10));
    assert!(hand.is_full());
    hand.at(8_000).take();
    hand.at(15_000).text("a");
    hand.done(Finish::Stop);
    assert_eq!(metrics(&hand).time_to_first_token, Some(seconds(5)));
    assert_eq!(metrics(&hand).generation_time, Some(Duration::ZERO));
}

// proves: T7
#[test]
fn a_wait_is_over_when_a_token_comes() {
    let mut hand = Hand::plain();
    hand.at(3_000);
    retry(&mut hand, Duration::MAX);
    hand.at(5_000).text("a");
    hand.at(6_000);
    retry(&mut hand, seconds(4));
    hand.at(8_000).text("b");
    hand.at(20_000).done(Finish::Stop);
    assert_eq!(metrics(&hand).time_to_first_token, Some(seconds(3)));
    assert_eq!(metrics(&hand).generation_time, Some(seconds(13)));
}
