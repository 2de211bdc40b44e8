//! What a stream builds: messages, state, activities, invocations.

use super::planted::Fault;
use super::warning::{Warning, Warnings};
use crate::agui::content::{ContentPart, TextPart};
use crate::agui::event::{Base, RunStarted, SubagentStarted, TextMessageStart};
use crate::agui::message::{
    AssistantMessage, DeveloperMessage, Message, ReasoningMessage, Role, SystemMessage, UserMessage,
};
use crate::agui::patch::{Budget, apply, weight};
use crate::agui::{Content, Event, Metadata, Operation, RunAgentInput, SubagentOutcome, TextRole, Version};
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use serde_json::{Map, Value};

/// An invocation of a subagent, as far as the stream tells.
#[derive(Clone, Debug, PartialEq)]
pub struct SubagentState {
    /// Its announcement.
    pub started: Box<SubagentStarted>,
    /// What became of it.
    pub status: SubagentStatus,
}

/// What became of an invocation.
#[derive(Clone, Debug, PartialEq)]
pub enum SubagentStatus {
    /// It is at work.
    Active,
    /// It ended without failing.
    Finished(SubagentOutcome),
    /// It failed.
    Failed {
        /// What went wrong.
        message: String,
    },
    /// Its run failed before it ended.
    Abandoned,
}

/// Messages, state, and what else a stream built.
#[derive(Clone, Debug)]
pub struct Thread {
    pub(super) messages: Vec<Message>,
    /// Where the message of an id is.
    pub(super) places: BTreeMap<String, usize>,
    /// In which message a call is, and where in it.
    pub(super) calls: BTreeMap<String, (usize, usize)>,
    state: Value,
    /// Whether the state is anything but a guess.
    state_known: bool,
    /// How much state and activities may still grow.
    budget: Budget,
    subagents: Vec<SubagentState>,
    /// Where the invocation of an id is.
    subagent_places: BTreeMap<String, usize>,
    /// Where the invocations of the open run are.
    announced: Vec<usize>,
    /// Calls of the last run that are not answered, and when they came.
    pub(super) pending: BTreeMap<String, u64>,
    pub(super) clock: u64,
    faults: u64,
}

impl Default for Thread {
    /// No messages, and the state `{}`.
    fn default() -> Self {
        Self {
            messages: Vec::new(),
            places: BTreeMap::new(),
            calls: BTreeMap::new(),
            state: Value::Object(Map::new()),
            state_known: false,
            budget: Budget::default(),
            subagents: Vec::new(),
            subagent_places: BTreeMap::new(),
            announced: Vec::new(),
            pending: BTreeMap::new(),
            clock: 0,
            faults: 0,
        }
    }
}

impl Thread {
    /// The messages, in order.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The message of an id.
    pub fn message(&self, id: &str) -> Option<&Message> {
        self.messages.get(*self.places.get(id)?)
    }

    /// The state; `{}` before anything said so.
    pub fn state(&self) -> &Value {
        &self.state
    }

    /// Invocations that were announced, in order.
    pub fn subagents(&self) -> &[SubagentState] {
        &self.subagents
    }

    /// Calls of the last run that nobody has answered, in call order: derived from the stream, whatever its outcome says.
    pub fn pending_tool_calls(&self) -> Vec<&str> {
        let mut calls: Vec<(u64, &str)> = self.pending.iter().map(|(id, at)| (*at, id.as_str())).collect();
        calls.sort_unstable();
        calls.into_iter().map(|(_, id)| id).collect()
    }

    pub(super) fn plant(&mut self, fault: Fault) {
        self.faults |= 1 << fault as u64;
    }

    pub(super) fn planted(&self, fault: Fault) -> bool {
        self.faults & (1 << fault as u64) != 0
    }

    pub(super) fn most_state(&mut self, most: u64) {
        self.budget.left = most.saturating_sub(weight(&self.state));
    }

    pub(super) fn begin_with(&mut self, input: &RunAgentInput) {
        for message in &input.messages {
            if !self.places.contains_key(message.id()) {
                self.add(message.clone());
            }
        }
        if let Some(state) = input.state.as_ref().filter(|_| !self.state_known) {
            self.replace_state(state.clone());
        }
    }

