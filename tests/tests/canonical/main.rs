//! Canonical JSON (RFC 8785): published vectors, another implementation beside ours, and what must hold of any text.

// Helpers of tests fail like tests do.
#![allow(clippy::unwrap_used)]

mod corpus;
mod oracle;
mod texts;

use runloom_core::canonical::{Bounds, CanonicalError, canonicalize};

/// The canonical form, within the default bounds.
fn canon(json: impl AsRef<[u8]>) -> Result<String, CanonicalError> {
    canonicalize(json.as_ref(), &Bounds::default()).map(|bytes| String::from_utf8(bytes).unwrap())
}
