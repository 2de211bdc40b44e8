//! The saved form of a session: what comes back, and what is refused and where.

use super::*;
use crate::history::{HistoryBounds, HistoryError};
use crate::saved::{ImportBounds, ImportProblem};
use crate::suspend::tests::generate::{Dice, suspended};
use crate::time::MAX_EXACT;
use alloc::format;
use alloc::string::{String, ToString};
use serde_json::{Value, json};

fn golden() -> Value {
    serde_json::from_str(include_str!("golden_v1.json")).unwrap()
}

#[track_caller]
fn refused(json: &str) -> (String, ImportProblem) {
    let error = Snapshot::from_json(json).expect_err("it is refused");
    (error.at.to_string(), error.problem)
}

fn read(value: &Value) -> Snapshot {
    Snapshot::from_json(&value.to_string()).unwrap_or_else(|error| panic!("{error}"))
}

fn metadata(dice: &mut Dice) -> Metadata {
    let mut metadata = Metadata::new();
    for n in 0..dice.below(4) {
        metadata.insert(format!("é{n}"), dice.text()).unwrap();
    }
    metadata
}

/// A session of any form.
fn snapshot(seed: u64) -> Snapshot {
    let dice = &mut Dice(seed);
    let mut value = suspended(seed);
    let mut history = History::new(HistoryBounds { messages: 100, bytes: 1 << 20 });
    let (_, before) = value.tail.split_last().unwrap();
    before.iter().for_each(|message| history.push((**message).clone()).unwrap());
    value.base = history.len() as u64;
    let last = dice.maybe(|dice| LastRun { id: value.run.clone(), seq: Seq(dice.number().max(1)) });
    let plain = Snapshot::new(value.session.clone(), value.revision, history);
    let plain = plain
        .with_lifecycle(Lifecycle::ALL[usize::try_from(dice.below(3)).unwrap()])
        .with_metadata(metadata(dice))
        .with_last_run(last)
        .with_runs(dice.number());
    let named = if dice.coin() { plain.with_model(dice.text()) } else { plain };
    if dice.coin() { named.with_suspended(Arc::new(value)) } else { named }
}

// proves: S3
#[test]
fn i14_what_is_written_is_read_as_it_was() {
    for seed in 0..300 {
        let value = snapshot(seed);
        let json = value.to_json();
        let back = Snapshot::from_json(&json).unwrap_or_else(|error| panic!("{seed}: {error}\n{json}"));
        assert!(back == value, "{seed}");
        assert_eq!(back.to_json(), json, "{seed}");
        let tree = serde_json::to_value(&value).unwrap();
        assert_eq!(tree.to_string(), json, "{seed}: members are sorted");
        assert!(serde_json::from_value::<Snapshot>(tree).unwrap() == value);
    }
}

// proves: S3
#[test]
fn version_one_is_read_for_ever() {
    let text = include_str!("golden_v1.json").trim_end();
    let value = Snapshot::from_json(text).unwrap();
    assert_eq!((value.session_id().as_str(), value.revision()), ("session-1", Revision(4)));
    assert_eq!((value.lifecycle(), value.runs()), (Lifecycle::Completed, 9));
    let last = LastRun { id: RunId::new("run-7").unwrap(), seq: Seq(31) };
    assert_eq!(value.last_run(), Some(&last));
    assert_eq!(value.model().map(Text::as_str), Some("m"));
    assert_eq!(value.metadata().get("title").map(Text::as_str), Some("Sums"));
    assert_eq!((value.history().len(), value.history().open_calls()), (4, 0));
    assert_eq!(value.context().tokens(800), 850 + 100 * 1214 / 1000, "the measure came back");
    assert!(value.suspended().is_none());
    assert_eq!(value.to_json(), text, "and written as it was");
}

// proves: S3
#[test]
fn i01_a_version_that_is_not_known_is_refused_and_both_are_named() {
    for (found, problem) in [
        (json!(999), ImportProblem::Version { found: 999, known: 1 }),
        (json!(0), ImportProblem::Version { found: 0, known: 1 }),
        (json!("v999"), ImportProblem::Kind { expected: "an integer from 0 on" }),
    ] {
        let mut value = golden();
        value["version"] = found;
        assert_eq!(refused(&value.to_string()), ("/version".into(), problem));
    }
    let mut value = golden();
    value["format"] = json!("runloom.suspended");
    let problem = ImportProblem::Format { expected: "runloom.snapshot" };
    assert_eq!(refused(&value.to_string()), ("/format".into(), problem));
}

