//! What a context sends as a whole, and in chunks.

use super::context::RunContext;
use super::error::Result;
use super::traits::AgentState;
use crate::core::agui::patch::diff;
use crate::core::agui::{Content, Event, Message, TextRole};
use serde::Serialize;
use serde_json::{Map, Value};

/// Something that goes on, shown to people; made by [`RunContext::activity`].
#[derive(Clone, Debug)]
pub struct Activity {
    id: String,
    kind: String,
    owner: Option<String>,
    content: Map<String, Value>,
}

impl Activity {
    /// The activity's message id.
    pub fn id(&self) -> &str {
        &self.id
    }
}

impl<S: AgentState> RunContext<S> {
    /// Says something: a whole message of the assistant. Returns its id.
    ///
    /// # Errors
    ///
    /// As [`emit`](Self::emit).
    pub fn say(&mut self, text: impl Into<String>) -> Result<String> {
        let mut message = self.message(TextRole::Assistant)?;
        message.delta(text)?;
        let id = message.id().to_owned();
        message.end()?;
        Ok(id)
    }

    /// Thinks something: a whole span of reasoning with one message. Returns their id.
    ///
    /// # Errors
    ///
    /// As [`emit`](Self::emit).
    pub fn think(&mut self, text: impl Into<String>) -> Result<String> {
        let mut reasoning = self.reasoning()?;
        reasoning.delta(text)?;
        let id = reasoning.id().to_owned();
        reasoning.end()?;
        Ok(id)
    }

    /// Answers a call that is complete. Returns the id of the result's message, which is the same in every snapshot that
    /// the host makes of it.
    ///
    /// # Errors
    ///
    /// As [`emit`](Self::emit); a call that was never started, or has not ended, is a violation.
    pub fn tool_result(&mut self, call: impl Into<String>, content: impl Into<Content>) -> Result<String> {
        let id = self.new_message_id();
        self.emit(Event::tool_call_result(id.clone(), call, content))?;
        Ok(id)
    }

    /// Answers a call with JSON; see [`tool_result`](Self::tool_result).
    ///
    /// # Errors
    ///
    /// [`Json`](super::Error::Json) if the value cannot be converted, and those of [`emit`](Self::emit).
    pub fn tool_result_json(&mut self, call: impl Into<String>, value: &impl Serialize) -> Result<String> {
        let text = serde_json::to_string(value)?;
        self.tool_result(call, text)
    }

    /// Shows something that goes on: `ACTIVITY_SNAPSHOT`.
    ///
    /// # Errors
    ///
    /// [`Protocol`](super::Error::Protocol) if the content is no JSON object, [`Json`](super::Error::Json) if it cannot
    /// be converted, and those of [`emit`](Self::emit).
    pub fn activity(&mut self, kind: impl Into<String>, content: &impl Serialize) -> Result<Activity> {
        let content = Self::content(content)?;
        let (id, owner) = (self.new_message_id(), self.subagent_run_id().map(str::to_owned));
        let activity = Activity { id, kind: kind.into(), owner, content };
        self.emit(Event::activity_snapshot(&activity.id, &activity.kind, activity.content.clone()))?;
        Ok(activity)
    }

    /// Shows what became of it: `ACTIVITY_DELTA`, or a snapshot where that is shorter, or nothing if it is the same.
    ///
    /// # Errors
    ///
    /// As [`activity`](Self::activity); the activity is then as it was.
    pub fn update_activity(&mut self, activity: &mut Activity, content: &impl Serialize) -> Result<()> {
        let content = Self::content(content)?;
        let (known, wanted) = (Value::Object(activity.content.clone()), Value::Object(content.clone()));
        let patch = diff(&known, &wanted);
        if patch.is_empty() {
            return Ok(());
        }
        let delta = Event::activity_delta(&activity.id, &activity.kind, patch);
        let mut event =
            Self::shorter(delta, Event::activity_snapshot(&activity.id, &activity.kind, content.clone()));
        // It stays whose it was, whoever is at work.
        if let Some(owner) = event.subagent_run_id_mut() {
            owner.clone_from(&activity.owner);
        }
        self.flush()?;
        self.sink.emit_as_it_is(event)?;
        activity.content = content;
        Ok(())
    }

    /// Restates the conversation: `MESSAGES_SNAPSHOT`.
    ///
    /// # Errors
    ///
    /// As [`emit`](Self::emit).
    pub fn messages_snapshot(&mut self, messages: Vec<Message>) -> Result<()> {
        self.emit(Event::messages_snapshot(messages))
    }

    /// A piece of a message that opens and closes by itself; the first one needs the id.
    ///
    /// # Errors
    ///
    /// As [`emit`](Self::emit).
    pub fn text_chunk(&mut self, id: Option<&str>, delta: impl Into<String>) -> Result<()> {
        self.emit(Event::text_message_chunk(id.map(str::to_owned), delta))
    }

    /// A piece of a reasoning message that opens and closes by itself; the first one needs the id.
    ///
    /// # Errors
    ///
    /// As [`emit`](Self::emit).
    pub fn reasoning_chunk(&mut self, id: Option<&str>, delta: impl Into<String>) -> Result<()> {
        self.emit(Event::reasoning_message_chunk(id.map(str::to_owned), delta))
    }

    /// A piece of a call that opens and closes by itself; the first one needs id and tool.
    ///
    /// # Errors
    ///
    /// As [`emit`](Self::emit).
    pub fn tool_call_chunk(
        &mut self,
        id: Option<&str>,
        tool: Option<&str>,
        delta: impl Into<String>,
    ) -> Result<()> {
        self.emit(Event::tool_call_chunk(id.map(str::to_owned), tool.map(str::to_owned), delta))
    }
}
