//! How a run begins.

use crate::CancellationToken;
use crate::boundary::{BoundaryPort, boundary_inputs};
use crate::core::config::Config;
use crate::core::error::Misuse;
use crate::core::id::{IdError, RunId, Seq};
use crate::core::input::{Answerers, Reader, Recover, Start};
use crate::core::journal::Recorder;
use crate::core::message::Part;
use crate::core::suspend::{Resume, ResumeError, Suspended};
use crate::core::time::Time;
use crate::core::{Input, Next, Outbox, Run as Machine};
use crate::driver::Driver;
use crate::engine::EngineShutdown;
use crate::gate::{Gate, GateKeeper, Gates};
use crate::host::{Flavour, HostTransport};
use crate::journal::{Journal, Tape, step_with};
use crate::run::Run;
use crate::session::{Found, Session, SessionShared};
use crate::shared::RunShared;
use crate::state::{Clock, RunState};
use crate::store::{Book, Owner, Scribe, Tail};
use crate::timer::Timer;
use crate::transport::Transport;
use std::sync::Arc;

/// What the user says: text and images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserInput(Vec<Part>);

impl From<&str> for UserInput {
    fn from(text: &str) -> Self {
        Self(vec![Part::Text(text.into())])
    }
}

impl From<String> for UserInput {
    fn from(text: String) -> Self {
        Self(vec![Part::Text(text.into())])
    }
}

impl UserInput {
    pub(crate) fn into_parts(self) -> Vec<Part> {
        self.0
    }
}

impl From<Vec<Part>> for UserInput {
    fn from(parts: Vec<Part>) -> Self {
        Self(parts)
    }
}

/// How a run is to be started.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct RunOptions {
    unattended: bool,
    suspends: bool,
    token: Option<CancellationToken>,
    journal: Option<Journal>,
    depth: u32,
}

impl RunOptions {
    /// A run that its handle's events pace and that ends with its handle.
    pub fn new() -> Self {
        Self::default()
    }

    /// Needs no reader: the run never pauses for one and goes on when its handle is dropped. Its handle's events are
    /// what the log still holds.
    pub fn unattended(mut self) -> Self {
        self.unattended = true;
        self
    }

    /// Is put aside by itself as soon as it waits for answers only (H6): its outcome is then the value to resume it from.
    pub fn suspend_when_waiting(mut self) -> Self {
        self.suspends = true;
        self
    }

    /// Is cancelled with this token too, which may belong to several runs. A token that is cancelled already makes
    /// no request (C2).
    pub fn cancellation_token(mut self, token: CancellationToken) -> Self {
        self.token = Some(token);
        self
    }

    /// Writes every input and the events that came of it into this journal, from which the run can be replayed, and
    /// recovered after a crash (L7, H7).
    pub fn journal(mut self, journal: Journal) -> Self {
        self.journal = Some(journal);
        self
    }

    /// Lies inside of this many other runs.
    pub(crate) fn nested(mut self, depth: u32) -> Self {
        self.depth = depth;
        self
    }
}

/// What a run's transport is made for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunSeed {
    /// The run.
    pub id: RunId,
    /// The run's token, for models and tools.
    pub token: CancellationToken,
    /// The run's way to its source of boundary inputs.
    pub(crate) boundary: Option<BoundaryPort>,
    /// What of the run its keeper has not stored yet.
    pub(crate) tail: Option<Arc<Tail>>,
}

/// Why a run cannot start. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The engine was shut down (C10).
    #[error(transparent)]
    EngineShutdown(#[from] EngineShutdown),
    /// A run or another operation has the session (S2).
    #[error("the session is busy")]
    Busy,
    /// The host has a keeper, and the session was not opened with it, or was opened again since: its runs would not be kept.
    #[error("the session was not opened with the host's keeper, or was opened again since")]
    NotKept,
    /// The input is out of bounds, or there is no room for it in the history.
    #[error(transparent)]
    Invalid(Misuse),
    /// The suspended run cannot go on here (H6).
    #[error(transparent)]
    Resume(ResumeError),
    /// The source of ids gave one that is not valid (M1).
    #[error(transparent)]
    Id(#[from] IdError),
}

impl From<Misuse> for StartError {
    fn from(misuse: Misuse) -> Self {
        match misuse {
            Misuse::InvalidResume(error) => Self::Resume(error),
            other => Self::Invalid(other),
        }
    }
}

/// Gives a session free again unless a run has taken it.
struct Reservation<'a>(Option<&'a SessionShared>);

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if let Some(session) = self.0 {
            session.release();
        }
    }
}

