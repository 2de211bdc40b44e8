//! Keeps the sessions of an engine in a store: their runs go on when the store has what came before (L5, H7).

mod book;
mod open;

pub(crate) use book::{Book, Scribe, Tail};
pub use open::{OpenError, Opened, Orphan, Resumed};

use super::{Epoch, JournalSummary, LocalSessionStore, Owner, SessionStore, StoreError};
use crate::core::id::{Seq, SessionId};
use crate::core::observe::{ObserveRequest, ObserverFault};
use crate::core::snapshot::Snapshot;
use crate::host::Flavour;
use crate::session::Session;
use crate::sync::Arc;
use std::fmt;

/// Keeps the sessions of engines in a store. Clones are the same keeper.
///
/// Give it to the host ([`HostBuilder::keeper`](crate::HostBuilder::keeper)) and open sessions with it
/// ([`Keeper::open`]): each run of such a session is recorded with its journal, and begins nothing before the store has
/// answered for what was recorded before. After a crash the next process opens the session, and finds what was answered.
/// Between runs, [`Keeper::save`] keeps a snapshot, which makes the journals before it superfluous.
pub struct Keeper<S> {
    store: Arc<S>,
    book: Book,
}

impl<S> Clone for Keeper<S> {
    fn clone(&self) -> Self {
        Self { store: Arc::clone(&self.store), book: self.book.clone() }
    }
}

impl<S> fmt::Debug for Keeper<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper").finish_non_exhaustive()
    }
}

impl<S> Keeper<S> {
    /// Keeps sessions in this store.
    pub fn new(store: S) -> Self {
        Self { store: Arc::new(store), book: Book::default() }
    }

    /// The store.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// The claim of a session that was opened.
    pub fn owner(&self, session: &SessionId) -> Option<Owner> {
        self.book.get(session).map(|kept| kept.owner)
    }

    pub(crate) fn book(&self) -> &Book {
        &self.book
    }

    /// What earlier runs of the session have left, and then what this one has.
    fn up_to(&self, tail: &Arc<Tail>) -> Vec<Arc<Tail>> {
        let kept = self.book.get(&tail.owner.session).filter(|kept| kept.owner == tail.owner);
        let mut tails = kept.map(|kept| kept.tails).unwrap_or_default();
        tails.retain(|other| !Arc::ptr_eq(other, tail));
        tails.push(Arc::clone(tail));
        tails
    }
}

fn refused(request: &ObserveRequest, error: &StoreError) -> ObserverFault {
    ObserverFault::new(request.after(), error.to_string())
}

impl<S: SessionStore> Keeper<S> {
    /// What the host does with a request of a run that is kept.
    pub(crate) async fn keep(
        self,
        tail: Arc<Tail>,
        request: Arc<ObserveRequest>,
    ) -> Result<(), ObserverFault> {
        for tail in self.up_to(&tail) {
            let Some(record) = tail.record() else { continue };
            let kept = SessionStore::record(&*self.store, &tail.owner, &record).await;
            kept.map(|()| tail.confirm(&record)).map_err(|error| refused(&request, &error))?;
        }
        Ok(())
    }
}

impl<S: LocalSessionStore> Keeper<S> {
    /// As [`Keeper::keep`], on one thread.
    pub(crate) async fn keep_locally(
        self,
        tail: Arc<Tail>,
        request: Arc<ObserveRequest>,
    ) -> Result<(), ObserverFault> {
        for tail in self.up_to(&tail) {
            self.flush(&tail).await.map_err(|error| refused(&request, &error))?;
        }
        Ok(())
    }

    async fn flush(&self, tail: &Tail) -> Result<(), StoreError> {
        if let Some(record) = tail.record() {
            self.store.record(&tail.owner, &record).await?;
            tail.confirm(&record);
        }
        Ok(())
    }

    /// Keeps a snapshot of the session in the place of the last one, and forgets the journals that it makes superfluous.
    /// What a run that was dropped has left unrecorded is recorded before.
    ///
    /// # Errors
    ///
    /// [`StoreError::Closed`] if the session was not opened with this keeper, [`StoreError::Fenced`] if it was opened again
    /// since; else as
    /// [`SessionStore::save`](super::SessionStore::save).
    pub async fn save<F: Flavour, T>(&self, session: &Session<F, T>) -> Result<(), StoreError> {
        let kept = self.book.get(session.id()).ok_or(StoreError::Closed)?;
        let (claim, current) = (session.shared.claim.unwrap_or(Epoch(0)), kept.owner.epoch);
        if claim != current {
            return Err(StoreError::Fenced { epoch: claim, current });
        }
        for tail in &kept.tails {
            self.flush(tail).await?;
        }
        self.save_snapshot(&kept.owner, &session.snapshot(), kept.saved).await
    }

    async fn save_snapshot(
        &self,
        owner: &Owner,
        snapshot: &Snapshot,
        expected: Option<crate::core::id::Revision>,
    ) -> Result<(), StoreError> {
        let tried = self.book.trying(owner, snapshot.revision());
        match self.store.save(owner, snapshot, expected).await {
            // An earlier save of this claim was kept, and its answer lost.
            Err(StoreError::Conflict { found: found @ Some(kept), .. })
                if tried.is_some_and(|tried| kept <= tried) && kept <= snapshot.revision() =>
            {
                self.store.save(owner, snapshot, found).await?;
            }
            saved => saved?,
        }
        self.book.saved(owner, snapshot.revision());
        self.retire(owner, snapshot).await
    }

    /// Forgets the journals that a snapshot makes superfluous: that of its last run, and those before it.
    async fn retire(&self, owner: &Owner, snapshot: &Snapshot) -> Result<(), StoreError> {
        let journals = self.store.journals(&owner.session).await?;
        let covered = journals.iter().rposition(|journal| covers(snapshot, journal));
        for journal in journals.iter().take(covered.map_or(0, |at| at + 1)) {
            let before = Seq(journal.id.part.0.saturating_add(1));
            self.store.retire(owner, &journal.id.run, before).await?;
        }
        Ok(())
    }

    /// Forgets the session, its runs and journals, in the store and here. A run that is under way fails: what it writes
    /// is refused.
    ///
    /// # Errors
    ///
    /// As [`Keeper::save`].
    pub async fn delete(&self, session: &SessionId) -> Result<(), StoreError> {
        let kept = self.book.get(session).ok_or(StoreError::Closed)?;
        self.store.delete(&kept.owner).await?;
        // Another claim ends the one that a run may still write with; what it wrote in between goes, too.
        let owner = self.store.claim(session).await?;
        self.store.delete(&owner).await?;
        drop(self.book.remove(session));
        Ok(())
    }
}

/// Whether a snapshot holds what came of a journal's part.
fn covers(snapshot: &Snapshot, journal: &JournalSummary) -> bool {
    snapshot.last_run().is_some_and(|last| last.id == journal.id.run && last.seq > journal.id.part)
}
