//! Wakers for single operations: waking one of many has only that one polled.

use super::asks::AskSlot;
use super::progress::ProgressSlot;
use crate::core::id::OpId;
use crate::panics::drop_caught;
use crate::sync::{Arc, AtomicBool, AtomicUsize, Mutex, Ordering, lock};
use std::collections::VecDeque;
use std::task::{Wake, Waker};

/// Operations that were woken since the transport looked last, and the task that polls the transport.
#[derive(Default)]
pub(super) struct ReadyList {
    state: Mutex<ReadyState>,
}

#[derive(Default)]
struct ReadyState {
    woken: Vec<OpId>,
    task: Option<Waker>,
}

impl ReadyList {
    /// Moves what was woken into `queue`; from now on a wake wakes `task`.
    pub(super) fn attend(&self, task: &Waker, queue: &mut VecDeque<OpId>) {
        {
            let mut state = lock(&self.state);
            queue.extend(state.woken.drain(..));
            if state.task.as_ref().is_some_and(|known| known.will_wake(task)) {
                return;
            }
        }
        let task = task.clone();
        let replaced = {
            let mut state = lock(&self.state);
            queue.extend(state.woken.drain(..));
            state.task.replace(task)
        };
        drop(replaced);
    }

    /// Lets go of the task: tools may keep their wakers for as long as they like.
    pub(super) fn leave(&self) {
        let task = lock(&self.state).task.take();
        drop_caught(task);
    }

    fn push(&self, op: OpId) {
        let task = {
            let mut state = lock(&self.state);
            state.woken.push(op);
            state.task.take()
        };
        if let Some(task) = task {
            task.wake();
        }
    }
}

/// Wakes one operation.
pub(super) struct OpWaker {
    op: OpId,
    /// Whether the operation stands in a queue already.
    queued: AtomicBool,
    list: Arc<ReadyList>,
    /// Counts what a tool leaves, so that it is reported in the order in which it was left (E9).
    left: AtomicUsize,
    /// Where a tool leaves its reports.
    pub(super) progress: ProgressSlot,
    /// Where a tool leaves its questions.
    pub(super) asks: AskSlot,
}

impl OpWaker {
    /// A waker for an operation that stands in the queue.
    pub(super) fn queued(op: OpId, list: &Arc<ReadyList>) -> Arc<Self> {
        Arc::new(Self {
            op,
            queued: AtomicBool::new(true),
            list: Arc::clone(list),
            left: AtomicUsize::new(0),
            progress: ProgressSlot::default(),
            asks: AskSlot::default(),
        })
    }

    /// The place in the tool's order of what it leaves next.
    pub(super) fn place(&self) -> usize {
        self.left.fetch_add(1, Ordering::AcqRel)
    }

    /// The operation is about to be polled: the next wake counts.
    pub(super) fn rearm(&self) {
        self.queued.swap(false, Ordering::AcqRel);
    }

    /// Whether the caller has to queue the operation.
    pub(super) fn claim(&self) -> bool {
        !self.queued.swap(true, Ordering::AcqRel)
    }
}

impl Wake for OpWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.claim() {
            self.list.push(self.op);
        }
    }
}
