//! The engine: what sessions have in common, and the end of them all.

use crate::CancellationToken;
use crate::best_effort::{BestEffort, BestEffortError, BestEffortOptions};
use crate::core::config::Config;
use crate::core::history::{History, HistoryBounds};
use crate::core::id::{IdError, Revision, RunId, SessionId};
use crate::core::input::AbortCause;
use crate::core::snapshot::{Snapshot, SnapshotError};
use crate::host::{Flavour, Host, Local, Shared};
use crate::registry::Registry;
use crate::session::{Session, SessionShared};
use crate::store::Epoch;
use crate::timer::Timer;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// Creates sessions over one host, registers their runs, and shuts them down. Clones share everything (C10, C11).
///
/// It is `Send + Sync` if its host is shared and its timer is both.
pub struct Engine<F: Flavour, T> {
    inner: Arc<Inner<F, T>>,
}

pub(crate) struct Inner<F: Flavour, T> {
    pub(crate) host: Host<F>,
    pub(crate) timer: T,
    pub(crate) config: Arc<Config>,
    pub(crate) registry: Arc<Registry>,
    bounds: HistoryBounds,
    ids: Option<F::Function<(IdKind, u64), String>>,
}

/// What a new id is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum IdKind {
    /// A session.
    Session,
    /// A run.
    Run,
}

/// The engine was shut down: it takes no new sessions and runs (C10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the engine was shut down")]
pub struct EngineShutdown;

/// Why a session cannot be made or changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The engine was shut down.
    #[error(transparent)]
    EngineShutdown(#[from] EngineShutdown),
    /// A run or another operation has the session (S2).
    #[error("the session is busy")]
    Busy,
    /// The history is not valid (M4).
    #[error(transparent)]
    History(#[from] crate::core::history::HistoryError),
    /// The last message holds calls without results (M4).
    #[error("{calls} calls of the last message have no result")]
    OpenCalls {
        /// How many.
        calls: usize,
    },
    /// A suspended run that was saved with the session is not of this state of it (H6).
    #[error("the suspended run does not belong to this state of the session")]
    OtherState,
    /// The source of ids gave one that is not valid (M1).
    #[error(transparent)]
    Id(#[from] IdError),
    /// The revision is the last that JSON can carry.
    #[error("the session's revision cannot grow any more")]
    RevisionFull,
}

impl From<SnapshotError> for SessionError {
    fn from(error: SnapshotError) -> Self {
        match error {
            SnapshotError::OpenCalls { calls } => Self::OpenCalls { calls },
            _ => Self::OtherState,
        }
    }
}

impl<F: Flavour, T: Timer + Clone> Engine<F, T> {
    /// An engine with default limits, whose runs have clones of `timer`.
    pub fn new(host: Host<F>, timer: T) -> Self {
        Self::builder(host, timer).build()
    }

    /// Begins an engine whose runs have clones of `timer`.
    pub fn builder(host: Host<F>, timer: T) -> EngineBuilder<F, T> {
        EngineBuilder {
            host,
            timer,
            config: Arc::new(Config::default()),
            bounds: HistoryBounds::default(),
            ids: None,
        }
    }

    /// A session without messages, at revision 0.
    ///
    /// # Errors
    ///
    /// [`SessionError::EngineShutdown`]; [`SessionError::Id`] if the source of ids gave one that is not valid.
    pub fn session(&self) -> Result<Session<F, T>, SessionError> {
        self.session_with(History::new(self.inner.bounds))
    }

    /// A session with this history, at revision 0.
    ///
    /// # Errors
    ///
    /// As [`Engine::session`]; [`SessionError::OpenCalls`] if the last message's calls have no results.
    pub fn session_with(&self, history: History) -> Result<Session<F, T>, SessionError> {
        let number = self.inner.registry.next_session()?;
        let id = SessionId::new(self.inner.new_id(IdKind::Session, number))?;
        let bounds = history.bounds();
        self.open(&Snapshot::new(id, Revision(0), history), bounds, None)
    }

    /// A session as it was saved: its history, its revision and what it knew beside them. Tools, policies, the model and
    /// its credentials are this engine's, and so are the bounds on the history; one that is longer stays as it is.
    /// Consents are to be given again (T2), and a source of boundary inputs is to be set again.
    ///
    /// Runs are counted on from where they were when the snapshot was taken, so that the default ids do not come again.
    /// Whatever ran later and was not saved is not known here: give the engine ids of your own where that matters; see
    /// [`EngineBuilder`].
    ///
    /// # Errors
    ///
    /// [`SessionError::EngineShutdown`]; [`SessionError::OpenCalls`] if the last message's calls have no results;
    /// [`SessionError::OtherState`] if a suspended run in it is not of this state of the session.
    pub fn restore(&self, snapshot: &Snapshot) -> Result<Session<F, T>, SessionError> {
        self.restore_claimed(snapshot, None)
    }

    /// A session as it was saved, for whoever has this claim of it.
    pub(crate) fn restore_claimed(
        &self,
        snapshot: &Snapshot,
        claim: Option<Epoch>,
    ) -> Result<Session<F, T>, SessionError> {
        self.inner.registry.count_from(snapshot.runs())?;
        self.open(snapshot, self.inner.bounds, claim)
    }

    fn open(
        &self,
        snapshot: &Snapshot,
        bounds: HistoryBounds,
        claim: Option<Epoch>,
    ) -> Result<Session<F, T>, SessionError> {
        self.inner.registry.check_open()?;
        snapshot.check()?;
        let shared = SessionShared::restore(snapshot, bounds, claim);
        Ok(Session::new(Arc::clone(&self.inner), Arc::new(shared)))
    }

    /// Cancels every run of the engine, also those that nobody polls, and every compaction by hand (K6), and returns how
    /// many there were (C10).
    ///
    /// When it returns, their logs are closed and their sessions idle. It waits for nothing: their futures are
    /// dropped when their drivers are polled next, and required observers are not waited for. Later calls return zero; new sessions and runs get
    /// [`EngineShutdown`].
    pub fn shutdown(&self) -> usize {
        let (runs, manual) = self.inner.registry.shut_down();
        manual.iter().for_each(CancellationToken::cancel);
        let count = manual.len() + runs.iter().filter(|run| run.abort(AbortCause::Shutdown)).count();
        self.inner.registry.best_effort.close();
        count
    }

    /// Begins a best-effort observer of all runs of the engine, those included that are under way: it gets what required
    /// observers accept from now on (L5).
    ///
    /// # Errors
    ///
    /// [`BestEffortError`] if the capacity is out of its bounds or the engine was shut down.
    pub fn best_effort(&self, options: BestEffortOptions) -> Result<BestEffort, BestEffortError> {
        self.inner.registry.best_effort.add(options)
    }

    pub(crate) fn host(&self) -> &Host<F> {
        &self.inner.host
    }

    /// How many runs are going on.
    pub fn runs(&self) -> usize {
        self.inner.registry.len()
    }

    /// Whether the engine was shut down.
    pub fn is_shut_down(&self) -> bool {
        self.inner.registry.is_shut_down()
    }
}

impl<F: Flavour, T> Inner<F, T> {
    /// The id of a new run. Of a session that was claimed, session and claim are part of it: whatever was lost with an
    /// earlier process, its ids do not come again, and neither do those of another session.
    pub(crate) fn new_run(
        &self,
        number: u64,
        session: &SessionId,
        epoch: Option<Epoch>,
    ) -> Result<RunId, IdError> {
        match (&self.ids, epoch) {
            (None, Some(epoch)) => Ok(RunId::of_claim(session, epoch.0, number)),
            (Some(_), _) | (None, None) => RunId::new(self.new_id(IdKind::Run, number)),
        }
    }

    /// A new id, from the host's source if there is one.
    pub(crate) fn new_id(&self, kind: IdKind, number: u64) -> String {
        match (&self.ids, kind) {
            (Some(ids), _) => F::call(ids, (kind, number)),
            (None, IdKind::Session) => format!("session-{number}"),
            (None, IdKind::Run) => format!("run-{number}"),
        }
    }
}

impl<F: Flavour, T> Clone for Engine<F, T> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<F: Flavour, T> fmt::Debug for Engine<F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("host", &self.inner.host).finish_non_exhaustive()
    }
}

