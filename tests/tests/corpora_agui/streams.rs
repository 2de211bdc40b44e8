//! `streams`: the specification's conformance fixtures for consumers.

use crate::json;
use runloom_core::agui::consume::{Consumer, End};
use runloom_core::agui::verify::Rejected;
use runloom_core::agui::{Event, Mode, Rule};
use serde_json::Value;
use std::path::Path;

/// Expectations that are not ours: fixture, the key that is left out (all of them if empty), and why.
const EXCEPTIONS: [(&str, &str, &str); 5] = [
    ("era-0-0-47-upgrades-binary-content", "request", "the fold has no request; the translation is optional"),
    (
        "era-0-0-57-subagent-dropped-with-warning",
        "",
        "nothing is taken away for peers that ask for less; optional",
    ),
    (
        "era-current-peer-keeps-modern-content",
        "request",
        "the fold has no request; the translation is optional",
    ),
    ("era-pinned-peer-omits-protocol-version", "requestAbsentPaths", "the fold has no request"),
    ("current-peer-declares-protocol-version", "request", "the fold has no request"),
];

/// The rule under which each rejected fixture is rejected here.
const REJECTED: [(&str, Rule); 16] = [
    ("chunk-conflicting-tool-name-fatal", Rule::Chunk),
    ("content-without-start-fatal", Rule::NotOpen),
    ("custom-closes-chunk-stream-fatal", Rule::Chunk),
    ("event-after-run-finished-fatal", Rule::RunEnded),
    ("first-chunk-missing-id-fatal", Rule::Chunk),
    ("first-event-not-run-started-fatal", Rule::NotStarted),
    ("malformed-known-field-fatal", Rule::Malformed),
    ("nested-run-started-fatal", Rule::DuplicateRunStarted),
    ("reasoning-discipline-verified", Rule::NotOpen),
    ("reasoning-message-wrong-role-fatal", Rule::Malformed),
    ("run-finished-with-active-subagent-fatal", Rule::OpenAtFinish),
    ("step-finished-without-start-fatal", Rule::NotOpen),
    ("subagent-finished-unstarted-fatal", Rule::NotOpen),
    ("subagent-started-missing-name-fatal", Rule::Malformed),
    ("unknown-enum-value-role-fatal", Rule::Malformed),
    ("unknown-outcome-array-fatal", Rule::Malformed),
];

/// What consuming a stream comes to.
struct Consumed {
    delivered: Vec<Value>,
    end: Result<End, Rejected>,
    messages: Vec<Value>,
    state: Value,
    warnings: Vec<String>,
}

fn consume(stream: &[Value]) -> Consumed {
    let mut consumer = Consumer::new();
    let mut delivered = Vec::new();
    let mut deliver = |event: &Event| delivered.push(serde_json::from_str(&event.encode()).unwrap());
    let read = stream.iter().try_for_each(|event| consumer.line(event.to_string().as_bytes(), &mut deliver));
    let folded = consumer.finish();
    let encoded = folded.to_json();
    let told: Value = serde_json::from_str(&encoded).unwrap();
    Consumed {
        delivered,
        end: read.map(|()| folded.end),
        messages: told["messages"].as_array().unwrap().clone(),
        state: told["state"].clone(),
        warnings: told["warnings"].as_array().unwrap().iter().map(|it| it.as_str().unwrap().into()).collect(),
    }
}

/// Checks each fixture, and counts them.
pub(crate) fn check(folder: &Path) -> usize {
    let mut files: Vec<_> =
        std::fs::read_dir(folder.join("streams")).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|it| it == "json"));
    files.sort();
    let mut failed = Vec::new();
    for file in &files {
        let fixture = json(file);
        if let Err(what) = holds(&fixture) {
            failed.push(format!("{}: {what}", fixture["name"].as_str().unwrap()));
        }
    }
    assert!(failed.is_empty(), "{} fixtures fail:\n{}", failed.len(), failed.join("\n"));
    assert!(files.len() >= 50, "{} fixtures", files.len());
    files.len()
}

fn holds(fixture: &Value) -> Result<(), String> {
    let name = fixture["name"].as_str().unwrap();
    let mut expect = fixture["expect"].as_object().unwrap().clone();
    if let Some(own) = fixture.pointer("/expectOverrides/typescript").and_then(Value::as_object) {
        expect.extend(own.clone());
    }
    for (_, key, _) in EXCEPTIONS.iter().filter(|(fixture, ..)| *fixture == name) {
        match *key {
            "" => expect.retain(|key, _| key == "outcome" || key == "messages"),
            key => drop(expect.remove(key)),
        }
    }
    let stream = fixture["stream"].as_array().unwrap();
    let consumed = consume(stream);
    verdicts_agree(stream, &consumed)?;
    for (key, expected) in &expect {
        check_key(name, key, expected, &consumed).map_err(|what| format!("{key}: {what}"))?;
    }
    Ok(())
}

