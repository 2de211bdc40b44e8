//! A timer on async-io's reactor.

use crate::core::time::Time;
use crate::timer::Timer;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// The monotonic clock of the system, with alarms by async-io; runs on any executor.
///
/// Time zero is when the first of its clones was made.
pub struct SmolTimer {
    origin: Instant,
    alarm: Option<(Time, async_io::Timer)>,
}

impl SmolTimer {
    /// A timer whose time zero is now.
    pub fn new() -> Self {
        Self { origin: Instant::now(), alarm: None }
    }
}

impl Default for SmolTimer {
    fn default() -> Self {
        Self::new()
    }
}

impl Clone for SmolTimer {
    fn clone(&self) -> Self {
        Self { origin: self.origin, alarm: None }
    }
}

impl fmt::Debug for SmolTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SmolTimer").field("now", &self.now()).finish_non_exhaustive()
    }
}

impl Timer for SmolTimer {
    fn now(&self) -> Time {
        Time::from_micros(u64::try_from(self.origin.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    fn poll_at(&mut self, at: Time, cx: &mut Context<'_>) -> Poll<()> {
        while self.now() < at {
            let span = Duration::from_micros(at.as_micros());
            let (set, timer) = self.alarm.get_or_insert_with(|| (at, alarm(self.origin, span)));
            if *set != at {
                *set = at;
                *timer = alarm(self.origin, span);
            }
            if Pin::new(timer).poll(cx).is_pending() {
                return Poll::Pending;
            }
            // Whole microseconds pass a little later than the instant that they stand for.
            self.alarm = None;
        }
        self.alarm = None;
        Poll::Ready(())
    }
}

/// An alarm `span` after `origin`; none where the system's clock does not reach that far.
fn alarm(origin: Instant, span: Duration) -> async_io::Timer {
    origin.checked_add(span).map_or_else(async_io::Timer::never, async_io::Timer::at)
}
