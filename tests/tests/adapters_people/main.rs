//! People and the host's program beside a run, through the adapters: questions, approvals, client calls, suspension.
#![allow(clippy::unwrap_used)]

mod answers;
mod approvals;
mod asks;
mod clients;
mod ends;
mod local;
mod nobody;
mod preparation;
mod responders;
mod stage;
mod suspension;
mod visibility;
mod wakers;
