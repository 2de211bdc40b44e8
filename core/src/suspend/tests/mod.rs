//! The saved form of a suspended run: what comes back, and what is refused and where.

pub(crate) mod generate;

use super::*;
use crate::saved::{ImportBounds, ImportProblem, MAX_DEPTH};
use crate::time::MAX_EXACT;
use alloc::format;
use alloc::string::{String, ToString};
use generate::{Dice, suspended};
use serde_json::{Value, json};

/// One of each kind of state.
fn golden() -> Value {
    serde_json::from_str(include_str!("golden_v1.json")).unwrap()
}

#[track_caller]
fn read(value: &Value) -> Suspended {
    Suspended::from_json(&value.to_string()).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn refused(json: &str) -> (String, ImportProblem) {
    let error = Suspended::from_json(json).expect_err("it is refused");
    (error.at.to_string(), error.problem)
}

// proves: H6
#[test]
fn what_is_written_is_read_as_it_was() {
    for seed in 0..300 {
        let value = suspended(seed);
        assert_eq!(value.check(), Ok(()), "{seed}");
        let json = value.to_json();
        let back = Suspended::from_json(&json).unwrap_or_else(|error| panic!("{seed}: {error}\n{json}"));
        assert_eq!(back, value, "{seed}");
        assert_eq!(back.to_json(), json, "{seed}");
        let canonical: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(canonical.to_string(), json, "{seed}: members are sorted");
    }
}

// proves: H6
#[test]
fn serde_carries_the_same_value() {
    for seed in 0..40 {
        let value = suspended(seed);
        let tree = serde_json::to_value(&value).unwrap();
        assert_eq!(tree.to_string(), value.to_json());
        assert_eq!(serde_json::from_value::<Suspended>(tree).unwrap(), value);
    }
    let error =
        serde_json::from_str::<Suspended>("{\"format\":\"runloom.suspended\",\"version\":9}").unwrap_err();
    assert_eq!(error.to_string(), "at \"/version\": version 9 is not known, but 1");
    assert!(serde_json::from_str::<Suspended>("{\"a\":1,\"a\":1}").is_err());
}

#[test]
fn every_answer_comes_back() {
    let found = crate::saved::Additions::import;
    for seed in 0..500 {
        let answer = generate::answer(&mut Dice(seed));
        let node = crate::saved::answer(&answer);
        assert_eq!(found(&node, crate::saved::read_answer, crate::saved::answer).unwrap().0, answer);
    }
}

// proves: H6
#[test]
fn version_one_is_read_for_ever() {
    let text = include_str!("golden_v1.json").trim_end();
    let value = Suspended::from_json(text).unwrap();
    assert_eq!(value.run_id().as_str(), "run-1");
    assert_eq!(value.session_id().as_str(), "session-1");
    assert_eq!((value.revision(), value.last_seq(), value.step), (Revision(4), Seq(31), 2));
    let ids: Vec<_> = value.requests().map(|request| request.id.to_string()).collect();
    assert_eq!(ids, ["2.0/1", "2.1/2", "which"]);
    assert_eq!(value.left, Some(Duration::from_micros(55_000_000)));
    let states: Vec<_> = value
        .calls
        .iter()
        .map(|call| match &call.state {
            SuspendedState::Done(_) => "done",
            SuspendedState::Queued => "queued",
            SuspendedState::Answered { .. } => "answered",
            SuspendedState::Waiting { request, .. } => request.kind.as_str(),
        })
        .collect();
    assert_eq!(states, ["approval", "call", "question", "done", "answered", "queued"]);
    assert_eq!(value.to_json(), text, "and written as it was");
}

// proves: H6
#[test]
fn members_that_are_not_known_are_kept_where_they_stood() {
    let mut value = golden();
    let additions = [
        ("", "zz", json!({"deep": [1, {"x": null}], "n": -3, "f": 0.1, "whole": 1e300})),
        ("", "Ａ", json!("fullwidth")),
        ("", "😀", json!(true)),
        ("/usage", "audio_tokens", json!(18_446_744_073_709_551_615_u64)),
        ("/messages/0", "at", json!("2031-01-01")),
        ("/messages/1/parts/2", "cache", json!(false)),
        ("/calls/0/state/request", "channel", json!([])),
        ("/calls/2/state/request/question/form", "hint", json!("")),
        ("/calls/2/state/request/question/form/prompts/0/choices/1", "icon", json!("x")),
        ("/calls/4/access/resources/0", "why", json!({})),
    ];
    for (at, name, addition) in &additions {
        value.pointer_mut(at).unwrap().as_object_mut().unwrap().insert((*name).into(), addition.clone());
    }
    let known = read(&value);
    let again: Value = serde_json::from_str(&known.to_json()).unwrap();
    assert_eq!(again, value);
    assert_eq!(read(&again), known);
    assert_ne!(known, read(&golden()));
    let sorted: Vec<_> = known
        .to_json()
        .match_indices("fullwidth")
        .chain(known.to_json().match_indices("😀"))
        .map(|(at, _)| at)
        .collect();
    assert!(sorted[1] < sorted[0], "canonical order is that of UTF-16");
}

/// Each change of the golden value, and what is said about it.
#[test]
fn each_malformed_kind_is_refused_at_its_place() {
    use ImportProblem as P;
    let kind = |expected| P::Kind { expected };
    let unknown = |what| P::Unknown { what };
    let cases: [(&str, Value, P); 31] = [
        ("/messages/0/parts/1/data", json!("Zh=="), P::Differs),
        ("/format", json!("runloom.snapshot"), P::Format { expected: "runloom.suspended" }),
        ("/version", json!(0), P::Version { found: 0, known: 1 }),
        ("/version", json!(2), P::Version { found: 2, known: 1 }),
        ("/version", json!("1"), kind("an integer from 0 on")),
        ("/run", json!(""), P::Id(crate::id::IdError::Empty)),
        ("/session", json!("a\nb"), P::Id(crate::id::IdError::Control(1))),
        ("/revision", json!(-1), kind("an integer from 0 on")),
        ("/revision", json!(MAX_EXACT + 1), P::Number { limit: MAX_EXACT, observed: MAX_EXACT + 1 }),
        ("/step", json!(1_u64 << 32), P::Number { limit: 0xffff_ffff, observed: 1 << 32 }),
        ("/seq", json!(1.5), kind("an integer from 0 on")),
        ("/left_us", json!(null), kind("an integer from 0 on")),
        ("/messages", json!({}), kind("a list")),
        ("/messages/0", json!([]), kind("an object")),
        ("/messages/0/id", json!("x".repeat(257)), P::Id(crate::id::IdError::TooLong(257))),
        ("/messages/0/role", json!("system"), unknown("role")),
        ("/messages/0/parts", json!([]), P::Message(crate::message::MessageError::Empty)),
        ("/messages/0/parts/0/type", json!("video"), unknown("kind of part")),
        ("/messages/0/parts/1/data", json!("Zg="), P::Base64),
        ("/messages/2/parts/0/status", json!("ok"), unknown("status of a result")),
        (
            "/messages/2/parts/0/content/0",
            json!({"type": "context", "model": "m", "kind": "k", "payload": ""}),
            kind("a text or an image"),
        ),
        ("/calls/0/hash", json!("00"), P::Hash),
        ("/calls/0/started", json!(1), kind("true or false")),
        ("/calls/0/state/type", json!("running"), unknown("state of a call")),
        ("/calls/0/state/request/type", json!("wish"), unknown("kind of request")),
        ("/calls/0/state/request/id", json!(""), P::Id(crate::id::IdError::Empty)),
        ("/calls/2/state/request/question/form/type", json!("poll"), unknown("form")),
        ("/calls/2/state/request/question/fallback/type", json!("perhaps"), unknown("kind of answer")),
        ("/calls/4/access/type", json!("none"), unknown("access")),
        ("/calls/4/state/answer/value", json!(1), kind("a text")),
        ("/tools/0/shown", json!("no"), kind("true or false")),
    ];
    for (at, change, problem) in cases {
        let mut value = golden();
        *value.pointer_mut(at).unwrap_or_else(|| panic!("{at}")) = change;
        let (place, found) = refused(&value.to_string());
        let outside = matches!(&problem, P::Message(_));
        let expected = if outside { at.trim_end_matches("/parts") } else { at };
        assert_eq!((place.as_str(), found), (expected, problem));
    }
}

/// The places of all members of the golden value.
fn places(value: &Value, at: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, inner) in members {
                let at = format!("{at}/{name}");
                out.push(at.clone());
                places(inner, &at, out);
            }
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, item)| places(item, &format!("{at}/{n}"), out));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn a_member_that_is_missing_is_named_or_was_optional() {
    let mut all = Vec::new();
    places(&golden(), "", &mut all);
    assert!(all.len() > 100);
    let mut optional = Vec::new();
    for at in all {
        let (outer, name) = at.rsplit_once('/').unwrap();
        let mut value = golden();
        value.pointer_mut(outer).unwrap().as_object_mut().unwrap().remove(name);
        match Suspended::from_json(&value.to_string()) {
            Ok(_) => optional.push(at),
            Err(error) if error.problem == ImportProblem::Missing => assert!(error.at.starts_with(outer)),
            Err(error) => assert!(matches!(error.problem, ImportProblem::Contradiction(_)), "{at}: {error}"),
        }
    }
    optional.iter().for_each(|at| {
        let ends = ["_us", "_tokens", "/fallback", "/id", "/access", "/edited"];
        assert!(ends.iter().any(|end| at.ends_with(end)), "{at}");
    });
}

