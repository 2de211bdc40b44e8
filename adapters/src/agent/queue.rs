//! The events between an agent and whoever reads them.

use super::error::{Error, Result};
use crate::core::agui::Event;
use crate::core::agui::wire::Wire;
use crate::core::json::Len;
use crate::sync::{Arc, Mutex, lock};
use crate::token::{CancellationToken, WaitForCancellation};
use crate::wakers::{Ticket, WakerSet, Woken};
use futures_core::Stream;
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// How much may be unread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// From here on, `ready` waits.
    pub(super) capacity: usize,
    /// From here on, an event that does not wait is refused.
    pub(super) most_events: usize,
    /// As that, for the bytes of the events beyond the capacity.
    pub(super) most_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { capacity: 256, most_events: 1 << 18, most_bytes: 64 << 20 }
    }
}

pub(super) struct Queue {
    state: Mutex<State>,
    limits: Limits,
}

#[derive(Default)]
struct State {
    events: VecDeque<Event>,
    /// Bytes of what is queued beyond the capacity.
    excess: u64,
    reader_gone: bool,
    writer_gone: bool,
    reader: Option<Waker>,
    writers: WakerSet,
}

impl Queue {
    pub(super) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(State::default()), limits })
    }

    /// Appends an event that `check` accepts. One that must go out is not held to the limits.
    pub(super) fn push(
        &self,
        event: Event,
        must: bool,
        check: impl FnOnce(&Event) -> Result<()>,
    ) -> Result<()> {
        let reader = {
            let mut state = lock(&self.state);
            if state.reader_gone {
                return Err(Error::Disconnected);
            }
            let events = state.events.len();
            if events >= self.limits.capacity {
                self.admit(&mut state, &event, must)?;
            }
            check(&event)?;
            state.events.push_back(event);
            state.reader.take()
        };
        let mut woken = Woken::default();
        woken.push(reader);
        woken.wake();
        Ok(())
    }

    /// Beyond the capacity events are measured, so that large ones do not pile up.
    #[cold]
    fn admit(&self, state: &mut State, event: &Event, must: bool) -> Result<()> {
        let mut length = Len(0);
        event.write(&mut length);
        let excess = state.excess.saturating_add(length.0);
        let events = state.events.len();
        if !must && (events >= self.limits.most_events || excess > self.limits.most_bytes) {
            return Err(Error::QueueFull { events });
        }
        state.excess = excess;
        Ok(())
    }

    pub(super) fn has_room(&self) -> bool {
        lock(&self.state).events.len() < self.limits.capacity
    }

    /// Moves everything into `into`, which is empty.
    fn take(&self, into: &mut VecDeque<Event>) {
        let woken = {
            let mut state = lock(&self.state);
            std::mem::swap(&mut state.events, into);
            state.excess = 0;
            state.writers.take()
        };
        woken.wake();
    }

    pub(super) fn close_writer(&self) {
        let reader = {
            let mut state = lock(&self.state);
            state.writer_gone = true;
            state.reader.take()
        };
        let mut woken = Woken::default();
        woken.push(reader);
        woken.wake();
    }

    fn close_reader(&self) {
        let (events, reader, woken) = {
            let mut state = lock(&self.state);
            state.reader_gone = true;
            (std::mem::take(&mut state.events), state.reader.take(), state.writers.take())
        };
        drop((events, reader));
        woken.wake();
    }
}

/// The reading end of a run's events; see [`RunContext::new`](super::RunContext::new). Dropping it disconnects the run.
pub struct EventReceiver {
    queue: Arc<Queue>,
    buffer: VecDeque<Event>,
}

impl EventReceiver {
    pub(super) fn new(queue: Arc<Queue>) -> Self {
        Self { queue, buffer: VecDeque::new() }
    }

    /// The next event that is there.
    pub(super) fn pop(&mut self) -> Option<Event> {
        if self.buffer.is_empty() {
            self.queue.take(&mut self.buffer);
        }
        self.buffer.pop_front()
    }

    /// Takes out all events that are there.
    pub fn drain(&mut self) -> Vec<Event> {
        let mut events = Vec::from(std::mem::take(&mut self.buffer));
        self.queue.take(&mut self.buffer);
        events.extend(self.buffer.drain(..));
        events
    }

    /// Disconnects: every further emit fails, and what is unread is dropped.
    pub fn close(&mut self) {
        self.buffer.clear();
        self.queue.close_reader();
    }
}

impl Stream for EventReceiver {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let this = self.get_mut();
        if let Some(event) = this.pop() {
            return Poll::Ready(Some(event));
        }
        let waker = cx.waker().clone();
        let (replaced, gone, more) = {
            let mut state = lock(&this.queue.state);
            let more = !state.events.is_empty();
            (state.reader.replace(waker), state.writer_gone || state.reader_gone, more)
        };
        drop(replaced);
        match (more, gone) {
            (true, _) => Poll::Ready(this.pop()),
            (false, true) => Poll::Ready(None),
            (false, false) => Poll::Pending,
        }
    }
}

impl Drop for EventReceiver {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for EventReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventReceiver").finish_non_exhaustive()
    }
}

/// Waits until there is room for another event; see [`RunContext::ready`](super::RunContext::ready).
#[must_use = "futures do nothing unless polled"]
pub struct Ready {
    queue: Arc<Queue>,
    token: CancellationToken,
    cancelled: Option<WaitForCancellation>,
    ticket: Ticket,
}

impl Ready {
    pub(super) fn new(queue: Arc<Queue>, token: CancellationToken) -> Self {
        Self { queue, token, cancelled: None, ticket: Ticket::default() }
    }
}

impl Future for Ready {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let this = self.get_mut();
        let token = &this.token;
        let cancelled = this.cancelled.get_or_insert_with(|| token.cancelled());
        if Pin::new(cancelled).poll(cx).is_ready() {
            return Poll::Ready(Err(Error::Cancelled));
        }
        let waker = cx.waker().clone();
        let replaced = {
            let mut state = lock(&this.queue.state);
            if state.reader_gone {
                return Poll::Ready(Err(Error::Disconnected));
            }
            if state.events.len() < this.queue.limits.capacity {
                return Poll::Ready(Ok(()));
            }
            state.writers.put(&mut this.ticket, waker)
        };
        drop(replaced);
        Poll::Pending
    }
}

impl Drop for Ready {
    fn drop(&mut self) {
        let left = lock(&self.queue.state).writers.leave(&mut self.ticket);
        drop(left);
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ready").finish_non_exhaustive()
    }
}
