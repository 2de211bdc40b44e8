//! What a store refuses, and what goes wrong in it.

use super::values::Epoch;
use crate::core::id::{Revision, RunId, SessionId};
use crate::core::saved::ImportError;
use crate::core::text::Text;

/// Why a store did not do what it was asked. Nothing has changed then, except where it says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another snapshot is kept than the one that was to be replaced.
    #[error("revision {} was expected, but {} is kept", named(.expected), named(.found))]
    Conflict {
        /// What the writer expected; `None`: no snapshot.
        expected: Option<Revision>,
        /// What is kept.
        found: Option<Revision>,
    },
    /// The session was claimed since, or never.
    #[error("claim {epoch} of the session is over; the newest is {current}")]
    Fenced {
        /// The writer's claim.
        epoch: Epoch,
        /// The newest one; 0 if there was none.
        current: Epoch,
    },
    /// The snapshot is of another session than the claim.
    #[error("the snapshot is of the session {0:?}")]
    OtherSession(SessionId),
    /// The number has another text already.
    #[error("line {number} of the run {run:?} is kept with another text")]
    Differs {
        /// The run.
        run: RunId,
        /// The number.
        number: u64,
    },
    /// Lines are missing before the first one, or between two.
    #[error("line {expected} of the run {run:?} was expected, not {found}")]
    Gap {
        /// The run.
        run: RunId,
        /// What would have been next.
        expected: u64,
        /// What came.
        found: u64,
    },
    /// What is kept cannot be read.
    #[error("the snapshot that is kept cannot be read: {0}")]
    Import(#[from] ImportError),
    /// The store was made by another version.
    #[error("the store has version {found}, and {known} is known")]
    Version {
        /// The store's.
        found: i64,
        /// The one that is known here.
        known: i64,
    },
    /// What is there is no store.
    #[error("it is no store: {0}")]
    Foreign(Text),
    /// The medium failed, in its own words. Whether the write has happened is not known; it can be repeated.
    #[error("the store failed: {0}")]
    Failed(Text),
    /// The store is closed.
    #[error("the store is closed")]
    Closed,
}

fn named(revision: &Option<Revision>) -> String {
    revision.map_or_else(|| "none".to_owned(), |revision| revision.to_string())
}
