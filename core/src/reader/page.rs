//! What a log holds, and pages of it (L2).

use super::{After, Exceeded, ReadBounds, ReadError, ReadFault, ReadResource};
use crate::event::Envelope;
use crate::id::{RunId, Seq};
use crate::log::EventLog;
use alloc::vec::Vec;

/// Events that follow a cursor, without a gap.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Page {
    /// The events, oldest first. Empty only if nothing follows the cursor.
    pub events: Vec<Envelope>,
    /// The position of the last of them, the cursor for the next page; the cursor itself if there is none.
    pub last: Seq,
    /// Whether the log holds more: `last < latest`.
    pub has_more: bool,
    /// The oldest event that the log holds; one past `latest` if it holds none.
    pub earliest: Seq,
    /// The log's last event.
    pub latest: Seq,
    /// Whether the log is closed: then nothing comes after `latest`.
    pub closed: bool,
}

/// Which events a log holds, whoever keeps them: what cursors are judged by.
#[derive(Clone, Copy, Debug)]
pub struct Retained<'a> {
    /// The run.
    pub run: &'a RunId,
    /// The oldest event; one past `latest` if there is none.
    pub earliest: Seq,
    /// The last event that was recorded.
    pub latest: Seq,
}

impl Retained<'_> {
    /// An error of a reader that began after `requested` and was given events up to `last_delivered`.
    pub fn error(
        &self,
        reason: ReadFault,
        requested: Seq,
        last_delivered: Seq,
        bounds: ReadBounds,
    ) -> ReadError {
        let (earliest, latest) = (self.earliest, self.latest);
        let before = Seq(earliest.0.saturating_sub(1));
        let recovery = match reason {
            ReadFault::CursorAhead => latest,
            ReadFault::WrongRun => before,
            ReadFault::CursorBehind | ReadFault::ReplayTooLarge { .. } | ReadFault::Slow => {
                last_delivered.max(before)
            }
        };
        let exceeded = None;
        ReadError { reason, exceeded, requested, earliest, latest, recovery, last_delivered, bounds }
    }

    /// Whether a reader can begin there: no event after the cursor is missing.
    ///
    /// # Errors
    ///
    /// [`ReadFault::WrongRun`], [`ReadFault::CursorAhead`], [`ReadFault::CursorBehind`].
    pub fn admit(&self, after: &After, bounds: ReadBounds) -> Result<(), ReadError> {
        let reason = if after.run.as_ref().is_some_and(|run| run != self.run) {
            ReadFault::WrongRun
        } else if after.seq > self.latest {
            ReadFault::CursorAhead
        } else if after.seq.0.saturating_add(1) < self.earliest.0 {
            ReadFault::CursorBehind
        } else {
            return Ok(());
        };
        Err(self.error(reason, after.seq, after.seq, bounds))
    }

    /// The last event of the page that follows the cursor: as many as fit. `sizes` are the encoded sizes of the events
    /// after it, in their order.
    ///
    /// # Errors
    ///
    /// As [`Retained::admit`]; [`ReadFault::ReplayTooLarge`] if something follows and its first event does not fit.
    pub fn page(
        &self,
        after: &After,
        bounds: ReadBounds,
        sizes: impl IntoIterator<Item = u64>,
    ) -> Result<Seq, ReadError> {
        self.admit(after, bounds)?;
        let (mut last, mut bytes) = (after.seq, 0_u64);
        for size in sizes {
            let events = last.0 - after.seq.0 + 1;
            bytes = bytes.saturating_add(size);
            if let Some(exceeded) = exceeded(bounds, events, bytes, false) {
                if last == after.seq {
                    return Err(self.too_large(after.seq, last, bounds, exceeded));
                }
                break;
            }
            last.0 += 1;
        }
        Ok(last)
    }

    pub(super) fn too_large(
        &self,
        requested: Seq,
        last_fit: Seq,
        bounds: ReadBounds,
        exceeded: Exceeded,
    ) -> ReadError {
        let error = self.error(ReadFault::ReplayTooLarge { last_fit }, requested, requested, bounds);
        ReadError { exceeded: Some(exceeded), ..error }
    }
}

/// The bound that so many events and bytes exceed; the count is looked at first.
pub(super) fn exceeded(bounds: ReadBounds, events: u64, bytes: u64, live: bool) -> Option<Exceeded> {
    let (of_events, of_bytes) = match live {
        true => (ReadResource::SubscriptionEvents, ReadResource::SubscriptionBytes),
        false => (ReadResource::ReplayEvents, ReadResource::ReplayBytes),
    };
    if events > bounds.events {
        Some(Exceeded { resource: of_events, limit: bounds.events, observed: events })
    } else if bytes > bounds.bytes {
        Some(Exceeded { resource: of_bytes, limit: bounds.bytes, observed: bytes })
    } else {
        None
    }
}

impl EventLog {
    /// Which events are here.
    pub fn retained(&self) -> Retained<'_> {
        Retained { run: self.run_id(), earliest: self.first_seq(), latest: self.last_seq() }
    }

    /// The events after a cursor, as many as fit into the bounds (L2). It costs what the page costs, however long the
    /// log is. Closed logs have pages too.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if the cursor is one of another run, stands behind the last event, or what follows it was evicted;
    /// and [`ReadFault::ReplayTooLarge`] if something follows and not even its first event fits.
    pub fn page(&self, after: impl Into<After>, bounds: ReadBounds) -> Result<Page, ReadError> {
        let after = after.into();
        let mut before = self.end_at(after.seq).unwrap_or(0);
        let sizes = self.after(after.seq).map(|envelope| {
            let size = envelope.end.saturating_sub(before);
            before = envelope.end;
            size
        });
        let last = self.retained().page(&after, bounds, sizes)?;
        let most = usize::try_from(last.0 - after.seq.0).unwrap_or(usize::MAX);
        Ok(Page {
            events: self.after(after.seq).take(most).cloned().collect(),
            last,
            has_more: last < self.last_seq(),
            earliest: self.first_seq(),
            latest: self.last_seq(),
            closed: self.is_closed(),
        })
    }

    /// Encoded bytes of all events of the run up to and with `seq`; `None` if that is not known any more, or not yet.
    pub(super) fn end_at(&self, seq: Seq) -> Option<u64> {
        match self.get(seq) {
            Some(envelope) => Some(envelope.end),
            None if seq.0.saturating_add(1) == self.first_seq().0 => Some(self.end() - self.bytes()),
            None => None,
        }
    }
}
