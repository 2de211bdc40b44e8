//! What a host brings: a model, tools, an approver.

mod approver;
mod asks;
mod compactor;
mod flavour;
mod model;
mod observer;
mod op;
mod progress;
mod ready;
mod responder;
mod steering;
mod summarizer;
mod tool;
mod tool_fn;
mod transport;

pub use approver::{
    Approval, ApprovalContext, Approver, ApproverFn, LocalApprover, LocalApproverFn, approver_fn,
    local_approver_fn,
};
pub use asks::Asking;
pub(crate) use compactor::PANICKED;
pub use compactor::{
    CompactionContext, Compactor, CompactorFn, LocalCompactor, LocalCompactorFn, compactor_fn,
    local_compactor_fn,
};
pub use flavour::{Flavour, Local, Shared};
pub(crate) use model::NOT_NATIVE;
pub use model::{LocalModel, LocalModelFn, Model, ModelContext, ModelFn, local_model_fn, model_fn};
pub use observer::{LocalObserver, LocalObserverFn, Observer, ObserverFn, local_observer_fn, observer_fn};
pub use progress::Progress;
pub use responder::{
    LocalResponder, LocalResponderFn, Responder, ResponderContext, ResponderFn, local_responder_fn,
    responder_fn,
};
pub use steering::Steering;
pub(crate) use summarizer::read_summary;
pub use summarizer::{LocalSummarizer, Summarizer};
pub(crate) use tool::known;
pub use tool::{LocalTool, Tool, ToolContext, ToolReturn, UnknownTool};
pub use tool_fn::{LocalToolFn, ToolFn, local_tool_fn, tool_fn};
pub use transport::HostTransport;

use crate::core::compaction::{Compaction, CompactionFault, CompactionRequest};
use crate::core::host_input::{HostAnswer, HostRequest};
use crate::core::model::{ModelRequest, ModelSpec, Problem};
use crate::core::observe::{MAX_OBSERVERS, ObserveRequest, ObserverFault};
use crate::core::text::Text;
use crate::core::tool::{AuthorizeRequest, Preparation, ToolFault, ToolInvocation, ToolSpec, ToolSpecError};
use crate::store::{Book, Keeper, LocalSessionStore, SessionStore, Tail};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

type Opened<F> = Result<<F as Flavour>::Stream, Problem>;
type OpenModel<F> =
    <F as Flavour>::Function<(Arc<ModelRequest>, ModelContext), <F as Flavour>::Future<Opened<F>>>;
type CallTool<F> = <F as Flavour>::Function<
    (ToolInvocation, ToolContext),
    <F as Flavour>::Future<Result<ToolReturn, ToolFault>>,
>;
type PrepareTool<F> = <F as Flavour>::Function<
    (ToolInvocation, ToolContext),
    <F as Flavour>::Future<Result<Preparation, ToolFault>>,
>;
type Respond<F> = <F as Flavour>::Function<
    (Arc<HostRequest>, ResponderContext),
    <F as Flavour>::Future<Option<HostAnswer>>,
>;
type Compact<F> = <F as Flavour>::Function<
    (Arc<CompactionRequest>, CompactionContext),
    <F as Flavour>::Future<Result<Compaction, CompactionFault>>,
>;
type Observe<F> =
    <F as Flavour>::Function<Arc<ObserveRequest>, <F as Flavour>::Future<Result<(), ObserverFault>>>;
type Keep<F> = <F as Flavour>::Function<
    (Arc<Tail>, Arc<ObserveRequest>),
    <F as Flavour>::Future<Result<(), ObserverFault>>,
>;
type Decide<F> =
    <F as Flavour>::Function<(Arc<AuthorizeRequest>, ApprovalContext), <F as Flavour>::Future<Approval>>;

/// Model, tools and approver of an engine; clones share them.
///
/// Build one with [`Host::shared`] or [`Host::local`].
pub struct Host<F: Flavour> {
    parts: Arc<Parts<F>>,
}

struct Parts<F: Flavour> {
    spec: Arc<ModelSpec>,
    open: OpenModel<F>,
    tools: Arc<[Arc<ToolSpec>]>,
    calls: BTreeMap<Text, Calls<F>>,
    decide: Option<Decide<F>>,
    respond: Option<Respond<F>>,
    compact: Option<Compact<F>>,
    observers: Vec<Watch<F>>,
    book: Option<Book>,
}

/// Whom a required observer is.
enum Watch<F: Flavour> {
    Observe(Observe<F>),
    Keep(Keep<F>),
}

/// How a tool is called.
struct Calls<F: Flavour> {
    call: CallTool<F>,
    prepare: PrepareTool<F>,
}

