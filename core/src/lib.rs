//! The runloom state machine.
#![no_std]
#![warn(clippy::wildcard_enum_match_arm)]
extern crate alloc;
#[cfg(test)]
extern crate std;
pub mod assemble;
pub mod history;
pub mod id;
pub mod json;
pub mod message;
pub mod model;
pub mod problem;
pub mod provider;
pub mod text;
pub mod time;
pub mod tool;
pub mod usage;
