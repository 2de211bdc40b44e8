//! What a run's handle, driver, streams and waiters share: the machine and what surrounds it, behind one lock.
//!
//! **Locks.** The run's lock is taken first; the session's and the registry's are taken inside of it, and nothing is
//! taken inside of those but a gate's and a best-effort queue's; cloning a session's source of boundary inputs counts and
//! takes none. No foreign code runs under any of them: wakers, also replaced ones, leave with [`Woken`] and are woken and
//! dropped after unlocking (X5).

use crate::CancellationToken;
use crate::core::Run as Machine;
use crate::core::event::Envelope;
use crate::core::host_input::{HostAnswer, HostRequest, RespondError};
use crate::core::id::{RequestId, RunId, Seq, SteerId};
use crate::core::input::AbortCause;
use crate::core::log::EventLog;
use crate::core::outcome::{LateCompletion, Outcome};
use crate::core::output::CancelReply;
use crate::core::reader::{LiveHistory, ReadBounds, ReadError, Reader};
use crate::core::steer::{RetractReply, SteerError};
use crate::core::suspend::{NotSuspendable, Suspended};
use crate::core::tool::ToolVisibility;
use crate::host::{UnknownTool, known};
use crate::panics::drop_caught;
use crate::reading::{Place, Readers};
use crate::registry::{Registry, RunKey};
use crate::session::SessionShared;
use crate::start::UserInput;
use crate::state::{Nap, RunState};
use crate::sync::{Arc, AtomicBool, Mutex, lock};
use crate::wakers::Woken;
use std::fmt;
use std::task::Waker;

/// One run, as all who have to do with it see it.
pub(crate) struct RunShared {
    pub(crate) id: RunId,
    /// The run's own token.
    pub(crate) token: CancellationToken,
    /// A token that the host brought along; it may belong to several runs.
    pub(crate) outer: Option<CancellationToken>,
    session: Arc<SessionShared>,
    registry: Arc<Registry>,
    key: RunKey,
    /// The handle's own stream has been passed over: what its buffer holds is void (E14).
    pub(crate) discarded: AtomicBool,
    state: Mutex<RunState>,
}

impl RunShared {
    pub(crate) fn new(
        start: RunState,
        id: RunId,
        tokens: (CancellationToken, Option<CancellationToken>),
        session: Arc<SessionShared>,
        (registry, key): (Arc<Registry>, RunKey),
    ) -> Self {
        let (token, outer) = tokens;
        Self {
            id,
            token,
            outer,
            session,
            registry,
            key,
            discarded: AtomicBool::new(false),
            state: Mutex::new(start),
        }
    }

