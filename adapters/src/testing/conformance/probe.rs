//! What a real timer has to do, asked of it on its executor.

use super::scenarios::yield_now;
use super::stage::{Wrong, ensure};
use crate::core::time::Time;
use crate::sync::{Arc, AtomicUsize, Mutex, Ordering, lock};
use crate::timer::{Timer, sleep};
use std::future::poll_fn;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(5);
const BRIEF: Duration = Duration::from_millis(1);
const LONGER: Duration = Duration::from_millis(25);
const FAR: Duration = Duration::from_secs(3600);
/// Later than any number of milliseconds in 31 bits.
const MONTHS: Duration = Duration::from_secs(60 * 24 * 3600);
/// How often an alarm is set anew whose time has passed already.
const MOST_SETS: u32 = 100;
/// How often a timer is asked a moment before its time.
const NARROW_TRIES: usize = 200;
/// Wakes that an alarm may give without need.
const SPARE_WAKES: usize = 3;

/// Asks a timer everything, and keeps what is wrong.
#[derive(Clone, Default)]
pub(super) struct Probe {
    found: Arc<Mutex<Option<Result<String, Wrong>>>>,
}

/// Counts wakes and passes them on.
struct Counted {
    wakes: AtomicUsize,
    task: Mutex<Option<Waker>>,
}

impl Wake for Counted {
    fn wake(self: Arc<Self>) {
        self.wakes.fetch_add(1, Ordering::SeqCst);
        let task = lock(&self.task).clone();
        if let Some(task) = task {
            task.wake();
        }
    }
}

/// A timer with a waker of its own.
struct Asked<T> {
    timer: T,
    counted: Arc<Counted>,
    waker: Waker,
}

impl<T: Timer> Asked<T> {
    fn new(timer: T) -> Self {
        let counted = Arc::new(Counted { wakes: AtomicUsize::new(0), task: Mutex::new(None) });
        let waker = Waker::from(Arc::clone(&counted));
        Self { timer, counted, waker }
    }

    fn wakes(&self) -> usize {
        self.counted.wakes.load(Ordering::SeqCst)
    }

    fn is_ready(&mut self, at: Time) -> Result<bool, Wrong> {
        let ready = self.timer.poll_at(at, &mut Context::from_waker(&self.waker)).is_ready();
        let now = self.timer.now();
        ensure(!ready || now >= at, format_args!("ready for {at} at {now}"))?;
        Ok(ready)
    }

    /// Sets the alarm for `span` from now. On a busy machine that may have passed when it is asked: then it is set anew.
    fn set(&mut self, span: Duration) -> Result<Time, Wrong> {
        for _ in 0..MOST_SETS {
            let at = self.timer.now().after(span);
            if !self.is_ready(at)? {
                return Ok(at);
            }
        }
        Err("ready at once".to_owned())
    }

    /// Waits as a driver does: asks again when it is woken, and only then.
    async fn until(&mut self, at: Time) -> Result<(), Wrong> {
        let mut seen = usize::MAX;
        poll_fn(|cx| {
            let replaced = lock(&self.counted.task).replace(cx.waker().clone());
            drop(replaced);
            let wakes = self.wakes();
            if wakes == seen {
                return Poll::Pending;
            }
            seen = wakes;
            match self.is_ready(at) {
                Ok(false) => Poll::Pending,
                Ok(true) => Poll::Ready(Ok(())),
                Err(wrong) => Poll::Ready(Err(wrong)),
            }
        })
        .await
    }
}

impl Probe {
    /// Probes `timer`; the result is kept.
    pub(super) async fn run<T: Timer + Clone>(self, timer: T) {
        let found = ask(timer).await;
        *lock(&self.found) = Some(found);
    }

    pub(super) fn result(&self) -> Result<String, Wrong> {
        lock(&self.found).take().unwrap_or_else(|| Err("the timer's waits do not end".to_owned()))
    }
}

async fn ask<T: Timer + Clone>(timer: T) -> Result<String, Wrong> {
    let start = timer.now();
    let mut last = start;
    for _ in 0..1_000 {
        let now = timer.now();
        ensure(now >= last, format_args!("the clock went back from {last} to {now}"))?;
        last = now;
    }
    ensure(Asked::new(timer.clone()).is_ready(start)?, "a time that has passed is not ready")?;
    narrowly(&timer)?;
    eagerly(&timer).await?;
    let late = one_wait(&timer).await?;
    set_anew(&timer).await?;
    far_away(&timer).await?;
    several(&timer).await?;
    another_waker(&timer).await?;
    dropped(&timer).await?;
    Ok(format!("woken {late} us late"))
}

