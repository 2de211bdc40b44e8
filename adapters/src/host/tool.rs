//! Tools, as hosts implement them.

use super::progress::Progress;
use super::ready::OpWaker;
use crate::CancellationToken;
use crate::core::id::{CallRef, RunId};
use crate::core::message::ToolCall;
use crate::core::text::Text;
use crate::core::tool::{ToolFault, ToolInvocation, ToolOutput, ToolSpec};
use serde_json::Value;
use std::future::Future;
use std::sync::Arc;

/// What a running tool gets beside its call. Clones speak for the same call.
#[derive(Clone, Debug)]
pub struct ToolContext {
    pub(super) token: CancellationToken,
    pub(super) run: RunId,
    pub(super) call: Arc<ToolCall>,
    pub(super) state: Arc<OpWaker>,
}

impl ToolContext {
    /// The run's token: cancelled with the run (C1). A tool whose future is dropped was abandoned, by a cancellation
    /// or a deadline; it has to end what it started itself then: children, connections, tasks (C11).
    pub fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// The run.
    pub fn run_id(&self) -> &RunId {
        &self.run
    }

    /// The engine's identity of the call: step and place in the response.
    pub fn call_ref(&self) -> CallRef {
        self.call.call
    }

    /// The provider's id of the call.
    pub fn call_id(&self) -> &str {
        &self.call.id
    }

    /// A key that is the same whenever this call is run, and that no other call has (T6).
    pub fn idempotency_key(&self) -> String {
        format!("{}/{}", self.run, self.call.call)
    }

    /// Reports progress to people: `tool.updated`, which the model never sees. An empty text reports nothing; a long
    /// one is cut (T5).
    ///
    /// One report is held at a time, and while the run's reader has fallen behind it is not taken: then this waits.
    /// None is lost. After the call has ended it returns at once and does nothing.
    pub fn progress(&self, text: impl Into<Text>) -> Progress {
        Progress::new(Arc::clone(&self.state), text.into())
    }
}

/// A tool whose futures may stay on one thread.
///
/// Implement it where nothing is `Send`. Elsewhere implement [`Tool`], which brings this trait along.
pub trait LocalTool: 'static {
    /// What the tool declares about itself. Asked once, when the host is built.
    fn spec(&self) -> ToolSpec;

    /// Runs one call. Its arguments are the text of a JSON object, valid as JSON but not checked against the schema.
    ///
    /// What the model should see as an error is a [`ToolOutput::error`]. Dropping the future abandons the call; a
    /// panic in it is a result of its own and not the end of the run (T4).
    ///
    /// # Errors
    ///
    /// A [`ToolFault`] if the tool's infrastructure failed: the model sees it as an error, and the run ends only if
    /// the tool is declared [`fatal`](ToolSpec::fatal) (T3).
    fn call(
        &self,
        invocation: ToolInvocation,
        cx: ToolContext,
    ) -> impl Future<Output = Result<ToolOutput, ToolFault>>;
}

/// A tool whose futures may move between threads. The contract is that of [`LocalTool`], which every implementor is
/// too.
///
/// ```
/// use runloom::{Tool, ToolContext, ToolFault, ToolInvocation, ToolOutput, ToolSpec};
/// use std::sync::Arc;
///
/// struct Clock(ToolSpec);
///
/// impl Tool for Clock {
///     fn spec(&self) -> ToolSpec {
///         self.0.clone()
///     }
///
///     async fn call(&self, _: ToolInvocation, cx: ToolContext) -> Result<ToolOutput, ToolFault> {
///         cx.progress("looking at the clock").await;
///         Ok(ToolOutput::text("noon"))
///     }
/// }
/// ```
pub trait Tool: Send + Sync + 'static {
    /// What the tool declares about itself; see [`LocalTool::spec`].
    fn spec(&self) -> ToolSpec;

    /// Runs one call; see [`LocalTool::call`].
    ///
    /// # Errors
    ///
    /// A [`ToolFault`] if the tool's infrastructure failed.
    fn call(
        &self,
        invocation: ToolInvocation,
        cx: ToolContext,
    ) -> impl Future<Output = Result<ToolOutput, ToolFault>> + Send;
}

impl<T: Tool> LocalTool for T {
    fn spec(&self) -> ToolSpec {
        Tool::spec(self)
    }

    fn call(
        &self,
        invocation: ToolInvocation,
        cx: ToolContext,
    ) -> impl Future<Output = Result<ToolOutput, ToolFault>> {
        Tool::call(self, invocation, cx)
    }
}

/// A tool made of a function; see [`tool_fn`].
#[derive(Clone, Debug)]
pub struct ToolFn<F> {
    spec: ToolSpec,
    call: F,
}

/// A tool made of a function that may stay on one thread; see [`local_tool_fn`].
#[derive(Clone, Debug)]
pub struct LocalToolFn<F> {
    spec: ToolSpec,
    call: F,
}

/// A [`Tool`] made of a function from arguments and context to output: for both flavours of host.
///
/// ```
/// use runloom::{ToolOutput, ToolSpec, tool_fn};
///
/// let spec = ToolSpec::new("add", "Adds two numbers.", r#"{"type":"object"}"#).unwrap();
/// let add = tool_fn(spec, |arguments, _cx| async move {
///     match (arguments["a"].as_i64(), arguments["b"].as_i64()) {
///         (Some(a), Some(b)) => Ok(ToolOutput::text((a + b).to_string())),
///         _ => Ok(ToolOutput::error("a and b must be whole numbers")),
///     }
/// });
/// ```
pub fn tool_fn<F, Fut>(spec: ToolSpec, call: F) -> ToolFn<F>
where
    F: Fn(Value, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<ToolOutput, ToolFault>> + Send,
{
    ToolFn { spec, call }
}

/// A [`LocalTool`] made of a function from arguments and context to output: for local hosts.
pub fn local_tool_fn<F, Fut>(spec: ToolSpec, call: F) -> LocalToolFn<F>
where
    F: Fn(Value, ToolContext) -> Fut + 'static,
    Fut: Future<Output = Result<ToolOutput, ToolFault>>,
{
    LocalToolFn { spec, call }
}

/// The arguments as a value; the model is told if they are nested deeper than a parser goes.
fn arguments(invocation: &ToolInvocation) -> Result<Value, ToolOutput> {
    serde_json::from_str(invocation.call.arguments_json())
        .map_err(|error| ToolOutput::error(format!("the arguments cannot be read: {error}")))
}

impl<F, Fut> Tool for ToolFn<F>
where
    F: Fn(Value, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<ToolOutput, ToolFault>> + Send,
{
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, invocation: ToolInvocation, cx: ToolContext) -> Result<ToolOutput, ToolFault> {
        match arguments(&invocation) {
            Ok(arguments) => (self.call)(arguments, cx).await,
            Err(output) => Ok(output),
        }
    }
}

impl<F, Fut> LocalTool for LocalToolFn<F>
where
    F: Fn(Value, ToolContext) -> Fut + 'static,
    Fut: Future<Output = Result<ToolOutput, ToolFault>>,
{
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, invocation: ToolInvocation, cx: ToolContext) -> Result<ToolOutput, ToolFault> {
        match arguments(&invocation) {
            Ok(arguments) => (self.call)(arguments, cx).await,
            Err(output) => Ok(output),
        }
    }
}
