//! Tool calls, their results, and sealed values.

use super::planted::Fault;
use super::thread::Thread;
use super::warning::{Warning, Warnings};
use crate::agui::Metadata;
use crate::agui::event::{Base, EncryptedSubtype, ReasoningEncryptedValue, ToolCallResult, ToolCallStart};
use crate::agui::message::{AssistantMessage, FunctionCall, Message, ToolCall, ToolMessage};
use alloc::borrow::ToOwned;
use alloc::string::String;

impl Thread {
    fn call_mut(&mut self, id: &str) -> Option<&mut ToolCall> {
        let (message, call) = *self.calls.get(id)?;
        match self.messages.get_mut(message)? {
            Message::Assistant(assistant) => assistant.tool_calls.get_mut(call),
            Message::Developer(_)
            | Message::System(_)
            | Message::User(_)
            | Message::Tool(_)
            | Message::Activity(_)
            | Message::Reasoning(_) => None,
        }
    }

    /// Puts a call into its message. One that names none, or no assistant's, gets a message of its own.
    pub(super) fn open_call(&mut self, event: &ToolCallStart, at: usize, warnings: &mut Warnings) {
        let id = &event.tool_call_id;
        self.clock += 1;
        self.pending.insert(id.clone(), self.clock);
        if !self.calls.contains_key(id) {
            let Some(place) = self.holder(event) else {
                let wanted = "message of the assistant for tool call";
                return warnings.push(Warning::NoTarget { event: at, wanted, id: id.clone() });
            };
            let function = FunctionCall { name: event.tool_call_name.clone(), arguments: String::new() };
            let call = ToolCall { id: id.clone(), function, ..ToolCall::default() };
            if let Some(Message::Assistant(assistant)) = self.messages.get_mut(place) {
                self.calls.insert(id.clone(), (place, assistant.tool_calls.len()));
                assistant.tool_calls.push(call);
            }
        }
        self.extend_call(id, "", &event.base);
    }

    /// Where the assistant's message is that a call goes into; it is made if need be.
    fn holder(&mut self, event: &ToolCallStart) -> Option<usize> {
        let is_assistant = |place: &usize| matches!(self.messages.get(*place), Some(Message::Assistant(_)));
        let parent = event.parent_message_id.as_ref();
        let known = parent.and_then(|parent| self.places.get(parent).copied());
        if let Some(place) = known.filter(is_assistant) {
            return Some(place);
        }
        if self.planted(Fault::CallNeedsMessage) {
            return None;
        }
        // An id that another kind of message has cannot be had again.
        let id = parent.filter(|_| known.is_none()).unwrap_or(&event.tool_call_id);
        if let Some(place) = self.places.get(id).copied() {
            return Some(place).filter(is_assistant);
        }
        let (id, subagent_run_id) = (id.clone(), event.subagent_run_id.clone());
        self.add(AssistantMessage { id, subagent_run_id, ..AssistantMessage::default() }.into());
        self.messages.len().checked_sub(1)
    }

    pub(super) fn extend_call(&mut self, id: &str, delta: &str, base: &Base) {
        let on_message = self.planted(Fault::CallMetadataOnMessage);
        let Some(call) = self.call_mut(id) else { return };
        call.function.arguments.push_str(delta);
        let Some(metadata) = &base.metadata else { return };
        if on_message {
            let message = self.calls.get(id).and_then(|(place, _)| self.messages.get(*place));
            let id = message.map(|message| message.id().to_owned()).unwrap_or_default();
            return self.merge(&id, base);
        }
        let mut merged: Option<Metadata> = core::mem::take(&mut call.metadata);
        self.merge_planted(&mut merged, metadata);
        if let Some(call) = self.call_mut(id) {
            call.metadata = merged;
        }
    }

    /// Makes a tool's result a message, or puts it into the one that has its id.
    pub(super) fn result(&mut self, event: &ToolCallResult, at: usize, warnings: &mut Warnings) {
        if !self.planted(Fault::AnsweredStaysPending) {
            self.pending.remove(&event.tool_call_id);
        }
        if self.planted(Fault::ResultIsNoMessage) {
            return;
        }
        let id = &event.message_id;
        match self.message_mut(id) {
            Some(Message::Tool(message)) => {
                message.content = event.content.clone();
                message.tool_call_id.clone_from(&event.tool_call_id);
            }
            Some(_) => {
                warnings.push(Warning::NoTarget { event: at, wanted: "message of a tool", id: id.clone() });
            }
            None => {
                let message = ToolMessage {
                    id: id.clone(),
                    content: event.content.clone(),
                    tool_call_id: event.tool_call_id.clone(),
                    subagent_run_id: event.subagent_run_id.clone(),
                    ..ToolMessage::default()
                };
                self.add(message.into());
            }
        }
        self.merge(id, &event.base);
    }

    /// Stores a sealed value with what it belongs to, together with its type.
    pub(super) fn seal(&mut self, event: &ReasoningEncryptedValue, at: usize, warnings: &mut Warnings) {
        let (keeps, silent) =
            (self.planted(Fault::SealedKeepsType), self.planted(Fault::SealedForNobodyIsSilent));
        let place = match event.subtype {
            EncryptedSubtype::ToolCall => {
                let call = self.call_mut(&event.entity_id);
                call.map(|call| (&mut call.encrypted_value, &mut call.encrypted_value_type))
            }
            EncryptedSubtype::Message => self.message_mut(&event.entity_id).and_then(Message::sealed_mut),
        };
        match place {
            Some((value, kind)) => {
                *value = Some(event.encrypted_value.clone());
                if !keeps {
                    kind.clone_from(&event.encrypted_value_type);
                }
            }
            None if silent => {}
            None => {
                let id = event.entity_id.clone();
                warnings.push(Warning::NoTarget {
                    event: at,
                    wanted: "message or call to seal a value for",
                    id,
                });
            }
        }
    }
}
