//! The log itself and its encoding: L*, J*.

use crate::Rows;
use crate::hand::*;
use runloom_core::Input;
use runloom_core::canonical::{Bounds, CanonicalProblem, canonicalize, check};
use runloom_core::config::{Config, ConfigError, Limits};
use runloom_core::error::Misuse;
use runloom_core::event::{Envelope, Event};
use runloom_core::id::Seq;
use runloom_core::log::EventLog;
use runloom_core::message::Part;
use runloom_core::model::Finish;
use runloom_core::reader::{ReadBounds, ReadFault};
use runloom_core::record::{RecordBounds, RecordProblem, RecordedLog};
use std::collections::VecDeque;

pub(crate) const OWN: Rows = &[
    ("L01", a_fresh_log),
    ("L06", the_terminal_is_admitted_whatever_is_evicted),
    ("L07", the_bound_in_bytes_is_exact),
    ("L09", no_event_is_larger_than_the_log),
    ("L10", the_largest_terminal_fits),
    ("L12", one_run_and_nothing_after_its_end),
    ("L15", bounds_that_do_not_fit_are_refused),
    ("J01", payloads_are_canonical),
    ("J02", other_bytes_are_not_canonical),
    ("J05", the_size_is_that_of_the_line),
];

fn a_fresh_log() {
    let hand = Hand::new(Config::default(), []);
    let log = hand.checked.run().log();
    assert_eq!((log.first_seq(), log.last_seq()), (Seq(1), Seq(0)));
    let all = ReadBounds::new(u64::MAX, u64::MAX);
    assert!(log.page(Seq(0), all).unwrap().events.is_empty());
    let error = log.page(Seq(1), all).unwrap_err();
    assert_eq!(error.reason, ReadFault::CursorAhead);
    let facts = (error.requested, error.earliest, error.latest, error.recovery);
    assert_eq!(facts, (Seq(1), Seq(1), Seq(0), Seq(0)));
}

/// Small limits with the least log that they allow.
fn least() -> Config {
    let mut limits = Limits::default();
    (limits.calls, limits.parts, limits.response_bytes) = (1, 3, 2_000);
    (limits.argument_bytes, limits.delta_bytes) = (100, 300);
    (limits.tool_output_bytes, limits.progress_bytes, limits.error_bytes) = (256, 256, 256);
    (limits.open_questions, limits.question_bytes, limits.answer_bytes) = (1, 256, 256);
    (limits.fact_bytes, limits.payload_bytes) = (64, 6 << 10);
    (limits.steers, limits.event_capacity, limits.event_capacity_bytes) = (1, 4, 2_000);
    (limits.log_events, limits.log_bytes) = (usize::MAX, u64::MAX);
    let free = Config::new(limits.clone()).unwrap();
    (limits.log_events, limits.log_bytes) = (free.min_log_events(), free.min_log_bytes());
    Config::new(limits).unwrap()
}

/// What a log keeps, found by walking over sizes.
fn kept(events: &[Envelope], log: &EventLog, most: (usize, u64)) -> usize {
    let mut sizes: VecDeque<u64> = VecDeque::new();
    for envelope in events {
        sizes.push_back(envelope.to_json(log.run_id()).len() as u64);
        while sizes.len() > most.0 || sizes.iter().sum::<u64>() > most.1 {
            sizes.pop_front();
        }
    }
    assert_eq!(log.bytes(), sizes.iter().sum::<u64>());
    sizes.len()
}

/// A run of so many steps, each with one call and some text; the call's arguments vary in size.
fn long_run(steps: u32) -> Hand {
    let mut limits = least().limits().clone();
    limits.steps = steps;
    let config = Config::new(limits).unwrap();
    let mut hand = Hand::begun(config, [shared("t")]).quick();
    for step in 0..steps {
        hand.text(&"x".repeat(1 + (step as usize * 37) % 290));
        hand.calls(["t"]);
        let (_, op) = *hand.tools().last().unwrap();
        hand.runs(op, &"y".repeat((step as usize * 53) % 250));
    }
    hand
}

/// What is reserved for closing protects by proof and not by a budget: the log holds the unread, two steps and the close.
fn the_terminal_is_admitted_whatever_is_evicted() {
    let hand = long_run(200);
    let log = hand.checked.run().log();
    assert!(log.first_seq() > Seq(1) && log.is_closed());
    assert!(matches!(log.iter().last().unwrap().event, Event::RunCompleted(_)));
    assert_eq!(log.last_seq(), hand.events.last().unwrap().seq);
}

fn the_bound_in_bytes_is_exact() {
    let hand = long_run(200);
    let (log, limits) = (hand.checked.run().log(), hand.checked.run().config().limits());
    let kept = kept(&hand.events, log, (limits.log_events, limits.log_bytes));
    assert_eq!(log.len(), kept);
    assert!(log.iter().eq(&hand.events[hand.events.len() - kept..]));
}

/// The builder refuses such bounds, and text that is larger than a delta becomes several (decisions 10, 17).
fn no_event_is_larger_than_the_log() {
    let small = Config::with(|limits| limits.payload_bytes = 1_000);
    assert!(matches!(small, Err(ConfigError::TooSmall { what: "payload bytes", .. })));
    let mut hand = Hand::begun(least(), []).quick();
    let before = hand.events.len();
    hand.text(&"x".repeat(301));
    assert_eq!(hand.kinds_from(before), ["text.delta"; 2]);
    assert!(hand.events.iter().zip(1..).all(|(envelope, seq)| envelope.seq == Seq(seq)));
}

