//! Running agents.

use super::context::RunContext;
use super::end::{Ended, Manner, StopPolicy};
use super::error::Error;
use super::ids::{IdSource, Numbered};
use super::queue::{EventReceiver, Limits, Queue};
use super::sink::Sink;
use super::state::decode;
use super::stream::RunStream;
use super::traits::{Agent, AgentState, LocalAgent};
use super::transform::{Chain, Transformer};
use super::watch::Watch;
use crate::core::agui::{Mode, RunAgentInput, Verifier};
use crate::host::{Flavour, Local, Shared};
use crate::panics::{caught, drop_caught};
use crate::sync::Arc;
use crate::token::CancellationToken;
use std::fmt;
use std::num::NonZeroUsize;

/// Runs an agent once, with the defaults of [`Runner`].
pub fn run<A: Agent>(agent: A, input: RunAgentInput) -> RunStream<Shared> {
    Runner::new(agent).run(input)
}

/// Runs an agent that stays on this thread once, with the defaults of [`Runner`].
pub fn run_local<A: LocalAgent>(agent: A, input: RunAgentInput) -> RunStream<Local> {
    Runner::new(agent).run_local(input)
}

/// How an agent is run.
///
/// ```
/// use runloom::agui::server::{Agent, Result, RunContext, Runner, StopPolicy};
/// use runloom::agui::{Event, RunAgentInput, RunOutcome};
///
/// struct Echo;
///
/// impl Agent for Echo {
///     type State = ();
///
///     async fn run(&self, cx: &mut RunContext<()>) -> Result<RunOutcome> {
///         let text = cx.last_user_text().unwrap_or_default();
///         cx.say(text)?;
///         Ok(RunOutcome::Success)
///     }
/// }
///
/// let runner = Runner::new(Echo).stop_policy(StopPolicy::Finish);
/// let token = runner.cancellation_token();
/// let events = runner.run(RunAgentInput::new("thread", "run"));
/// token.cancel();
/// let events: Vec<_> = futures_lite::stream::block_on(events).collect();
/// let types: Vec<&str> = events.iter().map(|event| event.as_ref().unwrap().event_type().as_str()).collect();
/// assert_eq!(types, ["RUN_STARTED", "RUN_FINISHED"]);
/// ```
pub struct Runner<A> {
    agent: A,
    parts: Parts,
}

/// Everything but the agent.
struct Parts {
    chain: Chain,
    token: CancellationToken,
    limits: Limits,
    ids: Option<Box<dyn IdSource>>,
    manner: Manner,
    echo: bool,
    patient: bool,
}

impl<A> Runner<A> {
    /// A runner with the defaults.
    pub fn new(agent: A) -> Self {
        let manner = Manner { stop: StopPolicy::default(), strict: false, close_open: false };
        let parts = Parts {
            chain: Chain::default(),
            token: CancellationToken::new(),
            limits: Limits::default(),
            ids: None,
            manner,
            echo: false,
            patient: false,
        };
        Self { agent, parts }
    }

    /// Adds a transformer; the first one added is the first to see an event.
    #[must_use]
    pub fn transformer(mut self, transformer: impl Transformer + 'static) -> Self {
        self.parts.chain.push(Box::new(transformer));
        self
    }

    /// With a token of the host's instead of one of the run's own.
    #[must_use]
    pub fn cancellation(mut self, token: CancellationToken) -> Self {
        self.parts.token = token;
        self
    }

    /// The token that stops the run.
    pub fn cancellation_token(&self) -> CancellationToken {
        self.parts.token.clone()
    }

    /// With another capacity of the queue, 256 events by default: from there on [`RunContext::ready`] waits.
    #[must_use]
    pub fn event_buffer_capacity(mut self, capacity: NonZeroUsize) -> Self {
        self.parts.limits.capacity = capacity.get();
        self
    }

    /// With another bound for agents that do not wait: 2^18 events by default, and 64 MiB of JSON beyond the capacity. An
    /// event that no longer fits is refused with [`Error::QueueFull`]; what closes and ends always fits.
    #[must_use]
    pub fn most_unread(mut self, events: usize, bytes: u64) -> Self {
        self.parts.limits.most_events = events;
        self.parts.limits.most_bytes = bytes;
        self
    }

    /// What a stop looks like (V8).
    #[must_use]
    pub fn stop_policy(mut self, policy: StopPolicy) -> Self {
        self.parts.manner.stop = policy;
        self
    }

