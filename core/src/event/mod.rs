//! Events: facts about a run, in order (E1, E12).

mod context;
mod host_input;
mod kind;
mod write;

pub use kind::EventKind;

use crate::boundary::Boundary;
use crate::compaction::{CompactionError, Trigger};
use crate::error::RunError;
use crate::host_input::{AnswerSource, AskError, HostAnswer, HostRequest};
use crate::id::{CallRef, OpId, Revision, Seq, SessionId, SteerId};
use crate::message::{ToolCall, ToolResult};
use crate::model::{Completion, Problem, ProblemKind};
use crate::outcome::{Answer, CancelCause};
use crate::text::Text;
use crate::time::Time;
use crate::usage::{GenerationTokens, Usage};
use alloc::sync::Arc;
use core::time::Duration;

/// An event in its envelope. The run id stands once, in the log that holds it. 56 bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    /// Position in the run.
    pub seq: Seq,
    /// Engine time.
    pub at: Time,
    /// Encoded bytes of all events of the run up to and with this one.
    pub end: u64,
    /// What happened.
    pub event: Event,
}

/// What happened. 32 bytes; whatever is larger stands behind one `Arc`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The run has begun.
    RunStarted(Arc<RunStarted>),
    /// The run has completed.
    RunCompleted(Arc<Answer>),
    /// The run was cancelled.
    RunCancelled {
        /// The session's revision after it.
        revision: Revision,
        /// Who or what cancelled it.
        cause: CancelCause,
    },
    /// The run has failed.
    RunFailed(Arc<RunFailed>),
    /// The run is put aside as a value; a resumed one goes on (H6).
    RunSuspended {
        /// The session's revision, which it leaves as it is.
        revision: Revision,
        /// How many requests stand open.
        requests: u32,
    },
    /// A run that was suspended goes on.
    RunResumed(Arc<RunStarted>),
    /// The process that carried the run is gone; another one goes on with it (H7).
    RunRecovered {
        /// The session's revision as the run knows it.
        revision: Revision,
    },
    /// A step has begun.
    StepStarted {
        /// Which, from 1.
        step: u32,
        /// Estimate over history and tool schemas, for display.
        estimated_context_tokens: u64,
    },
    /// A step is done.
    StepCompleted {
        /// Which.
        step: u32,
    },
    /// A step ended with the run's failure.
    StepFailed {
        /// Which.
        step: u32,
    },
    /// A step ended with the run's cancellation.
    StepCancelled {
        /// Which.
        step: u32,
    },
    /// An attempt has begun.
    ModelStarted(Arc<ModelStarted>),
    /// An attempt brought a whole response.
    ModelCompleted(Arc<ModelCompleted>),
    /// An attempt has failed.
    ModelFailed(Arc<ModelFailed>),
    /// An attempt was ended from outside.
    ModelCancelled {
        /// Its operation.
        op: OpId,
        /// Which attempt of the model call.
        attempt: u32,
        /// Whether it had yielded anything.
        position: Position,
    },
    /// A piece of the answer.
    TextDelta(Text),
    /// A piece of a refusal.
    RefusalDelta(Text),
    /// A piece of raw reasoning.
    ReasoningDelta(Text),
    /// A piece of a reasoning summary.
    ReasoningSummaryDelta(Text),
    /// A piece of a tool call that is being written.
    ToolCallDelta(Arc<ToolCallDelta>),
    /// What the last attempt showed is void; another follows (R4).
    StreamReset(Arc<StreamReset>),
    /// An adapter repeats a physical request within the attempt (R8).
    RequestRetry {
        /// Why.
        kind: ProblemKind,
        /// The wait before it.
        delay: Duration,
    },
    /// The provider handed over material to be sent back; the material itself is no event.
    ContextUpdated {
        /// What it is, in the codec's terms.
        kind: Text,
    },
    /// The provider searches the web.
    WebSearch {
        /// What it searches.
        detail: Text,
    },
    /// The provider runs a tool of its own.
    HostedTool(Arc<HostedTool>),
    /// A fact for operators (M5).
    Diagnostic(Arc<Diagnostic>),
    /// Usage of a physical request, cumulative within it (R5).
    UsageUpdated(Arc<UsageUpdated>),
    /// The model asked for a call.
    ToolProposed(Arc<ToolCall>),
    /// The tool's code is entered.
    ToolStarted(Arc<ToolCall>),
    /// The tool reports progress.
    ToolUpdated(Arc<ToolUpdated>),
    /// The call has its one result.
    ToolFinished(Arc<ToolResult>),
    /// Something is asked of people or of the host (H1).
    HostInputRequested(Arc<HostRequest>),
    /// A request has its answer.
    HostInputAnswered(Arc<HostAnswered>),
    /// A request got no answer.
    HostInputFailed(Arc<HostFailed>),
    /// A request is not needed any more.
    HostInputCancelled(Arc<HostRequest>),
    /// The provider has acknowledged an input that people added during its turn (H4).
    SteeringDelivered(SteerId),
    /// An input that people added crosses into history (H4).
    SteeringApplied(SteerId),
    /// Boundary input is committed (B7).
    BoundaryApplied(Arc<BoundaryApplied>),
    /// The compactor is about to be asked (E11).
    CompactionStarted {
        /// How many messages it is to replace.
        messages: u32,
        /// Estimate over history and tool schemas, with what providers have reported.
        estimated_context_tokens: u64,
        /// What set it off.
        trigger: Trigger,
    },
    /// The history was replaced, and that is committed.
    CompactionCompleted(Arc<CompactionCompleted>),
    /// The history is as it was (K4).
    CompactionFailed(Arc<CompactionFailed>),
    /// The run has ended before the compactor.
    CompactionCancelled,
    /// A compaction is wanted, and none is tried any more: too many in a row have failed (K4).
    CompactionStopped {
        /// How many.
        failures: u32,
        /// Estimate over history and tool schemas, with what providers have reported.
        estimated_context_tokens: u64,
    },
}

