//! Recorded logs: what is taken is written as it was, and its pages are all of it.

use crate::{Reached, assert_reached, corpus, number, play};
use runloom::testing::Random;
use runloom_core::id::Seq;
use runloom_core::reader::{ReadBounds, ReadFault};
use runloom_core::record::{RecordBounds, RecordProblem, RecordedLog};
use serde_json::Value;

const WORDS: [&str; 14] = [
    "\n",
    " ",
    "\"x\":1,",
    "\"seq\":",
    "\"step\":2",
    "run.started",
    "step.started",
    "tool.finished",
    "run.completed",
    "run-2",
    "0",
    "9007199254740992",
    "null",
    "{}",
];

fn one(input: &[u8]) -> &'static str {
    match RecordedLog::read(input, &RecordBounds::default()) {
        Ok(log) => {
            let text = log.to_jsonl();
            let whole = [input.strip_suffix(b"\n").unwrap_or(input), b"\n"].concat();
            assert_eq!(text.as_bytes(), whole);
            assert_eq!(RecordedLog::read(text.as_bytes(), &RecordBounds::default()).as_ref(), Ok(&log));
            pages(&log);
            if log.is_closed() { "closed" } else { "open" }
        }
        Err(error) => {
            let lines = input.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
            assert!((1..=lines).contains(&error.line), "{error}");
            assert!(!error.to_string().contains('\n'));
            match error.problem {
                RecordProblem::Empty => "empty",
                RecordProblem::NotJson(_) => "not JSON",
                RecordProblem::NotCanonical { .. } => "not canonical",
                RecordProblem::NotAnEvent | RecordProblem::Missing(_) | RecordProblem::Kind { .. } => {
                    "no event"
                }
                RecordProblem::UnknownKind(_) => "unknown kind",
                RecordProblem::OtherRun { .. } => "other run",
                RecordProblem::Sequence { .. } => "sequence",
                RecordProblem::UnmatchedLifecycle(_) => "unmatched",
                _ => "other",
            }
        }
    }
}

/// Pages of any size, one after the other, are the log.
fn pages(log: &RecordedLog) {
    let largest = log.events().iter().map(|event| event.to_json().len() as u64).max().unwrap();
    for bounds in
        [ReadBounds::new(1, u64::MAX), ReadBounds::new(3, largest), ReadBounds::new(u64::MAX, largest * 2)]
    {
        let (mut after, mut read) = (Seq(log.first_seq().0 - 1), Vec::new());
        loop {
            let page = log.page(after, bounds).unwrap();
            let bytes: usize = page.events.iter().map(|event| event.to_json().len()).sum();
            assert!(page.events.len() as u64 <= bounds.events && bytes as u64 <= bounds.bytes);
            assert_eq!(page.has_more, page.last < log.last_seq());
            read.extend_from_slice(page.events);
            if !page.has_more {
                break;
            }
            assert!(page.last > after, "each page gets on");
            after = page.last;
        }
        assert_eq!(read, log.events());
    }
    let ahead = log.page(Seq(log.last_seq().0 + 1), ReadBounds::new(1, 1)).unwrap_err();
    assert_eq!((ahead.reason, ahead.recovery), (ReadFault::CursorAhead, log.last_seq()));
}

// proves: L2, L4, L6
#[test]
fn damaged_records() {
    let reached = play("record", &WORDS, 1, one);
    let verdicts = ["closed", "open", "not JSON", "not canonical", "no event", "sequence", "unmatched"];
    assert_reached(&reached, &verdicts);
}

/// Lines that go, stand twice or change places, numbered anew: each is an event, only their order may be wrong.
// proves: L6, E2, E3
#[test]
fn damaged_orders() {
    let (mut reached, mut executions) = (Reached::new(), 0);
    for (at, start) in corpus("record").iter().enumerate() {
        let lines: Vec<Value> =
            start.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
        for round in 0..number("RUNLOOM_DAMAGE").unwrap_or(150) {
            let random = &mut Random::new(round * 1_000 + at as u64);
            let mut lines = lines.clone();
            for _ in 0..=random.below(2) {
                let count = lines.len();
                let place = usize::try_from(random.below(count as u64)).unwrap();
                match random.below(3) {
                    0 => drop(lines.remove(place)),
                    1 => lines.insert(place, lines[place].clone()),
                    _ => lines.swap(place, (place + 1) % count),
                }
            }
            let first = lines[0]["seq"].as_u64().unwrap();
            lines.iter_mut().zip(first..).for_each(|(line, seq)| line["seq"] = seq.into());
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let verdict = one(text.as_bytes());
            assert!(["closed", "open", "unmatched"].contains(&verdict), "{verdict}: {text}");
            *reached.entry(verdict.to_owned()).or_default() += 1;
            executions += 1;
        }
    }
    println!("orders of records: {executions} executions, {reached:?}");
    assert_reached(&reached, &["closed", "open", "unmatched"]);
}
