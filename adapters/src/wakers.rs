//! Sets of sleeping tasks. A set stands behind a lock; wakers are woken and dropped only after unlocking, since both
//! run foreign code that may come back for the same lock (X5).

use crate::panics::caught;
use std::collections::BTreeMap;
use std::task::Waker;

/// A waiter's place in a [`WakerSet`].
#[derive(Debug, Default)]
pub(crate) struct Ticket(Option<u64>);

/// Tasks that wait for the same thing.
#[derive(Debug, Default)]
pub(crate) struct WakerSet {
    next: u64,
    waiting: BTreeMap<u64, Waker>,
}

impl WakerSet {
    /// Puts `waker` into the ticket's place and hands back the one that stood there.
    #[must_use = "to be dropped after unlocking"]
    pub(crate) fn put(&mut self, ticket: &mut Ticket, waker: Waker) -> Option<Waker> {
        let key = *ticket.0.get_or_insert_with(|| {
            self.next += 1;
            self.next
        });
        self.waiting.insert(key, waker)
    }

    /// Gives up the ticket's place.
    #[must_use = "to be dropped after unlocking"]
    pub(crate) fn leave(&mut self, ticket: &mut Ticket) -> Option<Waker> {
        ticket.0.take().and_then(|key| self.waiting.remove(&key))
    }

    /// Takes all wakers out; their tickets stay good for another wait.
    #[must_use = "to be woken after unlocking"]
    pub(crate) fn take(&mut self) -> Woken {
        Woken { wakers: std::mem::take(&mut self.waiting).into_values().collect() }
    }

    /// Whether nobody waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// How many wait.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }
}

/// Wakers on their way out of a lock.
#[derive(Debug, Default)]
pub(crate) struct Woken {
    wakers: Vec<Waker>,
}

impl Woken {
    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.wakers.is_empty()
    }

    /// Adds one.
    pub(crate) fn push(&mut self, waker: Option<Waker>) {
        self.wakers.extend(waker);
    }

    /// Adds all of `other`.
    pub(crate) fn append(&mut self, mut other: Self) {
        self.wakers.append(&mut other.wakers);
    }

    /// Wakes all of them. One that panics does not keep the others asleep.
    pub(crate) fn wake(self) {
        for waker in self.wakers {
            let _ = caught(|| waker.wake());
        }
    }
}
