//! Cursors, joins and pages.

use super::*;
use crate::reader::{After, Cursor, CursorError};

fn refused(log: &EventLog, after: u64) -> ReadError {
    let error = Reader::new(log, Seq(after), WIDE).unwrap_err();
    assert_eq!(log.page(Seq(after), WIDE).unwrap_err(), error, "pages and subscriptions judge alike");
    error
}

fn page(log: &EventLog, after: u64, bounds: ReadBounds) -> (Vec<u64>, u64, bool) {
    let page = log.page(Seq(after), bounds).unwrap();
    (page.events.iter().map(|envelope| envelope.seq.0).collect(), page.last.0, page.has_more)
}

// proves: L2, L4
#[test]
fn l01_an_empty_log_has_one_cursor() {
    let log = log(6, 1_200);
    assert_eq!((log.first_seq(), log.last_seq()), (Seq(1), Seq(0)));
    assert_eq!(drain(&mut Reader::new(&log, After::START, WIDE).unwrap(), &log), [0; 0]);
    assert_eq!(page(&log, 0, WIDE), (vec![], 0, false));
    let error = refused(&log, 1);
    assert_eq!((error.reason, error.exceeded), (ReadFault::CursorAhead, None));
    assert_eq!(facts(&error), [1, 1, 0, 0, 1]);
}

// proves: L2, L4
#[test]
fn l13_a_log_that_goes_on_keeps_its_numbers() {
    let mut log = imported(7);
    assert_eq!((log.first_seq(), log.last_seq()), (Seq(8), Seq(7)));
    let behind = refused(&log, 0);
    assert_eq!((behind.reason, facts(&behind)), (ReadFault::CursorBehind, [0, 8, 7, 7, 0]));
    let ahead = refused(&log, 8);
    assert_eq!((ahead.reason, facts(&ahead)), (ReadFault::CursorAhead, [8, 8, 7, 7, 8]));
    let mut reader = Reader::new(&log, Seq(7), ReadBounds::new(1, 100)).unwrap();
    append(&mut log, 100);
    assert_eq!(drain(&mut reader, &log), [8]);
}

// proves: L2, L4
#[test]
fn c01_a_cursor_is_good_from_before_the_oldest_event_to_the_last() {
    let log = holding(2, 5);
    let read = |after| drain(&mut Reader::new(&log, Seq(after), WIDE).unwrap(), &log);
    assert_eq!(read(1), [2, 3, 4, 5]);
    assert_eq!(read(5), [0; 0]);
    let behind = refused(&log, 0);
    assert_eq!((behind.reason, facts(&behind)), (ReadFault::CursorBehind, [0, 2, 5, 1, 0]));
    let ahead = refused(&log, 6);
    assert_eq!((ahead.reason, facts(&ahead)), (ReadFault::CursorAhead, [6, 2, 5, 5, 6]));
}

// proves: L2
#[test]
fn a_cursor_of_another_run_is_refused_whatever_its_number() {
    let log = holding(2, 5);
    for seq in [0, 1, 3, 5, 6] {
        let other = Cursor::new(RunId::new("q").unwrap(), Seq(seq));
        let error = Reader::new(&log, &other, WIDE).unwrap_err();
        assert_eq!((error.reason, error.recovery), (ReadFault::WrongRun, Seq(1)), "after {seq}");
        assert_eq!(log.page(other, WIDE).unwrap_err(), error);
    }
    assert!(Reader::new(&log, Cursor::new(run(), Seq(3)), WIDE).is_ok());
}

// proves: L2
#[test]
fn c03_what_is_appended_after_joining_follows_what_was_there() {
    let mut log = holding(1, 4);
    let mut reader = Reader::new(&log, Seq(2), WIDE).unwrap();
    append(&mut log, 100);
    assert_eq!(drain(&mut reader, &log), [3, 4, 5]);
    assert!(reader.next(&log).unwrap().is_none());
}

