//! Sessions: a conversation, its revision, and at most one run at a time (S1, S2).

use crate::CancellationToken;
use crate::boundary::BoundarySource;
use crate::compaction::{CompactError, Compacted};
use crate::core::compaction::ContextState;
use crate::core::history::History;
use crate::core::id::{Revision, RunId, Seq, SessionId};
use crate::core::message::Message;
use crate::core::outcome::{Outcome, RunResult};
use crate::core::snapshot::Metadata;
use crate::core::suspend::{ResumeError, Suspended};
use crate::core::time::MAX_EXACT;
use crate::core::tool::Approvals;
use crate::driver::Driver;
use crate::engine::{Inner, SessionError};
use crate::gate::Gate;
use crate::host::{Flavour, HostTransport};
use crate::reading::RunReader;
use crate::run::Run;
use crate::shared::RunShared;
use crate::start::{RunOptions, RunSeed, StartError, UserInput};
use crate::store::Epoch;
use crate::sync::{Arc, Mutex, Weak, lock};
use crate::timer::Timer;
use crate::transport::Transport;
use std::fmt;

mod snapshot;

/// What a session is doing. These are observations and not locks: decide by outcome and revision (S1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionState {
    /// Nothing; the last run, if there was one, was cancelled or dropped.
    Idle,
    /// A run is going on.
    Running,
    /// A run waits for people: an approval is open (H1).
    WaitingForHostInput,
    /// A run's token is cancelled, and its driver has not been polled since.
    Cancelling,
    /// The last run completed.
    Completed,
    /// The last run failed or was interrupted.
    Failed,
}

/// A conversation. Clones are the same session; dropping one ends nothing (C11).
pub struct Session<F: Flavour, T> {
    pub(crate) engine: Arc<Inner<F, T>>,
    pub(crate) shared: Arc<SessionShared>,
}

/// The part of a session that its runs commit to.
pub(crate) struct SessionShared {
    pub(crate) id: SessionId,
    /// The claim that its keeper had when it opened the session (L5).
    pub(crate) claim: Option<Epoch>,
    state: Mutex<State>,
}

struct State {
    history: History,
    revision: Revision,
    /// What the session is when no run is going on.
    rest: SessionState,
    active: Active,
    /// What people have consented to once and for all (T2).
    approvals: Approvals,
    /// Whether that was to be forgotten while a run was going on.
    forgotten: bool,
    /// What is known about the size of the context (K1).
    context: ContextState,
    /// Where runs ask for boundary inputs (B1).
    source: Option<BoundarySource>,
    /// Of the last run whose futures may still be there; it knows those before (C8).
    gate: Option<Arc<Gate>>,
    /// The last run, and the last of its events: nothing is run twice, and no number is used twice (E1, H6).
    last: Option<(RunId, Seq)>,
    /// What the host keeps with it.
    metadata: Metadata,
    /// The run that was put aside last; it can go on while the revision is its own (H6).
    suspended: Option<Arc<Suspended>>,
}

/// What a session starts a run from.
pub(crate) struct Found {
    pub(crate) history: History,
    pub(crate) revision: Revision,
    pub(crate) approvals: Approvals,
    pub(crate) context: ContextState,
    pub(crate) source: Option<BoundarySource>,
    /// The last run, and the last of its events.
    last: Option<(RunId, Seq)>,
}

impl Found {
    /// Whether the run has gone on from `value` already, in this session object.
    pub(crate) fn check(&self, value: &Suspended) -> Result<(), ResumeError> {
        match &self.last {
            // What was committed since makes the value stale, which is found later.
            _ if value.revision() != self.revision => Ok(()),
            Some((run, reached)) if run == value.run_id() && *reached > value.last_seq() => {
                Err(ResumeError::Superseded { suspended: value.last_seq(), reached: *reached })
            }
            Some(_) | None => Ok(()),
        }
    }
}

#[derive(Clone, Debug)]
enum Active {
    None,
    /// A run is being made.
    Reserved,
    Run(Weak<RunShared>),
}

