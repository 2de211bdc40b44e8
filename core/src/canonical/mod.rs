//! Canonical JSON (RFC 8785): one strict reader, one tree, one writer (L6).
//!
//! The reader is this crate's own, so that no feature that another package turns on in a JSON library changes what is
//! accepted or how a number comes out. It takes UTF-8 without a byte order mark and one value with nothing behind it. It
//! refuses names that stand twice in an object, compared after unescaping; escapes of half a surrogate pair; numbers
//! beyond the range of a double; and whatever exceeds a bound. Noncharacters are characters as any other. A number is the
//! double that is nearest to what is written, as the RFC has it: digits that no double holds are lost.

mod node;
mod read;
mod scan;
#[cfg(test)]
mod tests;

pub(crate) use node::{Build, Node, canonical};
pub(crate) use read::{Numbers, Reader};

use crate::json::Out;
use alloc::vec::Vec;

/// Deepest nesting that any bounds allow.
pub const MAX_DEPTH: usize = 128;

/// What a JSON text may take to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Most bytes of the text.
    pub bytes: u64,
    /// Most values in it, each item and each member's value counted. One takes up to 168 bytes while it is read, besides
    /// its text.
    pub values: u64,
    /// Most lists and objects that stand open at the same time; more than [`MAX_DEPTH`] count as [`MAX_DEPTH`].
    pub depth: usize,
}

impl Default for Bounds {
    /// 64 MiB, 4,194,304 values, and [`MAX_DEPTH`].
    fn default() -> Self {
        Self { bytes: 64 << 20, values: 4 << 20, depth: MAX_DEPTH }
    }
}

/// Why a text is not read, or not canonical. It shows nothing of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at byte {at}: {problem}")]
#[non_exhaustive]
pub struct CanonicalError {
    /// Where, in bytes from the start: the first byte that cannot stand there, the value that is one too many or too
    /// deep, or the second of two equal names. Zero for a text that is too large.
    pub at: u64,
    /// What is wrong there.
    pub problem: CanonicalProblem,
}

/// What is wrong with a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CanonicalProblem {
    /// It takes more bytes than [`Bounds::bytes`].
    #[error("{observed} bytes are more than {limit}")]
    TooLarge {
        /// The bound.
        limit: u64,
        /// What was found.
        observed: u64,
    },
    /// It holds more values than [`Bounds::values`].
    #[error("more than {limit} values")]
    TooMany {
        /// The bound.
        limit: u64,
    },
    /// It nests deeper than [`Bounds::depth`].
    #[error("nests deeper than {limit}")]
    TooDeep {
        /// The bound.
        limit: usize,
    },
    /// It is not UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    /// Something else belongs there; at the end of the text, something is missing.
    #[error("{0} belongs there")]
    Expected(&'static str),
    /// A control character stands in a string without an escape.
    #[error("a control character without an escape")]
    Control,
    /// There is no such escape.
    #[error("not an escape")]
    Escape,
    /// Half a surrogate pair.
    #[error("half a surrogate pair")]
    Surrogate,
    /// The number is beyond the range of a double.
    #[error("a number beyond the range of a double")]
    Overflow,
    /// The name stands in its object already.
    #[error("the name stands there twice")]
    Duplicate,
    /// Something follows the value.
    #[error("trailing characters")]
    Trailing,
    /// It is read, but canonical JSON has another byte there, or ends there.
    #[error("not canonical")]
    NotCanonical,
}

/// The canonical form of the JSON value in `bytes`. The cost is linear, but for the sorting of members.
///
/// ```
/// use runloom_core::canonical::{Bounds, CanonicalProblem, canonicalize};
///
/// let bytes = canonicalize(b"{ \"b\": 1.0, \"a\": [1e21, -0] }", &Bounds::default())?;
/// assert_eq!(bytes, b"{\"a\":[1e+21,0],\"b\":1}");
///
/// let error = canonicalize(b"{\"a\":1,\"\\u0061\":2}", &Bounds::default()).unwrap_err();
/// assert_eq!((error.at, error.problem), (7, CanonicalProblem::Duplicate));
/// # Ok::<(), runloom_core::canonical::CanonicalError>(())
/// ```
///
/// # Errors
///
/// [`CanonicalError`] says what is wrong, at which byte, and which bound was exceeded.
pub fn canonicalize(bytes: &[u8], bounds: &Bounds) -> Result<Vec<u8>, CanonicalError> {
    let node = read(bytes, bounds)?;
    let mut out = Vec::with_capacity(bytes.len());
    node.write(&mut out);
    Ok(out)
}

/// Checks that `bytes` are one JSON value in its canonical form.
///
/// # Errors
///
/// As [`canonicalize`], and [`CanonicalProblem::NotCanonical`] at the first byte that differs.
pub fn check(bytes: &[u8], bounds: &Bounds) -> Result<(), CanonicalError> {
    read_canonical(bytes, bounds).map(|_| ())
}

/// Reads one JSON value.
pub(crate) fn read(bytes: &[u8], bounds: &Bounds) -> Result<Node, CanonicalError> {
    let observed = bytes.len() as u64;
    if observed > bounds.bytes {
        let problem = CanonicalProblem::TooLarge { limit: bounds.bytes, observed };
        return Err(CanonicalError { at: 0, problem });
    }
    let text = core::str::from_utf8(bytes).map_err(|error| CanonicalError {
        at: error.valid_up_to() as u64,
        problem: CanonicalProblem::NotUtf8,
    })?;
    Reader::new(text, bounds, Numbers::Doubles).read()
}

/// Reads one JSON value that is written in its canonical form.
pub(crate) fn read_canonical(bytes: &[u8], bounds: &Bounds) -> Result<Node, CanonicalError> {
    let node = read(bytes, bounds)?;
    let mut same = Same { rest: bytes, same: true };
    node.write(&mut same);
    if same.same && same.rest.is_empty() {
        return Ok(node);
    }
    let at = (bytes.len() - same.rest.len()) as u64;
    Err(CanonicalError { at, problem: CanonicalProblem::NotCanonical })
}

/// An [`Out`] that compares.
struct Same<'a> {
    /// What is still to be compared; after a difference, from there on.
    rest: &'a [u8],
    same: bool,
}

impl Out for Same<'_> {
    fn push(&mut self, bytes: &[u8]) {
        if !self.same {
            return;
        }
        if let Some(rest) = self.rest.strip_prefix(bytes) {
            self.rest = rest;
            return;
        }
        self.same = false;
        let equal = self.rest.iter().zip(bytes).take_while(|(a, b)| a == b).count();
        self.rest = self.rest.get(equal..).unwrap_or_default();
    }
}
