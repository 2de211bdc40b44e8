//! AG-UI: the protocol's types, verifier and consumer, and in [`server`] the agents that produce it.

#[doc(no_inline)]
pub use crate::core::agui::*;

/// Agents that speak AG-UI: what they emit is one well-formed stream, whatever they do (V1-V8).
///
/// An [`Agent`](server::Agent) gets a [`RunContext`](server::RunContext) and emits through it. [`run`](server::run) makes a stream of it that any executor can poll, and
/// whose items are always `Ok`. What is opened closes itself, state is published as it changes, every event is verified
/// on its way out, and whatever escapes the agent becomes the stream's end.
///
/// ```
/// use futures_lite::StreamExt;
/// use runloom::agui::server::{Agent, Result, RunContext, run};
/// use runloom::agui::{RunAgentInput, RunOutcome};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Default, Serialize, Deserialize)]
/// struct Trip {
///     city: Option<String>,
/// }
///
/// struct Guide;
///
/// impl Agent for Guide {
///     type State = Trip;
///
///     async fn run(&self, cx: &mut RunContext<Trip>) -> Result<RunOutcome> {
///         let mut step = cx.step("look up")?;
///         step.update_state(|trip| trip.city = Some("Lisbon".into()))?;
///         step.finish()?;
///         let mut message = cx.assistant_message()?;
///         message.delta("It is sunny ")?;
///         message.delta("in Lisbon.")?;
///         message.end()?;
///         Ok(RunOutcome::Success)
///     }
/// }
///
/// let events = run(Guide, RunAgentInput::new("thread-1", "run-1"));
/// let events: Vec<_> = futures_lite::future::block_on(events.map(|event| event.unwrap()).collect());
/// let types: Vec<&str> = events.iter().map(|event| event.event_type().as_str()).collect();
/// assert_eq!(types, [
///     "RUN_STARTED", "STEP_STARTED", "STATE_SNAPSHOT", "STEP_FINISHED", "TEXT_MESSAGE_START",
///     "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED",
/// ]);
/// ```
pub mod server {
    pub use crate::agent::*;
}
