//! SQLite blocks: it has a thread of its own, which takes jobs from a bounded queue and wakes whoever waits for them.
//!
//! Jobs that have come together are one transaction, so that many runs share the price of one sync. Each is a savepoint
//! in it: one that fails takes nothing with it. They are answered after the commit.

use crate::panics::caught;
use crate::store::StoreError;
use crate::sync::{Arc, Condvar, Mutex, lock, wait};
use crate::wakers::{Ticket, WakerSet, Woken};
use rusqlite::Connection;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Work on the connection, and whoever waits for it.
pub(super) trait Job: Send {
    /// Whether it writes.
    fn writes(&self) -> bool;
    /// Does the work; whether it is to be kept.
    fn run(&mut self, connection: &Connection) -> bool;
    /// Answers, after the work was committed or not.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

/// Jobs on their way to the thread.
pub(super) struct Queue {
    state: Mutex<State>,
    filled: Condvar,
}

struct State {
    jobs: VecDeque<Box<dyn Job>>,
    capacity: usize,
    is_open: bool,
    /// Who waits for a place.
    full: WakerSet,
}

/// What came of a job that was to be put into the queue.
enum Put {
    Done,
    Full(Box<dyn Job>),
    Closed,
}

impl Queue {
    pub(super) fn new(capacity: usize) -> Self {
        let (jobs, full) = (VecDeque::new(), WakerSet::default());
        let state = State { jobs, capacity, is_open: true, full };
        Self { state: Mutex::new(state), filled: Condvar::new() }
    }

    fn put(&self, job: Box<dyn Job>, ticket: &mut Ticket, waker: &Waker) -> Put {
        let mut state = lock(&self.state);
        if !state.is_open {
            drop(state);
            return Put::Closed;
        }
        if state.jobs.len() >= state.capacity {
            let before = state.full.put(ticket, waker.clone());
            drop(state);
            drop(before);
            return Put::Full(job);
        }
        state.jobs.push_back(job);
        let before = state.full.leave(ticket);
        drop(state);
        drop(before);
        self.filled.notify_one();
        Put::Done
    }

    /// Takes no more jobs; those that are there are done still.
    pub(super) fn close(&self) {
        let woken = {
            let mut state = lock(&self.state);
            state.is_open = false;
            state.full.take()
        };
        self.filled.notify_one();
        woken.wake();
    }

    /// Takes no more jobs, and gives up those that are there.
    fn abandon(&self) {
        self.close();
        let jobs = std::mem::take(&mut lock(&self.state).jobs);
        drop(jobs);
    }

    /// Waits for jobs and takes all that are there; none once the queue is closed and empty.
    fn take(&self) -> VecDeque<Box<dyn Job>> {
        let mut state = lock(&self.state);
        while state.jobs.is_empty() && state.is_open {
            state = wait(&self.filled, state);
        }
        let jobs = std::mem::take(&mut state.jobs);
        let woken = state.full.take();
        drop(state);
        woken.wake();
        jobs
    }
}

/// Closes the queue also when the thread ends by a panic.
pub(super) struct Closing<'q>(pub(super) &'q Queue);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// Does jobs until the queue is closed and empty.
pub(super) fn work(connection: &Connection, queue: &Queue) {
    loop {
        let mut jobs = queue.take();
        if jobs.is_empty() {
            return;
        }
        let committed = together(connection, &mut jobs);
        for job in jobs {
            job.answer(committed.clone());
        }
    }
}

fn together(connection: &Connection, jobs: &mut VecDeque<Box<dyn Job>>) -> Result<(), StoreError> {
    let writes = jobs.iter().any(|job| job.writes());
    connection.execute_batch(if writes { "BEGIN IMMEDIATE" } else { "BEGIN" })?;
    let done = jobs.iter_mut().try_for_each(|job| alone(connection, &mut **job));
    let done = done.and_then(|()| Ok(connection.execute_batch("COMMIT")?));
    if done.is_err() && !connection.is_autocommit() {
        // The first error is the one that tells.
        let _ = connection.execute_batch("ROLLBACK");
    }
    done
}

fn alone(connection: &Connection, job: &mut dyn Job) -> Result<(), StoreError> {
    connection.execute_batch("SAVEPOINT job")?;
    let is_kept = caught(|| job.run(connection)).unwrap_or(false);
    if !is_kept {
        connection.execute_batch("ROLLBACK TO job")?;
    }
    Ok(connection.execute_batch("RELEASE job")?)
}

