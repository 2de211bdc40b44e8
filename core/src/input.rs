//! Everything that can happen to a run.

use crate::boundary::BoundaryAnswer;
use crate::compaction::{Compaction, CompactionFault, ContextState};
use crate::history::History;
use crate::host_input::HostAnswer;
use crate::id::{CommandId, OpId, RequestId, Revision, Seq, SessionId, SteerId};
use crate::message::Part;
use crate::model::{ModelItem, ModelSpec};
use crate::observe::ObserverFault;
use crate::suspend::Resume;
use crate::tool::{Approvals, Preparation, ToolFault, ToolItem, ToolSpec, ToolVisibility, Verdict};
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
    /// A tool has looked at a call before it is scheduled, or has failed to.
    Prepared {
        /// Which operation.
        op: OpId,
        /// What it says.
        result: Result<Box<Preparation>, Box<ToolFault>>,
    },
    /// The approver decides.
    Authorized {
        /// Which operation.
        op: OpId,
        /// What it says.
        verdict: Verdict,
    },
    /// The host's responder answers, or has no answer and leaves the request to whoever else may answer (H2).
    Responded {
        /// Which operation.
        op: OpId,
        /// What it says.
        answer: Option<Box<HostAnswer>>,
    },
    /// Someone who holds the run's handle answers; the reply says whether the answer was taken (H2).
    Respond(Box<Respond>),
    /// Nobody holds a handle any more that could answer; a responder may still (H2).
    HandleGone,
    /// People add input while the run is under way; the reply says whether it was accepted (H3).
    Steer(Box<SteerInput>),
    /// An input that people added is taken back; the reply says what became of it (H3).
    Retract(Box<Retract>),
    /// The source of boundary inputs answers; the reply says whether non-empty input is committed (B4).
    Boundary {
        /// Which operation.
        op: OpId,
        /// Awaits [`Reply::Boundary`](crate::Reply).
        command: CommandId,
        /// What it says.
        answer: BoundaryAnswer,
    },
    /// The compactor has ended.
    Compacted {
        /// Which operation.
        op: OpId,
        /// What stands in the place of the older messages, or why nothing does.
        result: Result<Box<Compaction>, Box<CompactionFault>>,
    },
    /// A required observer has answered (L5).
    Observed {
        /// Which operation.
        op: OpId,
        /// It has accepted all events that it was asked about, or why not.
        result: Result<(), Box<ObserverFault>>,
    },
    /// Put the run aside as a value; the reply says whether it can be (H6).
    Suspend {
        /// Awaits [`Reply::Suspend`](crate::Reply).
        command: CommandId,
    },
    /// A suspended run goes on, in this machine.
    Resume(Box<Resume>),
    /// The process that carried the run is gone; another one goes on with it (H7).
    ///
    /// Nothing that was under way is there any more: the attempt is void and another one follows, preparations, the
    /// approver, the responder, the source and the compactor are asked again, a tool whose code was entered has
    /// `interrupted(outcome_unknown)`, and what waited still waits. A run that has ended stays as it is.
    Recover(Box<Recover>),
    /// Other tools are offered from the next step on.
    Visibility(Box<ToolVisibility>),
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
            Self::Prepared { .. } => "prepared",
            Self::Authorized { .. } => "authorized",
            Self::Responded { .. } => "responded",
            Self::Respond(_) => "respond",
            Self::HandleGone => "handle_gone",
            Self::Steer(_) => "steer",
            Self::Retract(_) => "retract",
            Self::Boundary { .. } => "boundary",
            Self::Compacted { .. } => "compacted",
            Self::Observed { .. } => "observed",
            Self::Suspend { .. } => "suspend",
            Self::Resume(_) => "resume",
            Self::Recover(_) => "recover",
            Self::Visibility(_) => "visibility",
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
    /// What the session remembers to have been consented to (T2).
    pub approvals: Approvals,
    /// Who may answer requests.
    pub answerers: Answerers,
    /// Whether the run is put aside as soon as it waits for answers only (H6).
    pub suspends: bool,
    /// Whether there is a source of boundary inputs (B1).
    pub boundaries: bool,
    /// Whether there is a compactor (K1, K5).
    pub compacts: bool,
    /// How many required observers there are (L5); at most [`MAX_OBSERVERS`](crate::observe::MAX_OBSERVERS).
    pub observers: u32,
    /// What the session knows about the size of its context.
    pub context: ContextState,
}

