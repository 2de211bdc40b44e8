//! How a session is opened: as it was saved, or rebuilt from the journal of the run that its process was lost with (H7).

use super::{Keeper, Scribe, covers};
use crate::boundary::BoundarySource;
use crate::core::Outbox;
use crate::core::error::Misuse;
use crate::core::history::History;
use crate::core::id::{Revision, SessionId};
use crate::core::journal::{JournalBounds, Recovered, ReplayError, recover};
use crate::core::outcome::{Outcome, RunResult};
use crate::core::snapshot::{LastRun, Lifecycle, Snapshot};
use crate::driver::Driver;
use crate::engine::{Engine, SessionError};
use crate::host::{Flavour, HostTransport};
use crate::run::Run;
use crate::session::Session;
use crate::start::{Rebuilt, RunOptions, StartError};
use crate::store::check::as_kept;
use crate::store::{JournalId, JournalSummary, LocalSessionStore, Owner, Page, StoreError};
use crate::sync::Arc;
use crate::timer::Timer;
use std::fmt;

/// Why a session cannot be opened. What is kept of it stays as it is, but the claim counts.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The engine's host has another keeper or none: its runs would not be kept.
    #[error("the engine's host has another keeper")]
    OtherHost,
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The session.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The journal of the last run cannot be read, or says something else than its run.
    #[error("the run cannot be rebuilt: {0}")]
    Journal(#[from] ReplayError),
    /// The run that was rebuilt goes neither on nor to its end.
    #[error("the run that was rebuilt does not go on: {0}")]
    Misuse(#[from] Misuse),
    /// The run cannot go on in this engine.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// A session that was opened.
#[derive(Debug)]
#[must_use]
pub enum Opened<F: Flavour, T, S> {
    /// It rests.
    Session(Session<F, T>),
    /// A run of it was under way when its process was lost: the host decides about it.
    Orphan(Box<Orphan<F, T, S>>),
}

impl<F: Flavour, T: Timer + Clone, S: LocalSessionStore> Opened<F, T, S> {
    /// The session; a run that was under way is closed.
    ///
    /// # Errors
    ///
    /// As [`Orphan::close`].
    pub async fn or_close(self) -> Result<Session<F, T>, OpenError> {
        match self {
            Self::Session(session) => Ok(session),
            Self::Orphan(orphan) => orphan.close().await,
        }
    }
}

/// A run whose process was lost, rebuilt from its journal. It goes on, or is closed as `run.failed{interrupted}`; dropping
/// it decides nothing, and the next who opens the session finds it again.
#[must_use]
pub struct Orphan<F: Flavour, T, S> {
    keeper: Keeper<S>,
    engine: Engine<F, T>,
    owner: Owner,
    stored: Option<Snapshot>,
    journal: JournalSummary,
    recovered: Recovered,
    source: Option<BoundarySource>,
}

impl<F: Flavour, T, S> fmt::Debug for Orphan<F, T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Orphan").field("run", &self.journal.id.run).finish_non_exhaustive()
    }
}

