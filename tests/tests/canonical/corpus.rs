//! Vectors from outside of the project, each by its id.

use crate::canon;
use runloom_tests::corpora;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

fn rows(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text<'a>(row: &'a Value, member: &str) -> &'a str {
    row[member].as_str().unwrap_or_else(|| panic!("{member} of {row}"))
}

/// Compares what comes of `input` with the row's `out`; `null` there means that it is refused.
fn compare(row: &Value, input: &[u8]) -> Result<(), String> {
    let found = canon(input);
    if found.as_deref().ok() == row["out"].as_str() {
        return Ok(());
    }
    Err(format!("{} ({}): {found:?} instead of {}", row["id"], row["note"], row["out"]))
}

fn unhex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

// proves: L6
#[test]
fn published_vectors() {
    let folder = corpora::root().map(|root| root.join("canonical-json")).filter(|folder| folder.is_dir());
    let Some(folder) = folder else { return corpora::skipped("canonical-json") };
    let cases = rows(&folder.join("cases.jsonl"));
    let bytes = rows(&folder.join("bytes.jsonl"));
    let mut wrong = Vec::new();
    let mut classes: BTreeMap<&str, usize> = BTreeMap::new();
    for row in &cases {
        *classes.entry(text(row, "class")).or_default() += 1;
        assert_eq!(row["out"].is_null(), text(row, "class") == "error", "{row}");
        wrong.extend(compare(row, text(row, "in").as_bytes()).err());
    }
    for row in &bytes {
        wrong.extend(compare(row, &unhex(text(row, "in_hex"))).err());
    }
    let numbers = std::fs::read_to_string(folder.join("es6-numbers-2000.txt")).unwrap();
    for line in numbers.lines() {
        let (bits, expected) = line.split_once(',').unwrap();
        let number = f64::from_bits(u64::from_str_radix(bits, 16).unwrap());
        // The shortest digits, and as many as there can be.
        for spelled in [format!("{number:e}"), format!("{number:.1100}")] {
            if canon(&spelled).as_deref() != Ok(expected) {
                wrong.push(format!("{bits}: {spelled} is {:?}, not {expected}", canon(&spelled)));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    let numbers = numbers.lines().count();
    println!("canonical JSON: {classes:?}, {} in bytes, {numbers} numbers", bytes.len());
    assert!(["must", "policy", "error"].iter().all(|class| classes.contains_key(class)));
    assert!(numbers == 2_000 && bytes.len() == 16);
    corpora::used("canonical-json", cases.len() + bytes.len(), 2 * numbers);
}