// proves: S3
#[test]
fn i02_i03_a_state_that_is_not_known_or_not_at_rest_is_refused() {
    let state = |state: &str| {
        let mut value = golden();
        value["state"] = json!(state);
        let (at, problem) = refused(&value.to_string());
        assert_eq!(at, "/state");
        problem
    };
    for unknown in ["paused", "Completed", "", "cancelled"] {
        assert_eq!(state(unknown), ImportProblem::Unknown { what: "state of a session" });
    }
    for running in ["running", "waiting_for_host_input", "cancelling"] {
        assert_eq!(state(running), ImportProblem::NotAtRest { state: running });
    }
}

// proves: S3, M4
#[test]
fn i10_a_call_without_its_result_is_refused() {
    let mut value = golden();
    let messages = value["messages"].as_array_mut().unwrap();
    let answer = messages.pop().unwrap();
    let results = messages.pop().unwrap();
    assert_eq!(refused(&value.to_string()), ("/messages".into(), ImportProblem::OpenCalls { calls: 1 }));

    value["messages"].as_array_mut().unwrap().push(answer);
    let expected = HistoryError::ResultsExpected { at: 2, calls: 1 };
    assert_eq!(refused(&value.to_string()), ("/messages/2".into(), ImportProblem::History(expected)));

    value["messages"][2] = results.clone();
    value["messages"].as_array_mut().unwrap().push(results);
    let twice = HistoryError::UnexpectedResult { at: 3, ordinal: 0 };
    assert_eq!(refused(&value.to_string()), ("/messages/3".into(), ImportProblem::History(twice)));
}

// proves: S3
#[test]
fn each_malformed_kind_is_refused_at_its_place() {
    use ImportProblem as P;
    let cases: [(&str, Value, P); 9] = [
        ("/session", json!(""), P::Id(crate::id::IdError::Empty)),
        ("/revision", json!(-1), P::Kind { expected: "an integer from 0 on" }),
        ("/runs", json!(MAX_EXACT + 1), P::Number { limit: MAX_EXACT, observed: MAX_EXACT + 1 }),
        ("/last/seq", json!(0), P::Contradiction("events are counted from 1")),
        ("/context/failures", json!(1_u64 << 32), P::Number { limit: 0xffff_ffff, observed: 1 << 32 }),
        ("/metadata/title", json!(1), P::Kind { expected: "a text" }),
        ("/metadata", json!([]), P::Kind { expected: "an object" }),
        ("/messages/1/role", json!("system"), P::Unknown { what: "role" }),
        ("/model", json!(null), P::Kind { expected: "a text" }),
    ];
    for (at, change, problem) in cases {
        let mut value = golden();
        *value.pointer_mut(at).unwrap() = change;
        assert_eq!(refused(&value.to_string()), (at.into(), problem));
    }
    let text = golden().to_string();
    let twice = text.replacen("\"runs\":9", "\"runs\":9,\"runs\":9", 1);
    assert_eq!(refused(&twice), ("/runs".into(), P::Duplicate));
    assert!(matches!(refused(&format!("{text} 1")).1, P::NotJson(_)));
    let name = format!("\"metadata\":{{\"{}\":\"\",", "n".repeat(257));
    let long = text.replacen("\"metadata\":{", &name, 1);
    assert!(matches!(refused(&long).1, P::Metadata(MetadataError::Name(_))));
}

// proves: S3
#[test]
fn members_that_are_not_known_are_kept_where_they_stood() {
    let with_run = (0..).map(snapshot).find(|value| value.suspended().is_some()).unwrap();
    let mut value: Value = serde_json::from_str(&with_run.to_json()).unwrap();
    let additions = [
        ("", "zz", json!({"deep": [1, {"x": null}], "n": -3})),
        ("/context", "cached", json!(7)),
        ("/suspended", "priority", json!("high")),
        ("/suspended/usage", "audio_tokens", json!(18_446_744_073_709_551_615_u64)),
        ("/suspended/messages/0", "at", json!("2031-01-01")),
    ];
    for (at, name, addition) in &additions {
        value.pointer_mut(at).unwrap().as_object_mut().unwrap().insert((*name).into(), addition.clone());
    }
    let known = read(&value);
    assert_eq!(known.to_json(), value.to_string());
    assert!(known != with_run);
    let inner = known.suspended().unwrap().to_json();
    assert_eq!(inner, value["suspended"].to_string(), "the suspended run keeps its own");
    assert!(read(&value) == known);
}