/// With whom a run goes on after its process was lost (H7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recover {
    /// Whether a primary reader paces the run. It begins behind the events that were recorded before.
    pub reader: Reader,
    /// Who may answer requests.
    pub answerers: Answerers,
    /// How many required observers there are, as in [`Start`]. They are asked about what those before them had not
    /// accepted, as far as the journal tells: an observer may get events again that it has accepted.
    pub observers: u32,
}

impl Recover {
    /// With this reader, these answerers and no required observers.
    pub const fn new(reader: Reader, answerers: Answerers) -> Self {
        Self { reader, answerers, observers: 0 }
    }

    /// With so many required observers.
    #[must_use]
    pub const fn observers(self, observers: u32) -> Self {
        Self { observers, ..self }
    }
}

/// Input that people add while the run is under way (H3).
#[derive(Clone, Debug)]
pub struct SteerInput {
    /// Awaits [`Reply::Steer`](crate::Reply).
    pub command: CommandId,
    /// Names it; absent: the engine makes an id. One that waits or was applied is not taken twice.
    pub id: Option<SteerId>,
    /// Text and images.
    pub parts: Vec<Part>,
}

/// Takes an input back that people added (H3).
#[derive(Clone, Debug)]
pub struct Retract {
    /// Awaits [`Reply::Retract`](crate::Reply).
    pub command: CommandId,
    /// Which.
    pub id: SteerId,
}

/// Who may answer the requests of a run (H2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answerers {
    /// Whether someone holds the run's handle.
    pub handle: bool,
    /// Whether the host has a responder: each request is handed to it as well.
    pub responder: bool,
}

impl Default for Answerers {
    /// A handle, and no responder.
    fn default() -> Self {
        Self { handle: true, responder: false }
    }
}

/// An answer from outside of the run's work.
#[derive(Clone, Debug)]
pub struct Respond {
    /// Awaits [`Reply::Respond`](crate::Reply).
    pub command: CommandId,
    /// Which request.
    pub request: RequestId,
    /// The answer.
    pub answer: HostAnswer,
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
            approvals: Approvals::default(),
            answerers: Answerers::default(),
            suspends: false,
            boundaries: false,
            compacts: false,
            observers: 0,
            context: ContextState::default(),
        }
    }

    /// With a source of boundary inputs, or without.
    #[must_use]
    pub fn boundaries(mut self, boundaries: bool) -> Self {
        self.boundaries = boundaries;
        self
    }

    /// With a compactor, or without.
    #[must_use]
    pub fn compacts(mut self, compacts: bool) -> Self {
        self.compacts = compacts;
        self
    }

    /// With so many required observers.
    #[must_use]
    pub fn observers(mut self, observers: u32) -> Self {
        self.observers = observers;
        self
    }

    /// With what the session knows about the size of its context.
    #[must_use]
    pub fn context(mut self, context: ContextState) -> Self {
        self.context = context;
        self
    }

    /// With what the session remembers to have been consented to.
    #[must_use]
    pub fn approvals(mut self, approvals: Approvals) -> Self {
        self.approvals = approvals;
        self
    }

    /// With these answerers.
    #[must_use]
    pub fn answerers(mut self, answerers: Answerers) -> Self {
        self.answerers = answerers;
        self
    }

    /// Put aside as soon as it waits for answers only.
    #[must_use]
    pub fn suspends(mut self, suspends: bool) -> Self {
        self.suspends = suspends;
        self
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
    /// The process that carried the run is gone, and no other one goes on with it (H7).
    ProcessLost,
}

#[cfg(test)]
mod tests {
    #[test]
    fn inputs_stay_small() {
        assert!(size_of::<super::Input>() <= 48, "{}", size_of::<super::Input>());
    }
}
