//! The scenarios, each played on an executor that is made for it.

mod cancel;
mod ends;
mod hostile;
mod order;
mod pace;
mod parked;
pub(super) mod real;
mod timers;

pub(super) use pace::{until, yield_now};

use super::flavours::Kind;
use super::hosts::Runs;
use super::stage::Wrong;

/// What a scenario found.
#[derive(Default)]
pub(super) struct Found {
    /// The logs, where they are equal on all hosts.
    pub(super) logs: Option<String>,
    pub(super) measured: String,
}

impl Found {
    pub(super) fn logs(logs: String, measured: String) -> Self {
        Self { logs: Some(logs), measured }
    }

    pub(super) fn measured(measured: String) -> Self {
        Self { logs: None, measured }
    }
}

pub(super) type Play<K> = fn(&dyn Runs<K>) -> Result<Found, Wrong>;

/// A scenario, and what its logs are compared with.
pub(super) struct Scenario<K: Kind> {
    pub(super) name: &'static str,
    pub(super) play: Play<K>,
    pub(super) reference: Play<K>,
}

/// All scenarios.
pub(super) fn all<K: Kind>() -> Vec<Scenario<K>> {
    let plays: [(&'static str, Play<K>); 14] = [
        ("order", order::order),
        ("drop", ends::drops),
        ("abort", ends::aborts),
        ("panic", ends::panics),
        ("cancel", cancel::resting),
        ("cancel-busy", cancel::while_busy),
        ("odd-timers", timers::odd),
        ("deadlines", timers::deadlines),
        ("fairness", pace::fairness),
        ("wakes", pace::wakes),
        ("threads", pace::threads),
        ("parked", parked::parked),
        ("wakers", hostile::wakers),
        ("re-entry", hostile::reentry),
    ];
    let mut scenarios: Vec<_> =
        plays.into_iter().map(|(name, play)| Scenario { name, play, reference: play }).collect();
    scenarios.push(Scenario { name: "timer", play: real::timer, reference: real::by_hand });
    scenarios
}
