//! A run that was put aside: one value from which it goes on, in another process too (H6).
//!
//! The value holds what the run brought since its session's history, the calls of its last response, and the requests
//! that stand open. It holds no token, no credentials, no policies and no remembered consents; a tool's own state is
//! in it as the tool gave it.

use crate::compaction::ContextState;
use crate::history::HistoryError;
use crate::host_input::{AskError, HostAnswer, HostRequest, RequestKind};
use crate::id::{CallRef, Revision, RunId, Seq, SessionId};
use crate::input::{Answerers, Reader};
use crate::log::{Ledger, OpenCall};
use crate::message::{Message, ToolCall, ToolResult};
use crate::model::ModelSpec;
use crate::text::Text;
use crate::tool::{Access, Approvals, ToolSpec};
use crate::usage::Usage;
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

/// A suspended run. Immutable; what it says is checked again when it is resumed.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// Waits for an answer, for so long at most; with what its tool wanted kept.
    Waiting { request: Arc<HostRequest>, left: Option<Duration>, state: Option<Text> },
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

    /// The requests that stand open, in call order. They can be answered once the run is resumed.
    pub fn requests(&self) -> impl Iterator<Item = &Arc<HostRequest>> {
        self.calls.iter().filter_map(|call| match &call.state {
            SuspendedState::Waiting { request, .. } => Some(request),
            SuspendedState::Done(_) | SuspendedState::Queued | SuspendedState::Answered { .. } => None,
        })
    }

    /// The messages that the run has added to the session's history so far.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.tail
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

impl Suspended {
    /// Checks what the value says about itself: a value may have been kept anywhere.
    pub(crate) fn check(&self) -> Result<(), ResumeError> {
        let Some(last) = self.tail.last() else { return Err(ResumeError::Invalid("it has no messages")) };
        if !last.calls().eq(self.calls.iter().map(|call| &call.call)) {
            return Err(ResumeError::Invalid("its calls are not those of its last message"));
        }
        if self.calls.iter().any(|call| call.call.call.step != self.step) {
            return Err(ResumeError::Invalid("a call belongs to another step"));
        }
        let mut ids: BTreeSet<&crate::id::RequestId> = self.used.iter().collect();
        for call in &self.calls {
            call.check()?;
            if let SuspendedState::Waiting { request, .. } = &call.state
                && !ids.insert(&request.id)
            {
                return Err(ResumeError::Invalid("two requests have one id"));
            }
        }
        Ok(())
    }
}

impl SuspendedCall {
    /// Whether the request is about this call, with its own arguments or the edited ones.
    fn is_asked_by(&self, request: &HostRequest) -> bool {
        let (own, asked) = (&self.call, &request.call);
        let arguments = asked.arguments == own.arguments || Some(&asked.arguments) == self.edited.as_ref();
        (own.call, &own.id, &own.name) == (asked.call, &asked.id, &asked.name) && arguments
    }

    fn check(&self) -> Result<(), ResumeError> {
        if let Some(edited) = &self.edited
            && !(edited.trim_start().starts_with('{') && crate::read_json::check(edited).is_ok())
        {
            return Err(ResumeError::Invalid("edited arguments are not a JSON object"));
        }
        let fits = match &self.state {
            SuspendedState::Done(result) => {
                result.call == self.call.call && result.id == self.call.id && result.name == self.call.name
            }
            SuspendedState::Queued => !self.started,
            SuspendedState::Answered { .. } => self.started,
            SuspendedState::Waiting { request, state, .. } => {
                let binds = match &request.kind {
                    RequestKind::Approval { binding, .. } => {
                        *binding == crate::tool::Binding::of(&self.call) && !self.started && state.is_none()
                    }
                    RequestKind::Question(_) => self.started && state.is_some(),
                    RequestKind::Call => self.started && state.is_none(),
                };
                binds && self.is_asked_by(request)
            }
        };
        if fits { Ok(()) } else { Err(ResumeError::Invalid("a call's state does not fit the call")) }
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
    /// The value contradicts itself.
    #[error("the value is not valid: {0}")]
    Invalid(&'static str),
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
