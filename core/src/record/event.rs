//! One event, from its line and back.

use super::RecordProblem as Problem;
use crate::canonical::{Bounds, CanonicalProblem, Node, read_canonical};
use crate::event::EventKind;
use crate::id::{RunId, Seq};
use crate::json::{Object, Out};
use crate::text::{Text, prefix};
use crate::time::{MAX_EXACT, Time};
use alloc::string::String;
use alloc::vec::Vec;

/// An event as it was recorded. Its payload is text: what this version does not know of it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedEvent {
    /// The run.
    pub run_id: RunId,
    /// Position in the run: 1 to 2^53 − 1.
    pub seq: Seq,
    /// Engine time, in microseconds.
    pub at: Time,
    /// What kind of event it is.
    pub kind: EventKind,
    /// Its payload: one canonical JSON object.
    pub payload: Text,
}

impl RecordedEvent {
    /// Reads one line, without its end.
    ///
    /// ```
    /// use runloom_core::canonical::Bounds;
    /// use runloom_core::record::{RecordProblem, RecordedEvent};
    ///
    /// let line = r#"{"at":7,"kind":"text.delta","payload":{"text":"Hi","x":[]},"run_id":"r","seq":4}"#;
    /// let event = RecordedEvent::read(line.as_bytes(), &Bounds::default())?;
    /// assert_eq!((event.kind.as_str(), event.seq.0), ("text.delta", 4));
    /// assert_eq!(event.to_json(), line);
    ///
    /// let spaced = line.replace("7,", "7, ");
    /// let refused = RecordedEvent::read(spaced.as_bytes(), &Bounds::default());
    /// assert_eq!(refused, Err(RecordProblem::NotCanonical { at: 8 }));
    /// # Ok::<(), RecordProblem>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`RecordProblem`](super::RecordProblem) if it is not canonical JSON within the bounds, has other members than an
    /// event has, or is of a kind that is not known.
    pub fn read(line: &[u8], bounds: &Bounds) -> Result<Self, Problem> {
        Self::read_with_payload(line, bounds).map(|(event, _)| event)
    }

    /// Reads one line, and gives its payload as a tree as well.
    pub(super) fn read_with_payload(
        line: &[u8],
        bounds: &Bounds,
    ) -> Result<(Self, Vec<(Text, Node)>), Problem> {
        let node = read_canonical(line, bounds).map_err(|error| {
            let canonical = error.problem != CanonicalProblem::NotCanonical;
            if canonical { Problem::NotJson(error) } else { Problem::NotCanonical { at: error.at } }
        })?;
        let Node::Object(members) = node else { return Err(Problem::NotAnEvent) };
        let names = ["at", "kind", "payload", "run_id", "seq"];
        if let Some(missing) = names.into_iter().find(|name| member(&members, name).is_none()) {
            return Err(Problem::Missing(missing));
        }
        let Ok([(_, at), (_, kind), (_, payload), (_, run_id), (_, seq)]) = <[_; 5]>::try_from(members)
        else {
            return Err(Problem::NotAnEvent);
        };
        let wrong = |member, expected| Err(Problem::Kind { member, expected });
        let Node::Integer(at) = at else { return wrong("at", MICROSECONDS) };
        if at > MAX_EXACT {
            return wrong("at", MICROSECONDS);
        }
        let Node::Text(kind) = kind else { return wrong("kind", "a text") };
        let Some(kind) = EventKind::parse(&kind) else {
            return Err(Problem::UnknownKind(Text::new(prefix(&kind, 64))));
        };
        let Node::Text(run_id) = run_id else { return wrong("run_id", "a text") };
        let run_id = RunId::new(run_id)?;
        let seq = match seq {
            Node::Integer(seq @ 1..=MAX_EXACT) => Seq(seq),
            Node::Integer(_)
            | Node::Negative(_)
            | Node::Fraction(_)
            | Node::Null
            | Node::Bool(_)
            | Node::Text(_)
            | Node::List(_)
            | Node::Object(_) => return wrong("seq", "an integer from 1 to 2^53 - 1"),
        };
        let text = Text::from(payload.to_json());
        let Node::Object(payload) = payload else { return wrong("payload", "an object") };
        Ok((Self { run_id, seq, at: Time::from_micros(at), kind, payload: text }, payload))
    }

    /// Writes the event as it was read.
    pub fn write<O: Out>(&self, out: &mut O) {
        let mut object = Object::begin(out);
        object
            .u64("at", self.at.as_micros())
            .str("kind", self.kind.as_str())
            .raw("payload", &self.payload)
            .str("run_id", self.run_id.as_str())
            .u64("seq", self.seq.0);
        object.end();
    }

    /// The event as the line that it was, without the line's end.
    pub fn to_json(&self) -> String {
        let mut bytes = Vec::new();
        self.write(&mut bytes);
        // Only texts and ASCII were written.
        String::from_utf8(bytes).unwrap_or_default()
    }
}

const MICROSECONDS: &str = "an integer from 0 to 2^53 - 1";

/// A member of an object whose members stand in canonical order.
pub(super) fn member<'n>(members: &'n [(Text, Node)], name: &str) -> Option<&'n Node> {
    let at = members.binary_search_by(|(other, _)| crate::canonical::canonical(other, name)).ok()?;
    members.get(at).map(|(_, node)| node)
}
