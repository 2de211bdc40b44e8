//! Texts that are drawn and damaged, and another implementation's word on them.
//!
//! `RUNLOOM_DAMAGE` is the number of texts, as of damaged streams.

use crate::canon;
use crate::texts::{damage, spell, value};
use runloom::testing::Random;
use runloom_core::canonical::{Bounds, CanonicalProblem, MAX_DEPTH, canonicalize, check};
use serde_json::Value;
use std::collections::BTreeMap;

fn rounds() -> u64 {
    std::env::var("RUNLOOM_DAMAGE").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(150) * 20
}

fn theirs(value: &Value) -> String {
    serde_json_canonicalizer::to_string(value).unwrap()
}

// proves: L6
#[test]
fn one_value_has_one_form_however_it_is_spelled() {
    for seed in 0..rounds() {
        let random = &mut Random::new(seed);
        let json = value(random, 5);
        let (one, other) = (spell(&json, random), spell(&json, random));
        let form = canon(&one).unwrap_or_else(|error| panic!("seed {seed}: {error}: {one}"));
        assert_eq!(canon(&other).as_ref(), Ok(&form), "seed {seed}: {one} and {other}");
        assert_eq!(canon(&form).as_ref(), Ok(&form), "seed {seed}: it is its own form");
        assert_eq!(check(form.as_bytes(), &Bounds::default()), Ok(()), "seed {seed}");
        assert_eq!(check(one.as_bytes(), &Bounds::default()).is_ok(), one == form, "seed {seed}: {one}");
        let parsed: Value = serde_json::from_str(&one).unwrap();
        assert_eq!(form, theirs(&parsed), "seed {seed}: {one}");
        assert_eq!(theirs(&serde_json::from_str(&form).unwrap()), form, "seed {seed}: it means the same");
    }
}

// proves: L6
#[test]
fn damaged_texts_are_refused_where_they_are_no_json() {
    let (mut taken, mut refused) = (0_u64, BTreeMap::<String, u64>::new());
    for seed in 0..rounds() {
        let random = &mut Random::new(seed);
        let json = value(random, 5);
        let text = spell(&json, random);
        let bytes = damage(&text, random);
        let shown = String::from_utf8_lossy(&bytes);
        let parsed = serde_json::from_slice::<Value>(&bytes);
        match (canon(&bytes), parsed) {
            (Ok(form), Ok(parsed)) => {
                taken += 1;
                assert_eq!(form, theirs(&parsed), "seed {seed}: {shown}");
            }
            (Ok(form), Err(error)) => panic!("seed {seed}: {form} from {shown}, but {error}"),
            (Err(error), parsed) => {
                assert!(error.at <= bytes.len() as u64, "seed {seed}: {error}");
                // Only what the other reader does not look for.
                let stricter = error.problem == CanonicalProblem::Duplicate;
                assert!(stricter || parsed.is_err(), "seed {seed}: {error}, but {parsed:?}: {shown}");
                let kind = format!("{:?}", error.problem);
                *refused.entry(kind.split([' ', '(']).next().unwrap().to_owned()).or_default() += 1;
            }
        }
    }
    println!("damaged JSON texts: {} executions, {taken} taken, refused: {refused:?}", rounds());
    for kind in ["Expected", "NotUtf8", "Control", "Escape", "Duplicate", "Trailing", "Overflow", "Surrogate"]
    {
        assert!(refused.contains_key(kind), "{kind} is never met");
    }
    assert!(taken * 20 > rounds(), "{taken} taken");
}

// proves: L6
#[test]
fn names_that_mean_something_to_other_readers_are_names() {
    for name in ["$serde_json::private::Number", "$serde_json::private::RawValue", "__proto__", "toJSON"] {
        for inner in ["\"1\"", "1", "{\"a\":1}"] {
            let json = format!("{{\"{name}\":{inner}}}");
            assert_eq!(canon(&json).as_ref(), Ok(&json));
        }
    }
}

/// Nothing that reads or writes canonical JSON goes through a library whose features others may turn on.
// proves: L6
#[test]
fn no_json_library_stands_behind_it() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/src/canonical");
    let mut looked = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("serde_json"), "{path:?}");
        looked += 1;
    }
    assert!(looked >= 4, "{looked} files");
}

// proves: L6
#[test]
fn cost_is_linear_and_depth_is_no_recursion() {
    // Members in the wrong order at each level, with what is deeper in the first of them.
    let open = |levels: usize| "{\"b\":".repeat(levels) + "0" + &",\"a\":0}".repeat(levels);
    let form = canon(open(MAX_DEPTH)).unwrap();
    assert!(form.starts_with("{\"a\":0,\"b\":{\"a\":0,"));
    let wide: Vec<String> = (0..20_000).map(|n| format!("\"{}\":{n}", 20_000 - n)).collect();
    assert!(canon(format!("{{{}}}", wide.join(","))).is_ok());
    let deep = "[".repeat(2_000_000);
    let error = canonicalize(deep.as_bytes(), &Bounds::default()).unwrap_err();
    assert_eq!(error.problem, CanonicalProblem::TooDeep { limit: MAX_DEPTH });
}
