//! What a host uses: engine, sessions, drivers.
pub use runloom_core as core;

pub mod http;
#[cfg(feature = "smol")]
pub mod smol;
pub mod testing;
