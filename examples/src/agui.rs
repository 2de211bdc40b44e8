//! `inspect verify` and `inspect fold`: AG-UI events, one on a line, as one JSON object.

use runloom_core::agui::Mode;
use runloom_core::agui::consume::fold_lines;
use runloom_core::agui::verify::verify_lines;

/// What a command prints, and whether the stream was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// One JSON object.
    pub json: String,
    /// Whether the stream keeps the rules and ends.
    pub taken: bool,
}

/// Lines end with LF, CRLF or CR; JSON itself holds none of them.
fn lines(events: &[u8]) -> impl Iterator<Item = &[u8]> {
    events.split(|byte| matches!(byte, b'\n' | b'\r'))
}

/// Whether the events keep the order of the protocol.
pub fn verify(events: &[u8], mode: Mode) -> Answer {
    match verify_lines(lines(events), mode) {
        Ok(events) => Answer { json: format!("{{\"ok\":true,\"events\":{events}}}"), taken: true },
        Err(rejected) => Answer { json: rejected.to_json(), taken: false },
    }
}

/// What a client holds after the events.
pub fn fold(events: &[u8]) -> Answer {
    match fold_lines(lines(events)) {
        Ok(folded) => Answer { json: folded.to_json(), taken: true },
        Err(rejected) => {
            let error = serde_json::json!({
                "error": rejected.detail,
                "at": rejected.at,
                "rule": rejected.rule.as_str(),
            });
            Answer { json: error.to_string(), taken: false }
        }
    }
}