impl<S: LocalSessionStore> Keeper<S> {
    /// Claims the session and restores it from what the store has of it; nothing: it begins empty, at revision 0. Whoever
    /// had claimed it before cannot write any more.
    ///
    /// A run that has ended and was not saved is committed and saved. One that was under way is handed to the host.
    ///
    /// # Errors
    ///
    /// [`OpenError`].
    pub async fn open<F: Flavour, T: Timer + Clone>(
        &self,
        engine: &Engine<F, T>,
        session: &SessionId,
    ) -> Result<Opened<F, T, S>, OpenError> {
        if !engine.host().book().is_some_and(|book| book.is(&self.book)) {
            return Err(OpenError::OtherHost);
        }
        self.flush_all(session).await?;
        let owner = self.store.claim(session).await?;
        let stored = self.store.load(session).await?;
        let journal = self.store.journals(session).await?.pop();
        self.book.put(owner.clone(), stored.as_ref().map(Snapshot::revision));
        let open =
            journal.filter(|journal| !stored.as_ref().is_some_and(|snapshot| covers(snapshot, journal)));
        let Some(journal) = open else {
            if let Some(snapshot) = &stored {
                self.retire(&owner, snapshot).await?;
            }
            let empty = || Snapshot::new(session.clone(), Revision(0), History::default());
            let stored = stored.unwrap_or_else(empty);
            return Ok(Opened::Session(engine.restore_claimed(&stored, Some(owner.epoch))?));
        };
        let recovered = self.rebuild(&journal.id).await?;
        let is_over = recovered.run.is_over();
        let (keeper, engine) = (self.clone(), engine.clone());
        let orphan = Orphan { keeper, engine, owner, stored, journal, recovered, source: None };
        if is_over {
            orphan.finish().await.map(Opened::Session)
        } else {
            Ok(Opened::Orphan(Box::new(orphan)))
        }
    }

