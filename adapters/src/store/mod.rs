//! Where sessions and the records of their runs are kept: what a store promises, and stores (S3, L5, H7).
//!
//! A [`SessionStore`] keeps three things of a session: its newest [`Snapshot`](crate::Snapshot), the events of its runs,
//! and the journals of those runs from which it may have to be rebuilt. [`MemoryStore`] is the reference;
//! `SqliteStore`, with the feature `sqlite`, is for one machine; a database server or a stream server of many machines can
//! stand behind the same trait. [`testing::store`](crate::testing::store) holds any of them to what is said here.
//!
//! - **What is answered is durable.** When the future of a write is ready with `Ok`, the write survives whatever happens to
//!   the process, and to the machine as far as the medium does. Before that it may have happened or not, never in part.
//! - **One owner.** Who wants to write claims the session first and gets an [`Epoch`]; the next claim ends all earlier ones,
//!   whose writes fail as [`StoreError::Fenced`] from then on, on every machine alike. Reading needs no claim.
//! - **Revisions are checked.** [`SessionStore::save`] says which revision it expects to replace, and fails as
//!   [`StoreError::Conflict`] if another one is there.
//! - **Lines are numbered.** Events and lines of journals follow each other without a gap, and a number has one text for
//!   ever: the same text again is accepted and changes nothing, so that a write whose answer was lost is repeated safely.

mod check;
mod error;
mod keeper;
mod memory;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod traits;
mod values;

pub use error::StoreError;
pub(crate) use keeper::{Book, Scribe, Tail};
pub use keeper::{Keeper, OpenError, Opened, Orphan, Resumed};
pub use memory::MemoryStore;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;
pub use traits::{LocalSessionStore, SessionStore};
pub use values::{Epoch, JournalId, JournalSummary, Line, Owner, Page, Record, RunSummary};
