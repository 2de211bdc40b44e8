//! Anthropic Messages.

mod blocks;
mod event;
mod request;
mod stream;

use crate::model::{ModelRequest, Problem};
use crate::provider::{Codec, Header, Secret, StreamDecoder, common_headers};
use crate::text::Text;
use alloc::format;
use alloc::vec::Vec;

pub use stream::AnthropicEvents;

/// The output limit of a request that names none, which the API requires; a thinking budget comes on top.
pub const DEFAULT_MAX_TOKENS: u32 = 8_192;

/// The kinds of [`ProviderContext`](crate::message::ProviderContext) that are this codec's begin so; the block's own
/// type follows.
pub const CONTEXT_PREFIX: &str = "anthropic.";

/// The codec for Anthropic Messages and servers that speak it (llama.cpp, gateways).
///
/// How a history is written:
/// - messages of the same side are merged, because the API wants the sides to alternate; texts of white space only,
///   which it refuses, are left out;
/// - all results of a batch stand first in the user message after their calls;
/// - arguments that are not a JSON object go as `{"_raw": "the text"}`, so that the model sees what it wrote;
/// - signed thinking, redacted thinking and the blocks of hosted tools go back byte for byte to the model that they
///   came from, and to no other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anthropic {
    bearer: bool,
    beta: Vec<Text>,
}

impl Default for Anthropic {
    fn default() -> Self {
        Self::new()
    }
}

impl Anthropic {
    /// Speaks version `2023-06-01` and sends the key as `x-api-key`.
    pub const fn new() -> Self {
        Self { bearer: false, beta: Vec::new() }
    }

    /// Sends the key as `authorization: Bearer`, for OAuth tokens.
    #[must_use]
    pub fn bearer(mut self) -> Self {
        self.bearer = true;
        self
    }

    /// Asks for a beta feature (`anthropic-beta`).
    #[must_use]
    pub fn beta(mut self, feature: impl Into<Text>) -> Self {
        self.beta.push(feature.into());
        self
    }
}

impl Codec for Anthropic {
    type Decoder = StreamDecoder<AnthropicEvents>;

    fn path(&self) -> &str {
        "/v1/messages"
    }

    fn headers(&self, key: Option<&Secret>) -> Vec<Header> {
        let mut headers = common_headers();
        headers.push(Header::new("anthropic-version", "2023-06-01"));
        if !self.beta.is_empty() {
            headers.push(Header::new("anthropic-beta", &self.beta.join(",")));
        }
        headers.extend(key.map(|key| match self.bearer {
            true => Header::secret("authorization", &format!("Bearer {}", key.expose())),
            false => Header::secret("x-api-key", key.expose()),
        }));
        headers
    }

    fn encode(&self, request: &ModelRequest) -> Result<Vec<u8>, Problem> {
        request::encode(request)
    }

    fn decoder(&self, request: &ModelRequest) -> Self::Decoder {
        StreamDecoder::new(AnthropicEvents::new(request.model.name.clone()))
    }
}
