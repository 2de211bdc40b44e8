//! What a host brings: a model, tools, an approver.

mod approver;
mod flavour;
mod model;
mod op;
mod progress;
mod ready;
mod tool;
mod transport;

pub use approver::{
    Approval, ApprovalContext, Approver, ApproverFn, LocalApprover, LocalApproverFn, approver_fn,
    local_approver_fn,
};
pub use flavour::{Flavour, Local, Shared};
pub use model::{LocalModel, LocalModelFn, Model, ModelContext, ModelFn, local_model_fn, model_fn};
pub use progress::Progress;
pub use tool::{LocalTool, LocalToolFn, Tool, ToolContext, ToolFn, local_tool_fn, tool_fn};
pub use transport::HostTransport;

use crate::core::model::{ModelRequest, ModelSpec, Problem};
use crate::core::text::Text;
use crate::core::tool::{AuthorizeRequest, ToolFault, ToolInvocation, ToolOutput, ToolSpec, ToolSpecError};
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

type Opened<F> = Result<<F as Flavour>::Stream, Problem>;
type OpenModel<F> =
    <F as Flavour>::Function<(Arc<ModelRequest>, ModelContext), <F as Flavour>::Future<Opened<F>>>;
type CallTool<F> = <F as Flavour>::Function<
    (ToolInvocation, ToolContext),
    <F as Flavour>::Future<Result<ToolOutput, ToolFault>>,
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
    calls: BTreeMap<Text, CallTool<F>>,
    decide: Option<Decide<F>>,
}

/// Why a host cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// There is no model.
    #[error("the host has no model")]
    NoModel,
    /// A tool's declaration is not valid, or two tools have one name.
    #[error(transparent)]
    Tool(#[from] ToolSpecError),
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
            .finish()
    }
}

/// Puts a [`Host`] together.
#[must_use]
pub struct HostBuilder<F: Flavour> {
    model: Option<(ModelSpec, OpenModel<F>)>,
    tools: Vec<(ToolSpec, CallTool<F>)>,
    decide: Option<Decide<F>>,
}

impl<F: Flavour> HostBuilder<F> {
    fn new() -> Self {
        Self { model: None, tools: Vec::new(), decide: None }
    }

    /// The host.
    ///
    /// # Errors
    ///
    /// [`HostError`] if there is no model, a tool's declaration was made invalid after it was built, or two tools
    /// have the same name.
    pub fn build(self) -> Result<Host<F>, HostError> {
        let (spec, open) = self.model.ok_or(HostError::NoModel)?;
        let mut tools = Vec::with_capacity(self.tools.len());
        let mut calls = BTreeMap::new();
        for (spec, call) in self.tools {
            ToolSpec::new(spec.name.clone(), spec.description.clone(), Arc::clone(&spec.schema))?;
            if calls.insert(spec.name.clone(), call).is_some() {
                return Err(ToolSpecError::Duplicate(spec.name).into());
            }
            tools.push(Arc::new(spec));
        }
        let parts = Parts { spec: Arc::new(spec), open, tools: tools.into(), calls, decide: self.decide };
        Ok(Host { parts: Arc::new(parts) })
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
        let open: OpenModel<Shared> = Arc::new(move |(request, cx)| {
            let model = Arc::clone(&model);
            Box::pin(async move {
                let stream = Model::open(&*model, request, cx).await?;
                Ok(Box::pin(stream) as <Shared as Flavour>::Stream)
            })
        });
        self.model = Some((spec, open));
        self
    }

    /// A tool that the model may call.
    pub fn tool<T: Tool>(mut self, tool: T) -> Self {
        let spec = tool.spec();
        let tool = Arc::new(tool);
        let call: CallTool<Shared> = Arc::new(move |(invocation, cx)| {
            let tool = Arc::clone(&tool);
            Box::pin(async move { Tool::call(&*tool, invocation, cx).await })
        });
        self.tools.push((spec, call));
        self
    }

    /// Who decides about calls of tools that need approval. Without one they are denied.
    pub fn approver<A: Approver>(mut self, approver: A) -> Self {
        let approver = Arc::new(approver);
        let decide: Decide<Shared> = Arc::new(move |(request, cx)| {
            let approver = Arc::clone(&approver);
            Box::pin(async move { Approver::decide(&*approver, request, cx).await })
        });
        self.decide = Some(decide);
        self
    }
}

impl HostBuilder<Local> {
    /// The model that answers, under this name and with this system prompt. A later one replaces an earlier one.
    pub fn model<M: LocalModel>(mut self, spec: ModelSpec, model: M) -> Self {
        let model = Rc::new(model);
        let open: OpenModel<Local> = Rc::new(move |(request, cx)| {
            let model = Rc::clone(&model);
            Box::pin(async move {
                let stream = LocalModel::open(&*model, request, cx).await?;
                Ok(Box::pin(stream) as <Local as Flavour>::Stream)
            })
        });
        self.model = Some((spec, open));
        self
    }

    /// A tool that the model may call.
    pub fn tool<T: LocalTool>(mut self, tool: T) -> Self {
        let spec = tool.spec();
        let tool = Rc::new(tool);
        let call: CallTool<Local> = Rc::new(move |(invocation, cx)| {
            let tool = Rc::clone(&tool);
            Box::pin(async move { LocalTool::call(&*tool, invocation, cx).await })
        });
        self.tools.push((spec, call));
        self
    }

    /// Who decides about calls of tools that need approval. Without one they are denied.
    pub fn approver<A: LocalApprover>(mut self, approver: A) -> Self {
        let approver = Rc::new(approver);
        let decide: Decide<Local> = Rc::new(move |(request, cx)| {
            let approver = Rc::clone(&approver);
            Box::pin(async move { LocalApprover::decide(&*approver, request, cx).await })
        });
        self.decide = Some(decide);
        self
    }
}
