//! What differs between hosts whose tasks may move and hosts whose tasks stay: one trait, so that each scenario is
//! written once.

use super::executor::{LocalTask, SharedTask};
use super::odd::Odd;
use super::stage::Slot;
use super::watch::{Account, Watch, Watched};
use crate::core::model::{ModelRequest, ModelSpec, Problem};
use crate::core::tool::{ToolFault, ToolInvocation, ToolOutput, ToolSpec};
use crate::driver::Driver;
use crate::host::{
    Flavour, Host, HostError, HostTransport, Local, LocalModel, LocalTool, Model, ModelContext, Shared,
    ToolContext, ToolReturn, local_tool_fn, tool_fn,
};
use crate::sync::Arc;
use crate::testing::ScriptedTool;
use crate::timer::ManualTimer;
use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;

/// What a tool does to the run that called it, through all that a host has of it.
pub(super) type Act<K> = fn(&Slot<K>, &ToolContext);

/// What stands in for a host's model and tools.
pub(super) struct Parts<K: Kind, M> {
    pub(super) model: M,
    pub(super) tools: Vec<ScriptedTool<ManualTimer>>,
    /// The tool `act`.
    pub(super) act: Option<(ToolSpec, Slot<K>, Act<K>)>,
}

/// A flavour with its tasks.
pub(super) trait Kind: Flavour {
    type Task: 'static;
    fn task(future: impl Future<Output = ()> + Send + 'static) -> Self::Task;
    /// A host of these parts; the local one keeps what is not `Send` in each of them.
    fn host<M: Model>(parts: Parts<Self, M>) -> Result<Host<Self>, HostError>;
    /// The driver's task, watched.
    fn drive(watch: &Arc<Watch>, driver: Driver<Odd, HostTransport<Self>>) -> (Self::Task, Arc<Account>);
}

async fn to_end(driver: impl Future) {
    driver.await;
}

impl Kind for Shared {
    type Task = SharedTask;

    fn task(future: impl Future<Output = ()> + Send + 'static) -> SharedTask {
        Box::pin(future)
    }

    fn host<M: Model>(parts: Parts<Self, M>) -> Result<Host<Self>, HostError> {
        let mut host = Host::shared().model(ModelSpec::new("scripted"), parts.model);
        for tool in parts.tools {
            host = host.tool(tool);
        }
        if let Some((spec, slot, act)) = parts.act {
            host = host.tool(tool_fn(spec, move |_, cx| {
                let slot = Arc::clone(&slot);
                async move {
                    act(&slot, &cx);
                    Ok(ToolOutput::text("acted"))
                }
            }));
        }
        host.build()
    }

    fn drive(watch: &Arc<Watch>, driver: Driver<Odd, HostTransport<Self>>) -> (SharedTask, Arc<Account>) {
        let watched = Watched::new(watch, to_end(driver));
        let account = watched.account();
        (Box::pin(watched), account)
    }
}

impl Kind for Local {
    type Task = LocalTask;

    fn task(future: impl Future<Output = ()> + Send + 'static) -> LocalTask {
        Box::pin(future)
    }

    fn host<M: Model>(parts: Parts<Self, M>) -> Result<Host<Self>, HostError> {
        let uses = Rc::new(Cell::new(0));
        let stays = |uses: &Rc<Cell<u64>>| Rc::clone(uses);
        let model = Stays { inner: parts.model, uses: stays(&uses) };
        let mut host = Host::local().model(ModelSpec::new("scripted"), model);
        for tool in parts.tools {
            host = host.tool(Stays { inner: tool, uses: stays(&uses) });
        }
        if let Some((spec, slot, act)) = parts.act {
            host = host.tool(local_tool_fn(spec, move |_, cx| {
                let (slot, uses) = (Arc::clone(&slot), Rc::clone(&uses));
                async move {
                    uses.set(uses.get() + 1);
                    act(&slot, &cx);
                    Ok(ToolOutput::text("acted"))
                }
            }));
        }
        host.build()
    }

    fn drive(watch: &Arc<Watch>, driver: Driver<Odd, HostTransport<Self>>) -> (LocalTask, Arc<Account>) {
        let watched = Watched::new(watch, to_end(driver));
        let account = watched.account();
        (Box::pin(watched), account)
    }
}

/// Keeps a part on its thread, futures and all.
struct Stays<P> {
    inner: P,
    uses: Rc<Cell<u64>>,
}

impl<P> Stays<P> {
    fn used(&self) -> Rc<Cell<u64>> {
        self.uses.set(self.uses.get() + 1);
        Rc::clone(&self.uses)
    }
}

impl<M: Model> LocalModel for Stays<M> {
    type Stream = M::Stream;

    async fn open(&self, request: Arc<ModelRequest>, cx: ModelContext) -> Result<M::Stream, Problem> {
        let _uses = self.used();
        Model::open(&self.inner, request, cx).await
    }
}

impl<T: LocalTool> LocalTool for Stays<T> {
    fn spec(&self) -> ToolSpec {
        self.inner.spec()
    }

    async fn call(&self, invocation: ToolInvocation, cx: ToolContext) -> Result<ToolReturn, ToolFault> {
        let _uses = self.used();
        self.inner.call(invocation, cx).await
    }
}
