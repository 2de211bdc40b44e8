//! Processes that end between any two writes, or after a write whose answer never came (H7).

use crate::stage::{Calls, Process, events, id, is_terminal, kinds, runs};
use futures_lite::future::block_on;
use runloom::store::{MemoryStore, Opened, Owner, Record, SessionStore, StoreError};
use runloom::testing::Attempt;
use runloom::{Config, Problem, ProblemKind, Revision, RunId, RunOptions, RunResult, Seq, Snapshot, Time};
use runloom_tests::bare::Task;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Where the process ends: after so many writes, the last of them done or not; its answer never comes.
#[derive(Clone)]
struct Cut {
    inner: MemoryStore,
    writes: Arc<AtomicUsize>,
    at: usize,
    done: bool,
}

impl Cut {
    async fn write<T>(&self, write: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        let n = self.writes.fetch_add(1, Ordering::SeqCst);
        if n < self.at {
            return write.await;
        }
        if n == self.at && self.done {
            drop(write.await);
        }
        std::future::pending().await
    }
}

impl SessionStore for Cut {
    runloom_tests::pass_on!(reading claim load);

    async fn save(&self, owner: &Owner, new: &Snapshot, old: Option<Revision>) -> Result<(), StoreError> {
        self.write(self.inner.save(owner, new, old)).await
    }
    async fn delete(&self, owner: &Owner) -> Result<(), StoreError> {
        self.write(self.inner.delete(owner)).await
    }
    async fn record(&self, owner: &Owner, record: &Record) -> Result<(), StoreError> {
        self.write(self.inner.record(owner, record)).await
    }
    async fn retire(&self, owner: &Owner, run: &RunId, before: Seq) -> Result<(), StoreError> {
        self.write(self.inner.retire(owner, run, before)).await
    }
}

fn script() -> [Attempt; 3] {
    [
        Attempt::new().text("First.").call("act", "{\"n\":1}").call("act", "{\"n\":2}"),
        Attempt::new().text("Then.").call("act", "{\"n\":3}"),
        "Done.".into(),
    ]
}

