//! Agents, as hosts implement them.

use super::context::RunContext;
use super::error::Result;
use crate::core::agui::RunOutcome;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::future::Future;
use std::sync::Arc;

/// What a run's state can be: anything that goes to JSON and back. `()` is no state: whatever the input holds is left
/// alone, and nothing is ever published.
pub trait AgentState: Serialize + DeserializeOwned + Default + 'static {}

impl<S: Serialize + DeserializeOwned + Default + 'static> AgentState for S {}

/// An agent whose futures may stay on one thread, as in a browser.
///
/// Implement it where nothing is `Send`. Elsewhere implement [`Agent`], which brings this trait along.
pub trait LocalAgent: 'static {
    /// The state of a run, shared with the application.
    type State: AgentState;

    /// Runs once. What it emits through `cx` is the stream; what it returns is the stream's end (V1).
    ///
    /// # Errors
    ///
    /// Whatever is returned becomes `RUN_ERROR` with the error's text and code; a cancellation, the end of a run that
    /// was stopped. A panic is caught where the target can unwind, and fails the run.
    fn run(&self, cx: &mut RunContext<Self::State>) -> impl Future<Output = Result<RunOutcome>>;
}

/// An agent whose futures may move between threads. The contract is that of [`LocalAgent`], which every implementor is
/// too.
pub trait Agent: Send + Sync + 'static {
    /// The state of a run; see [`LocalAgent::State`].
    type State: AgentState + Send;

    /// Runs once; see [`LocalAgent::run`].
    ///
    /// # Errors
    ///
    /// Whatever is returned ends the run.
    fn run(&self, cx: &mut RunContext<Self::State>) -> impl Future<Output = Result<RunOutcome>> + Send;
}

impl<A: Agent> LocalAgent for A {
    type State = A::State;

    fn run(&self, cx: &mut RunContext<Self::State>) -> impl Future<Output = Result<RunOutcome>> {
        Agent::run(self, cx)
    }
}

impl<A: Agent> Agent for Arc<A> {
    type State = A::State;

    fn run(&self, cx: &mut RunContext<Self::State>) -> impl Future<Output = Result<RunOutcome>> + Send {
        A::run(self, cx)
    }
}
