//! The runs of an engine, so that a shutdown finds them (C10).

use crate::CancellationToken;
use crate::best_effort::Queues;
use crate::engine::EngineShutdown;
use crate::shared::RunShared;
use crate::sync::{Arc, Mutex, Weak, lock};
use std::collections::BTreeMap;

/// A run's place in the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RunKey(u64);

#[derive(Default)]
pub(crate) struct Registry {
    pub(crate) best_effort: Queues,
    state: Mutex<RegistryState>,
}

#[derive(Default)]
struct RegistryState {
    shut_down: bool,
    sessions: u64,
    runs: u64,
    running: BTreeMap<u64, Weak<RunShared>>,
    /// Tokens of compactions by hand that go on (K6).
    manual: BTreeMap<u64, CancellationToken>,
}

impl Registry {
    pub(crate) fn check_open(&self) -> Result<(), EngineShutdown> {
        lock(&self.state).open()
    }

    /// The number of a new session.
    pub(crate) fn next_session(&self) -> Result<u64, EngineShutdown> {
        let mut state = lock(&self.state);
        state.open()?;
        state.sessions += 1;
        Ok(state.sessions)
    }

    /// The key of a new run.
    pub(crate) fn next_run(&self) -> Result<RunKey, EngineShutdown> {
        let mut state = lock(&self.state);
        state.open()?;
        state.runs += 1;
        Ok(RunKey(state.runs))
    }

    /// How many runs there were, in this engine and those before it that its sessions were restored from.
    pub(crate) fn counted(&self) -> u64 {
        lock(&self.state).runs
    }

    /// Runs are counted from `runs` at least: those of a session that is restored were named by others.
    pub(crate) fn count_from(&self, runs: u64) -> Result<(), EngineShutdown> {
        let mut state = lock(&self.state);
        state.open()?;
        state.runs = state.runs.max(runs);
        Ok(())
    }

    pub(crate) fn insert(&self, key: RunKey, run: &Arc<RunShared>) -> Result<(), EngineShutdown> {
        let mut state = lock(&self.state);
        state.open()?;
        state.running.insert(key.0, Arc::downgrade(run));
        Ok(())
    }

    pub(crate) fn remove(&self, key: RunKey) {
        lock(&self.state).running.remove(&key.0);
    }

    /// A compaction by hand begins; the key to end it with.
    pub(crate) fn manual_begins(&self, token: CancellationToken) -> Result<u64, EngineShutdown> {
        let mut state = lock(&self.state);
        state.open()?;
        state.runs += 1;
        let key = state.runs;
        state.manual.insert(key, token);
        Ok(key)
    }

    pub(crate) fn manual_ends(&self, key: u64) {
        let token = lock(&self.state).manual.remove(&key);
        drop(token);
    }

    /// How many runs are here.
    pub(crate) fn len(&self) -> usize {
        lock(&self.state).running.len()
    }

    /// Lets no new run in and returns those that are here. They are left to the caller: a run's lock comes before
    /// this one.
    pub(crate) fn shut_down(&self) -> (Vec<Arc<RunShared>>, Vec<CancellationToken>) {
        let mut state = lock(&self.state);
        state.shut_down = true;
        let manual = std::mem::take(&mut state.manual).into_values().collect();
        (state.running.values().filter_map(Weak::upgrade).collect(), manual)
    }

    pub(crate) fn is_shut_down(&self) -> bool {
        lock(&self.state).shut_down
    }
}

impl RegistryState {
    fn open(&self) -> Result<(), EngineShutdown> {
        if self.shut_down { Err(EngineShutdown) } else { Ok(()) }
    }
}

impl RunKey {
    /// The run's number within its engine, from 1.
    pub(crate) fn number(self) -> u64 {
        self.0
    }
}
