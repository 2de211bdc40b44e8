//! Waiting for a run's end.

use crate::core::outcome::{Answer, Ended, Outcome};
use crate::shared::RunShared;
use crate::sync::{Arc, Ordering};
use crate::wakers::Ticket;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Waits for a run's outcome; see [`Run::outcome`](crate::Run::outcome).
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct WaitForOutcome<'a> {
    shared: &'a Arc<RunShared>,
    /// Whether the handle's own stream goes unread for this.
    discarding: bool,
    ticket: Ticket,
}

impl<'a> WaitForOutcome<'a> {
    pub(crate) fn new(shared: &'a Arc<RunShared>) -> Self {
        shared.with(|state| state.waiting += 1);
        Self { shared, discarding: false, ticket: Ticket::default() }
    }

    /// Waits for the answer of a completed run; for `?`.
    ///
    /// # Errors
    ///
    /// [`Ended`] says how else the run has ended.
    pub async fn into_result(self) -> Result<Arc<Answer>, Ended> {
        Arc::unwrap_or_clone(self.await).into_result()
    }
}

impl Future for WaitForOutcome<'_> {
    type Output = Arc<Outcome>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Arc<Outcome>> {
        let this = self.get_mut();
        let waker = cx.waker().clone();
        let mut left = None;
        let outcome = this.shared.with(|state| {
            if !this.discarding && state.discards() {
                this.discarding = true;
                state.discard();
                this.shared.discarded.store(true, Ordering::Release);
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
