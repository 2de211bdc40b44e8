//! Writing canonical JSON (RFC 8785) in one pass, into bytes or into their number only.
//!
//! One generic writer serves both, so that a computed length cannot drift from the bytes (L1, L6).

use alloc::vec::Vec;

/// Where JSON goes: a buffer, or a counter.
pub trait Out {
    /// Whether only the number of bytes matters, so that costly content may be stood in for.
    const COUNTS_ONLY: bool = false;
    /// Appends `bytes`.
    fn push(&mut self, bytes: &[u8]);
}

impl Out for Vec<u8> {
    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// An [`Out`] that only counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Len(pub u64);

impl Out for Len {
    const COUNTS_ONLY: bool = true;
    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        self.0 += bytes.len() as u64;
    }
}

/// How a byte stands in a JSON string: 0 as it is, 1 as `\uXXXX`, else behind a backslash.
const ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 0x20 {
        table[i] = 1;
        i += 1;
    }
    table[0x08] = b'b';
    table[0x09] = b't';
    table[0x0a] = b'n';
    table[0x0c] = b'f';
    table[0x0d] = b'r';
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table
};

fn escape_of(byte: u8) -> u8 {
    ESCAPES.get(usize::from(byte)).copied().unwrap_or(0)
}

/// Writes `text`, which is UTF-8, as a JSON string with the escapes that RFC 8785 prescribes.
pub fn string<O: Out>(out: &mut O, text: impl AsRef<[u8]>) {
    out.push(b"\"");
    escaped(out, text.as_ref());
    out.push(b"\"");
}

/// Writes the inside of a JSON string.
#[inline]
pub fn escaped<O: Out>(out: &mut O, bytes: &[u8]) {
    // Most texts hold nothing to escape.
    if plain_len(bytes) == bytes.len() {
        return out.push(bytes);
    }
    escape(out, bytes);
}

fn escape<O: Out>(out: &mut O, bytes: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut rest = bytes;
    loop {
        let (plain, tail) = rest.split_at(plain_len(rest));
        out.push(plain);
        let Some((byte, tail)) = tail.split_first() else { return };
        match escape_of(*byte) {
            1 => {
                let low = HEX.get(usize::from(byte & 15)).copied().unwrap_or(b'0');
                out.push(&[b'\\', b'u', b'0', b'0', b'0' + (byte >> 4), low]);
            }
            short => out.push(&[b'\\', short]),
        }
        rest = tail;
    }
}

/// How many bytes stand before one that must be escaped: a quote, a backslash or a control character. Eight at a time.
#[inline]
pub(crate) fn plain_len(bytes: &[u8]) -> usize {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = LOW << 7;
    let mut len = 0;
    while let Some(eight) = bytes.get(len..len + 8).and_then(|eight| <[u8; 8]>::try_from(eight).ok()) {
        let word = u64::from_le_bytes(eight);
        // The lowest byte whose high bit is set in each of these is the first that is meant; higher ones may be wrong.
        let zero = |word: u64| word.wrapping_sub(LOW) & !word;
        let quote = zero(word ^ (LOW * u64::from(b'"')));
        let backslash = zero(word ^ (LOW * u64::from(b'\\')));
        let control = word.wrapping_sub(LOW * 0x20) & !word;
        let found = (quote | backslash | control) & HIGH;
        if found != 0 {
            return len + (found.trailing_zeros() / 8) as usize;
        }
        len += 8;
    }
    let tail = bytes.get(len..).unwrap_or_default();
    let plain = |byte: &u8| *byte >= 0x20 && *byte != b'"' && *byte != b'\\';
    len + tail.iter().take_while(|byte| plain(byte)).count()
}

/// Bytes that `text` takes as a JSON string, without the quotes: the measure of every text bound.
pub fn encoded_len(text: impl AsRef<[u8]>) -> u64 {
    text.as_ref()
        .iter()
        .map(|byte| match escape_of(*byte) {
            0 => 1,
            1 => 6,
            _ => 2,
        })
        .sum()
}

/// The longest prefix of `text` whose encoding takes at most `max` bytes.
pub fn encoded_prefix(text: &str, max: u64) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += match escape_of(u8::try_from(c).unwrap_or(b'x')) {
            0 => c.len_utf8() as u64,
            1 => 6,
            _ => 2,
        };
        if used > max {
            return text.get(..at).unwrap_or_default();
        }
    }
    text
}

