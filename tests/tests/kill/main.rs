//! Processes that are killed while they write: what the store has answered for is there, once and in order (H7, L5, S3).
//!
//! The program starts itself: with [`child::FILE`] in its environment it is the process that is killed. It says on a pipe
//! what it hands to the store and what the store has answered for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests and their helpers")]

mod child;
mod killer;
mod said;
mod survives;