/// Where a result is left.
pub(super) struct Slot<T>(Mutex<SlotState<T>>);

struct SlotState<T> {
    result: Option<Result<T, StoreError>>,
    waker: Option<Waker>,
}

impl<T> Slot<T> {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(SlotState { result: None, waker: None })))
    }

    pub(super) fn fill(&self, result: Result<T, StoreError>) {
        let mut woken = Woken::default();
        let mut state = lock(&self.0);
        state.result = Some(result);
        woken.push(state.waker.take());
        drop(state);
        woken.wake();
    }

    fn poll(&self, cx: &Context<'_>) -> Poll<Result<T, StoreError>> {
        let mut state = lock(&self.0);
        match state.result.take() {
            Some(result) => Poll::Ready(result),
            None => {
                let before = state.waker.replace(cx.waker().clone());
                drop(state);
                drop(before);
                Poll::Pending
            }
        }
    }
}

/// Waits for what is left in a slot.
pub(super) struct Wait<T>(pub(super) Arc<Slot<T>>);

impl<T> Future for Wait<T> {
    type Output = Result<T, StoreError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll(cx)
    }
}

/// Becomes true once, for any number of waiters.
#[derive(Default)]
pub(super) struct Latch(Mutex<(bool, WakerSet)>);

impl Latch {
    pub(super) fn set(&self) {
        let woken = {
            let mut state = lock(&self.0);
            state.0 = true;
            state.1.take()
        };
        woken.wake();
    }

    pub(super) async fn wait(&self) {
        let mut ticket = Ticket::default();
        std::future::poll_fn(|cx| {
            let mut state = lock(&self.0);
            if state.0 {
                return Poll::Ready(());
            }
            let before = state.1.put(&mut ticket, cx.waker().clone());
            drop(state);
            drop(before);
            Poll::Pending
        })
        .await;
    }
}

/// A job of a function.
struct Task<T, W> {
    writes: bool,
    work: Option<W>,
    /// What the work gave, once it was done.
    result: Option<Result<T, StoreError>>,
    slot: Option<Arc<Slot<T>>>,
}

impl<T, W> Job for Task<T, W>
where
    T: Send,
    W: FnOnce(&Connection) -> Result<T, StoreError> + Send,
{
    fn writes(&self) -> bool {
        self.writes
    }

    fn run(&mut self, connection: &Connection) -> bool {
        if let Some(work) = self.work.take() {
            self.result = Some(work(connection));
        }
        matches!(self.result, Some(Ok(_)))
    }

    fn answer(mut self: Box<Self>, committed: Result<(), StoreError>) {
        let result = match (self.result.take(), committed) {
            // Its own error tells more than that of the transaction.
            (Some(Err(own)), _) | (_, Err(own)) => Err(own),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (None, Ok(())) => Err(StoreError::Closed),
        };
        if let Some(slot) = self.slot.take() {
            slot.fill(result);
        }
    }
}

impl<T, W> Drop for Task<T, W> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            slot.fill(Err(StoreError::Closed));
        }
    }
}

/// A job and the wait for its result. Dropping it forgets a job that has no place yet; any other one is done.
pub(super) struct Call<'q, T> {
    queue: &'q Queue,
    job: Option<Box<dyn Job>>,
    ticket: Ticket,
    slot: Arc<Slot<T>>,
}

impl<'q, T: Send + 'static> Call<'q, T> {
    pub(super) fn new(
        queue: &'q Queue,
        writes: bool,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Self {
        let slot = Slot::new();
        let own = Some(Arc::clone(&slot));
        let job: Box<dyn Job> = Box::new(Task { writes, work: Some(work), result: None, slot: own });
        Self { queue, job: Some(job), ticket: Ticket::default(), slot }
    }
}

impl<T> Future for Call<'_, T> {
    type Output = Result<T, StoreError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Some(job) = this.job.take() {
            match this.queue.put(job, &mut this.ticket, cx.waker()) {
                Put::Done => {}
                Put::Full(job) => {
                    this.job = Some(job);
                    return Poll::Pending;
                }
                Put::Closed => return Poll::Ready(Err(StoreError::Closed)),
            }
        }
        this.slot.poll(cx)
    }
}

impl<T> Drop for Call<'_, T> {
    fn drop(&mut self) {
        let before = lock(&self.queue.state).full.leave(&mut self.ticket);
        drop(before);
    }
}