    /// With another source of ids. By default ids are made of the run's id and a count.
    #[must_use]
    pub fn ids(mut self, ids: impl IdSource + 'static) -> Self {
        self.parts.ids = Some(Box::new(ids));
        self
    }

    /// Whether `RUN_STARTED` carries the input; by default it does not.
    #[must_use]
    pub fn echo_input(mut self, echo: bool) -> Self {
        self.parts.echo = echo;
        self
    }

    /// Whether a run fails whose agent emitted something that the verifier refused, and passed over the error; by default
    /// it does not.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.parts.manner.strict = strict;
        self
    }

    /// Whether a success closes what the agent left open. By default the run fails then (V4): a call that is closed looks
    /// complete, and one that was left is perhaps not.
    #[must_use]
    pub fn close_open(mut self, close: bool) -> Self {
        self.parts.manner.close_open = close;
        self
    }

    /// Whether an agent that goes on waiting after a cancellation is waited for, so that it can clean up. By default it is
    /// polled once more and then dropped, so that a stop does stop.
    #[must_use]
    pub fn wait_for_agent(mut self, wait: bool) -> Self {
        self.parts.patient = wait;
        self
    }
}

impl<A: Agent> Runner<A> {
    /// Runs the agent once. Nothing happens until the stream is polled.
    pub fn run(self, input: RunAgentInput) -> RunStream<Shared> {
        let Self { agent, parts } = self;
        let (token, patient, manner) = (parts.token.clone(), parts.patient, parts.manner);
        let queue = Queue::new(parts.limits);
        let events = EventReceiver::new(Arc::clone(&queue));
        let watched = token.clone();
        let future: <Shared as Flavour>::Future<()> = Box::pin(async move {
            if let Some(mut cx) = parts.open::<A::State>(queue, input) {
                let (agent, context) = (&agent, &mut cx);
                let future = caught(move || Agent::run(agent, context));
                let ended = Watch::new(future, watched, patient).await;
                finish(cx, ended, manner);
            }
            drop_caught(agent);
        });
        RunStream::new(future, events, token)
    }
}

impl<A: LocalAgent> Runner<A> {
    /// Runs an agent that stays on this thread once. Nothing happens until the stream is polled.
    pub fn run_local(self, input: RunAgentInput) -> RunStream<Local> {
        let Self { agent, parts } = self;
        let (token, patient, manner) = (parts.token.clone(), parts.patient, parts.manner);
        let queue = Queue::new(parts.limits);
        let events = EventReceiver::new(Arc::clone(&queue));
        let watched = token.clone();
        let future: <Local as Flavour>::Future<()> = Box::pin(async move {
            if let Some(mut cx) = parts.open::<A::State>(queue, input) {
                let (agent, context) = (&agent, &mut cx);
                let future = caught(move || LocalAgent::run(agent, context));
                let ended = Watch::new(future, watched, patient).await;
                finish(cx, ended, manner);
            }
            drop_caught(agent);
        });
        RunStream::new(future, events, token)
    }
}

/// Ends the stream, then drops what is the agent's.
fn finish<S: AgentState>(mut cx: RunContext<S>, ended: Ended, manner: Manner) {
    cx.end(ended, manner);
    drop_caught(cx);
}

impl Parts {
    /// Starts the stream, and ends it at once if the input's state is not the agent's.
    fn open<S: AgentState>(self, queue: Arc<Queue>, input: RunAgentInput) -> Option<RunContext<S>> {
        let mut verifier = Verifier::new(Mode::SingleRun);
        verifier.know(&input);
        let ids = self.ids.unwrap_or_else(|| Box::new(Numbered::new(&input)));
        let mut sink = Sink::new(queue, self.token, verifier, self.chain);
        sink.begin(Sink::started(&input, self.echo));
        let input = Arc::new(input);
        let error = match caught(|| decode::<S>(&input)) {
            Some(Ok(state)) => return Some(RunContext::with(sink, state, ids, input)),
            Some(Err(error)) => error,
            None => Error::agent("its state panicked"),
        };
        let mut cx = RunContext::with(sink, (), ids, input);
        cx.end(Ended::Returned(Err(error)), self.manner);
        drop_caught(cx);
        None
    }
}

impl<A> fmt::Debug for Runner<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner").field("manner", &self.parts.manner).finish_non_exhaustive()
    }
}
