//! A run's events for everyone beside the primary reader.

use super::index::{Got, Place};
use crate::core::event::Envelope;
use crate::core::id::Seq;
use crate::core::reader::{Cursor, ReadBounds, ReadError};
use crate::shared::RunShared;
use crate::sync::Arc;
use futures_core::Stream;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A run's events from a cursor on; see [`RunReader::subscribe`](crate::RunReader::subscribe).
///
/// The run does not wait for it: a subscription that falls further behind than its bounds is ended. It learns of it when
/// it is polled next, with the facts of that moment and the cursor to go on from, and then whenever it is polled again
/// (L3, L4). As a stream it ends after the log's last event, and never after an error. Dropping it ends nothing.
pub struct Subscription {
    shared: Arc<RunShared>,
    place: Place,
}

impl Subscription {
    pub(super) fn new(shared: &Arc<RunShared>, place: Place) -> Self {
        Self { shared: Arc::clone(shared), place }
    }

    /// The next event; `None` after the log's last one.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if the subscription has ended before that. What it had not read then is not delivered.
    pub async fn next(&mut self) -> Result<Option<Envelope>, ReadError> {
        poll_fn(|cx| self.poll(cx)).await
    }

    /// The next event, if there is one now; `None` also after the last.
    ///
    /// # Errors
    ///
    /// As [`Subscription::next`].
    pub fn try_next(&mut self) -> Result<Option<Envelope>, ReadError> {
        let place = &mut self.place;
        self.shared.read(|readers, log| match readers.next(place, log, &mut None)? {
            Got::Event(envelope) => Ok(Some(envelope)),
            Got::Ended | Got::Waits | Got::NeedsWaker => Ok(None),
        })
    }

    /// Behind the last event that it has delivered: where another one can go on.
    pub fn cursor(&self) -> Cursor {
        let delivered = self.shared.read(|readers, _| readers.reader(&self.place).map(|r| r.delivered()));
        Cursor::new(self.shared.id.clone(), delivered.unwrap_or(Seq(0)))
    }

    /// By how much it may fall behind.
    pub fn bounds(&self) -> ReadBounds {
        let bounds = self.shared.read(|readers, _| readers.reader(&self.place).map(|r| r.bounds()));
        bounds.unwrap_or(ReadBounds::new(0, 0))
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Envelope>, ReadError>> {
        let (place, mut spare) = (&mut self.place, None);
        loop {
            match self.shared.read(|readers, log| readers.next(place, log, &mut spare)) {
                Ok(Got::Event(envelope)) => return Poll::Ready(Ok(Some(envelope))),
                Ok(Got::Ended) => return Poll::Ready(Ok(None)),
                Ok(Got::Waits) => return Poll::Pending,
                Ok(Got::NeedsWaker) => spare = Some(cx.waker().clone()),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl Stream for Subscription {
    type Item = Result<Envelope, ReadError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll(cx).map(Result::transpose)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let left = self.shared.read(|readers, _| readers.remove(&mut self.place));
        drop(left);
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Subscription").field(&self.shared).finish()
    }
}
