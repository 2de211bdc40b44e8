//! What any hand-over of events costs: a bounded queue behind a mutex, a waker for each side, and nothing else.

use crate::Case;
use runloom::{Envelope, Event, Seq, Text, Time};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

const DELTAS: u64 = 100_000;
const CAPACITY: usize = 64;

#[derive(Default)]
struct Queue {
    events: VecDeque<Envelope>,
    done: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

type Shared = Arc<Mutex<Queue>>;

async fn write(shared: Shared) {
    let mut seq = 0;
    poll_fn(|cx: &mut Context<'_>| {
        while seq < DELTAS {
            let mut queue = shared.lock().unwrap();
            if queue.events.len() >= CAPACITY {
                queue.writer = Some(cx.waker().clone());
                return Poll::Pending;
            }
            seq += 1;
            let event = Event::TextDelta(Text::from("abcdef"));
            queue.events.push_back(Envelope { seq: Seq(seq), at: Time::ZERO, end: 0, event });
            let reader = queue.reader.take();
            drop(queue);
            if let Some(reader) = reader {
                reader.wake();
            }
        }
        Poll::Ready(())
    })
    .await;
    let mut queue = shared.lock().unwrap();
    queue.done = true;
    let reader = queue.reader.take();
    drop(queue);
    if let Some(reader) = reader {
        reader.wake();
    }
}

async fn read(shared: &Shared, most: usize, into: &mut Vec<Envelope>) -> bool {
    poll_fn(|cx: &mut Context<'_>| {
        let mut queue = shared.lock().unwrap();
        let count = queue.events.len().min(most);
        if count > 0 {
            into.extend(queue.events.drain(..count));
            let writer = queue.writer.take();
            drop(queue);
            if let Some(writer) = writer {
                writer.wake();
            }
            return Poll::Ready(true);
        }
        if queue.done {
            return Poll::Ready(false);
        }
        queue.reader = Some(cx.waker().clone());
        Poll::Pending
    })
    .await
}

fn run(most: usize) -> u64 {
    let shared = Shared::default();
    let reader = async {
        let mut seen = 0;
        let mut batch = Vec::with_capacity(CAPACITY);
        while read(&shared, most, &mut batch).await {
            seen += batch.len() as u64;
            batch.clear();
        }
        seen
    };
    let (seen, ()) =
        futures_lite::future::block_on(futures_lite::future::zip(reader, write(Arc::clone(&shared))));
    assert_eq!(seen, DELTAS);
    seen
}

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case { name: "bare locked queue, one by one", per: "event", run: Box::new(|| run(1)) },
        Case { name: "bare locked queue, in batches", per: "event", run: Box::new(|| run(CAPACITY)) },
    ]
}
