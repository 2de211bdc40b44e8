//! Everything that a run wants done.

use crate::boundary::{BoundaryError, BoundaryRequest};
use crate::compaction::CompactionRequest;
use crate::host_input::{AskError, HostAnswer, HostRequest, RespondError};
use crate::id::{CommandId, OpId, SteerId};
use crate::model::ModelRequest;
use crate::observe::ObserveRequest;
use crate::steer::{RetractReply, Steer, SteerError};
use crate::suspend::NotSuspendable;
use crate::time::Time;
use crate::tool::{AuthorizeRequest, ToolInvocation};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;

/// Work to begin or abandon, or the answer to a command. Events do not pass here: they are in the log.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Output {
    /// Begin this work; its items come back as inputs that quote `op`.
    Begin {
        /// The operation.
        op: OpId,
        /// The work.
        work: Work,
    },
    /// Drop this work; what it still yields is ignored.
    Abandon {
        /// The operation.
        op: OpId,
    },
    /// Hand this to the work of `op`: the answer to a question that its tool asked.
    Deliver {
        /// The operation.
        op: OpId,
        /// The asker's number for its question.
        ticket: u64,
        /// The answer, or why there is none.
        answer: Box<Result<HostAnswer, AskError>>,
    },
    /// Hand this to the model's attempt of `op`, which has said that it can take it during its turn (H4).
    Steer {
        /// The operation.
        op: OpId,
        /// The input.
        steer: Arc<Steer>,
    },
    /// The answer to a command.
    Reply {
        /// The command.
        command: CommandId,
        /// The answer.
        reply: Reply,
    },
}

/// A piece of work for the host.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Work {
    /// Ask the model.
    Model(Arc<ModelRequest>),
    /// Run a tool.
    Tool(ToolInvocation),
    /// Have a tool look at a call before it is scheduled.
    Prepare(ToolInvocation),
    /// Ask the approver.
    Authorize(Arc<AuthorizeRequest>),
    /// Ask the host's responder.
    Respond(Arc<HostRequest>),
    /// Ask the source of boundary inputs.
    Boundary(Arc<BoundaryRequest>),
    /// Shorten the older part of the history.
    Compact(Arc<CompactionRequest>),
    /// Have a required observer accept events (L5). It is no part of the run's other work: it may begin while nothing else
    /// does, and ends with [`Input::Observed`](crate::Input).
    Observe(Arc<ObserveRequest>),
}

/// The answer to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reply {
    /// To a cancel.
    Cancel(CancelReply),
    /// To an answer: whether it was taken (H2).
    Respond(Result<(), RespondError>),
    /// To an input that people add: its id (H3).
    Steer(Result<SteerId, SteerError>),
    /// To a retraction: what became of the input (H3).
    Retract(RetractReply),
    /// To boundary input: whether it is committed. False: it was empty, or the run has ended before. On an error the
    /// question stands open (B4).
    Boundary(Result<bool, BoundaryError>),
    /// To a suspension: whether the run is suspended (H6).
    Suspend(Result<(), NotSuspendable>),
}

/// Who won between a cancel and the run's own end (C7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelReply {
    /// The run ended as cancelled, by this or an earlier request.
    Cancelled,
    /// The run had ended before.
    AlreadyFinished,
}

/// Where a step puts its outputs, in order. Owned by the caller and drained between steps.
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    queue: VecDeque<Output>,
}

impl Outbox {
    /// An empty outbox.
    pub const fn new() -> Self {
        Self { queue: VecDeque::new() }
    }

    /// Appends an output. An `Abandon` whose `Begin` was not taken yet takes it back instead, so that work which
    /// nobody began is never begun (C2).
    pub(crate) fn push(&mut self, output: Output) {
        if let Output::Abandon { op } = output {
            let begun = |queued: &Output| matches!(queued, Output::Begin { op: other, .. } if *other == op);
            if let Some(at) = self.queue.iter().rposition(begun) {
                self.queue.remove(at);
                return;
            }
            let for_it = |queued: &Output| matches!(queued, Output::Deliver { op: other, .. } | Output::Steer { op: other, .. } if *other == op);
            self.queue.retain(|queued| !for_it(queued));
        }
        self.queue.push_back(output);
    }

    /// The next output.
    pub fn pop(&mut self) -> Option<Output> {
        self.queue.pop_front()
    }

    /// Takes the answer to `command` out, wherever it stands.
    pub fn take_reply(&mut self, command: CommandId) -> Option<Reply> {
        let is_it = |o: &Output| matches!(o, Output::Reply { command: other, .. } if *other == command);
        match self.queue.iter().position(is_it).and_then(|at| self.queue.remove(at)) {
            Some(Output::Reply { reply, .. }) => Some(reply),
            Some(
                Output::Begin { .. } | Output::Abandon { .. } | Output::Deliver { .. } | Output::Steer { .. },
            )
            | None => None,
        }
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// How many outputs wait.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// The waiting outputs, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Output> {
        self.queue.iter()
    }
}

/// What the machine waits for after a step.
#[must_use = "arm the timer with `wake`, take in no more than `credit`: a run that is not woken stalls"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// When to step with [`Input::Wake`](crate::Input) at the latest.
    pub wake: Option<Wake>,
    /// The earliest deadline that any wake decides, if `wake` is an earlier one that takes a quiet wake; for drivers
    /// that cannot ask their transport just now.
    pub hard: Option<Wake>,
    /// How much the driver may take in from models and tools.
    pub credit: Credit,
    /// Whether the run goes on; once false, nothing but replies comes out any more (W4).
    pub live: bool,
}

/// A deadline and what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// When.
    pub at: Time,
    /// What for.
    pub why: WakeReason,
}

/// What falls due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum WakeReason {
    /// The run's deadline.
    Run,
    /// The model call's deadline.
    ModelCall,
    /// The attempt's deadline.
    Attempt,
    /// The wait before the next attempt is over.
    Backoff,
    /// No first item; decided by a quiet wake only.
    FirstItem,
    /// No byte for too long; decided by a quiet wake only.
    Idle,
    /// A tool's deadline; decided by a quiet wake only.
    Tool,
    /// The end of the time in which a request may be answered.
    HostInput,
    /// The compactor's deadline.
    Compaction,
    /// The time in which observers may accept the end of the record is up.
    Finalization,
    /// The run waits for answers only and is to be suspended; decided by a quiet wake only.
    Suspend,
}

impl WakeReason {
    /// Whether only `Wake { quiet: true }` decides it (W3).
    pub const fn is_quiet(self) -> bool {
        matches!(self, Self::FirstItem | Self::Idle | Self::Tool | Self::Suspend)
    }
}

/// How much a driver may take in before the next step; zero items means paused (E13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit {
    /// Items.
    pub items: usize,
    /// Encoded bytes of text over all items; the item that passes it is the last one.
    pub bytes: u64,
}

impl Credit {
    /// Nothing.
    pub const ZERO: Self = Self { items: 0, bytes: 0 };

    /// Whether nothing may be taken in.
    pub const fn is_zero(self) -> bool {
        self.items == 0 || self.bytes == 0
    }
}