    /// Records what runs of the session have left here, as far as its claim still counts.
    async fn flush_all(&self, session: &SessionId) -> Result<(), StoreError> {
        for tail in self.book.get(session).map(|kept| kept.tails).unwrap_or_default() {
            match self.flush(&tail).await {
                // What another owner has decided stands.
                Ok(())
                | Err(StoreError::Fenced { .. } | StoreError::Gap { .. } | StoreError::Differs { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Replays a journal.
    async fn rebuild(&self, id: &JournalId) -> Result<Recovered, OpenError> {
        let mut text = Vec::new();
        let mut after = 0;
        loop {
            let lines = self.store.journal(id, after, Page::default()).await?;
            let Some(last) = lines.last() else { break };
            after = last.number;
            for line in &lines {
                text.extend_from_slice(line.text.as_bytes());
                text.push(b'\n');
            }
        }
        let bounds = JournalBounds { bytes: text.len() as u64, line: as_kept(text.len()) };
        Ok(recover(&text, &bounds)?)
    }
}

impl<F: Flavour, T: Timer + Clone, S: LocalSessionStore> Orphan<F, T, S> {
    /// The run.
    pub fn run_id(&self) -> &crate::core::id::RunId {
        &self.journal.id.run
    }

    /// Closes the run as `run.failed{interrupted}`: what was open is closed, what it brought is committed, and both are in
    /// the store when the session is there.
    ///
    /// # Errors
    ///
    /// [`OpenError`].
    pub async fn close(mut self) -> Result<Session<F, T>, OpenError> {
        let mut out = Outbox::new();
        let _ = self.recovered.close(&mut out)?;
        self.finish().await
    }

    /// With this source of boundary inputs for the run and the session, if the run goes on. A run that was started with
    /// one is asked for another: without it, it fails when it comes to its next question (B6).
    pub fn boundary_inputs(mut self, source: BoundarySource) -> Self {
        self.source = Some(source);
        self
    }

    /// Goes on with the run: what may be begun again is, and tools that may have run have an unknown outcome. Its events
    /// begin behind those that are in the store, and so does what a journal among the options gets. Whether it is put aside by
    /// itself stays as it was started.
    ///
    /// # Errors
    ///
    /// [`OpenError`].
    pub fn go_on(self, options: RunOptions) -> Result<Resumed<F, T>, OpenError> {
        let (session, scribe) = self.session_before()?;
        drop(session.set_boundary_inputs(self.source)?);
        let Recovered { run, recorder, .. } = self.recovered;
        let rebuilt = Rebuilt { machine: run, recorder, scribe };
        let (run, driver) = crate::start::go_on(&session, rebuilt, options)?;
        Ok(Resumed { session, run, driver })
    }

    /// The session as the run has found it, or as it has committed last, and the record that goes on.
    fn session_before(&self) -> Result<(Session<F, T>, Scribe), OpenError> {
        let machine = &self.recovered.run;
        let (history, revision) = machine.committed().map_or_else(
            || (History::default(), Revision(0)),
            |(history, revision)| (history.clone(), revision),
        );
        let snapshot = self.with_stored(Snapshot::new(self.owner.session.clone(), revision, history));
        let last = self.stored.as_ref().and_then(Snapshot::last_run).cloned();
        let snapshot = snapshot.with_last_run(last);
        let suspended = self.stored.as_ref().and_then(|stored| stored.suspended().cloned());
        let snapshot = match suspended {
            Some(value) if value.revision() == revision => snapshot.with_suspended(value),
            _ => snapshot,
        };
        let session = self.engine.restore_claimed(&snapshot, Some(self.owner.epoch))?;
        Ok((session, self.scribe()?))
    }

    /// What the store has and the journal does not tell.
    fn with_stored(&self, snapshot: Snapshot) -> Snapshot {
        let snapshot = snapshot.with_model(self.engine.host().model_spec().name.clone());
        match &self.stored {
            Some(stored) => snapshot
                .with_metadata(stored.metadata().clone())
                .with_context(stored.context())
                .with_runs(stored.runs()),
            None => snapshot,
        }
    }

    /// Goes on with the record behind what is in the store.
    fn scribe(&self) -> Result<Scribe, OpenError> {
        let JournalId { session, run, part } = &self.journal.id;
        let book = &self.keeper.book;
        let tail = book.tail(&self.owner, run, *part, self.journal.lines);
        let tail = tail.ok_or_else(|| match book.epoch(session) {
            Some(current) => StoreError::Fenced { epoch: self.owner.epoch, current },
            None => StoreError::Closed,
        })?;
        Ok(Scribe::new(tail, self.recovered.seq))
    }

    /// Records the end of a run that is over, saves what came of it, and restores the session from that.
    async fn finish(mut self) -> Result<Session<F, T>, OpenError> {
        if self.recovered.run.outcome().is_none() {
            // Only observers had not answered for its end: this record is the answer.
            let _ = self.recovered.close(&mut Outbox::new())?;
        }
        let mut scribe = self.scribe()?;
        scribe.write(&self.recovered.recorder.take());
        self.keeper.flush(scribe.tail()).await?;
        let outcome = self.recovered.run.outcome().cloned();
        let outcome = outcome.ok_or(OpenError::Store(StoreError::Closed))?;
        let snapshot = self.committed(&outcome);
        let session = self.engine.restore_claimed(&snapshot, Some(self.owner.epoch))?;
        let expected = self.stored.as_ref().map(Snapshot::revision);
        self.keeper.save_snapshot(&self.owner, &snapshot, expected).await?;
        Ok(session)
    }

    /// The session with what came of the run.
    fn committed(&self, outcome: &Outcome) -> Snapshot {
        let session = self.owner.session.clone();
        let snapshot = Snapshot::new(session, outcome.revision, outcome.history.clone());
        let last = LastRun { id: self.journal.id.run.clone(), seq: outcome.last_seq };
        let snapshot = self.with_stored(snapshot).with_context(outcome.context).with_last_run(Some(last));
        match &outcome.result {
            RunResult::Completed(_) => snapshot.with_lifecycle(Lifecycle::Completed),
            RunResult::Failed(_) => snapshot.with_lifecycle(Lifecycle::Failed),
            RunResult::Suspended(value) => snapshot.with_suspended(Arc::clone(value)),
            _ => snapshot,
        }
    }
}

/// A run that goes on in this process.
#[must_use]
pub struct Resumed<F: Flavour, T: Timer> {
    /// Its session.
    pub session: Session<F, T>,
    /// Its handle.
    pub run: Run,
    /// The future that does its work.
    pub driver: Driver<T, HostTransport<F>>,
}

impl<F: Flavour, T: Timer> fmt::Debug for Resumed<F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resumed").field("run", &self.run.id()).finish_non_exhaustive()
    }
}