/// Payload of `boundary.applied`; the run is named by the envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundaryApplied {
    /// The session.
    pub session: SessionId,
    /// Where the run stood.
    pub boundary: Boundary,
    /// The session's revision with the input in it.
    pub revision: Revision,
}

/// Payload of `compaction.completed`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionCompleted {
    /// The session's revision with the replacement in it.
    pub revision: Revision,
    /// How many messages the history has.
    pub messages: u32,
    /// By how many it has become shorter.
    pub removed: u32,
    /// Estimate over what is left, tool schemas included.
    pub estimated_context_tokens: u64,
    /// Tokens that the compactor took.
    pub usage: Usage,
}

/// Payload of `compaction.failed`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionFailed {
    /// Why; its text is cut to 512 encoded bytes on the wire.
    pub error: CompactionError,
    /// Tokens that the compactor took nevertheless.
    pub usage: Usage,
}

/// Payload of `host_input.answered`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostAnswered {
    /// The request.
    pub request: Arc<HostRequest>,
    /// The answer; absent where the question is secret. The content of a call's result is kept out of the encoding.
    pub answer: Option<HostAnswer>,
    /// Who gave it.
    pub source: AnswerSource,
}

/// Payload of `host_input.failed`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFailed {
    /// The request.
    pub request: Arc<HostRequest>,
    /// Why there is no answer.
    pub error: AskError,
}

/// Payload of `run.started`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunStarted {
    /// The session.
    pub session: SessionId,
    /// Its revision before the run.
    pub revision: Revision,
    /// The model's name, cut to 256 encoded bytes.
    pub model: Text,
}

/// Payload of `run.failed`: a shortened view of the outcome's error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFailed {
    /// The error; its text is cut to 512 encoded bytes on the wire.
    pub error: Arc<RunError>,
    /// The session's revision after the run.
    pub revision: Revision,
}

/// Payload of `model.started`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelStarted {
    /// The operation; each attempt has its own.
    pub op: OpId,
    /// Its step.
    pub step: u32,
    /// Which attempt of the model call, from 1.
    pub attempt: u32,
    /// The model's name, cut to 256 encoded bytes.
    pub model: Text,
}

/// Payload of `model.completed`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelCompleted {
    /// The operation.
    pub op: OpId,
    /// Which attempt.
    pub attempt: u32,
    /// Why the provider stopped.
    pub completion: Completion,
    /// Usage of the attempt's last physical request.
    pub usage: Usage,
    /// How it went.
    pub metrics: Metrics,
}

/// How an attempt went (T7). Waits and back-pressure do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// All output tokens, as the provider counts them.
    pub output_tokens: Option<u64>,
    /// Those that fall into the generation time; absent: take the total.
    pub generation_output_tokens: Option<GenerationTokens>,
    /// From the attempt's start to its first text, reasoning or call.
    pub time_to_first_token: Option<Duration>,
    /// From the first text, reasoning or call to the end.
    pub generation_time: Option<Duration>,
}

/// Payload of `model.failed`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelFailed {
    /// The operation.
    pub op: OpId,
    /// Which attempt.
    pub attempt: u32,
    /// What went wrong; its text is cut to 512 encoded bytes on the wire.
    pub problem: Problem,
    /// Whether it had yielded anything (M6).
    pub position: Position,
}

/// Whether an attempt had yielded anything when it ended (M6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Position {
    /// Nothing was recorded of it.
    Pristine,
    /// Something was.
    Partial,
}

impl Position {
    /// The position's stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pristine => "pristine",
            Self::Partial => "partial",
        }
    }
}

/// Payload of `tool_call.delta`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCallDelta {
    /// The call that is being written.
    pub call: CallRef,
    /// The tool's name, where this piece brought it; cut to 256 encoded bytes.
    pub name: Option<Text>,
    /// More of the arguments' text.
    pub arguments: Text,
}

