//! Envelopes and the order of a whole run (E1-E4, E6, E12, L6, W7).

use crate::hand::*;
use runloom_core::config::Config;
use runloom_core::event::Event;
use runloom_core::model::{Finish, ModelItem, ProblemKind};
use runloom_core::outcome::RunResult;
use runloom_core::time::Time;
use serde_json::Value;

/// Two steps with a retry, a batch and an answer.
fn whole_run() -> Hand {
    let mut hand = Hand::named("r\"1\\é", Config::default(), [shared("t")]);
    hand.begin();
    hand.at(5).text("void");
    hand.fail(ProblemKind::Overloaded);
    hand.at(1_005).wake(false);
    hand.item(ModelItem::ReasoningSummary("plan".into()));
    hand.text("calling");
    hand.usage(10, 3);
    hand.calls(["t", "t"]);
    for (_, op) in hand.tools() {
        hand.enter(op);
        hand.tool(op, runloom_core::tool::ToolItem::Progress("on it".into()));
    }
    for (_, op) in hand.tools() {
        hand.finish(op, "tab\there, \u{1} and \u{2028}");
    }
    hand.at(2_000).text("done");
    hand.done(Finish::Stop);
    hand
}

// proves: E1, L6
#[test]
fn an_envelope_is_canonical_json_with_whole_microseconds_and_gapless_numbers() {
    let hand = whole_run();
    for (at, envelope) in hand.events.iter().enumerate() {
        assert_eq!(envelope.seq.0, at as u64 + 1);
        let line = hand.json(at);
        let value: Value = serde_json::from_str(&line).unwrap();
        // Maps of this parser are sorted, and its writer escapes as RFC 8785 prescribes.
        assert_eq!(serde_json::to_string(&value).unwrap(), line);
        let members: Vec<_> = value.as_object().unwrap().keys().collect();
        assert_eq!(members, ["at", "kind", "payload", "run_id", "seq"]);
        assert_eq!((value["run_id"].as_str(), value["seq"].as_u64()), (Some("r\"1\\é"), Some(at as u64 + 1)));
        assert_eq!(value["at"].as_u64(), Some(envelope.at.as_micros()));
        let payload = envelope.event.kind().members().split(", ").map(|member| {
            let name = member.split(['?', '{']).next().unwrap();
            (name.to_owned(), member.contains('?') || member.contains('}'))
        });
        let payload: Vec<_> = payload.collect();
        for name in value["payload"].as_object().unwrap().keys() {
            assert!(payload.iter().any(|(known, _)| known == name), "{name} of {line}");
        }
    }
    assert!(hand.events.windows(2).all(|pair| pair[0].at <= pair[1].at));
    assert_eq!(hand.events.last().unwrap().at, Time::from_secs(2));
}

// proves: E2, E3, E4, E6, R4, W7
#[test]
fn a_whole_run_opens_and_closes_in_order() {
    let hand = whole_run();
    let expected = [
        "run.started",
        "step.started",
        "model.started",
        "text.delta",
        "model.failed",
        "provider.stream_reset",
        "model.started",
        "reasoning.summary_delta",
        "text.delta",
        "usage.updated",
        "tool_call.delta",
        "tool_call.delta",
        "model.completed",
        "tool.proposed",
        "tool.proposed",
        "tool.started",
        "tool.updated",
        "tool.started",
        "tool.updated",
        "tool.finished",
        "tool.finished",
        "step.completed",
        "step.started",
        "model.started",
        "text.delta",
        "model.completed",
        "step.completed",
        "run.completed",
    ];
    assert_eq!(hand.kinds(), expected);
    let Event::RunStarted(started) = &hand.events[0].event else { panic!() };
    assert_eq!(started.revision.0, 7);
    let (Event::RunCompleted(answer), RunResult::Completed(result)) = (hand.last(), &hand.outcome().result)
    else {
        panic!()
    };
    assert_eq!((answer, answer.revision.0, answer.text.as_str()), (result, 8, "done"));
    hand.replays();
}

// proves: E4
#[test]
fn the_estimate_covers_history_and_tool_schemas() {
    let estimate = |hand: &Hand| match hand.events[1].event {
        Event::StepStarted { estimated_context_tokens, step: 1 } => estimated_context_tokens,
        ref other => panic!("{other:?}"),
    };
    let bare = estimate(&Hand::plain());
    let mut tool = shared("t");
    tool.description = "x".repeat(400).as_str().into();
    let tools = Hand::begun(Config::default(), [tool]);
    assert!(estimate(&tools) > bare + 99);
    let mut longer = Hand::new(Config::default(), []);
    longer.start.input = vec![runloom_core::message::Part::Text("x".repeat(400).as_str().into())];
    longer.begin();
    assert!(estimate(&longer) > bare + 90);
}

// proves: E12
#[test]
fn borders_of_deltas_mean_nothing() {
    let run = |pieces: &[&str]| {
        let mut hand = Hand::plain();
        pieces.iter().for_each(|piece| _ = hand.text(piece));
        hand.done(Finish::Stop);
        (hand.answer().to_owned(), hand.outcome().history.last().unwrap().parts().to_vec())
    };
    assert_eq!(run(&["one ", "two ", "three"]), run(&["one two three"]));
    assert_eq!(run(&["o", "ne two thre", "e"]), run(&["one two three"]));
}

// proves: M8, E4
#[test]
fn a_pause_commits_and_goes_on_with_another_step() {
    let mut hand = Hand::plain();
    hand.text("searching");
    hand.done(Finish::Pause);
    assert_eq!(hand.kinds_from(5), ["step.completed", "step.started", "model.started"]);
    hand.text("found");
    hand.done(Finish::Stop);
    assert_eq!((hand.answer(), hand.roles()), ("found", vec!["user", "assistant", "assistant"]));
}
