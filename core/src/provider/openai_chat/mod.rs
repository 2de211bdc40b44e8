//! OpenAI Chat Completions and compatible servers.

mod chunk;
mod details;
mod request;
mod stream;

use crate::model::{ModelRequest, Problem};
use crate::provider::dialect::{Auth, Dialect};
use crate::provider::{Codec, Header, Secret, StreamDecoder, common_headers};
use alloc::format;
use alloc::vec::Vec;

pub use stream::OpenAiChatEvents;

/// Kind of the [`ProviderContext`](crate::message::ProviderContext) that holds a reply's `reasoning_content`: the text.
pub const REASONING_CONTENT: &str = "openai_chat.reasoning_content";

/// Kind of the context that holds a reply's `reasoning_details`: the JSON list.
pub const REASONING_DETAILS: &str = "openai_chat.reasoning_details";

/// The codec for OpenAI Chat Completions; how a compatible server differs is its [`Dialect`].
///
/// How a history is written:
/// - one `tool` message for each result; images of results follow in a user message, because tool messages hold text
///   only;
/// - arguments go as the text that the model wrote, `{}` where it wrote none;
/// - reasoning goes back only to the model that it came from, and only where the dialect wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenAiChat {
    dialect: Dialect,
}

impl Default for OpenAiChat {
    fn default() -> Self {
        Self::new(Dialect::openai())
    }
}

impl OpenAiChat {
    /// A codec for servers of this dialect.
    pub const fn new(dialect: Dialect) -> Self {
        Self { dialect }
    }

    /// The dialect.
    pub const fn dialect(&self) -> &Dialect {
        &self.dialect
    }
}

impl Codec for OpenAiChat {
    type Decoder = StreamDecoder<OpenAiChatEvents>;

    fn path(&self) -> &str {
        "/chat/completions"
    }

    fn headers(&self, key: Option<&Secret>) -> Vec<Header> {
        let mut headers = common_headers();
        headers.extend(key.map(|key| match self.dialect.auth {
            Auth::Bearer => Header::secret("authorization", &format!("Bearer {}", key.expose())),
            Auth::ApiKey => Header::secret("api-key", key.expose()),
        }));
        headers
    }

    fn encode(&self, request: &ModelRequest) -> Result<Vec<u8>, Problem> {
        request::encode(&self.dialect, request)
    }

    fn decoder(&self, request: &ModelRequest) -> Self::Decoder {
        StreamDecoder::new(OpenAiChatEvents::new(&self.dialect, request))
    }
}
