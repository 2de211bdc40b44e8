//! Codecs: what is sent to a model's provider and what its bytes mean. No HTTP here.
//!
//! A [`Codec`] turns a [`ModelRequest`] into path, headers and body, and a failed answer into a [`Problem`]. Its
//! [`Decode`] turns the bytes of a streamed answer, cut anywhere, into [`ModelItem`]s. Codecs never retry, wait or
//! read a clock; what they know of wall time is an argument.
//!
//! | codec | for |
//! | --- | --- |
//! | [`Anthropic`](anthropic::Anthropic) | Anthropic Messages and servers that speak it |
//! | [`OpenAiChat`](openai_chat::OpenAiChat) | OpenAI Chat Completions; compatible servers by a row of [`Dialect`](dialect::Dialect) |

pub mod answer;
pub mod anthropic;
pub mod dialect;
pub mod error;
pub mod openai_chat;
pub(crate) mod read;
pub mod retry_after;
mod secret;
pub mod sse;
mod stream;
pub mod summary;
mod wire;

use crate::message::ProviderContext;
use crate::model::{ModelItem, ModelRequest, Problem};
use crate::text::Text;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

pub use secret::{Secret, mask};
pub use stream::StreamDecoder;

/// What stands before boundary input on the wire, where it is text of the user's side (B7).
pub(crate) const BOUNDARY_FRAME: &str =
    "[The following comes from the program that runs this conversation, not from the user.]";

/// One provider's wire format.
pub trait Codec {
    /// Reads this provider's streamed answers.
    type Decoder: Decode;

    /// Where requests go, relative to a base URL as the provider's official clients take it: OpenAI's ends in `/v1`, so
    /// that this is `/chat/completions`; Anthropic's is the host, so that this is `/v1/messages`.
    fn path(&self) -> &str;

    /// The headers of a request. The one that holds `key` is marked as secret.
    fn headers(&self, key: Option<&Secret>) -> Vec<Header>;

    /// The body: JSON, byte-identical for equal requests; the messages of a longer history begin with those of a
    /// shorter one (M2).
    ///
    /// # Errors
    ///
    /// [`InvalidRequest`](crate::problem::ProblemKind::InvalidRequest) if there is nothing to send or a parameter cannot
    /// be written.
    fn encode(&self, request: &ModelRequest) -> Result<Vec<u8>, Problem>;

    /// A decoder for the answer to `request`.
    fn decoder(&self, request: &ModelRequest) -> Self::Decoder;

    /// The body of a request that has the provider shorten the whole history of `request`: it goes where others go, and
    /// its answer is decoded as others are. `None` if the provider has no such request, or the codec was not told to
    /// use it.
    ///
    /// # Errors
    ///
    /// As [`Codec::encode`].
    fn encode_compaction(&self, request: &ModelRequest) -> Option<Result<Vec<u8>, Problem>> {
        let _ = request;
        None
    }

    /// What the answer to such a request holds in `context`: the material that stands in the place of the history from
    /// then on, and the same in words. `None` if it is something else.
    fn adopt(&self, context: &Arc<ProviderContext>) -> Option<(Arc<ProviderContext>, Text)> {
        let _ = context;
        None
    }

    /// What a failed answer means; see [`error::http_error`].
    fn error(&self, status: u16, headers: &[(&str, &str)], body: &[u8], now_unix: Option<u64>) -> Problem {
        error::http_error(status, headers, body, now_unix)
    }
}

/// Reads one streamed answer. Nothing is emitted after [`ModelItem::Done`] or [`ModelItem::Failed`].
pub trait Decode {
    /// Takes in bytes of the body and appends what they mean to `out`: at least [`ModelItem::Alive`], unless `bytes` is
    /// empty or the stream has ended.
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<ModelItem>);

    /// The clean end of the body: appends the missing terminal item. A stream that stops before its response does is
    /// [`Truncated`](crate::problem::ProblemKind::Truncated).
    fn finish(&mut self, out: &mut Vec<ModelItem>);

    /// The provider's own word for why it stopped, as far as it was seen; there also if the stream failed later.
    fn finish_reason(&self) -> Option<&str>;

    /// If the stream could not be read: the byte offset at which.
    fn unreadable_at(&self) -> Option<u64>;
}

/// A request header.
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    name: Text,
    value: Arc<str>,
    secret: bool,
}

impl Header {
    /// A header that anybody may see.
    pub fn new(name: impl Into<Text>, value: &str) -> Self {
        Self { name: name.into(), value: Arc::from(value), secret: false }
    }

    /// A header that holds a credential.
    pub fn secret(name: impl Into<Text>, value: &str) -> Self {
        Self { name: name.into(), value: Arc::from(value), secret: true }
    }

    /// The name, in lower case.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Whether the value holds a credential: it must reach no log, error or event.
    pub fn is_secret(&self) -> bool {
        self.secret
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = if self.secret { "[redacted]" } else { &*self.value };
        write!(f, "{}: {value}", self.name)
    }
}

/// The headers that every codec sends.
fn common_headers() -> Vec<Header> {
    alloc::vec![Header::new("content-type", "application/json"), Header::new("accept", "text/event-stream")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn secrets_show_nowhere() {
        let secret = Secret::new(" sesame-canary\n");
        assert_eq!(secret.expose(), "sesame-canary");
        let header = Header::secret("authorization", "Bearer sesame-canary");
        assert_eq!(format!("{secret:?} {header:?}"), "Secret authorization: [redacted]");
    }
}
