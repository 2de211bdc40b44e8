//! What is recorded while nothing goes wrong, and who may write.

use crate::stage::{Calls, Process, events, id, is_terminal, kinds, runs, spec};
use futures_lite::future::block_on;
use runloom::store::{
    JournalId, Keeper, MemoryStore, OpenError, Owner, Page, Record, SessionStore, SqliteStore, StoreError,
};
use runloom::testing::{Attempt, ScriptedModel};
use runloom::{
    ApprovalPolicy, Engine, Host, HostAnswer, ManualTimer, Metadata, ModelSpec, Revision, RunError, RunId,
    RunOptions, RunResult, Seq, StartError, local_tool_fn,
};
use runloom_core::journal::{JournalBounds, replay};
use runloom_tests::bare::Task;
use runloom_tests::scratch::Scratch;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

fn journal(store: &MemoryStore, run: &RunId) -> String {
    let name = JournalId { session: id(), run: run.clone(), part: Seq(0) };
    let lines = block_on(store.journal(&name, 0, Page { lines: 100_000, bytes: u64::MAX })).unwrap();
    lines.iter().map(|line| format!("{}\n", line.text)).collect()
}

// proves: L5, L7, H7
#[test]
fn a_run_is_in_the_store_with_its_journal() {
    let store = MemoryStore::new();
    let calls = Calls::default();
    let script = [Attempt::new().text("Let me see.").call("act", "{\"n\":1}"), "Done.".into()];
    let process = Process::new(store.clone(), &calls, script);
    let session = process.session();
    let (run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
    let outcome = block_on(driver);
    assert_eq!(outcome.durability, None);
    assert_eq!(run.id().as_str(), "kept/run-1-1");
    let kept = events(&store, run.id());
    assert_eq!(kept.len() as u64, outcome.last_seq.0);
    assert!(kept.iter().zip(1..).all(|(event, seq)| event["seq"] == seq));
    assert_eq!(kinds(&kept).iter().filter(|kind| is_terminal(kind)).count(), 1);
    let replayed = replay(journal(&store, run.id()).as_bytes(), &JournalBounds::default()).unwrap();
    assert_eq!(replayed.run.log().last_seq(), outcome.last_seq);

    let mut metadata = Metadata::new();
    metadata.insert("title", "Acting").unwrap();
    session.set_metadata(metadata);
    block_on(process.keeper.save(&session)).unwrap();
    assert!(block_on(store.journals(&id())).unwrap().is_empty(), "the snapshot holds what came of it");
    assert_eq!(events(&store, run.id()), kept, "the events stay");

    let next = Process::new(store.clone(), &calls, ["Again.".into()]);
    let again = next.session();
    assert_eq!((again.history(), again.revision()), (session.history(), session.revision()));
    assert_eq!(again.metadata().get("title").map(AsRef::as_ref), Some("Acting"));
    let (run, driver) = again.start_with("go on", RunOptions::new().unattended()).unwrap();
    block_on(driver);
    assert_eq!(run.id().as_str(), "kept/run-2-2", "claim and number are new");
    assert_eq!(runs(&store).len(), 2);
    assert_eq!(calls.lock().unwrap().len(), 1);
}

/// Runs follow each other without a snapshot in between: the newest journal is enough.
// proves: H7, S3
#[test]
fn what_was_not_saved_comes_back_from_the_newest_journal() {
    let store = MemoryStore::new();
    let calls = Calls::default();
    let process = Process::new(store.clone(), &calls, ["one".into(), "two".into(), "three".into()]);
    let session = process.session();
    for _ in 0..3 {
        let (_run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
        block_on(driver);
    }
    let next = Process::new(store.clone(), &calls, []);
    let again = next.session();
    assert_eq!((again.history(), again.revision()), (session.history(), Revision(3)));
    assert_eq!(again.snapshot().last_run(), session.snapshot().last_run());
    assert!(block_on(store.journals(&id())).unwrap().is_empty(), "it is saved now");
    assert_eq!(block_on(store.load(&id())).unwrap().unwrap().revision(), Revision(3));
}

/// A store whose writes wait until the test lets them through.
#[derive(Clone)]
struct Gated {
    inner: MemoryStore,
    open: Arc<Mutex<(usize, Option<Waker>)>>,
}

impl Gated {
    fn let_through(&self) {
        let waker = {
            let mut open = self.open.lock().unwrap();
            open.0 += 1;
            open.1.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }
}

impl SessionStore for Gated {
    runloom_tests::pass_on!(reading claim load save delete retire);

    async fn record(&self, owner: &Owner, record: &Record) -> Result<(), StoreError> {
        std::future::poll_fn(|cx| {
            let mut open = self.open.lock().unwrap();
            if open.0 > 0 {
                open.0 -= 1;
                return Poll::Ready(());
            }
            open.1 = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
        self.inner.record(owner, record).await
    }
}

/// No code of a tool is entered before the store has answered for its start: else a crash could not tell whether it ran.
// proves: L5, H7
#[test]
fn a_tool_runs_when_its_start_is_in_the_store() {
    let store = Gated { inner: MemoryStore::new(), open: Arc::default() };
    let calls = Calls::default();
    let script = [Attempt::new().call("act", "{}").call("act", "{\"n\":2}"), "Done.".into()];
    let process = Process::new(store.clone(), &calls, script);
    let session = process.session();
    let (run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
    let mut driver = Task::new(driver);
    let mut writes = 0;
    while !driver.run() {
        let kept = events(&store.inner, run.id());
        let started = kinds(&kept).iter().filter(|kind| **kind == "tool.started").count();
        assert!(calls.lock().unwrap().len() <= started, "after {writes} writes");
        store.let_through();
        writes += 1;
        assert!(writes < 50, "the run does not end");
    }
    assert_eq!(calls.lock().unwrap().len(), 2);
    assert!(writes > 4, "{writes}");
}

// proves: L5, S2
#[test]
fn an_older_owner_writes_nothing_any_more() {
    let store = MemoryStore::new();
    let calls = Calls::default();
    let old = Process::new(store.clone(), &calls, [Attempt::new().call("act", "{}"), "late".into()]);
    let session = old.session();
    let new = Process::new(store.clone(), &calls, ["new".into()]);
    let taken = new.session();
    let (_run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
    let outcome = block_on(driver);
    let RunResult::Failed(error) = &outcome.result else { panic!("{:?}", outcome.result) };
    assert!(matches!(&**error, RunError::Observer { message, .. } if message.contains("claim 1")), "{error}");
    assert!(outcome.durability.is_some());
    assert!(calls.lock().unwrap().is_empty() && runs(&store).is_empty(), "nothing was done and nothing kept");
    assert!(matches!(block_on(old.keeper.save(&session)), Err(StoreError::Fenced { .. })));

    let (_run, driver) = taken.start_with("go", RunOptions::new().unattended()).unwrap();
    assert_eq!(block_on(driver).durability, None);
    block_on(new.keeper.save(&taken)).unwrap();
    assert!(matches!(block_on(old.keeper.save(&session)), Err(StoreError::Fenced { .. })));
}

// proves: L5
#[test]
fn sessions_of_others_are_not_kept_silently() {
    let store = MemoryStore::new();
    let process = Process::new(store.clone(), &Calls::default(), ["x".into()]);
    let other = process.engine.session().unwrap();
    assert!(matches!(other.start("go"), Err(StartError::NotKept)));
    let host = Host::shared().model(ModelSpec::new("m"), ScriptedModel::new(["x".into()])).build().unwrap();
    let engine = Engine::new(host, ManualTimer::new());
    let refused = block_on(Keeper::new(store.clone()).open(&engine, &id()));
    assert!(matches!(refused, Err(OpenError::OtherHost)));
    let refused = block_on(Keeper::new(store).open(&process.engine, &id()));
    assert!(matches!(refused, Err(OpenError::OtherHost)));
}

/// The run and its session are saved by one write, and its next part has a journal of its own.
// proves: H6, H7, S3
#[test]
fn a_run_that_is_put_aside_goes_on_in_another_process() {
    let store = MemoryStore::new();
    let calls = Calls::default();
    let host = |keeper: &Keeper<MemoryStore>, script: Vec<Attempt>| {
        let asked = spec("asked").approval(ApprovalPolicy::Ask);
        let host = Host::shared().model(ModelSpec::new("m"), ScriptedModel::new(script));
        let tool = runloom::tool_fn(asked, |_, _| async { Ok(runloom::ToolOutput::text("ok")) });
        Engine::new(host.tool(tool).keeper(keeper.clone()).build().unwrap(), ManualTimer::new())
    };
    let keeper = Keeper::new(store.clone());
    let engine = host(&keeper, vec![Attempt::new().call("asked", "{}")]);
    let session = block_on(async { keeper.open(&engine, &id()).await.unwrap().or_close().await.unwrap() });
    let options = RunOptions::new().unattended().suspend_when_waiting();
    let (run, driver) = session.start_with("go", options).unwrap();
    let first = block_on(driver).last_seq;
    block_on(keeper.save(&session)).unwrap();
    assert!(block_on(store.journals(&id())).unwrap().is_empty());

    let keeper = Keeper::new(store.clone());
    let engine = host(&keeper, vec!["done".into()]);
    let session = block_on(async { keeper.open(&engine, &id()).await.unwrap().or_close().await.unwrap() });
    let value = session.suspended().unwrap();
    let (resumed, driver) = session.resume_with(value, RunOptions::new().unattended()).unwrap();
    assert_eq!(resumed.id(), run.id());
    let mut driver = Task::new(driver);
    driver.run();
    let journals = block_on(store.journals(&id())).unwrap();
    assert_eq!(journals.iter().map(|journal| journal.id.part).collect::<Vec<_>>(), [first]);
    resumed.respond(&resumed.requests()[0].id, HostAnswer::allow()).unwrap();
    assert!(driver.run());
    let kept = events(&store, run.id());
    let kinds = kinds(&kept);
    assert!(kept.iter().zip(1..).all(|(event, seq)| event["seq"] == seq));
    assert_eq!(kinds.iter().filter(|kind| is_terminal(kind)).count(), 1);
    assert_eq!(kinds.iter().filter(|kind| **kind == "run.started").count(), 1);
    drop(calls);
}

/// What a dropped run has recorded at its end is kept with the next write.
// proves: L5, C8
#[test]
fn the_end_of_a_dropped_run_is_kept_later() {
    for saves in [true, false] {
        let store = MemoryStore::new();
        let process = Process::new(store.clone(), &Calls::default(), [Attempt::new().hang(), "next".into()]);
        let session = process.session();
        let (run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
        let id = run.id().clone();
        let mut driver = Task::new(driver);
        driver.run();
        drop((run, driver));
        assert!(!kinds(&events(&store, &id)).contains(&"run.cancelled"));
        if saves {
            block_on(process.keeper.save(&session)).unwrap();
        } else {
            let (_run, driver) = session.start_with("next", RunOptions::new().unattended()).unwrap();
            block_on(driver);
        }
        assert_eq!(kinds(&events(&store, &id)).last(), Some(&"run.cancelled"));
    }
}

// proves: H7, X1
#[test]
fn futures_move_between_threads_and_hosts_on_one_thread_have_keepers_too() {
    fn moves(future: impl Future + Send) {
        drop(future);
    }
    let scratch = Scratch::new("moves");
    let store = block_on(SqliteStore::open(scratch.file("store.db"))).unwrap();
    let process = Process::new(store, &Calls::default(), ["x".into()]);
    let session = id();
    moves(process.keeper.open(&process.engine, &session));
    let kept = process.session();
    moves(process.keeper.save(&kept));
    moves(process.keeper.delete(&session));

    let store = MemoryStore::new();
    let keeper = Keeper::new(store.clone());
    let script = ScriptedModel::new([Attempt::new().call("act", "{}"), "done".into()]);
    let tool = local_tool_fn(spec("act"), |_, _| async { Ok(runloom::ToolOutput::text("acted")) });
    let host = Host::local().model(ModelSpec::new("m"), script).tool(tool).keeper(keeper.clone());
    let engine = Engine::new(host.build().unwrap(), ManualTimer::new());
    block_on(async {
        let session = keeper.open(&engine, &id()).await.unwrap().or_close().await.unwrap();
        let (run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
        let outcome = driver.await;
        assert_eq!(outcome.durability, None);
        assert_eq!(events(&store, run.id()).len() as u64, outcome.last_seq.0);
        keeper.save(&session).await.unwrap();
    });
}