#[test]
fn what_is_no_json_stands_there_twice_or_follows_is_refused() {
    let text = golden().to_string();
    let twice = text.replacen("\"usage\":{", "\"usage\":{\"input_tokens\":1,", 1);
    assert_eq!(refused(&twice), ("/usage/input_tokens".into(), ImportProblem::Duplicate));
    let escaped = text.replacen("\"usage\":{", "\"usage\":{\"input\\u005ftokens\":1,", 1);
    assert_eq!(refused(&escaped).1, ImportProblem::Duplicate);
    let (at, problem) = refused(&format!("{text} x"));
    assert!(at.is_empty() && matches!(&problem, ImportProblem::NotJson(words) if words.contains("trailing")));
    assert!(matches!(refused("").1, ImportProblem::NotJson(_)));
    let cut = &text[..text.find("\"role\"").unwrap()];
    assert!(refused(cut).0.starts_with("/messages/0"));
    assert_eq!(refused("[]").1, ImportProblem::Kind { expected: "an object" });
}

// bounds: saved value
#[test]
fn size_count_and_depth_are_bounded() {
    let text = golden().to_string();
    let within = |bytes, values| {
        Suspended::from_json_within(&text, &ImportBounds { bytes, values }).map_err(|error| error.problem)
    };
    let len = text.len() as u64;
    assert!(within(len + 1, u64::MAX).is_ok() && within(len, u64::MAX).is_ok());
    assert_eq!(within(len - 1, u64::MAX), Err(ImportProblem::TooLarge { limit: len - 1, observed: len }));
    let count = (1..).find(|values| within(len, *values).is_ok()).unwrap();
    assert_eq!(within(len, count - 1), Err(ImportProblem::TooMany { limit: count - 1 }));
    assert!(within(len, count + 1).is_ok());

    let deep = |depth: usize| {
        let lists = "[".repeat(depth) + &"]".repeat(depth);
        Suspended::from_json(&text.replacen('{', &format!("{{\"x\":{lists},"), 1))
            .map_err(|error| error.problem)
    };
    assert!(deep(MAX_DEPTH - 2).is_ok() && deep(MAX_DEPTH - 1).is_ok());
    assert_eq!(deep(MAX_DEPTH), Err(ImportProblem::TooDeep));
    assert_eq!(deep(100_000), Err(ImportProblem::TooDeep));
}

