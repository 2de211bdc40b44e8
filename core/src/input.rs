//! Everything that can happen to a run.

use crate::history::History;
use crate::id::{CommandId, OpId, Revision, Seq, SessionId};
use crate::message::Part;
use crate::model::{ModelItem, ModelSpec};
use crate::tool::{ToolItem, ToolSpec, Verdict};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// A fact or a command for [`Run::step`](crate::Run::step). At most 48 bytes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Input {
    /// The run begins.
    Start(Box<Start>),
    /// End the run cooperatively; the reply says who won (C7).
    Cancel {
        /// Awaits [`Reply::Cancel`](crate::Reply).
        command: CommandId,
    },
    /// End the run because someone who carried it is gone (C8).
    Abort(AbortCause),
    /// Time passed.
    Wake {
        /// Whether the transport, polled at this very time, had nothing (R10).
        quiet: bool,
    },
    /// A model's stream yields.
    Model {
        /// Which operation.
        op: OpId,
        /// What.
        item: ModelItem,
    },
    /// A tool reports.
    Tool {
        /// Which operation.
        op: OpId,
        /// What.
        item: ToolItem,
    },
    /// The approver decides.
    Authorized {
        /// Which operation.
        op: OpId,
        /// What it says.
        verdict: Verdict,
    },
    /// The primary reader has taken events up to here, this one included.
    Taken {
        /// The last one taken.
        through: Seq,
    },
    /// The split-off primary stream is gone (C9).
    ConsumerGone {
        /// Whether someone awaits the outcome, so that the run goes on without a reader.
        awaited: bool,
    },
}

impl Input {
    /// The input's name, as errors print it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Start(_) => "start",
            Self::Cancel { .. } => "cancel",
            Self::Abort(_) => "abort",
            Self::Wake { .. } => "wake",
            Self::Model { .. } => "model",
            Self::Tool { .. } => "tool",
            Self::Authorized { .. } => "authorized",
            Self::Taken { .. } => "taken",
            Self::ConsumerGone { .. } => "consumer_gone",
        }
    }
}

/// What a run begins with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Start {
    /// The session that it answers in.
    pub session: SessionId,
    /// The session's revision.
    pub revision: Revision,
    /// The session's history, at rest.
    pub history: History,
    /// What the user says: text and images.
    pub input: Vec<Part>,
    /// Which model answers.
    pub model: Arc<ModelSpec>,
    /// The tools on offer; names are unique.
    pub tools: Arc<[Arc<ToolSpec>]>,
    /// Whether a primary reader paces the run.
    pub reader: Reader,
    /// Whether the run's token was cancelled before (C2).
    pub cancelled: bool,
}

impl Start {
    /// A run of `session` at `revision` over `history`, with a primary reader and no tools.
    pub fn new(
        session: SessionId,
        revision: Revision,
        history: History,
        input: Vec<Part>,
        model: Arc<ModelSpec>,
    ) -> Self {
        Self {
            session,
            revision,
            history,
            input,
            model,
            tools: Arc::from([]),
            reader: Reader::Primary,
            cancelled: false,
        }
    }

    /// With these tools.
    #[must_use]
    pub fn tools(mut self, tools: impl Into<Arc<[Arc<ToolSpec>]>>) -> Self {
        self.tools = tools.into();
        self
    }

    /// With this reader.
    #[must_use]
    pub fn reader(mut self, reader: Reader) -> Self {
        self.reader = reader;
        self
    }

    /// As cancelled before its start.
    #[must_use]
    pub fn cancelled(mut self, cancelled: bool) -> Self {
        self.cancelled = cancelled;
        self
    }
}

/// Whether someone reads along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A primary reader, whose pace the run keeps (E13).
    Primary,
    /// None: the run never pauses for a reader.
    Unattended,
}

/// Who is gone, or what ended the run from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum AbortCause {
    /// The run's handle was dropped.
    HandleDropped,
    /// The run's driver was dropped.
    DriverDropped,
    /// The driver, its timer or its transport panicked.
    DriverPanicked,
    /// The engine was shut down (C10).
    Shutdown,
}

#[cfg(test)]
mod tests {
    #[test]
    fn inputs_stay_small() {
        assert!(size_of::<super::Input>() <= 48, "{}", size_of::<super::Input>());
    }
}
