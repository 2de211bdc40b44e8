//! Tools, as hosts implement them.

use super::asks::Asking;
use super::progress::Progress;
use super::ready::OpWaker;
use crate::CancellationToken;
use crate::core::host_input::Question;
use crate::core::id::{CallRef, RunId};
use crate::core::message::ToolCall;
use crate::core::text::Text;
use crate::core::tool::{
    Preparation, Resumption, ToolAsk, ToolFault, ToolInvocation, ToolOutput, ToolSpec, ToolVisibility,
};
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::task::Wake;

/// What a running tool gets beside its call. Clones speak for the same call.
#[derive(Clone)]
pub struct ToolContext {
    pub(super) token: CancellationToken,
    pub(super) run: RunId,
    pub(super) call: Arc<ToolCall>,
    pub(super) resumed: Option<Arc<Resumption>>,
    /// The host's tools.
    pub(super) tools: Arc<[Arc<ToolSpec>]>,
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

    /// A key that is the same whenever this call is run, and that no other call has (T6) as long as no two runs have
    /// the same id: the ids that an engine gives by itself begin anew with it.
    pub fn idempotency_key(&self) -> String {
        format!("{}/{}", self.run, self.call.call)
    }

    /// What the tool is called again with, where it had returned with a question ([`ToolReturn::Ask`]): its own state
    /// and the answer.
    pub fn resumed(&self) -> Option<&Resumption> {
        self.resumed.as_deref()
    }

    /// Asks people or the host's responder, and waits for the answer (H1, H2).
    ///
    /// Several questions may be open at once. The tool's deadline stands still while one is. Dropping the future takes
    /// the question back. A tool that should not stay in memory while it waits returns [`ToolReturn::ask`] instead:
    /// only then the run can be suspended.
    ///
    /// # Errors
    ///
    /// The future yields an [`AskError`](crate::core::host_input::AskError) if the question cannot be asked, nobody can
    /// answer, the time is up, or whoever was asked refuses.
    pub fn ask(&self, question: Question) -> Asking {
        Asking::new(Arc::clone(&self.state), question)
    }

    /// Has the model offered these tools from the run's next step on; see [`ToolSpec::hidden`].
    ///
    /// # Errors
    ///
    /// [`UnknownTool`] names the first that the host does not have; then nothing changes.
    pub fn show_tools<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<(), UnknownTool> {
        let show = known(&self.tools, names)?;
        self.wish(ToolVisibility { show, hide: Vec::new() });
        Ok(())
    }

    /// Keeps these tools from the model from the run's next step on.
    ///
    /// # Errors
    ///
    /// As [`ToolContext::show_tools`].
    pub fn hide_tools<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<(), UnknownTool> {
        let hide = known(&self.tools, names)?;
        self.wish(ToolVisibility { show: Vec::new(), hide });
        Ok(())
    }

    fn wish(&self, change: ToolVisibility) {
        self.state.asks.show(change, self.state.place());
        self.state.wake_by_ref();
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

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("run", &self.run)
            .field("call", &self.call.call)
            .finish_non_exhaustive()
    }
}

/// A tool that the host does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no tool {0:?}")]
pub struct UnknownTool(pub Text);

/// These names, if there is a tool of each.
pub(crate) fn known<'a>(
    tools: &[Arc<ToolSpec>],
    names: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<Text>, UnknownTool> {
    let known = |name: &'a str| match tools.iter().find(|spec| *spec.name == *name) {
        Some(spec) => Ok(spec.name.clone()),
        None => Err(UnknownTool(Text::new(crate::core::text::prefix(name, 64)))),
    };
    names.into_iter().map(known).collect()
}

/// What a call comes to.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ToolReturn {
    /// Its result.
    Output(ToolOutput),
    /// A question to people or to the host: the tool is called again with the answer, in another process too (H6).
    Ask(ToolAsk),
}

impl ToolReturn {
    /// A question, and what the tool wants back with the answer. The state stands in the value of a suspended run:
    /// nothing secret belongs there.
    pub fn ask(question: Question, state: impl Into<Text>) -> Self {
        Self::Ask(ToolAsk { question: Arc::new(question), state: state.into() })
    }
}

impl From<ToolOutput> for ToolReturn {
    fn from(output: ToolOutput) -> Self {
        Self::Output(output)
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
    ) -> impl Future<Output = Result<ToolReturn, ToolFault>>;

    /// Looks at a call before it is scheduled, if the tool is declared [`prepares`](ToolSpec::prepares): what this very
    /// call touches, and what it is about to do. It must not act yet. The tool's deadline holds for it too. The call has not
    /// started, so that progress and other tools go nowhere, and a question is the error
    /// [`AskError::Gone`](crate::core::host_input::AskError::Gone) at once.
    ///
    /// # Errors
    ///
    /// A [`ToolFault`] if the call cannot be run: it then fails without having been started.
    fn prepare(
        &self,
        invocation: ToolInvocation,
        cx: ToolContext,
    ) -> impl Future<Output = Result<Preparation, ToolFault>> {
        let _ = (invocation, cx);
        std::future::ready(Ok(Preparation::new()))
    }
}

/// A tool whose futures may move between threads. The contract is that of [`LocalTool`], which every implementor is
/// too.
///
/// ```
/// use runloom::{Tool, ToolContext, ToolFault, ToolInvocation, ToolOutput, ToolReturn, ToolSpec};
/// use std::sync::Arc;
///
/// struct Clock(ToolSpec);
///
/// impl Tool for Clock {
///     fn spec(&self) -> ToolSpec {
///         self.0.clone()
///     }
///
///     async fn call(&self, _: ToolInvocation, cx: ToolContext) -> Result<ToolReturn, ToolFault> {
///         cx.progress("looking at the clock").await;
///         Ok(ToolOutput::text("noon").into())
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
    ) -> impl Future<Output = Result<ToolReturn, ToolFault>> + Send;

    /// Looks at a call before it is scheduled; see [`LocalTool::prepare`].
    ///
    /// # Errors
    ///
    /// A [`ToolFault`] if the call cannot be run.
    fn prepare(
        &self,
        invocation: ToolInvocation,
        cx: ToolContext,
    ) -> impl Future<Output = Result<Preparation, ToolFault>> + Send {
        let _ = (invocation, cx);
        std::future::ready(Ok(Preparation::new()))
    }
}

impl<T: Tool> LocalTool for T {
    fn spec(&self) -> ToolSpec {
        Tool::spec(self)
    }

    fn call(
        &self,
        invocation: ToolInvocation,
        cx: ToolContext,
    ) -> impl Future<Output = Result<ToolReturn, ToolFault>> {
        Tool::call(self, invocation, cx)
    }

    fn prepare(
        &self,
        invocation: ToolInvocation,
        cx: ToolContext,
    ) -> impl Future<Output = Result<Preparation, ToolFault>> {
        Tool::prepare(self, invocation, cx)
    }
}
