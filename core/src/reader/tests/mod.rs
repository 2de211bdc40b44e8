//! Readers over logs that are filled by hand, event by event and byte by byte.

mod bounds;
mod cursors;
mod model;
mod slow;

use super::{Exceeded, ReadBounds, ReadError, ReadFault, ReadResource, Reader};
use crate::config::{Config, Limits};
use crate::event::Event;
use crate::id::{Revision, RunId, Seq};
use crate::log::{EventLog, Ledger};
use crate::outcome::CancelCause;
use crate::text::Text;
use crate::time::Time;
use std::vec;
use std::vec::Vec;

/// Bounds that nothing reaches.
const WIDE: ReadBounds = ReadBounds::new(1_000, 1_000_000);

fn config(events: usize, bytes: u64) -> Config {
    let limits = Limits { log_events: events, log_bytes: bytes, ..Limits::default() };
    Config { limits, ..Config::default() }
}

fn run() -> RunId {
    RunId::new("r").unwrap()
}

/// An empty log that keeps so much.
fn log(events: usize, bytes: u64) -> EventLog {
    EventLog::new(run(), &config(events, bytes))
}

/// A log that holds the events `first` to `last` of 100 bytes each.
fn holding(first: u64, last: u64) -> EventLog {
    let kept = usize::try_from(last + 1 - first).unwrap();
    let mut log = log(kept, 1_000_000);
    fill(&mut log, last);
    assert_eq!((log.first_seq(), log.last_seq()), (Seq(first), Seq(last)));
    log
}

/// The log of a run's next part, which goes on after `seq`.
fn imported(seq: u64) -> EventLog {
    EventLog::resumed(run(), &config(8, 1_000_000), Seq(seq), 100 * seq, Ledger::default())
}

fn text(length: usize) -> Event {
    Event::TextDelta(Text::from("x".repeat(length)))
}

/// Appends an event of so many encoded bytes.
fn append(log: &mut EventLog, size: u64) {
    let mut twin = log.clone();
    let before = twin.end();
    twin.append(Time::ZERO, text(1));
    let least = twin.end() - before - 1;
    let length = usize::try_from(size.checked_sub(least).expect("room for an envelope")).unwrap();
    log.append(Time::ZERO, text(length));
    assert_eq!(log.end(), before + size);
}

/// Appends so many events of 100 bytes.
fn fill(log: &mut EventLog, events: u64) {
    (0..events).for_each(|_| append(log, 100));
}

fn close(log: &mut EventLog) {
    log.append(Time::ZERO, Event::RunCancelled { revision: Revision(0), cause: CancelCause::Requested });
    assert!(log.is_closed());
}

/// Everything that the reader gets now.
fn drain(reader: &mut Reader, log: &EventLog) -> Vec<u64> {
    std::iter::from_fn(|| reader.next(log).unwrap().map(|envelope| envelope.seq.0)).collect()
}

/// Requested, earliest, latest, recovery and last delivered.
fn facts(error: &ReadError) -> [u64; 5] {
    [error.requested, error.earliest, error.latest, error.recovery, error.last_delivered].map(|seq| seq.0)
}

fn over(resource: ReadResource, limit: u64, observed: u64) -> Option<Exceeded> {
    Some(Exceeded { resource, limit, observed })
}
