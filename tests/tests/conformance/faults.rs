//! Executors and timers with a fault: the suite finds each of them.

use runloom::smol::SmolTimer;
use runloom::testing::conformance::{BlockOn, LocalExecutor, LocalTask, Report, Spawned, Suite};
use runloom::{ManualTimer, Time, Timer};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// How long a suite waits for what is stuck; what is not has much longer.
const LIMIT: Duration = Duration::from_secs(2);

fn lite() -> BlockOn {
    BlockOn::new(futures_lite::future::block_on)
}

fn failure(report: &Report, scenario: &str) -> String {
    report.row(scenario).unwrap().failure.clone().unwrap_or_default()
}

/// What is done to a task before it goes to a proper executor.
struct Bent {
    inner: BlockOn,
    bend: fn(LocalTask) -> LocalTask,
    abort: bool,
}

impl LocalExecutor for Bent {
    fn run(&self, main: LocalTask) {
        LocalExecutor::run(&self.inner, main);
    }

    fn spawn(&self, task: LocalTask) -> Spawned {
        let spawned = LocalExecutor::spawn(&self.inner, (self.bend)(task));
        if self.abort { spawned } else { Spawned::new(|| {}) }
    }
}

fn bent(bend: fn(LocalTask) -> LocalTask, abort: bool) -> Suite {
    let make = move || (Bent { inner: lite(), bend, abort }, ManualTimer::new());
    Suite::local("bent", make)
}

/// Passes every wake on but each tenth.
struct Forgetful(Waker, Arc<AtomicU64>);

impl Wake for Forgetful {
    fn wake(self: Arc<Self>) {
        if self.1.fetch_add(1, Ordering::SeqCst) % 10 != 9 {
            self.0.wake_by_ref();
        }
    }
}

struct LosesWakes(LocalTask, Arc<AtomicU64>);

impl Future for LosesWakes {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let waker = Waker::from(Arc::new(Forgetful(cx.waker().clone(), Arc::clone(&self.1))));
        self.0.as_mut().poll(&mut Context::from_waker(&waker))
    }
}

#[test]
fn an_executor_that_loses_wakes_is_stuck() {
    let suite = bent(|task| Box::pin(LosesWakes(task, Arc::default())), true).limit(LIMIT);
    let report = suite.only(["wakes", "order"]).run();
    assert!(failure(&report, "wakes").starts_with("stuck"), "{report}");
    assert!(failure(&report, "order").starts_with("stuck"), "{report}");
}

#[test]
fn an_executor_that_does_not_abort_is_stuck() {
    let report = bent(|task| task, false).limit(LIMIT).only(["abort"]).run();
    let found = failure(&report, "abort");
    assert!(found.starts_with("stuck") || found == "the driver is not done", "{report}");
    bent(|task| task, false).only(["order"]).run().assert();
}

/// Polls what it is given until it is done or has been polled often, whoever else waits.
struct Selfish(LocalTask);

impl Future for Selfish {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..20 {
            if self.0.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
        }
        Poll::Pending
    }
}

#[test]
fn an_executor_that_polls_without_need_is_found() {
    let report = bent(|task| Box::pin(Selfish(task)), true).only(["wakes", "cancel-busy"]).run();
    assert!(failure(&report, "wakes").contains("polls for input"), "{report}");
}

/// Runs the first task alone as long as it is awake.
struct Starving(Rc<RefCell<Vec<LocalTask>>>);

impl LocalExecutor for Starving {
    fn run(&self, mut main: LocalTask) {
        futures_lite::future::block_on(std::future::poll_fn(|cx| {
            for task in self.0.borrow_mut().iter_mut() {
                let awake = Rc::new(Cell::new(true));
                while awake.replace(false) {
                    let (flag, waker) = runloom_tests::bare::Flag::new();
                    if task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() && flag.take() {
                        awake.set(true);
                    }
                }
                let _ = task.as_mut().poll(cx);
            }
            main.as_mut().poll(cx)
        }));
    }

    fn spawn(&self, task: LocalTask) -> Spawned {
        self.0.borrow_mut().push(task);
        Spawned::new(|| {})
    }
}

#[test]
fn an_executor_that_starves_its_tasks_is_stuck() {
    let suite = Suite::local("starving", || (Starving(Rc::default()), ManualTimer::new()));
    // The starved tasks get their turn when the endless response breaks its bound, half a million words later: before that,
    // this is over.
    let report = suite.limit(Duration::from_millis(20)).only(["fairness"]).run();
    let found = failure(&report, "fairness");
    assert!(found.starts_with("stuck") || found.contains("turns given"), "{report}");
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    Early,
    Never,
    Deaf,
    Wraps,
    Storms,
    Back,
}

/// A timer with a fault.
#[derive(Clone)]
struct Faulty {
    inner: SmolTimer,
    fault: Fault,
    set: Option<Time>,
    reads: Arc<AtomicU64>,
}

impl Timer for Faulty {
    fn now(&self) -> Time {
        let now = self.inner.now();
        let back = self.fault == Fault::Back && self.reads.fetch_add(1, Ordering::SeqCst) % 5 == 4;
        if back { Time::ZERO } else { now }
    }

    fn poll_at(&mut self, at: Time, cx: &mut Context<'_>) -> Poll<()> {
        let left = at.since(self.inner.now());
        match self.fault {
            Fault::Early if left < Duration::from_millis(2) => Poll::Ready(()),
            Fault::Never if !left.is_zero() => Poll::Pending,
            // It keeps to the first alarm that it was set to.
            Fault::Deaf => {
                let first = *self.set.get_or_insert(at);
                self.inner.poll_at(first, cx)
            }
            Fault::Wraps => {
                let millis = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
                if millis >= 1 << 31 { Poll::Ready(()) } else { self.inner.poll_at(at, cx) }
            }
            Fault::Storms if !left.is_zero() => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            _ => self.inner.poll_at(at, cx),
        }
    }
}

#[test]
fn timers_with_a_fault_are_found() {
    for (fault, expected) in [
        (Fault::Early, "ready for"),
        (Fault::Never, "stuck"),
        (Fault::Deaf, "ready for"),
        (Fault::Wraps, "ready for 5184000"),
        (Fault::Storms, "wakes for one alarm"),
        (Fault::Back, "went back"),
    ] {
        let make = move || {
            let inner = SmolTimer::new();
            // A clock at zero could not go back.
            std::thread::sleep(Duration::from_millis(1));
            (lite(), Faulty { inner, fault, set: None, reads: Arc::default() })
        };
        let suite = Suite::local("faulty", make).only(["timer"]);
        let report = if expected == "stuck" { suite.limit(LIMIT).run() } else { suite.run() };
        let found = failure(&report, "timer");
        assert!(found.contains(expected), "{found:?} in place of {expected:?}");
    }
}

#[test]
fn an_exact_timer_has_no_fault() {
    let report = Suite::local("exact", || (lite(), SmolTimer::new())).only(["timer"]).run();
    report.assert();
    assert_eq!(report.rows.len(), 1);
}
