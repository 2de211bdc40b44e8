//! Executors and timers that are odd in a legal way, and some that are broken in a subtle one.
#![allow(clippy::unwrap_used)]

use runloom::blocking::BlockingTimer;
use runloom::smol::SmolTimer;
use runloom::testing::conformance::{BlockOn, LocalTask, SharedExecutor, SharedTask, Spawned, Suite};
use runloom::{ManualTimer, Time, Timer};
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// How long a suite waits for what is stuck.
const LIMIT: Duration = Duration::from_secs(3);

/// How an executor is odd.
#[derive(Clone, Copy, Debug, Default)]
struct Oddity {
    /// The newest of those that are awake is polled first.
    newest_first: bool,
    /// Each poll is on another thread than the last.
    hops: bool,
    /// One task that nobody woke is polled in each round.
    spurious: bool,
    /// A wake counts this much later.
    late: Duration,
}

#[derive(Default)]
struct Ready {
    awake: Mutex<Vec<u64>>,
    arrived: Condvar,
}

struct Bell {
    ready: Arc<Ready>,
    task: u64,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        let mut awake = self.ready.awake.lock().unwrap();
        if !awake.contains(&self.task) {
            awake.push(self.task);
            self.ready.arrived.notify_one();
        }
    }
}

type Job = (SharedTask, Waker, mpsc::Sender<Option<SharedTask>>);

struct OddExecutor {
    oddity: Oddity,
    ready: Arc<Ready>,
    tasks: Arc<Mutex<BTreeMap<u64, SharedTask>>>,
    aborted: Arc<Mutex<Vec<u64>>>,
    next: AtomicU64,
    workers: Vec<mpsc::Sender<Job>>,
    turn: AtomicU64,
}

fn polled((mut task, waker, back): Job) {
    let ready = task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready();
    drop(waker);
    let _ = back.send((!ready).then_some(task));
}

impl OddExecutor {
    fn new(oddity: Oddity) -> Self {
        let workers = (0..3).map(|_| {
            let (sender, jobs) = mpsc::channel::<Job>();
            std::thread::spawn(move || jobs.into_iter().for_each(polled));
            sender
        });
        let workers = workers.collect();
        let (ready, tasks, aborted) = (Arc::default(), Arc::default(), Arc::default());
        Self { oddity, ready, tasks, aborted, next: AtomicU64::new(0), workers, turn: AtomicU64::new(0) }
    }

    fn add(&self, task: SharedTask) -> u64 {
        let number = self.next.fetch_add(1, Ordering::SeqCst);
        self.tasks.lock().unwrap().insert(number, task);
        Arc::new(Bell { ready: Arc::clone(&self.ready), task: number }).wake();
        number
    }

    /// Whether the task ended.
    fn poll(&self, number: u64) -> bool {
        let Some(task) = self.tasks.lock().unwrap().remove(&number) else { return false };
        let waker = Waker::from(Arc::new(Bell { ready: Arc::clone(&self.ready), task: number }));
        let (back, answer) = mpsc::channel();
        let job = (task, waker, back);
        if self.oddity.hops {
            let turn = self.turn.fetch_add(1, Ordering::SeqCst) as usize;
            self.workers[turn % self.workers.len()].send(job).unwrap();
        } else {
            polled(job);
        }
        match answer.recv().unwrap() {
            Some(task) => {
                self.tasks.lock().unwrap().insert(number, task);
                false
            }
            None => true,
        }
    }

    fn round(&self) -> Vec<u64> {
        let mut awake = self.ready.awake.lock().unwrap();
        while awake.is_empty() {
            awake = self.ready.arrived.wait(awake).unwrap();
        }
        drop(awake);
        if !self.oddity.late.is_zero() {
            std::thread::sleep(self.oddity.late);
        }
        let mut round = std::mem::take(&mut *self.ready.awake.lock().unwrap());
        if self.oddity.newest_first {
            round.reverse();
        }
        if self.oddity.spurious {
            let sleeper = self.tasks.lock().unwrap().keys().copied().find(|task| !round.contains(task));
            round.extend(sleeper);
        }
        round
    }
}

