//! An open span of reasoning with its one message.

use super::{owned, reaches_context};
use crate::agent::context::RunContext;
use crate::agent::error::Result;
use crate::agent::traits::AgentState;
use crate::core::agui::Event;
use crate::core::agui::event::EncryptedSubtype;

/// An open span of reasoning with one message in it, under one id; dropping it closes both.
#[must_use = "reasoning that is dropped is closed"]
pub struct ReasoningHandle<'a, S: AgentState> {
    cx: &'a mut RunContext<S>,
    id: String,
    owner: Option<String>,
    /// The message in the span is open too.
    message: bool,
    open: bool,
}

impl<S: AgentState> RunContext<S> {
    /// Opens a span of reasoning and a message in it.
    ///
    /// # Errors
    ///
    /// As [`emit`](Self::emit).
    pub fn reasoning(&mut self) -> Result<ReasoningHandle<'_, S>> {
        let id = self.new_message_id();
        self.reasoning_with_id(id)
    }

    /// Opens a span of reasoning and a message in it, both under an id of the agent's own.
    ///
    /// # Errors
    ///
    /// As [`emit`](Self::emit).
    pub fn reasoning_with_id(&mut self, id: impl Into<String>) -> Result<ReasoningHandle<'_, S>> {
        let (id, owner) = (id.into(), self.subagent_run_id().map(str::to_owned));
        self.emit(Event::reasoning_start(id.clone()))?;
        // From here on the span is closed whatever happens.
        let mut handle = ReasoningHandle { cx: self, id, owner, message: false, open: true };
        handle.cx.emit(Event::reasoning_message_start(handle.id.clone()))?;
        handle.message = true;
        Ok(handle)
    }
}

impl<S: AgentState> ReasoningHandle<'_, S> {
    /// The id of span and message.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Appends a piece of text. An empty one is not sent.
    ///
    /// # Errors
    ///
    /// As [`RunContext::emit`].
    pub fn delta(&mut self, text: impl Into<String>) -> Result<()> {
        let text = text.into();
        if text.is_empty() {
            return self.cx.check_cancelled();
        }
        self.cx.emit(Event::reasoning_message_content(self.id.clone(), text))
    }

    /// Stores a sealed value with the message, for its issuer.
    ///
    /// # Errors
    ///
    /// As [`RunContext::emit`].
    pub fn encrypted_value(&mut self, value: impl Into<String>) -> Result<()> {
        let event = Event::reasoning_encrypted_value(EncryptedSubtype::Message, self.id.clone(), value);
        self.cx.emit(event)
    }

    /// Closes message and span.
    ///
    /// # Errors
    ///
    /// As [`RunContext::emit`]; after a cancellation too, though both are closed.
    pub fn end(mut self) -> Result<()> {
        self.close()
    }

    fn close(&mut self) -> Result<()> {
        self.open = false;
        let (id, owner) = (std::mem::take(&mut self.id), self.owner.take());
        if self.message {
            let _ = self.cx.close(owned(Event::reasoning_message_end(id.clone()), owner.clone()));
        }
        self.cx.close(owned(Event::reasoning_end(id), owner))
    }
}

reaches_context!(ReasoningHandle);

impl<S: AgentState> Drop for ReasoningHandle<'_, S> {
    fn drop(&mut self) {
        if self.open {
            let _ = self.close();
        }
    }
}
