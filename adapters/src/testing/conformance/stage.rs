//! One run on an executor, under a manual clock that moves only while nothing else does.

use super::executor::Spawned;
use super::flavours::{Act, Kind, Parts};
use super::hosts::Runs;
use super::odd::{Odd, Quirk};
use super::scenarios::until;
use super::watch::{Account, Watch, Watched};
use crate::core::config::{Config, Limits};
use crate::core::event::Envelope;
use crate::core::outcome::{Outcome, RunResult};
use crate::core::tool::{Access, ToolSpec};
use crate::core::verify::Verifier;
use crate::engine::Engine;
use crate::feed::EventStream;
use crate::host::Model;
use crate::run::RunHandle;
use crate::session::{Session, SessionState};
use crate::start::RunOptions;
use crate::sync::{Arc, Mutex, lock};
use crate::testing::{Attempt, ScriptedModel, ScriptedTool};
use crate::timer::ManualTimer;
use std::fmt::Display;

/// Most alarms that a run may need.
const MOST_ALARMS: usize = 10_000;
/// Room for unread events: less than what a scenario gives at once.
const CAPACITY: usize = 16;

/// What is wrong, in words.
pub(super) type Wrong = String;

/// Says what is wrong unless `holds`.
pub(super) fn ensure(holds: bool, what: impl Display) -> Result<(), Wrong> {
    if holds { Ok(()) } else { Err(what.to_string()) }
}

/// Engine, session and handle, where tools reach them.
pub(super) type Slot<K> = Arc<Mutex<Option<Scene<K>>>>;

/// What a host has of a run.
pub(super) struct Scene<K: Kind> {
    pub(super) engine: Engine<K, Odd>,
    pub(super) session: Session<K, Odd>,
    pub(super) handle: Option<RunHandle>,
}

/// A run that was started and whose tasks were spawned.
pub(super) struct Stage<'a, K: Kind> {
    exec: &'a dyn Runs<K>,
    pub(super) watch: Arc<Watch>,
    pub(super) timer: ManualTimer,
    pub(super) session: Session<K, Odd>,
    slot: Slot<K>,
    stream: Option<EventStream>,
    pub(super) driver: Arc<Account>,
    driving: Option<Spawned>,
    reading: Option<Spawned>,
    /// What the reader has read.
    pub(super) read: Arc<Mutex<Vec<Envelope>>>,
}

/// How a stage is set.
pub(super) struct Setting<K: Kind, M> {
    pub(super) timer: ManualTimer,
    pub(super) quirk: Quirk,
    pub(super) model: M,
    pub(super) tools: Vec<ScriptedTool<ManualTimer>>,
    pub(super) act: Option<Act<K>>,
    pub(super) options: RunOptions,
}

impl<K: Kind> Setting<K, ScriptedModel<ManualTimer>> {
    pub(super) fn scripted(timer: &ManualTimer, attempts: impl IntoIterator<Item = Attempt>) -> Self {
        Self::new(timer, ScriptedModel::timed(timer.clone(), attempts))
    }
}

impl<K: Kind, M: Model> Setting<K, M> {
    pub(super) fn new(timer: &ManualTimer, model: M) -> Self {
        let (timer, options) = (timer.clone(), RunOptions::new());
        Self { timer, quirk: Quirk::Exact, model, tools: Vec::new(), act: None, options }
    }

    pub(super) fn tool(mut self, tool: ScriptedTool<ManualTimer>) -> Self {
        self.tools.push(tool.declared(|spec| spec.access(Access::Shared)));
        self
    }

    /// Starts the run and spawns its driver; nothing has been polled then.
    pub(super) fn start<'a>(self, exec: &'a dyn Runs<K>) -> Result<Stage<'a, K>, Wrong> {
        let wrong = |error: &dyn Display| error.to_string();
        let slot: Slot<K> = Arc::default();
        let act = match self.act {
            Some(act) => {
                let spec = ToolSpec::new("act", "", "{}").map_err(|error| wrong(&error))?;
                Some((spec, Arc::clone(&slot), act))
            }
            None => None,
        };
        let host = K::host(Parts { model: self.model, tools: self.tools, act }).map_err(|e| wrong(&e))?;
        let mut limits = Limits::default();
        limits.event_capacity = CAPACITY;
        let config = Config::new(limits).map_err(|error| wrong(&error))?;
        let engine = Engine::builder(host, Odd::new(&self.timer, self.quirk)).config(config).build();
        let session = engine.session().map_err(|error| wrong(&error))?;
        let (run, driver) = session.start_with("go", self.options).map_err(|error| wrong(&error))?;
        let (handle, stream) = run.split();
        let watch = Arc::new(Watch::default());
        let (task, driver) = K::drive(&watch, driver);
        let scene = Scene { engine, session: session.clone(), handle: Some(handle) };
        *lock(&slot) = Some(scene);
        // From here on an executor with threads may run it.
        let driving = exec.spawn(task);
        Ok(Stage {
            exec,
            watch,
            timer: self.timer,
            session,
            slot,
            stream: Some(stream),
            driver,
            driving: Some(driving),
            reading: None,
            read: Arc::default(),
        })
    }
}

