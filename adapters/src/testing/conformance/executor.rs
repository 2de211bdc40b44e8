//! What an executor has to offer to be tested.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

/// A future that may move between threads.
pub type SharedTask = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A future that stays on one thread.
pub type LocalTask = Pin<Box<dyn Future<Output = ()>>>;

/// An executor whose tasks may move between threads.
///
/// It is used from one thread. Tasks may go on while [`run`](SharedExecutor::run) is not called, and need not.
pub trait SharedExecutor {
    /// Runs `main` to its end, on this or another thread, and at least meanwhile all tasks that were spawned.
    fn run(&self, main: SharedTask);

    /// Adds a task, which is not polled in this call.
    fn spawn(&self, task: SharedTask) -> Spawned;
}

/// An executor whose tasks stay on the thread that spawned them.
pub trait LocalExecutor {
    /// Runs `main` to its end, and meanwhile all tasks that were spawned.
    fn run(&self, main: LocalTask);

    /// Adds a task, which is not polled in this call.
    fn spawn(&self, task: LocalTask) -> Spawned;
}

/// A task that was spawned, and how it is ended from outside.
///
/// The suite keeps it as long as the task is wanted: what the function captures may cancel the task when dropped.
#[must_use]
pub struct Spawned {
    abort: Box<dyn FnOnce()>,
}

impl Spawned {
    /// A task that `abort` ends: its future is dropped in that call, or soon after, when the executor runs.
    pub fn new(abort: impl FnOnce() + 'static) -> Self {
        Self { abort: Box::new(abort) }
    }

    pub(super) fn abort(self) {
        (self.abort)();
    }
}

impl fmt::Debug for Spawned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spawned").finish_non_exhaustive()
    }
}
