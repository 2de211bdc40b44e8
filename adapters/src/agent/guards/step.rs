//! An open step.

use super::owned;
use crate::agent::context::RunContext;
use crate::agent::error::Result;
use crate::agent::traits::AgentState;
use crate::core::agui::Event;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// An open step, which is a context itself; dropping it closes it.
#[must_use = "a step that is dropped is closed"]
pub struct StepGuard<'a, S: AgentState> {
    cx: &'a mut RunContext<S>,
    name: String,
    owner: Option<String>,
    open: bool,
}

impl<S: AgentState> RunContext<S> {
    /// Opens a step of this name.
    ///
    /// # Errors
    ///
    /// As [`emit`](Self::emit); a step of this name that is open is a violation.
    pub fn step(&mut self, name: impl Into<String>) -> Result<StepGuard<'_, S>> {
        let (name, owner) = (name.into(), self.subagent_run_id().map(str::to_owned));
        self.emit(Event::step_started(name.clone()))?;
        Ok(StepGuard { cx: self, name, owner, open: true })
    }
}

impl<S: AgentState> StepGuard<'_, S> {
    /// The step's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Closes the step.
    ///
    /// # Errors
    ///
    /// As [`RunContext::emit`]; after a cancellation too, though the step is closed.
    pub fn finish(mut self) -> Result<()> {
        self.close()
    }

    fn close(&mut self) -> Result<()> {
        self.open = false;
        let end = Event::step_finished(std::mem::take(&mut self.name));
        self.cx.close(owned(end, self.owner.take()))
    }
}

impl<S: AgentState> Deref for StepGuard<'_, S> {
    type Target = RunContext<S>;

    fn deref(&self) -> &RunContext<S> {
        self.cx
    }
}

impl<S: AgentState> DerefMut for StepGuard<'_, S> {
    fn deref_mut(&mut self) -> &mut RunContext<S> {
        self.cx
    }
}

impl<S: AgentState> fmt::Debug for StepGuard<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StepGuard").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<S: AgentState> Drop for StepGuard<'_, S> {
    fn drop(&mut self) {
        if self.open {
            let _ = self.close();
        }
    }
}