/// Asked a moment before its time, it is not ready, be it one microsecond: read right after the answer, the clock still
/// shows it in most of the tries.
fn narrowly<T: Timer + Clone>(timer: &T) -> Result<(), Wrong> {
    let mut asked = Asked::new(timer.clone());
    for before in (1..=4).cycle().take(NARROW_TRIES) {
        asked.is_ready(timer.now().after(Duration::from_micros(before)))?;
    }
    Ok(())
}

/// Asked again for the same time by another task, it wakes that one.
async fn another_waker<T: Timer + Clone>(timer: &T) -> Result<(), Wrong> {
    let mut asked = Asked::new(timer.clone());
    let at = timer.now().after(LONGER);
    let first = asked.timer.poll_at(at, &mut Context::from_waker(Waker::noop()));
    if first.is_ready() || asked.is_ready(at)? {
        // The machine is too busy to tell.
        return Ok(());
    }
    sleep(timer.clone(), 2 * LONGER).await;
    ensure(asked.wakes() >= 1, "asked again by another task, it did not wake that one")
}

/// Asked without being woken, it is ready at its time and not before, as one that counts whole milliseconds may be.
async fn eagerly<T: Timer + Clone>(timer: &T) -> Result<(), Wrong> {
    let mut asked = Asked::new(timer.clone());
    let at = timer.now().after(BRIEF);
    // A clock that moves only while all sleep does not get there so.
    for _ in 0..20_000 {
        if asked.is_ready(at)? {
            return Ok(());
        }
        yield_now().await;
    }
    asked.until(at).await
}

/// One wait is as long as it should be.
async fn one_wait<T: Timer + Clone>(timer: &T) -> Result<u64, Wrong> {
    for _ in 0..MOST_SETS {
        let mut asked = Asked::new(timer.clone());
        let at = asked.set(SHORT)?;
        asked.until(at).await?;
        let wakes = asked.wakes();
        ensure(wakes <= 1 + SPARE_WAKES, format_args!("{wakes} wakes for one alarm"))?;
        let late = timer.now().since(at);
        // On a busy machine its time may have passed before it could go off.
        if wakes > 0 {
            return Ok(u64::try_from(late.as_micros()).unwrap_or(u64::MAX));
        }
    }
    Err("ready without a wake".to_owned())
}

/// An alarm is set earlier, and later: the last word counts.
async fn set_anew<T: Timer + Clone>(timer: &T) -> Result<(), Wrong> {
    let mut asked = Asked::new(timer.clone());
    ensure(!asked.is_ready(timer.now().after(FAR))?, "an hour passed at once")?;
    asked.until(timer.now().after(SHORT)).await?;
    let soon = asked.set(SHORT)?;
    asked.until(soon.after(LONGER - SHORT)).await
}

/// What is far away neither comes soon nor keeps waking.
async fn far_away<T: Timer + Clone>(timer: &T) -> Result<(), Wrong> {
    for far in [timer.now().after(MONTHS), Time::from_micros(u64::MAX / 2), Time::MAX] {
        let mut asked = Asked::new(timer.clone());
        ensure(!asked.is_ready(far)?, format_args!("{far} passed at once"))?;
        sleep(timer.clone(), SHORT).await;
        let wakes = asked.wakes();
        ensure(wakes <= SPARE_WAKES, format_args!("{wakes} wakes for an alarm at {far}"))?;
        ensure(!asked.is_ready(far)?, format_args!("{far} passed within milliseconds"))?;
    }
    Ok(())
}

/// Clones have alarms of their own, on one clock.
async fn several<T: Timer + Clone>(timer: &T) -> Result<(), Wrong> {
    let (mut first, mut second) = (Asked::new(timer.clone()), Asked::new(timer.clone()));
    let (later, soon) = (second.set(LONGER)?, first.set(SHORT)?);
    first.until(soon).await?;
    second.until(later).await?;
    ensure(first.timer.now() >= later, "clones have clocks of their own")
}

/// An alarm that was dropped wakes nobody, so that nothing is left armed after a run.
async fn dropped<T: Timer + Clone>(timer: &T) -> Result<(), Wrong> {
    let mut asked = Asked::new(timer.clone());
    asked.set(LONGER)?;
    let counted = Arc::clone(&asked.counted);
    drop(asked);
    sleep(timer.clone(), 2 * LONGER).await;
    ensure(counted.wakes.load(Ordering::SeqCst) == 0, "an alarm went off after its timer was dropped")
}