/// Starts a run: the machine makes its first step here, so that a bad input is an error of this call and not of the
/// driver, and so that the run can be cancelled by whoever has it, polled or not.
pub(crate) fn start<F: Flavour, T: Timer + Clone, X: Transport>(
    session: &Session<F, T>,
    input: UserInput,
    options: RunOptions,
    transport: impl FnOnce(&RunSeed) -> X,
) -> Result<(Run, Driver<T, X>), StartError> {
    let engine = &session.engine;
    launch(session, options, Which::New, transport, |begins| {
        let found = begins.found;
        let (id, model) = (session.shared.id.clone(), Arc::clone(engine.host.model_spec()));
        let start = Start::new(id, found.revision, found.history, input.0, model)
            .tools(Arc::clone(engine.host.tools()))
            .reader(begins.reader)
            .cancelled(begins.cancelled)
            .approvals(found.approvals)
            .boundaries(found.source.is_some())
            .compacts(engine.host.compactor().is_some())
            .observers(engine.host.observers())
            .context(found.context)
            .answerers(begins.answerers)
            .suspends(begins.suspends);
        Input::Start(Box::new(start))
    })
}

/// Goes on with a run that was suspended; as [`start`].
pub(crate) fn resume<F: Flavour, T: Timer + Clone, X: Transport>(
    session: &Session<F, T>,
    suspended: Arc<Suspended>,
    options: RunOptions,
    transport: impl FnOnce(&RunSeed) -> X,
) -> Result<(Run, Driver<T, X>), StartError> {
    let engine = &session.engine;
    let value = Arc::clone(&suspended);
    launch(session, options, Which::Resumed(&value), transport, |begins| {
        let found = begins.found;
        let (id, model) = (session.shared.id.clone(), Arc::clone(engine.host.model_spec()));
        let mut resume = Resume::new(suspended, id, found.revision, found.history, model);
        resume.tools = Arc::clone(engine.host.tools());
        resume.reader = begins.reader;
        resume.cancelled = begins.cancelled;
        resume.approvals = found.approvals;
        resume.boundaries = found.source.is_some();
        resume.compacts = engine.host.compactor().is_some();
        resume.observers = engine.host.observers();
        resume.context = found.context;
        resume.answerers = begins.answerers;
        resume.suspends = begins.suspends;
        Input::Resume(Box::new(resume))
    })
}

/// What a run begins with.
struct Begins {
    found: Found,
    reader: Reader,
    cancelled: bool,
    answerers: Answerers,
    suspends: bool,
}

/// Which run is to be launched.
enum Which<'a> {
    New,
    /// One that was put aside.
    Resumed(&'a Suspended),
    /// One whose process was lost, with the record that goes on.
    Recovered(Box<Rebuilt>),
}

/// A machine that has made its first step here.
struct Begun {
    machine: Machine,
    out: Outbox,
    next: Next,
    tape: Option<Tape>,
    /// Behind which event its readers begin, and when that is.
    behind: Option<(Seq, Clock)>,
}

/// A run that has not begun in this process.
fn begin(
    config: &Arc<Config>,
    seed: &RunSeed,
    now: Time,
    (resumed, journal): (Option<&Suspended>, Option<Journal>),
    input: Input,
) -> Result<Begun, StartError> {
    let mut machine = Machine::new(seed.id.clone(), Arc::clone(config));
    let part = resumed.map_or(Seq(0), Suspended::last_seq);
    let scribe = seed.tail.clone().map(|tail| Scribe::new(tail, part));
    let mut tape = Tape::of(Recorder::new(&machine), journal, scribe);
    let mut out = Outbox::new();
    let next = step_with(&mut machine, &mut tape, now, input, &mut out)?;
    Ok(Begun { machine, out, next, tape, behind: None })
}

/// A run that was rebuilt from its journal.
fn begin_again(
    Rebuilt { mut machine, recorder, scribe }: Rebuilt,
    now: Time,
    journal: Option<Journal>,
    recover: Recover,
) -> Result<Begun, StartError> {
    let (before, at) = (machine.log().last_seq(), machine.now());
    let mut tape = Tape::of(recorder, journal, Some(scribe));
    let mut out = Outbox::new();
    let next = step_with(&mut machine, &mut tape, at, Input::Recover(Box::new(recover)), &mut out)?;
    let behind = Some((before, Clock::new(now, at)));
    Ok(Begun { machine, out, next, tape, behind })
}

/// A run that was rebuilt from its journal, and the record that goes on.
pub(crate) struct Rebuilt {
    pub(crate) machine: Machine,
    pub(crate) recorder: Recorder,
    pub(crate) scribe: Scribe,
}

