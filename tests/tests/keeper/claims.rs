//! Who has a session, within one process too: claims, answers that are lost, and runs that are dropped.

use crate::stage::{Calls, Process, events, id, is_terminal, kinds, runs, spec};
use futures_lite::future::{block_on, poll_once, yield_now};
use runloom::store::{
    Keeper, MemoryStore, Opened, Owner, Page, Record, SessionStore, SqliteStore, StoreError,
};
use runloom::testing::{Attempt, ScriptedModel};
use runloom::{
    ApprovalPolicy, Engine, Host, ManualTimer, ModelSpec, Revision, RunOptions, RunResult, Seq, SessionId,
    Snapshot, StartError,
};
use runloom_tests::bare::Task;
use runloom_tests::scratch::Scratch;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The end of a run that was dropped is kept when the same process opens the session again: nothing was lost.
// proves: L5, C8, W7
#[test]
fn a_process_that_opens_a_session_again_keeps_what_it_has_of_it() {
    let store = MemoryStore::new();
    let process = Process::new(store.clone(), &Calls::default(), [Attempt::new().hang()]);
    let session = process.session();
    let (run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
    let mut driver = Task::new(driver);
    driver.run();
    drop(driver);
    let outcome = block_on(run.outcome());
    let again = process.session();
    let kept = events(&store, run.id());
    assert_eq!(kept.len() as u64, outcome.last_seq.0);
    assert_eq!(kinds(&kept).iter().filter(|kind| is_terminal(kind)).count(), 1);
    assert_eq!((again.history(), again.revision()), (session.history(), session.revision()));
}

/// A session object that was opened before another claim writes nothing any more, also when both have one keeper.
// proves: L5, S2
#[test]
fn opening_again_ends_the_claim_of_an_older_object_of_the_same_process() {
    let store = MemoryStore::new();
    let script = ["one".into(), "two".into(), "three".into()];
    let process = Process::new(store.clone(), &Calls::default(), script);
    let (old, new) = (process.session(), process.session());
    let (_run, driver) = new.start_with("kept", RunOptions::new().unattended()).unwrap();
    block_on(driver);
    block_on(process.keeper.save(&new)).unwrap();

    let started = old.start_with("beside it", RunOptions::new().unattended());
    assert!(matches!(started, Err(StartError::NotKept)), "{:?}", started.map(|(run, _)| run));
    let saved = block_on(process.keeper.save(&old));
    assert!(matches!(saved, Err(StoreError::Fenced { .. })), "{saved:?}");
    let kept = block_on(store.load(&id())).unwrap().unwrap();
    assert_eq!((kept.revision(), kept.history().len()), (Revision(1), 2));

    let other = process.engine.restore(&kept).unwrap();
    assert!(matches!(other.start("go"), Err(StartError::NotKept)), "it was not opened");
    assert!(matches!(block_on(process.keeper.save(&other)), Err(StoreError::Fenced { .. })));
}

/// A store that keeps a snapshot and whose answer is lost, once; and whose first answer about a snapshot takes its time.
#[derive(Clone)]
struct Mute {
    inner: MemoryStore,
    saves: Arc<AtomicUsize>,
    loads: Arc<AtomicUsize>,
}

impl Mute {
    fn new() -> Self {
        Self { inner: MemoryStore::new(), saves: Arc::default(), loads: Arc::default() }
    }
}

impl SessionStore for Mute {
    runloom_tests::pass_on!(reading claim delete retire);

    async fn load(&self, session: &SessionId) -> Result<Option<Snapshot>, StoreError> {
        if self.loads.fetch_add(1, Ordering::Relaxed) == 0 {
            yield_now().await;
        }
        self.inner.load(session).await
    }
    async fn save(&self, owner: &Owner, new: &Snapshot, old: Option<Revision>) -> Result<(), StoreError> {
        self.inner.save(owner, new, old).await?;
        if self.saves.fetch_add(1, Ordering::Relaxed) == 0 {
            return Err(StoreError::Failed("the line is dead".into()));
        }
        Ok(())
    }
    async fn record(&self, owner: &Owner, record: &Record) -> Result<(), StoreError> {
        yield_now().await;
        self.inner.record(owner, record).await?;
        yield_now().await;
        Ok(())
    }
}

/// Whoever got no answer may go on, and save again.
// proves: S3
#[test]
fn a_save_whose_answer_was_lost_is_in_nobodys_way() {
    let store = Mute::new();
    let process = Process::new(store.clone(), &Calls::default(), ["one".into(), "two".into()]);
    let session = process.session();
    for n in 0..2 {
        let (_run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
        assert_eq!(block_on(driver).durability, None);
        assert_eq!(block_on(process.keeper.save(&session)).is_ok(), n > 0);
    }
    assert_eq!(block_on(store.load(&id())).unwrap().unwrap().revision(), Revision(2));
}

/// A future that is dropped is an answer that is lost, too.
// proves: S3
#[test]
fn a_save_that_was_dropped_is_in_nobodys_way() {
    let scratch = Scratch::new("dropped-save");
    let store = block_on(SqliteStore::open(scratch.file("store.db"))).unwrap();
    let process = Process::new(store.clone(), &Calls::default(), ["one".into(), "two".into()]);
    let session = process.session();
    for n in 0..2 {
        let (_run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
        assert_eq!(block_on(driver).durability, None);
        if n == 0 {
            block_on(async {
                let mut save = std::pin::pin!(process.keeper.save(&session));
                assert!(poll_once(&mut save).await.is_none(), "the rest of the journal");
                std::thread::sleep(std::time::Duration::from_millis(200));
                assert!(poll_once(&mut save).await.is_none(), "the snapshot");
            });
        } else {
            block_on(process.keeper.save(&session)).unwrap();
        }
    }
    assert_eq!(block_on(store.load(&id())).unwrap().unwrap().revision(), Revision(2));
}

/// A run that was under way when its session was forgotten brings nothing of it back.
// proves: L5, S3
#[test]
fn what_was_deleted_does_not_come_back() {
    for polled in [0, 1, 3] {
        let store = MemoryStore::new();
        let process = Process::new(store.clone(), &Calls::default(), ["one".into()]);
        let session = process.session();
        let (_run, mut driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
        for _ in 0..polled {
            let _ = block_on(poll_once(&mut driver));
        }
        block_on(process.keeper.delete(&id())).unwrap();
        block_on(driver);
        assert!(runs(&store).is_empty(), "after {polled} polls: {:?}", runs(&store));
        assert!(block_on(store.journals(&id())).unwrap().is_empty());
        assert!(matches!(session.start("go"), Err(StartError::NotKept)));
        assert_eq!(process.session().revision(), Revision(0));
    }
}

/// Of two that open a session at the same time, the one that claimed it last has it.
// proves: L5, S2
#[test]
fn of_two_that_open_at_once_the_later_claim_counts() {
    let process = Process::new(Mute::new(), &Calls::default(), ["one".into()]);
    let first_id = id();
    let mut first = Box::pin(process.keeper.open(&process.engine, &first_id));
    block_on(async { assert!(poll_once(&mut first).await.is_none(), "claimed, and not loaded") });
    let second = process.session();
    let Ok(Opened::Session(first)) = block_on(first) else { panic!("it rests") };
    assert_eq!(process.keeper.owner(&id()).unwrap().epoch.0, 2);
    assert!(matches!(first.start("go"), Err(StartError::NotKept)));
    let (_run, driver) = second.start_with("go", RunOptions::new().unattended()).unwrap();
    assert_eq!(block_on(driver).durability, None);
}

/// Wherever a run is dropped, what its readers saw is what the store has when the session is opened again, by the same
/// process or, once it was saved, by the next one.
// proves: L5, C8, W7
#[test]
fn wherever_a_run_is_dropped_the_store_has_what_readers_saw() {
    for (polls, saves) in (0..40).flat_map(|polls| [(polls, false), (polls, true)]) {
        let store = Mute::new();
        store.saves.store(1, Ordering::Relaxed);
        let calls = Calls::default();
        let script = [Attempt::new().text("hm").call("act", "{}").call("act", "{}"), "done".into()];
        let process = Process::new(store.clone(), &calls, script);
        let session = process.session();
        let (run, mut driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
        let ended = (0..polls).any(|_| block_on(poll_once(&mut driver)).is_some());
        drop(driver);
        let seen: Vec<String> =
            run.handle().events_after(Seq(0), 1_000).iter().map(|event| event.to_json(run.id())).collect();
        let next = Process::new(store.clone(), &calls, []);
        let again = if saves {
            block_on(process.keeper.save(&session)).unwrap();
            next.session()
        } else {
            process.session()
        };
        let page = Page { lines: 1_000, bytes: u64::MAX };
        let kept = block_on(store.events(&id(), run.id(), Seq(0), page)).unwrap();
        let kept: Vec<String> = kept.iter().map(|line| line.text.to_string()).collect();
        assert_eq!(kept, seen, "after {polls} polls; saved: {saves}");
        assert_eq!((again.history(), again.revision()), (session.history(), session.revision()));
        assert_eq!(again.snapshot().lifecycle(), session.snapshot().lifecycle(), "after {polls} polls");
        assert!(ended || polls < 39, "there are enough polls");
    }
}

/// A run that was put aside and is cancelled ends in the store as it has ended here.
// proves: H6, C4, W7
#[test]
fn a_value_that_is_cancelled_is_over_in_the_store() {
    for saves in [false, true] {
        let store = MemoryStore::new();
        let keeper = Keeper::new(store.clone());
        let asked = spec("asked").approval(ApprovalPolicy::Ask);
        let tool = runloom::tool_fn(asked, |_, _| async { Ok(runloom::ToolOutput::text("ok")) });
        let script = ScriptedModel::new([Attempt::new().call("asked", "{}")]);
        let host = Host::shared().model(ModelSpec::new("m"), script).tool(tool).keeper(keeper.clone());
        let engine = Engine::new(host.build().unwrap(), ManualTimer::new());
        let open = || block_on(async { keeper.open(&engine, &id()).await.unwrap() });
        let Opened::Session(session) = open() else { panic!("it is new") };
        let options = RunOptions::new().unattended().suspend_when_waiting();
        let (_run, driver) = session.start_with("go", options).unwrap();
        block_on(driver);
        if saves {
            block_on(keeper.save(&session)).unwrap();
        }
        let Opened::Session(session) = open() else { panic!("it was put aside") };
        let run = session.cancel_suspended(session.suspended().unwrap()).unwrap();
        assert!(matches!(block_on(run.outcome()).result, RunResult::Cancelled(_)));
        let Opened::Session(again) = open() else { panic!("it is over") };
        assert!(again.suspended().is_none());
        assert_eq!((again.history(), again.revision()), (session.history(), session.revision()));
        let kept = events(&store, run.id());
        assert!(kept.iter().zip(1..).all(|(event, seq)| event["seq"] == seq));
        assert_eq!(kinds(&kept).iter().filter(|kind| is_terminal(kind)).count(), 1);
    }
}
