//! The authoritative result of a run (E14, C4).

use crate::compaction::ContextState;
use crate::error::RunError;
use crate::history::History;
use crate::id::{OpId, Revision, Seq};
use crate::input::AbortCause;
use crate::observe::DurabilityError;
use crate::steer::Steer;
use crate::suspend::Suspended;
use crate::text::Text;
use crate::tool::{Approvals, ToolEnd};
use crate::usage::Usage;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Why a completed run stopped (R9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum StopReason {
    /// The model ended its turn.
    EndTurn,
    /// The step limit was reached; progress is committed.
    MaxSteps,
    /// The output limit was reached.
    MaxTokens,
    /// The model refused, or a content filter cut its answer.
    Refusal,
}

impl StopReason {
    /// The reason's stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EndTurn => "end_turn",
            Self::MaxSteps => "max_steps",
            Self::MaxTokens => "max_tokens",
            Self::Refusal => "refusal",
        }
    }
}

/// A completed run's result; `run.completed` carries exactly this.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// The text of the last response.
    pub text: Text,
    /// Why the run stopped.
    pub stop_reason: StopReason,
    /// Tokens of the successful responses.
    pub usage: Usage,
    /// The session's revision with this run in it.
    pub revision: Revision,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunResult {
    /// It completed.
    Completed(Arc<Answer>),
    /// It was cancelled.
    Cancelled(CancelCause),
    /// It failed.
    Failed(Arc<RunError>),
    /// It was put aside as this value, and can go on from it (H6). Nothing is committed.
    Suspended(Arc<Suspended>),
}

/// What cancelled a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum CancelCause {
    /// A cancel command or a tripped token.
    Requested,
    /// The handle was dropped.
    HandleDropped,
    /// The driver was dropped.
    DriverDropped,
    /// The engine was shut down.
    Shutdown,
}

impl CancelCause {
    /// The cause's stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::HandleDropped => "handle_dropped",
            Self::DriverDropped => "driver_dropped",
            Self::Shutdown => "shutdown",
        }
    }

    /// The cause that an abort amounts to; `None` for one that is a failure.
    pub(crate) const fn of(cause: AbortCause) -> Option<Self> {
        match cause {
            AbortCause::HandleDropped => Some(Self::HandleDropped),
            AbortCause::DriverDropped => Some(Self::DriverDropped),
            AbortCause::Shutdown => Some(Self::Shutdown),
            AbortCause::DriverPanicked | AbortCause::ProcessLost => None,
        }
    }
}

/// A tool's end that came after its operation was abandoned (C6): not applied, kept for the host.
#[derive(Clone, Debug, PartialEq)]
pub struct LateCompletion {
    /// The operation.
    pub op: OpId,
    /// What the tool said.
    pub end: ToolEnd,
}

/// The authoritative result of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// How it ended.
    pub result: RunResult,
    /// Tokens of the successful responses (R5).
    pub usage: Usage,
    /// Tokens of all physical requests, abandoned ones included: what is billed (R5).
    pub billed: Usage,
    /// What the session remembers to have been consented to after this run (T2).
    pub approvals: Approvals,
    /// Inputs that people added and that are not in the history, in the order in which they came (H5).
    pub unapplied: Vec<Arc<Steer>>,
    /// What is known about the size of the context, for the session's next run (K1).
    pub context: ContextState,
    /// The last few completions that came too late to be applied (C6).
    pub late: Vec<LateCompletion>,
    /// What required observers have not accepted of the end of the record; the result stands all the same (L5).
    pub durability: Option<DurabilityError>,
    /// The session's revision after this run.
    pub revision: Revision,
    /// The terminal event.
    pub last_seq: Seq,
    /// The session's history after this run.
    pub history: History,
}

impl Outcome {
    /// The answer of a completed run, else the typed error; for `?`.
    ///
    /// # Errors
    ///
    /// [`Ended`] says how else the run has ended.
    pub fn into_result(self) -> Result<Arc<Answer>, Ended> {
        match self.result {
            RunResult::Completed(answer) => Ok(answer),
            RunResult::Cancelled(cause) => Err(Ended::Cancelled(cause)),
            RunResult::Failed(error) => Err(Ended::Failed(error)),
            RunResult::Suspended(value) => Err(Ended::Suspended(value)),
        }
    }

    /// The answer of a completed run.
    pub fn answer(&self) -> Option<&Answer> {
        match &self.result {
            RunResult::Completed(answer) => Some(answer),
            RunResult::Cancelled(_) | RunResult::Failed(_) | RunResult::Suspended(_) => None,
        }
    }
}

/// A run's end other than completion.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Ended {
    /// The run was cancelled.
    #[error("the run was cancelled ({})", .0.as_str())]
    Cancelled(CancelCause),
    /// The run failed.
    #[error(transparent)]
    Failed(Arc<RunError>),
    /// The run was suspended.
    #[error("the run is suspended")]
    Suspended(Arc<Suspended>),
}