    /// Takes in an event that was expanded and verified; `at` is its position, for warnings.
    pub(super) fn fold(&mut self, event: &Event, at: usize, warnings: &mut Warnings) {
        match event {
            Event::TextMessageStart(e) => self.open_text(e, at, warnings),
            Event::TextMessageContent(e) => self.append(&e.message_id, &e.delta, &e.base, at, warnings),
            Event::TextMessageEnd(e) => self.merge(&e.message_id, &e.base),
            Event::ToolCallStart(e) => self.open_call(e, at, warnings),
            Event::ToolCallArgs(e) => {
                if !self.calls.contains_key(&e.tool_call_id) {
                    let (wanted, id) = ("tool call", e.tool_call_id.clone());
                    warnings.push(Warning::NoTarget { event: at, wanted, id });
                }
                self.extend_call(&e.tool_call_id, &e.delta, &e.base);
            }
            Event::ToolCallEnd(e) => self.extend_call(&e.tool_call_id, "", &e.base),
            Event::ToolCallResult(e) => self.result(e, at, warnings),
            Event::StateSnapshot(e) => self.replace_state(e.snapshot.clone()),
            Event::StateDelta(e) => self.patch_state(&e.delta, at, warnings),
            Event::MessagesSnapshot(e) => self.reconcile(&e.messages),
            Event::ActivitySnapshot(e) => self.show_activity(e, at, warnings),
            Event::ActivityDelta(e) => self.amend_activity(e, at, warnings),
            Event::RunStarted(e) => self.begin(e, warnings),
            Event::RunError(_) => self.abandon(),
            Event::ReasoningMessageStart(e) => {
                let (id, owner) = (&e.message_id, &e.subagent_run_id);
                if self.reopened(id) {
                    self.compare_role(id, Role::Reasoning, at, warnings);
                    return self.merge(id, &e.base);
                }
                let (id, subagent_run_id) = (id.clone(), owner.clone());
                self.add(ReasoningMessage { id, subagent_run_id, ..ReasoningMessage::default() }.into());
                self.merge(&e.message_id, &e.base);
            }
            Event::ReasoningMessageContent(e) => self.append(&e.message_id, &e.delta, &e.base, at, warnings),
            Event::ReasoningMessageEnd(e) => self.merge(&e.message_id, &e.base),
            Event::ReasoningEncryptedValue(e) => self.seal(e, at, warnings),
            Event::SubagentStarted(e) => self.announce(e),
            Event::SubagentFinished(e) => {
                let status = SubagentStatus::Finished(e.outcome.clone().unwrap_or_default());
                self.end_subagent(&e.subagent_run_id, status);
            }
            Event::SubagentError(e) => {
                let status = SubagentStatus::Failed { message: e.message.clone() };
                self.end_subagent(&e.subagent_run_id, status);
            }
            Event::RunFinished(_)
            | Event::StepStarted(_)
            | Event::StepFinished(_)
            | Event::ReasoningStart(_)
            | Event::ReasoningEnd(_)
            | Event::Raw(_)
            | Event::Custom(_)
            | Event::TextMessageChunk(_)
            | Event::ToolCallChunk(_)
            | Event::ReasoningMessageChunk(_) => {}
        }
    }

    fn begin(&mut self, event: &RunStarted, warnings: &mut Warnings) {
        if self.planted(Fault::StateIsForgotten) {
            self.state = Value::Object(Map::new());
        }
        if self.planted(Fault::MessagesAreForgotten) {
            self.messages.clear();
            self.index();
        }
        self.pending.clear();
        self.announced.clear();
        let later =
            |declared: &&String| Version::parse(declared).is_none_or(|version| version > Version::OURS);
        if let Some(declared) = event.protocol_version.as_ref().filter(later)
            && !self.planted(Fault::VersionIsIgnored)
        {
            let declared = declared.chars().take(16).collect();
            warnings.push(Warning::Version { declared });
        }
        if let Some(input) = &event.input {
            self.begin_with(input);
        }
    }