/// Writes the decimal digits of `n` into `buffer` and returns them.
pub(crate) fn digits<const N: usize>(mut n: u64, buffer: &mut [u8; N]) -> &[u8] {
    let mut at = N;
    while at > 0 {
        at -= 1;
        if let Some(slot) = buffer.get_mut(at) {
            *slot = b'0' + u8::try_from(n % 10).unwrap_or(0);
        }
        n /= 10;
        if n == 0 {
            break;
        }
    }
    buffer.get(at..).unwrap_or_default()
}

/// Writes a non-negative integer.
pub fn integer<O: Out>(out: &mut O, n: u64) {
    let mut buffer = [0; 20];
    out.push(digits(n, &mut buffer));
}

/// Writes one JSON object; members must come in canonical order where the result must be canonical.
pub struct Object<'a, O: Out> {
    out: &'a mut O,
    first: bool,
}

impl<'a, O: Out> Object<'a, O> {
    /// Opens the object.
    pub fn begin(out: &'a mut O) -> Self {
        out.push(b"{");
        Self { out, first: true }
    }

    /// Writes the member's name and hands out the place of its value.
    pub fn key(&mut self, name: &str) -> &mut O {
        if !self.first {
            self.out.push(b",");
        }
        self.first = false;
        string(self.out, name);
        self.out.push(b":");
        self.out
    }

    /// A text member.
    pub fn str(&mut self, name: &str, value: impl AsRef<[u8]>) -> &mut Self {
        string(self.key(name), value);
        self
    }

    /// An integer member.
    pub fn u64(&mut self, name: &str, value: u64) -> &mut Self {
        integer(self.key(name), value);
        self
    }

    /// A boolean member.
    pub fn bool(&mut self, name: &str, value: bool) -> &mut Self {
        self.key(name).push(if value { b"true" } else { b"false" });
        self
    }

    /// A member whose value is JSON text already.
    pub fn raw(&mut self, name: &str, json: &str) -> &mut Self {
        self.key(name).push(json.as_bytes());
        self
    }

    /// An integer member that is left out when absent.
    pub fn opt_u64(&mut self, name: &str, value: Option<u64>) -> &mut Self {
        if let Some(value) = value {
            self.u64(name, value);
        }
        self
    }

    /// A text member that is left out when absent.
    pub fn opt_str(&mut self, name: &str, value: Option<&str>) -> &mut Self {
        if let Some(value) = value {
            self.str(name, value);
        }
        self
    }

    /// An object member, written by `inner`.
    pub fn object(&mut self, name: &str, inner: impl FnOnce(&mut Object<'_, O>)) -> &mut Self {
        let mut object = Object::begin(self.key(name));
        inner(&mut object);
        object.end();
        self
    }

    /// An array member; `each` writes one item.
    pub fn array<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        mut each: impl FnMut(&mut O, T),
    ) -> &mut Self {
        let out = self.key(name);
        out.push(b"[");
        for (i, item) in items.into_iter().enumerate() {
            if i > 0 {
                out.push(b",");
            }
            each(out, item);
        }
        out.push(b"]");
        self
    }

    /// Closes the object.
    pub fn end(self) {
        self.out.push(b"}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    // proves: L6
    #[test]
    fn strings_escape_as_serde_json_does_and_lengths_agree() {
        let all: String = (0..0x250_u32).filter_map(char::from_u32).chain("\u{2028}😀".chars()).collect();
        let mut bytes = Vec::new();
        string(&mut bytes, &all);
        assert_eq!(String::from_utf8_lossy(&bytes), serde_json::to_string(&all).unwrap());
        let mut len = Len::default();
        string(&mut len, &all);
        assert_eq!(len.0, bytes.len() as u64);
        assert_eq!(encoded_len(&all) + 2, len.0);
    }

    #[test]
    fn prefixes_fit_and_are_the_longest_that_do() {
        let text = "a\n\u{1}é😀\"z";
        for max in 0..=encoded_len(text) {
            let cut = encoded_prefix(text, max);
            assert!(encoded_len(cut) <= max);
            if let Some(next) = text[cut.len()..].chars().next() {
                let longer = &text[..cut.len() + next.len_utf8()];
                assert!(encoded_len(longer) > max);
            }
        }
    }

    #[test]
    fn integers() {
        for n in [0, 9, 10, 12345, u64::MAX] {
            let mut bytes = Vec::new();
            integer(&mut bytes, n);
            assert_eq!(String::from_utf8_lossy(&bytes), alloc::format!("{n}"));
        }
    }
}
