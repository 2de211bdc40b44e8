//! The codecs against streams written for it, one behaviour each (M3, M7, M8, M9, R5, R8, T7), against requests, and
//! against streams that were damaged at random.
//!
//! `tests/fixtures/providers/*.sse` are bodies; beside each stands what comes out of it. `REWRITE=1` writes the latter
//! anew; the difference is to be read before it is kept.

// Helpers of tests fail like tests do.
#![allow(clippy::unwrap_used)]

mod compaction;
mod damage;
mod requests;

use runloom::testing::transcript::golden;
use runloom_core::model::{Activity, ModelItem};
use runloom_tests::providers::{Splits, Wire};
use std::fmt::Write;
use std::path::PathBuf;

/// A body and the codec that reads it.
struct Fixture {
    name: String,
    wire: Wire,
    body: Vec<u8>,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/providers")
}

/// All bodies, in the order of their names.
fn fixtures() -> Vec<Fixture> {
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut bodies: Vec<_> = files.filter(|path| path.extension().is_some_and(|ext| ext == "sse")).collect();
    bodies.sort();
    let fixture = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let (provider, what) = name.split_once("__").unwrap();
        let wire = Wire::of(provider, what).unwrap();
        Fixture { body: std::fs::read(&path).unwrap(), wire, name }
    };
    bodies.into_iter().map(fixture).collect()
}

/// Compares `found` with a file of expectations, or writes it.
fn expect(file: &str, found: &str) {
    golden(folder().join(file), found);
}

/// One line for each item.
fn render(items: &[ModelItem]) -> String {
    let mut out = String::new();
    for item in items {
        let line = match item {
            ModelItem::Text(text) => writeln!(out, "text {text:?}"),
            ModelItem::Refusal(text) => writeln!(out, "refusal {text:?}"),
            ModelItem::Reasoning(text) => writeln!(out, "reasoning {text:?}"),
            ModelItem::CallDelta(call) => {
                let of = |text: &Option<runloom_core::text::Text>| text.clone().unwrap_or_default();
                let index = call.index.map_or_else(|| "-".to_owned(), |index| index.to_string());
                writeln!(out, "call {index} {:?} {:?} {:?}", of(&call.id), of(&call.name), call.arguments)
            }
            ModelItem::CallEnd(index) => writeln!(out, "call end {index}"),
            ModelItem::Usage(usage) => {
                let mut bytes = Vec::new();
                let mut object = runloom_core::json::Object::begin(&mut bytes);
                usage.write(&mut object);
                object.end();
                writeln!(out, "usage {}", String::from_utf8_lossy(&bytes))
            }
            ModelItem::GenerationTokens(tokens) => writeln!(out, "generation {tokens:?}"),
            ModelItem::Context(context) => {
                writeln!(out, "context {} {} {}", context.model, context.kind, context.payload)
            }
            ModelItem::Activity(activity) => match &**activity {
                Activity::WebSearch { detail } => writeln!(out, "web search {detail:?}"),
                Activity::HostedTool { name, detail } => writeln!(out, "hosted {name:?} {detail:?}"),
                other => writeln!(out, "{other:?}"),
            },
            ModelItem::Done(done) => writeln!(out, "done {:?} {:?}", done.finish, done.raw),
            ModelItem::Failed(problem) => writeln!(
                out,
                "failed {} retryable={} after={:?} {:?}",
                problem.kind.as_str(),
                problem.is_retryable(),
                problem.retry_after,
                problem.message
            ),
            other => writeln!(out, "{other:?}"),
        };
        line.unwrap();
    }
    out
}

// proves: M3, M7, R5, T7
#[test]
fn each_body_gives_its_items_at_every_split() {
    let fixtures = fixtures();
    for fixture in &fixtures {
        let items = fixture.wire.items(&[&fixture.body]);
        let summary = fixture.wire.summary(&[&fixture.body]);
        let unreadable = summary.unreadable_at.map(|at| format!("unreadable at {at}\n")).unwrap_or_default();
        let found = format!("{}{unreadable}{}\n", render(&items), summary.to_json());
        expect(&format!("{}.txt", fixture.name), &found);
        let splits = Splits { body: &fixture.body, all_up_to: usize::MAX, seed: 0 };
        fixture.wire.with(splits).unwrap_or_else(|what| panic!("{}: {what}", fixture.name));
    }
    assert!(fixtures.len() >= 50, "{} bodies", fixtures.len());
}

#[test]
fn every_body_has_its_expectation_and_the_other_way_round() {
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ext| ext == "txt") {
            assert!(path.with_extension("sse").exists(), "{path:?} has no body");
        }
    }
}
