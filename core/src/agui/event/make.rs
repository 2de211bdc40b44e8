//! Making events with what they need at least; everything else is set on the value.

use super::*;
use crate::agui::content::Content;
use crate::agui::message::Message;
use crate::agui::outcome::{RunOutcome, SubagentOutcome};
use crate::agui::patch::Operation;
use alloc::vec::Vec;

/// `base` and all optional members absent.
macro_rules! make {
    ($name:ident { $($member:ident $(: $value:expr)?),* $(,)? }) => {
        Event::from($name { $($member $(: $value)?,)* ..$name::default() })
    };
}

impl Event {
    /// Opens a text message.
    pub fn text_message_start(id: impl Into<String>, role: TextRole) -> Self {
        make!(TextMessageStart { message_id: id.into(), role: Some(role) })
    }

    /// Extends a text message.
    pub fn text_message_content(id: impl Into<String>, delta: impl Into<String>) -> Self {
        make!(TextMessageContent { message_id: id.into(), delta: delta.into() })
    }

    /// Closes a text message.
    pub fn text_message_end(id: impl Into<String>) -> Self {
        make!(TextMessageEnd { message_id: id.into() })
    }

    /// A piece of a text message.
    pub fn text_message_chunk(id: Option<String>, delta: impl Into<String>) -> Self {
        make!(TextMessageChunk { message_id: id, delta: Some(delta.into()) })
    }

    /// Opens a tool call.
    pub fn tool_call_start(id: impl Into<String>, name: impl Into<String>) -> Self {
        make!(ToolCallStart { tool_call_id: id.into(), tool_call_name: name.into() })
    }

    /// Extends a call's arguments.
    pub fn tool_call_args(id: impl Into<String>, delta: impl Into<String>) -> Self {
        make!(ToolCallArgs { tool_call_id: id.into(), delta: delta.into() })
    }

    /// Closes a tool call.
    pub fn tool_call_end(id: impl Into<String>) -> Self {
        make!(ToolCallEnd { tool_call_id: id.into() })
    }

    /// A piece of a tool call.
    pub fn tool_call_chunk(id: Option<String>, name: Option<String>, delta: impl Into<String>) -> Self {
        make!(ToolCallChunk { tool_call_id: id, tool_call_name: name, delta: Some(delta.into()) })
    }

    /// A tool's result, as the message `id`.
    pub fn tool_call_result(
        id: impl Into<String>,
        call: impl Into<String>,
        content: impl Into<Content>,
    ) -> Self {
        let (message_id, tool_call_id, content) = (id.into(), call.into(), content.into());
        make!(ToolCallResult { message_id, tool_call_id, content })
    }

    /// Replaces the state.
    pub fn state_snapshot(snapshot: impl Into<Value>) -> Self {
        make!(StateSnapshot { snapshot: snapshot.into() })
    }

    /// Amends the state.
    pub fn state_delta(delta: Vec<Operation>) -> Self {
        make!(StateDelta { delta })
    }

    /// Reconciles the conversation.
    pub fn messages_snapshot(messages: Vec<Message>) -> Self {
        make!(MessagesSnapshot { messages })
    }

    /// Makes or replaces an activity.
    pub fn activity_snapshot(id: impl Into<String>, kind: impl Into<String>, content: Metadata) -> Self {
        make!(ActivitySnapshot { message_id: id.into(), activity_type: kind.into(), content })
    }

    /// Amends an activity.
    pub fn activity_delta(id: impl Into<String>, kind: impl Into<String>, patch: Vec<Operation>) -> Self {
        make!(ActivityDelta { message_id: id.into(), activity_type: kind.into(), patch })
    }

    /// An event of another system.
    pub fn raw(event: impl Into<Value>) -> Self {
        make!(Raw { event: event.into() })
    }

    /// An event of the application.
    pub fn custom(name: impl Into<String>, value: impl Into<Value>) -> Self {
        make!(Custom { name: name.into(), value: value.into() })
    }

    /// Opens a run.
    pub fn run_started(thread: impl Into<String>, run: impl Into<String>) -> Self {
        make!(RunStarted { thread_id: thread.into(), run_id: run.into() })
    }

    /// Closes a run that did not fail.
    pub fn run_finished(
        thread: impl Into<String>,
        run: impl Into<String>,
        outcome: Option<RunOutcome>,
    ) -> Self {
        make!(RunFinished { thread_id: thread.into(), run_id: run.into(), outcome })
    }

    /// Ends a run that failed.
    pub fn run_error(message: impl Into<String>, code: Option<String>) -> Self {
        make!(RunError { message: message.into(), code })
    }

    /// Opens a step.
    pub fn step_started(name: impl Into<String>) -> Self {
        make!(StepStarted { step_name: name.into() })
    }

    /// Closes a step.
    pub fn step_finished(name: impl Into<String>) -> Self {
        make!(StepFinished { step_name: name.into() })
    }

    /// Opens a span of reasoning.
    pub fn reasoning_start(id: impl Into<String>) -> Self {
        make!(ReasoningStart { message_id: id.into() })
    }

    /// Closes a span of reasoning.
    pub fn reasoning_end(id: impl Into<String>) -> Self {
        make!(ReasoningEnd { message_id: id.into() })
    }

    /// Opens a reasoning message.
    pub fn reasoning_message_start(id: impl Into<String>) -> Self {
        make!(ReasoningMessageStart { message_id: id.into() })
    }

    /// Extends a reasoning message.
    pub fn reasoning_message_content(id: impl Into<String>, delta: impl Into<String>) -> Self {
        make!(ReasoningMessageContent { message_id: id.into(), delta: delta.into() })
    }

    /// Closes a reasoning message.
    pub fn reasoning_message_end(id: impl Into<String>) -> Self {
        make!(ReasoningMessageEnd { message_id: id.into() })
    }

    /// A piece of a reasoning message.
    pub fn reasoning_message_chunk(id: Option<String>, delta: impl Into<String>) -> Self {
        make!(ReasoningMessageChunk { message_id: id, delta: Some(delta.into()) })
    }

    /// A sealed value of a message or call.
    pub fn reasoning_encrypted_value(
        subtype: EncryptedSubtype,
        entity: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        make!(ReasoningEncryptedValue { subtype, entity_id: entity.into(), encrypted_value: value.into() })
    }

    /// Announces an invocation.
    pub fn subagent_started(id: impl Into<String>, name: impl Into<String>) -> Self {
        make!(SubagentStarted { subagent_run_id: id.into(), name: name.into() })
    }

    /// Closes an invocation that did not fail.
    pub fn subagent_finished(id: impl Into<String>, outcome: Option<SubagentOutcome>) -> Self {
        make!(SubagentFinished { subagent_run_id: id.into(), outcome })
    }

    /// Closes an invocation that failed.
    pub fn subagent_error(id: impl Into<String>, message: impl Into<String>, code: Option<String>) -> Self {
        make!(SubagentError { subagent_run_id: id.into(), message: message.into(), code })
    }
}
