//! The way of an item: from a thread that brings it through the driver to the reader.

use super::{assert_ended, explore, fed, fed_into};
use crate::core::id::Seq;
use loom::future::block_on;
use loom::thread;

/// The driver sleeps while a model's item comes from another thread: it is woken, and nothing is lost.
// proves: X5
#[test]
fn an_item_from_another_thread_wakes_the_driver() {
    let count = explore(3, || {
        let (fed, _session, run, driver) = fed();
        let feeds = thread::spawn(move || {
            fed.text();
            fed.done();
        });
        let outcome = block_on(driver);
        assert_eq!(outcome.answer().unwrap().text, "x");
        feeds.join().unwrap();
        assert_ended(run.handle());
    });
    println!("model and driver: {count} interleavings");
}

/// The reader sleeps while the driver records: it is woken, reads every event once, and learns of the end.
// proves: E1, E13
#[test]
fn a_reader_on_another_thread_misses_nothing() {
    let count = explore(3, || {
        let (fed, _session, run, driver) = fed();
        fed.text();
        fed.done();
        let (handle, mut stream) = run.split();
        let drives = thread::spawn(move || block_on(driver));
        block_on(async {
            let mut next = 1;
            while let Some(envelope) = stream.next().await {
                assert_eq!(envelope.seq.0, next);
                next += 1;
            }
            assert!(next > 5);
        });
        drives.join().unwrap();
        assert_ended(&handle);
    });
    println!("driver and reader: {count} interleavings");
}

/// A driver that pauses for its reader is woken when that has read, or waits for the outcome instead.
// proves: E13, E14
#[test]
fn a_full_stream_that_is_read_wakes_the_driver() {
    for waits in [false, true] {
        let count = explore(2, move || {
            let (fed, _session, mut run, driver) = fed_into(1);
            fed.text();
            fed.done();
            let drives = thread::spawn(move || block_on(driver));
            if waits {
                assert!(block_on(run.outcome()).answer().is_some());
            } else {
                block_on(async {
                    while run.fill().await {
                        while run.take().is_some() {}
                    }
                });
            }
            drives.join().unwrap();
            assert_ended(run.handle());
        });
        println!("full stream, {}: {count} interleavings", if waits { "passed over" } else { "read" });
    }
}

/// Waiting for the outcome passes over the handle's own stream while the driver records into it.
// proves: E14
#[test]
fn an_outcome_is_awaited_beside_the_driver() {
    let count = explore(3, || {
        let (fed, _session, mut run, driver) = fed();
        fed.text();
        fed.done();
        let drives = thread::spawn(move || block_on(driver));
        // Something may lie in the stream's buffer by the time that it is passed over.
        let _ = run.take();
        let outcome = block_on(run.outcome());
        assert!(outcome.answer().is_some());
        block_on(async {
            while let Some(envelope) = run.events().next().await {
                assert!(envelope.seq <= outcome.last_seq);
            }
        });
        drives.join().unwrap();
        assert_ended(run.handle());
    });
    println!("driver and outcome: {count} interleavings");
}

/// A subscription that sleeps while another thread drives: it is woken, and gets every event once.
// proves: L2, L3
#[test]
fn a_subscription_on_another_thread_misses_nothing() {
    let count = explore(3, || {
        let (fed, _session, run, driver) = fed();
        fed.text();
        fed.done();
        let mut live = run.reader().subscribe(Seq(0)).unwrap();
        let drives = thread::spawn(move || block_on(driver));
        block_on(async {
            let mut next = 1;
            while let Some(envelope) = live.next().await.unwrap() {
                assert_eq!(envelope.seq.0, next);
                next += 1;
            }
            assert!(next > 5);
        });
        drives.join().unwrap();
        assert_ended(run.handle());
    });
    println!("driver and subscription: {count} interleavings");
}

/// A subscription is dropped while another thread has just woken it.
// proves: L3, X5
#[test]
fn a_subscription_goes_while_it_is_woken() {
    let count = explore(3, || {
        let (fed, _session, run, driver) = fed();
        fed.text();
        fed.done();
        let reader = run.reader();
        let mut live = reader.subscribe(Seq(0)).unwrap();
        let reads = thread::spawn(move || {
            block_on(live.next()).unwrap();
            drop(live);
        });
        block_on(driver);
        reads.join().unwrap();
        assert!(reader.outcome().is_some());
        assert_ended(run.handle());
    });
    println!("driver and a subscription that goes: {count} interleavings");
}
