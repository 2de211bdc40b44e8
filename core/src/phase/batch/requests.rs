//! Requests to people and to the host: each is asked once and ends once (H1, H2).

mod again;

use super::{Batch, State, result};
use crate::event::{Event, HostAnswered, HostFailed};
use crate::host_input::{
    AnswerSource, AskError, HostAnswer, HostRequest, Question, Refusal, RequestKind, RespondError,
};
use crate::id::{OpId, RequestId};
use crate::input::Respond;
use crate::machine::Machine;
use crate::output::{Outbox, Output};
use crate::phase::Flow;
use crate::text::Text;
use crate::time::Time;
use crate::tool::{Resumption, ToolEnd, ToolOutput};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

/// How often the bound on open requests a batch may ask over all: its ids are known until it is over.
pub(super) const ASKED_PER_OPEN: usize = 32;

/// All requests of a batch.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    entries: Vec<Entry>,
    by_id: BTreeMap<RequestId, usize>,
    due: BTreeSet<(Time, usize)>,
    open: usize,
    /// Open questions of tools.
    questions: usize,
    /// Asked in earlier parts of the run.
    pub(super) before: u32,
}

#[derive(Clone, Debug)]
struct Entry {
    request: Arc<HostRequest>,
    at: usize,
    asker: Asker,
    state: EntryState,
    due: Option<Time>,
    /// The operation that asks the responder.
    responder: Option<OpId>,
}

/// Who waits for the answer.
#[derive(Clone, Debug)]
pub(super) enum Asker {
    /// The call, for consent.
    Consent,
    /// The call, which the client executes.
    Client,
    /// Its tool, which runs.
    Running(OpId, u64),
    /// Its tool, which has returned with the question and wants this back.
    Kept(Text),
}

