//! Numbers, spans and names, without loss: what a JSON number does not carry exactly is written as a text.

use crate::saved::{ImportError, ImportProblem, Node, Place, text};
use crate::text::Text;
use crate::time::MAX_EXACT;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::time::Duration;

/// The largest double below which every integer is exact.
const EXACT: f64 = MAX_EXACT as f64;

/// An integer; above 2^53 - 1 its digits as a text.
pub(crate) fn number(n: u64) -> Node {
    if n <= MAX_EXACT { Node::Integer(n) } else { Node::Text(Text::from(n.to_string())) }
}

pub(crate) fn read_number(node: &Node, place: &Place<'_>) -> Result<u64, ImportError> {
    let parsed = match node {
        Node::Integer(n) => Some(*n).filter(|n| *n <= MAX_EXACT),
        Node::Text(digits) => digits.parse().ok().filter(|n: &u64| *n > MAX_EXACT),
        Node::Null
        | Node::Bool(_)
        | Node::Negative(_)
        | Node::Fraction(_)
        | Node::List(_)
        | Node::Object(_) => None,
    };
    parsed.ok_or_else(|| place.wrong("an integer from 0 on"))
}

/// A number of things in memory.
pub(super) fn size(n: usize) -> Node {
    number(n as u64)
}

pub(super) fn read_size(node: &Node, place: &Place<'_>) -> Result<usize, ImportError> {
    let observed = read_number(node, place)?;
    let too_large = |_| place.error(ImportProblem::Number { limit: usize::MAX as u64, observed });
    usize::try_from(observed).map_err(too_large)
}

pub(super) fn small(n: u32) -> Node {
    Node::Integer(u64::from(n))
}

pub(super) fn read_small(node: &Node, place: &Place<'_>) -> Result<u32, ImportError> {
    let number = crate::saved::number(node, place, u64::from(u32::MAX))?;
    Ok(u32::try_from(number).unwrap_or(u32::MAX))
}

/// A span in whole microseconds; any other one as a text, in seconds with nine digits.
pub(super) fn span(span: Duration) -> Node {
    match exact_micros(span) {
        Some(micros) => Node::Integer(micros),
        None => Node::Text(Text::from(format!("{}.{:09}", span.as_secs(), span.subsec_nanos()))),
    }
}

/// The microseconds of a span that has no others.
pub(super) fn exact_micros(span: Duration) -> Option<u64> {
    let micros = u64::try_from(span.as_micros()).ok().filter(|micros| *micros <= MAX_EXACT)?;
    span.subsec_nanos().is_multiple_of(1_000).then_some(micros)
}

pub(super) fn read_span(node: &Node, place: &Place<'_>) -> Result<Duration, ImportError> {
    let parsed = if let Node::Text(text) = node {
        text.split_once('.').and_then(|(secs, nanos)| {
            let nanos = nanos.parse().ok().filter(|n: &u32| nanos.len() == 9 && *n < 1_000_000_000)?;
            Some(Duration::new(secs.parse().ok()?, nanos))
        })
    } else {
        crate::saved::number(node, place, MAX_EXACT).ok().map(Duration::from_micros)
    };
    parsed.ok_or_else(|| place.wrong("a span in microseconds"))
}

/// A double; one that a JSON number does not carry exactly as the sixteen digits of its bits.
pub(super) fn float(value: f64) -> Node {
    if !value.is_finite() || (value == 0.0 && value.is_sign_negative()) {
        return Node::Text(Text::from(format!("{:016x}", value.to_bits())));
    }
    // Both casts are exact below the bound.
    #[expect(clippy::cast_possible_truncation, reason = "whole numbers below 2^53 only")]
    if value.abs() <= EXACT && (value as i64) as f64 == value {
        let whole = value as i64;
        return u64::try_from(whole).map_or(Node::Negative(whole), Node::Integer);
    }
    Node::Fraction(value.to_bits())
}

pub(super) fn read_float(node: &Node, place: &Place<'_>) -> Result<f64, ImportError> {
    let value = match node {
        Node::Fraction(bits) => Some(f64::from_bits(*bits)),
        Node::Integer(n) => Some(*n as f64),
        Node::Negative(n) => Some(*n as f64),
        Node::Text(digits) => {
            u64::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 16).map(f64::from_bits)
        }
        Node::Null | Node::Bool(_) | Node::List(_) | Node::Object(_) => None,
    };
    value.ok_or_else(|| place.wrong("a number"))
}

/// A hash in hexadecimal.
pub(super) fn hash(bytes: &[u8; 32]) -> Node {
    Node::Text(crate::tool::Binding::of_bytes(*bytes).to_hex())
}

pub(super) fn read_hash(node: &Node, place: &Place<'_>) -> Result<[u8; 32], ImportError> {
    let hex = text(node, place)?;
    let digit = |byte: &u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    };
    let bytes: Option<Vec<u8>> = hex.as_bytes().chunks(2).map(pair).collect();
    let hash = bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    hash.ok_or_else(|| place.wrong("the 64 hexadecimal digits of a hash"))
}
