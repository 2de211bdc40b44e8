//! What a run costs: CPU time and allocations per event, run and call, beside a bare locked queue in the same process.
//!
//! `cargo bench -p runloom-tests` prints a table: medians of several rounds whose cases take turns, so that a slow
//! moment of the machine meets them all. Nothing is asserted about time.
#![allow(clippy::unwrap_used)]

mod cases;
mod floor;

use cpu_time::ThreadTime;
use std::hint::black_box;

/// One case: what it is called, per what it is counted, and how to run it once; it returns how many of those it did.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) per: &'static str,
    pub(crate) run: Box<dyn FnMut() -> u64>,
}

#[derive(Default)]
struct Row {
    nanos: Vec<f64>,
    allocations: f64,
}

fn main() {
    // `cargo test --benches` runs this too, and asks for one quick look only.
    let rounds = if std::env::args().any(|arg| arg == "--test") { 1 } else { 7 };
    let mut cases = floor::cases();
    cases.extend(cases::cases());
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
    print(&cases, &mut rows);
}

fn print(cases: &[Case], rows: &mut [Row]) {
    println!(
        "{:<44} {:>10} {:>10} {:>10} {:>12} {:>6}",
        "case", "ns (CPU)", "min", "max", "allocations", "per"
    );
    for (case, row) in cases.iter().zip(rows) {
        row.nanos.sort_by(f64::total_cmp);
        let (min, max) = (row.nanos[0], row.nanos[row.nanos.len() - 1]);
        let median = row.nanos[row.nanos.len() / 2];
        println!(
            "{:<44} {median:>10.1} {min:>10.1} {max:>10.1} {:>12.3} {:>6}",
            case.name, row.allocations, case.per
        );
    }
}
