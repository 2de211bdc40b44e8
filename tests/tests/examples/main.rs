//! The example programs, run as a user runs them: built binaries, their options, output and exit status.
#![allow(clippy::unwrap_used)]

mod agent;
mod agui_agent;
mod blocking;
mod chat;
mod events;
mod inspect;
mod inspect_log;
mod mcp;
mod people;
mod program;
mod recorded_logs;
mod replay;
mod secrets;
mod server;
mod sub_agent;
mod timeline;
mod usage;
