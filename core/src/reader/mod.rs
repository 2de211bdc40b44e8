//! Readers of a log: pages and subscriptions, as cursors with bounds of their own (L2-L4).
//!
//! A [`Reader`] knows what it was given and what it may be behind, and the log knows nothing of it: appending visits no
//! reader. Whether one has fallen behind follows from positions and cumulative bytes alone. Its first event that is too
//! far away is known beforehand, as [`Reach`]; so whoever keeps many readers looks at the least of them after each
//! machine step, and at a reader itself only when its bounds are passed.
//!
//! ```
//! # use runloom_core::config::Config;
//! # use runloom_core::id::{RunId, Seq};
//! use runloom_core::reader::{After, ReadBounds, Reader};
//! # let run = runloom_core::Run::new(RunId::new("run-1").unwrap(), std::sync::Arc::new(Config::default()));
//! let page = run.log().page(After::START, ReadBounds::new(100, 64 << 10))?;
//! assert_eq!((page.last, page.has_more), (Seq(0), false));
//! let mut reader = Reader::new(run.log(), page.last, ReadBounds::new(1_024, 4 << 20))?;
//! assert!(reader.next(run.log())?.is_none());
//! # Ok::<(), runloom_core::reader::ReadError>(())
//! ```

mod cursor;
mod error;
mod live;
mod page;
#[cfg(test)]
mod tests;

pub use cursor::{After, Cursor, CursorError};
pub use error::{Exceeded, ReadBounds, ReadError, ReadFault, ReadResource};
pub use live::LiveHistory;
pub use page::{Page, Retained};

use crate::event::Envelope;
use crate::id::Seq;
use crate::log::EventLog;
use alloc::boxed::Box;
use page::exceeded;

/// A subscription to a log, as a value: where it stands, and how far it may fall behind (L3).
#[derive(Clone, Debug)]
pub struct Reader {
    requested: Seq,
    delivered: Seq,
    /// Encoded bytes of the run's events up to `delivered`.
    delivered_end: u64,
    bounds: ReadBounds,
    error: Option<Box<ReadError>>,
}

/// How far a log may go before a reader has fallen behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The last event that its bound on the count allows.
    pub seq: Seq,
    /// The most encoded bytes, of all events of the run, that its other bound allows.
    pub end: u64,
}

impl Reader {
    /// A reader that begins after the cursor: with what the log holds, and then with what comes.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if the cursor is one of another run, stands behind the last event, or what follows it was evicted;
    /// [`ReadFault::ReplayTooLarge`] if what the log holds after it exceeds the bounds: then read pages first.
    pub fn new(log: &EventLog, after: impl Into<After>, bounds: ReadBounds) -> Result<Self, ReadError> {
        let after = after.into();
        let retained = log.retained();
        retained.admit(&after, bounds)?;
        let requested = after.seq();
        let delivered_end = log.end_at(requested).unwrap_or_else(|| log.end());
        let reader = Self { requested, delivered: requested, delivered_end, bounds, error: None };
        let (events, bytes) = reader.behind(log);
        match exceeded(bounds, events, bytes, false) {
            None => Ok(reader),
            Some(exceeded) => {
                let fits = |envelope: &&Envelope| reader.allows(envelope.seq, envelope.end);
                let fitting = log.after(requested).take_while(fits).count() as u64;
                let last_fit = Seq(requested.0 + fitting);
                Err(retained.too_large(requested, last_fit, bounds, exceeded))
            }
        }
    }

    /// The last event that it was given.
    pub fn delivered(&self) -> Seq {
        self.delivered
    }

    /// Its bounds.
    pub fn bounds(&self) -> ReadBounds {
        self.bounds
    }

    /// How far the log may go before this reader has fallen behind. It only grows, by reading.
    pub fn reach(&self) -> Reach {
        Reach {
            seq: Seq(self.delivered.0.saturating_add(self.bounds.events)),
            end: self.delivered_end.saturating_add(self.bounds.bytes),
        }
    }

    /// Why it has ended; sticky.
    pub fn error(&self) -> Option<&ReadError> {
        self.error.as_deref()
    }

    /// Judges whether it has fallen behind; whether it has ended. Done after each machine step whose events pass its
    /// [`reach`](Reader::reach), the facts of its error are those of the overflow (L3): the events of one machine step
    /// are recorded together.
    pub fn judge(&mut self, log: &EventLog) -> bool {
        if self.error.is_some() {
            return true;
        }
        let (events, bytes) = self.behind(log);
        let exceeded = exceeded(self.bounds, events, bytes, true);
        let reason = if exceeded.is_some() {
            ReadFault::Slow
        } else if self.delivered.0.saturating_add(1) < log.first_seq().0 {
            ReadFault::CursorBehind
        } else {
            return false;
        };
        let error = log.retained().error(reason, self.requested, self.delivered, self.bounds);
        self.error = Some(Box::new(ReadError { exceeded, ..error }));
        true
    }

    /// The next event; `None` if it has been given all there are. The log's end is the log's to tell:
    /// [`EventLog::is_closed`].
    ///
    /// # Errors
    ///
    /// The verdict, if it has fallen behind: from then on always the same, and what was unread is not delivered (L4).
    pub fn next<'a>(&mut self, log: &'a EventLog) -> Result<Option<&'a Envelope>, ReadError> {
        self.judge(log);
        if let Some(error) = &self.error {
            return Err(ReadError::clone(error));
        }
        let next = log.get(Seq(self.delivered.0 + 1));
        if let Some(envelope) = next {
            (self.delivered, self.delivered_end) = (envelope.seq, envelope.end);
        }
        Ok(next)
    }

    /// Events and bytes that it is behind.
    fn behind(&self, log: &EventLog) -> (u64, u64) {
        (log.last_seq().0.saturating_sub(self.delivered.0), log.end().saturating_sub(self.delivered_end))
    }

    fn allows(&self, seq: Seq, end: u64) -> bool {
        let reach = self.reach();
        seq <= reach.seq && end <= reach.end
    }
}
