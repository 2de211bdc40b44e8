//! Values that outlive the process: how they are written, and how strictly they are read (H6, S3).
//!
//! A saved value is one canonical JSON object with a `format` and a `version`. Reading it is strict: another format or
//! version, a member that stands there twice, a value of another kind, bytes behind the end, and whatever exceeds a
//! bound are refused, with the place. Members that this version does not know are kept and written again. Last, what was
//! read is written and compared with what came: nothing is lost silently.

mod additions;
mod carry;
mod fields;
mod host_input;
mod message;
mod read;

pub(crate) use crate::canonical::{Build, Node};
pub(crate) use additions::Additions;
pub(crate) use carry::{Saved, deserialize, from_json, head, serialize};
pub(crate) use fields::{Fields, Place, flag, list, number, object, small, text};
pub(crate) use host_input::{answer, question, read_answer, read_any_question, read_question, read_refusal};
pub(crate) use message::{content, message, part, read_any_part, read_content, read_message, read_status};
pub(crate) use read::{Reading, read};

use crate::config::ConfigError;
use crate::history::HistoryError;
use crate::host_input::QuestionError;
use crate::id::IdError;
use crate::message::MessageError;
use crate::snapshot::MetadataError;
use crate::text::Text;

/// Deepest nesting of a saved value.
pub const MAX_DEPTH: usize = 96;

/// What a saved value may take to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportBounds {
    /// Most bytes of the JSON text; where there is none, of all texts and names in the value.
    pub bytes: u64,
    /// Most JSON values in it, each item and each member's value counted. One takes up to 168 bytes while it is read.
    pub values: u64,
}

impl Default for ImportBounds {
    /// 64 MiB and 4,194,304 values.
    fn default() -> Self {
        Self { bytes: 64 << 20, values: 4 << 20 }
    }
}

/// Why a saved value cannot be read. It shows nothing of the value but the names on the way to the
/// place, and ids.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at {at:?}: {problem}")]
#[non_exhaustive]
pub struct ImportError {
    /// Where: a JSON Pointer (RFC 6901), cut to 256 bytes; empty for the whole value.
    pub at: Text,
    /// What is wrong there.
    pub problem: ImportProblem,
}

/// What is wrong with a saved value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportProblem {
    /// It takes more bytes than [`ImportBounds::bytes`].
    #[error("{observed} bytes are more than {limit}")]
    TooLarge {
        /// The bound.
        limit: u64,
        /// What was found, so far.
        observed: u64,
    },
    /// It holds more values than [`ImportBounds::values`].
    #[error("more than {limit} values")]
    TooMany {
        /// The bound.
        limit: u64,
    },
    /// It nests deeper than [`MAX_DEPTH`].
    #[error("nests deeper than {MAX_DEPTH}")]
    TooDeep,
    /// It is not JSON, or something follows it; with the reader's words.
    #[error("not JSON: {0}")]
    NotJson(Text),
    /// The member stands there twice.
    #[error("the member stands there twice")]
    Duplicate,
    /// It is something else than what is to be read.
    #[error("the format is not {expected:?}")]
    Format {
        /// The format that belongs there.
        expected: &'static str,
    },
    /// It was written by a version that is not known here.
    #[error("version {found} is not known, but {known}")]
    Version {
        /// Its version.
        found: u64,
        /// The version that is known.
        known: u32,
    },
    /// The member must be there.
    #[error("the member is missing")]
    Missing,
    /// A value of another kind belongs there.
    #[error("{expected} belongs there")]
    Kind {
        /// What belongs there.
        expected: &'static str,
    },
    /// The number is larger than it may be.
    #[error("{observed} is more than {limit}")]
    Number {
        /// The most.
        limit: u64,
        /// What was found.
        observed: u64,
    },
    /// No such name is known there.
    #[error("not a known {what}")]
    Unknown {
        /// What the name stands for.
        what: &'static str,
    },
    /// Not an id.
    #[error(transparent)]
    Id(#[from] IdError),
    /// Not the base64 of anything.
    #[error("not base64")]
    Base64,
    /// Not the hash that belongs to the call: name, place or arguments are not those that were saved.
    #[error("the hash is not that of the call")]
    Hash,
    /// Not a message.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// Not a question.
    #[error(transparent)]
    Question(#[from] QuestionError),
    /// Limits that do not fit together.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The message cannot follow those before it.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The last message holds calls without results.
    #[error("{calls} calls of the last message have no result")]
    OpenCalls {
        /// How many.
        calls: usize,
    },
    /// It is of a session that was doing something, and only one at rest can be taken up.
    #[error("the session was {state}")]
    NotAtRest {
        /// What it was doing.
        state: &'static str,
    },
    /// Not metadata.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    /// The value contradicts itself.
    #[error("{0}")]
    Contradiction(&'static str),
    /// Written again it would be another value.
    #[error("it would be written differently")]
    Differs,
}
