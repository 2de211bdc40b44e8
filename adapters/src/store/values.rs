//! What goes into a store and comes out of it.

use crate::core::id::{RunId, Seq, SessionId};
use crate::core::text::Text;
use std::fmt;

/// How often a session was claimed: a later owner has a larger one, and none comes twice, also when the session was
/// deleted in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The right to write to a session, until the session is claimed again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The session.
    pub session: SessionId,
    /// The claim.
    pub epoch: Epoch,
}

/// A line under its number.
#[derive(Clone, PartialEq, Eq)]
pub struct Line {
    /// Of an event its sequence number, of a line of a journal its place; both from 1.
    pub number: u64,
    /// Canonical JSON, without an end of line.
    pub text: Text,
}

impl fmt::Debug for Line {
    /// The number and the size: what was said does not belong into logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of {} bytes", self.number, self.text.len())
    }
}

/// What is to be added to the record of a run, whole or not at all. Either list may be empty; in each the numbers grow by
/// one, and the first is known already or the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The run.
    pub run: RunId,
    /// Events, as the log encodes them.
    pub events: Vec<Line>,
    /// Behind which event this part of the run has begun: 0, or the last one before the run was resumed. Each part has a
    /// journal of its own. The first event that is kept of a run is the one behind it.
    pub part: Seq,
    /// Lines of the part's journal.
    pub journal: Vec<Line>,
}

impl Record {
    /// Nothing yet, for the first part of `run`.
    pub fn new(run: RunId) -> Self {
        Self { run, events: Vec::new(), part: Seq(0), journal: Vec::new() }
    }
}

/// A run of which something is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSummary {
    /// The run's place among those of its store: it grows with the time of the first record.
    pub ordinal: u64,
    /// The run.
    pub run: RunId,
    /// The last event; where none is kept, the one behind which the first part begins.
    pub last: Seq,
}

/// Names a journal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JournalId {
    /// The session.
    pub session: SessionId,
    /// The run.
    pub run: RunId,
    /// The part of it, as in [`Record::part`].
    pub part: Seq,
}

/// A journal that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalSummary {
    /// Its name.
    pub id: JournalId,
    /// How many lines it has.
    pub lines: u64,
}

/// How much is read at once. One line is always read, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Most lines.
    pub lines: usize,
    /// Most bytes of text.
    pub bytes: u64,
}

impl Default for Page {
    /// 1,024 lines and 4 MiB.
    fn default() -> Self {
        Self { lines: 1_024, bytes: 4 << 20 }
    }
}

impl Page {
    /// Whether a line of this size still belongs to the page, after `lines` of `bytes`.
    pub(super) fn takes(&self, lines: usize, bytes: u64, next: usize) -> bool {
        lines == 0 || (lines < self.lines && bytes.saturating_add(next as u64) <= self.bytes)
    }
}
