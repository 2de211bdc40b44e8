//! A timer whose alarms are rung by the threads that block on it.

use super::park::Parked;
use crate::core::time::Time;
use crate::sync::{Arc, Mutex, lock};
use crate::timer::Timer;
use crate::wakers::Woken;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// The monotonic clock of the system. Its alarms go off while some thread blocks on it: see
/// [`block_on`](BlockingTimer::block_on). There is no other thread behind it.
///
/// Time zero is when the first of its clones was made. Clones share clock and threads; each has an alarm of its own.
pub struct BlockingTimer {
    clock: Arc<Clock>,
    alarm: Option<(Time, u64)>,
}

struct Clock {
    origin: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    alarms: BTreeMap<(Time, u64), Waker>,
    /// The threads that ring the alarms, by number.
    blocked: BTreeMap<u64, Thread>,
}

impl State {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

impl BlockingTimer {
    /// A timer whose time zero is now.
    pub fn new() -> Self {
        let clock = Clock { origin: Instant::now(), state: Mutex::default() };
        Self { clock: Arc::new(clock), alarm: None }
    }

    /// Polls `future` to its end on the calling thread, which parks whenever there is nothing to do and meanwhile rings
    /// the alarms of all clones of this timer. Calls may be nested, and several threads may block at the same time.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        let parked = Parked::here();
        let waker = Waker::from(Arc::clone(&parked));
        let mut cx = Context::from_waker(&waker);
        let _blocked = Blocked::new(&self.clock);
        loop {
            let rest = self.clock.ring();
            if parked.take() {
                if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
                    return output;
                }
                continue;
            }
            match rest {
                Some(rest) => std::thread::park_timeout(rest),
                None => std::thread::park(),
            }
        }
    }

    fn disarm(&mut self) {
        if let Some(key) = self.alarm.take() {
            let waker = lock(&self.clock.state).alarms.remove(&key);
            drop(waker);
        }
    }
}

impl Clock {
    fn now(&self) -> Time {
        Time::from_micros(u64::try_from(self.origin.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    /// Wakes whose alarm is due; how long it is to the next one. What is woken may set another alarm within the wake: then
    /// this is to be asked again at once.
    fn ring(&self) -> Option<Duration> {
        let now = self.now();
        let mut woken = Woken::default();
        let rest = {
            let mut state = lock(&self.state);
            while let Some(due) = state.alarms.first_entry().filter(|first| first.key().0 <= now) {
                woken.push(Some(due.remove()));
            }
            state.alarms.first_key_value().map(|((at, _), _)| at.since(now))
        };
        let asks_again = !woken.is_empty();
        woken.wake();
        if asks_again { Some(Duration::ZERO) } else { rest }
    }
}

/// A thread that is to be told of new alarms.
struct Blocked<'a> {
    clock: &'a Clock,
    number: u64,
}

impl<'a> Blocked<'a> {
    fn new(clock: &'a Clock) -> Self {
        let mut state = lock(&clock.state);
        let number = state.number();
        state.blocked.insert(number, std::thread::current());
        Self { clock, number }
    }
}

impl Drop for Blocked<'_> {
    fn drop(&mut self) {
        lock(&self.clock.state).blocked.remove(&self.number);
    }
}

impl Timer for BlockingTimer {
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn poll_at(&mut self, at: Time, cx: &mut Context<'_>) -> Poll<()> {
        if self.now() >= at {
            self.disarm();
            return Poll::Ready(());
        }
        let waker = cx.waker().clone();
        let (replaced, threads) = {
            let mut state = lock(&self.clock.state);
            let before = self.alarm.and_then(|key| state.alarms.remove(&key));
            let key = (at, self.alarm.map_or_else(|| state.number(), |(_, number)| number));
            self.alarm = Some(key);
            state.alarms.insert(key, waker);
            // A thread that waits for a later alarm has to wait anew; the calling one looks before it parks.
            let is_first = state.alarms.first_key_value().is_some_and(|(first, _)| *first == key);
            let threads: Vec<_> = state.blocked.values().filter(|_| is_first).cloned().collect();
            (before, threads)
        };
        drop(replaced);
        let here = std::thread::current().id();
        for thread in threads.iter().filter(|thread| thread.id() != here) {
            thread.unpark();
        }
        Poll::Pending
    }
}

impl Default for BlockingTimer {
    fn default() -> Self {
        Self::new()
    }
}

impl Clone for BlockingTimer {
    fn clone(&self) -> Self {
        Self { clock: Arc::clone(&self.clock), alarm: None }
    }
}

impl Drop for BlockingTimer {
    fn drop(&mut self) {
        self.disarm();
    }
}

impl fmt::Debug for BlockingTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockingTimer").field("now", &self.now()).finish_non_exhaustive()
    }
}