/// Why a host cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// There is no model.
    #[error("the host has no model")]
    NoModel,
    /// There are more required observers than a run can have.
    #[error("there are {0} required observers, and at most {MAX_OBSERVERS} are possible")]
    Observers(usize),
    /// A tool's declaration is not valid, or two tools have one name.
    #[error(transparent)]
    Tool(#[from] ToolSpecError),
    /// A tool with code says that the client executes it: its code would never run. See
    /// [`client_tool`](HostBuilder::client_tool).
    #[error("the tool {0:?} has code, and says that the client executes it")]
    ClientTool(Text),
}

impl Host<Shared> {
    /// Begins a host whose parts may move between threads.
    pub fn shared() -> HostBuilder<Shared> {
        HostBuilder::new()
    }
}

impl Host<Local> {
    /// Begins a host whose parts stay on one thread.
    pub fn local() -> HostBuilder<Local> {
        HostBuilder::new()
    }
}

impl<F: Flavour> Host<F> {
    /// The model's name, system prompt and parameters.
    pub fn model_spec(&self) -> &Arc<ModelSpec> {
        &self.parts.spec
    }

    /// What shortens histories.
    pub(crate) fn compactor(&self) -> Option<Compact<F>> {
        self.parts.compact.clone()
    }

    /// How many required observers there are.
    pub fn observers(&self) -> u32 {
        u32::try_from(self.parts.observers.len()).unwrap_or(u32::MAX)
    }

    /// The book of the keeper, if there is one.
    pub(crate) fn book(&self) -> Option<&Book> {
        self.parts.book.as_ref()
    }

    /// Whether a program answers requests.
    pub fn has_responder(&self) -> bool {
        self.parts.respond.is_some()
    }

    /// The tools' declarations, in the order in which they were added.
    pub fn tools(&self) -> &Arc<[Arc<ToolSpec>]> {
        &self.parts.tools
    }
}

impl<F: Flavour> Clone for Host<F> {
    fn clone(&self) -> Self {
        Self { parts: Arc::clone(&self.parts) }
    }
}

impl<F: Flavour> fmt::Debug for Host<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools: Vec<_> = self.parts.tools.iter().map(|tool| &tool.name).collect();
        f.debug_struct("Host")
            .field("model", &self.parts.spec.name)
            .field("tools", &tools)
            .field("approver", &self.parts.decide.is_some())
            .field("responder", &self.parts.respond.is_some())
            .field("compactor", &self.parts.compact.is_some())
            .field("observers", &self.parts.observers.len())
            .finish()
    }
}

/// Puts a [`Host`] together.
#[must_use]
pub struct HostBuilder<F: Flavour> {
    model: Option<(ModelSpec, OpenModel<F>, Compact<F>)>,
    tools: Vec<(ToolSpec, Option<Calls<F>>)>,
    decide: Option<Decide<F>>,
    respond: Option<Respond<F>>,
    compact: Option<Compact<F>>,
    observers: Vec<Watch<F>>,
    book: Option<Book>,
    native: bool,
}

impl<F: Flavour> HostBuilder<F> {
    fn new() -> Self {
        Self {
            model: None,
            tools: Vec::new(),
            decide: None,
            respond: None,
            compact: None,
            observers: Vec::new(),
            book: None,
            native: false,
        }
    }

    /// The host.
    ///
    /// # Errors
    ///
    /// [`HostError`] if there is no model, a tool's declaration was made invalid after it was built, two tools have the
    /// same name, a tool with code is declared as one that the client executes, or there are more than [`MAX_OBSERVERS`]
    /// required observers.
    pub fn build(self) -> Result<Host<F>, HostError> {
        let (spec, open, natively) = self.model.ok_or(HostError::NoModel)?;
        let mut tools = Vec::with_capacity(self.tools.len());
        let mut calls = BTreeMap::new();
        let mut names = BTreeSet::new();
        for (spec, call) in self.tools {
            spec.check()?;
            if spec.client && call.is_some() {
                return Err(HostError::ClientTool(spec.name));
            }
            if !names.insert(spec.name.clone()) {
                return Err(ToolSpecError::Duplicate(spec.name).into());
            }
            calls.extend(call.map(|call| (spec.name.clone(), call)));
            tools.push(Arc::new(spec));
        }
        let (decide, respond, observers) = (self.decide, self.respond, self.observers);
        if observers.len() > MAX_OBSERVERS as usize {
            return Err(HostError::Observers(observers.len()));
        }
        let compact = if self.native { Some(natively) } else { self.compact };
        let parts = Parts {
            spec: Arc::new(spec),
            open,
            tools: tools.into(),
            calls,
            decide,
            respond,
            compact,
            observers,
            book: self.book,
        };
        Ok(Host { parts: Arc::new(parts) })
    }

