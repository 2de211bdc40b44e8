//! What runs on smol's crates: sockets and names from `async-net`, a timer from `async-io`, no runtime to
//! start.
//!
//! Everything here is a plain future, so it runs under smol's executors and under any other.

pub mod http;
mod timer;

pub use timer::SmolTimer;
