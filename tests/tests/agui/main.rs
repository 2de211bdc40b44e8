//! AG-UI by hand-written streams: each rule of the verifier and of the consumer, what is found when a rule is switched
//! off, properties over random streams, and the public reports of bugs that concern the protocol.

// Helpers of tests fail like tests do.
#![allow(clippy::unwrap_used)]

mod allocations;
mod consumer;
mod consumer_faults;
mod properties;
mod reports;
mod rules;
mod seeds;
mod streams;
mod wire;
