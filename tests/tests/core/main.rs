//! The core's promises, rule by rule: each run is stepped by hand and held to the laws after every step.
//!
//! A line `proves:` above a test names the rules of the contract that it shows.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is tests and their helpers"
)]
#![allow(unused_must_use, reason = "a test moves the clock itself and knows when it is due")]

mod answers;
mod assembly;
mod batch;
mod boundary;
mod bounds;
mod cancel;
mod closing;
mod compaction;
mod compaction_stops;
mod config;
mod deadlines;
mod driver;
mod full;
mod hand;
mod history;
mod observers;
mod order;
mod people;
mod reader;
mod retry;
mod secrets;
mod steering;
mod suspend;
mod suspend_additions;
mod suspend_refused;
mod usage;
