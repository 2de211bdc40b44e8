//! Clocks that wake: the trait, and one that a test moves by hand.

use crate::core::time::Time;
use crate::sync::{Arc, Mutex, lock};
use crate::wakers::Woken;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// A clock and one alarm.
///
/// All clones of an engine's timer share one origin, so that their times can be compared; each has an alarm of its
/// own. Nothing here needs `Send`: a driver is `Send` exactly when its timer and transport are.
pub trait Timer {
    /// The time, in microseconds since the engine's origin. It never goes back.
    fn now(&self) -> Time;

    /// Waits until `at`, in place of any earlier wait of this value.
    ///
    /// `Ready` only if [`now`](Timer::now) is `at` or later: a timer that is ready too early makes drivers spin.
    /// After `Pending` the task is woken at `at` or soon after. It may be woken before, and then asks again.
    fn poll_at(&mut self, at: Time, cx: &mut Context<'_>) -> Poll<()>;
}

/// Waits until `at` by `timer`.
pub fn sleep_until<T: Timer>(timer: T, at: Time) -> Sleep<T> {
    Sleep { timer, at }
}

/// Waits for `span` from now by `timer`.
pub fn sleep<T: Timer>(timer: T, span: Duration) -> Sleep<T> {
    let at = timer.now().after(span);
    sleep_until(timer, at)
}

/// A wait; see [`sleep`] and [`sleep_until`].
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct Sleep<T> {
    timer: T,
    at: Time,
}

impl<T> Unpin for Sleep<T> {}

impl<T: Timer> Future for Sleep<T> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        this.timer.poll_at(this.at, cx)
    }
}

/// A clock that stands still until someone moves it. Clones share the time; each has its own alarm.
///
/// ```
/// use runloom::{ManualTimer, Time, Timer};
/// use std::time::Duration;
///
/// let timer = ManualTimer::new();
/// timer.advance(Duration::from_millis(5));
/// assert_eq!(timer.now(), Time::from_millis(5));
/// ```
#[derive(Default)]
pub struct ManualTimer {
    clock: Arc<Mutex<Clock>>,
    alarm: Option<u64>,
}

#[derive(Default)]
struct Clock {
    now: Time,
    next: u64,
    alarms: BTreeMap<u64, (Time, Waker)>,
}

impl ManualTimer {
    /// A clock at time zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves the time forward by `span` and wakes whose alarm is due.
    pub fn advance(&self, span: Duration) {
        let to = self.now().after(span);
        self.set(to);
    }

    /// Moves the time to `to` and wakes whose alarm is due. Time never goes back: an earlier `to` does nothing.
    pub fn set(&self, to: Time) {
        let mut woken = Woken::default();
        {
            let mut clock = lock(&self.clock);
            clock.now = clock.now.max(to);
            let now = clock.now;
            let due: Vec<u64> =
                clock.alarms.iter().filter(|(_, (at, _))| *at <= now).map(|(key, _)| *key).collect();
            for key in due {
                woken.push(clock.alarms.remove(&key).map(|(_, waker)| waker));
            }
        }
        woken.wake();
    }

    /// The earliest time at which an alarm of any clone goes off.
    pub fn next_alarm(&self) -> Option<Time> {
        lock(&self.clock).alarms.values().map(|(at, _)| *at).min()
    }

    /// Moves the time to the earliest alarm and returns it; `None`, and nothing moved, if there is no alarm.
    pub fn advance_to_alarm(&self) -> Option<Time> {
        let at = self.next_alarm()?;
        self.set(at);
        Some(at)
    }

    fn disarm(&mut self) {
        if let Some(key) = self.alarm.take() {
            let alarm = lock(&self.clock).alarms.remove(&key);
            drop(alarm);
        }
    }
}

impl fmt::Debug for ManualTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManualTimer").field("now", &self.now()).finish_non_exhaustive()
    }
}

impl Clone for ManualTimer {
    fn clone(&self) -> Self {
        Self { clock: Arc::clone(&self.clock), alarm: None }
    }
}

impl Timer for ManualTimer {
    fn now(&self) -> Time {
        lock(&self.clock).now
    }

    fn poll_at(&mut self, at: Time, cx: &mut Context<'_>) -> Poll<()> {
        if self.now() >= at {
            self.disarm();
            return Poll::Ready(());
        }
        let waker = cx.waker().clone();
        let replaced = {
            let mut clock = lock(&self.clock);
            // The time may have passed since it was compared above.
            if clock.now >= at {
                None
            } else {
                let key = *self.alarm.get_or_insert_with(|| {
                    clock.next += 1;
                    clock.next
                });
                Some(clock.alarms.insert(key, (at, waker)))
            }
        };
        if replaced.is_none() { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for ManualTimer {
    fn drop(&mut self) {
        self.disarm();
    }
}
