//! What an agent runs with.

use super::error::Result;
use super::ids::{EntityKind, IdSource, Numbered};
use super::queue::{EventReceiver, Limits, Queue, Ready};
use super::sink::Sink;
use super::state::Published;
use super::traits::AgentState;
use super::transform::Chain;
use crate::core::agui::input::{ContextEntry, Tool};
use crate::core::agui::{
    Event, Message, Mode, ResumeEntry, RunAgentInput, TokenUsage, VerificationError, Verifier,
};
use crate::sync::Arc;
use crate::token::{CancellationToken, WaitForCancellation};
use serde_json::Value;
use std::fmt;
use std::future::Future;

/// What an agent runs with: its input, its state, its way to emit, its cancellation.
///
/// Emitting does not wait: events go into a queue, which the run's stream empties before it polls the agent again. An
/// agent that makes many events without awaiting anything else should await [`ready`](Self::ready) between them, or use
/// [`send`](Self::send).
///
/// - open and close by scope: [`message`](Self::message), [`reasoning`](Self::reasoning),
///   [`tool_call`](Self::tool_call), [`step`](Self::step), [`subagent`](Self::subagent)
/// - whole at once: [`say`](Self::say), [`think`](Self::think), [`tool_result`](Self::tool_result),
///   [`activity`](Self::activity)
/// - state: [`state`](Self::state), [`state_mut`](Self::state_mut), [`update_state`](Self::update_state)
/// - anything else: [`emit`](Self::emit), and the chunks
/// - how the run ends: what the agent returns, [`set_result`](Self::set_result), [`add_usage`](Self::add_usage)
pub struct RunContext<S> {
    pub(super) sink: Sink,
    pub(super) state: S,
    pub(super) published: Published,
    pub(super) ids: Box<dyn IdSource>,
    pub(super) usage: Vec<TokenUsage>,
    pub(super) result: Option<Value>,
    input: Arc<RunAgentInput>,
}

impl<S: AgentState> RunContext<S> {
    /// A context by itself, for tests of what an agent emits. The run counts as started; its end is not made.
    ///
    /// # Errors
    ///
    /// [`Error::Json`](super::Error::Json) if the input's state is not one of this type.
    pub fn new(input: RunAgentInput) -> Result<(Self, EventReceiver)> {
        let queue = Queue::new(Limits::default());
        let events = EventReceiver::new(Arc::clone(&queue));
        let mut verifier = Verifier::new(Mode::SingleRun);
        verifier.start(&input);
        let sink = Sink::new(queue, CancellationToken::new(), verifier, Chain::default());
        let state = super::state::decode(&input)?;
        let ids = Box::new(Numbered::new(&input));
        Ok((Self::with(sink, state, ids, Arc::new(input)), events))
    }

    pub(super) fn with(mut sink: Sink, state: S, ids: Box<dyn IdSource>, input: Arc<RunAgentInput>) -> Self {
        let published = Published::of::<S>();
        sink.keeps_state = published.is_kept();
        Self { sink, state, published, ids, usage: Vec::new(), result: None, input }
    }

    /// Sends an event as it is; inside of a subagent it is attributed to it, if it has no owner. State that was changed
    /// goes out before it.
    ///
    /// # Errors
    ///
    /// [`Cancelled`](super::Error::Cancelled) after a cancellation, always (V6);
    /// [`Verification`](super::Error::Verification) if it breaks the order: then it is not sent, and changed nothing
    /// (V3); [`Disconnected`](super::Error::Disconnected) and [`QueueFull`](super::Error::QueueFull) if it cannot be
    /// taken; [`Json`](super::Error::Json) if changed state cannot be converted. Where a transformer made several events
    /// of it, those before a refused one are sent.
    pub fn emit(&mut self, event: Event) -> Result<()> {
        self.flush()?;
        self.sink.emit(event)
    }

    /// Waits for room, then sends; see [`emit`](Self::emit).
    ///
    /// # Errors
    ///
    /// As [`emit`](Self::emit).
    pub async fn send(&mut self, event: Event) -> Result<()> {
        if !self.sink.queue.has_room() {
            self.ready().await?;
        }
        self.emit(event)
    }

    /// Sends what closes something, also after a cancellation.
    pub(super) fn close(&mut self, event: Event) -> Result<()> {
        self.sink.close(event)
    }
}

impl<S> RunContext<S> {
    /// Waits until fewer events are unread than the queue's capacity. The future borrows nothing.
    ///
    /// It fails with [`Cancelled`](super::Error::Cancelled) and [`Disconnected`](super::Error::Disconnected).
    pub fn ready(&self) -> Ready {
        Ready::new(Arc::clone(&self.sink.queue), self.sink.token.clone())
    }

