//! Recorded logs by hand: what is read, what is refused and at which line, and pages.

use super::*;
use crate::canonical::CanonicalProblem;
use crate::id::Seq;
use crate::reader::{ReadBounds, ReadFault};
use RecordProblem as P;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Kinds and payloads.
type Events<'a> = &'a [(&'a str, &'a str)];

/// A line of the run `r`.
fn line(seq: u64, kind: &str, payload: &str) -> String {
    format!("{{\"at\":{seq},\"kind\":\"{kind}\",\"payload\":{payload},\"run_id\":\"r\",\"seq\":{seq}}}")
}

/// A log from these kinds and payloads on, numbered from `first`.
fn text(first: u64, events: Events<'_>) -> String {
    let lines: Vec<String> =
        (first..).zip(events).map(|(seq, (kind, payload))| line(seq, kind, payload)).collect();
    lines.join("\n")
}

fn read(text: &str) -> Result<RecordedLog, RecordError> {
    RecordedLog::read(text.as_bytes(), &RecordBounds::default())
}

#[track_caller]
fn refused(text: &str) -> (u64, P) {
    let error = read(text).expect_err("it is refused");
    (error.line, error.problem)
}

const CALL: &str = "{\"call_id\":\"c\",\"ordinal\":0,\"step\":1}";
const ASK: &str = "{\"call_id\":\"c\",\"ordinal\":0,\"request_id\":\"q\",\"step\":1}";
const STEP: &str = "{\"step\":1}";
const ATTEMPT: &str = "{\"attempt\":1,\"op\":1}";

/// A whole run with one of everything.
const WHOLE: [(&str, &str); 17] = [
    ("run.started", "{}"),
    ("compaction.started", "{}"),
    ("compaction.failed", "{}"),
    ("step.started", STEP),
    ("model.started", ATTEMPT),
    ("text.delta", "{\"text\":\"é\\n\",\"x\":[1,{\"y\":null}]}"),
    ("model.failed", ATTEMPT),
    ("provider.stream_reset", "{}"),
    ("model.started", "{\"attempt\":2,\"op\":2}"),
    ("model.completed", "{\"attempt\":2,\"op\":2}"),
    ("tool.proposed", CALL),
    ("host_input.requested", ASK),
    ("host_input.answered", ASK),
    ("tool.started", CALL),
    ("tool.finished", CALL),
    ("step.completed", STEP),
    ("run.completed", "{\"answer\":\"é\"}"),
];

// proves: L6
#[test]
fn what_was_recorded_is_read_and_written_as_it_was() {
    for first in [1, 40] {
        let whole = text(first, if first == 1 { &WHOLE } else { &WHOLE[1..] });
        let log = read(&whole).unwrap();
        assert_eq!(log.to_jsonl(), format!("{whole}\n"));
        assert_eq!(read(&log.to_jsonl()), Ok(log.clone()), "the last line may end");
        assert_eq!((log.first_seq(), log.run_id().as_str(), log.is_closed()), (Seq(first), "r", true));
        assert_eq!(log.bytes(), (whole.len() - (log.events().len() - 1)) as u64);
    }
    let cut = read(&text(1, &WHOLE[..9])).unwrap();
    assert!(!cut.is_closed(), "a run that goes on has a record, too");
}

// proves: L6
#[test]
fn each_tail_of_a_log_is_read() {
    let all: Vec<String> = text(1, &WHOLE).split('\n').map(String::from).collect();
    for first in 1..all.len() {
        let tail = all[first..].join("\n");
        let log = read(&tail).unwrap_or_else(|error| panic!("from {}: {error}", first + 1));
        assert_eq!(log.to_jsonl(), tail + "\n");
    }
}

