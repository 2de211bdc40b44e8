//! Tokens, gates and alarms: a wake that is due is never lost.

use super::explore;
use crate::CancellationToken;
use crate::core::time::Time;
use crate::gate::{Gate, GateKeeper, Gates};
use crate::sync::Arc;
use crate::timer::{ManualTimer, Timer, sleep_until};
use loom::future::block_on;
use loom::thread;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// RUST-01: whoever waits while another thread cancels is woken, at whatever point of the wait it does.
// proves: C1
#[test]
fn a_token_wakes_all_who_wait() {
    let count = explore(3, || {
        let token = CancellationToken::new();
        let (first, second) = (token.cancelled(), token.cancelled());
        let waits = thread::spawn(move || block_on(first));
        let cancels = {
            let token = token.clone();
            thread::spawn(move || token.cancel())
        };
        block_on(second);
        assert!(token.is_cancelled());
        waits.join().unwrap();
        cancels.join().unwrap();
    });
    println!("token, two who wait: {count} interleavings");
}

// proves: C1
#[test]
fn a_waiter_may_be_dropped_while_the_token_is_cancelled() {
    let count = explore(3, || {
        let token = CancellationToken::new();
        let (mut dropped, kept) = (token.cancelled(), token.cancelled());
        let drops = thread::spawn(move || {
            let _ = Pin::new(&mut dropped).poll(&mut Context::from_waker(Waker::noop()));
            drop(dropped);
        });
        let cancels = {
            let token = token.clone();
            thread::spawn(move || {
                token.cancel();
                token.cancel();
            })
        };
        block_on(token.until_cancelled(kept));
        drops.join().unwrap();
        cancels.join().unwrap();
    });
    println!("token, one who leaves: {count} interleavings");
}

/// A session's next run waits for the gate of the last one.
// proves: C8
#[test]
fn a_gate_that_opens_wakes_who_waits() {
    let count = explore(3, || {
        let gates = [Arc::new(Gate::default()), Arc::new(Gate::default())];
        gates[1].follow(Some(Arc::clone(&gates[0])));
        let mut closed = Gates::new(Some(Arc::clone(&gates[1])));
        let [first, second] = gates.map(|gate| thread::spawn(move || drop(GateKeeper(gate))));
        block_on(poll_fn(|cx| if closed.poll_open(cx) { Poll::Ready(()) } else { Poll::Pending }));
        first.join().unwrap();
        second.join().unwrap();
    });
    println!("two gates: {count} interleavings");
}

// proves: X3
#[test]
fn a_clock_that_is_moved_wakes_who_sleeps() {
    let count = explore(3, || {
        let timer = ManualTimer::new();
        let clock = timer.clone();
        let moves = thread::spawn(move || {
            clock.advance(Duration::from_secs(1));
            clock.advance(Duration::from_secs(1));
        });
        block_on(sleep_until(timer.clone(), Time::from_secs(2)));
        assert_eq!(timer.now(), Time::from_secs(2));
        moves.join().unwrap();
    });
    println!("manual clock: {count} interleavings");
}
