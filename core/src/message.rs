//! Messages: validated, immutable, bounded (M1, M4, M9).

use crate::id::{CallRef, MessageId};
use crate::json::encoded_len;
use crate::text::Text;
use alloc::sync::Arc;

/// Who speaks in a message, and what it may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Role {
    /// The person or program that uses the agent: text and images.
    User,
    /// A committed response of the model: text, tool calls, provider context.
    Assistant,
    /// What an ended run had received of a response: text and complete calls (C4).
    AbortedAssistant,
    /// The results of one batch, in model order, right after the message that proposed the calls.
    Tool,
    /// What the host told the model between steps and no human typed (B7): text and images.
    Boundary,
}

impl Role {
    /// The role's stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::AbortedAssistant => "aborted_assistant",
            Self::Tool => "tool",
            Self::Boundary => "boundary",
        }
    }
}

/// One part of a message; cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// Text.
    Text(Text),
    /// An image.
    Image(Arc<Image>),
    /// A tool call that the model asked for.
    ToolCall(Arc<ToolCall>),
    /// The one result of a tool call.
    ToolResult(Arc<ToolResult>),
    /// What a provider requires back, byte for byte (M9).
    Context(Arc<ProviderContext>),
}

impl Part {
    /// Text, measured as every text bound is: on its canonical encoding.
    pub fn encoded_len(&self) -> u64 {
        match self {
            Self::Text(text) => encoded_len(text),
            Self::Image(image) => image.data.len() as u64,
            Self::ToolCall(call) => encoded_len(&call.name) + encoded_len(&call.arguments),
            Self::ToolResult(result) => result.content.iter().map(Self::encoded_len).sum(),
            Self::Context(context) => encoded_len(&*context.payload),
        }
    }

    fn allowed_in(&self, role: Role) -> bool {
        match self {
            Self::Text(_) => role != Role::Tool,
            Self::Image(_) => matches!(role, Role::User | Role::Boundary),
            Self::ToolCall(_) => matches!(role, Role::Assistant | Role::AbortedAssistant),
            Self::ToolResult(_) => role == Role::Tool,
            Self::Context(_) => role == Role::Assistant,
        }
    }
}

/// An image, by value or by address.
#[derive(Clone, PartialEq, Eq)]
pub struct Image {
    /// MIME type, such as `image/png`.
    pub media_type: Text,
    /// The image.
    pub data: ImageData,
}

/// Where an image's bytes are.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImageData {
    /// Here.
    Bytes(Arc<[u8]>),
    /// At this URL, which the provider fetches.
    Url(Text),
}

impl ImageData {
    /// Bytes that it holds (of a URL: its length).
    pub fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Url(url) => url.len(),
        }
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl core::fmt::Debug for Image {
    /// Type and length only: image bytes and signed addresses do not belong into logs.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Image").field("media_type", &self.media_type).field("len", &self.data.len()).finish()
    }
}

/// A tool call as the model asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The engine's identity of the call (M7).
    pub call: CallRef,
    /// The provider's id, or one that the engine made; unique within its response.
    pub id: Text,
    /// Tool name.
    pub name: Text,
    /// Arguments: the original text; empty stands for `{}`.
    pub arguments: Text,
}

impl ToolCall {
    /// The arguments as JSON text: `{}` where the model sent none (M7).
    pub fn arguments_json(&self) -> &str {
        match self.arguments.trim() {
            "" | "null" => "{}",
            text => text,
        }
    }
}

/// How a tool call ended (E7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ToolStatus {
    /// The tool returned its output.
    Success,
    /// The tool reported an error, or its infrastructure failed.
    Failure,
    /// The approver refused.
    Denied,
    /// There is no tool of that name.
    Unavailable,
    /// The arguments are not JSON, or not an object.
    InvalidArguments,
    /// The tool's deadline passed.
    TimedOut,
    /// The tool panicked.
    Panicked,
    /// The run ended first; the tool's code was never entered.
    InterruptedNotStarted,
    /// The run ended while the tool's code ran: what it did is not known.
    InterruptedOutcomeUnknown,
}

impl ToolStatus {
    /// The status' stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Denied => "denied",
            Self::Unavailable => "unavailable",
            Self::InvalidArguments => "invalid_arguments",
            Self::TimedOut => "timed_out",
            Self::Panicked => "panicked",
            Self::InterruptedNotStarted => "interrupted(not_started)",
            Self::InterruptedOutcomeUnknown => "interrupted(outcome_unknown)",
        }
    }

    /// Whether the model should see this result as an error.
    pub const fn is_error(self) -> bool {
        !matches!(self, Self::Success)
    }
}

/// The one result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// The engine's identity of the call.
    pub call: CallRef,
    /// The call's id, as in the call.
    pub id: Text,
    /// Tool name.
    pub name: Text,
    /// How the call ended.
    pub status: ToolStatus,
    /// Text and images for the model.
    pub content: Arc<[Part]>,
}

/// Opaque material that a provider requires back: signatures, encrypted reasoning (M9).
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderContext {
    /// The exact model that it belongs to, as named in the request.
    pub model: Text,
    /// What it is, in the codec's terms, such as `anthropic.thinking`.
    pub kind: Text,
    /// The provider's own text, byte for byte.
    pub payload: Arc<str>,
}

