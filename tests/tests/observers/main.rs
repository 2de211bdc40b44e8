//! Observers through host, engine and driver (L5): required ones of both flavours, best-effort ones, and how runs end for
//! them. The tests whose names begin with `o` and a number are scenarios of the corpus.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is tests and their helpers"
)]

mod best_effort;
mod hostile;
mod required;
mod stage;