    /// Runs `f` under the lock; then, still under it, commits a run that has ended, and lets everyone know what came
    /// of it.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut RunState) -> R) -> R {
        let mut woken = Woken::default();
        let result = {
            let mut state = lock(&self.state);
            let result = f(&mut state);
            if let Some((history, revision)) = state.just_committed() {
                self.session.install(history, revision);
            }
            if state.has_just_ended() {
                if let Some(outcome) = state.machine().outcome() {
                    self.session.commit(&self.id, outcome);
                }
                self.registry.remove(self.key);
            }
            state.offer(&self.id, &self.registry.best_effort, &mut woken);
            state.publish(&mut woken);
            result
        };
        woken.wake();
        result
    }

    /// Whether one of the run's tokens is cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.token.is_cancelled() || self.outer.as_ref().is_some_and(CancellationToken::is_cancelled)
    }

    /// Cancels the run at once, whoever polls it.
    pub(crate) fn cancel(&self) -> CancelReply {
        let reply = self.with(|state| {
            state.poke();
            state.cancel()
        });
        if reply == CancelReply::Cancelled {
            self.token.cancel();
        }
        reply
    }

    /// Ends the run at once; whether it was running.
    pub(crate) fn abort(&self, cause: AbortCause) -> bool {
        let live = self.with(|state| {
            let live = state.is_live();
            state.poke();
            state.abort(cause);
            live
        });
        if live {
            self.token.cancel();
        }
        live
    }

    /// Adds an input while the run is under way.
    pub(crate) fn steer(&self, id: Option<SteerId>, input: UserInput) -> Result<SteerId, SteerError> {
        self.with(|state| state.steer(id, input.into_parts()))
    }

    /// Takes an input back.
    pub(crate) fn retract(&self, id: &SteerId) -> RetractReply {
        let id = id.clone();
        self.with(|state| state.retract(id))
    }

    /// Answers a request.
    pub(crate) fn respond(&self, request: &RequestId, answer: HostAnswer) -> Result<(), RespondError> {
        let request = request.clone();
        self.with(|state| state.respond(request, answer))
    }

    /// Puts the run aside as a value.
    pub(crate) fn suspend(&self) -> Result<Arc<Suspended>, NotSuspendable> {
        self.with(RunState::suspend)
    }

    /// The requests that stand open.
    pub(crate) fn requests(&self) -> Vec<Arc<HostRequest>> {
        lock(&self.state).machine().requests().to_vec()
    }

    /// Has the model offered other tools.
    pub(crate) fn show_tools<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
        show: bool,
    ) -> Result<(), UnknownTool> {
        let tools: Vec<_> = lock(&self.state).machine().tools().to_vec();
        let names = known(&tools, names)?;
        let mut change = ToolVisibility::default();
        if show {
            change.show = names
        } else {
            change.hide = names
        }
        self.with(|state| state.show(change));
        Ok(())
    }

    pub(crate) fn outcome(&self) -> Option<Arc<Outcome>> {
        lock(&self.state).outcome()
    }

    pub(crate) fn late(&self) -> Vec<LateCompletion> {
        lock(&self.state).machine().late().to_vec()
    }

    /// Events after `after` that the log still holds, at most `most`.
    pub(crate) fn events_after(&self, after: Seq, most: usize) -> Vec<Envelope> {
        lock(&self.state).machine().log().after(after).take(most).cloned().collect()
    }

    /// Has `f` serve a subscription. That records nothing, and nobody is to be told.
    pub(crate) fn read<R>(&self, f: impl FnOnce(&mut Readers, &EventLog) -> R) -> R {
        let mut state = lock(&self.state);
        let (readers, log) = state.readers();
        f(readers, log)
    }

    /// A subscription to what follows the conversation as it stands, and that, in one step.
    pub(crate) fn join(&self, bounds: ReadBounds) -> Result<(LiveHistory, Place), ReadError> {
        let mut state = lock(&self.state);
        let live = state.machine().live_history();
        let (readers, log) = state.readers();
        let reader = Reader::new(log, &live.cursor, bounds)?;
        Ok((live, readers.insert(reader)))
    }

    /// Has `f` look at the machine.
    pub(crate) fn look<R>(&self, f: impl FnOnce(&Machine) -> R) -> R {
        f(lock(&self.state).machine())
    }

    /// Has the driver look at the state again.
    pub(crate) fn poke(&self) {
        self.with(RunState::poke);
    }

    /// Drops what the driver would be woken by.
    pub(crate) fn forget_driver(&self) {
        let waker = lock(&self.state).forget_driver();
        drop_caught(waker);
    }

    /// Has the driver sleep, unless something happened since its last round: whether it sleeps.
    pub(crate) fn sleep(&self, waker: &Waker) -> bool {
        let mut spare = None;
        loop {
            let nap = lock(&self.state).sleep(waker, &mut spare);
            match nap {
                Nap::Asleep => return true,
                Nap::Awake => return false,
                Nap::NeedsWaker => spare = Some(waker.clone()),
            }
        }
    }

    #[cfg(feature = "verify")]
    pub(crate) fn plant_panic(&self, steps: u64) {
        lock(&self.state).plant_panic(steps);
    }
}

/// Names the run and takes no lock: what is written to is foreign code.
impl fmt::Debug for RunShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.id, f)
    }
}
