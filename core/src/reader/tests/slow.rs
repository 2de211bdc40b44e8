//! Readers that fall behind, and the ends of logs.

use super::*;

const BOUNDS: ReadBounds = ReadBounds::new(3, 350);

fn ended(reader: &mut Reader, log: &EventLog) -> ReadError {
    let error = reader.next(log).unwrap_err();
    assert_eq!(error.reason, ReadFault::Slow);
    assert_eq!(error.bounds, reader.bounds());
    error
}

// proves: L3, L4
#[test]
fn s01_a_reader_that_is_too_far_behind_is_ended() {
    let mut log = log(4, 1_000);
    let mut reader = Reader::new(&log, Seq(0), BOUNDS).unwrap();
    fill(&mut log, 3);
    assert!(!reader.judge(&log), "three are in its bounds");
    append(&mut log, 100);
    assert_eq!(log.last_seq(), Seq(4), "the log goes on");
    let error = ended(&mut reader, &log);
    assert_eq!(facts(&error), [0, 1, 4, 0, 0]);
    assert_eq!(error.exceeded, over(ReadResource::SubscriptionEvents, 3, 4));
    assert_eq!(reader.delivered(), Seq(0), "what it had not read is not delivered");
}

// proves: L3, L4
#[test]
fn s02_what_was_read_counts_no_more() {
    let mut log = log(4, 1_000);
    let mut reader = Reader::new(&log, Seq(0), BOUNDS).unwrap();
    fill(&mut log, 3);
    assert_eq!(reader.next(&log).unwrap().unwrap().seq, Seq(1));
    append(&mut log, 100);
    assert!(!reader.judge(&log));
    append(&mut log, 100);
    let error = ended(&mut reader, &log);
    assert_eq!(facts(&error), [0, 2, 5, 1, 1]);
    assert_eq!(error.exceeded, over(ReadResource::SubscriptionEvents, 3, 4));
}

// proves: L3
#[test]
fn bytes_end_a_reader_before_the_count_does() {
    let mut log = log(8, 10_000);
    let mut reader = Reader::new(&log, Seq(0), BOUNDS).unwrap();
    append(&mut log, 100);
    append(&mut log, 250);
    assert!(!reader.judge(&log), "350 bytes are in its bounds");
    append(&mut log, 90);
    let error = ended(&mut reader, &log);
    assert_eq!(error.exceeded, over(ReadResource::SubscriptionBytes, 350, 440));
}

// proves: L3
#[test]
fn s04_each_reader_has_bounds_of_its_own() {
    let mut log = log(8, 10_000);
    let mut idle = Reader::new(&log, Seq(0), BOUNDS).unwrap();
    let mut quick = Reader::new(&log, Seq(0), BOUNDS).unwrap();
    let mut read = Vec::new();
    for _ in 0..4 {
        append(&mut log, 100);
        read.extend(drain(&mut quick, &log));
        idle.judge(&log);
    }
    assert_eq!(ended(&mut idle, &log).last_delivered, Seq(0));
    assert_eq!((read, quick.error()), (vec![1, 2, 3, 4], None));
}

/// The facts are those of the overflow, whenever the reader comes for them.
// proves: L3, L4
#[test]
fn the_verdict_keeps_the_facts_of_the_overflow() {
    let mut log = log(4, 1_000);
    let mut reader = Reader::new(&log, Seq(0), BOUNDS).unwrap();
    fill(&mut log, 3);
    assert!(log.last_seq() <= reader.reach().seq && log.end() <= reader.reach().end);
    append(&mut log, 100);
    assert!(log.last_seq() > reader.reach().seq && reader.judge(&log));
    let verdict = reader.error().cloned().unwrap();
    fill(&mut log, 20);
    assert!(reader.judge(&log));
    assert_eq!(ended(&mut reader, &log), verdict);
    assert_eq!(facts(&verdict), [0, 1, 4, 0, 0]);
}

// proves: L3
// bounds: subscription, count; subscription, bytes
#[test]
fn s06_the_smallest_bounds_hold_one_event() {
    let mut first = log(8, 10_000);
    let mut reader = Reader::new(&first, Seq(0), ReadBounds::new(1, 100)).unwrap();
    append(&mut first, 100);
    assert!(!reader.judge(&first));
    append(&mut first, 100);
    let error = ended(&mut reader, &first);
    assert_eq!(error.exceeded, over(ReadResource::SubscriptionEvents, 1, 2));
    assert_eq!(error.last_delivered, Seq(0));

    let mut other = log(8, 10_000);
    let mut reader = Reader::new(&other, Seq(0), ReadBounds::new(8, 99)).unwrap();
    append(&mut other, 100);
    let error = ended(&mut reader, &other);
    assert_eq!(error.exceeded, over(ReadResource::SubscriptionBytes, 99, 100));
    assert_eq!(error.last_delivered, Seq(0));
}

// proves: L2, L4
#[test]
fn the_end_of_the_log_comes_after_its_last_event() {
    let mut log = log(8, 10_000);
    let mut reader = Reader::new(&log, Seq(0), BOUNDS).unwrap();
    append(&mut log, 100);
    close(&mut log);
    assert_eq!(drain(&mut reader, &log), [1, 2]);
    assert!(reader.next(&log).unwrap().is_none() && log.is_closed());
}

// proves: L4
#[test]
fn s08_the_verdict_is_never_replaced_by_the_end() {
    let mut log = log(6, 1_200);
    let mut reader = Reader::new(&log, Seq(0), BOUNDS).unwrap();
    fill(&mut log, 4);
    let error = ended(&mut reader, &log);
    close(&mut log);
    assert_eq!(ended(&mut reader, &log), error);
    assert_eq!(ended(&mut reader, &log), error);
}

// proves: L2
#[test]
fn s09_a_closed_log_can_be_read() {
    let mut log = log(8, 10_000);
    append(&mut log, 100);
    close(&mut log);
    let mut reader = Reader::new(&log, Seq(0), ReadBounds::new(8, 5_000)).unwrap();
    assert_eq!(drain(&mut reader, &log), [1, 2]);
    assert!(reader.next(&log).unwrap().is_none());
    let page = log.page(Seq(0), WIDE).unwrap();
    assert_eq!((page.events.len(), page.has_more, page.closed), (2, false, true));
}