/// Nothing is copied for a reader: what the log evicted before it was read is gone, and the reader is told.
// proves: L3, L4
#[test]
fn c04_what_was_evicted_before_it_was_read_ends_the_reader() {
    let mut log = log(4, 1_000_000);
    fill(&mut log, 4);
    let mut reader = Reader::new(&log, After::START, ReadBounds::new(8, 5_000)).unwrap();
    fill(&mut log, 3);
    let error = reader.next(&log).unwrap_err();
    assert_eq!((error.reason, error.exceeded), (ReadFault::CursorBehind, None));
    assert_eq!(facts(&error), [0, 4, 7, 3, 0]);
    let mut again = Reader::new(&log, error.recovery, error.bounds).unwrap();
    assert_eq!(drain(&mut again, &log), [4, 5, 6, 7]);
}

// proves: L2, L4
#[test]
fn c05_more_than_fits_is_refused_and_read_in_pages() {
    let log = holding(1, 4);
    let bounds = ReadBounds::new(3, 350);
    let error = Reader::new(&log, Seq(0), bounds).unwrap_err();
    assert_eq!(error.reason, ReadFault::ReplayTooLarge { last_fit: Seq(3) });
    assert_eq!(error.exceeded, over(ReadResource::ReplayEvents, 3, 4));
    assert_eq!((facts(&error), error.bounds), ([0, 1, 4, 0, 0], bounds));
    assert_eq!(page(&log, 0, bounds), (vec![1, 2, 3], 3, true));
    assert_eq!(page(&log, 3, bounds), (vec![4], 4, false));
    assert_eq!(page(&log, 4, bounds), (vec![], 4, false));
    let mut tail = Reader::new(&log, Seq(4), bounds).unwrap();
    assert!(tail.next(&log).unwrap().is_none());
}

// proves: L2, L4
#[test]
fn c06_bytes_bound_pages_and_joins_alike() {
    let log = holding(1, 3);
    let error = Reader::new(&log, Seq(0), ReadBounds::new(3, 250)).unwrap_err();
    assert_eq!(error.reason, ReadFault::ReplayTooLarge { last_fit: Seq(2) });
    assert_eq!(error.exceeded, over(ReadResource::ReplayBytes, 250, 300));
    assert_eq!(page(&log, 0, ReadBounds::new(3, 250)), (vec![1, 2], 2, true));
    let error = log.page(Seq(0), ReadBounds::new(3, 99)).unwrap_err();
    assert_eq!(error.reason, ReadFault::ReplayTooLarge { last_fit: Seq(0) });
    assert_eq!(error.exceeded, over(ReadResource::ReplayBytes, 99, 100));
    assert_eq!(
        page(&log, 3, ReadBounds::new(0, 0)),
        (vec![], 3, false),
        "nothing follows: nothing is too large"
    );
}

// proves: L4
#[test]
fn c07_a_client_that_follows_the_recovery_gets_on() {
    let mut log = holding(2, 5);
    let error = refused(&log, 0);
    assert_eq!(facts(&error), [0, 2, 5, 1, 0]);
    fill(&mut log, 2);
    let error = refused(&log, error.recovery.0);
    assert_eq!(facts(&error), [1, 4, 7, 3, 1]);
    let mut reader = Reader::new(&log, error.recovery, WIDE).unwrap();
    assert_eq!(reader.next(&log).unwrap().unwrap().seq, Seq(4));
}

#[test]
fn cursors_have_one_text_form() {
    for (text, run, seq) in
        [("r:0", "r", 0), ("a:b:12", "a:b", 12), ("r:9007199254740991", "r", (1 << 53) - 1)]
    {
        let cursor = Cursor::parse(text).unwrap();
        assert_eq!((cursor.run.as_str(), cursor.seq.0), (run, seq));
        assert_eq!(std::format!("{cursor}"), text);
    }
    assert_eq!(Cursor::parse("r"), Err(CursorError::Form));
    assert!(matches!(Cursor::parse(":1"), Err(CursorError::Run(_))));
    for text in
        ["r:", "r:x", "r:+1", "r:-1", "r:01", "r: 1", "r:9007199254740992", "r:99999999999999999999999"]
    {
        assert_eq!(Cursor::parse(text), Err(CursorError::Number), "{text}");
    }
}

#[test]
fn an_error_says_where_to_go_on() {
    let log = holding(1, 4);
    let error = Reader::new(&log, Seq(0), ReadBounds::new(3, 350)).unwrap_err();
    let text = "replay_too_large, replay_events 4 of 3: after 0 of 1 to 4; go on after 0";
    assert_eq!(std::format!("{error}"), text);
}
