//! Sessions that a keeper keeps in a store: what is recorded, and what comes back after a crash (L5, H7).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests and their helpers")]

mod claims;
mod crashes;
mod odd;
mod runs;
mod stage;
