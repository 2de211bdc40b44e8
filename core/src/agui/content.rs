//! What messages and results hold: text, or parts of several kinds.

use super::wire::{Context, Raw, Wire, custom, object, tag};
use crate::json::Out;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use serde::de::{Deserialize, Deserializer};
use serde_json::Value;

/// Text, or parts of several kinds.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Plain text.
    Text(String),
    /// Parts in order; may be empty.
    Parts(Vec<ContentPart>),
}

impl Content {
    /// The text, text parts put together.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Parts(parts) => parts.iter().filter_map(ContentPart::text).collect(),
        }
    }
}

impl Default for Content {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<ContentPart>> for Content {
    fn from(parts: Vec<ContentPart>) -> Self {
        Self::Parts(parts)
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl Wire for Content {
    const EXPECTED: &'static str = "a string or an array of parts is expected";

    fn read<'de, D: Deserializer<'de>>(from: D, context: Context<'_>) -> Result<Option<Self>, D::Error> {
        let json = Raw::deserialize(from)?;
        let text = json.get();
        let read = match text.as_bytes().first() {
            Some(b'"') => String::read_text(text, context).map(|text| text.map(Self::Text)),
            Some(b'[') => Vec::read_text(text, context).map(|parts| parts.map(Self::Parts)),
            Some(_) | None => return Err(custom()),
        };
        read.map_err(|_| custom())
    }

    fn write<O: Out>(&self, out: &mut O) {
        match self {
            Self::Text(text) => text.write(out),
            Self::Parts(parts) => parts.write(out),
        }
    }
}

/// A piece of a message's content.
#[derive(Clone, Debug, PartialEq)]
pub enum ContentPart {
    /// Text.
    Text(TextPart),
    /// An image.
    Image(MediaPart),
    /// Sound.
    Audio(MediaPart),
    /// Moving images.
    Video(MediaPart),
    /// A document.
    Document(MediaPart),
}

impl ContentPart {
    /// The text of a text part.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(part) => Some(&part.text),
            Self::Image(_) | Self::Audio(_) | Self::Video(_) | Self::Document(_) => None,
        }
    }
}

wire_struct! {
    /// A part that is text.
    pub struct TextPart {
        /// The text.
        req text: String = "text",
        /// The part's id.
        opt id: String = "id",
        /// Extra information; any JSON value but null.
        opt metadata: Value = "metadata",
    }
}

wire_struct! {
    /// A part that is media.
    pub struct MediaPart {
        /// Where the media is.
        req source: PartSource = "source",
        /// The part's id.
        opt id: String = "id",
        /// Extra information; any JSON value but null.
        opt metadata: Value = "metadata",
    }
}

impl Wire for ContentPart {
    const EXPECTED: &'static str = "a part is expected: an object with a type";

    fn read<'de, D: Deserializer<'de>>(from: D, context: Context<'_>) -> Result<Option<Self>, D::Error> {
        let json = Raw::deserialize(from)?;
        let media = |of: fn(MediaPart) -> Self| Ok(object(json, context, "type")?.map(of));
        match tag(json.get(), "type").ok_or_else(custom)?.as_str() {
            "text" => Ok(object(json, context, "type")?.map(Self::Text)),
            "image" => media(Self::Image),
            "audio" => media(Self::Audio),
            "video" => media(Self::Video),
            "document" => media(Self::Document),
            _ => Ok(None),
        }
    }

    fn write<O: Out>(&self, out: &mut O) {
        let (kind, media): (&[u8], _) = match self {
            Self::Text(text) => {
                out.push(b"{\"type\":\"text\"");
                text.write_members(out, &mut false);
                return out.push(b"}");
            }
            Self::Image(media) => (b"image", media),
            Self::Audio(media) => (b"audio", media),
            Self::Video(media) => (b"video", media),
            Self::Document(media) => (b"document", media),
        };
        out.push(b"{\"type\":\"");
        out.push(kind);
        out.push(b"\"");
        media.write_members(out, &mut false);
        out.push(b"}");
    }
}

/// Where media is. Never fetched, never read.
#[derive(Clone, Debug, PartialEq)]
pub enum PartSource {
    /// The data itself.
    Data(DataSource),
    /// A URL.
    Url(UrlSource),
    /// A handle of a provider.
    File(FileSource),
}

impl Default for PartSource {
    fn default() -> Self {
        Self::Url(UrlSource::default())
    }
}

wire_struct! {
    /// Data.
    pub struct DataSource {
        /// Base64.
        req value: String = "value",
        /// The media type.
        req mime_type: String = "mimeType",
    }
}

wire_struct! {
    /// A URL.
    pub struct UrlSource {
        /// The URL.
        req value: String = "value",
        /// The media type.
        opt mime_type: String = "mimeType",
    }
}

wire_struct! {
    /// A handle of a provider.
    pub struct FileSource {
        /// The handle.
        req value: String = "value",
        /// Whose handle it is.
        opt provider: String = "provider",
        /// The media type.
        opt mime_type: String = "mimeType",
    }
}

impl Wire for PartSource {
    const EXPECTED: &'static str = "a source is expected: an object with a type";

    fn read<'de, D: Deserializer<'de>>(from: D, context: Context<'_>) -> Result<Option<Self>, D::Error> {
        let json = Raw::deserialize(from)?;
        Ok(match tag(json.get(), "type").ok_or_else(custom)?.as_str() {
            "data" => object(json, context, "type")?.map(Self::Data),
            "url" => object(json, context, "type")?.map(Self::Url),
            "file" => object(json, context, "type")?.map(Self::File),
            _ => None,
        })
    }

    fn write<O: Out>(&self, out: &mut O) {
        let first = &mut false;
        match self {
            Self::Data(source) => {
                out.push(b"{\"type\":\"data\"");
                source.write_members(out, first);
            }
            Self::Url(source) => {
                out.push(b"{\"type\":\"url\"");
                source.write_members(out, first);
            }
            Self::File(source) => {
                out.push(b"{\"type\":\"file\"");
                source.write_members(out, first);
            }
        }
        out.push(b"}");
    }
}
