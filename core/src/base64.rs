//! Base64 as RFC 4648 has it: how images travel. Written with padding, read with or without.

use alloc::vec::Vec;

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends `bytes` as base64.
pub(crate) fn encode(out: &mut Vec<u8>, bytes: &[u8]) {
    let letter = |six: u32| LETTERS.get((six & 63) as usize).copied().unwrap_or(b'=');
    out.reserve(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        let sextets = [letter(bits >> 18), letter(bits >> 12), letter(bits >> 6), letter(bits)];
        let real = chunk.len() + 1;
        out.extend(sextets.iter().enumerate().map(|(at, letter)| if at < real { *letter } else { b'=' }));
    }
}

/// The bytes that `text` stands for (RFC 4648, padded or not); `None` if it is not base64.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.as_bytes();
    let end = text.iter().rposition(|byte| *byte != b'=').map_or(0, |at| at + 1);
    let (letters, padding) = text.split_at(end);
    // Padding fills up to four letters and is never more than two.
    if padding.len() > 2 || (!padding.is_empty() && !text.len().is_multiple_of(4)) || letters.len() % 4 == 1 {
        return None;
    }
    let mut out = Vec::with_capacity(letters.len() / 4 * 3 + 2);
    for group in letters.chunks(4) {
        let mut bits = 0_u32;
        for at in 0..4 {
            bits = bits << 6 | group.get(at).map_or(Some(0), |letter| sextet(*letter))?;
        }
        let [_, bytes @ ..] = bits.to_be_bytes();
        let bytes: [u8; 3] = bytes;
        out.extend(bytes.iter().take(group.len() - 1));
    }
    Some(out)
}

fn sextet(letter: u8) -> Option<u32> {
    let value = match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    #[test]
    fn pads_and_reads_back() {
        let pairs = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("\u{ff}\u{fff}", "w7/gv78=")];
        for (bytes, text) in pairs {
            let mut out = Vec::new();
            encode(&mut out, bytes.as_bytes());
            assert_eq!(String::from_utf8_lossy(&out), text);
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()));
        }
        let all: Vec<u8> = (0..=255).collect();
        for len in 0..=256 {
            let mut out = Vec::new();
            encode(&mut out, &all[..len]);
            assert_eq!(decode(core::str::from_utf8(&out).unwrap()).as_deref(), Some(&all[..len]));
        }
    }

    #[test]
    fn bytes_are_what_they_were() {
        for (text, bytes) in [
            ("", &b""[..]),
            ("Zg==", b"f"),
            ("Zm8=", b"fo"),
            ("Zm9v", b"foo"),
            ("Zm9vYg==", b"foob"),
            ("Zm9vYmE=", b"fooba"),
            ("Zm9vYmFy", b"foobar"),
            ("AP+/gA==", b"\x00\xff\xbf\x80"),
        ] {
            assert_eq!(decode(text).as_deref(), Some(bytes), "{text}");
            assert_eq!(decode(text.trim_end_matches('=')).as_deref(), Some(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_not_base64_is_refused() {
        for text in ["A", "AAAAA", "AA=", "A===", "====", "AA==A", "A A=", "AAA\n", "AA_-", "é"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
