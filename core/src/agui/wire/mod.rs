//! Reading and writing the protocol's JSON, in one pass, by tables that the types declare about themselves.
//!
//! What the schema does not describe is taken out and told of as a [`Notice`]; what it describes and finds wrong is a
//! [`DecodeError`] with its path. Members without a value are left out when writing, never written as null.

#[macro_use]
mod macros;
mod context;
mod union;
mod values;

use crate::json::Out;
use alloc::string::String;
use alloc::vec::Vec;
use serde::de::{DeserializeSeed, Deserializer};

pub(crate) use context::{Context, Path, Read};
pub use context::{DecodeError, Decoded, Notice, NoticeKind};
pub(crate) use macros::{Flat, key, member, required, strip, twice};
pub(crate) use union::{Key, Members, Object, Raw, custom, object, tag, whole};
pub(crate) use values::{is_pointer, value as write_value};

/// The largest integer that JSON numbers carry exactly, 2^53 − 1.
pub const MAX_SAFE_INTEGER: i64 = 9_007_199_254_740_991;

/// A value of the protocol: how it is read from JSON and written as JSON.
///
/// Implemented for the protocol's types only; use [`decode`] and [`encode`].
pub trait Wire: Sized {
    /// What is expected, for errors.
    #[doc(hidden)]
    const EXPECTED: &'static str;

    /// Reads the value; `None` is one that the protocol does not name, such as a content part of an unknown kind.
    #[doc(hidden)]
    fn read<'de, D: Deserializer<'de>>(from: D, context: Context<'_>) -> Result<Option<Self>, D::Error>;

    /// Writes the value.
    #[doc(hidden)]
    fn write<O: Out>(&self, out: &mut O);

    /// Reads the value from a whole text.
    #[doc(hidden)]
    fn read_text(json: &str, context: Context<'_>) -> Result<Option<Self>, serde_json::Error> {
        let mut from = serde_json::Deserializer::from_str(json);
        let value = Read::<Self>::at(context).deserialize(&mut from)?;
        from.end()?;
        Ok(value)
    }

    /// Whether this is JSON's null, which no optional member may be.
    #[doc(hidden)]
    fn is_null(&self) -> bool {
        false
    }
}

/// Reads one value from JSON text. Cost is linear in the text; nesting deeper than 128 is refused.
///
/// # Errors
///
/// [`DecodeError::NotJson`] where the text is not one JSON value, [`DecodeError::Malformed`] with the path where a
/// member that the protocol describes has a value that it does not allow.
pub fn decode<T: Wire>(json: &str) -> Result<Decoded<T>, DecodeError> {
    context::decode(json)
}

/// Reads one value from bytes; see [`decode`].
///
/// # Errors
///
/// As [`decode`]; bytes that are not UTF-8 are not JSON.
pub fn decode_bytes<T: Wire>(json: &[u8]) -> Result<Decoded<T>, DecodeError> {
    match core::str::from_utf8(json) {
        Ok(text) => decode(text),
        Err(error) => Err(DecodeError::NotJson { offset: error.valid_up_to() as u64 }),
    }
}

/// Appends the value as JSON text, without white space.
pub fn encode_into<T: Wire>(value: &T, out: &mut Vec<u8>) {
    value.write(out);
}

/// The value as JSON text, without white space.
pub fn encode<T: Wire>(value: &T) -> String {
    let mut out = Vec::new();
    value.write(&mut out);
    // The writer puts out UTF-8 only.
    String::from_utf8(out).unwrap_or_default()
}
