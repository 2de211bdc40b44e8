//! What a run's events say about its outcome: messages, usage, revision (C4, E10, R5, M7, C9).

use super::additions::{Additions, Said};
use super::{Found, found};
use crate::event::{CompactionCompleted, Event};
use crate::history::History;
use crate::id::{OpId, Revision};
use crate::input::Start;
use crate::message::{Message, Part, Role, ToolCall, ToolResult};
use crate::model::ProblemKind;
use crate::outcome::{Outcome, RunResult};
use crate::output::Output;
use crate::suspend::{Resume, SuspendedState};
use crate::usage::Usage;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    start: Option<Arc<Start>>,
    /// What was committed last, by the run or before it.
    base: History,
    revision: Revision,
    additions: Additions,
    usage: Usage,
    billed: Usage,
    request: Option<(OpId, u32, Usage)>,
    draft: Draft,
    messages: Vec<Expected>,
    answer: String,
}

/// A response as its events show it.
#[derive(Clone, Debug, Default)]
struct Draft {
    role: Option<Role>,
    text: String,
    contexts: usize,
    /// Names and arguments of the calls, by ordinal.
    pieces: BTreeMap<u32, (String, String)>,
    calls: Vec<Arc<ToolCall>>,
    results: BTreeMap<u32, Arc<ToolResult>>,
}

/// A message that history must hold.
#[derive(Clone, Debug)]
enum Expected {
    Response {
        role: Role,
        text: String,
        contexts: usize,
        calls: Vec<Arc<ToolCall>>,
    },
    Results(Vec<Arc<ToolResult>>),
    /// What people or the host said.
    Said(Role, Arc<[Part]>),
    /// As an earlier part of the run has left it.
    Exactly(Arc<Message>),
}

impl Account {
    pub(super) fn started(&mut self, start: Start) {
        self.base = start.history.clone();
        self.revision = start.revision;
        self.messages.push(Expected::Said(Role::User, start.input.clone().into()));
        self.start = Some(Arc::new(start));
    }

    /// The content of the input that the step took.
    pub(super) fn said(&mut self, said: Said, outputs: &[Output]) {
        self.additions.said(said, outputs);
    }

    /// The next part of a run that was suspended.
    pub(super) fn resumed(&mut self, resume: &Resume) {
        let value = &resume.suspended;
        let session = resume.session.clone();
        let (history, model) = (resume.history.clone(), Arc::clone(&resume.model));
        let start = Start::new(session, resume.revision, history, Vec::new(), model);
        *self = Self { start: Some(Arc::new(start)), ..Self::default() };
        (self.base, self.revision) = (resume.history.clone(), resume.revision);
        (self.usage, self.billed) = (value.usage, value.billed);
        self.answer = String::from(value.answer.as_str());
        let (last, before) = value.tail.split_last().map_or((None, &[][..]), |(l, b)| (Some(l), b));
        self.messages.extend(before.iter().cloned().map(Expected::Exactly));
        self.messages.extend(last.cloned().map(Expected::Exactly));
        self.additions.resumed(value.uncommitted());
        for call in &value.calls {
            if let SuspendedState::Done(result) = &call.state {
                self.draft.results.insert(result.call.ordinal, Arc::clone(result));
            }
        }
    }

    pub(super) fn is_started(&self) -> bool {
        self.start.is_some()
    }

