//! Plays all scenarios on a host.

use super::bare::bare;
use super::executor::{LocalExecutor, SharedExecutor};
use super::flavours::Kind;
use super::hosts::{OnLocal, OnShared};
use super::report::{Report, Row, hash};
use super::scenarios::{Found, Play, all};
use super::stage::Wrong;
use crate::host::{Local, Shared};
use crate::panics::caught;
use crate::sync::Arc;
use crate::timer::{ManualTimer, Timer};
use std::fmt;
use std::time::Duration;

/// How often a scenario that plays is looked after.
const LOOK: Duration = Duration::from_millis(2);

type PlayAt = Arc<dyn Fn(usize) -> Result<Found, Wrong> + Send + Sync>;

/// The scenarios for one kind of executor and its timer; see the [module](super).
///
/// Each scenario gets an executor and a timer of its own and plays on a thread of its own, so that one that hangs is
/// reported. See [`on_this_thread`](Suite::on_this_thread) for executors that need a certain thread.
#[must_use]
pub struct Suite {
    host: String,
    limit: Duration,
    here: bool,
    names: Vec<&'static str>,
    only: Option<Vec<String>>,
    play: PlayAt,
    reference: PlayAt,
}

impl Suite {
    /// A suite for an executor whose tasks may move between threads.
    pub fn shared<E, T>(host: impl Into<String>, make: impl Fn() -> (E, T) + Send + Sync + 'static) -> Self
    where
        E: SharedExecutor + 'static,
        T: Timer + Clone + Send + Sync + 'static,
    {
        Self::new::<Shared>(host.into(), move |play| {
            let (executor, timer) = make();
            play(&OnShared(executor, timer))
        })
    }

    /// A suite for an executor whose tasks stay on one thread. Models and tools hold what is not `Send`.
    pub fn local<E, T>(host: impl Into<String>, make: impl Fn() -> (E, T) + Send + Sync + 'static) -> Self
    where
        E: LocalExecutor + 'static,
        T: Timer + Clone + 'static,
    {
        Self::new::<Local>(host.into(), move |play| {
            let (executor, timer) = make();
            play(&OnLocal(executor, timer))
        })
    }

    fn new<K: Kind>(
        host: String,
        on: impl Fn(Play<K>) -> Result<Found, Wrong> + Send + Sync + 'static,
    ) -> Self
    where
        OnBare: AsRuns<K>,
    {
        let play: PlayAt = Arc::new(move |place| on(all::<K>()[place].play));
        let reference: PlayAt = Arc::new(move |place| OnBare.play(all::<K>()[place].reference));
        let names = all::<K>().iter().map(|scenario| scenario.name).collect();
        Self { host, limit: Duration::from_secs(60), here: false, names, only: None, play, reference }
    }

    /// How long a scenario may take before it counts as stuck; 60 s by default.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Plays on the calling thread, for executors that need it. A scenario that hangs then hangs for good.
    pub fn on_this_thread(mut self) -> Self {
        self.here = true;
        self
    }

    /// Only the scenarios of these names: `order`, `drop`, `abort`, `panic`, `cancel`, `cancel-busy`, `odd-timers`,
    /// `deadlines`, `fairness`, `wakes`, `threads`, `parked`, `wakers`, `re-entry`, `timer`. A name that is none of them is
    /// a failure of the report.
    pub fn only<'a>(mut self, scenarios: impl IntoIterator<Item = &'a str>) -> Self {
        self.only = Some(scenarios.into_iter().map(str::to_owned).collect());
        self
    }

    /// Plays the scenarios, one after the other. What panics or hangs is a failure of its row.
    pub fn run(&self) -> Report {
        let wanted =
            |name: &str| self.only.as_ref().is_none_or(|only| only.iter().any(|known| known == name));
        let places = self.names.iter().enumerate().filter(|(_, name)| wanted(name));
        let unknown = self.only.iter().flatten().filter(|name| !self.names.contains(&name.as_str()));
        let unknown = unknown.map(|name| Row {
            scenario: "only",
            hash: None,
            measured: String::new(),
            failure: Some(format!("there is no scenario {name:?}, but {}", self.names.join(", "))),
        });
        let rows = places.map(|(place, name)| self.row(place, name)).chain(unknown).collect();
        Report { host: self.host.clone(), rows }
    }

    fn row(&self, place: usize, scenario: &'static str) -> Row {
        let failed =
            |failure: Wrong| Row { scenario, hash: None, measured: String::new(), failure: Some(failure) };
        let found = match self.played(&self.play, place) {
            Ok(found) => found,
            Err(wrong) => return failed(wrong),
        };
        let hash = found.logs.as_deref().map(hash);
        let failure = match (&found.logs, self.played(&self.reference, place)) {
            (_, Err(wrong)) => Some(format!("on the barest executor: {wrong}")),
            (Some(logs), Ok(Found { logs: Some(reference), .. })) => difference(logs, &reference),
            _ => None,
        };
        Row { scenario, hash, measured: found.measured, failure }
    }

    fn played(&self, play: &PlayAt, place: usize) -> Result<Found, Wrong> {
        let play = Arc::clone(play);
        let panicked = || "it panicked".to_owned();
        if self.here {
            return caught(|| play(place)).unwrap_or_else(|| Err(panicked()));
        }
        let playing = std::thread::spawn(move || play(place));
        let mut waited = Duration::ZERO;
        while !playing.is_finished() {
            if waited >= self.limit {
                return Err(format!(
                    "stuck: not over after {:?}; a wake is lost, or a task gets no turn",
                    self.limit
                ));
            }
            std::thread::sleep(LOOK);
            waited += LOOK;
        }
        playing.join().unwrap_or_else(|_| Err(panicked()))
    }
}

impl fmt::Debug for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Suite").field("host", &self.host).finish_non_exhaustive()
    }
}

/// The barest executor.
struct OnBare;

trait AsRuns<K: Kind> {
    fn play(&self, play: Play<K>) -> Result<Found, Wrong>;
}

impl AsRuns<Shared> for OnBare {
    fn play(&self, play: Play<Shared>) -> Result<Found, Wrong> {
        play(&OnShared(bare(), ManualTimer::new()))
    }
}

impl AsRuns<Local> for OnBare {
    fn play(&self, play: Play<Local>) -> Result<Found, Wrong> {
        play(&OnLocal(bare(), ManualTimer::new()))
    }
}

/// The first line in which two logs differ.
fn difference(logs: &str, reference: &str) -> Option<Wrong> {
    if logs == reference {
        return None;
    }
    let differing = logs.lines().zip(reference.lines()).position(|(line, other)| line != other);
    let place = differing.unwrap_or_else(|| logs.lines().count().min(reference.lines().count()));
    let line = |text: &str| text.lines().nth(place).unwrap_or("nothing").to_owned();
    Some(format!("line {place} of the logs is {}, on the barest executor {}", line(logs), line(reference)))
}
