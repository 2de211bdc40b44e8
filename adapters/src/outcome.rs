//! Waiting for a run's end.

use crate::core::outcome::Outcome;
use crate::shared::RunShared;
use crate::sync::{Arc, AtomicBool, Ordering};
use crate::wakers::Ticket;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Waits for a run's outcome; see [`Run::outcome`](crate::Run::outcome).
#[must_use = "futures do nothing unless polled"]
pub struct WaitForOutcome<'a> {
    shared: &'a Arc<RunShared>,
    /// Set when the handle's own stream goes unread; absent where the stream was split off.
    discards: Option<&'a AtomicBool>,
    discarding: bool,
    ticket: Ticket,
}

impl<'a> WaitForOutcome<'a> {
    pub(crate) fn new(shared: &'a Arc<RunShared>, discards: Option<&'a AtomicBool>) -> Self {
        shared.with(|state| state.waiting += 1);
        Self { shared, discards, discarding: false, ticket: Ticket::default() }
    }
}

impl Future for WaitForOutcome<'_> {
    type Output = Arc<Outcome>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Arc<Outcome>> {
        let this = self.get_mut();
        let begins = this.discards.is_some_and(|flag| {
            flag.store(true, Ordering::Release);
            !std::mem::replace(&mut this.discarding, true)
        });
        let waker = cx.waker().clone();
        let mut left = None;
        let outcome = this.shared.with(|state| {
            if begins {
                state.discard();
            }
            let outcome = state.outcome();
            left = match outcome {
                Some(_) => Some(waker),
                None => state.waiters.put(&mut this.ticket, waker),
            };
            outcome
        });
        drop(left);
        outcome.map_or(Poll::Pending, Poll::Ready)
    }
}

impl Drop for WaitForOutcome<'_> {
    fn drop(&mut self) {
        let discarding = self.discarding;
        let left = self.shared.with(|state| {
            state.waiting -= 1;
            if discarding {
                state.stop_discarding();
            }
            state.waiters.leave(&mut self.ticket)
        });
        drop(left);
    }
}

impl fmt::Debug for WaitForOutcome<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WaitForOutcome").field(self.shared).finish()
    }
}
