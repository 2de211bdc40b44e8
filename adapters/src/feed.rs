//! A run's events as streams.

use crate::core::event::Envelope;
use crate::shared::RunShared;
use crate::state::Read;
use crate::sync::{Arc, Ordering};
use futures_core::Stream;
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The reading end of a run's log. Events count as unread until the reader comes back for more than it has taken out
/// at once, so that the run keeps exactly its capacity (E13).
pub(crate) struct Feed {
    shared: Arc<RunShared>,
    buffer: VecDeque<Envelope>,
    /// The first event of the buffer has been handed out by reference.
    lent: bool,
}

impl Feed {
    pub(crate) fn new(shared: Arc<RunShared>) -> Self {
        Self { shared, buffer: VecDeque::new(), lent: false }
    }

    fn give_back(&mut self) {
        if self.lent {
            self.lent = false;
            self.buffer.pop_front();
        }
    }

    /// Forgets what was passed over since it was taken out.
    fn forget_discarded(&mut self) {
        if self.shared.discarded.load(Ordering::Acquire) {
            self.shared.discarded.store(false, Ordering::Release);
            self.lent = false;
            self.buffer.clear();
        }
    }

    pub(crate) fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        self.forget_discarded();
        self.give_back();
        if !self.buffer.is_empty() {
            return Poll::Ready(true);
        }
        let mut spare = None;
        loop {
            let buffer = &mut self.buffer;
            match self.shared.with(|state| state.read(buffer, cx.waker(), &mut spare)) {
                Read::Some => return Poll::Ready(true),
                Read::Ended => return Poll::Ready(false),
                Read::Waits => return Poll::Pending,
                Read::NeedsWaker => spare = Some(cx.waker().clone()),
            }
        }
    }

    pub(crate) fn take(&mut self) -> Option<&Envelope> {
        self.forget_discarded();
        self.give_back();
        self.lent = !self.buffer.is_empty();
        self.buffer.front()
    }

    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Envelope>> {
        match self.poll_fill(cx) {
            Poll::Ready(true) => Poll::Ready(self.buffer.pop_front()),
            Poll::Ready(false) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").field("run", &self.shared).field("buffer", &self.buffer.len()).finish()
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        let waker = self.shared.with(|state| state.reader_gone());
        drop(waker);
    }
}

/// The events of a run, read through its handle; see [`Run::events`](crate::Run::events).
#[derive(Debug)]
pub struct Events<'a> {
    pub(crate) feed: &'a mut Feed,
}

impl Events<'_> {
    /// The next event; `None` after the terminal one. The end says nothing about success: ask for the outcome (E14).
    /// With required observers the end comes when they are done: who drops the handle at the terminal event does not wait.
    pub async fn next(&mut self) -> Option<Envelope> {
        poll_fn(|cx| self.feed.poll_next(cx)).await
    }
}

impl Stream for Events<'_> {
    type Item = Envelope;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Envelope>> {
        self.get_mut().feed.poll_next(cx)
    }
}

/// The events of a run, split off from its handle; see [`Run::split`](crate::Run::split).
///
/// Dropping it before the run has ended interrupts the run, unless someone awaits the outcome or the run is
/// unattended (C9).
#[derive(Debug)]
pub struct EventStream {
    pub(crate) feed: Feed,
}

impl EventStream {
    /// The next event; `None` after the terminal one. The end says nothing about success: ask for the outcome (E14).
    /// With required observers the end comes when they are done: who drops the handle at the terminal event does not wait.
    pub async fn next(&mut self) -> Option<Envelope> {
        poll_fn(|cx| self.feed.poll_next(cx)).await
    }

    /// Waits until [`take`](EventStream::take) has something; false after the terminal event.
    pub async fn fill(&mut self) -> bool {
        poll_fn(|cx| self.feed.poll_fill(cx)).await
    }

    /// The next event of those at hand, by reference: cheaper than [`next`](EventStream::next). `None` means that
    /// [`fill`](EventStream::fill) is needed.
    pub fn take(&mut self) -> Option<&Envelope> {
        self.feed.take()
    }
}

impl Stream for EventStream {
    type Item = Envelope;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Envelope>> {
        self.get_mut().feed.poll_next(cx)
    }
}
