//! Every kind of executor, and its timer, held to the conformance suite (X2, X3, X5, C3, C8).
#![allow(clippy::unwrap_used)]

mod bare;
mod faults;
mod hosts;

use hosts::suites;
use std::collections::BTreeMap;

/// All scenarios on all hosts: what each host says of itself, and one log each, whoever drives.
// proves: X2, X3, X5, C3, C8, E2
#[test]
fn every_host_conforms() {
    let reports: Vec<_> = suites().into_iter().map(|suite| suite.run()).collect();
    let mut logs: BTreeMap<&str, Vec<(u64, &str)>> = BTreeMap::new();
    for report in &reports {
        print!("{report}");
        for row in &report.rows {
            logs.entry(row.scenario).or_default().extend(row.hash.map(|hash| (hash, report.host.as_str())));
        }
    }
    for report in &reports {
        report.assert();
    }
    for (scenario, hashes) in logs.iter().filter(|(_, hashes)| !hashes.is_empty()) {
        assert_eq!(hashes.len(), reports.len(), "{scenario}: a host without a log");
        assert!(hashes.iter().all(|(hash, _)| *hash == hashes[0].0), "{scenario}: {hashes:x?}");
        println!("{scenario:<12} {:016x} on {} hosts", hashes[0].0, hashes.len());
    }
    assert_eq!(reports.len(), 12);
}
