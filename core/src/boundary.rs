//! What a host has to tell the model between steps, and that no human typed (B1-B7).

use crate::history::HistoryError;
use crate::id::{RunId, SessionId};
use crate::message::{MessageError, Part};
use alloc::vec::Vec;

/// Where a run asks for input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Boundary {
    /// Before a step asks the model.
    BeforeProvider,
    /// Before the response that ends the model's turn completes the run.
    BeforeCompletion,
}

impl Boundary {
    /// The boundary's stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BeforeProvider => "before_provider",
            Self::BeforeCompletion => "before_completion",
        }
    }
}

/// A question to the host's source of boundary inputs. The run waits for the answer (B2).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BoundaryRequest {
    /// The session.
    pub session: SessionId,
    /// The run.
    pub run: RunId,
    /// Where it stands.
    pub boundary: Boundary,
    /// The last step that was begun; 0 before the first.
    pub step: u32,
}

/// What a source answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoundaryAnswer {
    /// Input; without a part, or with empty text only, there is none, and nothing is committed.
    Input(Vec<Part>),
    /// The source is gone, or has dropped the question: silence is not consent to finish (B6).
    Lost,
}

/// Why boundary input was not accepted. The question stands open then, and can be answered otherwise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BoundaryError {
    /// A part is misplaced, or there is more than a bound allows.
    #[error(transparent)]
    Invalid(#[from] MessageError),
    /// The history has no room for it.
    #[error(transparent)]
    History(#[from] HistoryError),
}
