//! Executors of both flavours as scenarios use them.

use super::executor::{LocalExecutor, SharedExecutor, Spawned};
use super::flavours::Kind;
use super::probe::Probe;
use super::scenarios::real;
use super::watch::{Watch, Watched};
use crate::host::{Local, Shared};
use crate::run::Run;
use crate::sync::Arc;
use crate::timer::Timer;

/// An executor and its timer.
pub(super) trait Runs<K: Kind> {
    fn run(&self, main: K::Task);
    fn spawn(&self, task: K::Task) -> Spawned;
    /// A task that probes the timer.
    fn probing(&self, probe: Probe) -> K::Task;
    /// A run on the timer and the task of its driver.
    fn real(&self, watch: &Arc<Watch>) -> Result<(Run, K::Task), String>;
}

pub(super) struct OnShared<E, T>(pub(super) E, pub(super) T);

impl<E: SharedExecutor, T: Timer + Clone + Send + Sync + 'static> Runs<Shared> for OnShared<E, T> {
    fn run(&self, main: <Shared as Kind>::Task) {
        self.0.run(main);
    }

    fn spawn(&self, task: <Shared as Kind>::Task) -> Spawned {
        self.0.spawn(task)
    }

    fn probing(&self, probe: Probe) -> <Shared as Kind>::Task {
        Box::pin(probe.run(self.1.clone()))
    }

    fn real(&self, watch: &Arc<Watch>) -> Result<(Run, <Shared as Kind>::Task), String> {
        let (run, driver) = real::start::<Shared, T>(self.1.clone())?;
        Ok((run, Box::pin(Watched::new(watch, real::to_end(driver)))))
    }
}

pub(super) struct OnLocal<E, T>(pub(super) E, pub(super) T);

impl<E: LocalExecutor, T: Timer + Clone + 'static> Runs<Local> for OnLocal<E, T> {
    fn run(&self, main: <Local as Kind>::Task) {
        self.0.run(main);
    }

    fn spawn(&self, task: <Local as Kind>::Task) -> Spawned {
        self.0.spawn(task)
    }

    fn probing(&self, probe: Probe) -> <Local as Kind>::Task {
        Box::pin(probe.run(self.1.clone()))
    }

    fn real(&self, watch: &Arc<Watch>) -> Result<(Run, <Local as Kind>::Task), String> {
        let (run, driver) = real::start::<Local, T>(self.1.clone())?;
        Ok((run, Box::pin(Watched::new(watch, real::to_end(driver)))))
    }
}
