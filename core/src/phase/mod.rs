//! The phases of a run, one a file, and how one follows another.
//!
//! ```text
//! start -> [compact] -> [boundary] -> model -> (backoff | compact -> model)* -> batch -> [compact] -> ...
//!                                       \-> [boundary] -> closed
//! ```

pub(crate) mod backoff;
pub(crate) mod batch;
pub(crate) mod boundary;
pub(crate) mod closing;
pub(crate) mod compact;
pub(crate) mod model;
mod result;

pub(crate) use result::invalid_arguments;

use crate::assemble::Response;
use crate::error::RunError;
use crate::model::{Completion, Problem};
use crate::outcome::{CancelCause, StopReason};
use crate::text::Text;
use crate::time::Time;
use alloc::boxed::Box;

/// Where a run stands.
#[derive(Clone, Debug)]
pub(crate) enum Phase {
    /// Not started.
    New,
    /// A model call with an attempt under way.
    Model(Box<model::ModelCall>),
    /// A model call that waits for its next attempt.
    Backoff(Box<model::ModelCall>, Time),
    /// The calls of a response.
    Batch(Box<batch::Batch>),
    /// The wait for boundary input.
    Boundary(Box<boundary::Checkpoint>),
    /// A compaction.
    Compact(Box<compact::Compacting>),
    /// The terminal event is recorded.
    Closed,
}

/// What a phase makes of an input.
#[derive(Debug)]
pub(crate) enum Flow {
    /// The phase goes on.
    Stay,
    /// A whole response came.
    Respond(Box<Response>, Completion),
    /// Another attempt follows at this time.
    RetryAt(Time),
    /// Another attempt follows at once.
    RetryNow,
    /// Every call of the batch has its result.
    Settled,
    /// The context was too large: it is compacted before the next attempt.
    Overflow(Box<Problem>),
    /// The compaction is over; whether the history was replaced.
    Compacted(bool),
    /// The run ends.
    End(Ending),
}

/// How a run ends.
#[derive(Clone, Debug)]
pub(crate) enum Ending {
    /// With an answer.
    Completed(StopReason, Text),
    /// Cancelled.
    Cancelled(CancelCause),
    /// Failed, with a commit.
    Failed(RunError),
    /// By the loss of its reader: without a commit (C9).
    Interrupted,
}
