//! Stores: the reference and the others keep what is promised, and the checks find stores that do not (S3, L5).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests and their helpers")]

mod faults;
mod sqlite;

use futures_lite::future::block_on;
use runloom::store::MemoryStore;
use runloom::testing::store::{StoreFault, check};

// proves: S3, L5
#[test]
fn the_reference_keeps_what_is_promised() {
    let store = MemoryStore::new();
    let report = block_on(check(async || store.clone()));
    assert_eq!(report.faults, Vec::<StoreFault>::new());
    assert_eq!(report.checks.len(), 18);
}
