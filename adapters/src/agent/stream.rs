//! A run as a stream of events.

use super::error::Result;
use super::queue::EventReceiver;
use crate::core::agui::Event;
use crate::host::{Flavour, Shared};
use crate::panics::{caught, drop_caught};
use crate::token::CancellationToken;
use futures_core::Stream;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A run of an agent: a stream of events, each of them `Ok` (V1). It begins with `RUN_STARTED` and has exactly one end.
///
/// Polling it runs the agent, on whatever executor polls; it is never pending while an event is there. The agent is
/// polled when all events were taken, so that it keeps the pace of its reader. Dropping the stream drops the agent; what
/// the agent started elsewhere learns of it by the token, see [`cancel_on_drop`](Self::cancel_on_drop).
///
/// `RunStream` is `Send`, `RunStream<Local>` stays on its thread.
#[must_use = "a run makes no progress unless its stream is polled"]
pub struct RunStream<K: Flavour = Shared> {
    future: Option<K::Future<()>>,
    events: EventReceiver,
    token: CancellationToken,
    cancels: bool,
}

impl<K: Flavour> RunStream<K> {
    pub(super) fn new(future: K::Future<()>, events: EventReceiver, token: CancellationToken) -> Self {
        Self { future: Some(future), events, token, cancels: false }
    }

    /// The run's token.
    pub fn cancellation_token(&self) -> CancellationToken {
        self.token.clone()
    }

    /// Has the run's token cancelled if the stream is dropped before the agent has finished: what a transport wants whose
    /// client goes away (V7).
    pub fn cancel_on_drop(mut self) -> Self {
        self.cancels = true;
        self
    }
}

impl<K: Flavour> Unpin for RunStream<K> {}

impl<K: Flavour> Stream for RunStream<K> {
    type Item = Result<Event>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Event>>> {
        let this = self.get_mut();
        loop {
            if let Some(event) = this.events.pop() {
                return Poll::Ready(Some(Ok(event)));
            }
            let Some(future) = &mut this.future else { return Poll::Ready(None) };
            // Agents are caught further in; this is for what they leave behind to be dropped.
            let polled = caught(|| Pin::new(future).poll(cx));
            if polled.is_none_or(|polled| polled.is_ready()) {
                drop_caught(this.future.take());
            } else {
                return this.events.pop().map_or(Poll::Pending, |event| Poll::Ready(Some(Ok(event))));
            }
        }
    }
}

impl<K: Flavour> Drop for RunStream<K> {
    fn drop(&mut self) {
        if let Some(future) = self.future.take() {
            if self.cancels {
                self.token.cancel();
            }
            self.events.close();
            drop_caught(future);
        }
    }
}

impl<K: Flavour> fmt::Debug for RunStream<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunStream").field("running", &self.future.is_some()).finish_non_exhaustive()
    }
}
