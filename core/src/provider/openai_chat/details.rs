//! `reasoning_details`: pieces of reasoning that some servers stream and want back whole.

use crate::json::{Object, string};
use crate::provider::read::Members;
use alloc::string::String;
use alloc::vec::Vec;

/// The members whose pieces are joined; all others are taken from the last piece that has them.
const JOINED: [&str; 3] = ["text", "summary", "data"];

#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Text(String),
    Json(String),
}

/// The list in the making: pieces of one entry carry the same `index` and `type`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Details {
    entries: Vec<Vec<(String, Value)>>,
}

impl Details {
    /// Adds a piece. What is not an object is skipped.
    pub(super) fn push(&mut self, piece: &str) {
        let Some(piece) = Members::read(piece) else { return };
        let same = |entry: &&mut Vec<(String, Value)>| {
            ["index", "type"].iter().all(|name| {
                let old = entry.iter().find(|(key, _)| key == name).map(|(_, value)| value);
                old == piece.get(name).map(|json| Value::Json(String::from(json))).as_ref()
            })
        };
        // Pieces of one entry follow each other; without an index there is nothing else to go by.
        let Some(entry) = self.entries.last_mut().filter(same) else {
            self.entries.push(piece.0.iter().map(|(name, json)| fresh(name, json.get())).collect());
            return;
        };
        for (name, json) in &piece.0 {
            let (name, value) = fresh(name, json.get());
            match (entry.iter_mut().find(|(key, _)| *key == name).map(|(_, old)| old), value) {
                (Some(Value::Text(old)), Value::Text(more)) => old.push_str(&more),
                (Some(_), Value::Json(json)) if json == "null" || json == "\"\"" => {}
                (Some(old), value) => *old = value,
                (None, value) => entry.push((name, value)),
            }
        }
    }

    /// The whole list as JSON; `None` without entries.
    pub(super) fn payload(&self) -> Option<String> {
        if self.entries.is_empty() {
            return None;
        }
        let mut out = Vec::new();
        crate::provider::wire::array(&mut out, &self.entries, |out, entry| {
            let mut object = Object::begin(out);
            for (name, value) in entry {
                match value {
                    Value::Text(text) => string(object.key(name), text),
                    Value::Json(json) => {
                        object.raw(name, json);
                    }
                }
            }
            object.end();
        });
        String::from_utf8(out).ok()
    }
}

fn fresh(name: &str, json: &str) -> (String, Value) {
    let text = JOINED.contains(&name).then(|| serde_json::from_str::<String>(json).ok()).flatten();
    (String::from(name), text.map_or_else(|| Value::Json(String::from(json)), Value::Text))
}

/// The text that a piece shows.
pub(super) fn shown(piece: &str) -> Option<String> {
    let piece = Members::read(piece)?;
    let text = piece.text("text").or_else(|| piece.text("summary"))?;
    (!text.is_empty()).then(|| text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_join_by_index_and_type_and_signatures_stay_byte_for_byte() {
        let mut details = Details::default();
        for piece in [
            r#"{"type":"reasoning.text","text":"a","signature":"","index":0,"x":1.50}"#,
            r#"{"type":"reasoning.text","text":"b\n","index":0,"signature":null}"#,
            r#"{"type":"reasoning.text","signature":"s\/=","index":0}"#,
            "7",
            r#"{"type":"reasoning.encrypted","data":"d","index":1,"id":null}"#,
        ] {
            details.push(piece);
        }
        assert_eq!(
            details.payload().as_deref(),
            Some(concat!(
                r#"[{"type":"reasoning.text","text":"ab\n","signature":"s\/=","index":0,"x":1.50},"#,
                r#"{"type":"reasoning.encrypted","data":"d","index":1,"id":null}]"#
            ))
        );
        assert_eq!(Details::default().payload(), None);
        assert_eq!(shown(r#"{"summary":"s"}"#).as_deref(), Some("s"));
        assert_eq!(shown(r#"{"data":"s"}"#), None);
    }
}
