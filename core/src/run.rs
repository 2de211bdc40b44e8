//! The machine's one entry point: dispatch only.

use crate::config::Config;
use crate::error::Misuse;
use crate::id::RunId;
use crate::input::Input;
use crate::log::EventLog;
use crate::outcome::{LateCompletion, Outcome};
use crate::output::{Next, Outbox};
use crate::time::Time;
use alloc::sync::Arc;

/// One agent run.
#[derive(Clone, Debug)]
pub struct Run {
    log: EventLog,
    config: Arc<Config>,
}

impl Run {
    /// A run that has not been started.
    pub fn new(id: RunId, config: Arc<Config>) -> Self {
        Self { log: EventLog::new(id, &config), config }
    }
    /// The only mutator. On `Err(Misuse)` nothing has changed and nothing was recorded.
    pub fn step(&mut self, now: Time, input: Input, out: &mut Outbox) -> Result<Next, Misuse> {
        let _ = (now, input, out);
        Err(Misuse::Poisoned)
    }
    /// Closes the log from its own ledger after a panic escaped `step`; nothing steps this run again (X5).
    pub fn close_after_panic(&mut self, out: &mut Outbox) {
        let _ = out;
    }
    /// The authoritative record.
    pub fn log(&self) -> &EventLog {
        &self.log
    }
    /// Authoritative once `!next.live`.
    pub fn outcome(&self) -> Option<&Arc<Outcome>> {
        None
    }
    /// Limits.
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }
    /// Completions that came after their operation was abandoned, also those after the run's end (C6).
    pub fn late(&self) -> &[LateCompletion] {
        &[]
    }
    /// The conversation as it would be committed now.
    pub fn candidate(&self) -> Option<&crate::history::History> {
        None
    }
}