// proves: S3, H6
#[test]
fn a_suspended_run_of_another_state_of_the_session_is_refused() {
    let with_run = (0..).map(snapshot).find(|value| value.suspended().is_some()).unwrap();
    let value: Value = serde_json::from_str(&with_run.to_json()).unwrap();
    let what = "the suspended run does not belong to this state of the session";
    for (at, change) in [
        ("/suspended/session", json!("other")),
        ("/suspended/revision", json!(12_345)),
        ("/suspended/history", json!(12_345)),
    ] {
        let mut value = value.clone();
        *value.pointer_mut(at).unwrap() = change;
        assert_eq!(refused(&value.to_string()), ("/suspended".into(), ImportProblem::Contradiction(what)));
    }
    let mut other = suspended(1);
    other.session = SessionId::new("other").unwrap();
    let foreign = read(&golden()).with_suspended(Arc::new(other));
    assert_eq!(foreign.check(), Err(SnapshotError::OtherState));
}

// bounds: saved value
#[test]
fn size_is_bounded_at_the_border() {
    let text = golden().to_string();
    let len = text.len() as u64;
    let within = |bytes| {
        Snapshot::from_json_within(&text, &ImportBounds { bytes, values: u64::MAX })
            .map_err(|error| error.problem)
    };
    assert!(within(len + 1).is_ok() && within(len).is_ok());
    assert_eq!(within(len - 1).unwrap_err(), ImportProblem::TooLarge { limit: len - 1, observed: len });
}

// bounds: metadata, count; metadata, bytes
#[test]
fn metadata_is_bounded_at_the_border() {
    let mut metadata = Metadata::new();
    for n in 0..MAX_ITEMS {
        assert_eq!(metadata.insert(format!("{n}"), "x"), Ok(None));
    }
    assert_eq!(metadata.insert("more", "x"), Err(MetadataError::TooMany));
    assert_eq!(metadata.insert("0", "y"), Ok(Some("x".into())), "one may take the place of another");
    assert_eq!(metadata.remove("1"), Some("x".into()));
    assert_eq!(metadata.insert("more", "x"), Ok(None));

    let most = usize::try_from(MAX_ITEM).unwrap();
    let mut metadata = Metadata::new();
    assert_eq!(metadata.insert("a", "x".repeat(most + 1)), Err(MetadataError::TooLong(MAX_ITEM + 1)));
    for name in ["a", "b", "c"] {
        assert_eq!(metadata.insert(name, "x".repeat(most)), Ok(None));
    }
    // Three names and the fourth's take four bytes.
    assert_eq!(metadata.insert("d", "x".repeat(most - 3)), Err(MetadataError::TooLarge(MAX_BYTES + 1)));
    assert_eq!(metadata.insert("d", "x".repeat(most - 4)), Ok(None));
    assert_eq!(metadata.insert("", "x"), Err(MetadataError::Name(crate::id::IdError::Empty)));
    assert_eq!(metadata.len(), 4);
    assert_eq!(format!("{metadata:?}"), "{\"a\", \"b\", \"c\", \"d\"}");
}

#[test]
fn cut_and_garbled_texts_are_refused_or_read_but_never_panic() {
    let text = golden().to_string();
    for end in (0..text.len()).step_by(5).filter(|end| text.is_char_boundary(*end)) {
        assert!(Snapshot::from_json(&text[..end]).is_err());
    }
    let dice = &mut Dice(11);
    let mut taken = 0;
    for _ in 0..3_000 {
        let mut bytes = text.clone().into_bytes();
        for _ in 0..=dice.below(3) {
            let at = usize::try_from(dice.below(bytes.len() as u64)).unwrap();
            match dice.below(3) {
                0 => bytes[at] = b"0129{}[],:\"\\ntf-.ex"[usize::try_from(dice.below(19)).unwrap()],
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, bytes[at]),
            }
        }
        let Ok(garbled) = String::from_utf8(bytes) else { continue };
        if let Ok(value) = Snapshot::from_json(&garbled) {
            taken += 1;
            assert!(Snapshot::from_json(&value.to_json()).as_ref() == Ok(&value));
        }
    }
    assert!(taken > 50, "some changes leave it valid: {taken}");
}

#[test]
fn debug_shows_no_content() {
    let shown = format!("{:?}", read(&golden()));
    assert!(shown.contains("session-1") && !shown.contains("42") && !shown.contains("Sums"), "{shown}");
}
