//! The store in a file: what every store does, and what only files can have.

use futures_lite::future::{block_on, zip};
use runloom::store::sqlite::{SqliteOptions, VERSION};
use runloom::store::{Line, Page, Record, SessionStore, SqliteStore, StoreError};
use runloom::testing::store::{StoreFault, check};
use runloom::{History, Revision, RunId, Seq, SessionId, Snapshot};
use runloom_tests::scratch::Scratch;
use rusqlite::Connection;
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

fn session(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

fn event(number: u64) -> Record {
    let mut record = Record::new(RunId::new("r").unwrap());
    record.events.push(Line { number, text: format!("{{\"seq\":{number}}}").into() });
    record
}

fn open(path: &Path) -> SqliteStore {
    block_on(SqliteStore::open(path)).unwrap()
}

// proves: S3, L5
#[test]
fn it_keeps_what_is_promised() {
    let scratch = Scratch::new("sqlite");
    let path = scratch.file("store.db");
    let report = block_on(check(async || SqliteStore::open(&path).await.unwrap()));
    assert_eq!(report.faults, Vec::<StoreFault>::new());
}

/// Calls beyond the queue's bound wait for a place, and none is lost.
#[test]
fn a_queue_of_one_is_enough() {
    let scratch = Scratch::new("queue");
    let mut options = SqliteOptions::default();
    options.queue = 1;
    let path = scratch.file("store.db");
    let report = block_on(check(async || SqliteStore::open_with(&path, options).await.unwrap()));
    assert_eq!(report.faults, Vec::<StoreFault>::new());
}

// proves: S3
#[test]
fn what_was_written_is_there_when_the_file_is_opened_again() {
    let scratch = Scratch::new("again");
    let path = scratch.file("store.db");
    let id = session("s");
    let owner = block_on(async {
        let store = SqliteStore::open(&path).await.unwrap();
        let owner = store.claim(&id).await.unwrap();
        let snapshot = Snapshot::new(id.clone(), Revision(3), History::default());
        store.save(&owner, &snapshot, None).await.unwrap();
        store.record(&owner, &event(1)).await.unwrap();
        zip(store.close(), store.close()).await;
        assert_eq!(store.claim(&id).await, Err(StoreError::Closed));
        owner
    });
    let store = open(&path);
    block_on(async {
        assert_eq!(store.load(&id).await.unwrap().unwrap().revision(), Revision(3));
        store.record(&owner, &event(2)).await.unwrap();
        let events = store.events(&id, &RunId::new("r").unwrap(), Seq(0), Page::default()).await.unwrap();
        assert_eq!(events, [event(1).events, event(2).events].concat());
    });
}

#[test]
fn other_files_are_refused_and_stay_as_they_are() {
    let scratch = Scratch::new("foreign");
    let refused = |path: &Path| block_on(SqliteStore::open(path)).unwrap_err();

    let text = scratch.file("notes.txt");
    std::fs::write(&text, "no database, and long enough to be read as a page of one ".repeat(20)).unwrap();
    assert!(matches!(refused(&text), StoreError::Foreign(_)));

    let other = scratch.file("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    assert!(matches!(refused(&other), StoreError::Foreign(_)));
    let mode: String =
        Connection::open(&other).unwrap().query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "delete", "nothing was changed");

    let later = scratch.file("later.db");
    block_on(async { open(&later).close().await });
    Connection::open(&later).unwrap().execute_batch("PRAGMA user_version = 9").unwrap();
    assert_eq!(refused(&later), StoreError::Version { found: 9, known: VERSION });

    assert!(matches!(refused(&scratch.file("no/folder.db")), StoreError::Failed(_)));
}

#[test]
fn damage_is_an_error_and_not_a_session() {
    let scratch = Scratch::new("damage");
    let path = scratch.file("store.db");
    let store = open(&path);
    let id = session("s");
    let owner = block_on(store.claim(&id)).unwrap();
    let snapshot = Snapshot::new(id.clone(), Revision(1), History::default());
    block_on(store.save(&owner, &snapshot, None)).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute("UPDATE session SET snapshot = replace(snapshot, '\"idle\"', '\"paused\"')", []).unwrap();
    let error = block_on(store.load(&id)).unwrap_err();
    let StoreError::Import(error) = error else { panic!("{error}") };
    assert_eq!(&*error.at, "/state");
}

/// Another process holds the file; once it has let go, the same call succeeds.
#[test]
fn a_file_that_another_process_writes_is_waited_for() {
    let scratch = Scratch::new("busy");
    let path = scratch.file("store.db");
    let mut options = SqliteOptions::default();
    options.busy = Duration::from_millis(20);
    let store = block_on(SqliteStore::open_with(&path, options)).unwrap();
    let owner = block_on(store.claim(&session("s"))).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(matches!(block_on(store.record(&owner, &event(1))), Err(StoreError::Failed(_))));
    assert_eq!(block_on(store.runs(&session("s"), 0, 9)).unwrap().len(), 0, "reading goes on");
    other.execute_batch("COMMIT").unwrap();
    block_on(store.record(&owner, &event(1))).unwrap();
}

/// A commit that fails is an error of every call in it, and leaves nothing: the file may not grow.
// proves: L5
#[test]
fn a_commit_that_fails_is_no_answer() {
    let scratch = Scratch::new("refused");
    let path = scratch.file("store.db");
    let store = open(&path);
    let owner = block_on(store.claim(&session("s"))).unwrap();
    // A rule that is checked at the commit only: an event must belong to a run that there is not.
    let other = Connection::open(&path).unwrap();
    other
        .execute_batch(
            "CREATE TABLE never (x INTEGER PRIMARY KEY);
             CREATE TABLE late (x REFERENCES never (x) DEFERRABLE INITIALLY DEFERRED);
             CREATE TRIGGER fails AFTER INSERT ON event BEGIN INSERT INTO late VALUES (1); END;",
        )
        .unwrap();
    assert!(matches!(block_on(store.record(&owner, &event(1))), Err(StoreError::Failed(_))));
    assert!(block_on(store.runs(&session("s"), 0, 9)).unwrap().is_empty());
    other.execute_batch("DROP TRIGGER fails").unwrap();
    block_on(store.record(&owner, &event(1))).unwrap();
}

/// Whoever drops a future gives up the answer; what was begun happens whole or not at all.
#[test]
fn dropped_futures_leave_no_half_of_a_write() {
    let scratch = Scratch::new("dropped");
    let store = open(&scratch.file("store.db"));
    let id = session("s");
    let owner = block_on(store.claim(&id)).unwrap();
    for number in 1..=50 {
        let record = event(number);
        let polled = {
            let future = pin!(store.record(&owner, &record));
            future.poll(&mut Context::from_waker(Waker::noop()))
        };
        assert!(!matches!(polled, Poll::Ready(Err(_))));
    }
    let run = RunId::new("r").unwrap();
    let events = block_on(store.events(&id, &run, Seq(0), Page::default())).unwrap();
    assert_eq!(events.len(), 50, "jobs are done in the order in which they came");
}

/// Threads with executors of their own share one store.
#[test]
fn any_thread_may_wait() {
    let scratch = Scratch::new("threads");
    let store = open(&scratch.file("store.db"));
    let threads: Vec<_> = (0..8)
        .map(|n| {
            let store = store.clone();
            std::thread::spawn(move || {
                let owner = block_on(store.claim(&session(&n.to_string()))).unwrap();
                (1..=20).for_each(|number| block_on(store.record(&owner, &event(number))).unwrap());
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    for n in 0..8 {
        let runs = block_on(store.runs(&session(&n.to_string()), 0, 9)).unwrap();
        assert_eq!(runs.iter().map(|run| run.last).collect::<Vec<_>>(), [Seq(20)]);
    }
}

#[test]
fn debug_shows_nothing_of_what_is_kept() {
    let scratch = Scratch::new("debug");
    let store = open(&scratch.file("secret-name.db"));
    assert!(!format!("{store:?} {:?}", event(1)).contains("seq\":"));
}
