//! Each bound of one response, message, id, fact and step just below, at and above its border.

use crate::hand::*;
use runloom_core::config::Config;
use runloom_core::event::Event;
use runloom_core::id::{IdError, Revision, RunId};
use runloom_core::message::Part;
use runloom_core::model::{Activity, Finish, ModelItem, Problem, ProblemKind};
use runloom_core::{Input, error::Misuse};
use std::time::Duration;

fn is_malformed(hand: &Hand) -> bool {
    let malformed = |event: &Event| matches!(event, Event::ModelFailed(failed) if failed.problem.kind == ProblemKind::InvalidResponse);
    hand.events.iter().any(|envelope| malformed(&envelope.event))
}

// proves: M3
// bounds: response
#[test]
fn a_response_may_be_as_large_as_its_bound_in_encoded_bytes() {
    let config = || limits(|limits| limits.response_bytes = 200 << 10);
    for (len, malformed) in [(-1, false), (0, false), (1, true)] {
        let mut hand = Hand::begun(config(), []).quick();
        let len = usize::try_from((200 << 10) + len).unwrap();
        // A line feed takes two bytes, a control character six.
        hand.text(&format!("\n\u{1}{}", "x".repeat(len - 8 - 100)));
        hand.text(&"y".repeat(100));
        assert_eq!(is_malformed(&hand), malformed, "{len}");
    }
}

// proves: M3
// bounds: call arguments
#[test]
fn arguments_may_be_as_large_as_their_bound() {
    let config = || limits(|limits| limits.argument_bytes = 1_000);
    for (len, malformed) in [(999, false), (1_000, false), (1_001, true)] {
        let mut pieces = Hand::begun(config(), [shared("t")]);
        // Two quotation marks take two bytes each.
        let arguments = format!("{{\"a\": {}", "1".repeat(len - 9));
        pieces.delta(Some(0), "c", "t", &arguments);
        pieces.delta(Some(0), "", "", "}");
        let mut whole = Hand::begun(config(), [shared("t")]);
        whole.call("c", "t", &format!("{arguments}}}"));
        for hand in [pieces, whole] {
            assert_eq!(is_malformed(&hand), malformed, "{len}");
        }
    }
}

// proves: M3
// bounds: calls per response; parts per message
#[test]
fn a_response_has_as_many_calls_and_parts_as_their_bounds_allow() {
    for (count, malformed) in [(127, false), (128, false), (129, true)] {
        let mut hand = Hand::begun(Config::default(), [shared("t")]).quick();
        for at in 0..count {
            hand.call(&format!("c{at}"), "t", "{}");
        }
        assert_eq!(is_malformed(&hand), malformed, "{count} calls");
        if !malformed {
            hand.done(Finish::ToolCalls);
            assert_eq!(hand.tools().len(), 4);
            hand.cancel();
            assert_eq!(hand.statuses().len(), count);
        }
    }
    let context = |at: usize| {
        let (model, kind, payload) = ("m".into(), "k".into(), at.to_string().into());
        ModelItem::Context(runloom_core::message::ProviderContext { model, kind, payload }.into())
    };
    for (count, malformed) in [(255, false), (256, false), (257, true)] {
        let mut hand = Hand::begun(Config::default(), []).quick();
        for at in 0..count {
            if at % 2 == 0 {
                hand.text("a")
            } else {
                hand.item(context(at))
            };
        }
        assert_eq!(is_malformed(&hand), malformed, "{count} parts");
    }
}

// proves: E5, W6
// bounds: delta
#[test]
fn long_text_is_recorded_in_pieces_that_join_to_it() {
    for (bound, text, pieces) in [
        (16, "0123456789abcde".to_owned(), 1),
        (16, "0123456789abcdef".to_owned(), 1),
        (16, "0123456789abcdefg".to_owned(), 2),
        // Two control characters fit, though 16 bytes would hold 2.67 of them.
        (16, "\u{1}".repeat(200), 100),
        (16, "\u{1F600}".repeat(200), 50),
        // No escape is split: 5 bytes may stay free.
        (17, "\u{1}".repeat(200), 100),
    ] {
        let config = limits(|limits| (limits.delta_bytes, limits.response_bytes) = (bound, 1_200));
        let mut hand = Hand::begun(config, []).quick();
        let events = hand.events.len();
        hand.text(&text);
        hand.item(ModelItem::Reasoning(text.as_str().into()));
        let joined = |kind: fn(&Event) -> Option<&str>| -> (usize, String) {
            let texts: Vec<&str> = hand.events[events..].iter().filter_map(|e| kind(&e.event)).collect();
            (texts.len(), texts.concat())
        };
        let shown = joined(|event| if let Event::TextDelta(text) = event { Some(text) } else { None });
        let thought = joined(|event| if let Event::ReasoningDelta(text) = event { Some(text) } else { None });
        assert_eq!(shown, (pieces, text.clone()));
        assert_eq!(thought, (pieces, text));
    }
}

