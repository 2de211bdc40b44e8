//! Sessions as values: what a host saves, and what it restores them from (S3).

use super::{Active, Session, SessionShared, SessionState, State};
use crate::core::history::HistoryBounds;
use crate::core::snapshot::{LastRun, Lifecycle, Metadata, Snapshot};
use crate::core::suspend::Suspended;
use crate::core::tool::Approvals;
use crate::host::Flavour;
use crate::store::Epoch;
use crate::sync::{Arc, Mutex, lock};

impl<F: Flavour, T> Session<F, T> {
    /// The session as it was committed last, for any store; cheap, whatever the history's length. While a run is under
    /// way nothing of it is in the snapshot but what it has committed already: boundary inputs and compactions.
    ///
    /// Remembered consents are not in it (T2), and neither is a source of boundary inputs. A run that was put aside is,
    /// until it goes on to its end or the session commits something else (H6).
    pub fn snapshot(&self) -> Snapshot {
        let model = self.engine.host.model_spec().name.clone();
        // Counted before the session is looked at: no run that the snapshot knows has a later number.
        let runs = self.engine.registry.counted();
        let state = lock(&self.shared.state);
        let snapshot = state.snapshot(&self.shared);
        drop(state);
        snapshot.with_model(model).with_runs(runs)
    }

    /// What the host keeps with the session.
    pub fn metadata(&self) -> Metadata {
        lock(&self.shared.state).metadata.clone()
    }

    /// Keeps something else with the session, also while a run is under way; what was kept comes back. The revision stays:
    /// it counts what is said.
    pub fn set_metadata(&self, metadata: Metadata) -> Metadata {
        std::mem::replace(&mut lock(&self.shared.state).metadata, metadata)
    }

    /// The run that was put aside and can go on from here with [`Session::resume`], if there is one: the session's last
    /// one that was, also when the session was restored from a snapshot (H6).
    pub fn suspended(&self) -> Option<Arc<Suspended>> {
        lock(&self.shared.state).suspended().cloned()
    }
}

impl State {
    fn suspended(&self) -> Option<&Arc<Suspended>> {
        self.suspended.as_ref().filter(|value| value.revision() == self.revision)
    }

    fn snapshot(&self, shared: &SessionShared) -> Snapshot {
        let lifecycle = match self.rest {
            SessionState::Completed => Lifecycle::Completed,
            SessionState::Failed => Lifecycle::Failed,
            SessionState::Idle
            | SessionState::Running
            | SessionState::WaitingForHostInput
            | SessionState::Cancelling => Lifecycle::Idle,
        };
        let last = self.last.clone().map(|(id, seq)| LastRun { id, seq });
        let snapshot = Snapshot::new(shared.id.clone(), self.revision, self.history.clone())
            .with_lifecycle(lifecycle)
            .with_context(self.context)
            .with_metadata(self.metadata.clone())
            .with_last_run(last);
        match self.suspended().cloned() {
            Some(value) => snapshot.with_suspended(value),
            None => snapshot,
        }
    }
}

impl SessionShared {
    /// A session from its snapshot. The history has the engine's bounds from here on; one that is longer stays as it is.
    pub(crate) fn restore(snapshot: &Snapshot, bounds: HistoryBounds, claim: Option<Epoch>) -> Self {
        let rest = match snapshot.lifecycle() {
            Lifecycle::Completed => SessionState::Completed,
            Lifecycle::Failed => SessionState::Failed,
            _ => SessionState::Idle,
        };
        let state = State {
            history: snapshot.history().clone().with_bounds(bounds),
            revision: snapshot.revision(),
            rest,
            active: Active::None,
            approvals: Approvals::default(),
            forgotten: false,
            context: snapshot.context(),
            source: None,
            gate: None,
            last: snapshot.last_run().map(|last| (last.id.clone(), last.seq)),
            metadata: snapshot.metadata().clone(),
            suspended: snapshot.suspended().cloned(),
        };
        Self { id: snapshot.session_id().clone(), claim, state: Mutex::new(state) }
    }
}
