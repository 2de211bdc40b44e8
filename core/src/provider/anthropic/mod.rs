//! Anthropic Messages.

mod blocks;
mod compaction;
mod event;
mod request;
mod stream;

use crate::message::ProviderContext;
use crate::model::{ModelRequest, Problem};
use crate::provider::{Codec, Header, Secret, StreamDecoder, common_headers};
use crate::text::Text;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use request::Purpose;

pub use stream::AnthropicEvents;

/// The output limit of a request that names none, which the API requires; a thinking budget comes on top.
pub const DEFAULT_MAX_TOKENS: u32 = 8_192;

/// The beta feature by which the API summarizes a conversation on demand.
pub const COMPACTION_BETA: &str = "compact-2026-09-04";

/// The kinds of [`ProviderContext`] that are this codec's begin so; the block's own
/// type follows.
pub const CONTEXT_PREFIX: &str = "anthropic.";

/// The codec for Anthropic Messages and servers that speak it (llama.cpp, gateways).
///
/// How a history is written:
/// - messages of the same side are merged, because the API wants the sides to alternate; texts of white space only,
///   which it refuses, are left out;
/// - all results of a batch stand first in the user message after their calls;
/// - arguments that are not a JSON object go as `{"_raw": "the text"}`, so that the model sees what it wrote;
/// - a summary that the API has made on demand goes back byte for byte to the model that made it, while
///   [`Anthropic::compaction`] is on; otherwise its words go as text;
/// - signed thinking, redacted thinking and the blocks of hosted tools go back byte for byte to the model that they
///   came from, and to no other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anthropic {
    bearer: bool,
    beta: Vec<Text>,
    compacts: bool,
}

impl Default for Anthropic {
    fn default() -> Self {
        Self::new()
    }
}

impl Anthropic {
    /// Speaks version `2023-06-01` and sends the key as `x-api-key`.
    pub const fn new() -> Self {
        Self { bearer: false, beta: Vec::new(), compacts: false }
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

impl Anthropic {
    /// Has the API shorten histories on demand ([`COMPACTION_BETA`]), for hosts that compact natively. The beta feature is
    /// asked for in all requests: those that carry a summary of the API need it too.
    ///
    /// The request for a summary holds the older messages, system prompt and tools as others do, at least
    /// [`DEFAULT_MAX_TOKENS`] of output, and neither stop sequences nor a choice of tools, which the API refuses there.
    /// What the host adds by [`ModelParameters::extra`](crate::model::ModelParameters::extra) goes along; a
    /// `context_management` in it is refused by the API, in requests that carry a summary as well.
    #[must_use]
    pub fn compaction(mut self) -> Self {
        self.compacts = true;
        self.beta(COMPACTION_BETA)
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
        request::encode(request, Purpose::Answer { adopts: self.compacts })
    }

    fn encode_compaction(&self, request: &ModelRequest) -> Option<Result<Vec<u8>, Problem>> {
        self.compacts.then(|| request::encode(request, Purpose::Summary))
    }

    fn adopt(&self, context: &Arc<ProviderContext>) -> Option<(Arc<ProviderContext>, Text)> {
        compaction::adopt(context)
    }

    fn decoder(&self, request: &ModelRequest) -> Self::Decoder {
        StreamDecoder::new(AnthropicEvents::new(request.model.name.clone()))
    }
}
