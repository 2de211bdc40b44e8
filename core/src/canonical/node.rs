//! A JSON value as a tree, between its type and its bytes.

use crate::json::{Out, integer, string};
use crate::text::Text;
use crate::time::{MAX_EXACT, micros};
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::time::Duration;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

/// A JSON value. Texts are shared with what they were taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Null,
    Bool(bool),
    Integer(u64),
    /// Below zero.
    Negative(i64),
    /// The bits of a finite double: one that is none of the above, or was not written as one.
    Fraction(u64),
    Text(Text),
    List(Vec<Node>),
    /// Members in canonical order; names are unique.
    Object(Vec<(Text, Node)>),
}

/// The order of members in canonical JSON: by UTF-16 code units.
pub(crate) fn canonical(a: &str, b: &str) -> Ordering {
    // It is the order of bytes, but for what stands behind the surrogates, U+E000 to U+FFFF: in UTF-8 these begin with EE
    // or EF, before the F0 to F4 of supplementary characters.
    let rank = |byte: u8| if matches!(byte, 0xee | 0xef) { byte | 0x10 } else { byte };
    let (a, b) = (a.as_bytes(), b.as_bytes());
    match a.iter().zip(b).find(|(a, b)| a != b) {
        Some((a, b)) => rank(*a).cmp(&rank(*b)),
        None => a.len().cmp(&b.len()),
    }
}

impl Node {
    pub(crate) fn text(text: &Text) -> Self {
        Self::Text(text.clone())
    }

    /// A number that canonical JSON carries exactly; larger ones are cut, as in events.
    pub(crate) fn number(n: u64) -> Self {
        Self::Integer(n.min(MAX_EXACT))
    }

    pub(crate) fn list<T>(items: impl IntoIterator<Item = T>, each: impl FnMut(T) -> Self) -> Self {
        Self::List(items.into_iter().map(each).collect())
    }

    /// An object of these members, whose names are unique; they may come in any order.
    pub(crate) fn object(members: impl IntoIterator<Item = (Text, Self)>) -> Self {
        let mut members: Vec<_> = members.into_iter().collect();
        members.sort_unstable_by(|(a, _), (b, _)| canonical(a, b));
        Self::Object(members)
    }

    /// Writes canonical JSON; the tree nests no deeper than [`super::MAX_DEPTH`].
    pub(crate) fn write<O: Out>(&self, out: &mut O) {
        match self {
            Self::Null => out.push(b"null"),
            Self::Bool(value) => out.push(if *value { b"true" } else { b"false" }),
            Self::Integer(n) => integer(out, *n),
            Self::Negative(n) => {
                out.push(b"-");
                integer(out, n.unsigned_abs());
            }
            Self::Fraction(bits) => {
                let number = f64::from_bits(*bits);
                // Negative zero is written as zero (RFC 8785, 3.2.2.3).
                let number = if number == 0.0 { 0.0 } else { number };
                out.push(ryu_js::Buffer::new().format_finite(number).as_bytes());
            }
            Self::Text(text) => string(out, text),
            Self::List(items) => {
                out.push(b"[");
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(b",");
                    }
                    item.write(out);
                }
                out.push(b"]");
            }
            Self::Object(members) => {
                let mut object = crate::json::Object::begin(out);
                for (name, value) in members {
                    value.write(object.key(name));
                }
                object.end();
            }
        }
    }

    pub(crate) fn to_json(&self) -> String {
        let mut len = crate::json::Len::default();
        self.write(&mut len);
        let mut bytes = Vec::with_capacity(usize::try_from(len.0).unwrap_or(0));
        self.write(&mut bytes);
        // Only texts and ASCII were written.
        String::from_utf8(bytes).unwrap_or_default()
    }

    /// The node of a finite double; equal numbers give equal nodes.
    pub(super) fn double(n: f64) -> Self {
        const EXACT: f64 = MAX_EXACT as f64;
        // Both casts are exact where the comparison holds.
        let whole = n as i64;
        if (-EXACT..=EXACT).contains(&n) && whole as f64 == n {
            return Self::whole(whole);
        }
        Self::Fraction(n.to_bits())
    }

    /// The node of an integer.
    pub(crate) fn whole(n: i64) -> Self {
        u64::try_from(n).map_or(Self::Negative(n), Self::Integer)
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Integer(n) => serializer.serialize_u64(*n),
            Self::Negative(n) => serializer.serialize_i64(*n),
            Self::Fraction(bits) => serializer.serialize_f64(f64::from_bits(*bits)),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => {
                let mut seq = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| seq.serialize_element(item))?;
                seq.end()
            }
            Self::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (name, value) in members {
                    map.serialize_entry(name.as_str(), value)?;
                }
                map.end()
            }
        }
    }
}

/// Builds an object; members may come in any order.
#[derive(Debug, Default)]
pub(crate) struct Build(Vec<(Text, Node)>);

impl Build {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// An object that says what it is.
    pub(crate) fn of(kind: &str) -> Self {
        Self::new().name("type", kind)
    }

    pub(crate) fn with(mut self, name: &'static str, value: Node) -> Self {
        self.0.push((Text::new(name), value));
        self
    }

    pub(crate) fn maybe(self, name: &'static str, value: Option<Node>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(crate) fn text(self, name: &'static str, text: &Text) -> Self {
        self.with(name, Node::text(text))
    }

    /// A name from a fixed set.
    pub(crate) fn name(self, name: &'static str, value: &str) -> Self {
        self.with(name, Node::Text(Text::new(value)))
    }

    pub(crate) fn number(self, name: &'static str, n: impl Into<u64>) -> Self {
        self.with(name, Node::number(n.into()))
    }

    pub(crate) fn flag(self, name: &'static str, value: bool) -> Self {
        self.with(name, Node::Bool(value))
    }

    /// A span in microseconds, left out when absent.
    pub(crate) fn span(self, name: &'static str, span: Option<Duration>) -> Self {
        self.maybe(name, span.map(|span| Node::number(micros(span))))
    }

    pub(crate) fn end(self) -> Node {
        Node::object(self.0)
    }
}
