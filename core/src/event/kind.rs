//! The stable names of event kinds, and what each opens or closes (E3).

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident => $text:literal, $members:literal, $effect:literal;)*) => {
        /// The kind of an event; its name is stable within a major version (L6).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum EventKind {
            $($(#[$doc])* $name,)*
        }

        impl EventKind {
            /// Every kind, in the order of the contract's table.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The kind's name on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// The payload's members, for the contract's table; `?` marks those that may be absent.
            pub const fn members(self) -> &'static str {
                match self {
                    $(Self::$name => $members,)*
                }
            }

            /// What an event of this kind opens or closes, for the contract's table.
            pub const fn effect(self) -> &'static str {
                match self {
                    $(Self::$name => $effect,)*
                }
            }

            /// The kind of this name.
            pub fn parse(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.as_str() == name)
            }
        }
    };
}

kinds! {
    /// `run.started`
    RunStarted => "run.started", "model, revision, session_id", "opens the run";
    /// `run.completed`
    RunCompleted => "run.completed", "answer, revision, stop_reason, usage", "closes the run";
    /// `run.cancelled`
    RunCancelled => "run.cancelled", "cause, revision", "closes the run";
    /// `run.failed`
    RunFailed => "run.failed", "code, limits?, message, retry_at?, retryability, revision", "closes the run";
    /// `run.suspended`
    RunSuspended => "run.suspended", "requests, revision", "ends this part of the run";
    /// `run.resumed`
    RunResumed => "run.resumed", "model, revision, session_id", "begins the next part of the run";
    /// `run.recovered`
    RunRecovered => "run.recovered", "revision", "";
    /// `step.started`
    StepStarted => "step.started", "estimated_context_tokens, step", "opens the step";
    /// `step.completed`
    StepCompleted => "step.completed", "step", "closes the step";
    /// `step.failed`
    StepFailed => "step.failed", "step", "closes the step";
    /// `step.cancelled`
    StepCancelled => "step.cancelled", "step", "closes the step";
    /// `model.started`
    ModelStarted => "model.started", "attempt, model, op, step", "opens the attempt";
    /// `model.completed`
    ModelCompleted => "model.completed", "attempt, finish?, metrics, op, raw_finish?, usage", "closes the attempt";
    /// `model.failed`
    ModelFailed => "model.failed", "attempt, op, position, problem{kind, message, retry_after_us?, status?}",
        "closes the attempt";
    /// `model.cancelled`
    ModelCancelled => "model.cancelled", "attempt, op, position", "closes the attempt";
    /// `text.delta`
    TextDelta => "text.delta", "refusal?, text", "";
    /// `reasoning.delta`
    ReasoningDelta => "reasoning.delta", "text", "";
    /// `reasoning.summary_delta`
    ReasoningSummaryDelta => "reasoning.summary_delta", "text", "";
    /// `tool_call.delta`
    ToolCallDelta => "tool_call.delta", "arguments, name?, ordinal, step", "";
    /// `provider.stream_reset`
    ProviderStreamReset => "provider.stream_reset", "kind?, position, reason, retry_after_us?",
        "voids the attempt before it";
    /// `provider.request_retry`
    ProviderRequestRetry => "provider.request_retry", "delay_us, kind", "";
    /// `provider.context_updated`
    ProviderContextUpdated => "provider.context_updated", "kind", "";
    /// `provider.web_search`
    ProviderWebSearch => "provider.web_search", "detail", "";
    /// `provider.hosted_tool`
    ProviderHostedTool => "provider.hosted_tool", "detail, name", "";
    /// `provider.diagnostic`
    ProviderDiagnostic => "provider.diagnostic", "name, value", "";
    /// `usage.updated`
    UsageUpdated => "usage.updated", "op, request, usage", "";
    /// `tool.proposed`
    ToolProposed => "tool.proposed", "arguments, call_id, name, ordinal, step", "opens the call";
    /// `tool.started`
    ToolStarted => "tool.started", "call_id, name, ordinal, step", "";
    /// `tool.updated`
    ToolUpdated => "tool.updated", "call_id, ordinal, progress, step", "";
    /// `tool.finished`
    ToolFinished => "tool.finished", "call_id, content, name, ordinal, status, step", "closes the call";
    /// `host_input.requested`
    HostInputRequested => "host_input.requested",
        "binding?, call_id, form?, kind, ordinal, reason?, request_id, step, timeout_us?", "opens the request";
    /// `host_input.answered`
    HostInputAnswered => "host_input.answered", "answer?, call_id, ordinal, request_id, source, step",
        "closes the request";
    /// `host_input.failed`
    HostInputFailed => "host_input.failed", "call_id, ordinal, reason, request_id, step", "closes the request";
    /// `host_input.cancelled`
    HostInputCancelled => "host_input.cancelled", "call_id, ordinal, request_id, step", "closes the request";
    /// `steering.delivered`
    SteeringDelivered => "steering.delivered", "steer_id", "";
    /// `steering.applied`
    SteeringApplied => "steering.applied", "steer_id", "";
    /// `boundary.applied`
    BoundaryApplied => "boundary.applied", "boundary, revision, session_id", "";
    /// `compaction.started`
    CompactionStarted => "compaction.started", "estimated_context_tokens, messages, trigger", "opens the compaction";
    /// `compaction.completed`
    CompactionCompleted => "compaction.completed", "estimated_context_tokens, messages, removed, revision, usage",
        "closes the compaction";
    /// `compaction.failed`
    CompactionFailed => "compaction.failed", "code, message, usage", "closes the compaction";
    /// `compaction.cancelled`
    CompactionCancelled => "compaction.cancelled", "", "closes the compaction";
    /// `compaction.stopped`
    CompactionStopped => "compaction.stopped", "estimated_context_tokens, failures", "";
}

impl EventKind {
    /// Whether this kind ends a run (E2).
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::RunCompleted | Self::RunCancelled | Self::RunFailed)
    }
}