// proves: W6, L1
#[test]
fn the_worst_piece_of_text_stays_within_what_a_step_may_record() {
    // The laws hold each step to the stated bounds.
    for delta in [16, 17, 21, 22] {
        let config = limits(|limits| {
            (limits.calls, limits.parts, limits.delta_bytes) = (1, 3, delta);
            limits.response_bytes = 12_000;
        });
        let mut hand = Hand::begun(config, []).quick();
        hand.text(&"\u{1}".repeat(2_000));
        let mut other = hand.clone();
        other.done(Finish::Stop);
        hand.item(ModelItem::Refusal("".into()));
        hand.item(ModelItem::Reasoning("\u{1}".repeat(2_000).as_str().into()));
    }
}

// proves: E5
#[test]
fn nothing_empty_is_recorded() {
    let mut hand = Hand::plain();
    let events = hand.events.len();
    hand.text("");
    hand.item(ModelItem::Refusal("".into()));
    hand.item(ModelItem::Reasoning("".into()));
    hand.item(ModelItem::ReasoningSummary("".into()));
    hand.delta(Some(0), "c", "", "");
    hand.item(ModelItem::CallEnd(9));
    assert_eq!(hand.events.len(), events);
}

// proves: E5
#[test]
fn a_source_keeps_its_order() {
    let mut hand = Hand::plain();
    let events = hand.events.len();
    hand.item(ModelItem::Reasoning("a".into()));
    hand.item(ModelItem::ReasoningSummary("b".into()));
    hand.text("c");
    hand.delta(Some(0), "id", "t", "{");
    hand.usage(1, 1);
    hand.text("d");
    hand.item(ModelItem::Refusal("e".into()));
    hand.delta(Some(0), "", "", "}");
    let kinds = [
        "reasoning.delta",
        "reasoning.summary_delta",
        "text.delta",
        "tool_call.delta",
        "usage.updated",
        "text.delta",
        "text.delta",
        "tool_call.delta",
    ];
    assert_eq!(hand.kinds_from(events), kinds);
}

// proves: M1
// bounds: id
#[test]
fn ids_are_measured_encoded_and_hold_no_control_characters() {
    for (id, good) in [
        ("x".repeat(255), true),
        ("x".repeat(256), true),
        ("x".repeat(257), false),
        ("\"".repeat(128), true),
        ("\"".repeat(129), false),
        ("é".repeat(128), true),
        (String::new(), false),
        ("a\nb".to_owned(), false),
        ("a\u{85}b".to_owned(), false),
    ] {
        assert_eq!(RunId::new(id.as_str()).is_ok(), good, "{id:?}");
    }
    assert_eq!(RunId::new("a\tb"), Err(IdError::Control(1)));
}

// proves: M1, M4
// bounds: input
#[test]
fn the_input_is_measured_encoded() {
    let config = || limits(|limits| limits.input_bytes = 100);
    for (len, good) in [(97, true), (98, true), (99, false)] {
        let mut hand = Hand::new(config(), []);
        // A quotation mark and a line feed take two bytes each.
        let text = format!("\"\n{}", "x".repeat(len - 2));
        hand.start.input = vec![Part::Text(text.as_str().into())];
        let start = Input::Start(Box::new(hand.start.clone()));
        if good {
            hand.give(start);
        } else {
            assert!(matches!(hand.misuse(start), Misuse::InvalidStart(_)));
        }
    }
}

fn fact(name: &str, value: &str) -> ModelItem {
    ModelItem::Activity(Box::new(Activity::Diagnostic { name: name.into(), value: value.into() }))
}