/// A tool that is called again after each answer: that it had started does not show in what is left.
// proves: L6
#[test]
fn a_call_that_asked_before_the_log_began_may_have_started() {
    let again = ASK.replace("\"q\"", "\"p\"");
    let events = [
        ("run.started", "{}"),
        ("step.started", STEP),
        ("tool.proposed", CALL),
        ("tool.started", CALL),
        ("host_input.requested", ASK),
        ("host_input.answered", ASK),
        ("tool.updated", CALL),
        ("host_input.requested", again.as_str()),
        ("host_input.answered", again.as_str()),
        ("tool.finished", CALL),
        ("step.completed", STEP),
    ];
    for first in 1..events.len() {
        let tail = text(first as u64 + 1, &events[first..]);
        assert!(read(&tail).is_ok(), "from {}: {:?}", first + 1, read(&tail).err());
    }
    let twice = [("host_input.requested", ASK), ("tool.started", CALL), ("tool.started", CALL)];
    assert_eq!(refused(&text(5, &twice)), (3, P::UnmatchedLifecycle("the call has started already")));
}

// proves: L6, E1
#[test]
fn lines_that_are_no_events_are_refused() {
    let event = |change: fn(String) -> String| refused(&change(line(1, "run.started", "{}")));
    assert_eq!(refused(""), (1, P::Empty));
    assert_eq!(refused("\n"), (1, P::Empty));
    assert!(matches!(refused("{"), (1, P::NotJson(error)) if error.at == 1));
    assert_eq!(event(|line| line + " "), (1, P::NotCanonical { at: 63 }));
    assert_eq!(event(|line| line + "\r\n"), (1, P::NotCanonical { at: 63 }));
    assert_eq!(event(|line| line.replace("{}", "{\"b\":1,\"a\":2}")), (1, P::NotCanonical { at: 41 }));
    assert_eq!(event(|line| line.replace("{}", "{\"a\":1.0}")), (1, P::NotCanonical { at: 45 }));
    let (_, twice) = event(|line| line.replace("{}", "{\"a\":1,\"a\":1}"));
    assert!(matches!(twice, P::NotJson(error) if error.problem == CanonicalProblem::Duplicate));
    assert_eq!(refused("[]"), (1, P::NotAnEvent));
    assert_eq!(event(|line| line.replace("\"seq\"", "\"seq\":1,\"z\"")), (1, P::NotAnEvent));
    assert_eq!(event(|line| line.replace("\"at\":1,", "")), (1, P::Missing("at")));
    assert_eq!(event(|line| line.replace(",\"seq\":1", "")), (1, P::Missing("seq")));
    assert_eq!(event(|line| line.replace("started", "paused")), (1, P::UnknownKind("run.paused".into())));
    let long = line(1, &"é".repeat(100), "{}");
    assert!(matches!(refused(&long), (1, P::UnknownKind(name)) if name.len() == 64));
    assert_eq!(event(|line| line.replace("\"r\"", "\"\"")), (1, P::Id(crate::id::IdError::Empty)));
    let kind = |member, expected| P::Kind { member, expected };
    assert_eq!(event(|line| line.replace("{}", "[]")), (1, kind("payload", "an object")));
    assert_eq!(event(|line| line.replace("\"r\"", "7")), (1, kind("run_id", "a text")));
    let wrong = kind("at", "an integer from 0 to 2^53 - 1");
    assert_eq!(event(|line| line.replace("\"at\":1", "\"at\":-1")), (1, wrong));
    for seq in ["0", "-1", "1.5", "9007199254740992", "1e+21", "\"1\"", "null"] {
        let found = refused(&line(1, "run.started", "{}").replace("\"seq\":1", &format!("\"seq\":{seq}")));
        assert_eq!(found, (1, kind("seq", "an integer from 1 to 2^53 - 1")), "{seq}");
    }
    let last = line(9_007_199_254_740_991, "text.delta", "{}");
    assert!(read(&last).is_ok());
}

// proves: L6, E1
#[test]
fn numbers_have_no_gap_and_one_run() {
    let deltas = |seqs: &[u64]| {
        let lines: Vec<String> = seqs.iter().map(|seq| line(*seq, "text.delta", "{}")).collect();
        lines.join("\n")
    };
    assert_eq!(refused(&deltas(&[5, 6, 8])), (3, P::Sequence { expected: 7, observed: 8 }));
    assert_eq!(refused(&deltas(&[5, 6, 6])), (3, P::Sequence { expected: 7, observed: 6 }));
    assert_eq!(refused(&deltas(&[5, 4])), (2, P::Sequence { expected: 6, observed: 4 }));
    let other = format!("{}\n{}", deltas(&[5]), deltas(&[6]).replace("\"r\"", "\"q\""));
    let id = |id| crate::id::RunId::new(id).unwrap();
    assert_eq!(refused(&other), (2, P::OtherRun { expected: id("r"), observed: id("q") }));
    assert_eq!(refused(&format!("{}\n\n{}", deltas(&[5]), deltas(&[6]))).0, 2, "no empty line");
}

