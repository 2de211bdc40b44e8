//! The hosts.

use runloom::blocking::BlockingTimer;
use runloom::smol::SmolTimer;
use runloom::testing::conformance::{
    BlockOn, LocalExecutor, LocalTask, SharedExecutor, SharedTask, Spawned, Suite,
};
use runloom::tokio::TokioTimer;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Wake, Waker};
use std::thread::JoinHandle;
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

/// smol's executor for the whole process, on its own threads.
struct SmolGlobal;

impl SharedExecutor for SmolGlobal {
    fn run(&self, main: SharedTask) {
        smol::block_on(main);
    }

    fn spawn(&self, task: SharedTask) -> Spawned {
        let task = smol::spawn(task);
        Spawned::new(move || drop(task))
    }
}

struct SmolLocal(smol::LocalExecutor<'static>);

impl LocalExecutor for SmolLocal {
    fn run(&self, main: LocalTask) {
        smol::block_on(self.0.run(main));
    }

    fn spawn(&self, task: LocalTask) -> Spawned {
        let task = self.0.spawn(task);
        Spawned::new(move || drop(task))
    }
}

/// An executor that two threads of its own run.
struct TwoThreads {
    executor: Arc<smol::Executor<'static>>,
    stop: smol::channel::Sender<()>,
    threads: Vec<JoinHandle<()>>,
}

impl TwoThreads {
    fn new() -> Self {
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

impl SharedExecutor for TwoThreads {
    fn run(&self, main: SharedTask) {
        let task = self.executor.spawn(main);
        smol::block_on(task);
    }

    fn spawn(&self, task: SharedTask) -> Spawned {
        let task = self.executor.spawn(task);
        Spawned::new(move || drop(task))
    }
}

impl Drop for TwoThreads {
    fn drop(&mut self) {
        self.stop.close();
        for thread in self.threads.drain(..) {
            thread.join().unwrap();
        }
    }
}

/// A tokio runtime, of whatever flavour.
struct Tokio(Runtime);

impl SharedExecutor for Tokio {
    fn run(&self, main: SharedTask) {
        self.0.block_on(main);
    }

    fn spawn(&self, task: SharedTask) -> Spawned {
        let task = self.0.spawn(task);
        Spawned::new(move || task.abort())
    }
}

fn tokio(builder: &mut Builder) -> (Tokio, TokioTimer) {
    let runtime = builder.enable_all().build().unwrap();
    let timer = TokioTimer::on(runtime.handle().clone());
    (Tokio(runtime), timer)
}

struct TokioLocal(LocalSet, Runtime);

impl LocalExecutor for TokioLocal {
    fn run(&self, main: LocalTask) {
        self.0.block_on(&self.1, main);
    }

    fn spawn(&self, task: LocalTask) -> Spawned {
        let task = self.0.spawn_local(task);
        Spawned::new(move || task.abort())
    }
}

fn tokio_local(paused: bool) -> (TokioLocal, TokioTimer) {
    let runtime = Builder::new_current_thread().enable_all().start_paused(paused).build().unwrap();
    let timer = TokioTimer::on(runtime.handle().clone());
    (TokioLocal(LocalSet::new(), runtime), timer)
}

/// What a window system has: one queue of messages, which any thread may post to and one thread works off. A message
/// says which task is to be polled; a task is posted once however often it is woken.
struct EventLoop {
    queue: Arc<Messages>,
    tasks: Rc<RefCell<Vec<Option<LocalTask>>>>,
}

#[derive(Default)]
struct Messages {
    posted: Mutex<VecDeque<usize>>,
    arrived: Condvar,
}

struct Post {
    queue: Arc<Messages>,
    task: usize,
}

impl Messages {
    fn post(&self, task: usize) {
        let mut posted = self.posted.lock().unwrap();
        if !posted.contains(&task) {
            posted.push_back(task);
            self.arrived.notify_one();
        }
    }

    fn next(&self) -> usize {
        let mut posted = self.posted.lock().unwrap();
        loop {
            match posted.pop_front() {
                Some(task) => return task,
                None => posted = self.arrived.wait(posted).unwrap(),
            }
        }
    }
}

impl Wake for Post {
    fn wake(self: Arc<Self>) {
        self.queue.post(self.task);
    }
}

impl EventLoop {
    fn new() -> Self {
        Self { queue: Arc::default(), tasks: Rc::default() }
    }

    fn add(&self, task: LocalTask) -> usize {
        let mut tasks = self.tasks.borrow_mut();
        tasks.push(Some(task));
        self.queue.post(tasks.len() - 1);
        tasks.len() - 1
    }

    /// Works off one message; whether that ended its task.
    fn handle(&self, place: usize) -> bool {
        let taken = self.tasks.borrow_mut()[place].take();
        let Some(mut task) = taken else { return false };
        let waker = Waker::from(Arc::new(Post { queue: Arc::clone(&self.queue), task: place }));
        if Pin::new(&mut task).poll(&mut Context::from_waker(&waker)).is_ready() {
            return true;
        }
        self.tasks.borrow_mut()[place] = Some(task);
        false
    }
}

impl LocalExecutor for EventLoop {
    fn run(&self, main: LocalTask) {
        let main = self.add(main);
        loop {
            let message = self.queue.next();
            if self.handle(message) && message == main {
                return;
            }
        }
    }

    fn spawn(&self, task: LocalTask) -> Spawned {
        let (place, tasks) = (self.add(task), Rc::clone(&self.tasks));
        Spawned::new(move || {
            let task = tasks.borrow_mut()[place].take();
            drop(task);
        })
    }
}

fn lite() -> BlockOn {
    BlockOn::new(futures_lite::future::block_on)
}

/// The thread that parks, with the timer that it rings.
fn blocking() -> (BlockOn, BlockingTimer) {
    let timer = BlockingTimer::new();
    let blocks = timer.clone();
    (BlockOn::new(move |future| blocks.block_on(future)), timer)
}

/// A suite for each host.
pub(crate) fn suites() -> Vec<Suite> {
    vec![
        Suite::shared("smol", || (SmolGlobal, SmolTimer::new())),
        Suite::local("smol::LocalExecutor", || (SmolLocal(smol::LocalExecutor::new()), SmolTimer::new())),
        Suite::shared("async-executor, 2 threads", || (TwoThreads::new(), SmolTimer::new())),
        Suite::shared("tokio, 2 threads", || tokio(Builder::new_multi_thread().worker_threads(2))),
        Suite::shared("tokio, current thread", || tokio(&mut Builder::new_current_thread())),
        Suite::local("tokio, LocalSet", || tokio_local(false)),
        Suite::shared("tokio, paused", || tokio(Builder::new_current_thread().start_paused(true))),
        Suite::local("tokio, LocalSet, paused", || tokio_local(true)),
        Suite::local("block_on", || (lite(), SmolTimer::new())),
        Suite::shared("block_on, Send parts", || (lite(), SmolTimer::new())),
        Suite::local("runloom::blocking", blocking),
        Suite::local("event loop", || (EventLoop::new(), SmolTimer::new())),
    ]
}
