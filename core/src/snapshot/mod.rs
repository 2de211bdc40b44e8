//! A session at rest as one value: what it has committed, for any store (S3).
//!
//! A snapshot holds the history and what the session knows beside it. It holds no display reasoning, no credentials, no
//! tools, no policies and no remembered consents: those belong to the engine that restores it, or to the session object
//! that was told them. While a run is under way a snapshot is of what was committed before.

use crate::compaction::ContextState;
use crate::history::History;
use crate::id::{Revision, RunId, Seq, SessionId};
use crate::saved::Additions;
use crate::suspend::Suspended;
use crate::text::Text;
use alloc::sync::Arc;

mod metadata;
mod saved;
#[cfg(test)]
mod tests;

pub use metadata::{MAX_BYTES, MAX_ITEM, MAX_ITEMS, Metadata, MetadataError};
pub use saved::VERSION;

/// What a session at rest is: what came of its last run (S1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Lifecycle {
    /// There was none, or it was cancelled, dropped or suspended.
    #[default]
    Idle,
    /// It completed.
    Completed,
    /// It failed or was interrupted.
    Failed,
}

impl Lifecycle {
    const ALL: [Self; 3] = [Self::Idle, Self::Completed, Self::Failed];

    /// The state's stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }
}

/// A session's last run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastRun {
    /// Its id.
    pub id: RunId,
    /// The last of its events, from 1.
    pub seq: Seq,
}

/// A session at rest. Its history is valid (M4).
///
/// It is kept as JSON ([`Snapshot::to_json`]), or inside other formats by its `serde` implementations. It is not signed:
/// whoever can change a kept one can change what models read and what suspended runs do. A clone shares the messages.
#[derive(Clone, PartialEq)]
pub struct Snapshot {
    session: SessionId,
    revision: Revision,
    lifecycle: Lifecycle,
    history: History,
    context: ContextState,
    metadata: Metadata,
    model: Option<Text>,
    last: Option<LastRun>,
    runs: u64,
    suspended: Option<Arc<Suspended>>,
    /// Members of its saved form that are not known.
    additions: Additions,
}

impl core::fmt::Debug for Snapshot {
    /// Ids and numbers only: what was said does not belong into logs.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Snapshot")
            .field("session", &self.session)
            .field("revision", &self.revision)
            .field("lifecycle", &self.lifecycle)
            .field("messages", &self.history.len())
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}

/// Why no session can be restored from a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The last message holds calls without results (M4).
    #[error("{calls} calls of the last message have no result")]
    OpenCalls {
        /// How many.
        calls: usize,
    },
    /// The suspended run is of another session, or of another state of it (H6).
    #[error("the suspended run does not belong to this state of the session")]
    OtherState,
}

impl Snapshot {
    /// A session with this history, and nothing known beside it; see [`Snapshot::check`].
    pub fn new(session: SessionId, revision: Revision, history: History) -> Self {
        Self {
            session,
            revision,
            lifecycle: Lifecycle::Idle,
            history,
            context: ContextState::default(),
            metadata: Metadata::default(),
            model: None,
            last: None,
            runs: 0,
            suspended: None,
            additions: Additions::default(),
        }
    }

    /// Checks what every snapshot is held to where it is read and where a session is restored from it.
    ///
    /// # Errors
    ///
    /// [`SnapshotError`]: the history waits for results, or the suspended run is not of this state of the session.
    pub fn check(&self) -> Result<(), SnapshotError> {
        match self.history.open_calls() {
            0 => {}
            calls => return Err(SnapshotError::OpenCalls { calls }),
        }
        let fits = self.suspended.as_ref().is_none_or(|value| {
            let base = self.history.len() as u64;
            value.session == self.session && value.revision == self.revision && value.base == base
        });
        if fits { Ok(()) } else { Err(SnapshotError::OtherState) }
    }

    /// With this state.
    #[must_use]
    pub fn with_lifecycle(self, lifecycle: Lifecycle) -> Self {
        Self { lifecycle, ..self }
    }

    /// With what is known about the size of the context (K1).
    #[must_use]
    pub fn with_context(self, context: ContextState) -> Self {
        Self { context, ..self }
    }

    /// With the host's own texts.
    #[must_use]
    pub fn with_metadata(self, metadata: Metadata) -> Self {
        Self { metadata, ..self }
    }

    /// With the name of the model that answers.
    #[must_use]
    pub fn with_model(self, model: Text) -> Self {
        Self { model: Some(model), ..self }
    }

    /// With this last run.
    #[must_use]
    pub fn with_last_run(self, last: Option<LastRun>) -> Self {
        Self { last, ..self }
    }

    /// With the number of runs that the engine had counted.
    #[must_use]
    pub fn with_runs(self, runs: u64) -> Self {
        Self { runs, ..self }
    }

    /// With a run that was put aside in this session at this revision, and can go on from here (H6).
    #[must_use]
    pub fn with_suspended(self, suspended: Arc<Suspended>) -> Self {
        Self { suspended: Some(suspended), ..self }
    }

    /// The session.
    pub fn session_id(&self) -> &SessionId {
        &self.session
    }

    /// The revision of the history.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// What came of the last run.
    pub fn lifecycle(&self) -> Lifecycle {
        self.lifecycle
    }

    /// The committed history.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// What is known about the size of the context.
    pub fn context(&self) -> ContextState {
        self.context
    }

    /// The host's own texts.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The name of the model that the session's engine had. What only that model takes back stays in the history, and is
    /// given to no other (M9).
    pub fn model(&self) -> Option<&Text> {
        self.model.as_ref()
    }

    /// The last run that ended or was suspended, if there was one.
    pub fn last_run(&self) -> Option<&LastRun> {
        self.last.as_ref()
    }

    /// How many runs the engine had counted: the runs of an engine that restores this are counted from there, so that
    /// no id of the default kind comes again.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// The run that was put aside and can go on from here.
    pub fn suspended(&self) -> Option<&Arc<Suspended>> {
        self.suspended.as_ref()
    }
}
