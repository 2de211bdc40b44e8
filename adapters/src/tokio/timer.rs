//! A timer on tokio's clock.

use super::NoRuntime;
use crate::core::time::Time;
use crate::timer::Timer;
use ::tokio::runtime::Handle;
use ::tokio::time::{Instant, Sleep, sleep_until};
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// How far ahead an alarm is set where the clock does not reach as far as it should: 30 years, in seconds.
const FAR: u64 = 30 * 365 * 24 * 3600;

/// The clock of a tokio runtime, with its alarms; it runs on any executor as long as the runtime does.
///
/// Time zero is when the first of its clones was made. On a runtime whose time is paused it stands still with it.
///
/// The runtime must have its time enabled, and must outlive the timer's waits: otherwise tokio panics when a wait is
/// polled, and a run that waits so fails as [`DriverPanicked`](crate::core::error::RunError::DriverPanicked).
pub struct TokioTimer {
    runtime: Handle,
    origin: Instant,
    /// What was asked for last, and tokio's alarm, which is set anew rather than made anew.
    alarm: Option<(Time, Pin<Box<Sleep>>)>,
}

impl TokioTimer {
    /// A timer of the runtime that the calling thread is in; its time zero is now.
    ///
    /// # Errors
    ///
    /// [`NoRuntime`] if there is none.
    pub fn current() -> Result<Self, NoRuntime> {
        Handle::try_current().map(Self::on).map_err(|_| NoRuntime)
    }

    /// A timer of this runtime; its time zero is now.
    pub fn on(runtime: Handle) -> Self {
        let origin = {
            // A runtime has a clock of its own only for those who are in it.
            let _inside = runtime.enter();
            Instant::now()
        };
        Self { runtime, origin, alarm: None }
    }

    /// The instant of `at`; one that is far away where the clock does not reach that far.
    fn instant(&self, at: Time) -> Instant {
        let far = || Instant::now() + Duration::from_secs(FAR);
        self.origin.checked_add(Duration::from_micros(at.as_micros())).unwrap_or_else(far)
    }
}

impl Clone for TokioTimer {
    fn clone(&self) -> Self {
        Self { runtime: self.runtime.clone(), origin: self.origin, alarm: None }
    }
}

impl fmt::Debug for TokioTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokioTimer").field("now", &self.now()).finish_non_exhaustive()
    }
}

impl Timer for TokioTimer {
    fn now(&self) -> Time {
        let _inside = self.runtime.enter();
        let elapsed = Instant::now().saturating_duration_since(self.origin);
        Time::from_micros(u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX))
    }

    fn poll_at(&mut self, at: Time, cx: &mut Context<'_>) -> Poll<()> {
        let runtime = self.runtime.clone();
        let _inside = runtime.enter();
        while self.now() < at {
            let instant = self.instant(at);
            let (set, alarm) = self.alarm.get_or_insert_with(|| (at, Box::pin(sleep_until(instant))));
            if *set != at {
                *set = at;
                alarm.as_mut().reset(instant);
            }
            if alarm.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            // Whole microseconds pass a little later than the instant that they stand for.
            self.alarm = None;
        }
        self.alarm = None;
        Poll::Ready(())
    }
}
