//! Several readers on each kind of executor: each gets the log, whatever polls it.

use super::*;
use futures_lite::future::block_on;
use runloom::{After, ReadBounds, Seq};
use runloom_tests::bare::run_all;
use runloom_tests::runs::{assert_ended, events};
use std::cell::RefCell;

const DELTAS: usize = 2_000;
const READERS: usize = 5;

fn stage() -> (Run, TestDriver, Vec<Subscription>) {
    let (run, driver) = unattended(Config::default(), [pieces(DELTAS)]);
    let bounds = ReadBounds::new(5_000, 16 << 20);
    let live = (0..READERS).map(|_| run.reader().subscribe_with(After::START, bounds).unwrap());
    let live = live.collect();
    (run, driver, live)
}

fn check(run: &Run, read: &[(Vec<Envelope>, Option<ReadError>)]) {
    let log = events(run.handle());
    assert_eq!((log.len(), read.len()), (DELTAS + 6, READERS));
    for (events, error) in read {
        assert_eq!((error, events == &log), (&None, true));
    }
    assert_ended(run.handle());
}

// proves: L2, X2
#[test]
fn every_executor_gives_every_reader_the_whole_log() {
    let (run, driver, live) = stage();
    let read = RefCell::new(Vec::new());
    let mut tasks: Vec<std::pin::Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::new();
    for live in live {
        tasks.push(Box::pin(async {
            let all = collect(live).await;
            read.borrow_mut().push(all);
        }));
    }
    tasks.push(Box::pin(async { drop(driver.await) }));
    assert!(run_all(&ManualTimer::new(), tasks));
    check(&run, &read.into_inner());

    let (run, driver, live) = stage();
    let executor = smol::LocalExecutor::new();
    let tasks: Vec<_> = live.into_iter().map(|live| executor.spawn(collect(live))).collect();
    let driver = executor.spawn(driver);
    let read = block_on(executor.run(async {
        driver.await;
        let mut read = Vec::new();
        for task in tasks {
            read.push(task.await);
        }
        read
    }));
    check(&run, &read);

    let (run, driver, live) = stage();
    let threads: Vec<_> =
        live.into_iter().map(|live| std::thread::spawn(move || block_on(collect(live)))).collect();
    block_on(driver);
    let read: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    check(&run, &read);
}

/// Readers join, leave and page on their own threads while the run goes on: none sees a gap.
// proves: L2, L3
#[test]
fn joining_and_leaving_on_other_threads_leaves_no_gap() {
    let (run, driver) = unattended(Config::default(), [pieces(4_000)]);
    let threads: Vec<_> = (0..4)
        .map(|n| {
            let reader = run.reader();
            std::thread::spawn(move || {
                let mut all = Vec::new();
                let bounds = ReadBounds::new(1 + n * 50, 1 << 20);
                let mut closed = false;
                while !closed {
                    let (page, tail) = reader.page_then_tail(Seq(all.len() as u64), bounds).unwrap();
                    closed = page.closed && !page.has_more;
                    all.extend(page.events);
                    let Some(mut tail) = tail else { continue };
                    for _ in 0..40 {
                        match block_on(tail.next()) {
                            Ok(Some(envelope)) => all.push(envelope),
                            Ok(None) | Err(_) => break,
                        }
                    }
                }
                all
            })
        })
        .collect();
    block_on(driver);
    let log = events(run.handle());
    for thread in threads {
        assert!(thread.join().unwrap() == log);
    }
}
