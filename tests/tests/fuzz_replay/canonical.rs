//! Canonical JSON: what is taken has one form, and another reader agrees.

use crate::{assert_reached, play};
use runloom_core::canonical::{Bounds, CanonicalProblem, canonicalize, check};
use serde_json::Value;

const WORDS: [&str; 14] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\u0061",
    "\\ud83d",
    "\"a\":1,",
    "1e400",
    "-0.0",
    "\u{0}",
    "0000000000000000001",
];

fn one(input: &[u8]) -> &'static str {
    let bounds = Bounds::default();
    match canonicalize(input, &bounds) {
        Ok(form) => {
            assert_eq!(canonicalize(&form, &bounds).as_ref(), Ok(&form));
            assert_eq!(check(&form, &bounds), Ok(()));
            assert_eq!(check(input, &bounds).is_ok(), input == form);
            let (theirs, again): (Value, Value) =
                (serde_json::from_slice(input).unwrap(), serde_json::from_slice(&form).unwrap());
            let print = |value: &Value| serde_json_canonicalizer::to_vec(value).unwrap();
            assert!(print(&theirs) == form && print(&again) == form);
            if input == form { "canonical" } else { "taken" }
        }
        Err(error) => {
            assert!(error.at <= input.len() as u64);
            let stricter =
                matches!(error.problem, CanonicalProblem::Duplicate | CanonicalProblem::TooDeep { .. });
            assert!(stricter || serde_json::from_slice::<Value>(input).is_err(), "{error}");
            match error.problem {
                CanonicalProblem::Duplicate => "twice",
                CanonicalProblem::TooDeep { .. } => "too deep",
                CanonicalProblem::NotUtf8 => "not UTF-8",
                CanonicalProblem::Control => "control",
                CanonicalProblem::Escape => "escape",
                CanonicalProblem::Surrogate => "surrogate",
                CanonicalProblem::Overflow => "overflow",
                CanonicalProblem::Trailing => "trailing",
                CanonicalProblem::Expected(_) => "expected",
                _ => "other",
            }
        }
    }
}

// proves: L6
#[test]
fn damaged_texts() {
    let reached = play("canonical", &WORDS, 1, one);
    assert_reached(
        &reached,
        &["canonical", "taken", "twice", "not UTF-8", "overflow", "surrogate", "expected"],
    );
}
