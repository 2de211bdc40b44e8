//! What is wrong with a recorded log.

use crate::canonical::CanonicalError;
use crate::id::{IdError, RunId};
use crate::text::Text;

/// Why a recorded log is not read, and at which line. It shows nothing of payloads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
#[non_exhaustive]
pub struct RecordError {
    /// The line, counted from 1; of a text that is too large or empty, 1.
    pub line: u64,
    /// What is wrong with it.
    pub problem: RecordProblem,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordProblem {
    /// The log, or one event, takes more bytes than the bounds allow.
    #[error("{observed} bytes are more than {limit}")]
    TooLarge {
        /// The bound.
        limit: u64,
        /// What was found.
        observed: u64,
    },
    /// It is one event too many.
    #[error("more than {limit} events")]
    TooMany {
        /// The bound.
        limit: u64,
    },
    /// There is no event.
    #[error("no event")]
    Empty,
    /// It is not JSON within the bounds of one event.
    #[error("not JSON: {0}")]
    NotJson(CanonicalError),
    /// It is JSON, but not in its canonical form (RFC 8785).
    #[error("not canonical JSON from byte {at} on")]
    NotCanonical {
        /// The first byte of the line that differs.
        at: u64,
    },
    /// It is no object, or has another member than an event has.
    #[error("not an event: its members are at, kind, payload, run_id and seq")]
    NotAnEvent,
    /// The member must be there.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// The member is something else.
    #[error("{member} is not {expected}")]
    Kind {
        /// Which member, of the event or of its payload.
        member: &'static str,
        /// What belongs there.
        expected: &'static str,
    },
    /// No kind of events is called so.
    #[error("unknown kind {0:?}")]
    UnknownKind(
        /// Its name, cut to 64 bytes.
        Text,
    ),
    /// The run id is not one.
    #[error("run_id: {0}")]
    Id(#[from] IdError),
    /// The event is one of another run.
    #[error("an event of the run {observed:?} in a log of {expected:?}")]
    OtherRun {
        /// The run of the first event.
        expected: RunId,
        /// The run of this one.
        observed: RunId,
    },
    /// The number does not follow the one before.
    #[error("event {observed} where {expected} follows")]
    Sequence {
        /// The number that follows.
        expected: u64,
        /// The event's number.
        observed: u64,
    },
    /// It opens what is open, closes what is not, or stands where it cannot (E2, E3, E7).
    #[error("unmatched lifecycle: {0}")]
    UnmatchedLifecycle(&'static str),
}