/// Goes on with a run whose process was lost; as [`start`].
pub(crate) fn go_on<F: Flavour, T: Timer + Clone>(
    session: &Session<F, T>,
    rebuilt: Rebuilt,
    options: RunOptions,
) -> Result<(Run, Driver<T, HostTransport<F>>), StartError> {
    let host = session.engine.host.clone();
    let transport = |seed: &RunSeed| HostTransport::for_run(host, seed);
    let which = Which::Recovered(Box::new(rebuilt));
    // It has its input.
    launch(session, options, which, transport, |_| Input::HandleGone)
}

fn launch<F: Flavour, T: Timer + Clone, X: Transport>(
    session: &Session<F, T>,
    options: RunOptions,
    which: Which<'_>,
    transport: impl FnOnce(&RunSeed) -> X,
    first: impl FnOnce(Begins) -> Input,
) -> Result<(Run, Driver<T, X>), StartError> {
    let (engine, shared) = (&session.engine, &session.shared);
    engine.registry.check_open()?;
    let found = shared.reserve().ok_or(StartError::Busy)?;
    let mut reservation = Reservation(Some(shared));
    let key = engine.registry.next_run()?;
    let seed = seed(session, &options, &which, &found, key.number())?;
    let transport = transport(&seed);
    let timer = engine.timer.clone();
    let now = timer.now();

    let reader = if options.unattended { Reader::Unattended } else { Reader::Primary };
    let cancelled = options.token.as_ref().is_some_and(CancellationToken::is_cancelled);
    let answerers = Answerers { handle: true, responder: engine.host.has_responder() };
    let begins = Begins { found, reader, cancelled, answerers, suspends: options.suspends };
    let begun = match which {
        Which::New => begin(&engine.config, &seed, now, (None, options.journal), first(begins))?,
        Which::Resumed(value) => {
            begin(&engine.config, &seed, now, (Some(value), options.journal), first(begins))?
        }
        Which::Recovered(parts) => {
            let recover = Recover::new(reader, answerers).observers(engine.host.observers());
            begin_again(*parts, now, options.journal, recover)?
        }
    };

    let Begun { machine, out, next, tape, behind } = begun;
    let then = machine.now();
    let mut state = RunState::new(machine, out, then, next, reader == Reader::Primary);
    state.tape = tape;
    let state = behind.into_iter().fold(state, |state, (seq, clock)| state.behind(seq, clock));
    let tokens = (seed.token, options.token);
    let registration = (Arc::clone(&engine.registry), key);
    let run = Arc::new(RunShared::new(state, seed.id.clone(), tokens, Arc::clone(shared), registration));
    if let Some(port) = &seed.boundary {
        port.connect(&run);
    }
    let keeper = GateKeeper(Arc::new(Gate::default()));
    let before = shared.occupy(&run, Arc::clone(&keeper.0));
    // From here on a shutdown finds the run, and gives the session free itself.
    engine.registry.insert(key, &run)?;
    reservation.0 = None;
    // Cancelled before it began, it has ended already.
    run.poke();
    let driver = Driver::new(Arc::clone(&run), timer, transport, Gates::new(before), keeper);
    Ok((Run::new(run), driver))
}

/// What a run's transport is made for. The host's own code runs here, between reserving and occupying: no lock is held.
fn seed<F: Flavour, T>(
    session: &Session<F, T>,
    options: &RunOptions,
    which: &Which<'_>,
    found: &Found,
    number: u64,
) -> Result<RunSeed, StartError> {
    let (engine, shared) = (&session.engine, &session.shared);
    let book = engine.host.book();
    let claimed = |book: &Book| book.epoch(&shared.id).filter(|epoch| shared.claim == Some(*epoch));
    let epoch = book.map(|book| claimed(book).ok_or(StartError::NotKept)).transpose()?;
    let (id, part) = match which {
        Which::New => (engine.new_run(number, &shared.id, epoch)?, Seq(0)),
        Which::Resumed(value) => {
            found.check(value).map_err(StartError::Resume)?;
            (value.run_id().clone(), value.last_seq())
        }
        Which::Recovered(rebuilt) => (rebuilt.machine.log().run_id().clone(), Seq(0)),
    };
    let tail = match (which, book) {
        (Which::Recovered(rebuilt), _) => Some(Arc::clone(rebuilt.scribe.tail())),
        (Which::New | Which::Resumed(_), Some(book)) => {
            epoch.and_then(|epoch| book.tail(&Owner { session: shared.id.clone(), epoch }, &id, part, 0))
        }
        (Which::New | Which::Resumed(_), None) => None,
    };
    let source = found.source.clone().or_else(|| match which {
        // A run that asks a source and has none any more learns that (B6); nobody would ever answer it else.
        Which::Recovered(_) => Some(boundary_inputs().0),
        Which::New | Which::Resumed(_) => None,
    });
    let boundary = source.map(BoundaryPort::new);
    Ok(RunSeed { id, token: CancellationToken::nested(options.depth), boundary, tail })
}
