//! An open text message.

use super::{owned, reaches_context};
use crate::agent::context::RunContext;
use crate::agent::error::Result;
use crate::agent::traits::AgentState;
use crate::core::agui::{Event, TextRole};

/// An open text message; dropping it closes it.
#[must_use = "a message that is dropped is closed"]
pub struct MessageHandle<'a, S: AgentState> {
    cx: &'a mut RunContext<S>,
    id: String,
    owner: Option<String>,
    open: bool,
}

impl<S: AgentState> RunContext<S> {
    /// Opens a message of the assistant.
    ///
    /// # Errors
    ///
    /// As [`emit`](Self::emit).
    pub fn assistant_message(&mut self) -> Result<MessageHandle<'_, S>> {
        self.message(TextRole::Assistant)
    }

    /// Opens a message of this role.
    ///
    /// # Errors
    ///
    /// As [`emit`](Self::emit).
    pub fn message(&mut self, role: TextRole) -> Result<MessageHandle<'_, S>> {
        let id = self.new_message_id();
        self.message_with_id(id, role)
    }

    /// Opens a message under an id of the agent's own, or reopens it: then it agrees with what it was.
    ///
    /// # Errors
    ///
    /// As [`emit`](Self::emit).
    pub fn message_with_id(&mut self, id: impl Into<String>, role: TextRole) -> Result<MessageHandle<'_, S>> {
        let (id, owner) = (id.into(), self.subagent_run_id().map(str::to_owned));
        self.emit(Event::text_message_start(id.clone(), role))?;
        Ok(MessageHandle { cx: self, id, owner, open: true })
    }
}

impl<S: AgentState> MessageHandle<'_, S> {
    /// The message's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Appends a piece of text. An empty one is not sent, because not every client takes it.
    ///
    /// # Errors
    ///
    /// As [`RunContext::emit`].
    pub fn delta(&mut self, text: impl Into<String>) -> Result<()> {
        let text = text.into();
        if text.is_empty() {
            return self.cx.check_cancelled();
        }
        self.cx.emit(Event::text_message_content(self.id.clone(), text))
    }

    /// Closes the message.
    ///
    /// # Errors
    ///
    /// As [`RunContext::emit`]; after a cancellation too, though the message is closed.
    pub fn end(mut self) -> Result<()> {
        self.close()
    }

    fn close(&mut self) -> Result<()> {
        self.open = false;
        let end = Event::text_message_end(std::mem::take(&mut self.id));
        self.cx.close(owned(end, self.owner.take()))
    }
}

reaches_context!(MessageHandle);

impl<S: AgentState> Drop for MessageHandle<'_, S> {
    fn drop(&mut self) {
        if self.open {
            let _ = self.close();
        }
    }
}
