//! What a tool gets: the call, and what came of an earlier part of it.

use super::{Access, ToolSpec};
use crate::host_input::{AskError, HostAnswer};
use crate::message::ToolCall;
use crate::text::Text;
use alloc::sync::Arc;

/// A call that is to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolInvocation {
    /// The call; its arguments are the text of a JSON object. Where people edited them, these are the edited ones.
    pub call: Arc<ToolCall>,
    /// The tool's declaration.
    pub spec: Arc<ToolSpec>,
    /// Present where the tool had returned with a question: it is called again with the answer (H6).
    pub resumed: Option<Arc<Resumption>>,
}

impl ToolInvocation {
    /// A first call.
    pub const fn new(call: Arc<ToolCall>, spec: Arc<ToolSpec>) -> Self {
        Self { call, spec, resumed: None }
    }
}

/// What a tool is called again with after it had returned with a question.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resumption {
    /// What it wanted kept.
    pub state: Text,
    /// The answer, or why there is none.
    pub answer: Result<HostAnswer, AskError>,
}

impl Resumption {
    /// A resumption of `state` with `answer`.
    pub const fn new(state: Text, answer: Result<HostAnswer, AskError>) -> Self {
        Self { state, answer }
    }
}

/// What a tool says about a call before it is scheduled (T1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Preparation {
    /// What this call touches; the tool's own declaration holds when absent.
    pub access: Option<Access>,
    /// What the call is about to do, for people who are asked to consent; may be empty.
    pub summary: Text,
}

impl Preparation {
    /// Nothing but what the tool declares.
    pub const fn new() -> Self {
        Self { access: None, summary: Text::EMPTY }
    }

    /// With what this call touches.
    #[must_use]
    pub fn access(mut self, access: Access) -> Self {
        self.access = Some(access);
        self
    }

    /// With what the call is about to do.
    #[must_use]
    pub fn summary(mut self, summary: impl Into<Text>) -> Self {
        self.summary = summary.into();
        self
    }
}