/// Verifying what came and consuming it say the same.
fn verdicts_agree(stream: &[Value], consumed: &Consumed) -> Result<(), String> {
    let lines: Vec<String> = stream.iter().map(Value::to_string).collect();
    let verified = runloom_core::agui::verify::verify_lines(lines.iter().map(String::as_bytes), Mode::Stream);
    match (&consumed.end, verified) {
        (Ok(_), Ok(_)) => Ok(()),
        (Err(consumed), Err(verified)) if *consumed == verified => Ok(()),
        (consumed, verified) => Err(format!("consuming says {consumed:?}, verifying {verified:?}")),
    }
}

fn check_key(name: &str, key: &str, expected: &Value, found: &Consumed) -> Result<(), String> {
    let fail = |what: String| Err(what);
    match key {
        "outcome" => match (expected.as_str().unwrap(), &found.end) {
            ("completed", Ok(End::Finished(_) | End::Failed { .. })) => Ok(()),
            ("failed", Err(rejected)) => match REJECTED.iter().find(|(fixture, _)| *fixture == name) {
                Some((_, rule)) if *rule == rejected.rule => Ok(()),
                found => fail(format!("rejected by {}, the table says {found:?}", rejected.rule)),
            },
            (expected, end) => fail(format!("{end:?}, not {expected}")),
        },
        // The wording of another client; the table of rules takes its place.
        "errorContains" => Ok(()),
        "runError" => match &found.end {
            Ok(End::Failed { message, .. }) if expected.as_str().is_none_or(|it| message.contains(it)) => {
                Ok(())
            }
            end => fail(format!("{end:?}")),
        },
        "eventTypes" => {
            let types: Vec<&Value> = found.delivered.iter().map(|event| &event["type"]).collect();
            let same = types.iter().copied().eq(expected.as_array().unwrap());
            if same { Ok(()) } else { fail(format!("{types:?}")) }
        }
        "eventTypesAbsent" => {
            let absent = expected.as_array().unwrap();
            match found.delivered.iter().find(|event| absent.contains(&event["type"])) {
                None => Ok(()),
                Some(event) => fail(format!("{event}")),
            }
        }
        "eventPaths" => expected.as_object().unwrap().iter().try_for_each(|(path, value)| {
            let there = at(&found.delivered, path);
            if there == Some(value) { Ok(()) } else { Err(format!("{path} is {there:?}")) }
        }),
        "eventAbsentPaths" => expected.as_array().unwrap().iter().try_for_each(|path| {
            let there = at(&found.delivered, path.as_str().unwrap());
            if there.is_none() { Ok(()) } else { Err(format!("{path} is {there:?}")) }
        }),
        "warnings" => expected.as_array().unwrap().iter().try_for_each(|part| {
            let part = part.as_str().unwrap();
            let told = found.warnings.iter().any(|warning| warning.contains(part));
            if told { Ok(()) } else { Err(format!("{part:?} is in none of {:?}", found.warnings)) }
        }),
        "noWarnings" if found.warnings.is_empty() => Ok(()),
        "noWarnings" => fail(format!("{:?}", found.warnings)),
        "messageCount" if found.messages.len() as u64 == expected.as_u64().unwrap() => Ok(()),
        "messageCount" => fail(format!("{}", found.messages.len())),
        "messages" if covers(expected, &Value::Array(found.messages.clone())) => Ok(()),
        "messages" => fail(format!("{:?}", found.messages)),
        "state" if covers(expected, &found.state) => Ok(()),
        "state" => fail(format!("{}", found.state)),
        "intentional" => Ok(()),
        other => fail(format!("the key {other} is unknown")),
    }
}

/// The value at `1.outcome.type` of a list.
fn at<'a>(list: &'a [Value], path: &str) -> Option<&'a Value> {
    let (index, path) = path.split_once('.').unwrap();
    list.get(index.parse::<usize>().unwrap())?.pointer(&format!("/{}", path.replace('.', "/")))
}

/// Lists are as long, objects have at least these members.
fn covers(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Array(expected), Value::Array(found)) => {
            expected.len() == found.len() && expected.iter().zip(found).all(|(a, b)| covers(a, b))
        }
        (Value::Object(expected), Value::Object(found)) => {
            expected.iter().all(|(key, value)| found.get(key).is_some_and(|found| covers(value, found)))
        }
        _ => expected == found,
    }
}