/// Runs a process until it ends at the cut; whether it was the run that ended. Whatever it was doing is forgotten, as with
/// the memory of a process.
fn crash(cut: &Cut, calls: &Calls) -> bool {
    let process = Process::new(cut.clone(), calls, script()).at(Time::from_secs(100));
    let session = process.session();
    let (run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
    let mut driver = Task::new(driver);
    let ended = driver.run();
    if ended {
        let mut saving = Task::new(Box::pin(async move { process.keeper.save(&session).await }));
        saving.run();
        std::mem::forget(saving);
    }
    std::mem::forget((run, driver));
    ended
}

/// Every event once and in order, one terminal, and each tool at most once.
#[track_caller]
fn check(store: &MemoryStore, calls: &Calls, what: &str) {
    for run in runs(store) {
        let kept = events(store, &run);
        assert!(kept.iter().zip(1..).all(|(event, seq)| event["seq"] == seq), "{what}: {:?}", kinds(&kept));
        let times: Vec<_> = kept.iter().map(|event| event["at"].as_u64().unwrap()).collect();
        assert!(times.is_sorted(), "{what}: {times:?}");
        let kinds = kinds(&kept);
        assert_eq!(kinds.iter().filter(|kind| is_terminal(kind)).count(), 1, "{what}: {kinds:?}");
        assert!(kinds.last().is_some_and(|kind| is_terminal(kind)), "{what}: {kinds:?}");
        for (opens, closes) in [("tool.proposed", "tool.finished"), ("step.started", "step.")] {
            let opened = kinds.iter().filter(|kind| **kind == opens).count();
            let closed = kinds.iter().filter(|kind| kind.starts_with(closes) && **kind != opens).count();
            assert_eq!(opened, closed, "{what}: {kinds:?}");
        }
    }
    let mut made = calls.lock().unwrap().clone();
    let all = made.len();
    made.sort();
    made.dedup();
    assert_eq!(made.len(), all, "{what}: a tool ran twice: {made:?}");
}

/// At every write of the run and of saving it: the process ends before it, or after it and before its answer. The next
/// process goes on with the run, or closes it.
// proves: H7, L5, S3, W7
#[test]
fn wherever_a_process_ends_the_next_one_has_what_was_answered() {
    let (mut orphans, mut finished, mut going, mut at) = (0, 0, true, 0);
    while going {
        for (done, goes_on) in [(false, false), (false, true), (true, false), (true, true)] {
            let what = format!("write {at}, done {done}, goes on {goes_on}");
            let store = MemoryStore::new();
            let calls = Calls::default();
            let cut = Cut { inner: store.clone(), writes: Arc::default(), at, done };
            let ended = crash(&cut, &calls);
            going = cut.writes.load(Ordering::SeqCst) > at;

            let before: Vec<_> = runs(&store).iter().map(|run| events(&store, run)).collect();
            let next = Process::new(store.clone(), &calls, script()).at(Time::from_secs(3));
            let session = match next.open() {
                Opened::Session(session) => {
                    finished += 1;
                    session
                }
                Opened::Orphan(orphan) if goes_on => {
                    assert!(!ended, "{what}");
                    orphans += 1;
                    let resumed = orphan.go_on(RunOptions::new().unattended()).unwrap();
                    let outcome = block_on(resumed.driver);
                    assert_eq!(outcome.durability, None, "{what}");
                    assert!(
                        matches!(outcome.result, RunResult::Completed(_)),
                        "{what}: {:?}",
                        outcome.result
                    );
                    block_on(next.keeper.save(&resumed.session)).unwrap();
                    resumed.session
                }
                Opened::Orphan(orphan) => {
                    orphans += 1;
                    block_on(orphan.close()).unwrap()
                }
            };
            check(&store, &calls, &what);
            for (run, before) in runs(&store).iter().zip(before) {
                assert_eq!(events(&store, run)[..before.len()], before, "{what}: what was kept stays");
            }
            // Before the first write nothing of the run was promised to anyone.
            let expected = if runs(&store).is_empty() { 0 } else { 1 };
            assert_eq!(session.revision(), Revision(expected), "{what}");
            assert_eq!(session.history().open_calls(), 0);
            let saved = block_on(store.load(&id())).unwrap().map(|snapshot| snapshot.to_json());
            let own = session.snapshot().with_runs(0).to_json();
            let saved = saved.map(|json| Snapshot::from_json(&json).unwrap().with_runs(0).to_json());
            assert!(expected == 0 || saved.as_ref() == Some(&own), "{what}: {saved:?}\n{own}");
            assert!(block_on(store.journals(&id())).unwrap().is_empty(), "{what}");
        }
        at += 1;
    }
    assert!(at > 10 && orphans > 30 && finished > 6, "{at} writes, {orphans} orphans, {finished} finished");
}

/// A tool that was entered is never run again; the model is told that its outcome is not known.
// proves: H7, E7, R6
#[test]
fn a_tool_that_may_have_run_has_an_unknown_outcome() {
    let store = MemoryStore::new();
    let calls = Calls::default();
    let first = Process::new(store.clone(), &calls, [Attempt::new().call("hang", "{}").call("act", "{}")]);
    let session = first.session();
    let (run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
    let mut driver = Task::new(driver);
    assert!(!driver.run());
    std::mem::forget((run, driver));

    let next = Process::new(store.clone(), &calls, ["Understood.".into()]);
    let Opened::Orphan(orphan) = next.open() else { panic!("it was under way") };
    let run = orphan.run_id().clone();
    let resumed = orphan.go_on(RunOptions::new().unattended()).unwrap();
    let outcome = block_on(resumed.driver);
    assert!(matches!(outcome.result, RunResult::Completed(_)), "{:?}", outcome.result);
    let kept = events(&store, &run);
    let statuses: Vec<_> = kept
        .iter()
        .filter(|event| event["kind"] == "tool.finished")
        .map(|event| event["payload"]["status"].as_str().unwrap())
        .collect();
    assert!(statuses.contains(&"interrupted(outcome_unknown)"), "{statuses:?}");
    assert!(kinds(&kept).contains(&"run.recovered"));
    assert_eq!(calls.lock().unwrap().len(), 1, "the other one ran once");
    check(&store, &calls, "after the crash");
}

/// The run's clock stands still while nobody carries it, and goes on from there by another engine's clock.
// proves: H7, R2
#[test]
fn a_wait_goes_on_with_what_is_left_of_it() {
    let store = MemoryStore::new();
    let calls = Calls::default();
    let fails = || Attempt::new().fail(Problem::new(ProblemKind::Overloaded, "busy"));
    let first = Process::new(store.clone(), &calls, [fails()]).at(Time::from_secs(1_000));
    let session = first.session();
    let (run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
    let mut driver = Task::new(driver);
    assert!(!driver.run());
    std::mem::forget((run, driver));

    let next = Process::configured(store.clone(), &calls, ["Here.".into()], Config::default());
    next.timer.set(Time::from_secs(7));
    let Opened::Orphan(orphan) = next.open() else { panic!("it was under way") };
    let run = orphan.run_id().clone();
    let resumed = orphan.go_on(RunOptions::new().unattended()).unwrap();
    let mut driver = Task::new(resumed.driver);
    assert!(!driver.run(), "one second is to pass");
    next.timer.advance(Duration::from_millis(999));
    assert!(!driver.run());
    next.timer.advance(Duration::from_millis(1));
    assert!(driver.run());
    let times: Vec<_> = events(&store, &run).iter().map(|event| event["at"].as_u64().unwrap()).collect();
    assert_eq!(times.last(), Some(&1_001_000_000));
    check(&store, &calls, "after the crash");
}

/// The second process crashes too, and the third one: there is one journal, which grows.
// proves: H7, W7
#[test]
fn a_run_is_recovered_again_and_again() {
    let store = MemoryStore::new();
    let calls = Calls::default();
    let mut last = None;
    for round in 0..6 {
        let cut = Cut { inner: store.clone(), writes: Arc::default(), at: 3, done: round % 2 == 0 };
        let process = Process::new(cut.clone(), &calls, script());
        match process.open() {
            Opened::Session(session) if round == 0 => {
                let (run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
                let mut driver = Task::new(driver);
                assert!(!driver.run());
                std::mem::forget((run, driver));
            }
            Opened::Session(session) => {
                last = Some(session);
                break;
            }
            Opened::Orphan(orphan) => {
                let resumed = orphan.go_on(RunOptions::new().unattended()).unwrap();
                let mut driver = Task::new(resumed.driver);
                driver.run();
                std::mem::forget((resumed.run, driver));
            }
        }
    }
    let session = match last {
        Some(session) => session,
        None => {
            let process = Process::new(store.clone(), &calls, script());
            block_on(async { process.open().or_close().await.unwrap() })
        }
    };
    assert_eq!(session.revision(), Revision(1));
    check(&store, &calls, "at last");
    let kept = events(&store, &runs(&store)[0]);
    assert!(kinds(&kept).iter().filter(|kind| **kind == "run.recovered").count() >= 2, "{:?}", kinds(&kept));
}
