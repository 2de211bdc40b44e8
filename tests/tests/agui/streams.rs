//! A short way to write streams down.

use runloom_core::agui::verify::verify_lines;
use runloom_core::agui::{Event, Mode};
use serde_json::{Map, Value};

/// Short names of types.
const TYPES: [(&str, &str); 31] = [
    ("start", "RUN_STARTED"),
    ("finish", "RUN_FINISHED"),
    ("error", "RUN_ERROR"),
    ("text", "TEXT_MESSAGE_START"),
    ("say", "TEXT_MESSAGE_CONTENT"),
    ("/text", "TEXT_MESSAGE_END"),
    ("text~", "TEXT_MESSAGE_CHUNK"),
    ("call", "TOOL_CALL_START"),
    ("args", "TOOL_CALL_ARGS"),
    ("/call", "TOOL_CALL_END"),
    ("call~", "TOOL_CALL_CHUNK"),
    ("result", "TOOL_CALL_RESULT"),
    ("state", "STATE_SNAPSHOT"),
    ("patch", "STATE_DELTA"),
    ("messages", "MESSAGES_SNAPSHOT"),
    ("activity", "ACTIVITY_SNAPSHOT"),
    ("amend", "ACTIVITY_DELTA"),
    ("raw", "RAW"),
    ("custom", "CUSTOM"),
    ("step", "STEP_STARTED"),
    ("/step", "STEP_FINISHED"),
    ("span", "REASONING_START"),
    ("/span", "REASONING_END"),
    ("reason", "REASONING_MESSAGE_START"),
    ("think", "REASONING_MESSAGE_CONTENT"),
    ("/reason", "REASONING_MESSAGE_END"),
    ("reason~", "REASONING_MESSAGE_CHUNK"),
    ("seal", "REASONING_ENCRYPTED_VALUE"),
    ("sub", "SUBAGENT_STARTED"),
    ("/sub", "SUBAGENT_FINISHED"),
    ("sub!", "SUBAGENT_ERROR"),
];

/// What a type needs and a line does not say.
fn defaults(name: &str) -> &'static [(&'static str, &'static str)] {
    match name {
        "start" | "finish" => &[("threadId", "\"t\""), ("runId", "\"r\"")],
        "error" | "sub!" => &[("message", "\"boom\"")],
        "say" | "think" | "args" => &[("delta", "\"x\"")],
        "call" => &[("toolCallName", "\"f\"")],
        "result" => &[("content", "\"ok\"")],
        "reason" => &[("role", "\"reasoning\"")],
        "activity" => &[("activityType", "\"plan\""), ("content", "{}")],
        "amend" => &[("activityType", "\"plan\"")],
        "sub" => &[("name", "\"helper\"")],
        "seal" => &[("encryptedValue", "\"sealed\""), ("subtype", "\"message\"")],
        "custom" => &[("name", "\"acme.ping\""), ("value", "1")],
        "raw" => &[("event", "{}")],
        _ => &[],
    }
}

/// The member that a word without a name is.
fn subject(name: &str) -> &'static str {
    match name {
        "call" | "args" | "/call" | "call~" | "result" => "toolCallId",
        "step" | "/step" => "stepName",
        "sub" | "/sub" | "sub!" => "subagentRunId",
        "seal" => "entityId",
        _ => "messageId",
    }
}

/// Short names of members.
fn member(name: &str) -> &str {
    match name {
        "by" => "subagentRunId",
        "in" => "parentMessageId",
        "tool" => "toolCallName",
        "as" => "messageId",
        "run" => "runId",
        "thread" => "threadId",
        other => other,
    }
}

/// One event: its short type, its id, and members as `name=value`; a value that is not JSON is a text.
pub(crate) fn event(line: &str) -> Value {
    let mut words = line.split(' ').filter(|word| !word.is_empty());
    let short = words.next().unwrap();
    let found = TYPES.iter().find(|(name, _)| *name == short);
    let (_, kind) = found.unwrap_or_else(|| panic!("{short} is no short name"));
    let mut members = Map::new();
    members.insert("type".into(), (*kind).into());
    for (name, value) in defaults(short) {
        members.insert((*name).into(), serde_json::from_str(value).unwrap());
    }
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((subject(short), word));
        let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        members.insert(member(name).into(), value);
    }
    Value::Object(members)
}

/// The events of a stream, separated by `;`.
pub(crate) fn lines(stream: &str) -> Vec<String> {
    stream
        .split(';')
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|line| event(line).to_string())
        .collect()
}

/// The events as they are read; all of them must be known.
pub(crate) fn events(stream: &str) -> Vec<Event> {
    lines(stream).iter().map(|line| Event::decode(line).unwrap().value.unwrap()).collect()
}

/// `ok`, or rule and place: `not-open@3`.
pub(crate) fn verdict(stream: &str, mode: Mode) -> String {
    let lines = lines(stream);
    match verify_lines(lines.iter().map(String::as_bytes), mode) {
        Ok(_) => "ok".into(),
        Err(rejected) => format!("{}@{}", rejected.rule, rejected.at),
    }
}
