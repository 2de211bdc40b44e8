//! Judging a whole stream that is written as one event a line.

use super::{Mode, Rule, Verifier};
use crate::agui::Event;
use crate::json;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// A stream that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("event {at} breaks rule `{rule}`: {detail}")]
pub struct Rejected {
    /// Which event, from 0; the number of events where the end of the stream is what is wrong.
    pub at: usize,
    /// The rule; [`Rule::Malformed`] for what is no event at all.
    pub rule: Rule,
    /// The id that it is about.
    pub id: Option<String>,
    /// What is wrong.
    pub detail: String,
}

impl Rejected {
    /// One JSON object that says where and why: `ok` (false), `at`, `rule`, `id` (null if there is none) and `detail`.
    pub fn to_json(&self) -> String {
        let mut out = Vec::new();
        let mut object = json::Object::begin(&mut out);
        object.bool("ok", false).u64("at", self.at as u64).str("rule", self.rule.as_str());
        match &self.id {
            Some(id) => object.str("id", id),
            None => object.raw("id", "null"),
        };
        object.str("detail", &self.detail);
        object.end();
        String::from_utf8(out).unwrap_or_default()
    }
}

/// Judges a stream of events that stand one on a line, and counts them. Empty lines are no events; events of unknown types
/// are counted and nothing else.
///
/// # Errors
///
/// [`Rejected`] names the first event that breaks a rule.
pub fn verify_lines<'a>(lines: impl IntoIterator<Item = &'a [u8]>, mode: Mode) -> Result<usize, Rejected> {
    let mut verifier = Verifier::new(mode);
    let mut events = 0;
    for line in lines.into_iter().filter(|line| !line.trim_ascii().is_empty()) {
        let at = events;
        events += 1;
        let decoded = Event::decode_bytes(line).map_err(|error| Rejected {
            at,
            rule: Rule::Malformed,
            id: None,
            detail: error.to_string(),
        })?;
        if let Some(event) = decoded.value {
            verifier.observe(&event).map_err(|error| Rejected {
                at,
                rule: error.rule,
                id: error.id,
                detail: error.detail,
            })?;
        }
    }
    match verifier.finish() {
        Ok(()) => Ok(events),
        Err(error) => Err(Rejected { at: events, rule: error.rule, id: error.id, detail: error.detail }),
    }
}
