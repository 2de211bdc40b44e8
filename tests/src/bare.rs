//! The barest executor: tasks that are polled in turn as long as any is woken, then the manual clock jumps to the next
//! alarm. What it does is the same every time.

use runloom::ManualTimer;
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// A waker that remembers whether, and counts how often, it was woken.
#[derive(Debug, Default)]
pub struct Flag {
    woken: AtomicBool,
    wakes: AtomicUsize,
}

impl Flag {
    /// A flag that is not up, and its waker.
    pub fn new() -> (Arc<Self>, Waker) {
        let flag = Arc::new(Self::default());
        (Arc::clone(&flag), Waker::from(flag))
    }

    /// Whether it was woken since this was asked last.
    pub fn take(&self) -> bool {
        self.woken.swap(false, Ordering::SeqCst)
    }

    /// How often it was woken.
    pub fn wakes(&self) -> usize {
        self.wakes.load(Ordering::SeqCst)
    }
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.wakes.fetch_add(1, Ordering::SeqCst);
        self.woken.store(true, Ordering::SeqCst);
    }
}

/// One future, polled by hand.
pub struct Task<F: Future> {
    future: Option<Pin<Box<F>>>,
    flag: Arc<Flag>,
    waker: Waker,
    polls: usize,
    output: Option<F::Output>,
}

impl<F: Future> Task<F> {
    /// A task that was never polled.
    pub fn new(future: F) -> Self {
        let (flag, waker) = Flag::new();
        flag.woken.store(true, Ordering::SeqCst);
        Self { future: Some(Box::pin(future)), flag, waker, polls: 0, output: None }
    }

    /// Polls it once, woken or not; whether it is done.
    pub fn poll(&mut self) -> bool {
        let Some(future) = &mut self.future else { return true };
        self.flag.take();
        self.polls += 1;
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&self.waker)) {
            self.output = Some(output);
            self.future = None;
        }
        self.future.is_none()
    }

    /// Polls it as long as it is woken; whether it is done.
    ///
    /// # Panics
    ///
    /// If it is still awake after 100,000 polls.
    pub fn run(&mut self) -> bool {
        for _ in 0..100_000 {
            if self.future.is_none() || !self.flag.woken.load(Ordering::SeqCst) {
                return self.future.is_none();
            }
            self.poll();
        }
        panic!("the task does not go to sleep");
    }

    /// Whether it was woken and not polled since.
    pub fn is_woken(&self) -> bool {
        self.future.is_some() && self.flag.woken.load(Ordering::SeqCst)
    }

    /// How often it was polled.
    pub fn polls(&self) -> usize {
        self.polls
    }

    /// What it returned.
    pub fn output(&self) -> Option<&F::Output> {
        self.output.as_ref()
    }

    /// Drops the future.
    pub fn kill(&mut self) {
        self.future = None;
    }
}

/// Polls `futures` in turn, and moves `timer` to its next alarm whenever all of them sleep, until all are done or
/// sleep for good; whether all are done.
pub fn run_all(timer: &ManualTimer, futures: Vec<Pin<Box<dyn Future<Output = ()> + '_>>>) -> bool {
    let mut tasks: Vec<_> = futures.into_iter().map(Task::new).collect();
    loop {
        let mut awake = false;
        for task in &mut tasks {
            if task.is_woken() {
                awake = true;
                task.poll();
            }
        }
        if tasks.iter().all(|task| task.output().is_some()) {
            return true;
        }
        if !awake && timer.advance_to_alarm().is_none() {
            return false;
        }
    }
}

/// Runs `future` beside others to its end, moving `timer` whenever all sleep; `None` if it sleeps for good.
pub fn block_on<F: Future>(
    timer: &ManualTimer,
    future: F,
    others: Vec<Pin<Box<dyn Future<Output = ()> + '_>>>,
) -> Option<F::Output> {
    let output = Rc::new(RefCell::new(None));
    let result = Rc::clone(&output);
    let mut futures: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> =
        vec![Box::pin(async move { *result.borrow_mut() = Some(future.await) })];
    futures.extend(others);
    run_all(timer, futures);
    output.take()
}