    /// Histories are shortened by the model's own provider ([`LocalModel::compact`]), and not by a compactor. Models behind
    /// HTTP can do it where their codec can, as [`Anthropic::compaction`](crate::core::provider::anthropic::Anthropic::compaction).
    pub fn compact_natively(mut self) -> Self {
        self.native = true;
        self
    }

    /// A tool that the client executes: the run only asks for the call's result. There is no code that could look at
    /// its calls before, so that the declaration's [`prepares`](ToolSpec::prepares) is left out.
    pub fn client_tool(mut self, spec: ToolSpec) -> Self {
        let mut spec = spec.client();
        spec.prepares = false;
        self.tools.push((spec, None));
        self
    }
}

impl<F: Flavour> fmt::Debug for HostBuilder<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostBuilder").field("tools", &self.tools.len()).finish_non_exhaustive()
    }
}

// The two blocks below differ in their bounds and pointers only. A future that owns its tool while it borrows from it
// makes the tool outlive the call.
impl HostBuilder<Shared> {
    /// The model that answers, under this name and with this system prompt. A later one replaces an earlier one.
    pub fn model<M: Model>(mut self, spec: ModelSpec, model: M) -> Self {
        let model = Arc::new(model);
        let own = Arc::clone(&model);
        let natively: Compact<Shared> = Arc::new(move |(request, cx)| {
            let model = Arc::clone(&own);
            Box::pin(async move { Model::compact(&*model, request, cx).await })
        });
        let open: OpenModel<Shared> = Arc::new(move |(request, cx)| {
            let model = Arc::clone(&model);
            Box::pin(async move {
                let stream = Model::open(&*model, request, cx).await?;
                Ok(Box::pin(stream) as <Shared as Flavour>::Stream)
            })
        });
        self.model = Some((spec, open, natively));
        self
    }

    /// A tool that the model may call.
    pub fn tool<T: Tool>(mut self, tool: T) -> Self {
        let spec = tool.spec();
        let tool = Arc::new(tool);
        let preparer = Arc::clone(&tool);
        let call: CallTool<Shared> = Arc::new(move |(invocation, cx)| {
            let tool = Arc::clone(&tool);
            Box::pin(async move { Tool::call(&*tool, invocation, cx).await })
        });
        let prepare: PrepareTool<Shared> = Arc::new(move |(invocation, cx)| {
            let tool = Arc::clone(&preparer);
            Box::pin(async move { Tool::prepare(&*tool, invocation, cx).await })
        });
        self.tools.push((spec, Some(Calls { call, prepare })));
        self
    }

    /// A program that answers requests: approvals, questions of tools, calls that the client executes. People who hold
    /// the run's handle may answer them too.
    pub fn responder<R: Responder>(mut self, responder: R) -> Self {
        let responder = Arc::new(responder);
        let respond: Respond<Shared> = Arc::new(move |(request, cx)| {
            let responder = Arc::clone(&responder);
            Box::pin(async move { Responder::respond(&*responder, request, cx).await })
        });
        self.respond = Some(respond);
        self
    }

    /// What shortens histories: by the policy of the engine's configuration, after an overflow, and by hand (K1, K5, K6).
    pub fn compactor<C: Compactor>(mut self, compactor: C) -> Self {
        let compactor = Arc::new(compactor);
        let compact: Compact<Shared> = Arc::new(move |(request, cx)| {
            let compactor = Arc::clone(&compactor);
            Box::pin(async move { Compactor::compact(&*compactor, request, cx).await })
        });
        self.compact = Some(compact);
        self
    }

    /// Who decides about calls of tools that need approval. Without one people are asked.
    pub fn approver<A: Approver>(mut self, approver: A) -> Self {
        let approver = Arc::new(approver);
        let decide: Decide<Shared> = Arc::new(move |(request, cx)| {
            let approver = Arc::clone(&approver);
            Box::pin(async move { Approver::decide(&*approver, request, cx).await })
        });
        self.decide = Some(decide);
        self
    }

    /// One more required observer, behind those that were added before: nothing goes on before it has accepted what is
    /// recorded (L5).
    pub fn observer<O: Observer>(mut self, observer: O) -> Self {
        let observer = Arc::new(observer);
        let observe: Observe<Shared> = Arc::new(move |request| {
            let observer = Arc::clone(&observer);
            Box::pin(async move { Observer::observe(&*observer, request).await })
        });
        self.observers.push(Watch::Observe(observe));
        self
    }