/// Payload of `provider.stream_reset` (R4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamReset {
    /// Why.
    pub reason: ResetReason,
    /// Whether the abandoned attempt had shown anything.
    pub position: Position,
}

/// Why another attempt follows (R4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResetReason {
    /// The response broke the stream union.
    InvalidResponse,
    /// The context was too large; it is compacted before the next attempt (K5).
    ContextOverflow,
    /// The failure may pass.
    RetryableFailure {
        /// What it was.
        kind: ProblemKind,
        /// The provider's wish for a wait, if it had one.
        retry_after: Option<Duration>,
    },
}

/// Payload of `provider.hosted_tool` (R8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostedTool {
    /// The tool's name.
    pub name: Text,
    /// What it does.
    pub detail: Text,
}

/// Payload of `provider.diagnostic`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Namespaced name.
    pub name: Text,
    /// Its value.
    pub value: Text,
}

/// Payload of `usage.updated` (R5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageUpdated {
    /// The attempt's operation.
    pub op: OpId,
    /// Which physical request of the attempt, from 1.
    pub request: u32,
    /// What it used so far.
    pub usage: Usage,
}

/// Payload of `tool.updated`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolUpdated {
    /// The call.
    pub call: Arc<ToolCall>,
    /// Progress for people.
    pub progress: Text,
}

impl Event {
    /// The event's kind.
    pub const fn kind(&self) -> EventKind {
        match self {
            Self::RunStarted(_) => EventKind::RunStarted,
            Self::RunCompleted(_) => EventKind::RunCompleted,
            Self::RunCancelled { .. } => EventKind::RunCancelled,
            Self::RunFailed(_) => EventKind::RunFailed,
            Self::StepStarted { .. } => EventKind::StepStarted,
            Self::StepCompleted { .. } => EventKind::StepCompleted,
            Self::StepFailed { .. } => EventKind::StepFailed,
            Self::StepCancelled { .. } => EventKind::StepCancelled,
            Self::ModelStarted(_) => EventKind::ModelStarted,
            Self::ModelCompleted(_) => EventKind::ModelCompleted,
            Self::ModelFailed(_) => EventKind::ModelFailed,
            Self::ModelCancelled { .. } => EventKind::ModelCancelled,
            Self::TextDelta(_) | Self::RefusalDelta(_) => EventKind::TextDelta,
            Self::ReasoningDelta(_) => EventKind::ReasoningDelta,
            Self::ReasoningSummaryDelta(_) => EventKind::ReasoningSummaryDelta,
            Self::ToolCallDelta(_) => EventKind::ToolCallDelta,
            Self::StreamReset(_) => EventKind::ProviderStreamReset,
            Self::RequestRetry { .. } => EventKind::ProviderRequestRetry,
            Self::ContextUpdated { .. } => EventKind::ProviderContextUpdated,
            Self::WebSearch { .. } => EventKind::ProviderWebSearch,
            Self::HostedTool(_) => EventKind::ProviderHostedTool,
            Self::Diagnostic(_) => EventKind::ProviderDiagnostic,
            Self::UsageUpdated(_) => EventKind::UsageUpdated,
            Self::ToolProposed(_) => EventKind::ToolProposed,
            Self::ToolStarted(_) => EventKind::ToolStarted,
            Self::ToolUpdated(_) => EventKind::ToolUpdated,
            Self::ToolFinished(_) => EventKind::ToolFinished,
            Self::RunSuspended { .. } => EventKind::RunSuspended,
            Self::RunResumed(_) => EventKind::RunResumed,
            Self::RunRecovered { .. } => EventKind::RunRecovered,
            Self::HostInputRequested(_) => EventKind::HostInputRequested,
            Self::HostInputAnswered(_) => EventKind::HostInputAnswered,
            Self::HostInputFailed(_) => EventKind::HostInputFailed,
            Self::HostInputCancelled(_) => EventKind::HostInputCancelled,
            Self::SteeringDelivered(_) => EventKind::SteeringDelivered,
            Self::SteeringApplied(_) => EventKind::SteeringApplied,
            Self::BoundaryApplied(_) => EventKind::BoundaryApplied,
            Self::CompactionStarted { .. } => EventKind::CompactionStarted,
            Self::CompactionCompleted(_) => EventKind::CompactionCompleted,
            Self::CompactionFailed(_) => EventKind::CompactionFailed,
            Self::CompactionCancelled => EventKind::CompactionCancelled,
            Self::CompactionStopped { .. } => EventKind::CompactionStopped,
        }
    }

    /// Whether this is the run's last event.
    pub const fn is_terminal(&self) -> bool {
        self.kind().is_terminal()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn events_stay_small() {
        assert!(size_of::<super::Event>() <= 32, "{}", size_of::<super::Event>());
        assert!(size_of::<super::Envelope>() <= 56);
    }
}
