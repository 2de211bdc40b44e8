//! The journal of a run: every input with its time, and the events that came of it; one file that proves itself (L7, H7).
//!
//! A journal is a text of lines, each one canonical JSON object and a line feed:
//!
//! ```text
//! {"config":{..},"core":"0.1.0","format":"runloom.journal","run":"run-1","version":1}
//! {"at":0,"input":{"type":"start",..}}
//! {"at":0,"kind":"run.started","payload":{..},"run_id":"run-1","seq":1}
//! {"at":20000,"input":{"item":{"text":"Hi!","type":"text"},"op":1,"type":"model"}}
//! ```
//!
//! - The head names the run and holds its whole configuration. `core` is the version that wrote it, for people.
//! - An input has the time that it had for the machine: whole microseconds that never go back. Inputs that the machine
//!   refused as misuse changed nothing and are not there.
//! - Behind each input stand the events that it caused, as the bytes that the log has.
//! - A panic of the machine is a line with the member `panicked`, which holds the input that was being taken in.
//!
//! [`Recorder`] writes one while a run is stepped, [`replay`] feeds one to a fresh machine and compares each event, and
//! [`recover`] rebuilds the machine of a run whose process is gone. All of it is pure: where the lines are kept, and when
//! they are safe, is the affair of whoever takes them.
//!
//! # What a journal holds
//!
//! What the inputs hold, whole: the session's history and what people say, system prompts, tool declarations, what models
//! and tools gave, opaque material of providers, and the answers of people, *those to secret questions too*, without which
//! the run could not be repeated. It holds no keys of providers, no tokens of cancellation and no code. Keep it as
//! carefully as the history, and where people are asked for secrets as carefully as those.
//!
//! # Strictness
//!
//! Reading is bounded and strict: another format or version, an unknown kind of input, a member that is not known or stands
//! there twice, bytes that are not canonical, times that go back: each is an error with its line and its place in it. A
//! member that a later version added may change what the machine does, so that it is not passed over.

mod config;
mod input;
mod line;
mod model;
mod recorder;
mod recover;
mod replay;
mod scalar;
mod start;
#[cfg(test)]
mod tests;
mod tool;

pub use line::is_event;
pub use recorder::Recorder;
pub use recover::{Recovered, recover};
pub use replay::{Divergence, Line, Replay, ReplayError, Replayed, replay};
pub(crate) use scalar::{number as exact, read_number as read_exact};

use crate::saved::{ImportBounds, ImportError};

/// The version of the journal that this crate writes, and the only one that it reads.
pub const VERSION: u32 = 1;

/// What a journal may take to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalBounds {
    /// Most bytes of the whole journal.
    pub bytes: u64,
    /// Bounds of one line.
    pub line: ImportBounds,
}

impl Default for JournalBounds {
    /// 1 GiB, and for a line what a saved value may take.
    fn default() -> Self {
        Self { bytes: 1 << 30, line: ImportBounds::default() }
    }
}

/// Why a journal cannot be read. It shows nothing of its content but the names on the way to the place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
#[non_exhaustive]
pub struct JournalError {
    /// Which line, from 1.
    pub line: u64,
    /// What is wrong there.
    pub problem: JournalProblem,
}

impl JournalError {
    /// What is wrong with a line.
    pub const fn new(line: u64, problem: JournalProblem) -> Self {
        Self { line, problem }
    }
}

/// What is wrong with a line of a journal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JournalProblem {
    /// It has no whole line, or not as much as a head.
    #[error("the journal has no head")]
    Empty,
    /// The journal is larger than its bound.
    #[error("{observed} bytes are more than {limit}")]
    TooLarge {
        /// The bound.
        limit: u64,
        /// What was found.
        observed: u64,
    },
    /// The last line has no end: it was cut off while it was written.
    #[error("the line is cut off after {bytes} bytes")]
    Torn {
        /// How many bytes there are of it.
        bytes: u64,
    },
    /// The bytes are not UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    /// A value is not what belongs there.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The line is the right value in other bytes than canonical JSON has for it.
    #[error("not canonical JSON")]
    NotCanonical,
    /// The time lies before that of an earlier line.
    #[error("the time goes back")]
    TimeGoesBack,
}
