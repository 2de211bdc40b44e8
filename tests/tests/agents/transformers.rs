//! Transformers change what goes out, and cannot lose the run's borders.

use crate::kit::{agent, code, events, input, input_of, quietly, words};
use runloom::agui::server::{Result, RunContext, Runner};
use runloom::agui::{Event, EventType, RunOutcome};
use std::panic::{AssertUnwindSafe, catch_unwind};

async fn says(cx: &mut RunContext<()>) -> Result<RunOutcome> {
    cx.say("hello")?;
    cx.emit(Event::custom("acme.x", 1))?;
    Ok(RunOutcome::Success)
}

// proves: V3
#[test]
fn events_are_replaced_dropped_and_added_in_order() {
    let shouts = |event: Event, out: &mut Vec<Event>| match event {
        Event::TextMessageContent(mut content) => {
            content.delta = content.delta.to_uppercase();
            out.push(content.into());
        }
        Event::Custom(_) => {}
        event => out.push(event),
    };
    let doubles = |event: Event, out: &mut Vec<Event>| {
        if event.event_type() == EventType::TextMessageContent {
            out.push(event.clone());
        }
        out.push(event);
    };
    let all = events(Runner::new(agent(says)).transformer(shouts).transformer(doubles).run_local(input()));
    let deltas: Vec<String> = all
        .iter()
        .filter_map(|event| match event {
            Event::TextMessageContent(content) => Some(content.delta.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(deltas, ["HELLO", "HELLO"]);
    assert!(!words(&all).contains("custom"));
}

// proves: V1
#[test]
fn start_and_end_cannot_be_lost() {
    let all = events(Runner::new(agent(says)).transformer(|_, _: &mut Vec<Event>| {}).run_local(input()));
    assert_eq!(words(&all), "run_started; run_finished success");
    let doubles = |event: Event, out: &mut Vec<Event>| out.extend([event.clone(), event]);
    let silent = || agent(async |_| Ok(RunOutcome::Success));
    let all = events(Runner::new(silent()).transformer(doubles).run_local(input()));
    assert_eq!(words(&all), "run_started; run_finished success");
    // Another run's, another type, another outcome.
    let lies = |event: Event, out: &mut Vec<Event>| match event {
        Event::RunStarted(_) => out.push(Event::run_started("t", "another")),
        Event::RunFinished(_) => out.push(Event::run_error("no", None)),
        Event::RunError(_) => out.push(Event::run_finished("t", "r", None)),
        event => out.push(event),
    };
    assert_eq!(
        words(&events(Runner::new(silent()).transformer(lies).run_local(input()))),
        "run_started; run_finished success"
    );
    let stops = || agent(async |_| Ok(RunOutcome::Cancelled));
    assert_eq!(code(&events(Runner::new(stops()).transformer(lies).run_local(input()))), "CANCELLED");
    let pretends = |event: Event, out: &mut Vec<Event>| match event {
        Event::RunFinished(mut end) => {
            end.outcome = Some(RunOutcome::Success);
            out.push(Event::RunFinished(end));
        }
        event => out.push(event),
    };
    let all = events(Runner::new(stops()).transformer(pretends).run_local(input_of("1.1")));
    assert_eq!(words(&all), "run_started; run_finished cancelled");
    // What it may do: say the end in other words, and something before it.
    let renames = |event: Event, out: &mut Vec<Event>| match event {
        Event::RunError(mut error) => {
            error.message = "something went wrong".into();
            out.extend([Event::custom("acme.end", 1), error.into(), Event::custom("acme.late", 1)]);
        }
        event => out.push(event),
    };
    let fails = agent(async |_| Err(runloom::agui::server::Error::agent("secret")));
    let all = events(Runner::new(fails).transformer(renames).run_local(input()));
    assert_eq!(words(&all), "run_started; custom; run_error AGENT_ERROR");
    assert!(all[2].encode().contains("something went wrong"));
}

// proves: V3, V4
#[test]
fn a_transformer_that_breaks_the_order_is_found_where_it_does() {
    let drops = |kind: EventType| {
        move |event: Event, out: &mut Vec<Event>| {
            if event.event_type() != kind {
                out.push(event);
            }
        }
    };
    let all =
        events(Runner::new(agent(says)).transformer(drops(EventType::TextMessageStart)).run_local(input()));
    assert_eq!(words(&all), "run_started; run_error PROTOCOL_VIOLATION");
    let all =
        events(Runner::new(agent(says)).transformer(drops(EventType::TextMessageEnd)).run_local(input()));
    assert_eq!(code(&all), "PROTOCOL_VIOLATION");
    // A stop closes what is open past the transformers, if need be.
    let stops = agent(async |cx| {
        cx.say("hello")?;
        Ok(RunOutcome::Cancelled)
    });
    let runner = Runner::new(stops).transformer(drops(EventType::TextMessageEnd));
    let all = events(runner.run_local(input_of("1.1")));
    assert!(words(&all).ends_with("text_message_end r-msg-1; run_finished cancelled"), "{}", words(&all));
}

// proves: V1
#[test]
fn a_transformer_that_panics_fails_the_run_and_no_more() {
    for at in [
        EventType::RunStarted,
        EventType::TextMessageContent,
        EventType::TextMessageEnd,
        EventType::RunFinished,
    ] {
        let panics = move |event: Event, out: &mut Vec<Event>| {
            assert!(event.event_type() != at, "on purpose");
            out.push(event);
        };
        let all = quietly(|| events(Runner::new(agent(says)).transformer(panics).run_local(input())));
        assert!(words(&all).ends_with("run_error AGENT_ERROR"), "{at:?}: {}", words(&all));
    }
}

// proves: V1, V8
#[test]
fn nothing_goes_out_past_a_transformer_that_panicked() {
    for (at, expected) in [
        (EventType::RunStarted, "run_started; run_error AGENT_ERROR"),
        (EventType::TextMessageStart, "run_started; run_error AGENT_ERROR"),
    ] {
        let panics = move |event: Event, out: &mut Vec<Event>| {
            assert!(event.event_type() != at, "on purpose");
            out.push(event);
        };
        // The agent goes on whatever happens to it.
        let stubborn = agent(async |cx| {
            for _ in 0..3 {
                let _ = catch_unwind(AssertUnwindSafe(|| cx.say("the secret")));
            }
            Ok(RunOutcome::Success)
        });
        let all = quietly(|| events(Runner::new(stubborn).transformer(panics).run_local(input())));
        assert_eq!(words(&all), expected);
    }
    // A stop is no failure all the same.
    let panics = |event: Event, out: &mut Vec<Event>| {
        assert!(!event.is_terminal(), "on purpose");
        out.push(event);
    };
    let stops = agent(async |_| Ok(RunOutcome::Cancelled));
    let all = quietly(|| events(Runner::new(stops).transformer(panics).run_local(input_of("1.1"))));
    assert_eq!(words(&all), "run_started; run_finished cancelled");
}
