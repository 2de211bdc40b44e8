//! How a run begins.

use crate::CancellationToken;
use crate::boundary::BoundaryPort;
use crate::core::error::Misuse;
use crate::core::id::{IdError, RunId};
use crate::core::input::{Answerers, Reader, Start};
use crate::core::message::Part;
use crate::core::suspend::{Resume, ResumeError, Suspended};
use crate::core::{Input, Outbox, Run as Machine};
use crate::driver::Driver;
use crate::engine::{EngineShutdown, IdKind};
use crate::gate::{Gate, GateKeeper, Gates};
use crate::host::Flavour;
use crate::run::Run;
use crate::session::{Found, Session, SessionShared};
use crate::shared::RunShared;
use crate::state::RunState;
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
    launch(session, options, None, transport, |begins| {
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
    launch(session, options, Some(&Arc::clone(&suspended)), transport, |begins| {
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

fn launch<F: Flavour, T: Timer + Clone, X: Transport>(
    session: &Session<F, T>,
    options: RunOptions,
    resumed: Option<&Suspended>,
    transport: impl FnOnce(&RunSeed) -> X,
    first: impl FnOnce(Begins) -> Input,
) -> Result<(Run, Driver<T, X>), StartError> {
    let (engine, shared) = (&session.engine, &session.shared);
    engine.registry.check_open()?;
    let found = shared.reserve().ok_or(StartError::Busy)?;
    let mut reservation = Reservation(Some(shared));
    let key = engine.registry.next_run()?;
    // The host's own code runs between reserving and occupying: no lock is held.
    let id = match resumed {
        Some(value) => value.run_id().clone(),
        None => RunId::new(engine.new_id(IdKind::Run, key.number()))?,
    };
    if let Some(value) = resumed {
        found.check(value).map_err(StartError::Resume)?;
    }
    let boundary = found.source.clone().map(BoundaryPort::new);
    let seed = RunSeed { id, token: CancellationToken::nested(options.depth), boundary };
    let transport = transport(&seed);
    let timer = engine.timer.clone();
    let now = timer.now();

    let reader = if options.unattended { Reader::Unattended } else { Reader::Primary };
    let cancelled = options.token.as_ref().is_some_and(CancellationToken::is_cancelled);
    let answerers = Answerers { handle: true, responder: engine.host.has_responder() };
    let begins = Begins { found, reader, cancelled, answerers, suspends: options.suspends };
    let mut machine = Machine::new(seed.id.clone(), Arc::clone(&engine.config));
    let mut out = Outbox::new();
    let next = machine.step(now, first(begins), &mut out)?;

    let state = RunState::new(machine, out, now, next, reader == Reader::Primary);
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