impl core::fmt::Debug for ProviderContext {
    /// Without the payload, which never leaves history and requests.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ProviderContext")
            .field("model", &self.model)
            .field("kind", &self.kind)
            .field("len", &self.payload.len())
            .finish()
    }
}

/// Bounds of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageBounds {
    /// Most parts.
    pub parts: usize,
    /// Most bytes of text over all parts, on its canonical encoding.
    pub text: u64,
    /// Most bytes of one image.
    pub image: usize,
}

/// Why a message cannot be built (M1).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// A message needs a part.
    #[error("a message needs at least one part")]
    Empty,
    /// Too many parts.
    #[error("{observed} parts are more than {limit}")]
    Parts {
        /// The bound.
        limit: usize,
        /// What was found.
        observed: usize,
    },
    /// Too much text.
    #[error("{observed} bytes of text are more than {limit}")]
    Text {
        /// The bound, in encoded bytes.
        limit: u64,
        /// What was found.
        observed: u64,
    },
    /// An image is too large.
    #[error("an image of {observed} bytes is larger than {limit}")]
    Image {
        /// The bound in bytes.
        limit: usize,
        /// What was found.
        observed: usize,
    },
    /// A part that this role does not have, by its place.
    #[error("part {at} does not belong into a message of role {}", role.as_str())]
    Misplaced {
        /// Index of the part.
        at: usize,
        /// The message's role.
        role: Role,
    },
}

/// A message: id, role and ordered parts. Immutable; clones share everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    id: MessageId,
    role: Role,
    parts: Arc<[Part]>,
    bytes: u64,
    tokens: u64,
}

impl Message {
    /// A message within `bounds`.
    ///
    /// # Errors
    ///
    /// [`MessageError`]; see [`check_parts`].
    pub fn new(
        id: MessageId,
        role: Role,
        parts: impl Into<Arc<[Part]>>,
        bounds: &MessageBounds,
    ) -> Result<Self, MessageError> {
        let parts = parts.into();
        check_parts(role, &parts, bounds)?;
        Ok(Self::trusted(id, role, parts))
    }

    /// A message whose parts were checked while they were assembled.
    pub(crate) fn trusted(id: MessageId, role: Role, parts: Arc<[Part]>) -> Self {
        let bytes = parts.iter().map(Part::encoded_len).sum();
        let tokens = 4 + parts.iter().map(estimate).sum::<u64>();
        Self { id, role, parts, bytes, tokens }
    }

    /// The message's id.
    pub fn id(&self) -> &MessageId {
        &self.id
    }

    /// Who speaks.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The parts, in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Bytes of text (encoded) and images.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A provider-neutral estimate of the tokens that it takes.
    pub fn estimated_tokens(&self) -> u64 {
        self.tokens
    }

    /// The tool calls, in model order.
    pub fn calls(&self) -> impl Iterator<Item = &Arc<ToolCall>> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            Part::Text(_) | Part::Image(_) | Part::ToolResult(_) | Part::Context(_) => None,
        })
    }

    /// The tool results, in model order.
    pub fn results(&self) -> impl Iterator<Item = &Arc<ToolResult>> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolResult(result) => Some(result),
            Part::Text(_) | Part::Image(_) | Part::ToolCall(_) | Part::Context(_) => None,
        })
    }
}

/// Checks the parts of a message of `role` against `bounds`.
///
/// # Errors
///
/// [`MessageError`] if there is no part, a part that the role cannot have, or more than a bound allows (M1).
pub fn check_parts(role: Role, parts: &[Part], bounds: &MessageBounds) -> Result<(), MessageError> {
    if parts.is_empty() {
        return Err(MessageError::Empty);
    }
    if parts.len() > bounds.parts {
        return Err(MessageError::Parts { limit: bounds.parts, observed: parts.len() });
    }
    let mut text = 0;
    for (at, part) in parts.iter().enumerate() {
        if !part.allowed_in(role) {
            return Err(MessageError::Misplaced { at, role });
        }
        match part {
            Part::Image(image) if image.data.len() > bounds.image => {
                return Err(MessageError::Image { limit: bounds.image, observed: image.data.len() });
            }
            Part::Image(_) => {}
            Part::Text(_) | Part::ToolCall(_) | Part::ToolResult(_) | Part::Context(_) => {
                text += part.encoded_len();
            }
        }
    }
    if text > bounds.text {
        return Err(MessageError::Text { limit: bounds.text, observed: text });
    }
    Ok(())
}

/// Tokens of a part: a quarter of its bytes, and a flat thousand for an image.
fn estimate(part: &Part) -> u64 {
    match part {
        Part::Image(_) => 1_000,
        Part::Text(text) => (text.len() as u64).div_ceil(4),
        Part::ToolCall(call) => ((call.name.len() + call.arguments.len()) as u64).div_ceil(4) + 8,
        Part::ToolResult(result) => result.content.iter().map(estimate).sum::<u64>() + 8,
        Part::Context(context) => (context.payload.len() as u64).div_ceil(4),
    }
}
