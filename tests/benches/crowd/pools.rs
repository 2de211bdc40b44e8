//! Executors with two threads.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::runtime::{Builder, Runtime};

pub(crate) type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs tasks on two threads.
pub(crate) trait Pool {
    fn name(&self) -> &'static str;
    /// Runs a task that nobody waits for.
    fn spawn(&self, task: Task);
}

/// smol's executor.
pub(crate) struct Smol {
    executor: Arc<smol::Executor<'static>>,
    stop: smol::channel::Sender<()>,
    threads: Vec<JoinHandle<()>>,
}

impl Smol {
    pub(crate) fn new() -> Self {
        let executor = Arc::new(smol::Executor::new());
        let (stop, stopped) = smol::channel::bounded::<()>(1);
        let thread = || {
            let (executor, stopped) = (Arc::clone(&executor), stopped.clone());
            std::thread::spawn(move || {
                let _ = smol::block_on(executor.run(stopped.recv()));
            })
        };
        Self { threads: vec![thread(), thread()], executor: Arc::clone(&executor), stop }
    }
}

impl Pool for Smol {
    fn name(&self) -> &'static str {
        "smol, 2 threads"
    }

    fn spawn(&self, task: Task) {
        self.executor.spawn(task).detach();
    }
}

impl Drop for Smol {
    fn drop(&mut self) {
        self.stop.close();
        for thread in self.threads.drain(..) {
            thread.join().unwrap();
        }
    }
}

/// tokio's runtime.
pub(crate) struct Tokio(Runtime);

impl Tokio {
    pub(crate) fn new() -> Self {
        Self(Builder::new_multi_thread().worker_threads(2).build().unwrap())
    }
}

impl Pool for Tokio {
    fn name(&self) -> &'static str {
        "tokio, 2 threads"
    }

    fn spawn(&self, task: Task) {
        drop(self.0.spawn(task));
    }
}
