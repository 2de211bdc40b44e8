//! An invocation of a subagent that is going on.

use crate::agent::context::RunContext;
use crate::agent::error::{AGENT_ERROR, CANCELLED, Result};
use crate::agent::traits::AgentState;
use crate::core::agui::event::{SubagentFinished, SubagentStarted};
use crate::core::agui::{Event, SubagentOutcome};
use serde_json::Value;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// An invocation that is going on, which is a context itself: what is emitted through it is attributed to it.
///
/// Dropping it closes it as failed, because nobody said that it succeeded.
#[must_use = "an invocation that is dropped has failed"]
pub struct SubagentHandle<'a, S: AgentState> {
    cx: &'a mut RunContext<S>,
    id: String,
    name: String,
    /// How many invocations were going on before.
    outer: usize,
    open: bool,
}

impl<S: AgentState> RunContext<S> {
    /// Announces an invocation of the subagent of this name.
    ///
    /// # Errors
    ///
    /// As [`emit`](Self::emit).
    pub fn subagent(&mut self, name: impl Into<String>) -> Result<SubagentHandle<'_, S>> {
        let subagent_run_id = self.new_subagent_run_id();
        let name = name.into();
        self.subagent_with(SubagentStarted { subagent_run_id, name, ..SubagentStarted::default() })
    }

    /// Announces an invocation as this event says, with the one that is going on as its parent if it names none.
    ///
    /// # Errors
    ///
    /// As [`emit`](Self::emit).
    pub fn subagent_with(&mut self, mut started: SubagentStarted) -> Result<SubagentHandle<'_, S>> {
        if started.parent_subagent_run_id.is_none() {
            started.parent_subagent_run_id = self.subagent_run_id().map(str::to_owned);
        }
        let (id, name) = (started.subagent_run_id.clone(), started.name.clone());
        self.emit(started.into())?;
        let outer = self.sink.owners.len();
        self.sink.owners.push(id.clone());
        Ok(SubagentHandle { cx: self, id, name, outer, open: true })
    }
}

impl<S: AgentState> SubagentHandle<'_, S> {
    /// The invocation's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The subagent's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Closes the invocation as a success.
    ///
    /// # Errors
    ///
    /// As [`RunContext::emit`]; after a cancellation too, though the invocation is closed.
    pub fn finish(self) -> Result<()> {
        self.finish_with(Value::Null)
    }

    /// Closes the invocation as a success with what it returns; null is nothing.
    ///
    /// # Errors
    ///
    /// As [`finish`](Self::finish).
    pub fn finish_with(mut self, result: impl Into<Value>) -> Result<()> {
        let result = Some(result.into()).filter(|result| !result.is_null());
        let outcome = Some(SubagentOutcome::Success);
        let subagent_run_id = self.id.clone();
        let event = SubagentFinished { subagent_run_id, result, outcome, ..SubagentFinished::default() };
        self.close(event.into())
    }

    /// Closes the invocation as one that waits for answers to these interrupts.
    ///
    /// # Errors
    ///
    /// As [`finish`](Self::finish).
    pub fn suspend(mut self, interrupt_ids: impl IntoIterator<Item = String>) -> Result<()> {
        let outcome = SubagentOutcome::Suspended { interrupt_ids: interrupt_ids.into_iter().collect() };
        let event = Event::subagent_finished(self.id.clone(), Some(outcome));
        self.close(event)
    }

    /// Closes the invocation as one that failed; the run goes on.
    ///
    /// # Errors
    ///
    /// As [`finish`](Self::finish).
    pub fn fail(self, message: impl Into<String>) -> Result<()> {
        self.fail_with_code(message, AGENT_ERROR)
    }

    /// Closes the invocation as one that failed, with a code for programs.
    ///
    /// # Errors
    ///
    /// As [`finish`](Self::finish).
    pub fn fail_with_code(mut self, message: impl Into<String>, code: impl Into<String>) -> Result<()> {
        let event = Event::subagent_error(self.id.clone(), message, Some(code.into()));
        self.close(event)
    }

    fn close(&mut self, event: Event) -> Result<()> {
        self.open = false;
        self.cx.sink.owners.truncate(self.outer);
        self.cx.close(event)
    }
}

impl<S: AgentState> Deref for SubagentHandle<'_, S> {
    type Target = RunContext<S>;

    fn deref(&self) -> &RunContext<S> {
        self.cx
    }
}

impl<S: AgentState> DerefMut for SubagentHandle<'_, S> {
    fn deref_mut(&mut self) -> &mut RunContext<S> {
        self.cx
    }
}

impl<S: AgentState> fmt::Debug for SubagentHandle<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubagentHandle").field("id", &self.id).finish_non_exhaustive()
    }
}

impl<S: AgentState> Drop for SubagentHandle<'_, S> {
    fn drop(&mut self) {
        if self.open {
            let (message, code) = if self.cx.is_cancelled() {
                ("the run was cancelled", CANCELLED)
            } else if std::thread::panicking() {
                ("the subagent panicked", AGENT_ERROR)
            } else {
                ("the subagent was left before it finished", AGENT_ERROR)
            };
            let event = Event::subagent_error(self.id.clone(), message, Some(code.into()));
            let _ = self.close(event);
        }
    }
}
