//! What runs on smol's crates: sockets and names from `async-net`, no runtime to start.
//!
//! Everything here is a plain future, so it runs under smol's executors and under any other.

pub mod http;