/// Puts an [`Engine`] together.
#[must_use]
pub struct EngineBuilder<F: Flavour, T> {
    host: Host<F>,
    timer: T,
    config: Arc<Config>,
    bounds: HistoryBounds,
    ids: Option<F::Function<(IdKind, u64), String>>,
}

impl<F: Flavour, T: Timer + Clone> EngineBuilder<F, T> {
    /// With these limits, deadlines and retries.
    pub fn config(mut self, config: impl Into<Arc<Config>>) -> Self {
        self.config = config.into();
        self
    }

    /// With these bounds on the histories of new sessions.
    pub fn history_bounds(mut self, bounds: HistoryBounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// The engine.
    pub fn build(self) -> Engine<F, T> {
        let Self { host, timer, config, bounds, ids } = self;
        let inner = Inner { host, timer, config, registry: Arc::default(), bounds, ids };
        Engine { inner: Arc::new(inner) }
    }
}

impl<T> EngineBuilder<Shared, T> {
    /// With this source of ids (X3); it gets the kind and a number that counts from 1. The default is `run-1`,
    /// `session-1` and so on, which begins anew with each engine, runs behind those that a restored session knows of:
    /// where sessions outlive it, or keys of calls leave it (T6), ids must not come again. Sessions that a keeper has opened
    /// have runs `session/run-1-1` and so on, with the number of the claim. Ids have 1 to 256 bytes and no control
    /// characters, and a session's runs must differ.
    pub fn ids(mut self, ids: impl Fn(IdKind, u64) -> String + Send + Sync + 'static) -> Self {
        self.ids = Some(Arc::new(move |(kind, number)| ids(kind, number)));
        self
    }
}

impl<T> EngineBuilder<Local, T> {
    /// With this source of ids (X3); it gets the kind and a number that counts from 1. The default is `run-1`,
    /// `session-1` and so on, which begins anew with each engine, runs behind those that a restored session knows of:
    /// where sessions outlive it, or keys of calls leave it (T6), ids must not come again. Sessions that a keeper has opened
    /// have runs `session/run-1-1` and so on, with the number of the claim. Ids have 1 to 256 bytes and no control
    /// characters, and a session's runs must differ.
    pub fn ids(mut self, ids: impl Fn(IdKind, u64) -> String + 'static) -> Self {
        self.ids = Some(Rc::new(move |(kind, number)| ids(kind, number)));
        self
    }
}

impl<F: Flavour, T> fmt::Debug for EngineBuilder<F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineBuilder").field("host", &self.host).finish_non_exhaustive()
    }
}
