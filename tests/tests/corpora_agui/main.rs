//! AG-UI types, verifier and consumer against the specification's own fixtures and against short cases with verdicts.
//!
//! The recordings are not part of the project: without them the tests pass and say that they were skipped.

// Helpers of tests fail like tests do.
#![allow(clippy::unwrap_used)]

use runloom_tests::corpora;
use serde_json::Value;
use std::path::{Path, PathBuf};

mod case_by_case;
mod cases;
mod shapes;
mod streams;

fn folder() -> Option<PathBuf> {
    corpora::root().map(|root| root.join("agui")).filter(|folder| folder.is_dir())
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

// proves: V3, V11
#[test]
fn fixtures_of_the_specification() {
    let Some(folder) = folder() else { return corpora::skipped("agui") };
    let (cases, verdicts) = cases::check_all(&folder);
    let shapes = shapes::check(&folder);
    let streams = streams::check(&folder);
    println!("corpora agui: {cases} cases ({verdicts} verdicts), {shapes} shapes, {streams} streams");
    corpora::used("agui", cases + shapes + streams, verdicts);
}
