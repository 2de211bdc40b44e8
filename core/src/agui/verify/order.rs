//! The rules about what a run's events do to each other.

use super::accept::said_of;
use super::entities::{Entities, Subagent, agrees};
use super::{Mode, Rule};
use crate::agui::event::{EncryptedSubtype, RunFinished};
use crate::agui::lanes::{Chunk, Kind, Said};
use crate::agui::{Event, RunAgentInput, RunOutcome};
use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;

/// A broken rule and what is wrong; the caller knows the event.
#[derive(Clone, Debug)]
pub(super) struct Broken {
    pub(super) rule: Rule,
    pub(super) id: Option<String>,
    pub(super) detail: String,
}

type Checked = Result<(), Broken>;

#[cold]
fn broken(rule: Rule, what: &str, id: &str, why: &str) -> Checked {
    Err(Broken { rule, id: Some(id.to_owned()), detail: format!("{what} {id:?} {why}") })
}

/// Where the stream stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// Before its first event.
    #[default]
    Before,
    /// In a run.
    Open,
    /// After a run that did not fail.
    Finished,
    /// After a run that failed.
    Failed,
}

/// The state behind the rules.
#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) phase: Phase,
    pub(super) most_ids: usize,
    /// The thread of all runs of the stream.
    pub(super) thread: Option<String>,
    /// The open run, or the one that must be opened.
    pub(super) run: Option<String>,
    pub(super) entities: Entities,
    /// Calls of earlier runs, which can be answered.
    pub(super) earlier_calls: BTreeSet<String>,
    /// Counts what is opened, so that order is known.
    pub(super) clock: u64,
}

impl Default for Order {
    fn default() -> Self {
        Self {
            phase: Phase::Before,
            most_ids: 1 << 20,
            thread: None,
            run: None,
            entities: Entities::default(),
            earlier_calls: BTreeSet::new(),
            clock: 0,
        }
    }
}

impl Order {
    pub(super) fn know(&mut self, input: &RunAgentInput, run: Option<&str>) {
        self.thread = Some(input.thread_id.clone());
        self.run = run.map(str::to_owned);
        input.messages.iter().for_each(|message| self.entities.know(message, false));
    }

    pub(super) fn start(&mut self, thread: &str, run: &str) {
        self.thread = Some(thread.to_owned());
        self.run = Some(run.to_owned());
        self.phase = Phase::Open;
    }

    /// Checks an event that is no chunk, in a run or at its borders.
    #[inline]
    pub(super) fn check(&self, event: &Event, mode: Mode) -> Checked {
        let tag = event.subagent_run_id();
        match event {
            Event::TextMessageStart(e) => {
                let said =
                    Said { role: Some(e.role.unwrap_or_default()), name: e.name.as_deref(), parent: None };
                self.check_text_start(&e.message_id, tag, said)
            }
            Event::TextMessageContent(e) => self.check_continuing(Kind::Text, &e.message_id, tag, true),
            Event::TextMessageEnd(e) => self.check_continuing(Kind::Text, &e.message_id, tag, true),
            Event::ToolCallStart(e) => self.check_call_start(&e.tool_call_id, tag, said_of(e)),
            Event::ToolCallArgs(e) => self.check_continuing(Kind::Call, &e.tool_call_id, tag, true),
            Event::ToolCallEnd(e) => self.check_continuing(Kind::Call, &e.tool_call_id, tag, true),
            Event::ToolCallResult(e) => self.check_result(&e.tool_call_id),
            Event::ReasoningStart(e) => self.check_span(&e.message_id, tag, false),
            Event::ReasoningEnd(e) => self.check_span(&e.message_id, tag, true),
            Event::ReasoningMessageStart(e) => self.check_reasoning_start(&e.message_id, tag),
            Event::ReasoningMessageContent(e) => {
                self.check_continuing(Kind::Reasoning, &e.message_id, tag, true)
            }
            Event::ReasoningMessageEnd(e) => self.check_continuing(Kind::Reasoning, &e.message_id, tag, true),
            Event::ReasoningEncryptedValue(e) => self.check_sealed(e.subtype, &e.entity_id, tag),
            Event::ActivitySnapshot(_) => self.check_room(1),
            Event::ActivityDelta(e) => self.check_activity(&e.message_id, tag),
            Event::StepStarted(e) => self.check_step(&e.step_name, tag, false),
            Event::StepFinished(e) => self.check_step(&e.step_name, tag, true),
            Event::SubagentStarted(e) => {
                self.check_announcement(&e.subagent_run_id, e.parent_subagent_run_id.as_deref())
            }
            Event::SubagentFinished(e) => self.check_active(&e.subagent_run_id),
            Event::SubagentError(e) => self.check_active(&e.subagent_run_id),
            Event::RunStarted(e) => self.check_start(&e.thread_id, &e.run_id, mode),
            Event::RunFinished(e) => self.check_finish(e),
            Event::MessagesSnapshot(e) => self.check_room(e.messages.len()),
            Event::RunError(_)
            | Event::StateSnapshot(_)
            | Event::StateDelta(_)
            | Event::Raw(_)
            | Event::Custom(_)
            | Event::TextMessageChunk(_)
            | Event::ToolCallChunk(_)
            | Event::ReasoningMessageChunk(_) => Ok(()),
        }
    }

