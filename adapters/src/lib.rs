//! What a host uses: engine, sessions, drivers.
pub use runloom_core as core;

pub mod http;
