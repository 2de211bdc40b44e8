//! An agent as a tool: a call runs a session of another engine, inside of the tool's own future.

mod asked;
mod child;

use crate::core::event::{Envelope, Event};
use crate::core::id::{CallRef, RunId, SessionId};
use crate::core::outcome::Outcome;
use crate::core::text::Text;
use crate::core::tool::{ToolFault, ToolInvocation, ToolOutput, ToolSpec, ToolSpecError};
use crate::engine::Engine;
use crate::host::{Flavour, HostTransport, Local, LocalTool, Shared, Tool, ToolContext, ToolReturn};
use crate::start::{RunOptions, StartError, UserInput};
use crate::timer::Timer;
use crate::{Driver, Run, SessionError};
use child::{Child, Watch};
use serde_json::Value;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// How deep agents may be nested, unless a sub-agent says otherwise.
const MAX_DEPTH: u32 = 4;
const SCHEMA: &str = r#"{"type":"object","properties":{"task":{"type":"string","description":"What the agent is to do. It knows nothing but this."}},"required":["task"],"additionalProperties":false}"#;

type Observer<F> = <F as Flavour>::Function<(Arc<SubAgentCall>, SubAgentUpdate), ()>;

/// An agent as a tool of another one.
///
/// Each call runs one run in a new session of the agent's [`Engine`]: with its own model, tools, limits and log. Nothing
/// is spawned; the run goes on when the calling run's driver is polled. Its answer is the call's output; an answer that
/// stopped early and an input that the engine refuses are errors that the calling model sees; a run that fails or is
/// cancelled is a [`ToolFault`] (T3).
///
/// What the agent's run asks, consent or a question, the calling run asks in its place, and the answer goes back: whoever
/// holds the calling run's handle, or its host's responder, decides (H1). A call that a client is to execute is asked for as
/// a value. An agent that stops with a question cannot be suspended by itself: the calling run cannot either meanwhile.
///
/// The calling run's token cancels the agent's run too, and when the call is abandoned, by a cancellation, a deadline or a
/// dropped driver, the agent's run is cancelled with it: when the call's future is gone, the agent's run is committed, its
/// log closed and its engine without it (C8).
///
/// ```
/// use futures_lite::future::block_on;
/// use runloom::testing::{Attempt, ScriptedModel};
/// use runloom::{Engine, Host, ManualTimer, ModelSpec, RunOptions, SubAgent};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model = ScriptedModel::new(["Paris.".into()]);
/// let geographer = Host::shared().model(ModelSpec::new("small"), model).build()?;
/// let geographer = Engine::new(geographer, ManualTimer::new());
/// let ask = SubAgent::new("ask_geographer", "Answers questions about places.", geographer)?;
///
/// let call = Attempt::new().call("ask_geographer", r#"{"task":"What is the capital of France?"}"#);
/// let model = ScriptedModel::new([call, "It is Paris.".into()]);
/// let host = Host::shared().model(ModelSpec::new("large"), model).tool(ask).build()?;
/// let session = Engine::new(host, ManualTimer::new()).session()?;
/// let (run, driver) = session.start_with("Capital of France?", RunOptions::new().unattended())?;
/// assert_eq!(block_on(driver).answer().map(|answer| answer.text.as_str()), Some("It is Paris."));
/// assert!(run.handle().log_json().contains("Paris."));
/// # Ok(())
/// # }
/// ```
pub struct SubAgent<F: Flavour, T> {
    engine: Engine<F, T>,
    spec: ToolSpec,
    input: fn(&Value) -> Option<UserInput>,
    progress: fn(&Event) -> Option<Text>,
    depth: u32,
    observer: Option<Observer<F>>,
}

/// Which call an agent's run belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubAgentCall {
    /// The run that called.
    pub parent: RunId,
    /// Its call.
    pub call: CallRef,
    /// The agent's run.
    pub run: RunId,
    /// The agent's session.
    pub session: SessionId,
    /// How deep the agent's run is nested; 1 for one that a host's own run called.
    pub depth: u32,
}

/// What is to be observed of an agent's run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SubAgentUpdate {
    /// It begins.
    Started,
    /// An event of it, in order. What nobody has read when the run is cut off comes only with the end.
    Event(Envelope),
    /// It has ended, however that came about.
    Ended {
        /// How.
        outcome: Arc<Outcome>,
        /// What its log holds, oldest first.
        log: Vec<Envelope>,
    },
}

impl<F: Flavour, T> SubAgent<F, T> {
    /// A tool that gives a task to an agent of `engine`. Its one argument is `task`, a text; the agent sees nothing else.
    ///
    /// # Errors
    ///
    /// [`ToolSpecError`] if the name is none that a tool may have.
    pub fn new(
        name: impl Into<Text>,
        description: impl Into<Text>,
        engine: Engine<F, T>,
    ) -> Result<Self, ToolSpecError> {
        let spec = ToolSpec::new(name, description, SCHEMA)?;
        let input = |arguments: &Value| arguments["task"].as_str().map(UserInput::from);
        Ok(Self { engine, spec, input, progress: sub_agent_progress, depth: MAX_DEPTH, observer: None })
    }

