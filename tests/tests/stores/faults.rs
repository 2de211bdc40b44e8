//! Stores with one fault each: every fault is found.

use futures_lite::future::block_on;
use runloom::store::{
    JournalId, JournalSummary, Line, MemoryStore, Owner, Page, Record, RunSummary, SessionStore, StoreError,
};
use runloom::testing::store::check;
use runloom::{Revision, RunId, Seq, SessionId, Snapshot};
use std::sync::{Arc, Mutex};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    OldOwnersWrite,
    OldOwnersSave,
    OldOwnersDelete,
    ClaimsRepeat,
    EveryRevisionIsReplaced,
    SavesAreLost,
    RepeatedSavesConflict,
    TheLastEventIsLost,
    RecordsAreTorn,
    GapsAreCut,
    OtherTextsAreAccepted,
    RepeatedLinesAreRefused,
    PagesAreNotBounded,
    PagesBeginAnew,
    NothingIsRetired,
    EverythingIsRetired,
    SessionsComeBackwards,
    NothingIsDeleted,
    PartsShareAJournal,
    RunsComeBackwards,
}

const ALL: [Fault; 20] = [
    Fault::OldOwnersWrite,
    Fault::OldOwnersSave,
    Fault::OldOwnersDelete,
    Fault::ClaimsRepeat,
    Fault::EveryRevisionIsReplaced,
    Fault::SavesAreLost,
    Fault::RepeatedSavesConflict,
    Fault::TheLastEventIsLost,
    Fault::RecordsAreTorn,
    Fault::GapsAreCut,
    Fault::OtherTextsAreAccepted,
    Fault::RepeatedLinesAreRefused,
    Fault::PagesAreNotBounded,
    Fault::PagesBeginAnew,
    Fault::NothingIsRetired,
    Fault::EverythingIsRetired,
    Fault::SessionsComeBackwards,
    Fault::NothingIsDeleted,
    Fault::PartsShareAJournal,
    Fault::RunsComeBackwards,
];

#[derive(Clone)]
struct Faulty {
    inner: MemoryStore,
    fault: Fault,
    newest: Arc<Mutex<Vec<Owner>>>,
}

impl Faulty {
    fn new(fault: Fault) -> Self {
        Self { inner: MemoryStore::new(), fault, newest: Arc::default() }
    }

    fn newest(&self, session: &SessionId) -> Option<Owner> {
        self.newest.lock().unwrap().iter().rev().find(|owner| owner.session == *session).cloned()
    }

    /// The owner, or the newest one in the place of an older one.
    fn owner(&self, owner: &Owner, fault: Fault) -> Owner {
        let newest = self.newest(&owner.session).filter(|_| self.fault == fault);
        newest.unwrap_or_else(|| owner.clone())
    }

    fn page(&self, page: Page) -> Page {
        if self.fault == Fault::PagesAreNotBounded { Page { lines: 1_000, bytes: u64::MAX } } else { page }
    }

    fn after(&self, after: u64) -> u64 {
        if self.fault == Fault::PagesBeginAnew { 0 } else { after }
    }
}

impl SessionStore for Faulty {
    async fn claim(&self, session: &SessionId) -> Result<Owner, StoreError> {
        if let (Fault::ClaimsRepeat, Some(owner)) = (self.fault, self.newest(session)) {
            return Ok(owner);
        }
        let owner = self.inner.claim(session).await?;
        self.newest.lock().unwrap().push(owner.clone());
        Ok(owner)
    }

    async fn load(&self, session: &SessionId) -> Result<Option<Snapshot>, StoreError> {
        self.inner.load(session).await
    }

