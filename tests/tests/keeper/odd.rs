//! Orders and sizes that are rare: refused starts, claims within one process, answers that are lost, long ids, long histories.

use crate::stage::{Calls, Process, events, id, is_terminal, kinds, runs, spec};
use futures_lite::future::{block_on, poll_once, yield_now};
use runloom::store::{
    JournalId, JournalSummary, Keeper, Line, MemoryStore, OpenError, Opened, Owner, Page, Record, RunSummary,
    SessionStore, SqliteStore, StoreError,
};
use runloom::testing::{Attempt, ScriptedModel};
use runloom::{
    ApprovalPolicy, Engine, Host, ManualTimer, Message, MessageId, ModelSpec, Part, Revision, Role, RunId,
    RunOptions, RunResult, Seq, SessionId, Snapshot, StartError, boundary_inputs,
};
use runloom_core::message::MessageBounds;
use runloom_tests::bare::Task;
use runloom_tests::scratch::Scratch;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

/// A start that is refused leaves nothing that the next process would take for a run.
// proves: H7, S3
#[test]
fn a_start_that_is_refused_is_in_no_record() {
    let store = MemoryStore::new();
    let process = Process::new(store.clone(), &Calls::default(), ["one".into()]);
    let session = process.session();
    let (_run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
    block_on(driver);
    let refused = session.start_with("x".repeat(300 << 10).as_str(), RunOptions::new().unattended());
    assert!(matches!(refused, Err(StartError::Invalid(_))));
    block_on(process.keeper.save(&session)).unwrap();
    assert_eq!(runs(&store).len(), 1);
    assert!(block_on(store.journals(&id())).unwrap().is_empty());

    let next = Process::new(store, &Calls::default(), []);
    assert_eq!(next.session().history(), session.history());
}

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
    async fn claim(&self, session: &SessionId) -> Result<Owner, StoreError> {
        self.inner.claim(session).await
    }
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
    async fn sessions(&self, after: Option<&SessionId>, limit: usize) -> Result<Vec<SessionId>, StoreError> {
        self.inner.sessions(after, limit).await
    }
    async fn delete(&self, owner: &Owner) -> Result<(), StoreError> {
        self.inner.delete(owner).await
    }
    async fn record(&self, owner: &Owner, record: &Record) -> Result<(), StoreError> {
        yield_now().await;
        self.inner.record(owner, record).await?;
        yield_now().await;
        Ok(())
    }
    async fn runs(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<RunSummary>, StoreError> {
        self.inner.runs(session, after, limit).await
    }
    async fn events(
        &self,
        session: &SessionId,
        run: &RunId,
        after: Seq,
        page: Page,
    ) -> Result<Vec<Line>, StoreError> {
        self.inner.events(session, run, after, page).await
    }
    async fn journals(&self, session: &SessionId) -> Result<Vec<JournalSummary>, StoreError> {
        self.inner.journals(session).await
    }
    async fn journal(&self, name: &JournalId, after: u64, page: Page) -> Result<Vec<Line>, StoreError> {
        self.inner.journal(name, after, page).await
    }
    async fn retire(&self, owner: &Owner, run: &RunId, before: Seq) -> Result<(), StoreError> {
        self.inner.retire(owner, run, before).await
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

/// Ids of runs hold their session's, which may be as long as an id can be.
// proves: M1, H7
// bounds: id; n−1,n
#[test]
fn sessions_with_long_ids_have_runs() {
    let alike = |len: usize, end: &str| SessionId::new("s".repeat(len) + end).unwrap();
    let ids = [237, 244, 247, 255].map(|len| alike(len, "a")).into_iter().chain([
        alike(255, "b"),
        SessionId::new("ü".repeat(128)).unwrap(),
        SessionId::new("\"".repeat(128)).unwrap(),
    ]);
    let mut seen = std::collections::BTreeSet::new();
    for id in ids {
        let store = MemoryStore::new();
        let process = Process::new(store.clone(), &Calls::default(), ["one".into(), "two".into()]);
        let session = block_on(async {
            process.keeper.open(&process.engine, &id).await.unwrap().or_close().await.unwrap()
        });
        for _ in 0..2 {
            let (run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
            let outcome = block_on(driver);
            assert!(matches!(outcome.result, RunResult::Completed(_)), "{id}: {:?}", outcome.result);
            assert!(seen.insert(run.id().clone()), "{id}: {}", run.id());
        }
        let messages: std::collections::BTreeSet<_> =
            session.history().iter().map(|message| message.id().clone()).collect();
        assert_eq!(messages.len(), 4, "{id}: {messages:?}");
        block_on(process.keeper.save(&session)).unwrap();
        let next = Process::new(store, &Calls::default(), []);
        let opened = block_on(async { next.keeper.open(&next.engine, &id).await.unwrap().or_close().await });
        assert_eq!(opened.unwrap().history(), session.history());
    }
}

/// Whatever a session may hold comes back from its store.
// proves: S3, H7
#[test]
fn a_long_history_that_was_saved_is_opened_again() {
    let store = MemoryStore::new();
    let process = Process::new(store.clone(), &Calls::default(), [Attempt::new().hang()]);
    let session = process.session();
    let text = "x".repeat(1 << 20);
    let bounds = MessageBounds { text: 2 << 20, image: 0, parts: 1 };
    let said = (0..66).map(|n| {
        let id = MessageId::new(format!("m{n}")).unwrap();
        let role = if n % 2 == 0 { Role::User } else { Role::Assistant };
        Message::new(id, role, vec![Part::Text(text.as_str().into())], &bounds).unwrap()
    });
    session.append(said).unwrap();
    block_on(process.keeper.save(&session)).unwrap();
    let next = Process::new(store.clone(), &Calls::default(), [Attempt::new().hang()]);
    let again = next.session();
    assert_eq!(again.history(), session.history());

    let (run, driver) = again.start_with("go", RunOptions::new().unattended()).unwrap();
    let mut driver = Task::new(driver);
    driver.run();
    std::mem::forget((run, driver));
    let last = Process::new(store, &Calls::default(), []);
    assert!(matches!(last.open(), Opened::Orphan(_)), "its journal begins with all of that");
}

/// A run that has a source of boundary inputs does not wait for ever for one that nobody has set.
// proves: H7, B6
#[test]
fn a_run_that_is_recovered_asks_a_source_or_ends() {
    for sets in [false, true] {
        let store = MemoryStore::new();
        let first = Process::new(store.clone(), &Calls::default(), [Attempt::new().hang()]);
        let session = first.session();
        let (source, mut questions) = boundary_inputs();
        session.set_boundary_inputs(source).unwrap();
        let (run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
        let mut driver = Task::new(driver);
        driver.run();
        assert!(block_on(questions.try_next().unwrap().respond("a notice")).unwrap());
        driver.run();
        std::mem::forget((run, driver, questions));

        let next = Process::new(store.clone(), &Calls::default(), ["done".into()]);
        let Opened::Orphan(orphan) = next.open() else { panic!("it was under way") };
        let (source, mut questions) = boundary_inputs();
        let orphan = if sets { orphan.boundary_inputs(source) } else { *orphan };
        let resumed = orphan.go_on(RunOptions::new().unattended()).unwrap();
        let mut driver = Task::new(resumed.driver);
        let mut ended = false;
        for _ in 0..10 {
            ended |= driver.run();
            while let Some(question) = questions.try_next() {
                let _ = block_on(question.nothing());
            }
        }
        assert!(ended, "it hangs; sets: {sets}");
        let outcome = block_on(resumed.run.outcome());
        assert_eq!(matches!(outcome.result, RunResult::Completed(_)), sets, "{:?}", outcome.result);
    }
}

/// What was put aside stays with the session whatever came of a later run that has committed nothing.
// proves: H6, H7
#[test]
fn a_value_outlives_a_later_run_as_it_does_in_memory() {
    let host = |keeper: &Keeper<MemoryStore>, script: Vec<Attempt>| {
        let asked = spec("asked").approval(ApprovalPolicy::Ask);
        let host = Host::shared().model(ModelSpec::new("m"), ScriptedModel::new(script));
        let tool = runloom::tool_fn(asked, |_, _| async { Ok(runloom::ToolOutput::text("ok")) });
        Engine::new(host.tool(tool).keeper(keeper.clone()).build().unwrap(), ManualTimer::new())
    };
    let mut seen = Vec::new();
    for crashes in [false, true] {
        let store = MemoryStore::new();
        let keeper = Keeper::new(store.clone());
        let engine = host(&keeper, vec![Attempt::new().call("asked", "{}"), Attempt::new().hang()]);
        let session =
            block_on(async { keeper.open(&engine, &id()).await.unwrap().or_close().await.unwrap() });
        let options = RunOptions::new().unattended().suspend_when_waiting();
        let (_run, driver) = session.start_with("go", options).unwrap();
        block_on(driver);
        block_on(keeper.save(&session)).unwrap();
        let (run, driver) = session.start_with("another", RunOptions::new().unattended()).unwrap();
        let mut driver = Task::new(driver);
        driver.run();
        if crashes {
            std::mem::forget((run, driver));
            let keeper = Keeper::new(store.clone());
            let engine = host(&keeper, vec![]);
            let session =
                block_on(async { keeper.open(&engine, &id()).await.unwrap().or_close().await.unwrap() });
            seen.push((session.revision(), session.suspended().is_some()));
        } else {
            drop((run, driver));
            seen.push((session.revision(), session.suspended().is_some()));
        }
    }
    println!("{seen:?}");
    assert!(seen[0] == seen[1] || seen[0].0 != seen[1].0, "{seen:?}");
}

/// Processes that come at the same time to a file that is not there yet all open it.
// proves: H7
#[test]
fn a_new_file_may_be_opened_by_many_at_once() {
    const MANY: usize = 6;
    for round in 0..10 {
        let scratch = Scratch::new("many-at-once");
        let file = scratch.file("store.db");
        let barrier = Arc::new(Barrier::new(MANY));
        let threads: Vec<_> = (0..MANY)
            .map(|n| {
                let (file, barrier) = (file.clone(), Arc::clone(&barrier));
                std::thread::spawn(move || {
                    barrier.wait();
                    let mut claims = Vec::new();
                    for _ in 0..2 {
                        let store = block_on(SqliteStore::open(&file)).map_err(|e| format!("open: {e:?}"))?;
                        let claimed = block_on(store.claim(&SessionId::new(format!("s{n}")).unwrap()));
                        claims.push(claimed.map_err(|e| format!("claim: {e:?}"))?.epoch.0);
                        block_on(store.close());
                    }
                    Ok::<_, String>(claims)
                })
            })
            .collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), Ok(vec![1, 2]), "round {round}");
        }
    }
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

/// A journal that does not replay can be given up, and the session goes on from what was before.
// proves: H7
#[test]
fn a_journal_that_does_not_replay_can_be_given_up() {
    let store = MemoryStore::new();
    let process = Process::new(store.clone(), &Calls::default(), ["one".into()]);
    let session = process.session();
    let (_run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
    block_on(driver);
    let owner = block_on(store.claim(&id())).unwrap();
    let broken = RunId::new("broken").unwrap();
    let mut record = Record::new(broken.clone());
    record.journal.push(Line { number: 1, text: "{}".into() });
    block_on(store.record(&owner, &record)).unwrap();

    let next = Process::new(store.clone(), &Calls::default(), []);
    let refused = block_on(next.keeper.open(&next.engine, &id()));
    assert!(matches!(refused, Err(OpenError::Journal(_))), "{refused:?}");
    let owner = next.keeper.owner(&id()).unwrap();
    block_on(store.retire(&owner, &broken, Seq(u64::MAX))).unwrap();
    assert_eq!(next.session().history(), session.history());
}

/// What a snapshot had beside the known members is kept, and falls away with what it belonged to.
// proves: S3
#[test]
fn additions_fall_away_with_their_member() {
    let last = runloom_core::snapshot::LastRun { id: RunId::new("r").unwrap(), seq: Seq(3) };
    let snapshot = Snapshot::new(id(), Revision(0), runloom::History::default()).with_last_run(Some(last));
    let json = snapshot.to_json().replace("\"seq\":3", "\"seq\":3,\"speed\":[1,{\"a\":null}]");
    let json = json.replace("\"metadata\":{}", "\"metadata\":{},\"more\":{\"b\":[]}");
    let read = Snapshot::from_json(&json).unwrap();
    assert_eq!(read.to_json(), json);
    let without = read.with_last_run(None).to_json();
    let again = Snapshot::from_json(&without).unwrap();
    assert!(
        again.last_run().is_none() && again.to_json() == without && without.contains("more"),
        "{without}"
    );
}

/// The same line twice, a number that is none, and an end that lies far away.
// proves: H7, L7
#[test]
fn hostile_journals_are_errors() {
    use runloom_core::journal::{JournalBounds, recover, replay};
    let store = MemoryStore::new();
    let process = Process::new(store.clone(), &Calls::default(), ["one".into()]);
    let session = process.session();
    let (run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
    block_on(driver);
    let name = JournalId { session: id(), run: run.id().clone(), part: Seq(0) };
    let lines = block_on(store.journal(&name, 0, Page { lines: 100_000, bytes: u64::MAX })).unwrap();
    let lines: Vec<String> = lines.into_iter().map(|line| format!("{}\n", line.text)).collect();
    let bounds = JournalBounds::default();
    let whole = lines.concat();
    assert!(replay(whole.as_bytes(), &bounds).is_ok());
    let (most, span) = (u64::MAX, "18446744073709551615.999999999");
    let far = whole.replace("\"attempt\":300000000", &format!("\"attempt\":\"{span}\""));
    for text in [
        format!("\u{feff}{whole}"),
        whole.replace('\n', "\r\n"),
        format!("{whole}\n"),
        format!("{whole}{}", lines[0]),
        format!("{whole}{}", lines[1]),
        format!("{}{}{}", lines[0], lines[0], lines[1]),
        whole.replace("\"at\":0", &format!("\"at\":{most}")),
        whole.replace("\"at\":0,\"input\"", "\"at\":9007199254740992,\"input\""),
        String::new(),
        "\n".into(),
        "\0\0\0\n".into(),
    ] {
        assert!(recover(text.as_bytes(), &bounds).is_err() && replay(text.as_bytes(), &bounds).is_err());
    }
    for text in [
        far,
        whole.replace("\"at\":0,", "\"at\":9007199254740991,"),
        format!("{whole}\0\0\0\0"),
        format!("{whole}{{\"at\":0,\"kind\":\"run.started\""),
    ] {
        drop((recover(text.as_bytes(), &bounds), replay(text.as_bytes(), &bounds)));
    }
    let mut recovered = recover(lines[0].as_bytes(), &bounds).unwrap();
    assert!(recovered.close(&mut runloom_core::Outbox::new()).is_err());
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
