//! The cases.

use crate::{Case, plain};
use runloom_core::agui::consume::Consumer;
use runloom_core::agui::{Event, Mode, RunOutcome, TextRole, Verifier};
use std::hint::black_box;

const EVENTS: usize = 20_000;

fn case(name: &'static str, run: impl FnMut() -> u64 + 'static) -> Case {
    Case { name, run: Box::new(run) }
}

fn started() -> Event {
    Event::run_started("thread-1", "run-1")
}

fn finished() -> Event {
    Event::run_finished("thread-1", "run-1", Some(RunOutcome::Success))
}

/// One message of many pieces.
fn deltas() -> Vec<Event> {
    let mut events = vec![started(), Event::text_message_start("msg-1", TextRole::Assistant)];
    events.extend((0..EVENTS).map(|n| Event::text_message_content("msg-1", format!("word {n} and "))));
    events.extend([Event::text_message_end("msg-1"), finished()]);
    events
}

/// Many messages, each with a call and its result.
fn turns() -> Vec<Event> {
    let mut events = vec![started()];
    for n in 0..EVENTS / 8 {
        let (message, call) = (format!("msg-{n}"), format!("call-{n}"));
        events.extend([
            Event::text_message_start(&*message, TextRole::Assistant),
            Event::text_message_content(&*message, "Let me look that up."),
            Event::text_message_end(&*message),
            Event::tool_call_start(&*call, "search"),
            Event::tool_call_args(&*call, "{\"query\":\"weather\"}"),
            Event::tool_call_end(&*call),
            Event::tool_call_result(format!("res-{n}"), &*call, "sunny"),
        ]);
    }
    events.push(finished());
    events
}

/// Many messages open at once, and pieces of all of them.
fn wide() -> Vec<Event> {
    let ids = || (0..EVENTS / 4).map(|n| format!("msg-{n}"));
    let mut events = vec![started()];
    events.extend(ids().map(|id| Event::text_message_start(id, TextRole::Assistant)));
    events.extend(ids().map(|id| Event::text_message_content(id, "x")));
    events.extend(ids().map(Event::text_message_end));
    events.push(finished());
    events
}

/// One message of many chunks.
fn chunks() -> Vec<Event> {
    let mut events = vec![started(), Event::text_message_chunk(Some("msg-1".into()), "Hello")];
    events.extend((0..EVENTS).map(|_| Event::text_message_chunk(None, ", hello")));
    events.push(finished());
    events
}

fn verify(name: &'static str, events: Vec<Event>, mode: Mode) -> Case {
    case(name, move || {
        let mut verifier = Verifier::new(mode);
        for event in &events {
            verifier.observe(black_box(event)).unwrap();
        }
        verifier.finish().unwrap();
        events.len() as u64
    })
}

fn lines(events: &[Event]) -> Vec<String> {
    events.iter().map(Event::encode).collect()
}

fn decode(name: &'static str, lines: Vec<String>) -> Case {
    case(name, move || {
        for line in &lines {
            black_box(Event::decode(black_box(line)).unwrap());
        }
        lines.len() as u64
    })
}

fn decode_plain(name: &'static str, lines: Vec<String>) -> Case {
    case(name, move || {
        for line in &lines {
            black_box(serde_json::from_str::<plain::Event>(black_box(line)).unwrap());
        }
        lines.len() as u64
    })
}

fn encode(name: &'static str, events: Vec<Event>) -> Case {
    let mut out = Vec::with_capacity(4 << 20);
    case(name, move || {
        out.clear();
        events.iter().for_each(|event| black_box(event).encode_into(&mut out));
        black_box(out.len());
        events.len() as u64
    })
}

fn encode_plain(name: &'static str, lines: &[String]) -> Case {
    let events: Vec<plain::Event> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut out = Vec::with_capacity(4 << 20);
    case(name, move || {
        out.clear();
        events.iter().for_each(|event| serde_json::to_writer(&mut out, black_box(event)).unwrap());
        black_box(out.len());
        events.len() as u64
    })
}

/// A conversation of twenty messages, a call in every other one.
fn snapshot() -> String {
    let turn = |n: usize| {
        format!(
            "{{\"id\":\"u{n}\",\"role\":\"user\",\"content\":\"What is the weather like?\"}},\
             {{\"id\":\"a{n}\",\"role\":\"assistant\",\"content\":\"Let me look.\",\"toolCalls\":[{{\"id\":\"c{n}\",\
             \"type\":\"function\",\"function\":{{\"name\":\"search\",\"arguments\":\"{{}}\"}}}}]}}"
        )
    };
    let turns: Vec<String> = (0..10).map(turn).collect();
    format!("{{\"type\":\"MESSAGES_SNAPSHOT\",\"messages\":[{}]}}", turns.join(","))
}

fn consume(name: &'static str, lines: Vec<String>) -> Case {
    case(name, move || {
        let mut consumer = Consumer::new();
        for line in &lines {
            consumer
                .line(line.as_bytes(), &mut |event| {
                    black_box(event);
                })
                .unwrap();
        }
        black_box(consumer.finish());
        lines.len() as u64
    })
}

pub(crate) fn cases() -> Vec<Case> {
    let inner = |events: &[Event]| events[1..events.len() - 1].to_vec();
    let (deltas, turns) = (deltas(), turns());
    let (contents, mixed) = (lines(&inner(&deltas)), lines(&inner(&turns)));
    let late: Vec<String> = contents
        .iter()
        .map(|line| {
            let mut members: Vec<&str> = line.trim_matches(['{', '}']).split(",\"").collect();
            members.rotate_left(1);
            format!("{{\"{}}}", members.join(",\"").replace(",\"\"type", ",\"type"))
        })
        .collect();
    let snapshots = vec![snapshot(); 200];
    vec![
        verify("verify contents of one message, producer", deltas.clone(), Mode::SingleRun),
        verify("verify contents of one message, consumer", deltas.clone(), Mode::Stream),
        verify("verify chunks of one message", chunks(), Mode::Stream),
        verify("verify turns: message, call, result", turns.clone(), Mode::Stream),
        verify("verify 5,000 messages open at once", wide(), Mode::Stream),
        decode("decode contents", contents.clone()),
        decode_plain("  plain serde", contents.clone()),
        decode("decode contents, type last", late.clone()),
        decode_plain("  plain serde", late),
        decode("decode turns", mixed.clone()),
        decode_plain("  plain serde", mixed.clone()),
        decode("decode snapshots of 20 messages", snapshots.clone()),
        decode_plain("  plain serde", snapshots),
        encode("encode contents", inner(&deltas)),
        encode_plain("  plain serde", &contents),
        encode("encode turns", inner(&turns)),
        encode_plain("  plain serde", &mixed),
        consume("consume lines: contents of one message", lines(&deltas)),
        consume("consume lines: turns", lines(&turns)),
        consume("consume lines: chunks of one message", lines(&chunks())),
    ]
}
