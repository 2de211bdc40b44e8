//! The reference: everything a store promises but to outlive the process.

use super::check::{as_kept, fresh};
use super::{
    Epoch, JournalId, JournalSummary, Line, Owner, Page, Record, RunSummary, SessionStore, StoreError,
};
use crate::core::id::{Revision, RunId, Seq, SessionId};
use crate::core::snapshot::Snapshot;
use crate::core::text::Text;
use crate::sync::{Arc, Mutex, lock};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;

/// Keeps everything in memory, for tests and for hosts whose sessions end with them. Clones are the same store.
///
/// Its futures are ready at once. It keeps what it is told without a bound.
#[derive(Clone, Default)]
pub struct MemoryStore {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    sessions: BTreeMap<SessionId, Kept>,
    /// How many runs and journals there were.
    ordinals: u64,
}

#[derive(Default)]
struct Kept {
    epoch: u64,
    snapshot: Option<(Revision, Text)>,
    /// By their places.
    runs: BTreeMap<u64, KeptRun>,
}

struct KeptRun {
    run: RunId,
    /// Behind which event the first one stands.
    base: u64,
    events: Vec<Text>,
    journals: Vec<KeptJournal>,
}

struct KeptJournal {
    ordinal: u64,
    part: Seq,
    lines: Vec<Text>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sessions = lock(&self.state).sessions.len();
        f.debug_struct("MemoryStore").field("sessions", &sessions).finish_non_exhaustive()
    }
}

impl State {
    /// What is kept of a session that `owner` has claimed last.
    fn owned(&mut self, owner: &Owner) -> Result<&mut Kept, StoreError> {
        let current = self.sessions.get(&owner.session).map_or(0, |kept| kept.epoch);
        match self.sessions.get_mut(&owner.session) {
            Some(kept) if kept.epoch == owner.epoch.0 && kept.epoch > 0 => Ok(kept),
            Some(_) | None => Err(StoreError::Fenced { epoch: owner.epoch, current: Epoch(current) }),
        }
    }

    fn next(&mut self) -> u64 {
        self.ordinals += 1;
        self.ordinals
    }

    fn record(&mut self, owner: &Owner, record: &Record) -> Result<(), StoreError> {
        self.owned(owner)?;
        let (first, second) = (self.next(), self.next());
        let kept = self.owned(owner)?;
        let known = kept.runs.values().find(|kept| kept.run == record.run);
        let base = known.map_or(record.part.0, |run| run.base);
        let (events, journals) = known.map_or((&[][..], &[][..]), |run| (&run.events[..], &run.journals[..]));
        let lines = journals.iter().find(|journal| journal.part == record.part);
        let lines = lines.map_or(&[][..], |journal| &journal.lines[..]);
        let new_events = news(&record.run, base, events, &record.events)?;
        let new_lines = news(&record.run, 0, lines, &record.journal)?;
        if new_events.is_empty() && new_lines.is_empty() {
            return Ok(());
        }

        let at = kept.runs.iter().find(|(_, kept)| kept.run == record.run).map_or(first, |(at, _)| *at);
        let run = kept.runs.entry(at).or_insert_with(|| KeptRun {
            run: record.run.clone(),
            base,
            events: Vec::new(),
            journals: Vec::new(),
        });
        run.events.extend(new_events);
        if new_lines.is_empty() {
            return Ok(());
        }
        match run.journals.iter_mut().find(|journal| journal.part == record.part) {
            Some(journal) => journal.lines.extend(new_lines),
            None => {
                run.journals.push(KeptJournal { ordinal: second, part: record.part, lines: new_lines });
            }
        }
        Ok(())
    }
}

/// What is new of `lines`, where those behind `base` are kept.
fn news(run: &RunId, base: u64, kept: &[Text], lines: &[Line]) -> Result<Vec<Text>, StoreError> {
    let same = |line: &Line| Ok(at(kept, base, line.number).is_some_and(|kept| *kept == line.text));
    let fresh = fresh(run, base + kept.len() as u64, lines, same)?;
    Ok(fresh.iter().map(|line| line.text.clone()).collect())
}

fn at(kept: &[Text], base: u64, number: u64) -> Option<&Text> {
    let at = number.checked_sub(base)?.checked_sub(1)?;
    kept.get(usize::try_from(at).ok()?)
}

fn page(kept: &[Text], base: u64, after: u64, page: Page) -> Vec<Line> {
    let (mut lines, mut bytes) = (Vec::new(), 0);
    for number in after.max(base).saturating_add(1)..=base + kept.len() as u64 {
        let Some(text) = at(kept, base, number) else { break };
        if !page.takes(lines.len(), bytes, text.len()) {
            break;
        }
        bytes += text.len() as u64;
        lines.push(Line { number, text: text.clone() });
    }
    lines
}

