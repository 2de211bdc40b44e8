//! AG-UI agents: what they emit is one well-formed stream, whatever they do.

// Helpers of tests fail like tests do.
#![allow(clippy::unwrap_used)]

mod ends;
mod guards;
mod kit;
mod outcomes;
mod properties;
mod queue;
mod reports;
mod seeds;
mod state;
mod stops;
mod transformers;
