//! The process that is killed: sessions whose runs follow each other without end, each in a thread of its own.

use crate::said;
use futures_lite::future::block_on;
use runloom::smol::SmolTimer;
use runloom::store::{Keeper, Opened, Owner, Record, SessionStore, SqliteStore, StoreError};
use runloom::testing::{Attempt, ScriptedModel};
use runloom::{
    Access, Engine, Host, ModelSpec, Revision, RunOptions, Session, SessionId, Shared, Snapshot, ToolOutput,
    ToolSpec, tool_fn,
};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Names the file of the store; it makes a process the one that is killed.
pub(crate) const FILE: &str = "RUNLOOM_KILL_FILE";
/// How many sessions there are.
pub(crate) const SESSIONS: &str = "RUNLOOM_KILL_SESSIONS";
/// Whether runs that were under way go on (`yes`) or are closed.
pub(crate) const GO_ON: &str = "RUNLOOM_KILL_GO_ON";

/// Where tools note what they did.
pub(crate) fn effects(file: &Path) -> PathBuf {
    file.with_extension("effects")
}

/// The write-ahead log beside a file.
pub(crate) fn log_of(file: &Path) -> PathBuf {
    file.with_extension("db-wal")
}

pub(crate) fn session(n: usize) -> SessionId {
    SessionId::new(format!("session-{n}")).unwrap()
}

/// A store that says what is handed to it and what it has answered for.
#[derive(Clone)]
struct Telling {
    inner: SqliteStore,
    log: PathBuf,
}

impl Telling {
    fn told<T>(&self, result: Result<T, StoreError>, tell: impl FnOnce(u64)) -> Result<T, StoreError> {
        match &result {
            Ok(_) => tell(std::fs::metadata(&self.log).map_or(0, |file| file.len())),
            Err(StoreError::Fenced { .. }) => said::fenced(),
            Err(_) => {}
        }
        result
    }
}

impl SessionStore for Telling {
    runloom_tests::pass_on!(reading claim load delete retire);

    async fn save(&self, owner: &Owner, new: &Snapshot, old: Option<Revision>) -> Result<(), StoreError> {
        said::writes();
        self.told(self.inner.save(owner, new, old).await, |log| said::saved(new, log))
    }
    async fn record(&self, owner: &Owner, record: &Record) -> Result<(), StoreError> {
        said::writes();
        self.told(self.inner.record(owner, record).await, |log| said::recorded(owner, record, log))
    }
}

/// Steps that call a tool twice, and an answer, over and over.
fn script() -> ScriptedModel {
    let steps = |n: usize| {
        let call = format!("{{\"n\":{n}}}");
        [
            Attempt::new().texts("some words ", 10).call("act", call.as_str()).call("act", call.as_str()),
            Attempt::new().texts("more words ", 5).call("act", call.as_str()),
            Attempt::new().texts("an answer ", 5),
        ]
    };
    ScriptedModel::new((0..300).flat_map(steps))
}

/// An engine whose sessions are kept.
pub(crate) fn engine<S: SessionStore>(keeper: &Keeper<S>, file: &Path) -> Engine<Shared, SmolTimer> {
    let effects = effects(file);
    let spec = ToolSpec::new("act", "", "{}").unwrap().access(Access::Shared);
    let act = tool_fn(spec, move |_, cx| {
        let effects = effects.clone();
        async move {
            let mut file = OpenOptions::new().create(true).append(true).open(effects).unwrap();
            file.write_all(format!("{}\n", cx.idempotency_key()).as_bytes()).unwrap();
            Ok(ToolOutput::text("acted"))
        }
    });
    let host = Host::shared().model(ModelSpec::new("m"), script()).tool(act).keeper(keeper.clone());
    Engine::new(host.build().unwrap(), SmolTimer::new())
}

/// Opens a session; a run that was under way goes on to its end, or is closed.
pub(crate) async fn open<S: SessionStore>(
    keeper: &Keeper<S>,
    engine: &Engine<Shared, SmolTimer>,
    session: &SessionId,
    goes_on: bool,
) -> Session<Shared, SmolTimer> {
    match keeper.open(engine, session).await.unwrap_or_else(|error| panic!("{session}: {error}")) {
        Opened::Session(session) => session,
        Opened::Orphan(orphan) if goes_on => {
            let resumed = orphan.go_on(RunOptions::new().unattended()).unwrap();
            resumed.driver.await;
            resumed.session
        }
        Opened::Orphan(orphan) => orphan.close().await.unwrap(),
    }
}

async fn work(store: Telling, file: PathBuf, session: SessionId, goes_on: bool) {
    let keeper = Keeper::new(store);
    let engine = engine(&keeper, &file);
    let session = open(&keeper, &engine, &session, goes_on).await;
    loop {
        // Most of a run's state is in its journal alone for two runs out of three.
        for _ in 0..3 {
            let (_run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
            if driver.await.durability.is_some() {
                return;
            }
        }
        if keeper.save(&session).await.is_err() {
            return;
        }
    }
}

/// Not a test of its own: it is what [`crate::killer`] starts.
#[test]
fn child() {
    let Some(file) = std::env::var_os(FILE).map(PathBuf::from) else { return };
    let sessions: usize = std::env::var(SESSIONS).unwrap().parse().unwrap();
    let goes_on = std::env::var(GO_ON).unwrap() == "yes";
    let inner = block_on(SqliteStore::open(&file)).unwrap();
    let store = Telling { inner, log: log_of(&file) };
    let threads = (0..sessions).map(|n| {
        let (store, file) = (store.clone(), file.clone());
        std::thread::spawn(move || block_on(work(store, file, session(n), goes_on)))
    });
    let threads: Vec<_> = threads.collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