    /// With another declaration: an access, a deadline, an approval, or another schema, to which
    /// [`input`](Self::input) belongs.
    #[must_use]
    pub fn declared(mut self, change: impl FnOnce(ToolSpec) -> ToolSpec) -> Self {
        self.spec = change(self.spec);
        self
    }

    /// Makes the agent's input of the arguments in another way; `None` refuses them.
    #[must_use]
    pub fn input(mut self, input: fn(&Value) -> Option<UserInput>) -> Self {
        self.input = input;
        self
    }

    /// What the calling run reports as progress of an event of the agent's run; [`sub_agent_progress`] if nothing is said
    /// here. While the calling run's reader has fallen behind, the agent's run waits for it.
    #[must_use]
    pub fn progress(mut self, progress: fn(&Event) -> Option<Text>) -> Self {
        self.progress = progress;
        self
    }

    /// How deep its runs may be nested, 4 if nothing is said here: 1 allows it to a host's own runs only. A call that is
    /// deeper is an error that the calling model sees.
    #[must_use]
    pub fn max_depth(mut self, depth: u32) -> Self {
        self.depth = depth;
        self
    }
}

impl<T> SubAgent<Shared, T> {
    /// Has `observe` told of every run: its start, each event, its end with its log. It is called by whoever polls or
    /// drops the calling run's work, under no lock.
    #[must_use]
    pub fn observe(
        mut self,
        observe: impl Fn(&SubAgentCall, SubAgentUpdate) + Send + Sync + 'static,
    ) -> Self {
        self.observer = Some(Arc::new(move |(call, update): (Arc<SubAgentCall>, _)| observe(&call, update)));
        self
    }
}

impl<T> SubAgent<Local, T> {
    /// Has `observe` told of every run: its start, each event, its end with its log. It is called by whoever polls or
    /// drops the calling run's work, under no lock.
    #[must_use]
    pub fn observe(mut self, observe: impl Fn(&SubAgentCall, SubAgentUpdate) + 'static) -> Self {
        self.observer = Some(Rc::new(move |(call, update): (Arc<SubAgentCall>, _)| observe(&call, update)));
        self
    }
}

/// What a calling run shows of an agent's run: which tools it calls, and what these report.
pub fn sub_agent_progress(event: &Event) -> Option<Text> {
    match event {
        Event::ToolStarted(call) => Some(format!("calls {}", call.name).into()),
        Event::ToolUpdated(update) => Some(format!("{}: {}", update.call.name, update.progress).into()),
        _ => None,
    }
}

impl<F: Flavour, T: Timer + Clone> SubAgent<F, T> {
    async fn run(&self, invocation: ToolInvocation, cx: ToolContext) -> Result<ToolOutput, ToolFault> {
        let arguments = serde_json::from_str::<Value>(invocation.call.arguments_json());
        let Some(input) = arguments.ok().as_ref().and_then(self.input) else {
            return Ok(ToolOutput::error("the arguments hold no task for the agent"));
        };
        let depth = cx.token().depth().saturating_add(1);
        if depth > self.depth {
            return Ok(ToolOutput::error(format!("agents may be nested {} deep, and no deeper", self.depth)));
        }
        let options = RunOptions::new().cancellation_token(cx.token().clone()).nested(depth);
        let (session, run, driver) = match self.start(input, options) {
            Ok(started) => started,
            Err(StartError::Invalid(misuse)) => {
                return Ok(ToolOutput::error(format!("the agent cannot be given this: {misuse}")));
            }
            Err(error) => {
                return Err(ToolFault::new(&format!("the agent cannot start: {error}")).definitive());
            }
        };
        let call = SubAgentCall {
            parent: cx.run_id().clone(),
            call: cx.call_ref(),
            run: run.id().clone(),
            session,
            depth,
        };
        let watch = self.observer.clone().map(|observer| Watch { call: Arc::new(call), observer });
        let outcome = Child::<F, T>::new(run, driver, watch, self.progress, cx).await;
        child::result_of(&outcome)
    }

    fn start(&self, input: UserInput, options: RunOptions) -> Result<Started<F, T>, StartError> {
        let session = self.engine.session().map_err(|error| match error {
            SessionError::Id(error) => StartError::Id(error),
            SessionError::EngineShutdown(error) => StartError::EngineShutdown(error),
            // A new session is idle and has no history.
            SessionError::Busy
            | SessionError::History(_)
            | SessionError::OpenCalls { .. }
            | SessionError::OtherState
            | SessionError::RevisionFull => StartError::Busy,
        })?;
        let (run, driver) = session.start_with(input, options)?;
        Ok((session.id().clone(), run, driver))
    }
}

type Started<F, T> = (SessionId, Run, Driver<T, HostTransport<F>>);

impl<T: Timer + Clone + Send + Sync + 'static> Tool for SubAgent<Shared, T> {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, invocation: ToolInvocation, cx: ToolContext) -> Result<ToolReturn, ToolFault> {
        self.run(invocation, cx).await.map(ToolReturn::from)
    }
}

impl<T: Timer + Clone + 'static> LocalTool for SubAgent<Local, T> {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, invocation: ToolInvocation, cx: ToolContext) -> Result<ToolReturn, ToolFault> {
        self.run(invocation, cx).await.map(ToolReturn::from)
    }
}

impl<F: Flavour, T> fmt::Debug for SubAgent<F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubAgent").field("name", &self.spec.name).finish_non_exhaustive()
    }
}