    pub(super) fn add(&mut self, message: Message) {
        let place = self.messages.len();
        self.places.insert(message.id().to_owned(), place);
        if let Message::Assistant(assistant) = &message {
            for (n, call) in assistant.tool_calls.iter().enumerate() {
                self.calls.insert(call.id.clone(), (place, n));
            }
        }
        self.messages.push(message);
    }

    /// Finds everything anew after messages were moved.
    pub(super) fn index(&mut self) {
        self.places.clear();
        self.calls.clear();
        for message in core::mem::take(&mut self.messages) {
            self.add(message);
        }
    }

    pub(super) fn message_mut(&mut self, id: &str) -> Option<&mut Message> {
        let place = *self.places.get(id)?;
        self.messages.get_mut(place)
    }

    /// Whether a message is there already, so that what comes is appended to it.
    fn reopened(&mut self, id: &str) -> bool {
        if !self.places.contains_key(id) {
            return false;
        }
        if self.planted(Fault::ReopeningReplaces) {
            self.messages.retain(|message| message.id() != id);
            self.index();
            return false;
        }
        true
    }

    /// Tells of a message that is opened again as what it is not. Activities take no text, which is told elsewhere.
    fn compare_role(&self, id: &str, said: Role, event: usize, warnings: &mut Warnings) {
        let role = self.message(id).map(Message::role);
        let told =
            matches!(warnings.list().last(), Some(Warning::Order { event: last, .. }) if *last == event);
        if told {
            return;
        }
        if let Some(role) = role.filter(|role| *role != said && *role != Role::Activity) {
            warnings.push(Warning::OtherRole { event, id: id.to_owned(), role });
        }
    }

    fn open_text(&mut self, event: &TextMessageStart, at: usize, warnings: &mut Warnings) {
        let id = &event.message_id;
        if self.reopened(id) {
            let role = Role::from_name(event.role.unwrap_or_default().as_str());
            role.into_iter().for_each(|role| self.compare_role(id, role, at, warnings));
            if self.message_mut(id).is_some_and(|message| text_of(message).is_none()) {
                warnings.push(Warning::NoTarget { event: at, wanted: "message with text", id: id.clone() });
            }
            return self.merge(id, &event.base);
        }
        let (id, name, subagent_run_id) = (id.clone(), event.name.clone(), event.subagent_run_id.clone());
        let message: Message = match event.role.unwrap_or_default() {
            TextRole::Developer => {
                DeveloperMessage { id, name, subagent_run_id, ..DeveloperMessage::default() }.into()
            }
            TextRole::System => {
                SystemMessage { id, name, subagent_run_id, ..SystemMessage::default() }.into()
            }
            TextRole::Assistant => {
                let content = Some(String::new());
                AssistantMessage { id, name, content, subagent_run_id, ..AssistantMessage::default() }.into()
            }
            TextRole::User => UserMessage { id, name, subagent_run_id, ..UserMessage::default() }.into(),
        };
        self.add(message);
        self.merge(&event.message_id, &event.base);
    }

    fn append(&mut self, id: &str, delta: &str, base: &Base, at: usize, warnings: &mut Warnings) {
        match self.message_mut(id).and_then(text_of) {
            Some(text) => text.push_str(delta),
            None => {
                warnings.push(Warning::NoTarget { event: at, wanted: "message with text", id: id.to_owned() })
            }
        }
        self.merge(id, base);
    }

    /// Merges an event's metadata into the message that it builds.
    pub(super) fn merge(&mut self, id: &str, base: &Base) {
        let Some(metadata) = &base.metadata else { return };
        let (first_wins, deep) =
            (self.planted(Fault::MetadataFirstWins), self.planted(Fault::MetadataRecurses));
        if let Some(message) = self.message_mut(id) {
            merge_into(message.metadata_mut(), metadata, first_wins, deep);
        }
    }

    pub(super) fn merge_planted(&self, place: &mut Option<Metadata>, metadata: &Metadata) {
        let (first_wins, deep) =
            (self.planted(Fault::MetadataFirstWins), self.planted(Fault::MetadataRecurses));
        merge_into(place, metadata, first_wins, deep);
    }

