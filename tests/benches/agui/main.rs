//! What an AG-UI event costs: CPU time and allocations per event that is decoded, verified, encoded, consumed, beside plain
//! serde over an equivalent derived type in the same process.
//!
//! `cargo bench -p runloom-tests --bench agui` prints a table: medians of several rounds whose cases take turns, so that
//! a slow moment of the machine meets them all. Nothing is asserted about time.
#![allow(clippy::unwrap_used)]

mod cases;
mod plain;

use cpu_time::ThreadTime;
use std::hint::black_box;

/// One case: what it is called, and how to run it once; it returns how many events that were.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) run: Box<dyn FnMut() -> u64>,
}

#[derive(Default)]
struct Row {
    nanos: Vec<f64>,
    allocations: f64,
}

fn main() {
    // `cargo test --benches` runs this too, and asks for one quick look only.
    let rounds = if std::env::args().any(|arg| arg == "--test") { 1 } else { 9 };
    let mut cases = cases::cases();
    let mut rows: Vec<Row> = cases.iter().map(|_| Row::default()).collect();
    for (case, row) in cases.iter_mut().zip(&mut rows) {
        // The first pass warms up and counts allocations, which do not vary.
        let mut count = 0;
        let info = allocation_counter::measure(|| count = (case.run)());
        row.allocations = info.count_total as f64 / count as f64;
    }
    for _ in 0..rounds {
        for (case, row) in cases.iter_mut().zip(&mut rows) {
            let start = ThreadTime::now();
            let count = black_box((case.run)());
            row.nanos.push(start.elapsed().as_nanos() as f64 / count as f64);
        }
    }
    println!(
        "{:<52} {:>10} {:>10} {:>10} {:>12}",
        "case, per event", "ns (CPU)", "min", "max", "allocations"
    );
    for (case, row) in cases.iter().zip(&mut rows) {
        row.nanos.sort_by(f64::total_cmp);
        let (min, max) = (row.nanos[0], row.nanos[row.nanos.len() - 1]);
        let median = row.nanos[row.nanos.len() / 2];
        println!("{:<52} {median:>10.1} {min:>10.1} {max:>10.1} {:>12.3}", case.name, row.allocations);
    }
}
