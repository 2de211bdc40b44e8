//! A log in a file: one event a line.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Most bytes of a log that becomes a page; a browser has to hold all of it.
pub const MOST_BYTES: usize = 64 << 20;

/// What is wrong with a log.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The log is too large for a page.
    #[error("the log is larger than the {MOST_BYTES} bytes that a page may hold")]
    TooLarge,
    /// There is no event.
    #[error("the log holds no event")]
    Empty,
    /// A line is no event.
    #[error("line {line}: not an event: {why}")]
    NotAnEvent {
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// The event is of another run than the first one.
    #[error("line {line}: an event of another run; a page draws one")]
    OtherRun {
        /// Which line, from 1.
        line: usize,
    },
    /// The sequence numbers do not grow.
    #[error("line {line}: sequence number {observed} after {before}")]
    Sequence {
        /// Which line, from 1.
        line: usize,
        /// The number before.
        before: u64,
        /// The number of this line.
        observed: u64,
    },
}

/// What of an event has to be there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    #[serde(rename = "at")]
    _at: u64,
    #[serde(rename = "kind")]
    _kind: String,
    #[serde(rename = "payload", borrow)]
    _payload: BTreeMap<String, &'a RawValue>,
    run_id: String,
    seq: u64,
}

/// The lines of a log that hold events: those of one run in their order. It may begin and end anywhere.
///
/// # Errors
///
/// [`LogError`] at the first line that is none.
pub fn events(log: &[u8]) -> Result<Vec<&str>, LogError> {
    if log.len() > MOST_BYTES {
        return Err(LogError::TooLarge);
    }
    let (mut events, mut before): (Vec<&str>, Option<(String, u64)>) = (Vec::new(), None);
    for (at, bytes) in log.split(|byte| *byte == b'\n').enumerate() {
        let line = at + 1;
        let refuse = |why: String| LogError::NotAnEvent { line, why };
        let text = std::str::from_utf8(bytes).map_err(|error| refuse(error.to_string()))?.trim_ascii();
        if text.is_empty() {
            continue;
        }
        let event: Line<'_> = serde_json::from_str(text).map_err(|error| refuse(error.to_string()))?;
        match &before {
            Some((run, _)) if *run != event.run_id => return Err(LogError::OtherRun { line }),
            Some((_, seq)) if *seq >= event.seq => {
                return Err(LogError::Sequence { line, before: *seq, observed: event.seq });
            }
            _ => {}
        }
        before = Some((event.run_id, event.seq));
        events.push(text);
    }
    if events.is_empty() { Err(LogError::Empty) } else { Ok(events) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(run: &str, seq: u64) -> String {
        format!(r#"{{"at":0,"kind":"text.delta","payload":{{"text":"a"}},"run_id":"{run}","seq":{seq}}}"#)
    }

    #[test]
    fn events_of_one_run_in_their_order() {
        let log = format!("{}\n\n{}\r\n", line("r", 7), line("r", 9));
        assert_eq!(events(log.as_bytes()), Ok(vec![&*line("r", 7), &*line("r", 9)]));
    }

    #[test]
    fn other_logs_are_refused_where_they_go_wrong() {
        let refused = |log: String| events(log.as_bytes()).unwrap_err();
        assert_eq!(refused(String::new()), LogError::Empty);
        assert_eq!(refused(line("r", 1) + "\n" + &line("s", 2)), LogError::OtherRun { line: 2 });
        let back = refused(line("r", 2) + "\n\n" + &line("r", 2));
        assert_eq!(back, LogError::Sequence { line: 3, before: 2, observed: 2 });
        for bad in [
            "{",
            "[]",
            "1 2",
            r#"{"at":-1,"kind":"a","payload":{},"run_id":"r","seq":1}"#,
            r#"{"at":0,"kind":"a","payload":[],"run_id":"r","seq":1}"#,
            r#"{"at":0,"kind":"a","payload":{},"run_id":"r","seq":1,"more":1}"#,
            r#"{"at":0,"kind":"a","payload":{},"run_id":"r"}"#,
        ] {
            let error = refused(line("r", 1) + "\n" + bad);
            assert!(matches!(error, LogError::NotAnEvent { line: 2, .. }), "{bad}: {error}");
        }
        assert!(matches!(events(b"\n\xff"), Err(LogError::NotAnEvent { line: 2, .. })));
        assert_eq!(events(&vec![b' '; MOST_BYTES + 1]), Err(LogError::TooLarge));
    }
}