    /// Checks a chunk that opens an item.
    pub(super) fn check_opening(&self, chunk: Chunk<'_>) -> Checked {
        let (id, tag) = (chunk.id.unwrap_or_default(), chunk.tag);
        match chunk.kind {
            Kind::Text => {
                let said = Said { role: Some(chunk.said.role.unwrap_or_default()), ..chunk.said };
                self.check_text_start(id, tag, said)
            }
            Kind::Call => self.check_call_start(id, tag, chunk.said),
            Kind::Reasoning => self.check_reasoning_start(id, tag),
        }
    }

    /// Checks what continues or closes a message or call; one that chunks put together is not open by itself.
    #[inline]
    pub(super) fn check_continuing(
        &self,
        kind: Kind,
        id: &str,
        tag: Option<&str>,
        by_itself: bool,
    ) -> Checked {
        let found = match kind {
            Kind::Text => self.entities.texts.get(id).map(|text| (&text.owner, text.open)),
            Kind::Call => self.entities.calls.get(id).map(|call| (&call.owner, call.open)),
            Kind::Reasoning => self.entities.reasoning.get(id).map(|found| (&found.owner, found.message)),
        };
        match found {
            Some((owner, open)) if open.is_some() || !by_itself => match agrees(owner, tag) {
                true => Ok(()),
                false => broken(Rule::OwnerMismatch, named(kind), id, "is another owner's"),
            },
            Some(_) | None => broken(Rule::NotOpen, named(kind), id, "is not open"),
        }
    }

    fn check_room(&self, more: usize) -> Checked {
        if self.entities.len().saturating_add(more) <= self.most_ids {
            return Ok(());
        }
        let detail = format!("more than {} ids in one run", self.most_ids);
        Err(Broken { rule: Rule::TooMany, id: None, detail })
    }

    fn check_text_start(&self, id: &str, tag: Option<&str>, said: Said<'_>) -> Checked {
        let Some(text) = self.entities.texts.get(id) else { return self.check_room(1) };
        if text.open.is_some() {
            return broken(Rule::DuplicateStart, "message", id, "is already open");
        }
        if !agrees(&text.owner, tag) {
            return broken(Rule::OwnerMismatch, "message", id, "is another owner's");
        }
        match text.opener.as_ref().and_then(|opener| opener.contradicted(said)) {
            Some(member) => broken(Rule::OpenerMismatch, "message", id, &format!("had another {member}")),
            None => Ok(()),
        }
    }

    fn check_call_start(&self, id: &str, tag: Option<&str>, said: Said<'_>) -> Checked {
        let known = self.entities.calls.get(id);
        if known.is_some_and(|call| call.open.is_some()) {
            return broken(Rule::DuplicateStart, "tool call", id, "is already open");
        }
        let parent = said.parent.and_then(|parent| self.entities.texts.get(parent));
        if parent.is_some_and(|parent| !agrees(&parent.owner, tag)) {
            return broken(Rule::OwnerMismatch, "tool call", id, "is in a message of another owner");
        }
        let Some(call) = known else { return self.check_room(1) };
        if self.entities.asserted(tag, said).is_some_and(|owner| owner != call.owner.as_deref()) {
            return broken(Rule::OwnerMismatch, "tool call", id, "is another owner's");
        }
        match call.opener.as_ref().and_then(|opener| opener.contradicted(said)) {
            Some(member) => broken(Rule::OpenerMismatch, "tool call", id, &format!("had another {member}")),
            None => Ok(()),
        }
    }

    fn check_reasoning_start(&self, id: &str, tag: Option<&str>) -> Checked {
        match self.entities.reasoning.get(id) {
            None => self.check_room(1),
            Some(found) if found.message.is_some() => {
                broken(Rule::DuplicateStart, "reasoning message", id, "is already open")
            }
            Some(found) if !agrees(&found.owner, tag) => {
                broken(Rule::OwnerMismatch, "reasoning message", id, "is another owner's")
            }
            Some(_) => Ok(()),
        }
    }

    fn check_span(&self, id: &str, tag: Option<&str>, ends: bool) -> Checked {
        let found = self.entities.reasoning.get(id);
        match (found.is_some_and(|found| found.span.is_some()), ends) {
            (true, false) => broken(Rule::DuplicateStart, "reasoning", id, "is already open"),
            (false, true) => broken(Rule::NotOpen, "reasoning", id, "is not open"),
            (true, true) | (false, false) => match found {
                None => self.check_room(1),
                Some(found) if agrees(&found.owner, tag) => Ok(()),
                Some(_) => broken(Rule::OwnerMismatch, "reasoning", id, "is another owner's"),
            },
        }
    }

