//! What a keeper knows of its sessions, and what of their runs is not in the store yet.
//!
//! **Locks.** A tail's lock is taken under its run's, and nothing is taken inside of it; no foreign code runs under it.

use crate::core::id::{Revision, RunId, Seq, SessionId};
use crate::core::journal::is_event;
use crate::core::text::Text;
use crate::store::{Epoch, Line, Owner, Record};
use crate::sync::{Arc, Mutex, lock};
use std::collections::{BTreeMap, VecDeque};

/// The sessions of a keeper.
#[derive(Clone, Default)]
pub(crate) struct Book(Arc<Mutex<BTreeMap<SessionId, Kept>>>);

/// What is known of one session.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) owner: Owner,
    /// The revision of the snapshot in the store.
    pub(super) saved: Option<Revision>,
    /// The highest revision that was to be saved, answered or not.
    tried: Option<Revision>,
    /// Of the runs of which something is not in the store yet, and of the newest one; oldest first.
    pub(super) tails: Vec<Arc<Tail>>,
}

impl Book {
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(super) fn put(&self, owner: Owner, saved: Option<Revision>) {
        let kept = Kept { owner: owner.clone(), saved, tried: None, tails: Vec::new() };
        let mut sessions = lock(&self.0);
        // Whoever has claimed it later may have been faster.
        let is_newest = sessions.get(&owner.session).is_none_or(|known| known.owner.epoch < owner.epoch);
        let before = if is_newest { sessions.insert(owner.session, kept) } else { None };
        drop(sessions);
        drop(before);
    }

    pub(super) fn get(&self, session: &SessionId) -> Option<Kept> {
        lock(&self.0).get(session).cloned()
    }

    pub(super) fn remove(&self, session: &SessionId) -> Option<Kept> {
        lock(&self.0).remove(session)
    }

    /// A snapshot is about to be saved; the highest revision that was before.
    pub(super) fn trying(&self, owner: &Owner, revision: Revision) -> Option<Revision> {
        let mut sessions = lock(&self.0);
        let kept = sessions.get_mut(&owner.session).filter(|kept| kept.owner == *owner)?;
        let before = kept.tried;
        kept.tried = before.max(Some(revision));
        before
    }

    /// Another snapshot is in the store.
    pub(super) fn saved(&self, owner: &Owner, revision: Revision) {
        if let Some(kept) = lock(&self.0).get_mut(&owner.session).filter(|kept| kept.owner == *owner) {
            kept.saved = Some(revision);
        }
    }

    /// The claim of a session.
    pub(crate) fn epoch(&self, session: &SessionId) -> Option<Epoch> {
        lock(&self.0).get(session).map(|kept| kept.owner.epoch)
    }

    /// Begins the record of a part of a run, behind so many lines of its journal that are in the store; `None` if the
    /// session was not opened, or was opened again since.
    pub(crate) fn tail(&self, owner: &Owner, run: &RunId, part: Seq, lines: u64) -> Option<Arc<Tail>> {
        let mut sessions = lock(&self.0);
        let kept = sessions.get_mut(&owner.session).filter(|kept| kept.owner == *owner)?;
        let state = TailState { journal: VecDeque::new(), events: VecDeque::new(), lines };
        let tail =
            Arc::new(Tail { owner: kept.owner.clone(), run: run.clone(), part, state: Mutex::new(state) });
        kept.tails.retain(|tail| !tail.is_empty());
        kept.tails.push(Arc::clone(&tail));
        Some(tail)
    }
}

/// What of a run's part is not in the store yet.
pub(crate) struct Tail {
    pub(super) owner: Owner,
    run: RunId,
    part: Seq,
    state: Mutex<TailState>,
}

struct TailState {
    journal: VecDeque<Line>,
    events: VecDeque<Line>,
    /// How many lines the journal has, those in the store counted.
    lines: u64,
}

impl std::fmt::Debug for Tail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tail").field("run", &self.run).field("part", &self.part).finish_non_exhaustive()
    }
}

impl Tail {
    fn is_empty(&self) -> bool {
        let state = lock(&self.state);
        state.journal.is_empty() && state.events.is_empty()
    }

    /// Everything that is not in the store yet; `None` if there is nothing.
    pub(super) fn record(&self) -> Option<Record> {
        let state = lock(&self.state);
        if state.journal.is_empty() && state.events.is_empty() {
            return None;
        }
        let (journal, events) = (state.journal.iter().cloned(), state.events.iter().cloned());
        let (journal, events) = (journal.collect(), events.collect());
        drop(state);
        Some(Record { run: self.run.clone(), part: self.part, events, journal })
    }

    /// The store has it.
    pub(super) fn confirm(&self, record: &Record) {
        let mut state = lock(&self.state);
        let (journal, events) = (record.journal.last(), record.events.last());
        drop_through(&mut state.journal, journal);
        drop_through(&mut state.events, events);
    }
}

fn drop_through(lines: &mut VecDeque<Line>, last: Option<&Line>) {
    let Some(last) = last else { return };
    while lines.front().is_some_and(|line| line.number <= last.number) {
        lines.pop_front();
    }
}

/// Hands the lines of a run's journal to its tail.
pub(crate) struct Scribe {
    tail: Arc<Tail>,
    /// The last event that was passed on.
    seq: u64,
}

impl Scribe {
    /// Goes on behind the event `seq`.
    pub(crate) fn new(tail: Arc<Tail>, seq: Seq) -> Self {
        Self { tail, seq: seq.0 }
    }

    pub(crate) fn tail(&self) -> &Arc<Tail> {
        &self.tail
    }

    /// Takes whole lines, which follow those before.
    pub(crate) fn write(&mut self, lines: &str) {
        let mut state = lock(&self.tail.state);
        for line in lines.lines() {
            let text = Text::new(line);
            if is_event(line) {
                self.seq += 1;
                state.events.push_back(Line { number: self.seq, text: text.clone() });
            }
            state.lines += 1;
            let number = state.lines;
            state.journal.push_back(Line { number, text });
        }
    }
}
