//! What canonical JSON costs: CPU time per byte of input to read and write it, beside the parser and printer of serde_json in
//! the same process, and the bytes that a value takes while it is read.
//!
//! `cargo bench -p runloom-tests --bench canonical` prints a table: medians of several rounds whose cases take turns, so
//! that a slow moment of the machine meets them all. Nothing is asserted about time.
#![allow(clippy::unwrap_used)]

use cpu_time::ThreadTime;
use runloom_core::canonical::{Bounds, canonicalize, check};
use serde_json::Value;
use std::fmt::Write;
use std::hint::black_box;

type Work = fn(&[u8]) -> usize;

const WORK: [(&str, Work); 3] = [
    ("canonicalize", |json| canonicalize(json, &Bounds::default()).unwrap().len()),
    ("check (canonical already)", |json| {
        check(json, &Bounds::default()).unwrap();
        json.len()
    }),
    ("serde_json: parse, print", |json| {
        serde_json::to_vec(&serde_json::from_slice::<Value>(json).unwrap()).unwrap().len()
    }),
];

/// Members in no order, with white space; texts, numbers, lists.
fn mixed() -> String {
    let mut out = String::from("[");
    for n in 0..4_000 {
        let comma = if n > 0 { "," } else { "" };
        let score = f64::from(n) / 7.0;
        write!(
            out,
            "{comma}\n  {{\"name\": \"item {n}\", \"id\": {n}, \"score\": {score}, \"tags\": [\"a\", \"two words\", null], \
             \"at\": 17{n:08}, \"note\": \"a longer text, with \\\"quotes\\\" and what fits no inline text\"}}"
        )
        .unwrap();
    }
    out + "]"
}

fn numbers() -> String {
    let numbers: Vec<String> = (1..60_000).map(|n| (f64::from(n) * 0.123_456_789).to_string()).collect();
    format!("[{}]", numbers.join(","))
}

fn texts() -> String {
    let text = "what a model says in a few sentences, without much to escape. ".repeat(30);
    let texts: Vec<String> = (0..500).map(|n| format!("\"{n}: {text}\"")).collect();
    format!("[{}]", texts.join(","))
}

/// Lines of a log.
fn events() -> String {
    let line = |n: u32| {
        format!(
            "{{\"at\":{n},\"kind\":\"text.delta\",\"payload\":{{\"text\":\" word\"}},\"run_id\":\"run-1\",\"seq\":{}}}",
            n + 1
        )
    };
    format!("[{}]", (0..10_000).map(line).collect::<Vec<_>>().join(","))
}

fn main() {
    // `cargo test --benches` runs this too, and asks for one quick look only.
    let rounds = if std::env::args().any(|arg| arg == "--test") { 1 } else { 15 };
    let inputs = [("mixed", mixed()), ("numbers", numbers()), ("texts", texts()), ("events", events())];
    println!("{:<34} {:>10} {:>10} {:>10} {:>14}", "case", "MB/s (CPU)", "min", "max", "peak / byte");
    for (name, input) in &inputs {
        let form = canonicalize(input.as_bytes(), &Bounds::default()).unwrap();
        let mut times: [Vec<f64>; WORK.len()] = Default::default();
        for _ in 0..rounds {
            for ((what, work), times) in WORK.iter().zip(&mut times) {
                let json = if what.starts_with("check") { &form[..] } else { input.as_bytes() };
                let start = ThreadTime::now();
                black_box(work(black_box(json)));
                times.push(json.len() as f64 / start.elapsed().as_secs_f64() / 1e6);
            }
        }
        for ((what, work), times) in WORK.iter().zip(&mut times) {
            let json = if what.starts_with("check") { &form[..] } else { input.as_bytes() };
            let memory = allocation_counter::measure(|| assert!(black_box(work(json)) > 0));
            let peak = memory.bytes_max as f64 / json.len() as f64;
            times.sort_by(f64::total_cmp);
            let (median, min, max) = (times[times.len() / 2], times[0], times[times.len() - 1]);
            println!("{:<34} {median:>10.0} {min:>10.0} {max:>10.0} {peak:>14.1}", format!("{name}: {what}"));
        }
    }
}
