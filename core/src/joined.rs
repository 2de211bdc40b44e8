//! Text that is joined from pieces: one piece is kept as it came, several are copied together.

use crate::text::Text;
use alloc::string::String;
use alloc::vec::Vec;

/// Bytes that the first copy has room for.
const FIRST_COPY: usize = 128;

/// Pieces of text, joined.
#[derive(Clone, Debug)]
pub(crate) enum Joined {
    /// One piece, or none.
    One(Text),
    /// Several; whole texts, and so UTF-8.
    Many(Vec<u8>),
}

impl Default for Joined {
    fn default() -> Self {
        Self::One(Text::EMPTY)
    }
}

impl Joined {
    pub(crate) fn push(&mut self, piece: &Text) {
        match self {
            Self::One(first) if first.is_empty() => *first = piece.clone(),
            Self::One(_) if piece.is_empty() => {}
            Self::One(first) => {
                let mut bytes = Vec::with_capacity(FIRST_COPY.max(2 * (first.len() + piece.len())));
                bytes.extend_from_slice(first.as_bytes());
                bytes.extend_from_slice(piece.as_bytes());
                *self = Self::Many(bytes);
            }
            Self::Many(bytes) => bytes.extend_from_slice(piece.as_bytes()),
        }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::One(text) => text.as_bytes(),
            Self::Many(bytes) => bytes,
        }
    }

    /// The text; checks several pieces once more, copies them at most once.
    pub(crate) fn into_text(self) -> Text {
        match self {
            Self::One(text) => text,
            Self::Many(bytes) => Text::from(String::from_utf8(bytes).unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_join_in_order() {
        let mut joined = Joined::default();
        assert_eq!(joined.as_bytes(), b"");
        for (piece, all) in [("", ""), ("é", "é"), ("", "é"), ("b", "éb"), ("", "éb"), ("c", "ébc")] {
            joined.push(&Text::new(piece));
            assert_eq!(joined.as_bytes(), all.as_bytes());
            assert_eq!(joined.clone().into_text(), all);
        }
    }
}
