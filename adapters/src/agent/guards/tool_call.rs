//! An open tool call.

use super::{owned, reaches_context};
use crate::agent::context::RunContext;
use crate::agent::error::Result;
use crate::agent::traits::AgentState;
use crate::core::agui::event::{EncryptedSubtype, ToolCallStart};
use crate::core::agui::{Content, Event};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// An open tool call, whose arguments come in; dropping it closes it.
///
/// Who reads takes a closed call's arguments for complete. A call of the application's own tool is ended and not
/// answered: the run then returns success, and the application answers in the next one.
#[must_use = "a call that is dropped is closed"]
pub struct ToolCallHandle<'a, S: AgentState> {
    cx: &'a mut RunContext<S>,
    id: String,
    owner: Option<String>,
    arguments: String,
    open: bool,
}

impl<S: AgentState> RunContext<S> {
    /// Opens a call of this tool.
    ///
    /// # Errors
    ///
    /// As [`emit`](Self::emit).
    pub fn tool_call(&mut self, tool: impl Into<String>) -> Result<ToolCallHandle<'_, S>> {
        let id = self.new_tool_call_id();
        self.tool_call_with_id(id, tool)
    }

    /// Opens a call under an id of the agent's own, such as the model's.
    ///
    /// # Errors
    ///
    /// As [`emit`](Self::emit).
    pub fn tool_call_with_id(
        &mut self,
        id: impl Into<String>,
        tool: impl Into<String>,
    ) -> Result<ToolCallHandle<'_, S>> {
        let tool_call_id = id.into();
        let start = ToolCallStart { tool_call_id, tool_call_name: tool.into(), ..ToolCallStart::default() };
        self.tool_call_with(start)
    }

    /// Opens a call as this event says, for instance in a message.
    ///
    /// # Errors
    ///
    /// As [`emit`](Self::emit).
    pub fn tool_call_with(&mut self, start: ToolCallStart) -> Result<ToolCallHandle<'_, S>> {
        let id = start.tool_call_id.clone();
        let owner = start.subagent_run_id.clone().or_else(|| self.subagent_run_id().map(str::to_owned));
        self.emit(start.into())?;
        Ok(ToolCallHandle { cx: self, id, owner, arguments: String::new(), open: true })
    }
}

impl<S: AgentState> ToolCallHandle<'_, S> {
    /// The call's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Appends a piece of the arguments' text. An empty one is not sent.
    ///
    /// # Errors
    ///
    /// As [`RunContext::emit`].
    pub fn args(&mut self, delta: impl Into<String>) -> Result<()> {
        let delta = delta.into();
        if delta.is_empty() {
            return self.cx.check_cancelled();
        }
        let known = self.arguments.len();
        self.arguments.push_str(&delta);
        let sent = self.cx.emit(Event::tool_call_args(self.id.clone(), delta));
        if sent.is_err() {
            self.arguments.truncate(known);
        }
        sent
    }

    /// Sends arguments as JSON, whole.
    ///
    /// # Errors
    ///
    /// [`Json`](crate::agui::server::Error::Json) if they cannot be converted, and those of [`RunContext::emit`].
    pub fn args_json(&mut self, arguments: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string(arguments)?;
        self.args(text)
    }

    /// The text of the arguments so far.
    pub fn raw_args(&self) -> &str {
        &self.arguments
    }

    /// The arguments, read; none at all are an empty object.
    ///
    /// # Errors
    ///
    /// [`Json`](crate::agui::server::Error::Json) if they are something else.
    pub fn parse_args<T: DeserializeOwned>(&self) -> Result<T> {
        let text = if self.arguments.trim().is_empty() { "{}" } else { &self.arguments };
        Ok(serde_json::from_str(text)?)
    }

    /// Stores a sealed value with the call, for its issuer.
    ///
    /// # Errors
    ///
    /// As [`RunContext::emit`].
    pub fn encrypted_value(&mut self, value: impl Into<String>) -> Result<()> {
        let event = Event::reasoning_encrypted_value(EncryptedSubtype::ToolCall, self.id.clone(), value);
        self.cx.emit(event)
    }

    /// Closes the call: its arguments are complete. Returns its id, for its result.
    ///
    /// # Errors
    ///
    /// As [`RunContext::emit`]; after a cancellation too, though the call is closed.
    pub fn end(mut self) -> Result<String> {
        let id = self.id.clone();
        self.close()?;
        Ok(id)
    }

    /// Closes the call and answers it; see [`RunContext::tool_result`].
    ///
    /// # Errors
    ///
    /// As [`RunContext::emit`].
    pub fn result(mut self, content: impl Into<Content>) -> Result<String> {
        let id = self.id.clone();
        self.close()?;
        self.cx.tool_result(id, content)
    }

    /// Closes the call and answers it with JSON; see [`RunContext::tool_result`].
    ///
    /// # Errors
    ///
    /// [`Json`](crate::agui::server::Error::Json) if the value cannot be converted, and those of [`RunContext::emit`].
    pub fn result_json(self, value: &impl Serialize) -> Result<String> {
        let text = serde_json::to_string(value)?;
        self.result(text)
    }

    fn close(&mut self) -> Result<()> {
        self.open = false;
        let end = Event::tool_call_end(std::mem::take(&mut self.id));
        self.cx.close(owned(end, self.owner.take()))
    }
}

reaches_context!(ToolCallHandle);

impl<S: AgentState> Drop for ToolCallHandle<'_, S> {
    fn drop(&mut self) {
        if self.open {
            let _ = self.close();
        }
    }
}