impl<F: Flavour, T> Session<F, T> {
    pub(crate) fn new(engine: Arc<Inner<F, T>>, shared: Arc<SessionShared>) -> Self {
        Self { engine, shared }
    }

    /// The session's id.
    pub fn id(&self) -> &SessionId {
        &self.shared.id
    }

    /// The revision of the committed history; each commit adds one.
    pub fn revision(&self) -> Revision {
        lock(&self.shared.state).revision
    }

    /// The committed history; shared, not copied.
    pub fn history(&self) -> History {
        lock(&self.shared.state).history.clone()
    }

    /// The history as a running run would have it; the committed one if none is running (S2). While a batch runs, its
    /// calls stand open in it.
    pub fn live_history(&self) -> History {
        let candidate =
            self.shared.running().and_then(|run| run.look(|machine| machine.candidate().cloned()));
        candidate.unwrap_or_else(|| self.history())
    }

    /// Reads the run that is going on, if one is; see [`RunReader`].
    pub fn reader(&self) -> Option<RunReader> {
        self.shared.running().map(|run| RunReader::new(&run))
    }

    /// What the session is doing (S1).
    pub fn state(&self) -> SessionState {
        let (active, rest) = {
            let state = lock(&self.shared.state);
            (state.active.clone(), state.rest)
        };
        match active {
            Active::None => rest,
            Active::Reserved => SessionState::Running,
            Active::Run(run) => match run.upgrade() {
                None => rest,
                Some(run) if run.outcome().is_some() => lock(&self.shared.state).rest,
                Some(run) if run.is_cancelled() => SessionState::Cancelling,
                Some(run) if run.look(|machine| machine.awaits_people()) => SessionState::WaitingForHostInput,
                Some(_) => SessionState::Running,
            },
        }
    }

    /// How many consents are remembered (T2). They live as long as the session in this process, and in no snapshot.
    pub fn remembered_approvals(&self) -> usize {
        lock(&self.shared.state).approvals.len()
    }

    /// Forgets every consent that was to be remembered. A run that is going on keeps what it has until it ends, and
    /// leaves nothing of it behind.
    pub fn forget_approvals(&self) {
        let mut state = lock(&self.shared.state);
        state.approvals = Approvals::default();
        state.forgotten = !matches!(state.active, Active::None);
    }

    /// Appends messages in one commit.
    ///
    /// # Errors
    ///
    /// [`SessionError::Busy`] while a run is going on; [`SessionError::History`] or [`SessionError::OpenCalls`] if
    /// the result would not be valid (M4); [`SessionError::RevisionFull`]. Nothing has changed then.
    pub fn append(&self, messages: impl IntoIterator<Item = Message>) -> Result<Revision, SessionError> {
        let messages: Vec<Message> = messages.into_iter().collect();
        self.change(|history| {
            let mut longer = history.clone();
            messages.into_iter().try_for_each(|message| longer.push(message))?;
            Ok(longer)
        })
    }

    /// Puts another history in the place of the session's.
    ///
    /// # Errors
    ///
    /// As [`Session::append`].
    pub fn replace_history(&self, history: History) -> Result<Revision, SessionError> {
        self.change(|_| Ok(history))
    }

    /// Has runs ask this source for boundary inputs, or none (B1). Use a fresh source for each run. The one that is
    /// replaced is handed back.
    ///
    /// # Errors
    ///
    /// [`SessionError::Busy`] while a run is going on.
    pub fn set_boundary_inputs(
        &self,
        source: impl Into<Option<BoundarySource>>,
    ) -> Result<Option<BoundarySource>, SessionError> {
        let source = source.into();
        let mut state = lock(&self.shared.state);
        if !matches!(state.active, Active::None) {
            drop(state);
            return Err(SessionError::Busy);
        }
        Ok(std::mem::replace(&mut state.source, source))
    }

