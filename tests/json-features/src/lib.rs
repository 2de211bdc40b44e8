//! Canonical JSON and saved values, while `serde_json` reads numbers as texts, keeps the order of members and knows no depth
//! (L6, S3).

#![cfg(test)]

use runloom_core::canonical::{Bounds, canonicalize};
use runloom_core::history::History;
use runloom_core::id::{Revision, SessionId};
use runloom_core::snapshot::Snapshot;
use serde_json::Value;

fn canon(json: &str) -> Result<String, String> {
    let bytes = canonicalize(json.as_bytes(), &Bounds::default()).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(bytes).unwrap())
}

/// What the other reader makes of the same texts shows that its features are on.
#[test]
fn the_features_are_on() {
    assert!(serde_json::from_str::<Value>("1e400").is_ok(), "numbers are texts");
    let value: Value = serde_json::from_str(r#"{"$serde_json::private::Number":"1"}"#).unwrap();
    assert!(value.is_number(), "an object became a number");
    let value: Value = serde_json::from_str(r#"{"b":1,"a":2}"#).unwrap();
    assert_eq!(value.to_string(), r#"{"b":1,"a":2}"#, "members keep their order");
}

#[test]
fn canonical_json_is_as_without_them() {
    for (json, canonical) in [
        (r#"{"$serde_json::private::Number":"1"}"#, r#"{"$serde_json::private::Number":"1"}"#),
        (r#"{"$serde_json::private::RawValue":"[]"}"#, r#"{"$serde_json::private::RawValue":"[]"}"#),
        (r#"{"b":1,"a":2}"#, r#"{"a":2,"b":1}"#),
        ("{\"\u{e000}\":1,\"\u{10000}\":2}", "{\"\u{10000}\":2,\"\u{e000}\":1}"),
        ("-0.0", "0"),
        ("1e0", "1"),
        ("1E21", "1e+21"),
        ("0.0000010", "0.000001"),
        ("1e-7", "1e-7"),
        ("1424953923781206.25", "1424953923781206.2"),
        ("9007199254740993", "9007199254740992"),
        ("1e-999", "0"),
    ] {
        assert_eq!(canon(json).as_deref(), Ok(canonical), "{json}");
    }
    for json in ["1e400", "-1e309", r#"{"a":1,"\u0061":2}"#, r#""\ud800""#, "1 2", "01", ""] {
        assert!(canon(json).is_err(), "{json}");
    }
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(canon(&nested(128)).is_ok());
    assert!(canon(&nested(129)).is_err());
}

#[test]
fn saved_values_are_as_without_them() {
    let snapshot = Snapshot::new(SessionId::new("s").unwrap(), Revision(7), History::default());
    let json = snapshot.to_json();
    // A member that is not known is kept, whatever it looks like, and integers of 64 bits stay what they are.
    let added = r#""zz":{"$serde_json::private::Number":"1","n":18446744073709551615,"x":-0.5}}"#;
    let more = format!("{},{added}", json.strip_suffix('}').unwrap());
    assert_eq!(Snapshot::from_json(&more).unwrap().to_json(), more);
    let twice = json.replacen('{', r#"{"format":"x","#, 1);
    assert!(Snapshot::from_json(&twice).is_err());
}
