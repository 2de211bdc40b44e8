//! What a store does; the module's text says what it promises.

use super::{JournalId, JournalSummary, Line, Owner, Page, Record, RunSummary, StoreError};
use crate::core::id::{Revision, RunId, Seq, SessionId};
use crate::core::snapshot::Snapshot;
use std::future::Future;

/// Declares the pair of traits: the same functions, with futures that may move between threads and without.
macro_rules! store_traits {
    ($(
        $(#[$doc:meta])*
        fn $name:ident(&self $(, $arg:ident: $type:ty)*) -> $output:ty;
    )*) => {
        /// A store whose futures may stay on one thread.
        ///
        /// Implement it where nothing is `Send`. Elsewhere implement [`SessionStore`], which brings this trait along.
        pub trait LocalSessionStore: 'static {
            $(
                $(#[$doc])*
                fn $name(&self $(, $arg: $type)*) -> impl Future<Output = Result<$output, StoreError>>;
            )*
        }

        /// A store whose futures may move between threads. The contract is that of the [module](crate::store).
        pub trait SessionStore: Send + Sync + 'static {
            $(
                $(#[$doc])*
                fn $name(&self $(, $arg: $type)*) -> impl Future<Output = Result<$output, StoreError>> + Send;
            )*
        }

        impl<S: SessionStore> LocalSessionStore for S {
            $(
                fn $name(&self $(, $arg: $type)*) -> impl Future<Output = Result<$output, StoreError>> {
                    SessionStore::$name(self $(, $arg)*)
                }
            )*
        }
    };
}

store_traits! {
    /// Takes the session over, whether or not there is something of it. All earlier claims are over when it returns.
    ///
    /// # Errors
    ///
    /// [`StoreError::Failed`], [`StoreError::Closed`].
    fn claim(&self, session: &SessionId) -> Owner;

    /// The newest snapshot of the session, if one is kept; one of any size, as it was taken.
    ///
    /// # Errors
    ///
    /// [`StoreError::Import`] if it cannot be read; as [`claim`](Self::claim).
    fn load(&self, session: &SessionId) -> Option<Snapshot>;

    /// Keeps a snapshot in the place of the one with the revision `expected`; `None`: there is none. The one that is kept
    /// already, word for word, is accepted whatever was expected.
    ///
    /// # Errors
    ///
    /// [`StoreError::Fenced`], [`StoreError::Conflict`], [`StoreError::OtherSession`]; as [`claim`](Self::claim).
    fn save(&self, owner: &Owner, snapshot: &Snapshot, expected: Option<Revision>) -> ();

    /// Sessions with a snapshot behind `after`, in the order of their bytes; at most so many.
    ///
    /// # Errors
    ///
    /// As [`claim`](Self::claim).
    fn sessions(&self, after: Option<&SessionId>, limit: usize) -> Vec<SessionId>;

    /// Forgets the session, all of its runs and their journals. Its claims go on to count.
    ///
    /// # Errors
    ///
    /// [`StoreError::Fenced`]; as [`claim`](Self::claim).
    fn delete(&self, owner: &Owner) -> ();

    /// Adds to the record of a run of the session: all of it or nothing.
    ///
    /// # Errors
    ///
    /// [`StoreError::Fenced`], [`StoreError::Differs`], [`StoreError::Gap`]; as [`claim`](Self::claim).
    fn record(&self, owner: &Owner, record: &Record) -> ();

    /// Runs of the session behind this place, oldest first; at most so many.
    ///
    /// # Errors
    ///
    /// As [`claim`](Self::claim).
    fn runs(&self, session: &SessionId, after: u64, limit: usize) -> Vec<RunSummary>;

    /// Events of a run behind `after`, in order. None: there are no more.
    ///
    /// # Errors
    ///
    /// As [`claim`](Self::claim).
    fn events(&self, session: &SessionId, run: &RunId, after: Seq, page: Page) -> Vec<Line>;

    /// The session's journals that are not retired, oldest first.
    ///
    /// # Errors
    ///
    /// As [`claim`](Self::claim).
    fn journals(&self, session: &SessionId) -> Vec<JournalSummary>;

    /// Lines of a journal behind `after`, in order. None: there are no more.
    ///
    /// # Errors
    ///
    /// As [`claim`](Self::claim).
    fn journal(&self, id: &JournalId, after: u64, page: Page) -> Vec<Line>;

    /// Forgets the journals of those parts of a run that began before this event, which a snapshot has made superfluous;
    /// the events stay.
    ///
    /// # Errors
    ///
    /// [`StoreError::Fenced`]; as [`claim`](Self::claim).
    fn retire(&self, owner: &Owner, run: &RunId, before: Seq) -> ();
}
