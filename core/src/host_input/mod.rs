//! What a run asks people, or the program that embeds it: approvals, questions of tools, calls that a client executes
//! (H1, H2, T2).

mod answer;
mod question;
mod shape;

pub use answer::{AnswerError, HostAnswer, Refusal};
pub use question::{Choice, Form, MAX_PROMPTS, Prompt, Question, QuestionError, Questionnaire};
pub use shape::{Field, MAX_SHAPE_DEPTH, Shape, ShapeError};

use crate::id::RequestId;
use crate::message::ToolCall;
use crate::text::Text;
use crate::tool::Binding;
use alloc::sync::Arc;
use core::time::Duration;

/// A request that stands open until it is answered, fails or is cancelled. It is asked once.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostRequest {
    /// Names it in its run; an answer quotes it.
    pub id: RequestId,
    /// The call that it belongs to.
    pub call: Arc<ToolCall>,
    /// What is asked.
    pub kind: RequestKind,
    /// How long it stood open at most, from the event that asked it on; absent: as long as the run.
    pub timeout: Option<Duration>,
}

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestKind {
    /// Whether the call may run (T2).
    Approval {
        /// Hash of call, name and arguments: what the consent is about.
        binding: Binding,
        /// Why it is asked, in the words of the policy; may be empty.
        reason: Text,
    },
    /// What the call's tool wants to know (H1).
    Question(Arc<Question>),
    /// The result of the call, which the client executes.
    Call,
}

impl RequestKind {
    /// The kind's stable name.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Approval { .. } => "approval",
            Self::Question(_) => "question",
            Self::Call => "call",
        }
    }
}

/// Who gave an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerSource {
    /// Someone who holds the run's handle.
    Handle,
    /// The host's responder.
    Responder,
    /// Nobody in time: the question brought this answer along.
    Fallback,
    /// The same answer to an equal request, which was to be remembered.
    Remembered,
}

impl AnswerSource {
    /// The source's stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Handle => "handle",
            Self::Responder => "responder",
            Self::Fallback => "fallback",
            Self::Remembered => "remembered",
        }
    }
}

/// Why a request got no answer; its asker is told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The request's id was used in this batch before (H1).
    #[error("the request id {0:?} was used before")]
    DuplicateId(RequestId),
    /// The question breaks a bound or contradicts itself.
    #[error(transparent)]
    Invalid(#[from] QuestionError),
    /// So many requests stand open, or were asked in this batch, that no further one is taken.
    #[error("{limit} requests were asked already")]
    TooMany {
        /// The bound.
        limit: usize,
    },
    /// There is neither a handle nor a responder that could answer (H2).
    #[error("nobody can answer: the run has neither a handle nor a responder")]
    NoResponder,
    /// Nobody answered in time.
    #[error("nobody answered within {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// Whoever was asked does not want to answer.
    #[error("the question was {}", .0.as_str())]
    Refused(Refusal),
    /// The call is over.
    #[error("the call that asked is over")]
    Gone,
}

impl AskError {
    /// The error's stable name.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::DuplicateId(_) => "duplicate_id",
            Self::Invalid(_) => "invalid",
            Self::TooMany { .. } => "too_many",
            Self::NoResponder => "no_responder",
            Self::TimedOut(_) => "timed_out",
            Self::Refused(_) => "refused",
            Self::Gone => "gone",
        }
    }
}

/// Why an answer was not taken; nothing has changed (H2).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RespondError {
    /// No request of this run has the id.
    #[error("no request has the id {0:?}")]
    Unknown(RequestId),
    /// The request has its answer, or has failed.
    #[error("the request {0:?} was answered before")]
    AlreadyAnswered(RequestId),
    /// The answer does not have the shape that was asked for; the request stands open.
    #[error("the answer to {id:?} is not valid: {error}")]
    Invalid {
        /// The request.
        id: RequestId,
        /// What is wrong.
        error: AnswerError,
    },
    /// The call that asked is over.
    #[error("the call that asked {0:?} is over")]
    RequesterGone(RequestId),
    /// The run has ended, or is suspended.
    #[error("the run takes no answers any more")]
    NotAccepting,
}
