//! What is rare: refused starts, sizes at their bounds, files that are new, and journals that are none.

use crate::stage::{Calls, Process, id, runs, spec};
use futures_lite::future::block_on;
use runloom::store::{
    JournalId, Keeper, Line, MemoryStore, OpenError, Opened, Page, Record, SessionStore, SqliteStore,
};
use runloom::testing::{Attempt, ScriptedModel};
use runloom::{
    ApprovalPolicy, Engine, Host, ManualTimer, Message, MessageId, ModelSpec, Part, Revision, Role, RunId,
    RunOptions, RunResult, Seq, SessionId, Snapshot, StartError, boundary_inputs,
};
use runloom_core::message::MessageBounds;
use runloom_tests::bare::Task;
use runloom_tests::scratch::Scratch;
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

/// Ids of runs hold their session's, which may be as long as an id can be.
// proves: M1, H7
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
    assert_eq!(seen[0], seen[1]);
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
