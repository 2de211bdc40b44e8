//! Compaction: the older part of a history gives way to something shorter (K1-K6).
//!
//! What is here looks at values only: when a history is due, where it may be cut, and what a replacement must be. The
//! machine uses it between steps, and a session uses it for a compaction by hand.

mod context;
mod reader;
mod replace;
mod saved;

pub use context::ContextState;
pub use reader::{Summarized, SummaryReader};
pub use replace::{CompactionError, cut, replaced, unread};
pub(crate) use saved::{read_context, write_context};

use crate::config::Limits;
use crate::history::History;
use crate::id::SessionId;
use crate::message::{Message, Part, Role};
use crate::model::{ModelRequest, ModelSpec};
use crate::text::Text;
use crate::tool::ToolSpec;
use crate::usage::Usage;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// When a run compacts its history by itself, and how much of it stays as it is (K1-K4).
///
/// Without a threshold it does so only when the provider reports an overflow (K5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactionPolicy {
    /// Due from this many messages on.
    pub after_messages: Option<usize>,
    /// Due from this many estimated tokens of context on, tool schemas included.
    pub at_tokens: Option<u64>,
    /// Most messages at the end that stay as they are. Calls and their results count as they stand and are not
    /// separated, so that it may be one more.
    pub keep_messages: usize,
    /// Most estimated tokens of the messages that stay; absent: half of the threshold, or of the context. The last
    /// round of messages stays however large it is.
    pub keep_tokens: Option<u64>,
    /// By how many per cent the context must have grown before it is tried again (K3).
    pub growth_percent: u32,
    /// Failures in a row after which it is not tried any more (K4).
    pub failures: u32,
}

impl Default for CompactionPolicy {
    /// Never by itself; 8 messages stay, 10 per cent of growth, 2 failures.
    fn default() -> Self {
        Self {
            after_messages: None,
            at_tokens: None,
            keep_messages: 8,
            keep_tokens: None,
            growth_percent: 10,
            failures: 2,
        }
    }
}

impl CompactionPolicy {
    /// Due from `messages` messages on.
    pub fn after_messages(messages: usize) -> Self {
        Self { after_messages: Some(messages), ..Self::default() }
    }

    /// Due from `tokens` estimated tokens on.
    pub fn at_tokens(tokens: u64) -> Self {
        Self { at_tokens: Some(tokens), ..Self::default() }
    }

    /// With at most this many messages that stay as they are.
    #[must_use]
    pub fn keep_messages(mut self, messages: usize) -> Self {
        self.keep_messages = messages;
        self
    }

    /// With at most this many estimated tokens that stay as they are.
    #[must_use]
    pub fn keep_tokens(mut self, tokens: u64) -> Self {
        self.keep_tokens = Some(tokens);
        self
    }

    /// Tokens of the messages that stay, in a context of `context` tokens.
    pub(crate) fn kept_tokens(&self, context: u64, trigger: Trigger) -> u64 {
        match (self.keep_tokens, self.at_tokens) {
            // A context that is too large must become smaller, whatever was wished for.
            (keep, _) if trigger == Trigger::Overflow => keep.unwrap_or(u64::MAX).min(context / 2),
            (Some(keep), _) => keep,
            (None, Some(at)) => at / 2,
            (None, None) => context / 2,
        }
    }
}

/// What set a compaction off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Trigger {
    /// A threshold of the policy (K1).
    Threshold,
    /// The provider refused the request as too large (K5).
    Overflow,
    /// The host (K6).
    Manual,
}

impl Trigger {
    /// The trigger's stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Threshold => "threshold",
            Self::Overflow => "overflow",
            Self::Manual => "manual",
        }
    }
}

/// What a compactor is to shorten.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompactionRequest {
    /// The session.
    pub session: SessionId,
    /// What set it off.
    pub trigger: Trigger,
    /// The model that goes on with the result.
    pub model: Arc<ModelSpec>,
    /// The whole conversation; shared, never copied.
    pub history: History,
    /// How many of its messages are to be replaced; those behind stay as they are.
    pub cut: usize,
    /// The tools that the requests of the conversation offer: a provider that shortens by itself may want to see them.
    pub tools: Arc<[Arc<ToolSpec>]>,
    /// Most encoded bytes of text of one message of the replacement; what goes beyond is refused (K4).
    pub most_bytes: u64,
}

impl CompactionRequest {
    /// A request to replace the first `cut` messages of `history`; without tools, and with the default bound of a
    /// response.
    pub fn new(
        session: SessionId,
        trigger: Trigger,
        model: Arc<ModelSpec>,
        history: History,
        cut: usize,
    ) -> Self {
        let most_bytes = Limits::default().response_bytes;
        Self { session, trigger, model, history, cut, tools: Arc::from([]), most_bytes }
    }

    /// With the tools that the conversation offers.
    #[must_use]
    pub fn tools(mut self, tools: Arc<[Arc<ToolSpec>]>) -> Self {
        self.tools = tools;
        self
    }

    /// With this bound for the text of one message of the replacement, in encoded bytes.
    #[must_use]
    pub fn most_bytes(mut self, bytes: u64) -> Self {
        self.most_bytes = bytes;
        self
    }

    /// What a provider gets that shortens by itself: the messages that are to be replaced, as the conversation's own
    /// model and tools would have them.
    pub fn head_request(&self) -> ModelRequest {
        let mut head = History::new(self.history.bounds());
        for message in self.head() {
            // A beginning of a valid history that separates no pair is valid.
            let _ = head.push_shared(Arc::clone(message));
        }
        ModelRequest {
            operation: Text::EMPTY,
            attempt: 1,
            model: Arc::clone(&self.model),
            history: head,
            tools: Arc::clone(&self.tools),
        }
    }

    /// The messages that are to be replaced, oldest first.
    pub fn head(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.history.iter().take(self.cut)
    }
}

/// What a compactor puts in the place of the older messages.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Compaction {
    /// The messages, oldest first: usually one of role user that holds a summary.
    pub messages: Vec<(Role, Vec<Part>)>,
    /// Tokens that it took; they are billed (R5).
    pub usage: Usage,
}

impl Compaction {
    /// One message of role user with this text.
    pub fn summary(text: impl Into<Text>) -> Self {
        Self::of([(Role::User, alloc::vec![Part::Text(text.into())])])
    }

    /// These messages.
    pub fn of(messages: impl IntoIterator<Item = (Role, Vec<Part>)>) -> Self {
        Self { messages: messages.into_iter().collect(), usage: Usage::default() }
    }

    /// With the tokens that it took.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }
}

/// A compactor's failure: the history stays as it is (K4).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactionFault {
    /// What went wrong.
    pub message: Text,
    /// Tokens that it took nevertheless.
    pub usage: Usage,
}

impl CompactionFault {
    /// A failure with this text.
    pub fn new(message: impl Into<Text>) -> Self {
        Self { message: message.into(), usage: Usage::default() }
    }

    /// With the tokens that it took nevertheless.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }
}