    async fn save(
        &self,
        owner: &Owner,
        snapshot: &Snapshot,
        expected: Option<Revision>,
    ) -> Result<(), StoreError> {
        let owner = self.owner(owner, Fault::OldOwnersSave);
        let kept = self.inner.load(&owner.session).await?;
        let found = kept.as_ref().map(Snapshot::revision);
        match self.fault {
            Fault::SavesAreLost if found.is_some() => Ok(()),
            Fault::EveryRevisionIsReplaced => self.inner.save(&owner, snapshot, found).await,
            Fault::RepeatedSavesConflict if kept.as_ref() == Some(snapshot) && found != expected => {
                Err(StoreError::Conflict { expected, found })
            }
            _ => self.inner.save(&owner, snapshot, expected).await,
        }
    }

    async fn sessions(&self, after: Option<&SessionId>, limit: usize) -> Result<Vec<SessionId>, StoreError> {
        let mut page = self.inner.sessions(after, limit).await?;
        if self.fault == Fault::SessionsComeBackwards {
            page.reverse();
        }
        Ok(page)
    }

    async fn delete(&self, owner: &Owner) -> Result<(), StoreError> {
        let owner = self.owner(owner, Fault::OldOwnersDelete);
        if self.fault == Fault::NothingIsDeleted {
            return self.inner.record(&owner, &Record::new(RunId::new("r").unwrap())).await;
        }
        self.inner.delete(&owner).await
    }

    async fn record(&self, owner: &Owner, record: &Record) -> Result<(), StoreError> {
        let owner = self.owner(owner, Fault::OldOwnersWrite);
        let mut record = record.clone();
        match self.fault {
            Fault::TheLastEventIsLost => drop(record.events.pop()),
            Fault::PartsShareAJournal => record.part = Seq(0),
            Fault::RecordsAreTorn => {
                let events = Record { journal: Vec::new(), ..record.clone() };
                self.inner.record(&owner, &events).await?;
            }
            Fault::GapsAreCut => {
                let whole = record.events.windows(2).take_while(|pair| pair[0].number + 1 == pair[1].number);
                let whole = whole.count() + 1;
                record.events.truncate(whole);
            }
            _ => {}
        }
        let known = self.inner.events(&owner.session, &record.run, Seq(0), Page::default()).await?;
        let first = record.events.first().map_or(u64::MAX, |line| line.number);
        if self.fault == Fault::RepeatedLinesAreRefused && known.iter().any(|line| line.number == first) {
            return Err(StoreError::Differs { run: record.run, number: first });
        }
        match self.inner.record(&owner, &record).await {
            Err(StoreError::Differs { .. }) if self.fault == Fault::OtherTextsAreAccepted => Ok(()),
            other => other,
        }
    }

    async fn runs(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<RunSummary>, StoreError> {
        let mut page = self.inner.runs(session, after, limit).await?;
        if self.fault == Fault::RunsComeBackwards {
            page.reverse();
        }
        Ok(page)
    }

    async fn events(
        &self,
        session: &SessionId,
        run: &RunId,
        after: Seq,
        page: Page,
    ) -> Result<Vec<Line>, StoreError> {
        self.inner.events(session, run, Seq(self.after(after.0)), self.page(page)).await
    }

    async fn journals(&self, session: &SessionId) -> Result<Vec<JournalSummary>, StoreError> {
        self.inner.journals(session).await
    }

    async fn journal(&self, id: &JournalId, after: u64, page: Page) -> Result<Vec<Line>, StoreError> {
        self.inner.journal(id, self.after(after), self.page(page)).await
    }

    async fn retire(&self, owner: &Owner, run: &RunId, before: Seq) -> Result<(), StoreError> {
        match self.fault {
            Fault::NothingIsRetired => Ok(()),
            Fault::EverythingIsRetired => self.inner.delete(owner).await,
            _ => self.inner.retire(owner, run, before).await,
        }
    }
}

#[test]
fn every_fault_is_found() {
    for fault in ALL {
        let store = Faulty::new(fault);
        let report = block_on(check(async || store.clone()));
        assert!(!report.faults.is_empty(), "{fault:?} was not found by any of {:?}", report.checks);
    }
}
