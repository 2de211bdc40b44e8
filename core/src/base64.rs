//! Base64 as RFC 4648 has it, with padding: how images stand in JSON.

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

/// What `text` stands for; absent unless it is exactly what [`encode`] writes.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut rest = text.as_bytes();
    while let Some((four, tail)) = rest.split_first_chunk::<4>() {
        rest = tail;
        let pad = four.iter().rev().take_while(|byte| **byte == b'=').count();
        if pad > 2 || (pad > 0 && !rest.is_empty()) {
            return None;
        }
        let mut bits = 0_u32;
        for byte in four.iter().take(4 - pad) {
            bits = bits << 6 | sextet(*byte)?;
        }
        bits <<= 6 * pad;
        let [_, bytes @ ..] = bits.to_be_bytes();
        let (real, spare) = bytes.split_at(3 - pad);
        if spare.iter().any(|byte| *byte != 0) {
            return None;
        }
        out.extend_from_slice(real);
    }
    rest.is_empty().then_some(out)
}

fn sextet(byte: u8) -> Option<u32> {
    Some(u32::from(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
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
    fn takes_nothing_but_what_is_written() {
        for text in [
            "Z", "Zg", "Zg=", "Zh==", "Zm9=", "Zg==Zg==", "====", "Z===", "=Zm9", "Zm 9v", "Zm9v\n", "Zm-_",
            "Zm9v=",
        ] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