// proves: M5
// bounds: facts, count; facts, bytes
#[test]
fn only_facts_of_allowed_namespaces_within_bounds_are_recorded() {
    let config = || limits(|limits| (limits.facts, limits.fact_bytes) = (3, 100)).fact_namespaces(["ok"]);
    let mut hand = Hand::begun(config(), []);
    let events = hand.events.len();
    for name in ["no.tier", "ok", "okay.tier", "", ".ok", "tier.ok", "ok.\u{1}"] {
        hand.item(fact(name, "v"));
    }
    hand.item(fact("ok.long", &"x".repeat(101)));
    hand.item(fact("ok.escaped", &"\"".repeat(51)));
    hand.item(fact(&format!("ok.{}", "x".repeat(254)), "v"));
    assert_eq!(hand.events.len(), events);
    hand.item(fact("ok.fits", &"x".repeat(100)));
    hand.item(fact("ok.secret", "sk-canary-1234567"));
    let Event::Diagnostic(secret) = hand.last() else { panic!() };
    assert_eq!(secret.value, "[redacted]");
    hand.item(fact("ok.third", ""));
    hand.item(fact("ok.fourth", "one too many"));
    assert_eq!(hand.kinds_from(events), ["provider.diagnostic"; 3]);
    let mut none = Hand::begun(Config::default(), []);
    none.item(fact("ok.tier", "v"));
    assert_eq!(none.events.len(), 3, "none is allowed by default");
}

// proves: M6
// bounds: error text
#[test]
fn problems_are_cleaned_and_bounded_whoever_put_them_together() {
    for (len, whole) in [(4_095, true), (4_096, true), (4_097, false)] {
        let mut problem = Problem::new(ProblemKind::Permission, "");
        problem.message = "x".repeat(len).as_str().into();
        let mut hand = Hand::plain();
        hand.item(ModelItem::Failed(Box::new(problem)));
        let text = hand.error().to_string();
        assert_eq!((text.len() <= 4_096, !text.ends_with("[cut]")), (true, whole));
        let line = hand.json(hand.events.len() - 1);
        assert!(
            line.contains(&"x".repeat(512)) && !line.contains(&"x".repeat(513)),
            "512 bytes in the event"
        );
    }
    let mut problem = Problem::new(ProblemKind::Permission, "");
    problem.message = "key sk-canary-1234567 \u{7} refused".into();
    let mut hand = Hand::begun(limits(|limits| limits.error_bytes = 300), []);
    hand.item(ModelItem::Failed(Box::new(problem)));
    assert_eq!(hand.error().to_string(), "key [redacted]   refused");
    let mut long = Hand::begun(limits(|limits| limits.error_bytes = 300), []);
    long.item(ModelItem::Failed(Box::new(Problem::new(ProblemKind::Permission, &"x".repeat(301)))));
    assert_eq!(long.error().to_string().len(), 300);
}

// proves: R9
// bounds: steps
#[test]
fn a_run_makes_as_many_steps_as_its_limit() {
    for limit in 1..4 {
        let mut hand = Hand::begun(limits(|limits| limits.steps = limit), [shared("t")]);
        for _ in 0..limit {
            assert!(hand.is_live());
            hand.calls(["t"]);
            let (_, op) = *hand.tools().last().unwrap();
            hand.runs(op, "");
        }
        assert_eq!(hand.outcome().answer().unwrap().stop_reason.as_str(), "max_steps");
    }
}

// proves: M7, R1
#[test]
fn configured_retry_counts_hold_at_their_borders() {
    let config = Config::default()
        .retry(policy(|policy| {
            (policy.attempts, policy.malformed, policy.invalid_turns) = (3, 3, 1);
            policy.first_wait = Duration::from_millis(1);
        }))
        .unwrap();
    let mut malformed = Hand::begun(config.clone(), []);
    (0..2).for_each(|_| _ = malformed.done(Finish::Stop));
    assert!(malformed.is_live());
    malformed.done(Finish::Stop);
    assert!(!malformed.is_live());
    let mut invalid = Hand::begun(config, [shared("t")]);
    invalid.call("c", "t", "{");
    invalid.done(Finish::ToolCalls);
    assert!(!invalid.is_live());
}

/// Two steps may bring four commits each, and the end one.
// proves: W1, B4, K1
#[test]
fn a_revision_that_could_not_grow_by_all_commits_of_a_run_is_refused_before_it_starts() {
    const LAST: u64 = (1 << 53) - 1;
    for (room, starts) in [(10, true), (9, true), (8, false), (0, false)] {
        let mut hand = Hand::new(limits(|limits| limits.steps = 2), []);
        hand.start.revision = Revision(LAST - room);
        let start = hand.start.clone();
        if starts {
            hand.begin();
            hand.text("x");
            hand.done(Finish::Stop);
            assert_eq!(hand.outcome().revision.0, LAST - room + 1);
        } else {
            let Misuse::InvalidStart(why) = hand.misuse(Input::Start(Box::new(start))) else { panic!() };
            assert_eq!(why, "the session's revision cannot grow any more");
            assert!(hand.checked.run().log().is_empty());
        }
    }
}
