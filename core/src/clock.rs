//! A deadline that stands still while the primary stream is full (R10), and the time that is none of the model's (T7).

use crate::time::Time;
use core::time::Duration;

/// Counts down to a deadline that only a quiet wake decides; can be held and let go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Clock {
    #[default]
    Off,
    Running(Time),
    Held(Duration),
}

impl Clock {
    /// A clock of `span` from `now`; held at once while paused; off without a span.
    pub(crate) fn start(now: Time, span: Option<Duration>, paused: bool) -> Self {
        match span {
            None => Self::Off,
            Some(span) if paused => Self::Held(span),
            Some(span) => Self::Running(now.after(span)),
        }
    }

    /// Keeps what is left.
    pub(crate) fn hold(&mut self, now: Time) {
        if let Self::Running(at) = *self {
            *self = Self::Held(at.since(now));
        }
    }

    /// Goes on with what was left.
    pub(crate) fn release(&mut self, now: Time) {
        if let Self::Held(left) = *self {
            *self = Self::Running(now.after(left));
        }
    }

    /// When it falls due, if it runs.
    pub(crate) fn at(self) -> Option<Time> {
        match self {
            Self::Running(at) => Some(at),
            Self::Off | Self::Held(_) => None,
        }
    }

    /// Whether it has fallen due.
    pub(crate) fn is_due(self, now: Time) -> bool {
        self.at().is_some_and(|at| at <= now)
    }
}

/// The time in which an attempt could not get on: the stream was full, or an adapter waited before it repeated a request.
/// What is both at once counts once, and a wait counts as it passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Idle {
    /// All that lies before `until`, also what has not passed yet.
    total: Duration,
    until: Time,
    /// When the stream became full, or the last time that was counted since.
    full: Option<Time>,
}

impl Idle {
    /// Since `now` the stream is full.
    pub(crate) fn hold(&mut self, now: Time) {
        self.full = Some(now);
    }

    /// Since `now` the stream has room.
    pub(crate) fn release(&mut self, now: Time) {
        if let Some(from) = self.full.take() {
            self.count(from, now);
        }
    }

    /// From `now` on the adapter waits for `delay`.
    pub(crate) fn wait(&mut self, now: Time, delay: Duration) {
        if let Some(from) = self.full {
            self.count(from, now);
            self.full = Some(now);
        }
        self.wakes(now);
        self.count(now, now.after(delay));
    }

    /// Something came: the adapter waits no longer, whatever it had announced.
    pub(crate) fn wakes(&mut self, now: Time) {
        self.total = self.total.saturating_sub(self.until.since(now));
        self.until = self.until.min(now);
    }

    fn count(&mut self, from: Time, to: Time) {
        self.total = self.total.saturating_add(to.since(from.max(self.until)));
        self.until = self.until.max(to);
    }

    /// What has passed of it.
    pub(crate) fn passed(mut self, now: Time) -> Duration {
        self.release(now);
        self.total.saturating_sub(self.until.since(now))
    }
}
