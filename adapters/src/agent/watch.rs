//! An agent that is running: its panics are caught, and its cancellation is heard.

use super::end::Ended;
use super::error::Result;
use crate::core::agui::RunOutcome;
use crate::panics::{caught, drop_caught};
use crate::token::{CancellationToken, WaitForCancellation};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

pub(super) struct Watch<F> {
    future: Option<Pin<Box<F>>>,
    token: CancellationToken,
    cancelled: WaitForCancellation,
    heard_by: Option<Waker>,
    /// A cancelled agent is waited for, however long it takes.
    patient: bool,
}

impl<F> Watch<F> {
    /// `future` is absent where making it panicked.
    pub(super) fn new(future: Option<F>, token: CancellationToken, patient: bool) -> Self {
        let (future, cancelled) = (future.map(Box::pin), token.cancelled());
        Self { future, token, cancelled, heard_by: None, patient }
    }

    /// Has a cancellation wake this task, and tells whether it has come.
    fn hears(&mut self, cx: &mut Context<'_>) -> bool {
        if self.heard_by.as_ref().is_none_or(|known| !known.will_wake(cx.waker())) {
            let _ = Pin::new(&mut self.cancelled).poll(cx);
            self.heard_by = Some(cx.waker().clone());
        }
        self.token.is_cancelled()
    }
}

impl<F: Future<Output = Result<RunOutcome>>> Future for Watch<F> {
    type Output = Ended;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Ended> {
        let this = self.get_mut();
        let stopped = this.hears(cx);
        let Some(future) = &mut this.future else { return Poll::Ready(Ended::Panicked) };
        let ended = match caught(|| future.as_mut().poll(cx)) {
            Some(Poll::Ready(returned)) => Ended::Returned(returned),
            // It was polled once after the cancellation, so that it could end by itself.
            Some(Poll::Pending) if stopped && !this.patient => Ended::Abandoned,
            Some(Poll::Pending) => return Poll::Pending,
            None => Ended::Panicked,
        };
        drop_caught(this.future.take());
        Poll::Ready(ended)
    }
}

impl<F> Drop for Watch<F> {
    fn drop(&mut self) {
        drop_caught(self.future.take());
    }
}
