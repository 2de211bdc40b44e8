//! What is in the store after a kill.

use crate::child::{effects, engine, log_of, open, session};
use crate::killer::{Working, unanswered};
use crate::said::{Said, hash};
use futures_lite::future::block_on;
use runloom::store::{Keeper, Page, SessionStore, SqliteStore};
use runloom::testing::Random;
use runloom::{RunId, Seq, SessionId};
use runloom_tests::scratch::Scratch;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many kills there are; `RUNLOOM_KILLS` says otherwise.
fn kills(usual: usize) -> usize {
    std::env::var("RUNLOOM_KILLS").map_or(usual, |kills| kills.parse().expect("a number of kills"))
}

/// Everything that was ever answered for.
#[derive(Default)]
struct Answered {
    events: BTreeMap<(SessionId, RunId), BTreeMap<u64, u64>>,
    revisions: BTreeMap<SessionId, u64>,
}

impl Answered {
    fn note(&mut self, said: &[Said]) {
        for said in said {
            match said {
                Said::Recorded { session, run, events, .. } => {
                    self.events.entry((session.clone(), run.clone())).or_default().extend(events.clone());
                }
                Said::Saved { session, revision, .. } => {
                    let last = self.revisions.entry(session.clone()).or_default();
                    assert!(*revision >= *last, "revisions grow");
                    *last = *revision;
                }
                Said::Writes | Said::Fenced => {}
            }
        }
    }

    /// Every event and revision that was answered for is in the store, once and in order.
    fn check(&self, store: &SqliteStore) {
        for ((session, run), answered) in &self.events {
            let kept = events(store, session, run);
            let numbers: Vec<u64> = kept.iter().map(|(number, _)| *number).collect();
            assert!(numbers.iter().copied().eq(1..=numbers.len() as u64), "{session} {run}: {numbers:?}");
            for (seq, hash_then) in answered {
                let text = kept.get(usize::try_from(*seq).unwrap() - 1).map(|(_, text)| text);
                let text = text.unwrap_or_else(|| panic!("{session} {run}: event {seq} was lost"));
                assert_eq!(hash(text), *hash_then, "{session} {run}: event {seq} is another one");
            }
        }
        for (session, revision) in &self.revisions {
            let kept = block_on(store.load(session)).unwrap().expect("its snapshot is there").revision();
            assert!(kept.0 >= *revision, "{session}: revision {revision} was lost, {kept} is there");
        }
    }
}

fn events(store: &SqliteStore, session: &SessionId, run: &RunId) -> Vec<(u64, String)> {
    let page = Page { lines: usize::MAX, bytes: u64::MAX };
    let lines = block_on(store.events(session, run, Seq(0), page)).unwrap();
    lines.into_iter().map(|line| (line.number, line.text.to_string())).collect()
}

/// Opens every session as the next process does, and checks all of its runs.
fn recover(file: &Path, sessions: usize, goes_on: bool) -> usize {
    let store = block_on(SqliteStore::open(file)).unwrap();
    let mut count = 0;
    for n in 0..sessions {
        let keeper = Keeper::new(store.clone());
        let engine = engine(&keeper, file);
        let opened = block_on(open(&keeper, &engine, &session(n), goes_on));
        block_on(keeper.save(&opened)).unwrap();
        assert_eq!(opened.history().open_calls(), 0);
        let runs = block_on(store.runs(&session(n), 0, usize::MAX)).unwrap();
        for summary in &runs {
            count += 1;
            one_terminal(&events(&store, &session(n), &summary.run));
        }
        assert_eq!(opened.revision().0, runs.len() as u64, "each run has committed once");
    }
    let done = std::fs::read_to_string(effects(file)).unwrap_or_default();
    let mut keys: Vec<_> = done.lines().collect();
    let all = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), all, "a tool ran twice");
    count
}

/// One terminal event, at the end; calls that were proposed are finished.
fn one_terminal(events: &[(u64, String)]) {
    let parsed: Vec<Value> = events.iter().map(|(_, text)| serde_json::from_str(text).unwrap()).collect();
    let kinds: Vec<&str> = parsed.iter().map(|event| event["kind"].as_str().unwrap()).collect();
    let terminal = |kind: &&&str| ["run.completed", "run.cancelled", "run.failed"].contains(*kind);
    assert_eq!(kinds.iter().filter(terminal).count(), 1, "{kinds:?}");
    assert!(kinds.last().as_ref().is_some_and(terminal), "{kinds:?}");
    let count = |wanted: &str| kinds.iter().filter(|kind| **kind == wanted).count();
    assert_eq!(count("run.started"), 1, "{kinds:?}");
    assert_eq!(count("tool.proposed"), count("tool.finished"), "{kinds:?}");
}

