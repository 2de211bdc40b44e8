//! What goes to a model and what comes back: requests, stream items, typed problems (M2, M3, M6).

use crate::history::History;
use crate::message::ProviderContext;
use crate::text::Text;
use crate::tool::ToolSpec;
use crate::usage::{GenerationTokens, Usage};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

pub use crate::problem::{Problem, ProblemKind};
pub use crate::steer::SteeringItem;

/// Which model answers, and how. Immutable for the whole run.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelSpec {
    /// The model's name, as its provider takes it.
    pub name: Text,
    /// System prompt.
    pub system: Option<Arc<str>>,
    /// Sampling and output parameters.
    pub parameters: ModelParameters,
}

impl ModelSpec {
    /// A model by name, without a system prompt, with its provider's defaults.
    pub fn new(name: impl Into<Text>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// With this system prompt.
    #[must_use]
    pub fn system(mut self, prompt: impl Into<Arc<str>>) -> Self {
        self.system = Some(prompt.into());
        self
    }

    /// With these parameters.
    #[must_use]
    pub fn parameters(mut self, parameters: ModelParameters) -> Self {
        self.parameters = parameters;
        self
    }
}

/// Parameters of a model call; absent ones are left to the provider.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelParameters {
    /// Most output tokens of one response.
    pub max_output_tokens: Option<u32>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Texts at which the model stops.
    pub stop: Vec<Text>,
    /// How hard a reasoning model should think, in the provider's words (such as `low`, `high`).
    pub reasoning_effort: Option<Text>,
    /// Tokens for thinking, for providers that take a budget.
    pub thinking_budget: Option<u32>,
    /// Whether and which tools must be called.
    pub tool_choice: ToolChoice,
    /// Whether one response may hold several calls.
    pub parallel_tool_calls: Option<bool>,
    /// Further members for the request body: the text of a JSON object, in the provider's own terms.
    pub extra: Option<Arc<str>>,
}

/// Whether and which tools the model must call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No call.
    None,
    /// At least one call.
    Required,
    /// This tool.
    Tool(Text),
}

/// One attempt's request. Equal requests encode to equal bytes (M2).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModelRequest {
    /// Operation id, issued by the engine; equal over the attempts of one model call.
    pub operation: Text,
    /// Which attempt of the model call this is, from 1.
    pub attempt: u32,
    /// The model and its parameters.
    pub model: Arc<ModelSpec>,
    /// The conversation so far; shared, never copied.
    pub history: History,
    /// The tools that the model may call.
    pub tools: Arc<[Arc<ToolSpec>]>,
}

impl ModelRequest {
    /// A request; for codecs' tests and for hosts that drive models by hand.
    pub fn new(model: ModelSpec, history: History, tools: impl Into<Arc<[Arc<ToolSpec>]>>) -> Self {
        Self { operation: Text::EMPTY, attempt: 1, model: Arc::new(model), history, tools: tools.into() }
    }
}

/// One item of a model's stream: a strict union (M3). 32 bytes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ModelItem {
    /// A piece of the answer.
    Text(Text),
    /// A piece of a refusal's text.
    Refusal(Text),
    /// A piece of raw reasoning, for display only.
    Reasoning(Text),
    /// A piece of a reasoning summary, for display only.
    ReasoningSummary(Text),
    /// A piece of a tool call.
    CallDelta(Box<CallDelta>),
    /// A call that came whole.
    Call(Box<FinalCall>),
    /// The call at this index is closed: no piece of it follows.
    CallEnd(u32),
    /// A cumulative usage report of the current physical request.
    Usage(Box<Usage>),
    /// The share of output tokens that falls into generation time; never an event (T7).
    GenerationTokens(GenerationTokens),
    /// Material to be sent back with this turn.
    Context(Arc<ProviderContext>),
    /// What a model that can be steered during its turn says about inputs that people add (H4).
    Steering(Box<SteeringItem>),
    /// Something that the provider does by itself.
    Activity(Box<Activity>),
    /// Bytes arrived that mean nothing to the run: the connection lives.
    Alive,
    /// The stream ended well.
    Done(Box<Completion>),
    /// The stream failed.
    Failed(Box<Problem>),
}

/// A piece of a tool call (M7): by index, else by id, else of the newest call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallDelta {
    /// The call's index in the response, where the provider numbers them.
    pub index: Option<u32>,
    /// The call's id, usually in its first piece only.
    pub id: Option<Text>,
    /// The tool's name, usually in the first piece only.
    pub name: Option<Text>,
    /// More of the arguments' text.
    pub arguments: Text,
}

/// A tool call that came whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FinalCall {
    /// The call's id, if the provider gave one.
    pub id: Option<Text>,
    /// The tool's name.
    pub name: Text,
    /// The arguments' text.
    pub arguments: Text,
}

/// What a provider does on its own side while it answers (R8). Details are display text, never raw payloads.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Activity {
    /// An adapter repeats a physical request within this attempt.
    RequestRetry {
        /// Why the last one failed.
        kind: ProblemKind,
        /// The wait before the next.
        delay: Duration,
    },
    /// The provider searches the web.
    WebSearch {
        /// What it searches, as display text.
        detail: Text,
    },
    /// The provider runs another tool of its own.
    HostedTool {
        /// The tool's name.
        name: Text,
        /// What it does, as display text.
        detail: Text,
    },
    /// A fact for operators, under a namespaced name (M5).
    Diagnostic {
        /// Namespaced name, such as `anthropic.service_tier`.
        name: Text,
        /// Its value, as display text.
        value: Text,
    },
}

/// The good end of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Completion {
    /// Why the provider stopped; absent if it did not say.
    pub finish: Option<Finish>,
    /// The provider's own word for it.
    pub raw: Text,
}

impl Completion {
    /// An end with a reason in the project's terms and the provider's word for it.
    pub fn new(finish: Option<Finish>, raw: impl Into<Text>) -> Self {
        Self { finish, raw: raw.into() }
    }
}

/// Why a provider stopped, in the project's terms. What happens next depends on the calls, not on this (M8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Finish {
    /// The turn is over.
    Stop,
    /// A stop sequence was met.
    StopSequence,
    /// Tools are to be called.
    ToolCalls,
    /// The output limit or the context window was reached.
    Length,
    /// A content filter cut the response.
    ContentFilter,
    /// The model refused.
    Refusal,
    /// The provider paused its own work; the response is to be sent back to go on.
    Pause,
    /// The provider says that it failed.
    Error,
    /// Anything else.
    Other,
}

impl Finish {
    /// The reason's stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::StopSequence => "stop_sequence",
            Self::ToolCalls => "tool_calls",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::Refusal => "refusal",
            Self::Pause => "pause",
            Self::Error => "error",
            Self::Other => "other",
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn items_stay_small() {
        assert!(size_of::<super::ModelItem>() <= 32, "{}", size_of::<super::ModelItem>());
    }
}
