//! Ends from outside beside a driver that may be ending by itself: one of them wins, and everyone hears of it.

use super::{assert_ended, explore, fed};
use crate::core::outcome::RunResult;
use crate::core::output::CancelReply;
use crate::session::SessionState;
use loom::future::block_on;
use loom::thread;

// proves: C7, W7
#[test]
fn a_cancel_races_with_the_end() {
    let count = explore(3, || {
        let (fed, session, run, driver) = fed();
        let (handle, stream) = run.split();
        fed.done();
        let drives = thread::spawn(move || block_on(driver));
        let reply = handle.cancel();
        let outcome = block_on(handle.outcome());
        let cancelled = matches!(outcome.result, RunResult::Cancelled(_));
        assert_eq!(cancelled, reply == CancelReply::Cancelled);
        drives.join().unwrap();
        assert_ended(&handle);
        assert_ne!(session.state(), SessionState::Running);
        drop(stream);
    });
    println!("cancel and end: {count} interleavings");
}

// proves: C3
#[test]
fn a_token_reaches_a_driver_that_sleeps() {
    let count = explore(3, || {
        let (_fed, _session, run, driver) = fed();
        let token = run.cancellation_token();
        let cancels = thread::spawn(move || token.cancel());
        let outcome = block_on(driver);
        assert!(matches!(outcome.result, RunResult::Cancelled(_)));
        cancels.join().unwrap();
        assert_ended(run.handle());
    });
    println!("token and driver: {count} interleavings");
}

// proves: C8, W7
#[test]
fn a_dropped_handle_ends_a_driver_that_sleeps() {
    let count = explore(3, || {
        let (_fed, session, run, driver) = fed();
        let (handle, mut stream) = run.split();
        let drops = thread::spawn(move || {
            drop(handle);
            assert_eq!(session.state(), SessionState::Idle);
            assert!(session.start("again").is_ok());
        });
        block_on(driver);
        block_on(async {
            let mut last = None;
            while let Some(envelope) = stream.next().await {
                last = Some(envelope);
            }
            assert!(last.unwrap().event.is_terminal());
        });
        drops.join().unwrap();
    });
    println!("dropped handle and driver: {count} interleavings");
}

// proves: C8, C9
#[test]
fn a_driver_and_a_stream_are_dropped_side_by_side() {
    let count = explore(3, || {
        let (fed, _session, run, driver) = fed();
        fed.text();
        let (handle, stream) = run.split();
        let drops = thread::spawn(move || drop(driver));
        drop(stream);
        let outcome = block_on(handle.outcome());
        assert!(matches!(outcome.result, RunResult::Cancelled(_)));
        drops.join().unwrap();
        assert_ended(&handle);
    });
    println!("dropped driver and stream: {count} interleavings");
}
