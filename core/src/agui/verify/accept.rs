//! What an event that was accepted changes, and what is open then.

use super::entities::{Call, Reasoning, Subagent, Text};
use super::order::{Order, Phase};
use super::{OpenItem, OpenKind};
use crate::agui::Event;
use crate::agui::event::{RunStarted, ToolCallStart};
use crate::agui::lanes::{Kind, Opener, Said};
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

/// Ids of each kind that a dump of what is open shows.
const MOST_SHOWN: usize = 16;

impl Order {
    /// Takes an event in that was checked, or that nothing rejects.
    #[inline]
    pub(super) fn accept(&mut self, event: &Event) {
        let tag = event.subagent_run_id();
        match event {
            Event::TextMessageStart(e) => {
                let said = Said { role: e.role, name: e.name.as_deref(), parent: None };
                self.accept_opening(Kind::Text, &e.message_id, tag, said, true);
            }
            Event::TextMessageEnd(e) => self.close(Kind::Text, &e.message_id),
            Event::ToolCallStart(e) => {
                self.accept_opening(Kind::Call, &e.tool_call_id, tag, said_of(e), true);
            }
            Event::ToolCallEnd(e) => self.close(Kind::Call, &e.tool_call_id),
            Event::ToolCallResult(e) => self.accept_result(&e.message_id, &e.tool_call_id, tag),
            Event::ReasoningStart(e) => {
                let at = self.tick();
                self.own_reasoning(&e.message_id, tag).span = Some(at);
            }
            Event::ReasoningEnd(e) => {
                if let Some(found) = self.entities.reasoning.get_mut(&e.message_id) {
                    found.span = None;
                }
            }
            Event::ReasoningMessageStart(e) => {
                self.accept_opening(Kind::Reasoning, &e.message_id, tag, Said::default(), true);
            }
            Event::ReasoningMessageEnd(e) => self.close(Kind::Reasoning, &e.message_id),
            Event::ActivitySnapshot(e) => {
                let keeps = e.replace == Some(false) && self.entities.activities.contains_key(&e.message_id);
                if !keeps {
                    self.entities.activities.insert(e.message_id.clone(), tag.map(Into::into));
                }
            }
            Event::StepStarted(e) => {
                let at = self.tick();
                self.entities.steps.open(tag, &e.step_name, at);
            }
            Event::StepFinished(e) => self.entities.steps.close(tag, &e.step_name),
            Event::SubagentStarted(e) => {
                let active = Some(self.tick());
                self.entities.subagents.insert(e.subagent_run_id.clone(), Subagent { active });
            }
            Event::SubagentFinished(e) => self.end_subagent(&e.subagent_run_id),
            Event::SubagentError(e) => self.end_subagent(&e.subagent_run_id),
            Event::MessagesSnapshot(e) => {
                e.messages.iter().for_each(|message| self.entities.know(message, true));
            }
            Event::RunStarted(e) => self.begin(e),
            Event::RunFinished(_) => self.phase = Phase::Finished,
            Event::RunError(_) => self.phase = Phase::Failed,
            Event::TextMessageContent(_)
            | Event::ToolCallArgs(_)
            | Event::ReasoningMessageContent(_)
            | Event::ReasoningEncryptedValue(_)
            | Event::ActivityDelta(_)
            | Event::StateSnapshot(_)
            | Event::StateDelta(_)
            | Event::Raw(_)
            | Event::Custom(_)
            | Event::TextMessageChunk(_)
            | Event::ToolCallChunk(_)
            | Event::ReasoningMessageChunk(_) => {}
        }
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn begin(&mut self, event: &RunStarted) {
        // What an input made known before the stream began stays known.
        if self.phase != Phase::Before {
            let calls = core::mem::take(&mut self.entities).calls;
            let room = self.most_ids.saturating_sub(self.earlier_calls.len());
            self.earlier_calls.extend(calls.into_keys().take(room));
        }
        self.phase = Phase::Open;
        self.thread = Some(event.thread_id.clone());
        self.run = Some(event.run_id.clone());
        if let Some(input) = &event.input {
            input.messages.iter().for_each(|message| self.entities.know(message, false));
        }
    }

    /// Takes an opened item in: one that is open by itself until it is closed, or one that chunks put together.
    pub(super) fn accept_opening(
        &mut self,
        kind: Kind,
        id: &str,
        tag: Option<&str>,
        said: Said<'_>,
        by_itself: bool,
    ) {
        let at = self.tick();
        let open = by_itself.then_some(at);
        match kind {
            Kind::Text => {
                let new = || Text { owner: tag.map(Into::into), ..Text::default() };
                let text = self.entities.texts.entry(id.to_owned()).or_insert_with(new);
                text.open = open;
                text.opener.get_or_insert_with(|| Opener::of(said));
            }
            Kind::Call => {
                let owner = self.entities.asserted(tag, said).flatten().map(Into::into);
                let new = || Call { owner, ..Call::default() };
                let call = self.entities.calls.entry(id.to_owned()).or_insert_with(new);
                call.open = open;
                call.opener.get_or_insert_with(|| Opener::of(said));
                call.started.get_or_insert(at);
            }
            Kind::Reasoning => self.own_reasoning(id, tag).message = open,
        }
    }

    fn close(&mut self, kind: Kind, id: &str) {
        let open = match kind {
            Kind::Text => self.entities.texts.get_mut(id).map(|text| &mut text.open),
            Kind::Call => self.entities.calls.get_mut(id).map(|call| &mut call.open),
            Kind::Reasoning => self.entities.reasoning.get_mut(id).map(|found| &mut found.message),
        };
        if let Some(open) = open {
            *open = None;
        }
    }

    fn own_reasoning(&mut self, id: &str, tag: Option<&str>) -> &mut Reasoning {
        let new = || Reasoning { owner: tag.map(Into::into), ..Reasoning::default() };
        self.entities.reasoning.entry(id.to_owned()).or_insert_with(new)
    }

    fn accept_result(&mut self, message: &str, call: &str, tag: Option<&str>) {
        let text = self.entities.texts.entry(message.to_owned()).or_default();
        if text.open.is_none() {
            text.owner = tag.map(Into::into);
        }
        if let Some(call) = self.entities.calls.get_mut(call) {
            call.answered = true;
        }
    }

    fn end_subagent(&mut self, id: &str) {
        if let Some(subagent) = self.entities.subagents.get_mut(id) {
            subagent.active = None;
        }
    }

    /// Calls that this run started and that are not answered, in the order in which it started them.
    pub(super) fn pending(&self) -> Vec<&str> {
        let calls = self.entities.calls.iter();
        let mut pending: Vec<(u64, &str)> = calls
            .filter_map(|(id, call)| Some((call.started.filter(|_| !call.answered)?, id.as_str())))
            .collect();
        pending.sort_unstable();
        pending.into_iter().map(|(_, id)| id).collect()
    }

    /// What is open, in the order in which it can be closed.
    pub(super) fn open_items(&self) -> Vec<OpenItem> {
        let entities = &self.entities;
        let mut open: Vec<(OpenKind, u64, OpenItem)> = Vec::new();
        let mut add = |kind: OpenKind, id: &str, owner: Option<&str>, at: Option<u64>| {
            let Some(at) = at else { return };
            // Steps and invocations contain what came after them, so that the last one is closed first.
            let order = match kind {
                OpenKind::Step | OpenKind::Subagent => u64::MAX - at,
                OpenKind::ToolCall
                | OpenKind::ReasoningMessage
                | OpenKind::TextMessage
                | OpenKind::Reasoning => at,
            };
            let item = OpenItem { kind, id: id.to_owned(), owner: owner.map(str::to_owned) };
            open.push((kind, order, item));
        };
        for (id, call) in &entities.calls {
            add(OpenKind::ToolCall, id, call.owner.as_deref(), call.open);
        }
        for (id, found) in &entities.reasoning {
            add(OpenKind::ReasoningMessage, id, found.owner.as_deref(), found.message);
            add(OpenKind::Reasoning, id, found.owner.as_deref(), found.span);
        }
        for (id, text) in &entities.texts {
            add(OpenKind::TextMessage, id, text.owner.as_deref(), text.open);
        }
        for (owner, name, at) in entities.steps.iter() {
            add(OpenKind::Step, name, owner, Some(at));
        }
        for (id, subagent) in &entities.subagents {
            add(OpenKind::Subagent, id, None, subagent.active);
        }
        open.sort_unstable_by_key(|(kind, order, _)| (*kind, *order));
        open.into_iter().map(|(_, _, item)| item).collect()
    }

    /// Appends what is open to a text.
    pub(super) fn dump(&self, text: &mut String) {
        let mut items = self.open_items();
        items.sort_by(|a, b| (b.kind.rank(), &a.id, &a.owner).cmp(&(a.kind.rank(), &b.id, &b.owner)));
        if items.is_empty() {
            text.push_str(" [nothing open]");
            return;
        }
        text.push_str(" [open:");
        for group in items.chunk_by(|a, b| a.kind == b.kind) {
            let kind = group.first().map_or("", |item| item.kind.plural());
            let shown: Vec<String> = group.iter().take(MOST_SHOWN).map(OpenItem::shown).collect();
            let more = group.len().saturating_sub(MOST_SHOWN);
            // Writing into a string cannot fail.
            let _ = write!(text, " {kind}={{{}", shown.join(", "));
            if more > 0 {
                let _ = write!(text, " and {more} more");
            }
            text.push('}');
        }
        text.push(']');
    }
}

/// What a call's start says about it.
pub(super) fn said_of(start: &ToolCallStart) -> Said<'_> {
    Said { role: None, name: Some(&start.tool_call_name), parent: start.parent_message_id.as_deref() }
}

impl OpenItem {
    fn shown(&self) -> String {
        match &self.owner {
            Some(owner) if self.kind == OpenKind::Step => alloc::format!("{:?} of {owner:?}", self.id),
            Some(_) | None => alloc::format!("{:?}", self.id),
        }
    }
}

impl OpenKind {
    /// The thing in words.
    pub(super) const fn named(self) -> &'static str {
        match self {
            Self::ToolCall => "tool call",
            Self::ReasoningMessage => "reasoning message",
            Self::TextMessage => "message",
            Self::Reasoning => "reasoning",
            Self::Step => "step",
            Self::Subagent => "subagent",
        }
    }

    const fn plural(self) -> &'static str {
        match self {
            Self::ToolCall => "tool_calls",
            Self::ReasoningMessage => "reasoning_messages",
            Self::TextMessage => "messages",
            Self::Reasoning => "reasoning",
            Self::Step => "steps",
            Self::Subagent => "subagents",
        }
    }

    /// In which order a dump shows them.
    const fn rank(self) -> u8 {
        match self {
            Self::TextMessage => 5,
            Self::Reasoning => 4,
            Self::ReasoningMessage => 3,
            Self::ToolCall => 2,
            Self::Step => 1,
            Self::Subagent => 0,
        }
    }
}