impl<K: Kind> Stage<'_, K> {
    /// Spawns what reads all events.
    pub(super) fn with_reader(mut self) -> Self {
        if let Some(mut stream) = self.take_stream() {
            let read = Arc::clone(&self.read);
            self.reading = Some(self.spawn(async move {
                while let Some(envelope) = stream.next().await {
                    lock(&read).push(envelope);
                }
            }));
        }
        self
    }

    pub(super) fn take_stream(&mut self) -> Option<EventStream> {
        self.stream.take()
    }

    pub(super) fn keep_reading(&mut self, reading: Spawned) {
        self.reading = Some(reading);
    }

    /// Spawns a task under watch.
    pub(super) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) -> Spawned {
        self.exec.spawn(K::task(Watched::new(&self.watch, future)))
    }

    /// Has the executor run until all tasks sleep.
    pub(super) fn settle(&self) {
        self.exec.run(K::task(Arc::clone(&self.watch).quiet()));
    }

    /// Settles, then moves the clock and settles again, `moves` times at most; whether the driver is done.
    pub(super) fn play(&self, moves: usize) -> Result<bool, Wrong> {
        self.settle();
        for _ in 0..moves {
            if self.driver.is_done() {
                return Ok(true);
            }
            ensure(self.timer.advance_to_alarm().is_some(), "the run sleeps, and no alarm is set")?;
            self.settle();
        }
        Ok(self.driver.is_done())
    }

    /// Plays to the run's end.
    pub(super) fn finish(&self) -> Result<(), Wrong> {
        ensure(self.play(MOST_ALARMS)?, "the run does not end")
    }

    /// Calls `f` with the run's handle.
    pub(super) fn with_handle<R>(&self, f: impl FnOnce(&RunHandle) -> R) -> Result<R, Wrong> {
        let scene = lock(&self.slot);
        let handle = scene.as_ref().and_then(|scene| scene.handle.as_ref());
        handle.map(f).ok_or_else(|| "the handle is gone".to_owned())
    }

    pub(super) fn take_handle(&self) -> Option<RunHandle> {
        lock(&self.slot).as_mut().and_then(|scene| scene.handle.take())
    }

    /// Has the executor end the driver's task, and waits until it has dropped it.
    pub(super) fn abort(&mut self) {
        if let Some(driving) = self.driving.take() {
            driving.abort();
            let driver = Arc::clone(&self.driver);
            self.exec.run(K::task(until(move || driver.is_done())));
        }
    }

    pub(super) fn outcome(&self) -> Result<Arc<Outcome>, Wrong> {
        self.with_handle(RunHandle::try_outcome)?.ok_or_else(|| "the run has no outcome".to_owned())
    }

    /// The run's log, after a look at what holds of every run that has ended: one terminal, at its end, in order, with
    /// the outcome, and a session that is free.
    pub(super) fn log(&self) -> Result<String, Wrong> {
        let outcome = self.outcome()?;
        let (events, log) = self.with_handle(|handle| {
            (handle.events_after(crate::core::id::Seq(0), usize::MAX), handle.log_json())
        })?;
        ended(&events)?;
        ensure(
            events.last().is_some_and(|last| last.seq == outcome.last_seq),
            "the log goes on after the outcome",
        )?;
        ensure(self.session.state() != SessionState::Running, "the session is not free")?;
        ensure(self.session.history().open_calls() == 0, "the history has calls without results")?;
        let failed = matches!(outcome.result, RunResult::Failed(_));
        ensure(failed || outcome.revision == self.session.revision(), "the outcome was not committed")?;
        Ok(log)
    }
}

impl<K: Kind> Drop for Stage<'_, K> {
    fn drop(&mut self) {
        // The slot holds the session, whose tools hold the slot.
        let scene = lock(&self.slot).take();
        drop(scene);
    }
}

/// Whether these are all events of a run that has ended, in order and with one terminal.
pub(super) fn ended(events: &[Envelope]) -> Result<(), Wrong> {
    let mut verifier = Verifier::new();
    events.iter().try_for_each(|event| verifier.observe(event)).map_err(|broken| broken.to_string())?;
    verifier.finish().map_err(|broken| broken.to_string())?;
    let terminals = events.iter().filter(|envelope| envelope.event.is_terminal()).count();
    ensure(terminals == 1, format_args!("{terminals} terminals"))
}