fn the_largest_terminal_fits() {
    let config = least();
    let response = config.limits().response_bytes;
    let mut hand = Hand::begun(config, []).quick();
    hand.text(&"x".repeat(usize::try_from(response).unwrap()));
    hand.done(Finish::Stop);
    let Event::RunCompleted(answer) = hand.last() else { panic!("{:?}", hand.last()) };
    assert_eq!(answer.text.len() as u64, response);
    assert_eq!(hand.checked.run().log().first_seq(), Seq(1), "nothing had to go");
}

/// Only its machine appends to a log, so that there are no errors of `append`; a record with two runs is refused.
fn one_run_and_nothing_after_its_end() {
    let mut hand = Hand::plain();
    hand.text("hi");
    hand.done(Finish::Stop);
    let closed = hand.checked.run().log().last_seq();
    let start = hand.start.clone();
    assert!(matches!(hand.misuse(Input::Start(Box::new(start))), Misuse::AlreadyStarted));
    hand.wake(true);
    hand.cancel();
    assert_eq!(hand.checked.run().log().last_seq(), closed);
    let lines = [hand.json(0), hand.json(1).replace("\"run_id\":\"r\"", "\"run_id\":\"q\"")].join("\n");
    let error = RecordedLog::read(lines.as_bytes(), &RecordBounds::default()).unwrap_err();
    assert!(matches!(error.problem, RecordProblem::OtherRun { .. }), "{error}");
}

fn bounds_that_do_not_fit_are_refused() {
    let refused: [fn(&mut Limits); 6] = [
        |limits| limits.log_events = 1,
        |limits| limits.log_bytes = 1_024,
        |limits| limits.event_capacity = 0,
        |limits| limits.event_capacity_bytes = 0,
        |limits| limits.subscription_events = 0,
        |limits| limits.subscription_bytes = 0,
    ];
    for change in refused {
        assert!(Config::with(change).is_err());
    }
    let least = least();
    let bytes = |log_bytes| {
        let mut limits = least.limits().clone();
        limits.log_bytes = log_bytes;
        Config::new(limits)
    };
    assert!(bytes(least.min_log_bytes()).is_ok() && bytes(least.min_log_bytes() - 1).is_err());
}

fn payloads_are_canonical() {
    let payload = canonicalize(br#"{"b":1,"a":[2,{"d":-0.0,"c":1e0}]}"#, &Bounds::default()).unwrap();
    assert_eq!(payload, br#"{"a":[2,{"c":1,"d":0}],"b":1}"#);
    let mut hand = Hand::begun(Config::default(), [shared("t")]);
    hand.text("\u{1}é\"\\/\u{2028}");
    hand.call("c", "t", " { \"b\" : 1.0 } ");
    hand.done(Finish::ToolCalls);
    let (_, op) = hand.tools()[0];
    hand.runs(op, "ok");
    hand.cancel();
    let log = hand.checked.run().log();
    let mut before = 0;
    for envelope in &hand.events {
        let json = envelope.to_json(log.run_id());
        check(json.as_bytes(), &Bounds::default()).unwrap();
        assert_eq!(envelope.end - before, json.len() as u64, "{json}");
        before = envelope.end;
    }
    let parts = |part: &Part| matches!(part, Part::ToolCall(call) if &*call.arguments == " { \"b\" : 1.0 } ");
    let mut history = hand.outcome().history.iter();
    assert!(history.any(|message| message.parts().iter().any(parts)), "what the model wrote is text (M9)");
}

fn other_bytes_are_not_canonical() {
    let line = Hand::plain().json(0);
    let read = |line: &str| {
        let error = RecordedLog::read(line.as_bytes(), &RecordBounds::default()).unwrap_err();
        assert!(matches!(error.problem, RecordProblem::NotCanonical { .. }), "{line}: {error}");
    };
    read(&line.replacen(":", ": ", 1));
    let (model, revision) = (r#""model":"m","#, r#""revision":7"#);
    let swapped = line.replace(&format!("{model}{revision}"), r#""revision":7,"model":"m""#);
    assert_ne!(swapped, line);
    read(&swapped);
    let error = check(swapped.as_bytes(), &Bounds::default()).unwrap_err();
    assert_eq!(error.problem, CanonicalProblem::NotCanonical);
}

/// An event has the members `at` (whole microseconds), `kind`, `payload`, `run_id` and `seq` (E1).
fn the_size_is_that_of_the_line() {
    let mut hand = Hand::plain();
    for _ in 4..10 {
        hand.text("xxxxx");
    }
    hand.text("xxxx");
    let expected = r#"{"at":0,"kind":"text.delta","payload":{"text":"xxxxx"},"run_id":"r","seq":4}"#;
    assert_eq!(hand.json(3), expected);
    let sizes: Vec<u64> = hand.events.windows(2).map(|pair| pair[1].end - pair[0].end).collect();
    assert_eq!(sizes[2..], [expected.len() as u64; 7], "the tenth has one digit more and one letter less");
}