// proves: H7, L5, S3, W7
#[test]
fn killed_at_random_points_under_load() {
    let (kills, sessions) = (kills(60), 4);
    let scratch = Scratch::new("kill");
    let file = scratch.file("store.db");
    let mut random = Random::new(20_311);
    let mut answered = Answered::default();
    let mut between = 0;
    for n in 0..kills {
        let mut working = Working::start(&file, sessions, n % 2 == 0);
        working.read_until(|said| said.contains(&Said::Writes));
        let said = working.kill_after(Duration::from_micros(random.below(40_000)));
        between += usize::from(unanswered(&said) > 0);
        answered.note(&said);
        let store = block_on(SqliteStore::open(&file)).unwrap();
        answered.check(&store);
        block_on(store.close());
    }
    let runs = recover(&file, sessions, true);
    let events: usize = answered.events.values().map(BTreeMap::len).sum();
    println!(
        "{kills} kills, {between} of them between a write and its answer; {events} events answered for, {runs} runs"
    );
    assert!(between * 4 >= kills, "only {between} of {kills} kills came between a write and its answer");
}

/// What was not synced is lost or garbled with the machine: the log is cut or overwritten behind the last answer.
// proves: H7, L5
#[test]
fn what_was_not_synced_may_be_lost() {
    let mut random = Random::new(7);
    let mut cut = 0;
    for n in 0..kills(60) / 3 {
        let scratch = Scratch::new("unsynced");
        let file = scratch.file("store.db");
        let mut working = Working::start(&file, 1, true);
        working.read_until(|said| said.iter().any(|said| matches!(said, Said::Recorded { .. })));
        let said = working.kill_after(Duration::from_micros(random.below(60_000)));
        let synced = said.iter().rev().find_map(|said| match said {
            Said::Recorded { log, .. } | Said::Saved { log, .. } => Some(*log),
            Said::Writes | Said::Fenced => None,
        });
        cut += usize::from(lose(&log_of(&file), synced.unwrap(), n % 2 == 0, &mut random));
        let mut answered = Answered::default();
        answered.note(&said);
        let store = block_on(SqliteStore::open(&file)).unwrap();
        answered.check(&store);
        block_on(store.close());
        recover(&file, 1, n % 4 < 2);
    }
    println!("{cut} logs had bytes behind the last sync");
}

/// Cuts a log behind `synced`, or fills what is there with other bytes; whether there was something.
fn lose(log: &PathBuf, synced: u64, cuts: bool, random: &mut Random) -> bool {
    let mut bytes = std::fs::read(log).unwrap();
    let synced = usize::try_from(synced).unwrap();
    // SQLite begins a log anew beyond 1,000 pages; then its length says nothing.
    assert!(bytes.len() < 4_000_000 && synced <= bytes.len(), "{synced} of {}", bytes.len());
    let tail = bytes.len() - synced;
    if cuts {
        let rest = usize::try_from(random.below(tail as u64 + 1)).unwrap();
        bytes.truncate(synced + rest);
    } else {
        bytes[synced..].fill_with(|| u8::try_from(random.below(256)).unwrap());
    }
    std::fs::write(log, bytes).unwrap();
    tail > 0
}

/// Another process takes the session over while the first one writes.
// proves: L5, S3
#[test]
fn of_two_processes_the_older_one_is_fenced() {
    let scratch = Scratch::new("fenced");
    let file = scratch.file("store.db");
    let mut working = Working::start(&file, 1, true);
    let recorded = |said: &[Said]| said.iter().filter(|said| matches!(said, Said::Recorded { .. })).count();
    working.read_until(|said| recorded(said) > 5);
    let store = block_on(SqliteStore::open(&file)).unwrap();
    let owner = block_on(store.claim(&session(0))).unwrap();
    let count = || -> u64 {
        let runs = block_on(store.runs(&session(0), 0, usize::MAX)).unwrap();
        runs.iter().map(|run| run.last.0).sum()
    };
    let then = count();
    assert_eq!(owner.epoch.0, 2);
    let said = working.end();
    assert!(said.contains(&Said::Fenced));
    assert_eq!(count(), then, "nothing was written after the claim");
    let mut answered = Answered::default();
    answered.note(&said);
    answered.check(&store);
    recover(&file, 1, true);
}