// proves: L6, E2, E3, E7, E9
#[test]
fn what_is_not_matched_is_refused() {
    let wrong: [(Events<'_>, u64, &str); 20] = [
        (&[("step.started", STEP)], 1, "the run has not started"),
        (&[("run.started", "{}"), ("run.started", "{}")], 2, "the run has started already"),
        (&[("run.started", "{}"), ("run.resumed", "{}")], 2, "the run is not suspended"),
        (&[("run.started", "{}"), ("run.failed", "{}"), ("run.failed", "{}")], 3, "the run has ended"),
        (
            &[("run.started", "{}"), ("run.suspended", "{}"), ("step.started", STEP)],
            3,
            "the run is suspended",
        ),
        (&[("run.started", "{}"), ("step.started", STEP), ("step.started", STEP)], 3, "a step is open"),
        (&[("run.started", "{}"), ("step.completed", STEP)], 2, "no such step is open"),
        (
            &[("run.started", "{}"), ("step.started", STEP), ("step.completed", "{\"step\":2}")],
            3,
            "no such step is open",
        ),
        (&[("run.started", "{}"), ("step.started", STEP), ("run.completed", "{}")], 3, "a step is open"),
        (&[("run.started", "{}"), ("model.started", ATTEMPT)], 2, "no step is open"),
        (
            &[("run.started", "{}"), ("step.started", STEP), ("model.completed", ATTEMPT)],
            3,
            "no such attempt is open",
        ),
        (&[("run.started", "{}"), ("compaction.completed", "{}")], 2, "no compaction is open"),
        (
            &[("run.started", "{}"), ("compaction.started", "{}"), ("run.failed", "{}")],
            3,
            "a compaction is open",
        ),
        (&[("run.started", "{}"), ("tool.proposed", CALL)], 2, "no step is open"),
        (
            &[("run.started", "{}"), ("step.started", STEP), ("tool.finished", CALL)],
            3,
            "the call was not proposed",
        ),
        (&WHOLE_WITH_CALL_TWICE, 4, "the call was proposed already"),
        (&OPEN_CALL, 4, "a call is open"),
        (&NOT_STARTED, 4, "the call has not started"),
        (&OPEN_REQUEST, 5, "a request of the call is open"),
        (&ID_TWICE, 6, "a request had the id already"),
    ];
    for (events, at, what) in wrong {
        assert_eq!(refused(&text(1, events)), (at, P::UnmatchedLifecycle(what)), "{events:?}");
    }
    let missing = text(1, &[("run.started", "{}"), ("step.started", "{}")]);
    assert_eq!(refused(&missing), (2, P::Missing("step")));
}

const BEGUN: [(&str, &str); 3] = [("run.started", "{}"), ("step.started", STEP), ("tool.proposed", CALL)];
const WHOLE_WITH_CALL_TWICE: [(&str, &str); 4] = [BEGUN[0], BEGUN[1], BEGUN[2], ("tool.proposed", CALL)];
const OPEN_CALL: [(&str, &str); 4] = [BEGUN[0], BEGUN[1], BEGUN[2], ("step.completed", STEP)];
const NOT_STARTED: [(&str, &str); 4] = [BEGUN[0], BEGUN[1], BEGUN[2], ("tool.updated", CALL)];
const OPEN_REQUEST: [(&str, &str); 5] =
    [BEGUN[0], BEGUN[1], BEGUN[2], ("host_input.requested", ASK), ("tool.finished", CALL)];
const ID_TWICE: [(&str, &str); 6] = [
    BEGUN[0],
    BEGUN[1],
    BEGUN[2],
    ("host_input.requested", ASK),
    ("host_input.failed", ASK),
    ("host_input.requested", ASK),
];

// proves: L6, H6
#[test]
fn both_parts_of_a_suspended_run_are_one_log_or_two() {
    let first = [&BEGUN[..], &[("host_input.requested", ASK), ("run.suspended", "{}")]].concat();
    let second = [
        ("run.resumed", "{}"),
        ("host_input.answered", ASK),
        ("tool.started", CALL),
        ("tool.finished", CALL),
        ("step.completed", STEP),
        ("run.completed", "{}"),
    ];
    assert!(read(&text(1, &first)).unwrap().is_closed());
    assert!(read(&text(6, &second)).unwrap().is_closed());
    assert!(read(&text(1, &[&first[..], &second[..]].concat())).unwrap().is_closed());
}

// proves: L2, L4, L6
#[test]
fn pages_end_where_their_bounds_do() {
    let text = text(11, &[("text.delta", "{\"text\":\"a\"}"); 5]);
    let log = read(&text).unwrap();
    let size = log.bytes() / 5;
    let page = |after: u64, events, bytes| {
        let page = log.page(Seq(after), ReadBounds::new(events, bytes))?;
        let seqs: Vec<u64> = page.events.iter().map(|event| event.seq.0).collect();
        assert_eq!((page.earliest, page.latest, page.closed), (Seq(11), Seq(15), false));
        Ok::<_, crate::reader::ReadError>((seqs, page.last.0, page.has_more))
    };
    let all = u64::MAX;
    assert_eq!(page(10, all, all), Ok((alloc::vec![11, 12, 13, 14, 15], 15, false)));
    assert_eq!(page(12, 2, all), Ok((alloc::vec![13, 14], 14, true)));
    assert_eq!(page(12, all, size * 2), Ok((alloc::vec![13, 14], 14, true)));
    assert_eq!(page(12, all, size * 3 - 1), Ok((alloc::vec![13, 14], 14, true)));
    assert_eq!(page(15, 1, 1), Ok((Vec::new(), 15, false)));
    let facts = |error: crate::reader::ReadError| {
        (error.reason, error.requested.0, error.earliest.0, error.latest.0, error.recovery.0)
    };
    assert_eq!(page(9, all, all).map_err(facts), Err((ReadFault::CursorBehind, 9, 11, 15, 10)));
    assert_eq!(page(16, all, all).map_err(facts), Err((ReadFault::CursorAhead, 16, 11, 15, 15)));
    assert_eq!(page(u64::MAX, all, all).map_err(facts), Err((ReadFault::CursorAhead, u64::MAX, 11, 15, 15)));
    let small = page(12, all, size - 1).unwrap_err();
    let exceeded = small.exceeded.unwrap();
    assert_eq!((exceeded.limit, exceeded.observed, small.recovery), (size - 1, size, Seq(12)));
    assert!(page(12, 0, all).is_err(), "a page of nothing would never get on");
}

// bounds: recorded log
#[test]
fn logs_are_bounded() {
    let text = text(1, &WHOLE);
    let all = RecordBounds::default();
    let with = |bounds: RecordBounds| {
        RecordedLog::read(text.as_bytes(), &bounds).map(|_| ()).map_err(|error| error.to_string())
    };
    let len = text.len() as u64;
    assert_eq!(with(RecordBounds { bytes: len, events: 17, ..all }), Ok(()));
    assert_eq!(with(RecordBounds { bytes: len + 1, events: 18, ..all }), Ok(()));
    let large = with(RecordBounds { bytes: len - 1, ..all });
    assert_eq!(large, Err(format!("line 1: {len} bytes are more than {}", len - 1)));
    assert_eq!(with(RecordBounds { events: 16, ..all }), Err("line 17: more than 16 events".into()));
    let longest = text.split('\n').map(str::len).max().unwrap() as u64;
    let event = |bytes, values| RecordBounds {
        event: crate::canonical::Bounds { bytes, values, ..all.event },
        ..all
    };
    assert_eq!(with(event(longest, 11)), Ok(()));
    assert_eq!(with(event(longest + 1, 12)), Ok(()));
    assert!(with(event(longest - 1, 11)).is_err_and(|text| text.contains("more than")));
    assert!(with(event(longest, 10)).is_err_and(|text| text.ends_with("more than 10 values")));
}
