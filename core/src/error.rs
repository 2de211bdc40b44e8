//! Errors by fault: the caller's (`Misuse`), the run's end (`RunError`).

use crate::id::{OpId, Seq};
use crate::model::Problem;
use crate::suspend::ResumeError;
use crate::text::Text;
use crate::time::Time;

/// The caller broke the machine's contract. Nothing has changed and nothing was recorded (W1).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misuse {
    /// The first input must be `Start`.
    #[error("{input}: the run has not been started")]
    NotStarted {
        /// The refused input.
        input: &'static str,
    },
    /// A run starts once.
    #[error("the run has been started already")]
    AlreadyStarted,
    /// The run's input is out of bounds, or its history is not at rest (M1, M4).
    #[error("the run cannot start: {0}")]
    InvalidStart(Text),
    /// An item of work that the machine never asked for.
    #[error("{input}: operation {op} was never begun")]
    UnknownOp {
        /// The refused input.
        input: &'static str,
        /// Its operation.
        op: OpId,
    },
    /// An item of another kind of work than the operation is.
    #[error("{input}: operation {op} is work of another kind")]
    WrongKind {
        /// The refused input.
        input: &'static str,
        /// Its operation.
        op: OpId,
    },
    /// A tool reported before it said that it started, or said so twice.
    #[error("tool operation {op} reports out of order")]
    OutOfOrder {
        /// Its operation.
        op: OpId,
    },
    /// The suspended run cannot go on here (H6).
    #[error("the run cannot be resumed: {0}")]
    InvalidResume(ResumeError),
    /// The primary reader claims events that do not exist.
    #[error("events up to {claimed} were claimed as taken, but the last one is {last}")]
    TakenAhead {
        /// What was claimed.
        claimed: Seq,
        /// The last event.
        last: Seq,
    },
    /// The machine panicked before; nothing steps it again (X5).
    #[error("the run was closed after a panic")]
    Poisoned,
}

/// Why a run failed: terminal, typed, authoritative.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The model call failed for good.
    #[error("{}", .problem.message)]
    Model {
        /// The last problem.
        problem: Problem,
        /// How many attempts were made.
        attempts: u32,
        /// When another run may succeed, if the provider said so (R7).
        retry_at: Option<Time>,
        /// The host's pointer to usage pages, for rate limits (R7).
        limits_pointer: Option<Text>,
    },
    /// A model call took longer than its deadline.
    #[error("the model call took longer than its deadline")]
    ModelCallDeadline,
    /// The run took longer than its deadline.
    #[error("the run took longer than its deadline")]
    RunDeadline,
    /// Several turns in a row had arguments that do not parse (M7).
    #[error("{turns} turns in a row had tool arguments that do not parse")]
    InvalidArguments {
        /// How many.
        turns: u32,
    },
    /// A fatal tool's infrastructure failed (T3).
    #[error("tool {tool} failed: {message}")]
    Tool {
        /// The tool's name.
        tool: Text,
        /// What it said.
        message: Text,
    },
    /// The split-off primary stream is gone (C9).
    #[error("the reader of the run's events is gone")]
    Interrupted,
    /// The process that carried the run is gone, and the host closed it (H7).
    #[error("the process that carried the run is gone")]
    Orphaned,
    /// The source of boundary inputs is gone, or has dropped a question unanswered (B6).
    #[error("the source of boundary inputs is gone")]
    BoundaryLost,
    /// A required observer did not accept an event, or panicked (L5).
    #[error("required observer {observer} did not accept event {seq}: {message}")]
    Observer {
        /// Which, in the order of construction, from 0.
        observer: u32,
        /// The event; it stays recorded.
        seq: Seq,
        /// What the observer said, cleaned and cut.
        message: Text,
    },
    /// The session's history has no room for another step.
    #[error("the history is full: {0}")]
    HistoryFull(crate::history::HistoryError),
    /// The driver, its timer or its transport panicked.
    #[error("the driver panicked")]
    DriverPanicked,
    /// A defect of the machine; it closed its log from its ledger of open items (X5).
    #[error("the run was closed after an internal error")]
    Internal,
}

impl RunError {
    /// The error's stable code, as in `run.failed`.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Model { problem, .. } => problem.kind.as_str(),
            Self::ModelCallDeadline => "model_call_deadline",
            Self::RunDeadline => "run_deadline",
            Self::InvalidArguments { .. } => "invalid_arguments",
            Self::Tool { .. } => "tool_failed",
            Self::Interrupted => "consumer_gone",
            Self::Orphaned => "interrupted",
            Self::BoundaryLost => "boundary_lost",
            Self::Observer { .. } => "observer_failed",
            Self::HistoryFull(_) => "history_full",
            Self::DriverPanicked => "driver_panicked",
            Self::Internal => "internal",
        }
    }

    /// Whether another run may succeed.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Model { problem, .. } => problem.is_retryable(),
            Self::ModelCallDeadline | Self::RunDeadline | Self::Interrupted | Self::Orphaned => true,
            Self::Tool { .. }
            | Self::InvalidArguments { .. }
            | Self::BoundaryLost
            | Self::Observer { .. }
            | Self::HistoryFull(_)
            | Self::DriverPanicked
            | Self::Internal => false,
        }
    }
}
