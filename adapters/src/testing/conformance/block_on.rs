//! Tasks for what can only block on one future.

use super::executor::{LocalExecutor, LocalTask, SharedExecutor, SharedTask, Spawned};
use crate::sync::{Arc, AtomicBool, Mutex, Ordering, lock};
use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Wake, Waker};

/// An executor made of a function that blocks on one future: all tasks are polled within that future, in turn, each
/// only if it was woken. So the function's parking and its waker are what is tested.
pub struct BlockOn {
    block_on: Box<dyn Fn(LocalTask)>,
    tasks: Rc<RefCell<Vec<Option<Task>>>>,
    root: Arc<Root>,
}

/// The waker of the one future.
#[derive(Default)]
struct Root {
    waker: Mutex<Option<Waker>>,
}

struct Task {
    future: LocalTask,
    woken: Arc<TaskWaker>,
    waker: Waker,
}

struct TaskWaker {
    woken: AtomicBool,
    root: Arc<Root>,
}

impl BlockOn {
    /// Tasks on this function, which polls the future that it is given to its end.
    pub fn new(block_on: impl Fn(LocalTask) + 'static) -> Self {
        Self { block_on: Box::new(block_on), tasks: Rc::default(), root: Arc::default() }
    }
}

impl Task {
    fn new(future: LocalTask, root: &Arc<Root>) -> Self {
        let woken = Arc::new(TaskWaker { woken: AtomicBool::new(true), root: Arc::clone(root) });
        let waker = Waker::from(Arc::clone(&woken));
        Self { future, woken, waker }
    }

    /// Polls it if it was woken; whether it is done.
    fn run(&mut self) -> bool {
        self.woken.woken.swap(false, Ordering::AcqRel)
            && self.future.as_mut().poll(&mut Context::from_waker(&self.waker)).is_ready()
    }
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        let root = lock(&self.root.waker).clone();
        if let Some(root) = root {
            root.wake();
        }
    }
}

/// All tasks, until the first of them, which is `main`, is done.
struct All {
    main: Task,
    tasks: Rc<RefCell<Vec<Option<Task>>>>,
    root: Arc<Root>,
}

impl Future for All {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let replaced = lock(&this.root.waker).replace(cx.waker().clone());
        drop(replaced);
        if this.main.run() {
            return Poll::Ready(());
        }
        let count = this.tasks.borrow().len();
        for place in 0..count {
            // Out of its place while it is polled: it may abort others, and itself.
            let taken = this.tasks.borrow_mut().get_mut(place).and_then(Option::take);
            let Some(mut task) = taken else { continue };
            if !task.run()
                && let Some(place) = this.tasks.borrow_mut().get_mut(place)
            {
                *place = Some(task);
            }
        }
        Poll::Pending
    }
}

impl LocalExecutor for BlockOn {
    fn run(&self, main: LocalTask) {
        let main = Task::new(main, &self.root);
        let all = All { main, tasks: Rc::clone(&self.tasks), root: Arc::clone(&self.root) };
        (self.block_on)(Box::pin(all));
    }

    fn spawn(&self, task: LocalTask) -> Spawned {
        let place = {
            let mut tasks = self.tasks.borrow_mut();
            tasks.push(Some(Task::new(task, &self.root)));
            tasks.len() - 1
        };
        let tasks = Rc::clone(&self.tasks);
        Spawned::new(move || {
            let task = tasks.borrow_mut().get_mut(place).and_then(Option::take);
            drop(task);
        })
    }
}

/// One thread is enough for tasks that may move between several.
impl SharedExecutor for BlockOn {
    fn run(&self, main: SharedTask) {
        LocalExecutor::run(self, main);
    }

    fn spawn(&self, task: SharedTask) -> Spawned {
        LocalExecutor::spawn(self, task)
    }
}

impl fmt::Debug for BlockOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockOn").field("tasks", &self.tasks.borrow().len()).finish_non_exhaustive()
    }
}