    /// Compacts the history by hand, with the host's compactor and the policy's bounds on what stays (K6). It is an
    /// operation of the session: it begins when the future is polled first, the session is busy meanwhile, no run
    /// records anything, and dropping the future gives it up. The engine's shutdown cancels it and counts it.
    ///
    /// # Errors
    ///
    /// [`CompactError`]; the history is as it was then.
    pub async fn compact(&self) -> Result<Compacted, CompactError> {
        crate::compaction::compact(self).await
    }

    fn change(
        &self,
        make: impl FnOnce(&History) -> Result<History, SessionError>,
    ) -> Result<Revision, SessionError> {
        let mut state = lock(&self.shared.state);
        if !matches!(state.active, Active::None) {
            return Err(SessionError::Busy);
        }
        let revision = grown(state.revision).ok_or(SessionError::RevisionFull)?;
        let history = make(&state.history)?;
        at_rest(&history)?;
        (state.history, state.revision) = (history, revision);
        state.context.start_over();
        Ok(state.revision)
    }
}

impl<F: Flavour, T: Timer + Clone> Session<F, T> {
    /// Starts a run that answers `input`: the handle to follow it, and the future to poll.
    ///
    /// The run paces itself by the handle's events: read them, or await the outcome, or it pauses when they are full
    /// (E13). Nothing begins before the driver is polled.
    ///
    /// # Errors
    ///
    /// [`StartError`]: the session is busy (S2), the engine shut down, or the input out of bounds. Then nothing has
    /// changed.
    pub fn start(
        &self,
        input: impl Into<UserInput>,
    ) -> Result<(Run, Driver<T, HostTransport<F>>), StartError> {
        self.start_with(input, RunOptions::new())
    }

    /// Starts a run with these options; see [`Session::start`].
    ///
    /// # Errors
    ///
    /// As [`Session::start`].
    pub fn start_with(
        &self,
        input: impl Into<UserInput>,
        options: RunOptions,
    ) -> Result<(Run, Driver<T, HostTransport<F>>), StartError> {
        let host = self.engine.host.clone();
        self.start_on(input, options, |seed| HostTransport::for_run(host, seed))
    }

    /// Starts a run whose work another transport carries out than the host's; see [`Session::start`]. The model and
    /// the tools that the run knows of are still the host's.
    ///
    /// # Errors
    ///
    /// As [`Session::start`].
    pub fn start_on<X: Transport>(
        &self,
        input: impl Into<UserInput>,
        options: RunOptions,
        transport: impl FnOnce(&RunSeed) -> X,
    ) -> Result<(Run, Driver<T, X>), StartError> {
        crate::start::start(self, input.into(), options, transport)
    }

    /// Goes on with a run that was suspended, in this process or another (H6). The run keeps its id and the numbers of
    /// its events; its open requests stand open again and are not asked again. Answer them by the handle, before or while
    /// the driver is polled, in any order, and all or some of them.
    ///
    /// # Errors
    ///
    /// [`StartError::Resume`] if the session has committed something since, the run has gone on from the value already, as
    /// far as this session object knows, or the value is of another session or not valid; otherwise as [`Session::start`]. Then nothing has changed.
    pub fn resume(
        &self,
        suspended: impl Into<Arc<Suspended>>,
    ) -> Result<(Run, Driver<T, HostTransport<F>>), StartError> {
        self.resume_with(suspended, RunOptions::new())
    }

    /// Goes on with a run that was suspended, with these options; see [`Session::resume`].
    ///
    /// # Errors
    ///
    /// As [`Session::resume`].
    pub fn resume_with(
        &self,
        suspended: impl Into<Arc<Suspended>>,
        options: RunOptions,
    ) -> Result<(Run, Driver<T, HostTransport<F>>), StartError> {
        let host = self.engine.host.clone();
        let transport = |seed: &RunSeed| HostTransport::for_run(host, seed);
        crate::start::resume(self, suspended.into(), options, transport)
    }

