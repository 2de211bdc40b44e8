//! Subscriptions that fall behind: the run does not wait, and they learn of it with the facts of that moment.

use super::*;
use futures_lite::StreamExt;
use futures_lite::future::{block_on, poll_once, zip};
use runloom::{After, Exceeded, ReadBounds, ReadFault, ReadResource, RunResult, Seq};
use runloom_tests::runs::{assert_ended, with_capacity};
use std::pin::pin;

// proves: L3, E13
#[test]
fn a_reader_that_never_reads_changes_nothing_for_the_run() {
    let logs = [false, true].map(|slow| {
        let (run, driver) = unattended(Config::default(), [pieces(3_000)]);
        let reader = run.reader();
        let idle =
            slow.then(|| reader.subscribe_with(After::START, ReadBounds::new(1_024, 4 << 20)).unwrap());
        let mut driver = pin!(driver);
        let mut polls = 0;
        while block_on(poll_once(&mut driver)).is_none() {
            polls += 1;
        }
        drop(idle);
        assert_ended(run.handle());
        (run.handle().log_json(), polls)
    });
    assert_eq!(logs[0], logs[1]);
}

/// However late it comes: what is told is how things stood when it was too far behind, not how they stand.
// proves: L3, L4
// bounds: subscription, count
#[test]
fn the_verdict_waits_and_stays() {
    let (run, driver) = unattended(tiny(16), [pieces(600)]);
    let reader = run.reader();
    let mut slow = reader.subscribe(After::START).unwrap();
    block_on(driver);
    let verdict = block_on(slow.next()).unwrap_err();
    assert_eq!(verdict.reason, ReadFault::Slow);
    let exceeded = Exceeded { resource: ReadResource::SubscriptionEvents, limit: 16, observed: 17 };
    assert_eq!(verdict.exceeded, Some(exceeded));
    let facts =
        [verdict.requested, verdict.earliest, verdict.latest, verdict.recovery, verdict.last_delivered];
    assert_eq!(facts.map(|seq| seq.0), [0, 1, 17, 0, 0], "17 events are long evicted");
    let behind = reader.page(Seq(17), ReadBounds::new(1, 100)).unwrap_err();
    assert_eq!(behind.reason, ReadFault::CursorBehind);

    for _ in 0..3 {
        assert_eq!(slow.try_next(), Err(verdict.clone()));
        assert_eq!(block_on(slow.next()), Err(verdict.clone()));
        assert_eq!(block_on(StreamExt::next(&mut slow)), Some(Err(verdict.clone())), "never the end");
    }
    assert_eq!(slow.cursor().seq, Seq(0));
}

/// At its bound it is still there, one further it is not; in bytes too.
// proves: L3
// bounds: subscription, count; subscription, bytes
#[test]
fn a_subscription_holds_exactly_what_it_may_be_behind() {
    let (run, driver) = unattended(Config::default(), [pieces(94)]);
    let reader = run.reader();
    block_on(driver);
    let log = runloom_tests::runs::events(run.handle());
    let (events, bytes) = (log.len() as u64, log.last().unwrap().end);
    assert_eq!(events, 100);
    for (change, fits) in [(-1, false), (0, true), (1, true)] {
        for (events, bytes) in
            [(events.wrapping_add_signed(change), bytes), (events, bytes.wrapping_add_signed(change))]
        {
            let bounds = ReadBounds::new(events, bytes);
            let (run, driver) = unattended(Config::default(), [pieces(94)]);
            let live = run.reader().subscribe_with(After::START, bounds);
            let live = live.unwrap();
            block_on(driver);
            let (read, error) = block_on(collect(live));
            assert_eq!((read.len() == 100, error.is_none()), (fits, fits), "{bounds:?}");
            assert_eq!(reader.subscribe_with(After::START, bounds).is_ok(), fits, "{bounds:?}");
        }
    }
}

/// On one thread a run must leave its readers their turn, however little they may be behind.
// proves: L3
#[test]
fn a_reader_that_is_given_its_turn_keeps_up() {
    for bound in [4, 8, 64, 1_024] {
        let (run, driver) = unattended(Config::default(), [pieces(5_000)]);
        let subscriptions: Vec<_> = (0..3)
            .map(|_| run.reader().subscribe_with(After::START, ReadBounds::new(bound, 4 << 20)).unwrap())
            .collect();
        let readers = subscriptions.into_iter().map(|live| {
            Box::pin(async {
                let (events, error) = collect(live).await;
                assert_eq!((events.len(), error), (5_006, None));
            }) as std::pin::Pin<Box<dyn Future<Output = ()>>>
        });
        let mut tasks: Vec<_> = vec![Box::pin(async { drop(driver.await) }) as _];
        tasks.extend(readers);
        assert!(runloom_tests::bare::run_all(&ManualTimer::new(), tasks), "bound {bound}");
    }
}

/// A subscription paces nothing, keeps nothing going, and does not stand in for the primary reader.
// proves: L3, C9, E13
#[test]
fn a_subscription_is_no_primary_reader() {
    let (session, _) = session(with_capacity(4), [pieces(50)], []);
    let (run, driver) = session.start("go").unwrap();
    let mut driver = pin!(driver);
    let live = run.reader().subscribe(After::START).unwrap();
    let mut reads = pin!(collect(live));
    for _ in 0..10 {
        assert!(block_on(poll_once(&mut driver)).is_none() && block_on(poll_once(&mut reads)).is_none());
    }
    let head = run.reader().page(Seq(0), ReadBounds::new(100, 1 << 20)).unwrap().latest;
    assert!(head.0 < 20, "it pauses as nobody reads its own stream: {head}");
    let (handle, stream) = run.split();
    drop(stream);
    let outcome = block_on(&mut driver);
    assert!(matches!(&outcome.result, RunResult::Failed(error) if error.code() == "consumer_gone"));
    assert!(block_on(reads).0.last().unwrap().event.is_terminal());
    drop(handle);
}

// proves: L3, C9
#[test]
fn dropping_a_subscription_ends_nothing() {
    let (run, driver) = unattended(Config::default(), [pieces(50)]);
    let reader = run.reader();
    let mut first = reader.subscribe(After::START).unwrap();
    let second = reader.clone().subscribe(After::START).unwrap();
    let watched = async {
        first.next().await.unwrap();
        drop(first);
        drop(reader);
    };
    let (outcome, _) = block_on(zip(driver, watched));
    assert!(matches!(outcome.result, RunResult::Completed(_)));
    assert_eq!(block_on(collect(second)).0.len(), 56);
}
