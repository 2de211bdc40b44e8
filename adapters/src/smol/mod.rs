//! What runs on smol's crates: sockets and names from `async-net`, programs from `async-process`, a timer from
//! `async-io`, no runtime to start.
//!
//! Everything here is a plain future, so it runs under smol's executors and under any other.

pub mod http;
mod stdio;
mod timer;

pub use stdio::{StdioServer, StdioTransport};
pub use timer::SmolTimer;