impl Asker {
    /// Whether a tool asks.
    const fn is_tool(&self) -> bool {
        match self {
            Self::Running(..) | Self::Kept(_) => true,
            Self::Consent | Self::Client => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntryState {
    Open,
    /// It was answered, or has failed.
    Over,
    /// Its call is over.
    Gone,
}

impl Requests {
    pub(super) fn any_open(&self) -> bool {
        self.open > 0
    }

    pub(super) fn next_due(&self) -> Option<Time> {
        self.due.first().map(|(at, _)| *at)
    }

    /// A request whose time is up.
    pub(super) fn due(&self, now: Time) -> Option<usize> {
        self.due.first().filter(|(at, _)| *at <= now).map(|(_, index)| *index)
    }

    pub(super) fn asked(&self) -> u32 {
        self.before.saturating_add(u32::try_from(self.entries.len()).unwrap_or(u32::MAX))
    }

    /// Ids of requests that are over, and those that were over in earlier parts.
    pub(super) fn used(&self) -> Vec<RequestId> {
        let open =
            |index: &usize| self.entries.get(*index).is_some_and(|entry| entry.state == EntryState::Open);
        self.by_id.iter().filter(|(_, index)| !open(index)).map(|(id, _)| id.clone()).collect()
    }

    /// Ids that an earlier part of the run has used up.
    pub(super) fn use_up(&mut self, ids: impl IntoIterator<Item = RequestId>) {
        self.by_id.extend(ids.into_iter().map(|id| (id, usize::MAX)));
    }

    /// How many requests were asked before the one at `index`, or may have been: earlier ones have smaller numbers.
    pub(super) fn order(&self, index: usize) -> u32 {
        self.before.saturating_add(u32::try_from(index).unwrap_or(u32::MAX))
    }

    pub(super) fn waiting_on(&self, index: usize) -> Option<(&Arc<HostRequest>, Option<Time>, &Asker)> {
        self.entries.get(index).map(|entry| (&entry.request, entry.due, &entry.asker))
    }

    fn push(&mut self, request: Arc<HostRequest>, at: usize, asker: Asker, due: Option<Time>) -> usize {
        let index = self.entries.len();
        self.by_id.insert(request.id.clone(), index);
        self.due.extend(due.map(|due| (due, index)));
        self.open += 1;
        self.questions += usize::from(asker.is_tool());
        self.entries.push(Entry { request, at, asker, state: EntryState::Open, due, responder: None });
        index
    }

    /// Closes an open request: the request, and the operation that asked the responder.
    fn close(&mut self, index: usize, state: EntryState) -> Option<(Arc<HostRequest>, Option<OpId>)> {
        let entry = self.entries.get_mut(index).filter(|entry| entry.state == EntryState::Open)?;
        entry.state = state;
        if let Some(due) = entry.due.take() {
            self.due.remove(&(due, index));
        }
        self.open -= 1;
        self.questions -= usize::from(entry.asker.is_tool());
        Some((Arc::clone(&entry.request), entry.responder.take()))
    }

    /// Closes requests of a run that ends, in the order in which they were asked.
    pub(super) fn close_all(&mut self, indices: &[usize]) -> Vec<Arc<HostRequest>> {
        let closed = indices.iter().filter_map(|index| self.close(*index, EntryState::Gone));
        closed.map(|(request, _)| request).collect()
    }
}

impl Batch {
    /// Asks, and hands the request to the responder too; or fails at once where nobody can answer.
    pub(super) fn open_request(
        &mut self,
        m: &mut Machine,
        at: usize,
        kind: RequestKind,
        (id, timeout): (Option<RequestId>, Option<Duration>),
        asker: Asker,
        out: &mut Outbox,
    ) -> Result<(), AskError> {
        let Some(slot) = self.slots.get(at) else { return Err(AskError::Gone) };
        let id = match id {
            Some(id) if self.requests.by_id.contains_key(&id) => return Err(AskError::DuplicateId(id)),
            Some(id) => id,
            None => self.free_id(slot.call.call),
        };
        let call = if matches!(asker, Asker::Client) { slot.effective() } else { &slot.call };
        let timeout = timeout.or(m.config.deadlines.host_input);
        let request = Arc::new(HostRequest { id, call: Arc::clone(call), kind, timeout });
        let due = timeout.map(|span| m.now.after(span));
        let index = self.requests.push(Arc::clone(&request), at, asker, due);
        m.emit(Event::HostInputRequested(Arc::clone(&request)));
        self.await_answer(m, at, index, out);
        Ok(())
    }

    /// Lets the call wait, and asks the responder where there is one.
    pub(super) fn await_answer(&mut self, m: &mut Machine, at: usize, index: usize, out: &mut Outbox) {
        if let Some(slot) = self.slots.get_mut(at) {
            slot.asking.push(index);
            slot.settle_clock(m);
        }
        self.ask_responder(m, index, out);
    }

    /// Opens a request of an earlier part of the run again; it is not asked again. `quietly`: it is closed at once, so
    /// that nobody need answer.
    pub(super) fn reopen(
        &mut self,
        m: &mut Machine,
        at: usize,
        (request, left): (Arc<HostRequest>, Option<Duration>),
        asker: Asker,
        quietly: bool,
        out: &mut Outbox,
    ) {
        let due = left.map(|left| m.now.after(left));
        let index = self.requests.push(request, at, asker, due);
        if !quietly {
            return self.await_answer(m, at, index, out);
        }
        if let Some(slot) = self.slots.get_mut(at) {
            slot.asking.push(index);
        }
    }

    /// An id that the batch has not used: a tool may have taken one that looks like the engine's own.
    fn free_id(&self, call: crate::id::CallRef) -> RequestId {
        let mut n = self.requests.asked();
        loop {
            n = n.wrapping_add(1);
            let id = RequestId::of_call(call, n);
            if !self.requests.by_id.contains_key(&id) {
                return id;
            }
        }
    }

    /// Checks a tool's question and the bounds on questions.
    pub(super) fn ask(
        &mut self,
        m: &mut Machine,
        at: usize,
        question: &Arc<Question>,
        asker: Asker,
        out: &mut Outbox,
    ) -> Result<(), AskError> {
        let limits = &m.config.limits;
        question.check(limits.question_bytes, limits.answer_bytes)?;
        let most = limits.open_questions;
        if self.requests.questions >= most {
            return Err(AskError::TooMany { limit: most });
        }
        // Each call may be asked about, and handed to the client, once.
        let most = most.saturating_mul(ASKED_PER_OPEN).saturating_add(self.slots.len().saturating_mul(2));
        if self.requests.asked() as usize >= most {
            return Err(AskError::TooMany { limit: most });
        }
        let kind = RequestKind::Question(Arc::clone(question));
        self.open_request(m, at, kind, (question.id.clone(), question.timeout), asker, out)
    }

    /// Someone answers (H2); nothing has changed on an error.
    pub(crate) fn respond(
        &mut self,
        m: &mut Machine,
        respond: Respond,
        out: &mut Outbox,
    ) -> Result<Flow, RespondError> {
        let Respond { request: id, answer, .. } = respond;
        let Some(index) = self.requests.by_id.get(&id).copied() else {
            return Err(RespondError::Unknown(id));
        };
        let Some(entry) = self.requests.entries.get(index) else {
            return Err(RespondError::AlreadyAnswered(id));
        };
        match entry.state {
            EntryState::Over => return Err(RespondError::AlreadyAnswered(id)),
            EntryState::Gone => return Err(RespondError::RequesterGone(id)),
            EntryState::Open => {}
        }
        if let Err(error) = answer.check(&entry.request, &m.config.limits) {
            return Err(RespondError::Invalid { id, error });
        }
        self.answer(m, index, answer, AnswerSource::Handle, out);
        Ok(self.go_on(m, out))
    }

    /// The responder answers. Without a valid answer the request is left to whoever holds the handle.
    pub(crate) fn on_responded(
        &mut self,
        m: &mut Machine,
        index: usize,
        answer: Option<Box<HostAnswer>>,
        out: &mut Outbox,
    ) -> Flow {
        let Some(entry) = self.requests.entries.get_mut(index) else { return Flow::Stay };
        if let Some(op) = entry.responder.take() {
            m.ops.close(op);
        }
        let valid = answer.filter(|answer| answer.check(&entry.request, &m.config.limits).is_ok());
        match valid {
            Some(answer) => self.answer(m, index, *answer, AnswerSource::Responder, out),
            None if m.answerers.handle => return Flow::Stay,
            None => self.fail(m, index, AskError::NoResponder, out),
        }
        self.go_on(m, out)
    }

    /// Nobody holds a handle any more: what the responder does not work on fails (H2).
    pub(crate) fn on_handle_gone(&mut self, m: &mut Machine, out: &mut Outbox) -> Flow {
        let forsaken = |entry: &Entry| entry.state == EntryState::Open && entry.responder.is_none();
        let entries = self.requests.entries.iter().enumerate();
        let lost: Vec<usize> = entries.filter(|(_, entry)| forsaken(entry)).map(|(index, _)| index).collect();
        if lost.is_empty() {
            return Flow::Stay;
        }
        for index in lost {
            self.fail(m, index, AskError::NoResponder, out);
        }
        self.go_on(m, out)
    }

    /// The time of a request is up: its fallback holds, or its asker gets an error.
    pub(super) fn time_out(&mut self, m: &mut Machine, index: usize, out: &mut Outbox) {
        let Some(entry) = self.requests.entries.get(index) else { return };
        let fallback = match &entry.request.kind {
            RequestKind::Question(question) => question.fallback.clone(),
            RequestKind::Approval { .. } | RequestKind::Call => None,
        };
        let span = entry.request.timeout.unwrap_or_default();
        match fallback {
            Some(answer) => self.answer(m, index, answer, AnswerSource::Fallback, out),
            None => self.fail(m, index, AskError::TimedOut(span), out),
        }
    }

    /// Takes a request out of its call's open ones.
    fn release(
        &mut self,
        m: &mut Machine,
        index: usize,
        state: EntryState,
        out: &mut Outbox,
    ) -> Option<(Arc<HostRequest>, usize, Asker)> {
        let (request, responder) = self.requests.close(index, state)?;
        if let Some(op) = responder {
            m.abandon(op, out);
        }
        let entry = self.requests.entries.get(index)?;
        let (at, asker) = (entry.at, entry.asker.clone());
        if let Some(slot) = self.slots.get_mut(at) {
            slot.asking.retain(|known| *known != index);
            slot.settle_clock(m);
        }
        Some((request, at, asker))
    }

    /// What a call still asks is not needed any more.
    pub(super) fn drop_requests(&mut self, m: &mut Machine, at: usize, out: &mut Outbox) {
        let asking = self.slots.get_mut(at).map(|slot| core::mem::take(&mut slot.asking)).unwrap_or_default();
        for index in asking {
            if let Some((request, ..)) = self.release(m, index, EntryState::Gone, out) {
                m.emit(Event::HostInputCancelled(request));
            }
        }
    }

    /// A tool does not wait for one of its questions any more.
    pub(super) fn withdraw(&mut self, m: &mut Machine, at: usize, ticket: u64, out: &mut Outbox) {
        let own = |index: &&usize| match self.requests.entries.get(**index).map(|entry| &entry.asker) {
            Some(Asker::Running(_, own)) => *own == ticket,
            Some(Asker::Consent | Asker::Client | Asker::Kept(_)) | None => false,
        };
        let asked = self.slots.get(at).and_then(|slot| slot.asking.iter().find(own).copied());
        if let Some((request, ..)) = asked.and_then(|index| self.release(m, index, EntryState::Gone, out)) {
            m.emit(Event::HostInputCancelled(request));
        }
    }

    /// A valid answer goes to its asker.
    fn answer(
        &mut self,
        m: &mut Machine,
        index: usize,
        answer: HostAnswer,
        source: AnswerSource,
        out: &mut Outbox,
    ) {
        let Some((request, at, asker)) = self.release(m, index, EntryState::Over, out) else { return };
        let secret = matches!(&request.kind, RequestKind::Question(question) if question.secret);
        let shown = (!secret).then(|| answer.clone());
        let answered = HostAnswered { request, answer: shown, source };
        m.emit(Event::HostInputAnswered(Arc::new(answered)));
        match asker {
            Asker::Consent => self.on_consent(m, at, answer, out),
            Asker::Client => {
                let output = match answer {
                    HostAnswer::Result(output) => output,
                    HostAnswer::Refused(refusal) => {
                        ToolOutput::error(alloc::format!("the client {} the call", refusal.as_str()))
                    }
                    // Such an answer is not valid.
                    HostAnswer::Allow { .. }
                    | HostAnswer::Deny { .. }
                    | HostAnswer::Choices(_)
                    | HostAnswer::Value(_) => return,
                };
                self.end_call(m, at, ToolEnd::Output(output), out);
            }
            Asker::Running(..) | Asker::Kept(_) => {
                let answer = if let HostAnswer::Refused(refusal) = answer {
                    Err(AskError::Refused(refusal))
                } else {
                    Ok(answer)
                };
                if let (Asker::Kept(_), true) = (&asker, secret) {
                    self.keep_secret(at, true);
                }
                self.deliver(m, at, asker, answer, out);
            }
        }
    }

    /// Notes whether the call holds a secret answer: it must not stand in the value of a suspended run (H6).
    pub(super) fn keep_secret(&mut self, at: usize, secret: bool) {
        let Some(slot) = self.slots.get_mut(at) else { return };
        let before = core::mem::replace(&mut slot.secret, secret);
        self.secrets = self.secrets.saturating_sub(usize::from(before)).saturating_add(usize::from(secret));
    }

    /// Nobody answers: its asker is told.
    fn fail(&mut self, m: &mut Machine, index: usize, error: AskError, out: &mut Outbox) {
        let Some((request, at, asker)) = self.release(m, index, EntryState::Over, out) else { return };
        let failed = HostFailed { request, error: error.clone() };
        m.emit(Event::HostInputFailed(Arc::new(failed)));
        match asker {
            Asker::Consent => self.deny(m, at, &error.to_string(), out),
            Asker::Client => {
                self.finish(m, at, out, |slot| {
                    if let AskError::TimedOut(span) = error {
                        result::timed_out(&slot.call, span)
                    } else {
                        result::not_executed(&slot.call, &error)
                    }
                });
            }
            Asker::Running(..) | Asker::Kept(_) => self.deliver(m, at, asker, Err(error), out),
        }
    }

    /// Hands an answer to a tool: to the one that waits, or to the one that is called again with it.
    fn deliver(
        &mut self,
        m: &Machine,
        at: usize,
        asker: Asker,
        answer: Result<HostAnswer, AskError>,
        out: &mut Outbox,
    ) {
        match asker {
            Asker::Running(op, ticket) => {
                if m.ops.find(op).is_some() {
                    out.push(Output::Deliver { op, ticket, answer: Box::new(answer) });
                }
            }
            Asker::Kept(state) => {
                if let Some(slot) = self.slots.get_mut(at) {
                    slot.resumed = Some(Arc::new(Resumption { state, answer }));
                }
                self.set(at, State::Queued);
            }
            Asker::Consent | Asker::Client => {}
        }
    }

    /// People have decided about a call (T2).
    fn on_consent(&mut self, m: &mut Machine, at: usize, answer: HostAnswer, out: &mut Outbox) {
        match answer {
            HostAnswer::Allow { remember, arguments } => {
                let Some(slot) = self.slots.get_mut(at) else { return };
                slot.edit(arguments);
                let call = Arc::clone(&slot.call);
                self.set(at, State::Queued);
                if remember {
                    m.approvals.remember(&call, m.config.limits.approvals);
                    self.answer_equals(m, &call, out);
                }
            }
            HostAnswer::Deny { reason } => self.deny(m, at, &reason, out),
            HostAnswer::Refused(Refusal::Declined) => self.deny(m, at, "the person declined", out),
            HostAnswer::Refused(Refusal::Dismissed) => {
                self.deny(m, at, "the person dismissed the request", out);
            }
            // Such an answer is not valid.
            HostAnswer::Choices(_) | HostAnswer::Value(_) | HostAnswer::Result(_) => {}
        }
    }

    /// A consent that is to be remembered holds for the equal calls that are asked about already.
    fn answer_equals(&mut self, m: &mut Machine, call: &crate::message::ToolCall, out: &mut Outbox) {
        let equal = |entry: &Entry| {
            let other = &entry.request.call;
            entry.state == EntryState::Open
                && matches!(entry.asker, Asker::Consent)
                && (&other.name, &other.arguments) == (&call.name, &call.arguments)
        };
        let entries = self.requests.entries.iter().enumerate();
        let open: Vec<usize> = entries.filter(|(_, entry)| equal(entry)).map(|(index, _)| index).collect();
        for index in open {
            self.answer(m, index, HostAnswer::allow(), AnswerSource::Remembered, out);
        }
    }
}
