//! Best-effort observers: whoever reads along without being asked, behind the required ones (L5).

use crate::core::Run as Machine;
use crate::core::event::{Envelope, EventKind};
use crate::core::id::{RunId, Seq};
use crate::engine::EngineShutdown;
use crate::state::RunState;
use crate::sync::{Arc, AtomicBool, Mutex, Ordering, lock};
use crate::wakers::Woken;
use futures_core::Stream;
use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Most events that wait for one best-effort observer.
pub const MAX_BEST_EFFORT: usize = 65_536;

/// Which events a best-effort observer wants, and how many of them may wait for it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct BestEffortOptions {
    capacity: usize,
    kinds: Option<BTreeSet<EventKind>>,
}

impl BestEffortOptions {
    /// Events of all kinds, up to `capacity` of them waiting: 1 to [`MAX_BEST_EFFORT`].
    pub fn new(capacity: usize) -> Self {
        Self { capacity, kinds: None }
    }

    /// Only events of these kinds. Others are counted and take no place.
    pub fn only(mut self, kinds: impl IntoIterator<Item = EventKind>) -> Self {
        self.kinds = Some(kinds.into_iter().collect());
        self
    }
}

/// Why there is no best-effort observer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BestEffortError {
    /// The capacity is out of its bounds.
    #[error("a best-effort observer holds 1 to {MAX_BEST_EFFORT} events, not {0}")]
    Capacity(usize),
    /// The engine was shut down.
    #[error(transparent)]
    EngineShutdown(#[from] EngineShutdown),
}

/// An event of some run of the engine, once all required observers have accepted it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BestEffortEvent {
    /// The run.
    pub run: RunId,
    /// The event.
    pub envelope: Envelope,
    /// How many wanted events were dropped between the event before, of whatever run, and this one.
    pub dropped: u64,
}

/// What has become of the events that were offered to a best-effort observer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BestEffortCounts {
    /// Wanted events that found no place, or came after [`BestEffort::close`].
    pub dropped: u64,
    /// Events of other kinds than the wanted ones.
    pub filtered: u64,
    /// Events that wait.
    pub waiting: usize,
}

/// Events of all runs of an engine, for telemetry and the like; see [`Engine::best_effort`](crate::Engine::best_effort).
///
/// It never holds a run up: what finds no place is dropped and counted. An event comes after the last required observer
/// has accepted it; one that was refused does not come, which shows as a gap in the run's numbers and is no drop.
/// Dropping it ends it.
pub struct BestEffort {
    queue: Arc<Queue>,
}

impl BestEffort {
    /// The next event; `None` once it is closed or the engine has ended, and what waited was taken.
    pub async fn next(&mut self) -> Option<BestEffortEvent> {
        poll_fn(|cx| self.poll(cx)).await
    }

    /// The next event of those that wait.
    pub fn try_next(&mut self) -> Option<BestEffortEvent> {
        lock(&self.queue.state).events.pop_front()
    }

    /// What has become of the events so far.
    pub fn counts(&self) -> BestEffortCounts {
        let state = lock(&self.queue.state);
        BestEffortCounts { dropped: state.dropped, filtered: state.filtered, waiting: state.events.len() }
    }

    /// Takes in no more. What waits can still be taken, and what is offered from now on is counted as dropped.
    pub fn close(&self) {
        let woken = self.queue.close();
        woken.wake();
    }

    fn poll(&self, cx: &Context<'_>) -> Poll<Option<BestEffortEvent>> {
        // Cloned, and later dropped, outside of the lock.
        let waker = cx.waker().clone();
        let left = {
            let mut state = lock(&self.queue.state);
            if let Some(event) = state.events.pop_front() {
                return Poll::Ready(Some(event));
            }
            if state.closed {
                return Poll::Ready(None);
            }
            state.waker.replace(waker)
        };
        drop(left);
        Poll::Pending
    }
}

impl Stream for BestEffort {
    type Item = BestEffortEvent;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<BestEffortEvent>> {
        self.poll(cx)
    }
}

impl Drop for BestEffort {
    fn drop(&mut self) {
        self.queue.gone.store(true, Ordering::Release);
        let left = {
            let mut state = lock(&self.queue.state);
            state.closed = true;
            (std::mem::take(&mut state.events), state.waker.take())
        };
        drop(left);
    }
}

impl fmt::Debug for BestEffort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BestEffort").field("capacity", &self.queue.options.capacity).finish_non_exhaustive()
    }
}

