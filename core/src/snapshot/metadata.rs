//! What a host keeps with a session: short texts by name.

use crate::id::{IdError, check_id};
use crate::json::encoded_len;
use crate::text::Text;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;

/// Most texts of one session.
pub const MAX_ITEMS: usize = 32;

/// Longest text, in bytes of its canonical encoding: 64 KiB.
pub const MAX_ITEM: u64 = 64 << 10;

/// Most bytes of all names and texts, in their canonical encoding: 256 KiB.
pub const MAX_BYTES: u64 = 256 << 10;

/// Texts by name, in the order of the names. They go into snapshots, and nowhere else: no model and no event has them.
/// What a text means is the host's affair; JSON is one text. A clone shares them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Metadata(Arc<BTreeMap<Text, Text>>);

impl core::fmt::Debug for Metadata {
    /// The names; the texts are the host's own.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Why a text cannot be kept; nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MetadataError {
    /// The name is not 1 to 256 bytes without control characters.
    #[error("not a name: {0}")]
    Name(#[from] IdError),
    /// There are [`MAX_ITEMS`] others.
    #[error("more than {MAX_ITEMS} texts")]
    TooMany,
    /// The text is longer than [`MAX_ITEM`].
    #[error("a text of {0} bytes is longer than {MAX_ITEM}")]
    TooLong(u64),
    /// All together are more than [`MAX_BYTES`].
    #[error("{0} bytes of texts and names are more than {MAX_BYTES}")]
    TooLarge(u64),
}

impl Metadata {
    /// Nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps a text under this name, in the place of the one before, which comes back.
    ///
    /// # Errors
    ///
    /// [`MetadataError`] if the name is not one, or a bound would be exceeded.
    pub fn insert(
        &mut self,
        name: impl Into<Text>,
        text: impl Into<Text>,
    ) -> Result<Option<Text>, MetadataError> {
        let (name, text) = (name.into(), text.into());
        check_id(&name)?;
        let len = encoded_len(&text);
        if len > MAX_ITEM {
            return Err(MetadataError::TooLong(len));
        }
        let others = || self.0.iter().filter(|(other, _)| **other != name);
        if others().count() >= MAX_ITEMS {
            return Err(MetadataError::TooMany);
        }
        let bytes: u64 = others().map(|(name, text)| encoded_len(name) + encoded_len(text)).sum();
        let bytes = bytes + encoded_len(&name) + len;
        if bytes > MAX_BYTES {
            return Err(MetadataError::TooLarge(bytes));
        }
        Ok(Arc::make_mut(&mut self.0).insert(name, text))
    }

    /// Takes a text out.
    pub fn remove(&mut self, name: &str) -> Option<Text> {
        Arc::make_mut(&mut self.0).remove(name)
    }

    /// The text under this name.
    pub fn get(&self, name: &str) -> Option<&Text> {
        self.0.get(name)
    }

    /// All names and texts, in the order of the names' bytes.
    pub fn iter(&self) -> impl Iterator<Item = (&Text, &Text)> {
        self.0.iter()
    }

    /// How many texts there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
