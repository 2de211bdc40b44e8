//! Timers that are not exact, over a clock that is moved by hand.

use crate::core::time::Time;
use crate::timer::{ManualTimer, Timer};
use std::task::{Context, Poll};
use std::time::Duration;

/// How far off an inexact timer is.
pub(super) const OFF: Duration = Duration::from_millis(7);

/// In what way a timer is not exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Quirk {
    /// It is.
    #[default]
    Exact,
    /// It wakes [`OFF`] too early, and again at the right time.
    Early,
    /// It wakes [`OFF`] too late.
    Late,
    /// It wakes the task in each poll, three times for each alarm, for nothing.
    Spurious,
    /// It reaches one second ahead at most, and wakes the task to be asked again.
    Short,
}

/// A manual timer with a quirk.
#[derive(Clone, Debug)]
pub(super) struct Odd {
    inner: ManualTimer,
    quirk: Quirk,
    spurious: Option<(Time, u32)>,
}

impl Odd {
    pub(super) fn new(inner: &ManualTimer, quirk: Quirk) -> Self {
        Self { inner: inner.clone(), quirk, spurious: None }
    }

    /// When the task is to be woken for `at`.
    fn alarm(&mut self, at: Time, cx: &Context<'_>) -> Time {
        let now = self.inner.now();
        match self.quirk {
            Quirk::Exact => at,
            Quirk::Early if at.since(now) > OFF => now.after(at.since(now) - OFF),
            Quirk::Early => at,
            Quirk::Late => at.after(OFF),
            Quirk::Short => at.min(now.after(Duration::from_secs(1))),
            Quirk::Spurious => {
                let (known, times) = self.spurious.get_or_insert((at, 0));
                if *known != at {
                    (*known, *times) = (at, 0);
                }
                if *times < 3 {
                    *times += 1;
                    cx.waker().wake_by_ref();
                }
                at
            }
        }
    }
}

impl Timer for Odd {
    fn now(&self) -> Time {
        self.inner.now()
    }

    fn poll_at(&mut self, at: Time, cx: &mut Context<'_>) -> Poll<()> {
        if self.now() >= at && self.quirk != Quirk::Late {
            return Poll::Ready(());
        }
        let alarm = self.alarm(at, cx);
        self.inner.poll_at(alarm, cx)
    }
}
