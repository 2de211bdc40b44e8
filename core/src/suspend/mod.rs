//! A run that was put aside: one value from which it goes on, in another process too (H6).
//!
//! The value holds what the run brought since its session's history, the calls of its last response, and the requests
//! that stand open. It holds no token, no credentials, no policies and no remembered consents; a tool's own state is
//! in it as the tool gave it.

use crate::compaction::ContextState;
use crate::history::HistoryError;
use crate::host_input::{AskError, HostAnswer, HostRequest};
use crate::id::{CallRef, Revision, RunId, Seq, SessionId, SteerId};
use crate::input::{Answerers, Reader};
use crate::log::{Ledger, OpenCall};
use crate::message::{Message, ToolCall, ToolResult};
use crate::model::ModelSpec;
use crate::saved::Additions;
use crate::steer::Steer;
use crate::text::Text;
use crate::tool::{Access, Approvals, ToolSpec};
use crate::usage::Usage;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

mod check;
mod saved;
#[cfg(test)]
pub(crate) mod tests;

pub use saved::VERSION;
pub(crate) use saved::{access, read as read_suspended, read_access};

/// A suspended run. Immutable; what it says is checked again when it is resumed.
///
/// It is kept as JSON ([`Suspended::to_json`]), or inside other formats by its `serde` implementations. It is not signed:
/// whoever can change a kept value can decide what runs, so that it belongs where the session's history is.
#[derive(Clone, PartialEq, Eq)]
pub struct Suspended {
    pub(crate) run: RunId,
    pub(crate) session: SessionId,
    /// The session's, which a resumption must find unchanged.
    pub(crate) revision: Revision,
    /// The name of the model that answered.
    pub(crate) model: Text,
    /// The last event, `run.suspended`.
    pub(crate) seq: Seq,
    /// Encoded bytes of all events so far.
    pub(crate) end: u64,
    pub(crate) step: u32,
    /// The last operation.
    pub(crate) ops: u64,
    /// Messages that the run has added.
    pub(crate) messages: u32,
    pub(crate) invalid_turns: u32,
    pub(crate) usage: Usage,
    pub(crate) billed: Usage,
    /// What is left of the run's deadline.
    pub(crate) left: Option<Duration>,
    /// Messages of the session's history before the run.
    pub(crate) base: u64,
    /// What the run has added; the last message holds the open calls.
    pub(crate) tail: Vec<Arc<Message>>,
    /// The text beside the calls.
    pub(crate) answer: Text,
    /// The calls, in model order.
    pub(crate) calls: Vec<SuspendedCall>,
    /// Ids of requests that are over, which the batch must not use again.
    pub(crate) used: Vec<crate::id::RequestId>,
    /// How many requests the batch has asked.
    pub(crate) asked: u32,
    /// Tools that differ from their declaration in whether the model sees them: their names, and whether it does.
    pub(crate) visibility: Vec<(Text, bool)>,
    /// How many ids of inputs the engine has made.
    pub(crate) steers: u64,
    /// The inputs that were applied: no id is accepted twice in a run (H3).
    pub(crate) applied: Vec<AppliedSteer>,
    /// Whether the source has said that there is nothing more in this run (B3).
    pub(crate) collected: bool,
    /// Members of its saved form that are not known.
    pub(crate) additions: Additions,
}

impl core::fmt::Debug for Suspended {
    /// Ids and numbers only: what was said, asked and answered does not belong into logs.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let requests: Vec<_> = self.requests().map(|request| &request.id).collect();
        f.debug_struct("Suspended")
            .field("run", &self.run)
            .field("session", &self.session)
            .field("revision", &self.revision)
            .field("seq", &self.seq)
            .field("step", &self.step)
            .field("calls", &self.calls.len())
            .field("requests", &requests)
            .finish_non_exhaustive()
    }
}

/// An input that a suspended run has applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AppliedSteer {
    pub(crate) id: SteerId,
    /// The place of its message in the tail, unless it is committed: an interruption returns it (C9).
    pub(crate) at: Option<u32>,
}

/// A call of a suspended run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SuspendedCall {
    pub(crate) call: Arc<ToolCall>,
    /// Other arguments that people gave.
    pub(crate) edited: Option<Text>,
    /// What the call touches, where a preparation has said so.
    pub(crate) access: Option<Access>,
    /// Whether its tool's code was entered.
    pub(crate) started: bool,
    pub(crate) state: SuspendedState,
}

/// Where a call of a suspended run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SuspendedState {
    /// It has its result.
    Done(Arc<ToolResult>),
    /// Waits for its turn.
    Queued,
    /// Its tool had returned with a question, has the answer, and waits for its turn.
    Answered { state: Text, answer: Result<HostAnswer, AskError> },
    /// Waits for an answer, for so long at most; with what its tool wanted kept, and how many requests of the batch were
    /// asked before.
    Waiting { request: Arc<HostRequest>, left: Option<Duration>, state: Option<Text>, order: u32 },
}

impl Suspended {
    /// The run, which keeps its id.
    pub fn run_id(&self) -> &RunId {
        &self.run
    }

    /// The session.
    pub fn session_id(&self) -> &SessionId {
        &self.session
    }

    /// The session's revision; a session that has committed something since does not take the run back.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The run's last event; its next part goes on behind it.
    pub fn last_seq(&self) -> Seq {
        self.seq
    }

    /// The name of the model that answered.
    pub fn model(&self) -> &Text {
        &self.model
    }

    /// The requests that stand open, in the order in which they were asked. They can be answered once the run is resumed.
    pub fn requests(&self) -> impl Iterator<Item = &Arc<HostRequest>> {
        self.waiting().into_iter().map(|(_, _, request)| request)
    }