    /// Cancels a run that was suspended: what stands open is closed, and what the run brought is committed (C4). The run
    /// that comes back has ended as cancelled.
    ///
    /// # Errors
    ///
    /// As [`Session::resume`].
    pub fn cancel_suspended(&self, suspended: impl Into<Arc<Suspended>>) -> Result<Run, StartError> {
        let token = CancellationToken::new();
        token.cancel();
        let (run, driver) = self.resume_with(suspended, RunOptions::new().cancellation_token(token))?;
        drop(driver);
        Ok(run)
    }
}

impl SessionShared {
    /// Keeps the session for a run that is being made; what it starts from.
    pub(crate) fn reserve(&self) -> Option<Found> {
        let mut state = lock(&self.state);
        if !matches!(state.active, Active::None) {
            return None;
        }
        state.active = Active::Reserved;
        state.forgotten = false;
        Some(Found {
            history: state.history.clone(),
            revision: state.revision,
            approvals: state.approvals.clone(),
            context: state.context,
            source: state.source.clone(),
            last: state.last.clone(),
        })
    }

    pub(crate) fn revision(&self) -> Revision {
        lock(&self.state).revision
    }

    /// Installs what a run has committed while it goes on (B4, K1).
    pub(crate) fn install(&self, history: History, revision: Revision) {
        let mut state = lock(&self.state);
        (state.history, state.revision) = (history, revision);
    }

    /// Installs what a compaction by hand has made; the session is kept for it.
    pub(crate) fn install_compaction(&self, history: History) -> Revision {
        let mut state = lock(&self.state);
        state.history = history;
        state.revision = grown(state.revision).unwrap_or(state.revision);
        state.context.start_over();
        state.revision
    }

    /// Gives the session free again.
    pub(crate) fn release(&self) {
        lock(&self.state).active = Active::None;
    }

    /// Gives the session to a run with this gate; the gate that it has to wait for, with those before.
    pub(crate) fn occupy(&self, run: &Arc<RunShared>, gate: Arc<Gate>) -> Option<Arc<Gate>> {
        let mut state = lock(&self.state);
        state.active = Active::Run(Arc::downgrade(run));
        let before = Gate::closed(state.gate.take());
        gate.follow(before.clone());
        state.gate = Some(gate);
        before
    }

    /// Installs what a run leaves behind.
    pub(crate) fn commit(&self, run: &RunId, outcome: &Outcome) {
        let mut state = lock(&self.state);
        state.last = Some((run.clone(), outcome.last_seq));
        state.history = outcome.history.clone();
        state.revision = outcome.revision;
        if !std::mem::take(&mut state.forgotten) {
            state.approvals = outcome.approvals.clone();
        }
        state.context = outcome.context;
        let is_over = |value: &Arc<Suspended>| value.run_id() == run || value.revision() != outcome.revision;
        match &outcome.result {
            RunResult::Suspended(value) => state.suspended = Some(Arc::clone(value)),
            _ if state.suspended.as_ref().is_some_and(is_over) => state.suspended = None,
            _ => {}
        }
        state.rest = match &outcome.result {
            RunResult::Completed(_) => SessionState::Completed,
            RunResult::Failed(_) => SessionState::Failed,
            _ => SessionState::Idle,
        };
        state.active = Active::None;
    }

    fn running(&self) -> Option<Arc<RunShared>> {
        match &lock(&self.state).active {
            Active::Run(run) => run.upgrade(),
            Active::None | Active::Reserved => None,
        }
    }
}

/// The revision after one more commit; `None` if JSON could not carry it.
pub(crate) fn grown(revision: Revision) -> Option<Revision> {
    (revision.0 < MAX_EXACT).then(|| Revision(revision.0 + 1))
}

fn at_rest(history: &History) -> Result<(), SessionError> {
    match history.open_calls() {
        0 => Ok(()),
        calls => Err(SessionError::OpenCalls { calls }),
    }
}

impl<F: Flavour, T> Clone for Session<F, T> {
    fn clone(&self) -> Self {
        Self { engine: Arc::clone(&self.engine), shared: Arc::clone(&self.shared) }
    }
}

impl<F: Flavour, T> fmt::Debug for Session<F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id", &self.shared.id).finish_non_exhaustive()
    }
}
