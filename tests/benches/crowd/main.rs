//! Ten thousand runs at once, each with twenty events and one tool, on smol and on tokio with two threads each: all
//! complete, and cancelled all at once all end.
//!
//! `cargo bench -p runloom-tests --bench crowd` prints peak memory per run, as the allocator counts it, and wakes per
//! event. `RUNLOOM_CROWD` is the number of runs. Nothing is asserted about time and memory.
#![allow(clippy::unwrap_used)]

mod crowd;
mod pools;

use crowd::{Ending, Found, play};
use peak_alloc::PeakAlloc;
use pools::{Pool, Smol, Tokio};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Bytes in use, and the most since this was asked last.
pub(crate) fn memory() -> (usize, usize) {
    let peak = MEMORY.peak_usage();
    MEMORY.reset_peak_usage();
    (MEMORY.current_usage(), peak)
}

fn main() {
    let tests = std::env::args().any(|arg| arg == "--test");
    let wanted = std::env::var("RUNLOOM_CROWD").ok().map(|runs| runs.parse().unwrap());
    let runs: usize = wanted.unwrap_or(if tests { 200 } else { 10_000 });
    println!(
        "{:<18} {:<16} {:>6} {:>8} {:>12} {:>12} {:>12} {:>8}",
        "executor", "ending", "runs", "events", "peak B/run", "at rest B", "wakes/event", "ms"
    );
    let pools: [fn() -> Box<dyn Pool>; 2] = [|| Box::new(Smol::new()), || Box::new(Tokio::new())];
    for pool in pools {
        for ending in [Ending::Complete, Ending::Token, Ending::Shutdown] {
            let pool = pool();
            let found = play(&*pool, runs, ending);
            print(pool.name(), ending, runs, &found);
        }
    }
}

fn print(pool: &str, ending: Ending, runs: usize, found: &Found) {
    println!(
        "{pool:<18} {:<16} {runs:>6} {:>8.1} {:>12} {:>12} {:>12.3} {:>8}",
        format!("{ending:?}"),
        found.events as f64 / runs as f64,
        found.peak / runs,
        found.at_rest / runs,
        found.wakes as f64 / found.events as f64,
        found.took.as_millis(),
    );
}