    fn check_result(&self, call: &str) -> Checked {
        match self.entities.calls.get(call) {
            Some(found) if found.open.is_some() => {
                broken(Rule::OutOfOrder, "tool call", call, "has not ended")
            }
            Some(_) => self.check_room(1),
            None if self.earlier_calls.contains(call) => self.check_room(1),
            None => broken(Rule::UnknownId, "tool call", call, "was never started"),
        }
    }

    fn check_sealed(&self, subtype: EncryptedSubtype, id: &str, tag: Option<&str>) -> Checked {
        let entities = &self.entities;
        let owner = match subtype {
            EncryptedSubtype::ToolCall => entities.calls.get(id).map(|call| &call.owner),
            EncryptedSubtype::Message => {
                let text = entities.texts.get(id).map(|text| &text.owner);
                text.or_else(|| entities.reasoning.get(id).map(|found| &found.owner))
            }
        };
        match owner {
            Some(owner) if !agrees(owner, tag) => {
                broken(Rule::OwnerMismatch, "entity", id, "is another owner's")
            }
            Some(_) | None => Ok(()),
        }
    }

    fn check_activity(&self, id: &str, tag: Option<&str>) -> Checked {
        match self.entities.activities.get(id) {
            Some(owner) if !agrees(owner, tag) => {
                broken(Rule::OwnerMismatch, "activity", id, "is another owner's")
            }
            Some(_) | None => Ok(()),
        }
    }

    fn check_step(&self, name: &str, tag: Option<&str>, ends: bool) -> Checked {
        match (self.entities.steps.is_open(tag, name), ends) {
            (true, false) => broken(Rule::DuplicateStart, "step", name, "is already open"),
            (false, true) => broken(Rule::NotOpen, "step", name, "is not open"),
            (false, false) => self.check_room(1),
            (true, true) => Ok(()),
        }
    }

    fn check_announcement(&self, id: &str, parent: Option<&str>) -> Checked {
        let subagents = &self.entities.subagents;
        if let Some(known) = subagents.get(id) {
            let why = if known.active.is_some() { "is active" } else { "has ended in this run" };
            return broken(Rule::DuplicateStart, "subagent", id, why);
        }
        self.check_room(1)?;
        match parent {
            Some(parent) if !subagents.contains_key(parent) => {
                broken(Rule::UnknownId, "parent subagent", parent, "was never announced")
            }
            Some(_) | None => Ok(()),
        }
    }

    fn check_active(&self, id: &str) -> Checked {
        match self.entities.subagents.get(id) {
            Some(Subagent { active: Some(_) }) => Ok(()),
            Some(_) | None => broken(Rule::NotOpen, "subagent", id, "is not active"),
        }
    }

    fn check_start(&self, thread: &str, run: &str, mode: Mode) -> Checked {
        if self.thread.as_deref().is_some_and(|known| known != thread) {
            return broken(Rule::RunIdentity, "thread", thread, "is not the stream's");
        }
        if mode == Mode::SingleRun && self.run.as_deref().is_some_and(|known| known != run) {
            return broken(Rule::RunIdentity, "run", run, "is not the input's");
        }
        Ok(())
    }

    fn check_finish(&self, event: &RunFinished) -> Checked {
        if self.thread.as_deref() != Some(&event.thread_id) {
            return broken(Rule::RunIdentity, "thread", &event.thread_id, "is not that of RUN_STARTED");
        }
        if self.run.as_deref() != Some(&event.run_id) {
            return broken(Rule::RunIdentity, "run", &event.run_id, "is not that of RUN_STARTED");
        }
        if let Some(item) = self.open_items().into_iter().next() {
            return broken(Rule::OpenAtFinish, item.kind.named(), &item.id, "is still open");
        }
        match &event.outcome {
            Some(RunOutcome::Interrupt(interrupts)) => {
                let mut ids = BTreeSet::new();
                match interrupts.iter().find(|interrupt| !ids.insert(interrupt.id.as_str())) {
                    Some(twice) => broken(Rule::DuplicateInterrupt, "interrupt", &twice.id, "is there twice"),
                    None if interrupts.is_empty() => {
                        let detail = "an interrupt outcome asks at least once".to_owned();
                        Err(Broken { rule: Rule::Malformed, id: None, detail })
                    }
                    None => Ok(()),
                }
            }
            Some(RunOutcome::SuccessWithPendingToolCalls(ids)) => {
                let pending = self.pending();
                if pending.iter().eq(ids.iter()) {
                    return Ok(());
                }
                let detail = format!("the calls left open are {pending:?}, the event says {ids:?}");
                Err(Broken { rule: Rule::PendingToolCalls, id: None, detail })
            }
            Some(RunOutcome::Success | RunOutcome::Cancelled) | None => Ok(()),
        }
    }
}

fn named(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "message",
        Kind::Call => "tool call",
        Kind::Reasoning => "reasoning message",
    }
}