    /// The calls that wait for an answer, in the order in which it was asked for, by their places.
    pub(crate) fn waiting(&self) -> Vec<(u32, usize, &Arc<HostRequest>)> {
        let waiting = |(at, call): (usize, _)| match call {
            &SuspendedCall { state: SuspendedState::Waiting { ref request, order, .. }, .. } => {
                Some((order, at, request))
            }
            SuspendedCall { .. } => None,
        };
        let mut waiting: Vec<_> = self.calls.iter().enumerate().filter_map(waiting).collect();
        waiting.sort_unstable_by_key(|(order, at, _)| (*order, *at));
        waiting
    }

    /// The messages that the run has added to the session's history so far.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.tail
    }

    /// The inputs that were applied and are not committed, with what they say.
    pub(crate) fn uncommitted(&self) -> impl Iterator<Item = Steer> {
        self.applied.iter().filter_map(|applied| {
            let message = self.tail.get(applied.at? as usize)?;
            Some(Steer { id: applied.id.clone(), parts: message.parts().into() })
        })
    }

    /// What stands open in the log.
    pub(crate) fn ledger(&self) -> Ledger {
        let open = |call: &SuspendedCall| !matches!(call.state, SuspendedState::Done(_));
        let calls = self.calls.iter().filter(|call| open(call));
        Ledger {
            started: true,
            closed: true,
            suspended: true,
            step: Some(self.step),
            attempt: None,
            calls: calls
                .map(|call| OpenCall { call: Arc::clone(&call.call), started: call.started })
                .collect(),
            requests: self.requests().cloned().collect(),
            compaction: false,
        }
    }
}

/// What a suspended run goes on with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Resume {
    /// The value.
    pub suspended: Arc<Suspended>,
    /// The session that it goes on in.
    pub session: SessionId,
    /// The session's revision.
    pub revision: Revision,
    /// The session's history, at rest.
    pub history: crate::history::History,
    /// Which model answers.
    pub model: Arc<ModelSpec>,
    /// The tools on offer; names are unique.
    pub tools: Arc<[Arc<ToolSpec>]>,
    /// Whether a primary reader paces the run.
    pub reader: Reader,
    /// Whether the run is cancelled at once: what stands open is closed, and what it brought is committed.
    pub cancelled: bool,
    /// What the session remembers to have been consented to.
    pub approvals: Approvals,
    /// Who may answer requests.
    pub answerers: Answerers,
    /// Whether the run is put aside again as soon as it waits for answers only.
    pub suspends: bool,
    /// Whether there is a source of boundary inputs.
    pub boundaries: bool,
    /// Whether there is a compactor.
    pub compacts: bool,
    /// How many required observers there are, as in [`Start`](crate::input::Start). They get the events of this part.
    pub observers: u32,
    /// What the session knows about the size of its context.
    pub context: ContextState,
}

impl Resume {
    /// `suspended` in a session of this state, with a primary reader and no tools.
    pub fn new(
        suspended: Arc<Suspended>,
        session: SessionId,
        revision: Revision,
        history: crate::history::History,
        model: Arc<ModelSpec>,
    ) -> Self {
        Self {
            suspended,
            session,
            revision,
            history,
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

    /// Checks that the value belongs to this session and fits it.
    pub(crate) fn check(&self, run: &RunId) -> Result<(), ResumeError> {
        let value = &*self.suspended;
        if value.run != *run {
            return Err(ResumeError::OtherRun(value.run.clone()));
        }
        if value.session != self.session {
            return Err(ResumeError::OtherSession(value.session.clone()));
        }
        let stale = value.revision != self.revision || value.base != self.history.len() as u64;
        if stale {
            return Err(ResumeError::StaleSuspension { suspended: value.revision, session: self.revision });
        }
        value.check()?;
        let mut history = self.history.clone();
        let mut tail = value.tail.iter();
        tail.try_for_each(|message| history.push((**message).clone())).map_err(ResumeError::History)
    }
}

/// Why a suspended run cannot go on here; nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// The machine is for another run.
    #[error("it is the run {0:?}")]
    OtherRun(RunId),
    /// It belongs to another session.
    #[error("it belongs to the session {0:?}")]
    OtherSession(SessionId),
    /// The session has committed something since, a cancelled suspension included.
    #[error("it was suspended at revision {suspended}, and the session is at {session}")]
    StaleSuspension {
        /// The revision at which it was suspended.
        suspended: Revision,
        /// The session's.
        session: Revision,
    },
    /// The run has gone on from this value already: it was put aside again, or has ended, without a commit.
    #[error("it was suspended at event {suspended}, and the run has gone on to event {reached}")]
    Superseded {
        /// The last event of the value.
        suspended: Seq,
        /// The last event of the run, as far as the session knows.
        reached: Seq,
    },
    /// The value contradicts itself.
    #[error("the value is not valid: {0}")]
    Invalid(&'static str),
    /// It holds more than the limits of the engine that is to resume it allow.
    #[error("{what}: {observed} are more than {limit}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// The bound.
        limit: u64,
        /// What was found.
        observed: u64,
    },
    /// Its messages cannot follow the session's history.
    #[error("its messages do not fit: {0}")]
    History(HistoryError),
}

/// Why a run cannot be suspended now; it goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("the run does not wait for answers only: {}", self.text())]
pub struct NotSuspendable {
    /// The calls that are under way; empty where it is not calls that keep the run busy.
    pub calls: Vec<CallRef>,
}

impl NotSuspendable {
    fn text(&self) -> alloc::string::String {
        let calls: Vec<_> = self.calls.iter().map(alloc::string::ToString::to_string).collect();
        if calls.is_empty() {
            "it has no open request".into()
        } else {
            alloc::format!("calls {}", calls.join(", "))
        }
    }
}
