//! Small programs of two or three threads, of which loom tries every interleaving up to a number of preemptions: what
//! is waited for comes, and each run has one end.
//!
//! `RUSTFLAGS="--cfg runloom_loom" cargo test -p runloom --lib --release models`

#![allow(clippy::unwrap_used, reason = "these are tests")]

mod handle;
mod notify;
mod stream;

use crate::core::config::{Config, Limits};
use crate::core::id::Seq;
use crate::core::model::{Completion, Finish, ModelItem, ModelSpec, Problem};
use crate::core::verify::Verifier;
use crate::driver::Driver;
use crate::engine::Engine;
use crate::host::{Host, HostTransport, Shared, model_fn};
use crate::run::{Run, RunHandle};
use crate::session::Session;
use crate::sync::{Arc, Mutex, Ordering, Tally, lock};
use crate::timer::ManualTimer;
use futures_core::Stream;
use loom::model::Builder;
use std::collections::VecDeque;
use std::future::ready;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Tries `program` with up to `preemptions` of them; returns how many interleavings there were.
fn explore(preemptions: usize, program: impl Fn() + Sync + Send + 'static) -> usize {
    // Loom counts for itself, and tells nobody.
    let count = Arc::new(Tally::new(0));
    let counted = Arc::clone(&count);
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 100_000;
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        program();
    });
    count.load(Ordering::Relaxed)
}

/// What a model says, given to it item by item from any thread.
#[derive(Clone, Default)]
struct Fed {
    queue: Arc<Mutex<(VecDeque<ModelItem>, Option<Waker>)>>,
}

impl Fed {
    fn push(&self, item: ModelItem) {
        let waker = {
            let mut queue = lock(&self.queue);
            queue.0.push_back(item);
            queue.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn text(&self) {
        self.push(ModelItem::Text("x".into()));
    }

    fn done(&self) {
        self.push(ModelItem::Done(Box::new(Completion::new(Some(Finish::Stop), "stop"))));
    }
}

impl Stream for Fed {
    type Item = ModelItem;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ModelItem>> {
        let mut queue = lock(&self.queue);
        match queue.0.pop_front() {
            Some(item) => Poll::Ready(Some(item)),
            None => {
                queue.1 = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

type TestDriver = Driver<ManualTimer, HostTransport<Shared>>;

/// A run whose model is fed.
fn fed() -> (Fed, Session<Shared, ManualTimer>, Run, TestDriver) {
    fed_into(64)
}

/// A run whose model is fed, with room for so many unread events.
fn fed_into(capacity: usize) -> (Fed, Session<Shared, ManualTimer>, Run, TestDriver) {
    let fed = Fed::default();
    let stream = fed.clone();
    let model = model_fn(move |_, _| ready(Ok::<_, Problem>(stream.clone())));
    let host = Host::shared().model(ModelSpec::new("m"), model).build().unwrap();
    let mut limits = Limits::default();
    limits.event_capacity = capacity;
    let engine = Engine::builder(host, ManualTimer::new()).config(Config::new(limits).unwrap());
    let session = engine.build().session().unwrap();
    let (run, driver) = session.start("go").unwrap();
    (fed, session, run, driver)
}

/// The run has ended, with one terminal and in order.
fn assert_ended(handle: &RunHandle) {
    let events = handle.events_after(Seq(0), usize::MAX);
    let mut verifier = Verifier::new();
    events.iter().try_for_each(|event| verifier.observe(event)).unwrap();
    verifier.finish().unwrap();
    assert_eq!(events.last().unwrap().seq, handle.try_outcome().unwrap().last_seq);
}
