//! Checking JSON text without building anything from it.

use core::fmt;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// Any JSON value that a reader can represent: unlike a value that is skipped, its numbers are read, so that one beyond
/// the range of a double is refused here as it would be later.
struct Readable;

impl<'de> Deserialize<'de> for Readable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Look)
    }
}

struct Look;

impl<'de> Visitor<'de> for Look {
    type Value = Readable;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E>(self) -> Result<Readable, E> {
        Ok(Readable)
    }
    fn visit_bool<E>(self, _: bool) -> Result<Readable, E> {
        Ok(Readable)
    }
    fn visit_i64<E>(self, _: i64) -> Result<Readable, E> {
        Ok(Readable)
    }
    fn visit_u64<E>(self, _: u64) -> Result<Readable, E> {
        Ok(Readable)
    }
    fn visit_f64<E>(self, _: f64) -> Result<Readable, E> {
        Ok(Readable)
    }
    fn visit_str<E>(self, _: &str) -> Result<Readable, E> {
        Ok(Readable)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Readable, A::Error> {
        while items.next_element::<Readable>()?.is_some() {}
        Ok(Readable)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Readable, A::Error> {
        while members.next_entry::<Readable, Readable>()?.is_some() {}
        Ok(Readable)
    }
}

/// Checks that `text` is one JSON value; nothing is allocated for it but a buffer for strings with escapes.
pub(crate) fn check(text: &str) -> Result<(), serde_json::Error> {
    serde_json::from_str::<Readable>(text).map(|Readable| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_reading_a_value() {
        let deep = "[".repeat(200);
        for text in [
            "{}",
            "[1,2.5,-3,true,null,\"a\\n\\u00e9\",{\"a\":{}}]",
            "1e308",
            "1e309",
            "-1e9992",
            "[1e400]",
            "nul",
            "",
            "{\"a\":1,}",
            "{} {}",
            "{\"a\":1",
            "\"\\ud800\"",
            "18446744073709551616",
            "{\"a\":1,\"a\":2}",
            &deep,
        ] {
            assert_eq!(
                check(text).is_ok(),
                serde_json::from_str::<serde_json::Value>(text).is_ok(),
                "{text}"
            );
        }
    }
}