    fn replace_state(&mut self, state: Value) {
        self.state_known = true;
        if self.planted(Fault::StateIsMerged)
            && let (Value::Object(old), Value::Object(new)) = (&mut self.state, &state)
        {
            old.extend(new.clone());
            return;
        }
        self.budget.left = self.budget.left.saturating_add(weight(&self.state));
        self.budget.left = self.budget.left.saturating_sub(weight(&state));
        self.state = state;
    }

    fn patch_state(&mut self, patch: &[Operation], event: usize, warnings: &mut Warnings) {
        self.state_known = true;
        if self.planted(Fault::PatchIsNotAtomic) {
            patch.iter().for_each(|one| {
                let _ = apply(&mut self.state, core::slice::from_ref(one), &mut self.budget);
            });
            return;
        }
        if let Err(error) = apply(&mut self.state, patch, &mut self.budget)
            && !self.planted(Fault::PatchFailureIsSilent)
        {
            warnings.push(Warning::StatePatch { event, error });
        }
    }

    pub(super) fn patch_content(
        &mut self,
        content: &mut Value,
        patch: &[Operation],
    ) -> Result<(), crate::agui::patch::PatchError> {
        apply(content, patch, &mut self.budget)
    }

    fn announce(&mut self, event: &SubagentStarted) {
        let state = SubagentState { started: Box::new(event.clone()), status: SubagentStatus::Active };
        let fresh = self.subagents.len();
        let place = *self.subagent_places.entry(event.subagent_run_id.clone()).or_insert(fresh);
        match self.subagents.get_mut(place) {
            // A later run continues an invocation.
            Some(known) => *known = state,
            None => self.subagents.push(state),
        }
        self.announced.push(place);
    }

    fn end_subagent(&mut self, id: &str, status: SubagentStatus) {
        let place = self.subagent_places.get(id);
        if let Some(subagent) = place.and_then(|place| self.subagents.get_mut(*place)) {
            subagent.status = status;
        }
    }

    fn abandon(&mut self) {
        if self.planted(Fault::SubagentsSurviveErrors) {
            return;
        }
        for place in core::mem::take(&mut self.announced) {
            if let Some(subagent) = self.subagents.get_mut(place)
                && subagent.status == SubagentStatus::Active
            {
                subagent.status = SubagentStatus::Abandoned;
            }
        }
    }
}

fn merge_into(place: &mut Option<Metadata>, metadata: &Metadata, first_wins: bool, deep: bool) {
    let merged = place.get_or_insert_default();
    for (key, value) in metadata {
        match merged.get_mut(key) {
            Some(_) if first_wins => {}
            Some(Value::Array(old)) if deep && value.is_array() => {
                old.extend(value.as_array().into_iter().flatten().cloned());
            }
            Some(old) => *old = value.clone(),
            None => {
                merged.insert(key.clone(), value.clone());
            }
        }
    }
}

/// The text that a message's contents are appended to.
fn text_of(message: &mut Message) -> Option<&mut String> {
    match message {
        Message::Developer(message) => Some(&mut message.content),
        Message::System(message) => Some(&mut message.content),
        Message::Reasoning(message) => Some(&mut message.content),
        Message::Assistant(message) => Some(message.content.get_or_insert_default()),
        Message::User(message) => text_of_content(&mut message.content),
        Message::Tool(message) => text_of_content(&mut message.content),
        Message::Activity(_) => None,
    }
}

/// The text, or the last part if it is one, or a text part that is put behind the others.
fn text_of_content(content: &mut Content) -> Option<&mut String> {
    match content {
        Content::Text(text) => Some(text),
        Content::Parts(parts) => {
            if !matches!(parts.last(), Some(ContentPart::Text(_))) {
                parts.push(ContentPart::Text(TextPart::default()));
            }
            match parts.last_mut() {
                Some(ContentPart::Text(part)) => Some(&mut part.text),
                Some(
                    ContentPart::Image(_)
                    | ContentPart::Audio(_)
                    | ContentPart::Video(_)
                    | ContentPart::Document(_),
                )
                | None => None,
            }
        }
    }
}
