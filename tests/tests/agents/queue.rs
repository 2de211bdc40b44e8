//! The queue between agent and reader: bounded, and never pending with something in it.

use crate::kit::{Notes, agent, code, events, input, poll, words};
use futures_lite::StreamExt;
use futures_lite::future::{block_on, pending, poll_once, yield_now, zip};
use runloom::agui::server::{RunContext, Runner};
use runloom::agui::{Event, RunOutcome, TextRole};
use std::num::NonZeroUsize;
use std::task::Poll;

fn tick(n: usize) -> Event {
    Event::custom("acme.tick", n)
}

// proves: V1
#[test]
fn the_stream_is_never_pending_while_something_is_there() {
    let waits = agent(async |cx| {
        cx.say("hello")?;
        pending::<()>().await;
        Ok(RunOutcome::Success)
    });
    let mut stream = Runner::new(waits).run_local(input());
    let mut seen = Vec::new();
    while let Poll::Ready(event) = poll(&mut stream) {
        seen.push(event.unwrap());
    }
    assert_eq!(seen.len(), 4, "{}", words(&seen));
}

// proves: V1
#[test]
fn sending_waits_at_the_capacity() {
    for capacity in 1..5 {
        let notes = Notes::default();
        let seen = notes.clone();
        let sends = agent(async move |cx| {
            for n in 0..10 {
                cx.send(tick(n)).await?;
                seen.push(n);
            }
            Ok(RunOutcome::Success)
        });
        let capacity = NonZeroUsize::new(capacity).unwrap();
        let mut stream = Runner::new(sends).event_buffer_capacity(capacity).run_local(input());
        assert!(poll(&mut stream).is_ready());
        // RUN_STARTED was there too.
        assert_eq!(notes.take().len(), capacity.get() - 1);
        for _ in 1..capacity.get() {
            assert!(poll(&mut stream).is_ready());
            assert!(notes.take().is_empty());
        }
        assert!(poll(&mut stream).is_ready());
        assert_eq!(notes.take().len(), capacity.get());
    }
}

// proves: V1
#[test]
fn a_reader_of_its_own_wakes_a_sender_that_waits() {
    let (mut cx, mut events) = RunContext::<()>::new(input()).unwrap();
    let send = async move {
        for n in 0..1_000 {
            cx.send(tick(n)).await.unwrap();
            if n % 7 == 0 {
                yield_now().await;
            }
        }
    };
    let read = async {
        let mut count = 0;
        while events.next().await.is_some() {
            count += 1;
            if count % 5 == 0 {
                yield_now().await;
            }
        }
        count
    };
    assert_eq!(block_on(zip(send, read)).1, 1_000);
}

// proves: V1, V2
#[test]
fn an_agent_that_does_not_wait_is_refused_at_the_bound() {
    // RUN_STARTED, the start of the message, and `n` pieces; its end and the run's always fit.
    let floods = |n: usize, piece: &'static str, bytes: u64| {
        let floods = agent(async move |cx| {
            let mut message = cx.message_with_id("m", TextRole::Assistant)?;
            for _ in 0..n {
                message.delta(piece)?;
            }
            Ok(RunOutcome::Success)
        });
        let two = NonZeroUsize::new(2).unwrap();
        events(Runner::new(floods).event_buffer_capacity(two).most_unread(10, bytes).run_local(input()))
    };
    for n in [7, 8] {
        assert!(words(&floods(n, "x", 10_000)).ends_with("text_message_end m; run_finished success"));
    }
    let all = floods(9, "x", 10_000);
    assert_eq!(all.len(), 1 + 1 + 8 + 1 + 1);
    assert!(words(&all).ends_with("text_message_end m; run_error QUEUE_FULL"));
    let length = Event::text_message_content("m", "x".repeat(31)).encode().len() as u64;
    assert!(
        words(&floods(3, "0123456789012345678901234567890", 3 * length)).ends_with("run_finished success")
    );
    assert_eq!(code(&floods(3, "0123456789012345678901234567890", 3 * length - 1)), "QUEUE_FULL");
}

// proves: V2
#[test]
fn emits_fail_once_nobody_reads() {
    let (mut cx, mut events) = RunContext::<()>::new(input()).unwrap();
    for n in 0..256 {
        assert!(block_on(poll_once(cx.ready())).is_some());
        cx.emit(tick(n)).unwrap();
    }
    let mut waits = cx.ready();
    assert!(block_on(poll_once(&mut waits)).is_none());
    assert_eq!(events.drain().len(), 256);
    block_on(waits).unwrap();
    let message = cx.assistant_message().unwrap();
    drop(events);
    assert!(message.end().unwrap_err().is_disconnected());
    assert!(cx.emit(tick(0)).unwrap_err().is_disconnected());
    assert!(block_on(cx.ready()).unwrap_err().is_disconnected());
}
