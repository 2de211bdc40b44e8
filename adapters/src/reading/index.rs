//! The subscriptions of a run, behind its lock. A step looks at the two nearest bounds and at no reader, unless it has
//! passed the bounds of one.

use crate::core::event::Envelope;
use crate::core::id::Seq;
use crate::core::log::EventLog;
use crate::core::reader::{ReadError, Reader};
use crate::wakers::{Ticket, WakerSet, Woken};
use std::collections::{BTreeMap, BTreeSet};
use std::task::Waker;

/// A subscription's place.
#[derive(Debug)]
pub(crate) struct Place {
    key: u64,
    ticket: Ticket,
}

/// What a subscription gets.
#[derive(Debug)]
pub(crate) enum Got {
    Event(Envelope),
    Ended,
    Waits,
    /// Call again with a waker.
    NeedsWaker,
}

#[derive(Debug, Default)]
pub(crate) struct Readers {
    next: u64,
    readers: BTreeMap<u64, Indexed>,
    /// By what was within reach when they were looked at last. Reading only widens it, so that it is looked up again
    /// when the log gets there.
    by_seq: BTreeSet<(Seq, u64)>,
    by_end: BTreeSet<(u64, u64)>,
    waiting: WakerSet,
    /// The log's last event when those that wait began to; whoever waits has read that far.
    waited_at: Seq,
    least_events: Option<u64>,
}

#[derive(Debug)]
struct Indexed {
    reader: Reader,
    seq: Seq,
    end: u64,
}

impl Readers {
    pub(crate) fn insert(&mut self, reader: Reader) -> Place {
        self.next += 1;
        let (key, reach, events) = (self.next, reader.reach(), reader.bounds().events);
        self.least_events = Some(self.least_events.map_or(events, |least| least.min(events)));
        self.by_seq.insert((reach.seq, key));
        self.by_end.insert((reach.end, key));
        self.readers.insert(key, Indexed { reader, seq: reach.seq, end: reach.end });
        Place { key, ticket: Ticket::default() }
    }

    /// Forgets a subscription.
    #[must_use = "to be dropped after unlocking"]
    pub(crate) fn remove(&mut self, place: &mut Place) -> (Option<Reader>, Option<Waker>) {
        let indexed = self.readers.remove(&place.key);
        if let Some(Indexed { seq, end, .. }) = indexed {
            self.by_seq.remove(&(seq, place.key));
            self.by_end.remove(&(end, place.key));
        }
        if self.readers.is_empty() {
            self.least_events = None;
        }
        (indexed.map(|indexed| indexed.reader), self.waiting.leave(&mut place.ticket))
    }

    /// Ends those that have fallen behind by what was just recorded.
    pub(crate) fn judge(&mut self, log: &EventLog) {
        while let Some(key) = self.passed(log) {
            let Some(indexed) = self.readers.get_mut(&key) else { return };
            self.by_seq.remove(&(indexed.seq, key));
            self.by_end.remove(&(indexed.end, key));
            if !indexed.reader.judge(log) {
                let reach = indexed.reader.reach();
                (indexed.seq, indexed.end) = (reach.seq, reach.end);
                self.by_seq.insert((reach.seq, key));
                self.by_end.insert((reach.end, key));
            }
        }
    }

    /// One of those whose reach, as it is known, the log has passed.
    fn passed(&self, log: &EventLog) -> Option<u64> {
        let by_seq = self.by_seq.first().filter(|(seq, _)| *seq < log.last_seq()).map(|(_, key)| *key);
        by_seq.or_else(|| self.by_end.first().filter(|(end, _)| *end < log.end()).map(|(_, key)| *key))
    }

    /// The next event for a subscription. A replaced waker comes back in `spare`.
    pub(crate) fn next(
        &mut self,
        place: &mut Place,
        log: &EventLog,
        spare: &mut Option<Waker>,
    ) -> Result<Got, ReadError> {
        let Some(indexed) = self.readers.get_mut(&place.key) else { return Ok(Got::Ended) };
        if let Some(envelope) = indexed.reader.next(log)? {
            return Ok(Got::Event(envelope.clone()));
        }
        if log.is_closed() {
            return Ok(Got::Ended);
        }
        let Some(waker) = spare.take() else { return Ok(Got::NeedsWaker) };
        *spare = self.waiting.put(&mut place.ticket, waker);
        self.waited_at = log.last_seq();
        Ok(Got::Waits)
    }

    /// The reader itself, to look at.
    pub(crate) fn reader(&self, place: &Place) -> Option<&Reader> {
        self.readers.get(&place.key).map(|indexed| &indexed.reader)
    }

    /// Finds out who is to be woken.
    pub(crate) fn publish(&mut self, log: &EventLog, woken: &mut Woken) {
        if log.last_seq() > self.waited_at && !self.waiting.is_empty() {
            woken.append(self.waiting.take());
        }
    }

    /// The least count of events that a subscription may be behind, of all since there was none.
    pub(crate) fn least_events(&self) -> Option<u64> {
        self.least_events
    }
}
