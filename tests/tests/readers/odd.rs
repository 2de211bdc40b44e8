//! Odd bounds and places of readers.

use super::*;
use futures_lite::future::{block_on, poll_once};
use runloom::{After, Cursor, ReadBounds, ReadFault, RunId, Seq};

const ALL: ReadBounds = ReadBounds::new(u64::MAX, u64::MAX);

/// A subscription that may be behind by nothing is ended by the first event, and told so; one that may be behind by
/// everything is ended by the log's own bounds only.
// proves: L3, L4
#[test]
fn bounds_may_be_nothing_or_everything() {
    let (run, driver) = unattended(tiny(4_000), [pieces(4_000)]);
    let reader = run.reader();
    let latest = reader.page(After::START, ALL).unwrap().latest;
    let mut nothing = reader.subscribe_with(latest, ReadBounds::new(0, 0)).unwrap();
    let mut everything = reader.subscribe_with(latest, ALL).unwrap();
    assert!(nothing.try_next().unwrap().is_none());
    let last = block_on(driver).last_seq;
    for _ in 0..2 {
        let error = nothing.try_next().unwrap_err();
        assert_eq!((error.reason, error.last_delivered, error.recovery), (ReadFault::Slow, latest, latest));
        let exceeded = error.exceeded.unwrap();
        assert_eq!((exceeded.limit, error.latest.0 > latest.0), (0, true));
    }
    assert_eq!(nothing.cursor().seq, latest);
    let error = everything.try_next().unwrap_err();
    assert_eq!((error.reason, error.exceeded, error.last_delivered), (ReadFault::CursorBehind, None, latest));
    assert!(error.recovery.0 + 1 == error.earliest.0 && error.earliest.0 > latest.0 + 1);
    // With nothing behind the cursor there is nothing to be too large.
    let page = reader.page(last, ReadBounds::new(0, 0)).unwrap();
    assert!(page.events.is_empty() && page.closed && !page.has_more && page.last == last);
    let refused = reader.page(Seq(last.0 - 1), ReadBounds::new(0, 0)).unwrap_err();
    assert_eq!(refused.reason, ReadFault::ReplayTooLarge { last_fit: Seq(last.0 - 1) });
    let mut end = reader.subscribe_with(last, ReadBounds::new(0, 0)).unwrap();
    assert_eq!(block_on(end.next()), Ok(None));
    assert_eq!(block_on(end.next()), Ok(None));
    for after in [Seq(last.0 + 1), Seq(u64::MAX)] {
        assert_eq!(reader.page(after, ALL).unwrap_err().recovery, last);
        assert!(reader.subscribe(after).is_err() && reader.page_then_tail(after, ALL).is_err());
    }
    let other = Cursor::new(RunId::new("other").unwrap(), last);
    assert_eq!(reader.subscribe(&other).unwrap_err().reason, ReadFault::WrongRun);
}

/// The waker that was given last is the one that counts, and one that is not given again is forgotten.
#[test]
fn a_subscription_moves_between_tasks() {
    let (run, driver) = unattended(config(|_| {}), [pieces(3)]);
    let mut screen = run.reader().subscribe(After::START).unwrap();
    while screen.try_next().unwrap().is_some() {}
    for _ in 0..3 {
        // Each is another task's.
        assert!(block_on(poll_once(screen.next())).is_none());
    }
    let (_, (events, error)) = block_on(futures_lite::future::zip(driver, collect(screen)));
    assert_eq!((error, events.last().map(|last| last.event.is_terminal())), (None, Some(true)));
}
