//! `event-shapes`: single values that the schema accepts or rejects.

use crate::json;
use runloom_core::agui::outcome::{Interrupt, ResumeEntry};
use runloom_core::agui::wire::{DecodeError, Wire, decode, encode};
use runloom_core::agui::{Event, Message, RunAgentInput, input};
use serde_json::Value;
use std::path::Path;

/// What reading a value comes to: the value written again and the paths of what was taken out.
type Read = Result<(Option<Value>, Vec<String>), DecodeError>;

fn read<T: Wire + PartialEq + std::fmt::Debug>(text: &str) -> Read {
    let decoded = decode::<T>(text)?;
    let written = decoded.value.as_ref().map(encode);
    if let (Some(value), Some(text)) = (&decoded.value, &written) {
        let again = decode::<T>(text).unwrap();
        assert_eq!(again.value.as_ref(), Some(value), "{text}");
        assert!(again.notices.is_empty(), "{text}");
    }
    let value = written.map(|text| serde_json::from_str(&text).unwrap());
    Ok((value, decoded.notices.into_iter().map(|notice| notice.path).collect()))
}

fn read_as(kind: &str, text: &str) -> Read {
    match kind {
        "Interrupt" => read::<Interrupt>(text),
        "ResumeEntry" => read::<ResumeEntry>(text),
        "RunAgentInput" => read::<RunAgentInput>(text),
        "Tool" => read::<input::Tool>(text),
        "ToolMessage" | "UserMessage" => read::<Message>(text),
        event if event.ends_with("Event") => read::<Event>(text),
        other => panic!("{other} is no kind of the schema"),
    }
}

/// Whether `written` says what `original` does: lists that may be absent are absent where they are empty.
fn says_the_same(original: &Value, written: &Value) -> bool {
    match (original, written) {
        (Value::Object(original), Value::Object(written)) => {
            let empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
            written.keys().all(|key| original.contains_key(key))
                && original.iter().all(|(key, value)| match written.get(key) {
                    Some(written) => says_the_same(value, written),
                    None => {
                        ["tools", "context", "toolCalls", "usage"].contains(&key.as_str()) && empty(value)
                    }
                })
        }
        (Value::Array(original), Value::Array(written)) => {
            original.len() == written.len()
                && original.iter().zip(written).all(|(original, written)| says_the_same(original, written))
        }
        _ => original == written,
    }
}

/// Checks each shape, and counts them.
pub(crate) fn check(folder: &Path) -> usize {
    let mut count = 0;
    for kind in std::fs::read_dir(folder.join("event-shapes")).unwrap() {
        let kind = kind.unwrap().path();
        let name = kind.file_name().unwrap().to_str().unwrap();
        for class in ["valid", "invalid"] {
            let Ok(files) = std::fs::read_dir(kind.join(class)) else { continue };
            for file in files.map(|file| file.unwrap().path()) {
                let shape = format!("{name}/{class}/{}", file.file_name().unwrap().to_str().unwrap());
                if shape.ends_with(".expect.json") {
                    continue;
                }
                let original = json(&file);
                let found = read_as(name, &original.to_string());
                match class {
                    "valid" => valid(&shape, &original, found),
                    _ => invalid(&shape, &json(&file.with_extension("expect.json")), found),
                }
                count += 1;
            }
        }
    }
    assert!(count >= 150, "{count} shapes");
    count
}

fn valid(shape: &str, original: &Value, found: Read) {
    let (written, notices) = found.unwrap_or_else(|error| panic!("{shape}: {error}"));
    assert!(notices.is_empty(), "{shape}: {notices:?}");
    let written = written.unwrap();
    assert!(says_the_same(original, &written), "{shape}: {original} was written as {written}");
}

/// A rejected value is malformed there, or holds something there that a later version may describe and that is taken out.
fn invalid(shape: &str, expected: &Value, found: Read) {
    let place = expected["instanceLocation"].as_str().unwrap();
    match found {
        Err(DecodeError::Malformed { path, .. }) => {
            // A member that is missing is named itself, its object is what the schema rejects.
            assert!(path.starts_with(place), "{shape}: malformed at {path}, not {place}");
        }
        Err(error) => panic!("{shape}: {error}"),
        Ok((value, notices)) => {
            let unknown = ["unevaluatedProperties", "oneOf", "enum", "const"];
            assert!(
                unknown.contains(&expected["keyword"].as_str().unwrap()),
                "{shape} was read as {value:?}"
            );
            let holds = |notice: &String| place.starts_with(notice.as_str()) || notice.starts_with(place);
            assert!(value.is_none() || notices.iter().any(holds), "{shape}: {notices:?}, not {place}");
        }
    }
}