#[test]
fn cut_and_garbled_texts_are_refused_or_read_but_never_panic() {
    let text = golden().to_string();
    for end in (0..text.len()).step_by(7).filter(|end| text.is_char_boundary(*end)) {
        assert!(Suspended::from_json(&text[..end]).is_err());
    }
    let dice = &mut Dice(7);
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
        if let Ok(value) = Suspended::from_json(&garbled) {
            taken += 1;
            assert_eq!(Suspended::from_json(&value.to_json()).as_ref(), Ok(&value));
        }
    }
    assert!(taken > 50, "some changes leave it valid: {taken}");
}

/// What contradicts itself, each by one edit of the saved form.
#[test]
fn tampering_is_found() {
    let contradiction = |at: &str, change: Value| {
        let mut value = golden();
        *value.pointer_mut(at).unwrap_or_else(|| panic!("{at}")) = change;
        let problem = refused(&value.to_string()).1;
        let ImportProblem::Contradiction(what) = problem else { panic!("{at}: {problem}") };
        what
    };
    let does_not_fit = "a call's state does not fit the call";
    assert_eq!(contradiction("/calls/0/started", json!(true)), does_not_fit);
    assert_eq!(contradiction("/calls/1/started", json!(false)), does_not_fit);
    assert_eq!(contradiction("/calls/4/started", json!(false)), does_not_fit);
    assert_eq!(contradiction("/calls/5/started", json!(true)), does_not_fit);
    assert_eq!(contradiction("/calls/1/edited", json!("[]")), "edited arguments are not a JSON object");
    assert_eq!(contradiction("/calls/1/edited", json!("{")), "edited arguments are not a JSON object");
    let question = json!({"type": "call", "id": "which"});
    assert_eq!(contradiction("/calls/2/state/request", question), does_not_fit);
    assert_eq!(contradiction("/calls/1/state/request/id", json!("2.0/1")), "two requests have one id");
    assert_eq!(contradiction("/used_requests/0", json!("2.0/1")), "two requests have one id");
    assert_eq!(contradiction("/calls/1/state/order", json!(0)), "the order of its requests is not one");
    assert_eq!(contradiction("/asked", json!(2)), "the order of its requests is not one");
    assert_eq!(contradiction("/step", json!(3)), "a call belongs to another step");
    assert_eq!(contradiction("/added", json!(3)), "its messages are not as many as it has added");
    assert_eq!(contradiction("/added", json!(u32::MAX)), "its messages are not as many as it has added");
    assert_eq!(contradiction("/seq", json!(1)), "its log is shorter than what was recorded");
    assert_eq!(contradiction("/calls/4/state/answer", json!({"type": "deny", "reason": ""})), does_not_fit);
    let calls = golden()["calls"].as_array().unwrap().clone();
    assert_eq!(contradiction("/calls", json!(calls[..5])), "its calls are not those of its last message");
    assert_eq!(contradiction("/messages", json!([])), "the last message has no such call");

    // The arguments of a call, wherever it stands, and the order of two calls.
    for part in 2..8 {
        let mut value = golden();
        *value.pointer_mut(&format!("/messages/3/parts/{part}/arguments")).unwrap() =
            json!("{\"path\":\"/etc\"}");
        let at = format!("/calls/{}/hash", part - 2);
        assert_eq!(refused(&value.to_string()), (at, ImportProblem::Hash));
    }
    let mut value = golden();
    value["messages"][3]["parts"].as_array_mut().unwrap().swap(2, 3);
    assert_eq!(refused(&value.to_string()), ("/calls/0/hash".into(), ImportProblem::Hash));
}
