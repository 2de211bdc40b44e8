//! Processes over one store, and what the store has of a session.

use futures_lite::future::block_on;
use runloom::store::{Keeper, MemoryStore, Opened, Page, SessionStore};
use runloom::testing::{Attempt, ScriptedModel};
use runloom::{
    Access, Config, Engine, Host, ManualTimer, ModelSpec, RunId, Seq, Session, SessionId, Shared, Time,
    ToolFault, ToolOutput, ToolSpec, tool_fn,
};
use serde_json::Value;
use std::sync::{Arc, Mutex};

/// What tools were called with, over all processes.
pub(crate) type Calls = Arc<Mutex<Vec<String>>>;

/// One process: an engine with a clock of its own, and a keeper over a store.
pub(crate) struct Process<S: SessionStore> {
    pub(crate) keeper: Keeper<S>,
    pub(crate) engine: Engine<Shared, ManualTimer>,
    pub(crate) timer: ManualTimer,
}

pub(crate) fn id() -> SessionId {
    SessionId::new("kept").unwrap()
}

pub(crate) fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "", "{}").unwrap().access(Access::Shared)
}

impl<S: SessionStore> Process<S> {
    /// A process whose clock has begun at another time.
    pub(crate) fn new(store: S, calls: &Calls, script: impl IntoIterator<Item = Attempt>) -> Self {
        Self::configured(store, calls, script, Config::default())
    }

    pub(crate) fn configured(
        store: S,
        calls: &Calls,
        script: impl IntoIterator<Item = Attempt>,
        config: Config,
    ) -> Self {
        let keeper = Keeper::new(store);
        let own = Arc::clone(calls);
        let act = tool_fn(spec("act"), move |arguments, cx| {
            let own = Arc::clone(&own);
            async move {
                own.lock().unwrap().push(format!("{} {arguments}", cx.idempotency_key()));
                Ok(ToolOutput::text("acted"))
            }
        });
        let host = Host::shared()
            .model(ModelSpec::new("m"), ScriptedModel::new(script))
            .tool(act)
            .tool(tool_fn(spec("hang"), |_, _| std::future::pending::<Result<ToolOutput, ToolFault>>()))
            .keeper(keeper.clone())
            .build()
            .unwrap();
        let timer = ManualTimer::new();
        let engine = Engine::builder(host, timer.clone()).config(config).build();
        Self { keeper, engine, timer }
    }

    pub(crate) fn at(self, time: Time) -> Self {
        self.timer.set(time);
        self
    }

    pub(crate) fn open(&self) -> Opened<Shared, ManualTimer, S> {
        block_on(self.keeper.open(&self.engine, &id())).unwrap()
    }

    /// The session, which rests.
    pub(crate) fn session(&self) -> Session<Shared, ManualTimer> {
        match self.open() {
            Opened::Session(session) => session,
            Opened::Orphan(orphan) => panic!("{orphan:?}"),
        }
    }
}

/// All events of a run that are in the store.
pub(crate) fn events(store: &MemoryStore, run: &RunId) -> Vec<Value> {
    let lines = block_on(store.events(&id(), run, Seq(0), Page { lines: 100_000, bytes: u64::MAX })).unwrap();
    lines.iter().map(|line| serde_json::from_str(&line.text).unwrap()).collect()
}

/// The kinds of these events.
pub(crate) fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["kind"].as_str().unwrap()).collect()
}

pub(crate) fn runs(store: &MemoryStore) -> Vec<RunId> {
    block_on(store.runs(&id(), 0, 1_000)).unwrap().into_iter().map(|summary| summary.run).collect()
}

pub(crate) fn is_terminal(kind: &str) -> bool {
    ["run.completed", "run.cancelled", "run.failed"].contains(&kind)
}
