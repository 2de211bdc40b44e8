//! A whole recorded log, and pages of it.

use super::pairing::Pairing;
use super::{RecordError, RecordProblem, RecordedEvent};
use crate::canonical::Bounds;
use crate::id::{RunId, Seq};
use crate::reader::{After, ReadBounds, ReadError, Retained};
use crate::time::MAX_EXACT;
use alloc::string::String;
use alloc::vec::Vec;

/// What a recorded log may take to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordBounds {
    /// Most bytes of the whole log.
    pub bytes: u64,
    /// Most events. One takes some 150 bytes, besides its payload.
    pub events: u64,
    /// Bounds of one event.
    pub event: Bounds,
}

impl Default for RecordBounds {
    /// 256 MiB, 1,048,576 events; 8 MiB and 65,536 values of each.
    fn default() -> Self {
        let event = Bounds { bytes: 8 << 20, values: 1 << 16, ..Bounds::default() };
        Self { bytes: 256 << 20, events: 1 << 20, event }
    }
}

/// The events of one run, or of its tail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedLog {
    run: RunId,
    events: Vec<RecordedEvent>,
    /// Encoded bytes of all events up to and with each.
    ends: Vec<u64>,
    closed: bool,
}

/// Events that follow a cursor, without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedPage<'a> {
    /// The events, oldest first. Empty only if nothing follows the cursor.
    pub events: &'a [RecordedEvent],
    /// The position of the last of them, the cursor for the next page; the cursor itself if there is none.
    pub last: Seq,
    /// Whether the log holds more.
    pub has_more: bool,
    /// The oldest event that the log holds.
    pub earliest: Seq,
    /// The log's last event.
    pub latest: Seq,
    /// Whether the run had ended or was suspended: then nothing comes after `latest` in this part.
    pub closed: bool,
}

impl RecordedLog {
    /// Reads a log: one event a line, of which the last may lack its end. Nothing is taken of a log with an error. The
    /// log of a run that had not ended is read as well; [`RecordedLog::is_closed`] tells.
    ///
    /// # Errors
    ///
    /// [`RecordError`] for the first line that is wrong, with what is wrong and which bound was exceeded.
    pub fn read(bytes: &[u8], bounds: &RecordBounds) -> Result<Self, RecordError> {
        let (limit, observed) = (bounds.bytes, bytes.len() as u64);
        if observed > limit {
            return Err(RecordError { line: 1, problem: RecordProblem::TooLarge { limit, observed } });
        }
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        if bytes.is_empty() {
            return Err(RecordError { line: 1, problem: RecordProblem::Empty });
        }
        let mut reading = Reading::default();
        for (line, text) in (1_u64..).zip(bytes.split(|byte| *byte == b'\n')) {
            reading.line(text, bounds).map_err(|problem| RecordError { line, problem })?;
        }
        let Reading { events, ends, pairing } = reading;
        let Some(run) = events.first().map(|first| first.run_id.clone()) else {
            return Err(RecordError { line: 1, problem: RecordProblem::Empty });
        };
        let closed = pairing.is_some_and(|pairing| pairing.is_closed());
        Ok(Self { run, events, ends, closed })
    }

    /// The run.
    pub fn run_id(&self) -> &RunId {
        &self.run
    }

    /// The events, oldest first.
    pub fn events(&self) -> &[RecordedEvent] {
        &self.events
    }

    /// The position of the oldest event.
    pub fn first_seq(&self) -> Seq {
        self.events.first().map_or(Seq(1), |event| event.seq)
    }

    /// The position of the last event.
    pub fn last_seq(&self) -> Seq {
        self.events.last().map_or(Seq(0), |event| event.seq)
    }

    /// Encoded bytes of all events, without line ends.
    pub fn bytes(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Whether the run had ended, or was suspended.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Which events it holds.
    pub fn retained(&self) -> Retained<'_> {
        Retained { run: &self.run, earliest: self.first_seq(), latest: self.last_seq() }
    }

    /// The events after a cursor, as many as fit into the bounds (L2).
    ///
    /// # Errors
    ///
    /// [`ReadError`] if the cursor is one of another run, stands behind the last event or before what the log holds; and
    /// [`ReplayTooLarge`](crate::reader::ReadFault::ReplayTooLarge) if something follows and not even its first event
    /// fits (L4).
    pub fn page(&self, after: impl Into<After>, bounds: ReadBounds) -> Result<RecordedPage<'_>, ReadError> {
        let after = after.into();
        let skip = after.seq().0.saturating_add(1).saturating_sub(self.first_seq().0);
        let skip = usize::try_from(skip).unwrap_or(usize::MAX).min(self.events.len());
        let rest = self.ends.get(skip..).unwrap_or_default();
        let mut before = skip.checked_sub(1).and_then(|at| self.ends.get(at)).copied().unwrap_or(0);
        let sizes = rest.iter().map(|end| end - core::mem::replace(&mut before, *end));
        let retained = self.retained();
        let last = retained.page(&after, bounds, sizes)?;
        let count = usize::try_from(last.0 - after.seq().0).unwrap_or(usize::MAX);
        let events = self.events.get(skip..).and_then(|rest| rest.get(..count)).unwrap_or_default();
        Ok(RecordedPage {
            events,
            last,
            has_more: last < retained.latest,
            earliest: retained.earliest,
            latest: retained.latest,
            closed: self.closed,
        })
    }

    /// The log as it was read, each event on a line that ends.
    pub fn to_jsonl(&self) -> String {
        let len = usize::try_from(self.bytes()).unwrap_or(0) + self.events.len();
        let mut bytes = Vec::with_capacity(len);
        for event in &self.events {
            event.write(&mut bytes);
            bytes.push(b'\n');
        }
        // Only texts and ASCII were written.
        String::from_utf8(bytes).unwrap_or_default()
    }
}

/// What has been read so far.
#[derive(Default)]
struct Reading {
    events: Vec<RecordedEvent>,
    ends: Vec<u64>,
    pairing: Option<Pairing>,
}

impl Reading {
    fn line(&mut self, line: &[u8], bounds: &RecordBounds) -> Result<(), RecordProblem> {
        if self.events.len() as u64 >= bounds.events {
            return Err(RecordProblem::TooMany { limit: bounds.events });
        }
        let (limit, observed) = (bounds.event.bytes, line.len() as u64);
        if observed > limit {
            return Err(RecordProblem::TooLarge { limit, observed });
        }
        let (mut event, payload) = RecordedEvent::read_with_payload(line, &bounds.event)?;
        if let Some(first) = self.events.first() {
            if event.run_id != first.run_id {
                let (expected, observed) = (first.run_id.clone(), event.run_id);
                return Err(RecordProblem::OtherRun { expected, observed });
            }
            // One id for all.
            event.run_id = first.run_id.clone();
        }
        let last = self.events.last().map(|last| last.seq.0);
        let expected = last.map_or(event.seq.0, |last| last.saturating_add(1).min(MAX_EXACT + 1));
        if event.seq.0 != expected {
            return Err(RecordProblem::Sequence { expected, observed: event.seq.0 });
        }
        let pairing = self.pairing.get_or_insert_with(|| Pairing::from(event.seq));
        pairing.observe(event.kind, &payload)?;
        self.ends.push(self.ends.last().copied().unwrap_or(0) + observed);
        self.events.push(event);
        Ok(())
    }
}