impl SessionStore for MemoryStore {
    async fn claim(&self, session: &SessionId) -> Result<Owner, StoreError> {
        let mut state = lock(&self.state);
        let kept = state.sessions.entry(session.clone()).or_default();
        kept.epoch += 1;
        Ok(Owner { session: session.clone(), epoch: Epoch(kept.epoch) })
    }

    async fn load(&self, session: &SessionId) -> Result<Option<Snapshot>, StoreError> {
        let json = {
            let state = lock(&self.state);
            state.sessions.get(session).and_then(|kept| kept.snapshot.as_ref()).map(|(_, json)| json.clone())
        };
        json.map(|json| Snapshot::from_json_within(&json, &as_kept(json.len())))
            .transpose()
            .map_err(StoreError::Import)
    }

    async fn save(
        &self,
        owner: &Owner,
        snapshot: &Snapshot,
        expected: Option<Revision>,
    ) -> Result<(), StoreError> {
        if *snapshot.session_id() != owner.session {
            return Err(StoreError::OtherSession(snapshot.session_id().clone()));
        }
        let json = Text::from(snapshot.to_json());
        let mut state = lock(&self.state);
        let kept = state.owned(owner)?;
        let found = kept.snapshot.as_ref().map(|(revision, _)| *revision);
        if kept.snapshot.as_ref().is_some_and(|(_, kept)| *kept == json) {
            return Ok(());
        }
        if found != expected {
            return Err(StoreError::Conflict { expected, found });
        }
        kept.snapshot = Some((snapshot.revision(), json));
        Ok(())
    }

    async fn sessions(&self, after: Option<&SessionId>, limit: usize) -> Result<Vec<SessionId>, StoreError> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let state = lock(&self.state);
        let behind = state.sessions.range((from, Bound::Unbounded));
        let saved = behind.filter(|(_, kept)| kept.snapshot.is_some());
        Ok(saved.take(limit).map(|(session, _)| session.clone()).collect())
    }

    async fn delete(&self, owner: &Owner) -> Result<(), StoreError> {
        let mut state = lock(&self.state);
        let kept = state.owned(owner)?;
        *kept = Kept { epoch: kept.epoch, ..Kept::default() };
        Ok(())
    }

    async fn record(&self, owner: &Owner, record: &Record) -> Result<(), StoreError> {
        lock(&self.state).record(owner, record)
    }

    async fn runs(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<RunSummary>, StoreError> {
        let state = lock(&self.state);
        let runs = state.sessions.get(session).into_iter().flat_map(|kept| &kept.runs);
        let runs = runs.filter(|(ordinal, _)| **ordinal > after).take(limit);
        let summary = |(ordinal, kept): (&u64, &KeptRun)| RunSummary {
            ordinal: *ordinal,
            run: kept.run.clone(),
            last: Seq(kept.base + kept.events.len() as u64),
        };
        Ok(runs.map(summary).collect())
    }

    async fn events(
        &self,
        session: &SessionId,
        run: &RunId,
        after: Seq,
        most: Page,
    ) -> Result<Vec<Line>, StoreError> {
        let state = lock(&self.state);
        let mut runs = state.sessions.get(session).into_iter().flat_map(|kept| kept.runs.values());
        let kept = runs.find(|kept| kept.run == *run);
        Ok(kept.map(|kept| page(&kept.events, kept.base, after.0, most)).unwrap_or_default())
    }

    async fn journals(&self, session: &SessionId) -> Result<Vec<JournalSummary>, StoreError> {
        let state = lock(&self.state);
        let runs = state.sessions.get(session).into_iter().flat_map(|kept| kept.runs.values());
        let mut journals: Vec<_> = runs
            .flat_map(|kept| kept.journals.iter().map(|journal| (journal.ordinal, &kept.run, journal)))
            .map(|(ordinal, run, journal)| {
                let id = JournalId { session: session.clone(), run: run.clone(), part: journal.part };
                (ordinal, JournalSummary { id, lines: journal.lines.len() as u64 })
            })
            .collect();
        journals.sort_unstable_by_key(|(ordinal, _)| *ordinal);
        Ok(journals.into_iter().map(|(_, summary)| summary).collect())
    }

    async fn journal(&self, id: &JournalId, after: u64, most: Page) -> Result<Vec<Line>, StoreError> {
        let state = lock(&self.state);
        let runs = state.sessions.get(&id.session).into_iter().flat_map(|kept| kept.runs.values());
        let mut journals = runs.filter(|kept| kept.run == id.run).flat_map(|kept| &kept.journals);
        let lines = journals.find(|journal| journal.part == id.part);
        Ok(page(lines.map_or(&[][..], |journal| &journal.lines[..]), 0, after, most))
    }

    async fn retire(&self, owner: &Owner, run: &RunId, before: Seq) -> Result<(), StoreError> {
        let mut state = lock(&self.state);
        let kept = state.owned(owner)?;
        let runs = kept.runs.values_mut().filter(|kept| kept.run == *run);
        runs.for_each(|kept| kept.journals.retain(|journal| journal.part >= before));
        Ok(())
    }
}
