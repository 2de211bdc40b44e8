//! The runloom state machine.
#![no_std]
#![warn(clippy::wildcard_enum_match_arm)]
extern crate alloc;
#[cfg(test)]
extern crate std;
pub mod assemble;
pub mod config;
pub mod error;
pub mod event;
pub mod history;
pub mod id;
pub mod input;
pub mod json;
pub mod log;
pub mod message;
pub mod model;
pub mod outcome;
pub mod output;
pub mod problem;
mod run;
pub mod text;
pub mod time;
pub mod tool;
pub mod usage;
#[cfg(feature = "verify")]
pub mod verify;
pub use input::Input;
pub use output::{Next, Outbox, Output, Reply};
pub use run::Run;
