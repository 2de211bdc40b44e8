//! What it costs to record and to read: with no, one, a hundred and ten thousand subscriptions that sleep; pages of a
//! thousand events; logs of different lengths. A plain queue is measured beside it. Nothing is asserted on time.
//!
//! `cargo bench -p runloom-tests --bench log`

#![allow(clippy::unwrap_used, reason = "a benchmark")]

use cpu_time::ThreadTime;
use futures_lite::future::{block_on, poll_once};
use runloom::testing::{Attempt, ScriptedModel};
use runloom::{
    After, Config, Driver, Engine, Envelope, Host, HostTransport, ManualTimer, ModelSpec, ReadBounds, Run,
    RunOptions, Seq, Shared,
};
use std::collections::VecDeque;
use std::hint::black_box;
use std::task::{Context, Waker};
use std::time::Duration;

const ROUNDS: usize = 7;

type BenchDriver = Driver<ManualTimer, HostTransport<Shared>>;

/// A run of so many deltas, whose log keeps `kept` events.
fn run(deltas: usize, kept: usize) -> (Run, BenchDriver) {
    let config = Config::with(|limits| {
        limits.log_events = kept;
        limits.log_bytes = 1 << 30;
        limits.response_bytes = 4 << 20;
        limits.payload_bytes = 4 << 20;
    });
    let model = ScriptedModel::new([Attempt::new().texts("piece ", deltas)]);
    let host = Host::shared().model(ModelSpec::new("m"), model).build().unwrap();
    let engine = Engine::builder(host, ManualTimer::new()).config(config.unwrap()).build();
    engine.session().unwrap().start_with("go", RunOptions::new().unattended()).unwrap()
}

fn median(mut measure: impl FnMut() -> Duration) -> Duration {
    let mut all: Vec<_> = (0..ROUNDS).map(|_| measure()).collect();
    all.sort_unstable();
    all[ROUNDS / 2]
}

fn per(total: Duration, count: usize) -> f64 {
    total.as_secs_f64() * 1e9 / count as f64
}

/// Drives a run beside readers that were polled once and sleep.
fn recording(readers: usize, deltas: usize) -> Duration {
    let (run, driver) = run(deltas, 8_192);
    let reader = run.reader();
    let wide = ReadBounds::new(1 << 40, 1 << 40);
    let mut cx = Context::from_waker(Waker::noop());
    let sleeping: Vec<_> = (0..readers)
        .map(|_| {
            let mut live = reader.subscribe_with(After::START, wide).unwrap();
            while futures_core::Stream::poll_next(std::pin::Pin::new(&mut live), &mut cx).is_ready() {}
            live
        })
        .collect();
    let start = ThreadTime::now();
    block_on(driver);
    let took = start.elapsed();
    drop(sleeping);
    took
}

/// Drives a run beside readers that all read every event.
fn reading(readers: usize, deltas: usize) -> Duration {
    let (run, driver) = run(deltas, 8_192);
    let mut driver = std::pin::pin!(driver);
    let mut live: Vec<_> = (0..readers).map(|_| run.reader().subscribe(After::START).unwrap()).collect();
    let start = ThreadTime::now();
    loop {
        let ended = block_on(poll_once(&mut driver)).is_some();
        for live in &mut live {
            while black_box(live.try_next().unwrap()).is_some() {}
        }
        if ended {
            return start.elapsed();
        }
    }
}

/// A bounded queue of the same events, and nothing else.
fn queue(events: &[Envelope], kept: usize) -> Duration {
    let events = events.to_vec();
    let mut queue = VecDeque::with_capacity(kept);
    let start = ThreadTime::now();
    for envelope in events {
        if queue.len() == kept {
            queue.pop_front();
        }
        queue.push_back(envelope);
    }
    black_box(&queue);
    start.elapsed()
}

fn main() {
    let deltas = 50_000;
    println!("recording {deltas} events, CPU of the driver's thread, median of {ROUNDS}");
    for readers in [0, 1, 100, 10_000] {
        let took = median(|| recording(readers, deltas));
        println!("  {readers:>6} subscriptions asleep: {:>7.1} ns per event", per(took, deltas));
    }
    for readers in [1, 10] {
        let took = median(|| reading(readers, deltas));
        println!("  {readers:>6} that read everything: {:>7.1} ns per event", per(took, deltas));
    }

    println!("logs of different lengths, all kept");
    for length in [1_000, 10_000, 100_000] {
        let (run, driver) = run(length, 200_000);
        let start = ThreadTime::now();
        block_on(driver);
        let recorded = per(start.elapsed(), length);
        let reader = run.reader();
        let last = reader.page(Seq(0), ReadBounds::new(1, 1 << 20)).unwrap().latest.0;
        let bounds = ReadBounds::new(1_000, 16 << 20);
        let page = |after: u64| {
            let took = median(|| {
                let start = ThreadTime::now();
                for _ in 0..20 {
                    black_box(reader.page(Seq(after), bounds).unwrap());
                }
                start.elapsed()
            });
            per(took, 20) / 1_000.0
        };
        let (first, middle, end) = (page(0), page((last - 1_000) / 2), page(last - 1_000));
        let events = run.handle().events_after(Seq(0), usize::MAX);
        let plain = per(median(|| queue(&events, 8_192)), events.len());
        println!(
            "  {length:>7} events: recorded at {recorded:.1} ns each; a page of 1,000 takes {first:.1} µs at the start, \
             {middle:.1} µs in the middle, {end:.1} µs at the end; a plain queue takes {plain:.1} ns per event"
        );
    }
}