impl SharedExecutor for OddExecutor {
    fn run(&self, main: SharedTask) {
        let main = self.add(main);
        loop {
            let aborted = std::mem::take(&mut *self.aborted.lock().unwrap());
            for number in aborted {
                let task = self.tasks.lock().unwrap().remove(&number);
                drop(task);
            }
            let mut round = self.round().into_iter();
            while let Some(number) = round.next() {
                if self.poll(number) && number == main {
                    // The others have their turns when this is called again.
                    let mut awake = self.ready.awake.lock().unwrap();
                    for number in round {
                        if !awake.contains(&number) {
                            awake.push(number);
                        }
                    }
                    return;
                }
            }
        }
    }

    fn spawn(&self, task: SharedTask) -> Spawned {
        let number = self.add(task);
        let aborted = Arc::clone(&self.aborted);
        Spawned::new(move || aborted.lock().unwrap().push(number))
    }
}

/// Newest first, a thread of its own for each poll, polls and wakes at odd times: all of it is legal.
#[test]
fn odd_executors_conform() {
    let late = Duration::from_micros(50);
    let oddities = [
        Oddity::default(),
        Oddity { newest_first: true, ..Oddity::default() },
        Oddity { newest_first: true, hops: true, ..Oddity::default() },
        Oddity { hops: true, late, ..Oddity::default() },
        Oddity { spurious: true, ..Oddity::default() },
    ];
    for oddity in oddities {
        let make = move || (OddExecutor::new(oddity), SmolTimer::new());
        let report = Suite::shared(format!("{oddity:?}"), make).run();
        report.assert();
    }
}

struct LosesOne(Waker, Arc<AtomicU64>, u64);

impl Wake for LosesOne {
    fn wake(self: Arc<Self>) {
        if self.1.fetch_add(1, Ordering::SeqCst) % self.2 != self.2 - 1 {
            self.0.wake_by_ref();
        }
    }
}

struct Loses(OddExecutor, u64);

impl SharedExecutor for Loses {
    fn run(&self, main: SharedTask) {
        self.0.run(main);
    }

    fn spawn(&self, mut task: SharedTask) -> Spawned {
        let (count, each) = (Arc::new(AtomicU64::new(0)), self.1);
        self.0.spawn(Box::pin(poll_fn(move |cx| {
            let waker = Waker::from(Arc::new(LosesOne(cx.waker().clone(), Arc::clone(&count), each)));
            task.as_mut().poll(&mut Context::from_waker(&waker))
        })))
    }
}

#[test]
fn a_wake_that_is_lost_now_and_then_is_found() {
    for each in [100, 1_000] {
        let make = move || (Loses(OddExecutor::new(Oddity::default()), each), SmolTimer::new());
        let suite = Suite::shared("loses", make).limit(LIMIT).only(["threads", "parked"]);
        let report = suite.run();
        assert!(report.failures().next().is_some(), "one in {each}\n{report}");
    }
}

/// A timer with a subtle fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    MicrosecondEarly,
    FirstWaker,
    OwnOrigin,
}

struct Faulty<T: Timer + Clone> {
    inner: T,
    fault: Fault,
    began: Instant,
    set: Option<(Time, Waker)>,
}

impl<T: Timer + Clone> Clone for Faulty<T> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), fault: self.fault, began: Instant::now(), set: None }
    }
}

impl<T: Timer + Clone> Timer for Faulty<T> {
    fn now(&self) -> Time {
        if self.fault == Fault::OwnOrigin {
            return Time::from_micros(self.began.elapsed().as_micros() as u64);
        }
        self.inner.now()
    }

    fn poll_at(&mut self, at: Time, cx: &mut Context<'_>) -> Poll<()> {
        match self.fault {
            Fault::MicrosecondEarly => {
                self.inner.poll_at(Time::from_micros(at.as_micros().saturating_sub(1)), cx)
            }
            Fault::FirstWaker => {
                let known = self.set.as_ref().is_some_and(|(set, _)| *set == at);
                if !known {
                    self.set = Some((at, cx.waker().clone()));
                }
                let waker = self.set.as_ref().unwrap().1.clone();
                self.inner.poll_at(at, &mut Context::from_waker(&waker))
            }
            Fault::OwnOrigin => {
                let now = self.now();
                if now >= at {
                    return Poll::Ready(());
                }
                let real = self.inner.now().after(at.since(now));
                match self.inner.poll_at(real, cx) {
                    Poll::Ready(()) => {
                        cx.waker().wake_by_ref();
                        Poll::Pending
                    }
                    Poll::Pending => Poll::Pending,
                }
            }
        }
    }
}

