//! What goes wrong in an agent's run, each with its stable code (V2).

use crate::core::agui::{ProtocolError, VerificationError};
use crate::token::Cancelled;

/// The result of whatever a run's context does.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What every method of a [`RunContext`](super::RunContext) may fail with, and what an agent returns (V2).
///
/// Where one escapes the agent, its text and code become the run's `RUN_ERROR`; a cancellation ends the run as
/// cancelled (V6, V8).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A type of the protocol refused a value, such as an interrupt outcome without a question.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// State, arguments, a result or an activity could not be converted to or from JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The event would have broken the order of the stream. It was not sent, and changed nothing.
    #[error(transparent)]
    Verification(Box<VerificationError>),
    /// The run was cancelled.
    #[error("the run was cancelled")]
    Cancelled,
    /// Nobody reads any more: the stream was dropped, or the run has its end already.
    #[error("nobody reads the events any more")]
    Disconnected,
    /// Too much is unread for an event that does not wait; see [`RunContext::ready`](super::RunContext::ready).
    #[error("{events} events are unread, and no more fit: await `ready` between them")]
    QueueFull {
        /// How many events are unread.
        events: usize,
    },
    /// The agent's own failure; see [`Error::agent`].
    #[error("agent error: {0}")]
    Agent(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// A failure of the agent's own: a text, or any error. Reads `agent error: …`.
    pub fn agent(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Agent(error.into())
    }

    /// The stable code that `RUN_ERROR` carries.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Protocol(_) => "PROTOCOL",
            Self::Json(_) => "SERIALIZATION",
            Self::Verification(_) => "PROTOCOL_VIOLATION",
            Self::Cancelled => CANCELLED,
            Self::Disconnected => "DISCONNECTED",
            Self::QueueFull { .. } => "QUEUE_FULL",
            Self::Agent(_) => AGENT_ERROR,
        }
    }

    /// Whether the run was cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled)
    }

    /// Whether nobody reads any more.
    pub fn is_disconnected(&self) -> bool {
        matches!(self, Self::Disconnected)
    }
}

pub(super) const CANCELLED: &str = "CANCELLED";
pub(super) const AGENT_ERROR: &str = "AGENT_ERROR";

impl From<VerificationError> for Error {
    fn from(error: VerificationError) -> Self {
        Self::Verification(Box::new(error))
    }
}

impl From<Cancelled> for Error {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}
