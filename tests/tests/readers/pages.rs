//! Pages of a run, while it goes on and afterwards, and the tail behind them.

use super::*;
use futures_lite::future::{block_on, poll_once, zip};
use runloom::{After, Cursor, HostAnswer, ReadBounds, ReadFault, RunId, RunReader, Seq};
use runloom_tests::runs::{assert_ended, events};
use std::pin::pin;

const PAGE: ReadBounds = ReadBounds::new(7, 64 << 10);

/// Reads page by page until the tail is there, and then the tail.
async fn follow(reader: RunReader, after: Seq) -> Vec<Envelope> {
    let (mut events, mut at) = (Vec::new(), after);
    loop {
        let (page, tail) = reader.page_then_tail(at, PAGE).unwrap();
        assert!(page.events.len() <= 7 && page.earliest == Seq(1));
        assert_eq!(page.has_more, page.last < page.latest);
        assert_eq!(tail.is_some(), !page.has_more && !page.closed, "a tail only at the head of an open log");
        at = page.last;
        events.extend(page.events);
        if let Some(tail) = tail {
            assert_eq!(tail.cursor(), reader.cursor(at));
            let (rest, error) = collect(tail).await;
            assert_eq!(error, None);
            events.extend(rest);
            return events;
        }
        if !page.has_more {
            return events;
        }
        futures_lite::future::yield_now().await;
    }
}

// proves: L2
#[test]
fn pages_and_their_tail_hold_every_event_once_wherever_one_begins() {
    let whole = 7 + 300;
    for polls in [0, 1, 2, 3, 9] {
        for after in [0, 1, 2] {
            let (run, driver) = unattended(Config::default(), [pieces(300)]);
            let mut driver = pin!(driver);
            for _ in 0..polls {
                block_on(poll_once(&mut driver));
            }
            let here = run.reader().page(After::START, PAGE).unwrap().latest;
            let after = Seq(after.min(here.0));
            let (_, read) = block_on(zip(&mut driver, follow(run.reader(), after)));
            assert_eq!(seqs(&read), (after.0 + 1..=whole - 1).collect::<Vec<_>>(), "{polls} polls");
            assert_eq!(read, events(run.handle())[usize::try_from(after.0).unwrap()..]);
            assert_ended(run.handle());
        }
    }
}

/// The log is there as long as anyone holds the run, whatever became of its handle.
// proves: L2, C8
#[test]
fn history_can_be_read_after_the_end_and_without_a_handle() {
    let (run, driver) = unattended(Config::default(), [pieces(20)]);
    let (reader, control) = (run.reader(), run.control());
    let live = reader.subscribe(After::START).unwrap();
    block_on(driver);
    drop(run);
    let (events, error) = block_on(collect(live));
    assert_eq!((events.len(), error), (26, None));
    assert!(events.last().unwrap().event.is_terminal());
    let again = block_on(collect(control.reader().subscribe(After::START).unwrap())).0;
    assert_eq!(again, events);
    drop(control);
    let page = reader.page(reader.cursor(Seq(24)), PAGE).unwrap();
    assert_eq!((seqs(&page.events), page.closed, page.has_more), (vec![25, 26], true, false));
    let (page, tail) = reader.page_then_tail(Seq(26), PAGE).unwrap();
    assert!(page.events.is_empty() && tail.is_none(), "a closed log has no tail");
    assert!(block_on(collect(reader.subscribe(Seq(26)).unwrap())).0.is_empty());
    assert!(reader.outcome().is_some());
}

// proves: L2, L4
#[test]
fn cursors_that_do_not_fit_are_refused_with_what_would() {
    let (run, driver) = unattended(Config::default(), [pieces(20)]);
    block_on(driver);
    let reader = run.reader();
    let error = reader.subscribe(Seq(27)).unwrap_err();
    assert_eq!((error.reason, error.recovery), (ReadFault::CursorAhead, Seq(26)));
    let other = Cursor::new(RunId::new("other").unwrap(), Seq(3));
    for error in [
        reader.subscribe(&other).unwrap_err(),
        reader.page(&other, PAGE).unwrap_err(),
        reader.page_then_tail(other, PAGE).unwrap_err(),
    ] {
        assert_eq!((error.reason, error.requested, error.recovery), (ReadFault::WrongRun, Seq(3), Seq(0)));
    }
    let error = reader.subscribe_with(Seq(0), ReadBounds::new(5, 1 << 20)).unwrap_err();
    assert_eq!(error.reason, ReadFault::ReplayTooLarge { last_fit: Seq(5) });
    assert!(reader.subscribe_with(Seq(21), ReadBounds::new(5, 1 << 20)).is_ok());
}

/// A run that was put aside closes its log for readers; in its next part the numbers go on.
// proves: L2, H6
#[test]
fn a_cursor_outlives_a_suspension() {
    let tool = ScriptedTool::new("asks").declared(|spec| spec.needs_approval());
    let attempts = [Attempt::new().call("asks", "{}"), Attempt::answer("done")];
    let (session, _) = session(Config::default(), attempts, [tool]);
    let (run, mut driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
    let first = run.reader();
    let mut live = first.subscribe(After::START).unwrap();
    assert!(block_on(poll_once(&mut driver)).is_none());
    let value = run.suspend().unwrap();
    let mut cursor = live.cursor();
    block_on(async {
        while let Some(envelope) = live.next().await.unwrap() {
            cursor = live.cursor();
            assert_eq!(cursor.seq, envelope.seq);
        }
    });
    assert_eq!(cursor, first.cursor(value.last_seq()));
    drop((run, driver));

    let (run, driver) = session.resume_with(value, RunOptions::new().unattended()).unwrap();
    let second = run.reader();
    let behind = second.subscribe(Seq(0)).unwrap_err();
    assert_eq!((behind.reason, behind.recovery), (ReadFault::CursorBehind, cursor.seq));
    let tail = second.subscribe(&cursor).unwrap();
    for request in run.requests() {
        run.respond(&request.id, HostAnswer::allow()).unwrap();
    }
    block_on(driver);
    let (events, error) = block_on(collect(tail));
    assert_eq!((error, events[0].event.kind().as_str()), (None, "run.resumed"));
    assert_eq!(seqs(&events)[0], cursor.seq.0 + 1);
    assert!(events.last().unwrap().event.is_terminal());
}

/// A client that is cut off before its first event comes back with the cursor that it came with.
// proves: L4
#[test]
fn rpl_02_a_cursor_is_kept_by_the_subscription() {
    let (run, driver) = unattended(Config::default(), [pieces(20)]);
    let reader = run.reader();
    block_on(driver);
    let mut at = reader.cursor(Seq(9));
    for _ in 0..3 {
        let cut = reader.subscribe(&at).unwrap();
        at = cut.cursor();
        assert_eq!(at, reader.cursor(Seq(9)));
    }
    let mut live = reader.subscribe(&at).unwrap();
    assert_eq!(live.try_next().unwrap().unwrap().seq, Seq(10));
    assert_eq!(live.cursor(), reader.cursor(Seq(10)));
}
