//! Drivers as tokio tasks.

use super::NoRuntime;
use crate::core::outcome::Outcome;
use crate::driver::Driver;
use crate::timer::Timer;
use crate::transport::Transport;
use ::tokio::runtime::Handle;
use ::tokio::task::{JoinHandle, LocalSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The task of a driver.
///
/// Dropped, it lets the task go on: a run ends with its own handle (C8). Awaited, it gives the outcome.
#[derive(Debug)]
pub struct DriverTask {
    task: JoinHandle<Arc<Outcome>>,
}

/// The task ended before its driver had an outcome: it was aborted, or its runtime was shut down. The driver was dropped
/// then, which ended its run (C8); the run's handle knows its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the driver's task was ended from outside")]
pub struct TaskEnded;

impl DriverTask {
    /// Has tokio drop the driver soon, which ends the run as cancelled (C8). To end the run at once, cancel it.
    pub fn abort(&self) {
        self.task.abort();
    }

    /// Whether the task has ended, in whatever way.
    pub fn is_finished(&self) -> bool {
        self.task.is_finished()
    }
}

impl Future for DriverTask {
    type Output = Result<Arc<Outcome>, TaskEnded>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.task).poll(cx).map(|ended| ended.map_err(|_| TaskEnded))
    }
}

/// Spawns `driver` on the runtime that the calling thread is in.
///
/// # Errors
///
/// [`NoRuntime`] if there is none; the driver is dropped then, which ends its run (C8).
pub fn spawn<T, X>(driver: Driver<T, X>) -> Result<DriverTask, NoRuntime>
where
    T: Timer + Send + 'static,
    X: Transport + Send + 'static,
{
    let runtime = Handle::try_current().map_err(|_| NoRuntime)?;
    Ok(spawn_on(&runtime, driver))
}

/// Spawns `driver` on `runtime`.
pub fn spawn_on<T, X>(runtime: &Handle, driver: Driver<T, X>) -> DriverTask
where
    T: Timer + Send + 'static,
    X: Transport + Send + 'static,
{
    DriverTask { task: runtime.spawn(driver) }
}

/// Spawns `driver`, whose parts may stay on one thread, on `set`.
pub fn spawn_local_on<T, X>(set: &LocalSet, driver: Driver<T, X>) -> DriverTask
where
    T: Timer + 'static,
    X: Transport + 'static,
{
    DriverTask { task: set.spawn_local(driver) }
}
