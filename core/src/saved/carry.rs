//! What every saved value shares: its text, other formats by way of `serde`, and the two members that it begins with.

use super::{Fields, ImportBounds, ImportError, ImportProblem, Node, Reading, read, text};
use alloc::string::String;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

/// A value that has a saved form.
pub(crate) trait Saved: Sized {
    /// The value's tree, with the members that were read and not known.
    fn to_node(&self) -> Node;

    /// Reads a tree strictly.
    fn of_node(node: &Node) -> Result<Self, ImportError>;
}

/// Reads the canonical JSON of a value.
pub(crate) fn from_json<V: Saved>(json: &str, bounds: &ImportBounds) -> Result<V, ImportError> {
    V::of_node(&read(json, bounds)?)
}

/// As the value's JSON would be; in formats that people do not read, as that text.
pub(crate) fn serialize<V: Saved, S: Serializer>(value: &V, serializer: S) -> Result<S::Ok, S::Error> {
    let node = value.to_node();
    if serializer.is_human_readable() {
        node.serialize(serializer)
    } else {
        serializer.serialize_str(&node.to_json())
    }
}

/// What [`serialize`] wrote, within the default bounds.
pub(crate) fn deserialize<'de, V: Saved, D: Deserializer<'de>>(deserializer: D) -> Result<V, D::Error> {
    let bounds = ImportBounds::default();
    if !deserializer.is_human_readable() {
        let json = String::deserialize(deserializer)?;
        return from_json(&json, &bounds).map_err(D::Error::custom);
    }
    let reading = Reading::new(&bounds);
    let node = reading.seed().deserialize(deserializer);
    let node = node.map_err(|error| D::Error::custom(reading.error(&error)))?;
    V::of_node(&node).map_err(D::Error::custom)
}

/// Checks that a value says it is `format` in the version `known`.
pub(crate) fn head(fields: &mut Fields<'_>, expected: &'static str, known: u32) -> Result<(), ImportError> {
    fields.need("format", |node, place| {
        let own = *text(node, place)? == *expected;
        if own { Ok(()) } else { Err(place.error(ImportProblem::Format { expected })) }
    })?;
    let found = fields.number("version")?;
    if found != u64::from(known) {
        return Err(fields.place.member("version").error(ImportProblem::Version { found, known }));
    }
    Ok(())
}
