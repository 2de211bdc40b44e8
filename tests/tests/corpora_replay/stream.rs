//! The model stream, its problems and facts: M*, P*, D*.

use crate::Rows;
use crate::hand::*;
use runloom_core::config::Config;
use runloom_core::event::{Event, Position};
use runloom_core::id::Seq;
use runloom_core::model::{
    Activity, Completion, Finish, ModelItem, ModelRequest, ModelSpec, Problem, ProblemKind,
};
use runloom_tests::providers::Wire;

pub(crate) const OWN: Rows = &[
    ("M05", a_delta_that_is_too_large_is_several),
    ("M07", a_call_that_comes_twice),
    ("M08", an_id_that_history_has_is_made_unique),
    ("M09", nothing_after_the_end_counts),
    ("M10", a_stream_that_just_ends_is_truncated),
    ("M12", as_many_calls_as_a_message_has_room_for),
    ("P02", a_failure_before_anything_is_pristine),
    ("P04", a_partial_failure_is_retried_as_its_kind_says),
    ("P05", an_invalid_first_item_is_pristine),
    ("P06", the_engine_decides_the_position),
    ("P07", a_problems_message_is_bounded),
    ("P08", a_problems_kind_is_one_of_a_closed_set),
    ("D01", only_allowed_facts_are_recorded),
    ("D02", facts_are_bounded_in_count_and_bytes),
];

fn failures(hand: &Hand) -> Vec<(ProblemKind, Position)> {
    let failed = |event: &Event| match event {
        Event::ModelFailed(failed) => Some((failed.problem.kind, failed.position)),
        _ => None,
    };
    hand.events.iter().filter_map(|envelope| failed(&envelope.event)).collect()
}

/// Borders of deltas mean nothing (E12): what is too large for one is recorded as several (decision 17).
fn a_delta_that_is_too_large_is_several() {
    let most = usize::try_from(Config::default().limits().delta_bytes).unwrap();
    for (len, events) in [(most - 1, 1), (most, 1), (most + 1, 2)] {
        let mut hand = Hand::plain().quick();
        hand.text(&"x".repeat(len));
        assert_eq!(hand.kinds_from(3), vec!["text.delta"; events], "{len}");
    }
}

/// With the same content it is one call, with other content malformed (M3).
fn a_call_that_comes_twice() {
    let mut hand = Hand::begun(Config::default(), [shared("t")]);
    hand.call("c1", "t", "{}");
    hand.call("c1", "t", "{}");
    hand.done(Finish::ToolCalls);
    assert_eq!(hand.tools().len(), 1);
    let mut hand = Hand::begun(Config::default(), [shared("t")]);
    hand.call("c1", "t", "{}");
    hand.call("c1", "t", "[]");
    assert_eq!(failures(&hand)[0].0, ProblemKind::InvalidResponse, "at the item");
    assert!(!hand.kinds().contains(&"model.completed"));
}

/// The contract decides otherwise: the engine knows a call by step and ordinal, and its id is made unique on the wire
/// (M3, M7).
fn an_id_that_history_has_is_made_unique() {
    let mut hand = Hand::begun(Config::default(), [shared("t")]);
    for _ in 0..2 {
        hand.call("c1", "t", "{}");
        hand.done(Finish::ToolCalls);
        hand.runs(hand.op(), "ok");
    }
    hand.text("x");
    hand.done(Finish::Stop);
    assert_eq!(hand.statuses(), [(0, "success"), (0, "success")]);
    let request = ModelRequest::new(ModelSpec::new("m"), hand.outcome().history.clone(), []);
    let body = Wire::of("anthropic", "").unwrap().encode(&request).unwrap();
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    let all = |member: &str| {
        let parts =
            body["messages"].as_array().unwrap().iter().filter_map(|message| message["content"].as_array());
        let ids = parts.flatten().filter_map(|part| part[member].as_str().map(str::to_owned));
        ids.collect::<Vec<String>>()
    };
    let (calls, results) = (all("id"), all("tool_use_id"));
    assert!(calls.len() == 2 && calls[0] != calls[1] && calls == results, "{calls:?} {results:?}");
}

/// Items after the end are ignored and counted (W5, decision 24): what followed from the response may be done already.
fn nothing_after_the_end_counts() {
    let end = || ModelItem::Done(Box::new(Completion::new(Some(Finish::Stop), "stop")));
    let fail = || ModelItem::Failed(Box::new(Problem::new(ProblemKind::Permission, "no")));
    let pairs = [(end(), ModelItem::Text("late".into())), (end(), end()), (fail(), end())];
    for (first, late) in pairs {
        let mut hand = Hand::plain();
        hand.text("hi");
        hand.item(first);
        let events = hand.events.len();
        hand.item(late);
        assert_eq!((hand.events.len(), hand.checked.run().ignored()), (events, 1));
    }
}