    /// Takes an event in; `committed` is what the run has committed by the end of the step.
    pub(super) fn event(
        &mut self,
        event: &Event,
        committed: Option<(&History, Revision)>,
    ) -> Result<(), Found> {
        match event {
            Event::ModelStarted(_) | Event::StreamReset(_) => self.draft = Draft::default(),
            Event::TextDelta(text) | Event::RefusalDelta(text) => self.draft.text.push_str(text),
            Event::ContextUpdated { .. } => self.draft.contexts += 1,
            Event::ToolCallDelta(delta) => {
                let (name, arguments) = self.draft.pieces.entry(delta.call.ordinal).or_default();
                if name.is_empty() {
                    name.push_str(delta.name.as_deref().unwrap_or_default());
                }
                arguments.push_str(&delta.arguments);
            }
            Event::ModelCompleted(done) => {
                self.draft.role = Some(Role::Assistant);
                self.usage.add(&done.usage);
                self.answer = self.draft.text.clone();
            }
            Event::ModelFailed(failed) if failed.problem.kind == ProblemKind::InvalidResponse => {
                self.draft = Draft::default();
            }
            Event::ModelFailed(_) | Event::ModelCancelled { .. } => {
                self.draft.role = Some(Role::AbortedAssistant);
                self.draft.contexts = 0;
            }
            Event::UsageUpdated(update) => self.uses(update.op, update.request, update.usage),
            Event::ToolProposed(call) => return self.proposed(call),
            Event::ToolFinished(result) => {
                self.draft.results.insert(result.call.ordinal, Arc::clone(result));
            }
            Event::StepCompleted { .. } | Event::StepFailed { .. } | Event::StepCancelled { .. } => {
                self.commit()
            }
            Event::SteeringApplied(_)
            | Event::BoundaryApplied(_)
            | Event::CompactionCompleted(_)
            | Event::CompactionFailed(_) => return self.added(event, committed),
            Event::RunStarted(_)
            | Event::SteeringDelivered(_)
            | Event::CompactionStarted { .. }
            | Event::CompactionCancelled
            | Event::CompactionStopped { .. }
            | Event::RunCompleted(_)
            | Event::RunCancelled { .. }
            | Event::RunFailed(_)
            | Event::StepStarted { .. }
            | Event::ReasoningDelta(_)
            | Event::ReasoningSummaryDelta(_)
            | Event::RequestRetry { .. }
            | Event::WebSearch { .. }
            | Event::HostedTool(_)
            | Event::Diagnostic(_)
            | Event::ToolStarted(_)
            | Event::ToolUpdated(_)
            | Event::RunSuspended { .. }
            | Event::RunResumed(_)
            | Event::RunRecovered { .. }
            | Event::HostInputRequested(_)
            | Event::HostInputAnswered(_)
            | Event::HostInputFailed(_)
            | Event::HostInputCancelled(_) => {}
        }
        Ok(())
    }

    /// What changes the history between steps.
    fn added(&mut self, event: &Event, committed: Option<(&History, Revision)>) -> Result<(), Found> {
        if let Event::SteeringApplied(id) = event {
            let parts = self.additions.applied(id)?;
            self.messages.push(Expected::Said(Role::User, parts));
        } else if let Event::BoundaryApplied(applied) = event {
            let parts = self.additions.boundary.take();
            let parts = parts.ok_or(found("B4", "boundary input is applied that nobody gave"))?;
            self.messages.push(Expected::Said(Role::Boundary, parts.into()));
            return self.commits(committed, applied.revision);
        } else if let Event::CompactionCompleted(done) = event {
            self.billed.add(&done.usage);
            return self.compacts(committed, done);
        } else if let Event::CompactionFailed(failed) = event {
            self.billed.add(&failed.usage);
        }
        Ok(())
    }

    fn uses(&mut self, op: OpId, request: u32, usage: Usage) {
        match &mut self.request {
            Some((last_op, last, known)) if (*last_op, *last) == (op, request) => *known = usage,
            other => {
                if let Some((.., known)) = other.replace((op, request, usage)) {
                    self.billed.add(&known);
                }
            }
        }
    }

    /// The pieces that were shown are the call that is proposed.
    fn proposed(&mut self, call: &Arc<ToolCall>) -> Result<(), Found> {
        self.draft.calls.push(Arc::clone(call));
        let empty = (String::new(), String::new());
        let (name, arguments) = self.draft.pieces.get(&call.call.ordinal).unwrap_or(&empty);
        if *arguments != *call.arguments || !call.name.starts_with(name.as_str()) {
            let shown = format!("{name:?} with {arguments:?}");
            return Err(("M7", format!("call {} was shown as {shown}, but is {call:?}", call.call)));
        }
        Ok(())
    }

    fn commit(&mut self) {
        let Draft { role, text, contexts, calls, results, .. } = core::mem::take(&mut self.draft);
        if let Some(role) = role
            && !(text.is_empty() && calls.is_empty() && contexts == 0)
        {
            self.messages.push(Expected::Response { role, text, contexts, calls });
        }
        if !results.is_empty() {
            self.messages.push(Expected::Results(results.into_values().collect()));
        }
    }

    /// The run has committed what it has brought so far, and goes on, or ends in the same step.
    fn commits(&mut self, committed: Option<(&History, Revision)>, revision: Revision) -> Result<(), Found> {
        let messages = self.base.len() + self.messages.len();
        let history = self.at_commit(committed, revision, messages)?;
        self.is(&history)?;
        self.based(history, revision);
        Ok(())
    }

    /// What was committed as `revision`, of so many messages: the end of the run may have come on top of it.
    fn at_commit(
        &self,
        committed: Option<(&History, Revision)>,
        revision: Revision,
        messages: usize,
    ) -> Result<History, Found> {
        let Some((history, own)) = committed else { return Err(found("B4", "nothing was committed")) };
        if revision.0 != self.revision.0 + 1 || !(revision.0..=revision.0 + 1).contains(&own.0) {
            return Err(found("B4", "the revision does not grow by one"));
        }
        if own == revision {
            return Ok(history.clone());
        }
        let before = history.iter().take(messages).map(|message| (**message).clone());
        History::from_messages(history.bounds(), before).map_err(|error| ("W10", format!("{error}")))
    }

