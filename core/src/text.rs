//! Immutable text that is cheap to hold in events: short ones inline, longer ones shared.

use alloc::string::String;
use alloc::sync::Arc;
use core::borrow::Borrow;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;

/// Bytes that fit into a [`Text`] without an allocation.
pub const INLINE: usize = 22;

/// Immutable UTF-8 text, 24 bytes: up to [`INLINE`] bytes inline, else one shared allocation.
///
/// Cloning never copies more than 24 bytes. It dereferences to `str`.
#[derive(Clone)]
pub struct Text(Repr);

#[derive(Clone)]
enum Repr {
    Inline { len: u8, buf: [u8; INLINE] },
    Shared(Arc<str>),
}

impl Text {
    /// The empty text.
    pub const EMPTY: Self = Self(Repr::Inline { len: 0, buf: [0; INLINE] });

    /// Copies `text`: inline when it fits, else into one allocation.
    pub fn new(text: &str) -> Self {
        Self::inline(text).unwrap_or_else(|| Self(Repr::Shared(Arc::from(text))))
    }

    /// Several texts as one; allocates only if they do not fit inline.
    pub(crate) fn concat(parts: &[&str]) -> Self {
        let len = parts.iter().map(|part| part.len()).sum();
        if len > INLINE {
            let mut text = String::with_capacity(len);
            parts.iter().for_each(|part| text.push_str(part));
            return Self(Repr::Shared(Arc::from(text)));
        }
        let mut buf = [0; INLINE];
        let bytes = parts.iter().flat_map(|part| part.bytes());
        buf.iter_mut().zip(bytes).for_each(|(slot, byte)| *slot = byte);
        Self(Repr::Inline { len: u8::try_from(len).unwrap_or(0), buf })
    }

    fn inline(text: &str) -> Option<Self> {
        let mut buf = [0; INLINE];
        buf.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        let len = u8::try_from(text.len()).ok()?;
        Some(Self(Repr::Inline { len, buf }))
    }

    /// The UTF-8 bytes; free in both forms.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline { len, buf } => buf.get(..usize::from(*len)).unwrap_or_default(),
            Repr::Shared(text) => text.as_bytes(),
        }
    }

    /// The text; validates at most [`INLINE`] bytes.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            // The bytes were copied from a `str` whole, so that this never falls back.
            Repr::Inline { .. } => core::str::from_utf8(self.as_bytes()).unwrap_or_default(),
            Repr::Shared(text) => text,
        }
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        match &self.0 {
            Repr::Inline { len, .. } => usize::from(*len),
            Repr::Shared(text) => text.len(),
        }
    }

    /// Whether there is no byte in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The shared form of this text: no copy if it is shared already.
    pub fn to_shared(&self) -> Arc<str> {
        match &self.0 {
            Repr::Inline { .. } => Arc::from(self.as_str()),
            Repr::Shared(text) => Arc::clone(text),
        }
    }
}

impl Default for Text {
    fn default() -> Self {
        Self::EMPTY
    }
}
impl Deref for Text {
    type Target = str;
    fn deref(&self) -> &str {
        self.as_str()
    }
}
impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}
impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}
impl Borrow<str> for Text {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}
impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}
impl From<&String> for Text {
    fn from(text: &String) -> Self {
        Self::new(text)
    }
}
impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::inline(&text).unwrap_or_else(|| Self(Repr::Shared(Arc::from(text))))
    }
}
impl From<Arc<str>> for Text {
    fn from(text: Arc<str>) -> Self {
        Self::inline(&text).unwrap_or(Self(Repr::Shared(text)))
    }
}
impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}
impl Eq for Text {}
impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}
impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}
impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Text {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        // The order of bytes is that of characters.
        self.as_bytes().cmp(other.as_bytes())
    }
}
impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}
impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The longest prefix of `text` of at most `max` bytes that ends on a character.
pub fn prefix(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let mut end = max;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn short_and_long_texts_agree_with_str() {
        for n in [0, 1, 21, 22, 23, 100] {
            let s: String = "é".repeat(n / 2) + if n % 2 == 1 { "x" } else { "" };
            let t = Text::new(&s);
            assert_eq!(t.as_str(), s);
            assert_eq!(t.len(), n);
            assert_eq!(Text::from(s.clone()), t);
            assert_eq!(Text::from(t.to_shared()), t);
            assert_eq!(format!("{t:?}"), format!("{s:?}"));
            let (head, tail) = s.split_at(prefix(&s, n / 2).len());
            assert_eq!(Text::concat(&[head, "", tail]), t);
        }
        assert_eq!(size_of::<Text>(), 24);
    }

    #[test]
    fn prefix_never_splits_a_character() {
        assert_eq!(prefix("aé", 2), "a");
        assert_eq!(prefix("aé", 3), "aé");
        assert_eq!(prefix("é", 1), "");
    }
}
