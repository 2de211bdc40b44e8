//! A run's own time.

use crate::core::output::Wake;
use crate::core::time::Time;

/// The run's time by the engine's: they differ for a run that has gone on from another process (H7).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    /// The same point in time, by the engine and by the run.
    engine: Time,
    run: Time,
}

impl Clock {
    /// At `engine` it is `run` for the run.
    pub(crate) fn new(engine: Time, run: Time) -> Self {
        Self { engine, run }
    }

    pub(super) fn of_run(self, engine: Time) -> Time {
        self.run.after(engine.since(self.engine))
    }

    pub(super) fn of_engine(self, wake: Wake) -> Wake {
        // The end of time is that of both.
        let at = if wake.at == Time::MAX { Time::MAX } else { self.engine.after(wake.at.since(self.run)) };
        Wake { at, ..wake }
    }
}