    /// What the run was started from.
    pub fn input(&self) -> &RunAgentInput {
        &self.input
    }

    /// The thread.
    pub fn thread_id(&self) -> &str {
        &self.input.thread_id
    }

    /// The run.
    pub fn run_id(&self) -> &str {
        &self.input.run_id
    }

    /// The run that started this one as a run of its own.
    pub fn parent_run_id(&self) -> Option<&str> {
        self.input.parent_run_id.as_deref()
    }

    /// The whole history.
    pub fn messages(&self) -> &[Message] {
        &self.input.messages
    }

    /// The text of the last message of a person.
    pub fn last_user_text(&self) -> Option<String> {
        self.input.last_user_text()
    }

    /// The tools that the application offers.
    pub fn tools(&self) -> &[Tool] {
        &self.input.tools
    }

    /// The application's tool of this name.
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.input.tools.iter().find(|tool| tool.name == name)
    }

    /// Further context.
    pub fn context(&self) -> &[ContextEntry] {
        &self.input.context
    }

    /// What the application passes to the agent.
    pub fn forwarded_props(&self) -> Option<&Value> {
        self.input.forwarded_props.as_ref()
    }

    /// Answers to the interrupts of the thread's latest interrupted run.
    pub fn resume(&self) -> &[ResumeEntry] {
        &self.input.resume
    }

    /// The answer to an interrupt. An absent one is never consent (V10).
    pub fn resume_for(&self, interrupt: &str) -> Option<&ResumeEntry> {
        self.input.resume.iter().find(|entry| entry.interrupt_id == interrupt)
    }

    /// Whether the run continues an interrupted one.
    pub fn is_resume(&self) -> bool {
        !self.input.resume.is_empty()
    }

    /// The invocation that is going on, innermost.
    pub fn subagent_run_id(&self) -> Option<&str> {
        self.sink.owners.last().map(String::as_str)
    }

    /// Calls that this run started and that are not answered, in the order in which it started them. A run that returns
    /// [`Success`](crate::agui::RunOutcome::Success) leaves exactly these to the application. Empty without the feature
    /// `verify`.
    pub fn pending_tool_calls(&self) -> Vec<String> {
        self.sink.verifier.pending_tool_calls()
    }

    /// The first event that the verifier refused, whatever became of the error.
    pub fn violation(&self) -> Option<&VerificationError> {
        self.sink.violation.as_ref()
    }

    /// What the run returns: goes out with `RUN_FINISHED`, unless the run is cancelled. Null is taken for nothing.
    pub fn set_result(&mut self, result: impl Into<Value>) {
        self.result = Some(result.into()).filter(|result| !result.is_null());
    }

    /// Adds tokens of a model call of this run; counts of one provider and model are added up. They go out with the end.
    pub fn add_usage(&mut self, usage: TokenUsage) {
        super::usage::add(&mut self.usage, usage);
    }

    /// Whether the run was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.sink.token.is_cancelled()
    }

    /// An error once the run was cancelled.
    ///
    /// # Errors
    ///
    /// [`Cancelled`](super::Error::Cancelled).
    pub fn check_cancelled(&self) -> Result<()> {
        self.sink.check()
    }

    /// The run's token. A model or tool that the agent calls should get a clone.
    pub fn cancel_token(&self) -> CancellationToken {
        self.sink.token.clone()
    }

    /// Waits for the cancellation. The future borrows nothing.
    pub fn cancelled(&self) -> WaitForCancellation {
        self.sink.token.cancelled()
    }

    /// Runs `future` unless the run is cancelled first: then the result is `None` and `future` is dropped, or was never
    /// polled. Borrows nothing but what `future` does.
    pub fn until_cancelled<F: Future>(
        &self,
        future: F,
    ) -> impl Future<Output = Option<F::Output>> + use<F, S> {
        self.sink.token.until_cancelled(future)
    }

    /// A new id for a message.
    pub fn new_message_id(&mut self) -> String {
        self.ids.next_id(EntityKind::Message)
    }

    /// A new id for a tool call.
    pub fn new_tool_call_id(&mut self) -> String {
        self.ids.next_id(EntityKind::ToolCall)
    }

    /// A new id for an invocation of a subagent.
    pub fn new_subagent_run_id(&mut self) -> String {
        self.ids.next_id(EntityKind::Subagent)
    }
}

impl<S> fmt::Debug for RunContext<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunContext").field("run", &self.input.run_id).finish_non_exhaustive()
    }
}