    /// Keeps the sessions that this keeper opens, in its store: one more required observer, behind those that were added
    /// before, which gets each run's journal as well (L5, H7). Runs of other sessions are refused. A later keeper takes its
    /// place.
    pub fn keeper<S: SessionStore>(mut self, keeper: Keeper<S>) -> Self {
        self.observers.retain(|watch| matches!(watch, Watch::Observe(_)));
        self.book = Some(keeper.book().clone());
        let keep: Keep<Shared> =
            Arc::new(move |(tail, request)| Box::pin(keeper.clone().keep(tail, request)));
        self.observers.push(Watch::Keep(keep));
        self
    }
}

impl HostBuilder<Local> {
    /// The model that answers, under this name and with this system prompt. A later one replaces an earlier one.
    pub fn model<M: LocalModel>(mut self, spec: ModelSpec, model: M) -> Self {
        let model = Rc::new(model);
        let own = Rc::clone(&model);
        let natively: Compact<Local> = Rc::new(move |(request, cx)| {
            let model = Rc::clone(&own);
            Box::pin(async move { LocalModel::compact(&*model, request, cx).await })
        });
        let open: OpenModel<Local> = Rc::new(move |(request, cx)| {
            let model = Rc::clone(&model);
            Box::pin(async move {
                let stream = LocalModel::open(&*model, request, cx).await?;
                Ok(Box::pin(stream) as <Local as Flavour>::Stream)
            })
        });
        self.model = Some((spec, open, natively));
        self
    }

    /// A tool that the model may call.
    pub fn tool<T: LocalTool>(mut self, tool: T) -> Self {
        let spec = tool.spec();
        let tool = Rc::new(tool);
        let preparer = Rc::clone(&tool);
        let call: CallTool<Local> = Rc::new(move |(invocation, cx)| {
            let tool = Rc::clone(&tool);
            Box::pin(async move { LocalTool::call(&*tool, invocation, cx).await })
        });
        let prepare: PrepareTool<Local> = Rc::new(move |(invocation, cx)| {
            let tool = Rc::clone(&preparer);
            Box::pin(async move { LocalTool::prepare(&*tool, invocation, cx).await })
        });
        self.tools.push((spec, Some(Calls { call, prepare })));
        self
    }

    /// A program that answers requests: approvals, questions of tools, calls that the client executes. People who hold
    /// the run's handle may answer them too.
    pub fn responder<R: LocalResponder>(mut self, responder: R) -> Self {
        let responder = Rc::new(responder);
        let respond: Respond<Local> = Rc::new(move |(request, cx)| {
            let responder = Rc::clone(&responder);
            Box::pin(async move { LocalResponder::respond(&*responder, request, cx).await })
        });
        self.respond = Some(respond);
        self
    }

    /// What shortens histories: by the policy of the engine's configuration, after an overflow, and by hand (K1, K5, K6).
    pub fn compactor<C: LocalCompactor>(mut self, compactor: C) -> Self {
        let compactor = Rc::new(compactor);
        let compact: Compact<Local> = Rc::new(move |(request, cx)| {
            let compactor = Rc::clone(&compactor);
            Box::pin(async move { LocalCompactor::compact(&*compactor, request, cx).await })
        });
        self.compact = Some(compact);
        self
    }

    /// Who decides about calls of tools that need approval. Without one people are asked.
    pub fn approver<A: LocalApprover>(mut self, approver: A) -> Self {
        let approver = Rc::new(approver);
        let decide: Decide<Local> = Rc::new(move |(request, cx)| {
            let approver = Rc::clone(&approver);
            Box::pin(async move { LocalApprover::decide(&*approver, request, cx).await })
        });
        self.decide = Some(decide);
        self
    }

    /// One more required observer, behind those that were added before: nothing goes on before it has accepted what is
    /// recorded (L5).
    pub fn observer<O: LocalObserver>(mut self, observer: O) -> Self {
        let observer = Rc::new(observer);
        let observe: Observe<Local> = Rc::new(move |request| {
            let observer = Rc::clone(&observer);
            Box::pin(async move { LocalObserver::observe(&*observer, request).await })
        });
        self.observers.push(Watch::Observe(observe));
        self
    }

    /// Keeps the sessions that this keeper opens, in its store: one more required observer, behind those that were added
    /// before, which gets each run's journal as well (L5, H7). Runs of other sessions are refused. A later keeper takes its
    /// place.
    pub fn keeper<S: LocalSessionStore>(mut self, keeper: Keeper<S>) -> Self {
        self.observers.retain(|watch| matches!(watch, Watch::Observe(_)));
        self.book = Some(keeper.book().clone());
        let keep: Keep<Local> =
            Rc::new(move |(tail, request)| Box::pin(keeper.clone().keep_locally(tail, request)));
        self.observers.push(Watch::Keep(keep));
        self
    }
}
