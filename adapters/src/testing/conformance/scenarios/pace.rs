//! Who gets a turn, and how often anyone is woken.

use super::super::flavours::Kind;
use super::super::hosts::Runs;
use super::super::stage::{Setting, Stage, Wrong, ensure};
use super::Found;
use crate::core::event::Envelope;
use crate::core::model::{Completion, Finish, ModelItem, ModelRequest, Problem};
use crate::host::{Model, ModelContext};
use crate::panics::drop_caught;
use crate::start::RunOptions;
use crate::sync::{Arc, AtomicUsize, Mutex, Ordering, lock};
use crate::timer::ManualTimer;
use futures_core::Stream;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Gives the others their turns.
pub(in super::super) async fn yield_now() {
    let mut yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Most turns that are given away for one thing to happen.
const MOST_TURNS: u32 = 5_000_000;

/// Yields until `holds`, or until it is clear that it never will: then what follows says so, and a task that is stuck
/// does not keep its thread busy for good.
pub(in super::super) async fn until(holds: impl Fn() -> bool) {
    for _ in 0..MOST_TURNS {
        if holds() {
            return;
        }
        yield_now().await;
    }
}

/// A model that always has another word.
pub(super) struct Endless;

/// Its words.
pub(super) struct Words;

impl Stream for Words {
    type Item = ModelItem;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<ModelItem>> {
        Poll::Ready(Some(ModelItem::Text("and ".into())))
    }
}

impl Model for Endless {
    type Stream = Words;

    fn open(
        &self,
        _: Arc<ModelRequest>,
        _: ModelContext,
    ) -> impl Future<Output = Result<Words, Problem>> + Send {
        std::future::ready(Ok(Words))
    }
}

/// Two endless runs, one of them with a reader, and a task that only yields: each gets on.
pub(super) fn fairness<K: Kind>(exec: &dyn Runs<K>) -> Result<Found, Wrong> {
    const TURNS: usize = 100;
    let timer = ManualTimer::new();
    let read = Setting::new(&timer, Endless).start(exec)?.with_reader();
    let mut setting = Setting::new(&timer, Endless);
    setting.options = RunOptions::new().unattended();
    let alone = setting.start(exec)?;
    let turns = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&turns);
    let neighbour = alone.spawn(async move {
        for _ in 0..TURNS {
            yield_now().await;
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    let (one, two) = (Arc::clone(&read.driver), Arc::clone(&alone.driver));
    let (seen, turned) = (Arc::clone(&read.read), Arc::clone(&turns));
    exec.run(K::task(until(move || {
        let enough = one.polls() >= 4 && two.polls() >= 4 && lock(&seen).len() >= 1_000;
        enough && turned.load(Ordering::SeqCst) == TURNS
    })));
    let polls = (read.driver.polls(), alone.driver.polls());
    let got = (lock(&read.read).len(), turns.load(Ordering::SeqCst));
    ensure(
        got.0 >= 1_000 && got.1 == TURNS,
        format_args!("{} events were read, {} turns given", got.0, got.1),
    )?;
    for stage in [&read, &alone] {
        stage.with_handle(|handle| handle.cancel())?;
        stage.settle();
        ensure(stage.driver.is_done(), "a driver is not done after its cancellation")?;
    }
    drop(neighbour);
    Ok(Found::measured(format!("{TURNS} turns beside {} and {} polls", polls.0, polls.1)))
}

/// Items that a test gives a model one by one.
#[derive(Clone, Default)]
pub(super) struct Fed {
    queue: Arc<Mutex<Queue>>,
}

#[derive(Default)]
struct Queue {
    items: VecDeque<ModelItem>,
    waker: Option<Waker>,
}

impl Fed {
    /// Adds an item and wakes who waits for it.
    pub(super) fn push(&self, item: ModelItem) {
        let waker = {
            let mut queue = lock(&self.queue);
            queue.items.push_back(item);
            queue.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(super) fn text(&self) {
        self.push(ModelItem::Text("x".into()));
    }

    pub(super) fn done(&self) {
        self.push(ModelItem::Done(Box::new(Completion::new(Some(Finish::Stop), "stop"))));
    }
}

impl Stream for Fed {
    type Item = ModelItem;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ModelItem>> {
        let waker = cx.waker().clone();
        let (item, replaced) = {
            let mut queue = lock(&self.queue);
            match queue.items.pop_front() {
                Some(item) => (Some(item), Some(waker)),
                None => (None, queue.waker.replace(waker)),
            }
        };
        drop_caught(replaced);
        item.map_or(Poll::Pending, |item| Poll::Ready(Some(item)))
    }
}

impl Model for Fed {
    type Stream = Self;

    fn open(
        &self,
        _: Arc<ModelRequest>,
        _: ModelContext,
    ) -> impl Future<Output = Result<Self, Problem>> + Send {
        std::future::ready(Ok(self.clone()))
    }
}

fn words_read<K: Kind>(stage: &Stage<'_, K>) -> usize {
    words(&lock(&stage.read))
}

pub(super) fn words(events: &[Envelope]) -> usize {
    events.iter().filter(|envelope| envelope.event.kind().as_str() == "text.delta").count()
}

/// Each input wakes the driver once, and reaches the reader.
pub(super) fn wakes<K: Kind>(exec: &dyn Runs<K>) -> Result<Found, Wrong> {
    const INPUTS: u64 = 200;
    let fed = Fed::default();
    let stage = Setting::new(&ManualTimer::new(), fed.clone()).start(exec)?.with_reader();
    stage.settle();
    let (mut wakes, mut polls) = (stage.driver.wakes(), stage.driver.polls());
    let first = (wakes, polls);
    for n in 1..=INPUTS {
        fed.text();
        stage.settle();
        let (woken, polled) = (stage.driver.wakes() - wakes, stage.driver.polls() - polls);
        ensure(woken == 1, format_args!("{woken} wakes for input {n}"))?;
        ensure(polled <= 2, format_args!("{polled} polls for input {n}"))?;
        ensure(words_read(&stage) as u64 == n, format_args!("input {n} did not reach the reader"))?;
        (wakes, polls) = (stage.driver.wakes(), stage.driver.polls());
    }
    let (woken, polled) = (wakes - first.0, polls - first.1);
    fed.done();
    stage.finish()?;
    stage.log()?;
    Ok(Found::measured(format!("{INPUTS} inputs: {woken} wakes, {polled} polls")))
}

/// Inputs from another thread, as fast as it can: none is lost.
pub(super) fn threads<K: Kind>(exec: &dyn Runs<K>) -> Result<Found, Wrong> {
    if cfg!(target_family = "wasm") {
        return Ok(Found::measured("no threads here".to_owned()));
    }
    const INPUTS: usize = 2_000;
    let fed = Fed::default();
    let stage = Setting::new(&ManualTimer::new(), fed.clone()).start(exec)?.with_reader();
    let before = stage.driver.wakes();
    let feeder = std::thread::spawn(move || {
        for n in 0..INPUTS {
            fed.text();
            // Bursts and gaps: a wake may come at any point of a poll.
            if n % 7 == 0 {
                std::thread::yield_now();
            }
        }
        fed.done();
    });
    let done = Arc::clone(&stage.driver);
    exec.run(K::task(until(move || done.is_done())));
    ensure(feeder.join().is_ok(), "a wake panicked")?;
    stage.finish()?;
    ensure(words_read(&stage) == INPUTS, format_args!("{} of {INPUTS} inputs arrived", words_read(&stage)))?;
    let wakes = stage.driver.wakes() - before;
    // A full stream wakes the driver again when it has been read.
    ensure(wakes <= 2 * INPUTS as u64 + 2, format_args!("{wakes} wakes for {INPUTS} inputs"))?;
    stage.log()?;
    Ok(Found::measured(format!("{INPUTS} inputs: {wakes} wakes, {} polls", stage.driver.polls())))
}