fn faulty(fault: Fault, over: bool) -> Suite {
    if over {
        let make = move || {
            let timer = BlockingTimer::new();
            let blocks = timer.clone();
            std::thread::sleep(Duration::from_millis(100));
            let timer = Faulty { inner: timer, fault, began: Instant::now(), set: None };
            (BlockOn::new(move |future| blocks.block_on(future)), timer)
        };
        Suite::local("faulty blocking", make)
    } else {
        let make = move || {
            let timer = Faulty { inner: SmolTimer::new(), fault, began: Instant::now(), set: None };
            std::thread::sleep(Duration::from_millis(100));
            (BlockOn::new(futures_lite::future::block_on), timer)
        };
        Suite::local("faulty smol", make)
    }
}

#[test]
fn timers_with_a_subtle_fault_are_found_each_time() {
    for (fault, expected) in [
        (Fault::MicrosecondEarly, "ready for"),
        (Fault::FirstWaker, "did not wake that one"),
        (Fault::OwnOrigin, "a time that has passed is not ready"),
    ] {
        for over in [false, true, false, true] {
            let report = faulty(fault, over).only(["timer"]).limit(LIMIT).run();
            let found = report.row("timer").unwrap().failure.clone().unwrap_or_default();
            assert!(found.contains(expected), "{fault:?}: {report}");
        }
    }
}

/// Sets its flag, and unparks its thread if the wake comes from another one, but for each `n`th time.
struct Racy {
    flag: AtomicBool,
    thread: std::thread::Thread,
    foreign: AtomicU64,
    each: u64,
}

impl Wake for Racy {
    fn wake(self: Arc<Self>) {
        self.flag.store(true, Ordering::SeqCst);
        let foreign = std::thread::current().id() != self.thread.id();
        if foreign && self.foreign.fetch_add(1, Ordering::SeqCst) % self.each != self.each - 1 {
            self.thread.unpark();
        }
    }
}

/// Blocks on a future; a wake from another thread is lost on a thread that has parked, each `n`th time.
fn racy(each: u64) -> impl Fn(LocalTask) {
    let foreign = Arc::new(AtomicU64::new(0));
    move |mut future| {
        let woken = Arc::new(Racy {
            flag: AtomicBool::new(true),
            thread: std::thread::current(),
            foreign: AtomicU64::new(foreign.load(Ordering::SeqCst)),
            each,
        });
        let waker = Waker::from(Arc::clone(&woken));
        loop {
            if !woken.flag.swap(false, Ordering::SeqCst) {
                std::thread::park();
            } else if future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                foreign.store(woken.foreign.load(Ordering::SeqCst), Ordering::SeqCst);
                return;
            }
        }
    }
}

#[test]
fn a_wake_from_another_thread_is_lost_on_a_parked_one() {
    for each in [1, 100] {
        let make = move || (BlockOn::new(racy(each)), SmolTimer::new());
        let report = Suite::local("racy", make).limit(LIMIT).only(["parked"]).run();
        assert!(report.failures().next().is_some(), "each {each}\n{report}");
    }
}

#[test]
fn an_unknown_scenario_is_no_success() {
    let report = Suite::local("x", || (BlockOn::new(futures_lite::future::block_on), ManualTimer::new()))
        .only(["timers"])
        .run();
    assert!(report.failures().next().is_some(), "nothing was played and all is well");
}

/// A task that is polled by whoever wakes it, within the wake.
struct Inline {
    future: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
}

impl Wake for Inline {
    fn wake(self: Arc<Self>) {
        let taken = self.future.lock().unwrap().take();
        let Some(mut future) = taken else { return };
        let waker = Waker::from(Arc::clone(&self));
        if future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            *self.future.lock().unwrap() = Some(future);
        }
    }
}

/// An alarm's waker may set the next alarm: the thread that rings it must not sleep past that one.
#[test]
fn an_alarm_that_is_set_while_another_rings() {
    let timer = BlockingTimer::new();
    let (tell, told) = mpsc::channel();
    let tick = timer.clone();
    let task = Arc::new(Inline {
        future: Mutex::new(Some(Box::pin(async move {
            for n in 0..5 {
                runloom::sleep(tick.clone(), Duration::from_millis(5)).await;
                let _ = tell.send(n);
            }
        }))),
    });
    let began = Instant::now();
    let blocks = timer.clone();
    Arc::clone(&task).wake();
    // The thread's own future waits long.
    timer.block_on(runloom::sleep(blocks, Duration::from_millis(1_500)));
    let ticks = told.try_iter().count();
    assert_eq!(ticks, 5, "after {:?}", began.elapsed());
}
