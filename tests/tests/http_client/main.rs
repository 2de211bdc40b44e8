//! The HTTP client, against a server that sends exactly the bytes a test gives it; once on the sockets of each runtime.
#![allow(clippy::unwrap_used)]
#![allow(clippy::duplicate_mod, reason = "the same tests, with another client")]

mod log_capture;
mod server;
mod smol;
mod tokio;