struct Queue {
    options: BestEffortOptions,
    /// Nobody reads it any more.
    gone: AtomicBool,
    state: Mutex<QueueState>,
}

#[derive(Default)]
struct QueueState {
    events: VecDeque<BestEffortEvent>,
    dropped: u64,
    /// Those of them that the next event is to tell of.
    untold: u64,
    filtered: u64,
    closed: bool,
    waker: Option<Waker>,
}

impl Queue {
    fn close(&self) -> Woken {
        let mut woken = Woken::default();
        let mut state = lock(&self.state);
        state.closed = true;
        woken.push(state.waker.take());
        woken
    }

    fn wants(&self, envelope: &Envelope) -> bool {
        self.options.kinds.as_ref().is_none_or(|kinds| kinds.contains(&envelope.event.kind()))
    }

    fn offer(&self, run: &RunId, envelopes: &[Envelope], missing: u64, woken: &mut Woken) {
        let mut state = lock(&self.state);
        state.drop_some(missing);
        for envelope in envelopes {
            if !self.wants(envelope) {
                state.filtered += 1;
            } else if state.closed || state.events.len() >= self.options.capacity {
                state.drop_some(1);
            } else {
                let dropped = std::mem::take(&mut state.untold);
                let (run, envelope) = (run.clone(), envelope.clone());
                state.events.push_back(BestEffortEvent { run, envelope, dropped });
            }
        }
        if !state.events.is_empty() {
            woken.push(state.waker.take());
        }
    }
}

impl QueueState {
    fn drop_some(&mut self, count: u64) {
        self.dropped += count;
        self.untold += count;
    }
}

/// The best-effort observers of an engine. Its lock is taken inside of a run's, and a queue's inside of it.
#[derive(Default)]
pub(crate) struct Queues {
    /// Whether there is any: most engines have none, and look no further.
    any: AtomicBool,
    state: Mutex<QueuesState>,
}

#[derive(Default)]
struct QueuesState {
    queues: Vec<Arc<Queue>>,
    closed: bool,
}

impl Queues {
    /// One more.
    pub(crate) fn add(&self, options: BestEffortOptions) -> Result<BestEffort, BestEffortError> {
        if options.capacity == 0 || options.capacity > MAX_BEST_EFFORT {
            return Err(BestEffortError::Capacity(options.capacity));
        }
        let queue = Arc::new(Queue {
            options,
            gone: AtomicBool::new(false),
            state: Mutex::new(QueueState::default()),
        });
        let mut state = lock(&self.state);
        if state.closed {
            return Err(EngineShutdown.into());
        }
        state.queues.retain(|queue| !queue.gone.load(Ordering::Acquire));
        state.queues.push(Arc::clone(&queue));
        self.any.store(true, Ordering::Release);
        Ok(BestEffort { queue })
    }

    /// Offers what is recorded after `after` and up to `through`, unless it was refused.
    pub(crate) fn offer(&self, run: &RunId, machine: &Machine, after: Seq, through: Seq, woken: &mut Woken) {
        if !self.any.load(Ordering::Acquire) {
            return;
        }
        let (log, refused) = (machine.log(), machine.refused());
        let accepted = |seq: Seq| seq <= through && refused.binary_search(&seq).is_err();
        let events: Vec<Envelope> = log
            .after(after)
            .take_while(|event| event.seq <= through)
            .filter(|event| accepted(event.seq))
            .cloned()
            .collect();
        let missing = log.first_seq().0.saturating_sub(after.0.saturating_add(1));
        let mut state = lock(&self.state);
        state.queues.retain(|queue| !queue.gone.load(Ordering::Acquire));
        for queue in &state.queues {
            queue.offer(run, &events, missing, woken);
        }
    }

    /// Nothing is offered any more.
    pub(crate) fn close(&self) {
        let mut woken = Woken::default();
        {
            let mut state = lock(&self.state);
            state.closed = true;
            for queue in state.queues.drain(..) {
                woken.append(queue.close());
            }
        }
        woken.wake();
    }
}

impl RunState {
    /// Offers what required observers have accepted since this was called last.
    pub(crate) fn offer(&mut self, run: &RunId, queues: &Queues, woken: &mut Woken) {
        let accepted = self.machine().acknowledged();
        if accepted > self.offered {
            queues.offer(run, self.machine(), self.offered, accepted, woken);
            self.offered = accepted;
        }
    }
}

impl Drop for Queues {
    fn drop(&mut self) {
        self.close();
    }
}
