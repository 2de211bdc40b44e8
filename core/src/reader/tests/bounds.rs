//! Each bound one below, at and one above.

use super::*;

/// The event that ends a reader of these bounds, out of `most` of `size` bytes; 0 if none does.
fn ends_at(bounds: ReadBounds, size: u64, most: u64) -> u64 {
    let mut log = log(10_000, 100_000_000);
    let mut reader = Reader::new(&log, Seq(0), bounds).unwrap();
    for n in 1..=most {
        append(&mut log, size);
        let passed = log.last_seq() > reader.reach().seq || log.end() > reader.reach().end;
        assert_eq!(reader.judge(&log), passed, "its reach says it beforehand");
        if passed {
            return n;
        }
    }
    0
}

// proves: L3
// bounds: subscription, count
#[test]
fn a_reader_may_be_behind_by_its_count_and_not_by_one_more() {
    for n in [1, 2, 3, 64, 1_024] {
        let bounds = ReadBounds::new(n, u64::MAX);
        assert_eq!(ends_at(bounds, 100, n - 1), 0);
        assert_eq!(ends_at(bounds, 100, n), 0);
        assert_eq!(ends_at(bounds, 100, n + 1), n + 1);
    }
}

// proves: L3
// bounds: subscription, bytes
#[test]
fn a_reader_may_be_behind_by_its_bytes_and_not_by_one_more() {
    for (bytes, ends) in [(499, 5), (500, 6), (501, 6), (599, 6), (600, 7)] {
        assert_eq!(ends_at(ReadBounds::new(1_000, bytes), 100, 10), ends, "{bytes}");
    }
    let limits = Limits::default();
    let defaults = ReadBounds::new(limits.subscription_events, limits.subscription_bytes);
    assert_eq!((defaults.events, defaults.bytes), (1_024, 4 << 20));
    assert_eq!(ends_at(defaults, 4_096, 1_025), 1_025, "both at once: the count is named");
    assert_eq!(ends_at(defaults, 4_097, 1_024), 1_024);
}

// proves: L2
#[test]
fn a_page_holds_its_count_and_its_bytes_and_not_one_more() {
    let log = holding(1, 6);
    let last = |events, bytes| log.page(Seq(1), ReadBounds::new(events, bytes)).map(|page| page.last.0);
    for (events, expected) in [(1, 2), (2, 3), (4, 5), (5, 6), (6, 6)] {
        assert_eq!(last(events, u64::MAX), Ok(expected));
    }
    for (bytes, expected) in [(100, 2), (199, 2), (200, 3), (201, 3), (499, 5), (500, 6), (501, 6)] {
        assert_eq!(last(u64::MAX, bytes), Ok(expected));
    }
    let error = last(0, u64::MAX).unwrap_err();
    assert_eq!(error.exceeded, over(ReadResource::ReplayEvents, 0, 1));
    let error = last(u64::MAX, 99).unwrap_err();
    assert_eq!(error.exceeded, over(ReadResource::ReplayBytes, 99, 100));
}

#[test]
fn numbers_at_the_end_of_their_range_do_not_overflow() {
    let log = holding(1, 2);
    let error = Reader::new(&log, Seq(u64::MAX), WIDE).unwrap_err();
    assert_eq!((error.reason, error.recovery), (ReadFault::CursorAhead, Seq(2)));
    assert_eq!(log.page(Seq(u64::MAX), WIDE).unwrap_err(), error);
    let reader = Reader::new(&log, Seq(0), ReadBounds::new(u64::MAX, u64::MAX)).unwrap();
    assert_eq!((reader.reach().seq, reader.reach().end), (Seq(u64::MAX), u64::MAX));
}
