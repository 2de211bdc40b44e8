//! Timers for tests.

use crate::core::time::Time;
use crate::timer::Timer;
use std::task::{Context, Poll};

/// A clock at the end of all time: every wait is over at once. Scripts use it that are given no timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoWaiting;

impl Timer for NoWaiting {
    fn now(&self) -> Time {
        Time::MAX
    }

    fn poll_at(&mut self, _at: Time, _cx: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

/// Checks that a timer keeps the contract of [`Timer`], and panics when it does not.
#[derive(Clone, Debug)]
pub struct CheckedTimer<T> {
    inner: T,
    last: std::cell::Cell<Time>,
}

impl<T> CheckedTimer<T> {
    /// Checks `inner`.
    pub fn new(inner: T) -> Self {
        Self { inner, last: std::cell::Cell::new(Time::ZERO) }
    }
}

impl<T: Timer> Timer for CheckedTimer<T> {
    fn now(&self) -> Time {
        let now = self.inner.now();
        let last = self.last.replace(now);
        assert!(now >= last, "the timer went back from {last} to {now}");
        now
    }

    fn poll_at(&mut self, at: Time, cx: &mut Context<'_>) -> Poll<()> {
        let polled = self.inner.poll_at(at, cx);
        let now = self.now();
        assert!(polled.is_pending() || now >= at, "the timer was ready for {at} at {now}");
        polled
    }
}