    fn based(&mut self, history: History, revision: Revision) {
        self.base = history;
        self.revision = revision;
        self.messages.clear();
        self.additions.committed();
    }

    /// The older part of the history has given way: what it ends with is as the events say (K2, B5).
    fn compacts(
        &mut self,
        committed: Option<(&History, Revision)>,
        done: &CompactionCompleted,
    ) -> Result<(), Found> {
        let history = self.at_commit(committed, done.revision, done.messages as usize)?;
        // What people or the host said last is the least that stays; the rest depends on the policy.
        let said = self.messages.iter().rev().take_while(|message| matches!(message, Expected::Said(..)));
        for (back, expected) in said.enumerate() {
            let at = history.len().checked_sub(back + 1);
            expected.is(at.and_then(|at| history.get(at)))?;
        }
        if history.len() != done.messages as usize || history.open_calls() > 0 {
            return Err(found("K2", "a compaction separates calls from their results"));
        }
        self.based(history, done.revision);
        Ok(())
    }

    /// The run was put aside: nothing is committed.
    pub(super) fn ended_open(&self, outcome: &Outcome) -> Result<(), Found> {
        if outcome.history != self.base || outcome.revision != self.revision {
            return Err(found("H6", "a suspended run has committed"));
        }
        self.additions.ended(outcome, true)
    }

    /// The run has ended; `committed`: with what it brought.
    pub(super) fn ended(&mut self, outcome: &Outcome, committed: bool) -> Result<(), Found> {
        if self.start.is_none() {
            return Err(found("E2", "a run ends that was not started"));
        }
        self.additions.ended(outcome, committed)?;
        if !committed {
            let same = outcome.revision == self.revision && outcome.history == self.base;
            return if same { Ok(()) } else { Err(found("C9", "an interrupted run has committed")) };
        }
        if outcome.revision.0 != self.revision.0 + 1 {
            return Err(found("C4", "the revision does not grow by one"));
        }
        if let Some((.., usage)) = self.request.take() {
            self.billed.add(&usage);
        }
        if (self.usage, self.billed) != (outcome.usage, outcome.billed) {
            let recorded = (self.usage, self.billed);
            let said = (outcome.usage, outcome.billed);
            return Err(("R5", format!("the events add up to {recorded:?}, the outcome says {said:?}")));
        }
        if let RunResult::Completed(answer) = &outcome.result
            && answer.text != *self.answer
        {
            return Err(("E12", format!("the answer is {:?}, but {:?} was shown", answer.text, self.answer)));
        }
        self.is(&outcome.history)
    }

    /// The history is what was committed last, and behind it what the events say.
    fn is(&self, history: &History) -> Result<(), Found> {
        let mut messages = history.iter();
        if !messages.by_ref().take(self.base.len()).eq(self.base.iter()) {
            return Err(found("M2", "the history does not extend the one before"));
        }
        for expected in &self.messages {
            expected.is(messages.next())?;
        }
        match messages.next() {
            None => Ok(()),
            Some(message) => Err(("C4", format!("the events know nothing of {message:?}"))),
        }
    }
}

impl Expected {
    fn is(&self, message: Option<&Arc<Message>>) -> Result<(), Found> {
        let rule = match self {
            Self::Said(Role::User, _) => "C2",
            Self::Said(..) => "B4",
            Self::Response { .. } | Self::Results(_) | Self::Exactly(_) => "C4",
        };
        let differs = || Err((rule, format!("the events say {self:?}, the history {message:?}")));
        let Some(message) = message else { return differs() };
        let same = match self {
            Self::Response { role, text, contexts, calls } => {
                let mut own = String::new();
                let mut held = 0;
                for part in message.parts() {
                    match part {
                        Part::Text(text) => own.push_str(text),
                        Part::Context(_) => held += 1,
                        Part::Image(_) | Part::ToolCall(_) | Part::ToolResult(_) => {}
                    }
                }
                message.role() == *role
                    && own == *text
                    && held == *contexts
                    && message.calls().eq(calls.iter())
            }
            Self::Said(role, parts) => message.role() == *role && message.parts() == &**parts,
            Self::Exactly(expected) => message == expected,
            Self::Results(results) => message.role() == Role::Tool && message.results().eq(results.iter()),
        };
        if same { Ok(()) } else { differs() }
    }
}
