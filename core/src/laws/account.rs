//! What a run's events say about its outcome: messages, usage, revision (C4, E10, R5, M7, C9).

use super::{Found, found};
use crate::event::Event;
use crate::id::OpId;
use crate::input::Start;
use crate::message::{Message, Part, Role, ToolCall, ToolResult};
use crate::model::ProblemKind;
use crate::outcome::{Outcome, RunResult};
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
    usage: Usage,
    billed: Usage,
    request: Option<(OpId, u32, Usage)>,
    draft: Draft,
    messages: Vec<Expected>,
    answer: String,
    /// Whether the run is a next part: its input is among its messages.
    resumed: bool,
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
    /// As an earlier part of the run has left it.
    Exactly(Arc<Message>),
}

impl Account {
    pub(super) fn started(&mut self, start: Start) {
        self.start = Some(Arc::new(start));
    }

    /// The next part of a run that was suspended.
    pub(super) fn resumed(&mut self, resume: &Resume) {
        let value = &resume.suspended;
        let session = resume.session.clone();
        let (history, model) = (resume.history.clone(), Arc::clone(&resume.model));
        let start = Start::new(session, resume.revision, history, Vec::new(), model);
        *self = Self { start: Some(Arc::new(start)), ..Self::default() };
        (self.usage, self.billed) = (value.usage, value.billed);
        self.answer = String::from(value.answer.as_str());
        let (last, before) = value.tail.split_last().map_or((None, &[][..]), |(l, b)| (Some(l), b));
        self.messages.extend(before.iter().cloned().map(Expected::Exactly));
        self.messages.extend(last.cloned().map(Expected::Exactly));
        for call in &value.calls {
            if let SuspendedState::Done(result) = &call.state {
                self.draft.results.insert(result.call.ordinal, Arc::clone(result));
            }
        }
        self.resumed = true;
    }

    pub(super) fn is_started(&self) -> bool {
        self.start.is_some()
    }

    pub(super) fn event(&mut self, event: &Event) -> Result<(), Found> {
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
            Event::RunStarted(_)
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
            | Event::HostInputRequested(_)
            | Event::HostInputAnswered(_)
            | Event::HostInputFailed(_)
            | Event::HostInputCancelled(_) => {}
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

    /// The run was put aside: nothing is committed.
    pub(super) fn ended_open(&self, outcome: &Outcome) -> Result<(), Found> {
        match &self.start {
            Some(start) if outcome.history == start.history => Ok(()),
            Some(_) | None => Err(found("H6", "a suspended run has committed")),
        }
    }

    /// The run has ended; `committed`: with what it brought.
    pub(super) fn ended(&mut self, outcome: &Outcome, committed: bool) -> Result<(), Found> {
        let Some(start) = &self.start else { return Err(found("E2", "a run ends that was not started")) };
        if !committed {
            let same = outcome.revision == start.revision && outcome.history == start.history;
            return if same { Ok(()) } else { Err(found("C9", "an interrupted run has committed")) };
        }
        if outcome.revision.0 != start.revision.0 + 1 {
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
        let at = start.history.len();
        let mut messages = outcome.history.iter();
        if !messages.by_ref().take(at).eq(start.history.iter()) {
            return Err(found("M2", "the history does not extend the one before"));
        }
        if !self.resumed && messages.next().map(|message| message.parts()) != Some(&start.input) {
            return Err(found("C2", "the input is not committed"));
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
        let differs = || Err(("C4", format!("the events say {self:?}, the history {message:?}")));
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
            Self::Exactly(expected) => message == expected,
            Self::Results(results) => message.role() == Role::Tool && message.results().eq(results.iter()),
        };
        if same { Ok(()) } else { differs() }
    }
}
