//! What passes between a run's state and its driver and readers.

use crate::core::id::Seq;
use crate::core::output::{Credit, Wake};
use crate::core::time::Time;
use crate::core::{Input, Output};

/// What a driver brings along for one round under the lock.
pub(crate) struct Round<'a> {
    pub(crate) now: Time,
    /// What the transport has yielded.
    pub(crate) items: &'a mut Vec<Input>,
    /// Whether it was asked with no room.
    pub(crate) full: bool,
    /// Whether a token is cancelled.
    pub(crate) cancelled: bool,
    /// Whether the transport, polled at `now`, had nothing.
    pub(crate) quiet: bool,
    /// Where the work goes; `None` leaves it where it is.
    pub(crate) work: Option<&'a mut Vec<Output>>,
}

/// What a round leaves for the driver to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rest {
    pub(crate) live: bool,
    pub(crate) credit: Credit,
    pub(crate) wake: Option<Wake>,
    pub(crate) hard: Option<Wake>,
    pub(crate) last: Seq,
    /// The least that a subscription may be behind.
    pub(crate) least: Option<u64>,
    /// Whether observers are asked.
    pub(crate) unobserved: bool,
}

/// What a reader gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    Some,
    Ended,
    Waits,
    /// Call again with a waker.
    NeedsWaker,
}

/// Whether the driver sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nap {
    Asleep,
    Awake,
    /// Call again with a waker.
    NeedsWaker,
}
