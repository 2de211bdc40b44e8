//! Scenarios of a log, from outside of the project, each by its id: what this engine does there.
//!
//! Sizes and names in the rows are parameters. A row with an `override` follows the contract, and the function of its id
//! says why.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is tests and their helpers"
)]
#![allow(unused_must_use, reason = "a test moves the clock itself and knows when it is due")]

#[path = "../core/hand.rs"]
#[allow(dead_code, reason = "the whole of it is used where it stands")]
mod hand;
mod import;
mod lifecycle;
mod log;
mod stream;
mod values;

use runloom_tests::corpora;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Ids and what shows that they hold.
pub(crate) type Rows = &'static [(&'static str, fn())];

/// Ids of which this test has the proof.
const OWN: [Rows; 5] = [log::OWN, import::OWN, lifecycle::OWN, stream::OWN, values::OWN];

/// Ids that are proven by others, and what these are about. The name of a test begins with the ids that it proves.
const OTHERS: &[(&str, &[&str])] = &[
    ("pages and subscriptions", &["L13", "C01", "C03", "C04", "C05", "C06", "C07"]),
    ("slow readers", &["S01", "S02", "S04", "S06", "S08", "S09"]),
    ("observers", &["O01", "O02", "O03", "O05", "O06", "O08", "O10"]),
    ("snapshots", &["I01", "I02", "I03", "I10", "I13"]),
];

fn own() -> impl Iterator<Item = (&'static str, fn())> {
    OWN.iter().flat_map(|rows| rows.iter().copied())
}

// proves: L1, L4, L6, E1, E2, E3, E6, E7, M3, M6
#[test]
fn scenarios_hold() {
    let mut failed = Vec::new();
    for (id, test) in own() {
        if std::panic::catch_unwind(test).is_err() {
            failed.push(id);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// The names of all functions in the files below a folder.
fn functions(folder: &Path, into: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            functions(&path, into);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let names = text.lines().filter_map(|line| line.trim().strip_prefix("fn ")?.split('(').next());
            into.extend(names.map(str::to_owned));
        }
    }
}

#[test]
fn what_others_prove_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut names = Vec::new();
    ["../core/src", "tests"].iter().for_each(|folder| functions(&root.join(folder), &mut names));
    let ids = |name: &String| name.split('_').take(2).map(str::to_uppercase).collect::<Vec<_>>();
    let proven: BTreeSet<String> = names.iter().flat_map(ids).collect();
    let all = OTHERS.iter().flat_map(|(_, ids)| ids.iter());
    let gone: Vec<_> = all.filter(|id| !proven.contains(**id)).collect();
    assert!(gone.is_empty(), "no test is named after {gone:?}");
}

#[test]
fn each_row_has_its_proof() {
    let file = corpora::root().map(|root| root.join("replay-scenarios.jsonl")).filter(|file| file.is_file());
    let Some(file) = file else { return corpora::skipped("replay-scenarios") };
    let text = std::fs::read_to_string(file).unwrap();
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let wanted: BTreeSet<&str> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    let others = OTHERS.iter().flat_map(|(_, ids)| ids.iter().copied());
    for id in own().map(|(id, _)| id).chain(others) {
        *found.entry(id).or_default() += 1;
    }
    let missing: Vec<_> = wanted.iter().filter(|id| !found.contains_key(*id)).collect();
    let unknown: Vec<_> = found.keys().filter(|id| !wanted.contains(*id)).collect();
    let twice: Vec<_> = found.iter().filter(|(_, count)| **count > 1).collect();
    assert!(
        missing.is_empty() && unknown.is_empty() && twice.is_empty() && wanted.len() == rows.len(),
        "missing {missing:?}, unknown {unknown:?}, twice {twice:?}"
    );
    let overridden = rows.iter().filter(|row| row.get("override").is_some()).count();
    println!("scenarios: {} rows, {} here, {overridden} as the contract says", rows.len(), own().count());
    corpora::used("replay-scenarios", rows.len(), own().count());
}
