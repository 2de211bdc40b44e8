//! A deadline that stands still while the primary stream is full (R10).

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
