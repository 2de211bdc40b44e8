//! A store in one file of SQLite, for one machine; only with the feature `sqlite`.

mod schema;
mod tables;
mod worker;

pub use schema::VERSION;

use super::{JournalId, JournalSummary, Line, Owner, Page, Record, RunSummary, SessionStore, StoreError};
use crate::core::id::{Revision, RunId, Seq, SessionId};
use crate::core::snapshot::Snapshot;
use crate::sync::Arc;
use rusqlite::Connection;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use worker::{Call, Closing, Latch, Queue, Slot, Wait};

/// Keeps sessions in one file, with a write-ahead log beside it. Clones are the same store; several processes of one
/// machine may open one file, which must not lie on a network's file system.
///
/// It has a thread of its own, needs no executor, and its futures are woken from that thread. What is written at the same
/// time is committed together. A commit is answered when the operating system says that it is on the medium
/// (`synchronous = FULL`). The thread ends when the last clone is gone and everything is written; [`SqliteStore::close`]
/// waits for that. The file holds what people and models have said, with the permissions that the process gives new
/// files.
#[derive(Clone)]
pub struct SqliteStore {
    shared: Arc<Opened>,
}

/// Closes the queue with the last clone.
struct Opened {
    queue: Arc<Queue>,
    ended: Arc<Latch>,
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.queue.close();
    }
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// How many calls may wait for the thread, from 1 on; further ones wait for a place. 256.
    pub queue: usize,
    /// How long to wait for another process that writes. 5 s.
    pub busy: Duration,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self { queue: 256, busy: Duration::from_secs(5) }
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").finish_non_exhaustive()
    }
}

impl SqliteStore {
    /// Opens a file, or makes one.
    ///
    /// # Errors
    ///
    /// [`StoreError::Foreign`] if something else is in the file, [`StoreError::Version`] if another version made it,
    /// [`StoreError::Failed`] if it cannot be opened.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with(path, SqliteOptions::default()).await
    }

    /// Opens a file with these options; see [`SqliteStore::open`].
    ///
    /// # Errors
    ///
    /// As [`SqliteStore::open`].
    pub async fn open_with(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, StoreError> {
        let queue = Arc::new(Queue::new(options.queue.max(1)));
        let (opened, ended) = (Slot::new(), Arc::new(Latch::default()));
        let thread = Thread {
            path: path.as_ref().to_owned(),
            busy: options.busy,
            queue: Arc::clone(&queue),
            opened: Some(Arc::clone(&opened)),
            ended: Arc::clone(&ended),
        };
        let builder = std::thread::Builder::new().name("runloom-sqlite".into());
        builder.spawn(move || thread.run()).map_err(|error| StoreError::Failed(error.to_string().into()))?;
        let shared = Arc::new(Opened { queue, ended });
        Wait(opened).await?;
        Ok(Self { shared })
    }

    /// Takes no more calls, from any clone, and waits until the others are done and the file is closed.
    pub async fn close(&self) {
        self.shared.queue.close();
        self.shared.ended.wait().await;
    }

    fn call<T: Send + 'static>(
        &self,
        writes: bool,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Call<'_, T> {
        Call::new(&self.shared.queue, writes, work)
    }
}

/// What the thread has.
struct Thread {
    path: PathBuf,
    busy: Duration,
    queue: Arc<Queue>,
    opened: Option<Arc<Slot<()>>>,
    ended: Arc<Latch>,
}

impl Thread {
    fn run(mut self) {
        let opened = schema::open(&self.path, self.busy);
        let slot = self.opened.take();
        let say = |result| slot.iter().for_each(|slot| slot.fill(Result::clone(&result)));
        match opened {
            Ok(connection) => {
                say(Ok(()));
                let closing = Closing(&self.queue);
                worker::work(&connection, &self.queue);
                drop(closing);
                // What it cannot write back any more is in the log beside the file.
                let _ = connection.close();
            }
            Err(error) => say(Err(error)),
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        if let Some(opened) = self.opened.take() {
            opened.fill(Err(StoreError::Closed));
        }
        self.ended.set();
    }
}

impl SessionStore for SqliteStore {
    async fn claim(&self, session: &SessionId) -> Result<Owner, StoreError> {
        let session = session.clone();
        self.call(true, move |connection| tables::claim(connection, &session)).await
    }

    async fn load(&self, session: &SessionId) -> Result<Option<Snapshot>, StoreError> {
        let session = session.clone();
        self.call(false, move |connection| tables::load(connection, &session)).await
    }

    async fn save(
        &self,
        owner: &Owner,
        snapshot: &Snapshot,
        expected: Option<Revision>,
    ) -> Result<(), StoreError> {
        let (owner, snapshot) = (owner.clone(), snapshot.clone());
        self.call(true, move |connection| tables::save(connection, &owner, &snapshot, expected)).await
    }

    async fn sessions(&self, after: Option<&SessionId>, limit: usize) -> Result<Vec<SessionId>, StoreError> {
        let after = after.cloned();
        self.call(false, move |connection| tables::sessions(connection, after.as_ref(), limit)).await
    }

    async fn delete(&self, owner: &Owner) -> Result<(), StoreError> {
        let owner = owner.clone();
        self.call(true, move |connection| tables::delete(connection, &owner)).await
    }

    async fn record(&self, owner: &Owner, record: &Record) -> Result<(), StoreError> {
        let (owner, record) = (owner.clone(), record.clone());
        self.call(true, move |connection| tables::record(connection, &owner, &record)).await
    }

    async fn runs(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<RunSummary>, StoreError> {
        let session = session.clone();
        self.call(false, move |connection| tables::runs(connection, &session, after, limit)).await
    }

    async fn events(
        &self,
        session: &SessionId,
        run: &RunId,
        after: Seq,
        page: Page,
    ) -> Result<Vec<Line>, StoreError> {
        let (session, run) = (session.clone(), run.clone());
        self.call(false, move |connection| tables::events(connection, &session, &run, after, page)).await
    }

    async fn journals(&self, session: &SessionId) -> Result<Vec<JournalSummary>, StoreError> {
        let session = session.clone();
        self.call(false, move |connection| tables::journals(connection, &session)).await
    }

    async fn journal(&self, id: &JournalId, after: u64, page: Page) -> Result<Vec<Line>, StoreError> {
        let id = id.clone();
        self.call(false, move |connection| tables::journal(connection, &id, after, page)).await
    }

    async fn retire(&self, owner: &Owner, run: &RunId, before: Seq) -> Result<(), StoreError> {
        let (owner, run) = (owner.clone(), run.clone());
        self.call(true, move |connection| tables::retire(connection, &owner, &run, before)).await
    }
}