fn a_stream_that_just_ends_is_truncated() {
    let mut hand = Hand::plain();
    hand.text("hi");
    hand.item(ModelItem::Done(Box::new(Completion::new(None, ""))));
    assert_eq!(failures(&hand), [(ProblemKind::Truncated, Position::Partial)]);
}

fn as_many_calls_as_a_message_has_room_for() {
    let mut hand = Hand::begun(Config::default(), [shared("t")]).quick();
    hand.text("first");
    for at in 0..128 {
        hand.call(&format!("c{at}"), "t", "{}");
    }
    hand.done(Finish::ToolCalls);
    hand.cancel();
    let parts = hand.outcome().history.iter().map(|message| message.parts().len()).max();
    assert_eq!(parts, Some(129));
    let mut hand = Hand::begun(Config::default(), [shared("t")]).quick();
    for at in 0..129 {
        hand.call(&format!("c{at}"), "t", "{}");
    }
    assert_eq!(failures(&hand).len(), 1);
}

fn a_failure_before_anything_is_pristine() {
    let mut hand = Hand::plain();
    hand.fail(ProblemKind::Server);
    assert_eq!(failures(&hand), [(ProblemKind::Server, Position::Pristine)]);
    assert_eq!(hand.kinds().last(), Some(&"provider.stream_reset"), "and it is tried again");
}

/// The contract decides otherwise: a partial failure is retryable when its kind is (R1, R4); only the position differs
/// (M6). A failure shows nothing itself, so that it is pristine as the first item.
fn a_partial_failure_is_retried_as_its_kind_says() {
    for (kind, again) in [(ProblemKind::Server, true), (ProblemKind::Permission, false)] {
        for (text, position) in [("", Position::Pristine), ("hi", Position::Partial)] {
            let mut hand = Hand::plain();
            hand.text(text);
            hand.fail(kind);
            assert_eq!(failures(&hand), [(kind, position)]);
            assert_eq!(hand.is_live(), again);
        }
    }
}

fn an_invalid_first_item_is_pristine() {
    let mut hand = Hand::plain();
    hand.call(&"c".repeat(257), "t", "{}");
    assert_eq!(failures(&hand), [(ProblemKind::InvalidResponse, Position::Pristine)]);
    assert!(!Problem::new(ProblemKind::InvalidResponse, "").is_retryable());
}

fn the_engine_decides_the_position() {
    let mut hand = Hand::plain();
    hand.text("hi");
    // A problem has no member in which an adapter could claim a position.
    hand.item(ModelItem::Failed(Box::new(
        Problem::new(ProblemKind::Server, "pristine").retryable(Some(true)),
    )));
    assert_eq!(failures(&hand)[0].1, Position::Partial);
}

/// Text is cut with a mark instead of being refused, and cleaned (decision 10).
fn a_problems_message_is_bounded() {
    let error = |message: &str| {
        let mut hand = Hand::plain().quick();
        hand.item(ModelItem::Failed(Box::new(Problem::new(ProblemKind::Permission, message))));
        hand.error().to_string()
    };
    assert_eq!(error(&"x".repeat(4_096)), "x".repeat(4_096));
    let cut = error(&"x".repeat(4_097));
    assert!(cut.len() == 4_096 && cut.ends_with("[cut]"));
    assert!(error(" x\u{7}").contains('x') && !error(" x\u{7}").contains('\u{7}'));
}

fn a_problems_kind_is_one_of_a_closed_set() {
    for kind in
        [ProblemKind::Server, ProblemKind::Truncated, ProblemKind::InvalidResponse, ProblemKind::Permission]
    {
        assert!((1..=128).contains(&kind.as_str().len()));
    }
}

fn fact(name: &str, value: &str) -> ModelItem {
    ModelItem::Activity(Box::new(Activity::Diagnostic { name: name.into(), value: value.into() }))
}

fn only_allowed_facts_are_recorded() {
    let mut hand = Hand::begun(Config::default().fact_namespaces(["openai"]), []);
    hand.item(fact("openai.id", "r1"));
    hand.item(fact("private.debug", "SECRET"));
    hand.text("hi");
    hand.done(Finish::Stop);
    let all: String = (0..hand.events.len()).map(|at| hand.json(at)).collect();
    assert!(all.contains("openai.id") && !all.contains("SECRET") && !all.contains("private"));
    assert!(!format!("{:?}", hand.checked.run()).contains("SECRET"));
}

/// A fact too many or too large is left out whole (decision 10).
fn facts_are_bounded_in_count_and_bytes() {
    let mut hand = Hand::begun(Config::default().fact_namespaces(["a"]), []).quick();
    hand.item(fact("a.large", &"x".repeat((4 << 10) + 1)));
    assert_eq!(hand.checked.run().log().last_seq(), Seq(3));
    for n in 0..33 {
        hand.item(fact(&format!("a.{n}"), "v"));
    }
    assert_eq!(hand.kinds_from(3), ["provider.diagnostic"; 32]);
}
