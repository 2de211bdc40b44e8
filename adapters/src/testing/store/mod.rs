//! What every [`SessionStore`](crate::store::SessionStore) must do, as checks for any of them.
//!
//! ```
//! use futures_lite::future::block_on;
//! use runloom::store::MemoryStore;
//!
//! let store = MemoryStore::new();
//! let report = block_on(runloom::testing::store::check(async || store.clone()));
//! assert_eq!(report.faults, []);
//! ```
//!
//! Durability itself cannot be seen from inside of a process: hold a store to that by killing the process that writes.

mod kit;
mod records;
mod sessions;

use crate::store::LocalSessionStore;
use std::fmt;

/// A promise that a store did not keep.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreFault {
    /// Which check found it.
    pub check: &'static str,
    /// What was found, in words.
    pub found: String,
}

impl fmt::Display for StoreFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.check, self.found)
    }
}

/// What the checks have found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreReport {
    /// The checks, in the order in which they ran.
    pub checks: Vec<&'static str>,
    /// At most one of each check.
    pub faults: Vec<StoreFault>,
}

/// What a check has to work with: two handles on one store, as two processes have them, and sessions of its own.
pub(super) struct Bench<S> {
    pub(super) store: S,
    pub(super) other: S,
    check: &'static str,
}

type Checked = Result<(), String>;

/// Runs all checks on an empty store. Each call of `open` gives another handle on the same one, as another process would
/// have it; a store that lives in one process gives clones.
pub async fn check<S: LocalSessionStore>(open: impl AsyncFn() -> S) -> StoreReport {
    let mut report = StoreReport::default();
    macro_rules! run {
        ($($module:ident::$name:ident),* $(,)?) => {$(
            let check = stringify!($name);
            let bench = Bench { store: open().await, other: open().await, check };
            report.checks.push(check);
            if let Err(found) = $module::$name(&bench).await {
                report.faults.push(StoreFault { check, found });
            }
        )*};
    }
    run!(
        sessions::claims_grow,
        sessions::an_older_claim_is_fenced,
        sessions::what_is_saved_is_loaded,
        sessions::revisions_are_checked,
        sessions::a_save_is_repeated_safely,
        sessions::sessions_are_listed_by_pages,
        sessions::a_deleted_session_is_gone,
        records::lines_come_back_in_order,
        records::lines_are_repeated_safely,
        records::a_number_has_one_text,
        records::no_line_is_missing,
        records::a_record_is_whole,
        records::pages_are_bounded,
        records::parts_have_journals_of_their_own,
        records::retired_journals_are_gone,
        records::runs_are_listed_in_their_order,
        records::sessions_are_apart,
        records::writes_side_by_side_are_all_kept,
    );
    report
}
