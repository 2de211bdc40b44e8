//! The handle of a run.

use crate::CancellationToken;
use crate::control::RunControl;
use crate::core::event::Envelope;
use crate::core::host_input::{HostAnswer, HostRequest, RespondError};
use crate::core::id::{RequestId, RunId, Seq, SteerId};
use crate::core::input::AbortCause;
use crate::core::outcome::{LateCompletion, Outcome};
use crate::core::output::CancelReply;
use crate::core::steer::{RetractReply, SteerError};
use crate::core::suspend::{NotSuspendable, Suspended};
use crate::feed::{EventStream, Events, Feed};
use crate::outcome::WaitForOutcome;
use crate::reading::RunReader;
use crate::shared::RunShared;
use crate::start::UserInput;
use crate::sync::Arc;
use std::fmt;
use std::future::poll_fn;

/// A run: its events, its outcome, and the commands that it takes.
///
/// Dropping it ends a run that is not finished: when the drop returns, the run is committed, its log closed and its
/// session idle (C8). All commands act at once, on any thread, whether or not anyone polls the driver.
///
/// Read the events or await the outcome: a run whose events are not read pauses when they are full (E13).
#[must_use = "dropping the handle ends the run"]
pub struct Run {
    // Dropped in this order: a handle that goes with its stream ends the run as a dropped handle (C9).
    handle: RunHandle,
    feed: Feed,
}

impl Run {
    pub(crate) fn new(shared: Arc<RunShared>) -> Self {
        let feed = Feed::new(Arc::clone(&shared));
        Self { handle: RunHandle { shared }, feed }
    }

    /// The run's events. The stream borrows the handle, and dropping it loses nothing: a later one goes on where it
    /// stopped.
    pub fn events(&mut self) -> Events<'_> {
        Events { feed: &mut self.feed }
    }

    /// Waits until [`take`](Run::take) has something; false after the terminal event.
    pub async fn fill(&mut self) -> bool {
        poll_fn(|cx| self.feed.poll_fill(cx)).await
    }

    /// The next event of those at hand, by reference: cheaper than a stream of owned events. `None` means that
    /// [`fill`](Run::fill) is needed.
    pub fn take(&mut self) -> Option<&Envelope> {
        self.feed.take()
    }

    /// The run's outcome, once it has ended. Any number of tasks may wait for it.
    ///
    /// From its first poll on it lets the handle's own events go unread, so that the run does not pause for them
    /// (E14). Dropped early, it leaves the rest of them to be read.
    pub fn outcome(&self) -> WaitForOutcome<'_> {
        self.handle.outcome()
    }

    /// Separates the handle from its stream, so that each can go to a task of its own.
    pub fn split(self) -> (RunHandle, EventStream) {
        self.handle.shared.with(|state| state.split = true);
        (self.handle, EventStream { feed: self.feed })
    }

    /// Lets the run go on without handle and reader. Only its session, its engine and its driver reach it then.
    pub fn detach(self) {
        self.handle.shared.with(|state| state.unattended = true);
    }

    /// What the handle can do beside reading events.
    pub fn handle(&self) -> &RunHandle {
        &self.handle
    }

    /// Commands to the run that any task can give, also while its events are read; see [`RunControl`].
    pub fn control(&self) -> RunControl {
        self.handle.control()
    }

    /// Reads the run beside its own stream, also after its end and without a handle; see [`RunReader`].
    pub fn reader(&self) -> RunReader {
        self.handle.reader()
    }

    /// See [`RunControl::respond`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn respond(&self, request: &RequestId, answer: HostAnswer) -> Result<(), RespondError> {
        self.handle.respond(request, answer)
    }

    /// See [`RunControl::steer`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn steer(&self, input: impl Into<UserInput>) -> Result<SteerId, SteerError> {
        self.handle.steer(input)
    }

    /// See [`RunControl::retract`].
    pub fn retract(&self, id: &SteerId) -> RetractReply {
        self.handle.retract(id)
    }

    /// See [`RunControl::suspend`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn suspend(&self) -> Result<Arc<Suspended>, NotSuspendable> {
        self.handle.suspend()
    }

    /// See [`RunControl::requests`].
    pub fn requests(&self) -> Vec<Arc<HostRequest>> {
        self.handle.requests()
    }

    /// See [`RunHandle::id`].
    pub fn id(&self) -> &RunId {
        self.handle.id()
    }

    /// See [`RunHandle::cancel`].
    pub fn cancel(&self) -> CancelReply {
        self.handle.cancel()
    }

    /// See [`RunHandle::cancellation_token`].
    pub fn cancellation_token(&self) -> CancellationToken {
        self.handle.cancellation_token()
    }
}

/// The handle of a run without its stream; see [`Run::split`].
///
/// Dropping it ends a run that is not finished, as dropping a [`Run`] does (C8).
#[must_use = "dropping the handle ends the run"]
pub struct RunHandle {
    shared: Arc<RunShared>,
}

impl RunHandle {
    /// Commands to the run that any task can give; see [`RunControl`].
    pub fn control(&self) -> RunControl {
        RunControl::new(&self.shared)
    }

    /// Reads the run beside its stream; see [`RunReader`].
    pub fn reader(&self) -> RunReader {
        RunReader::new(&self.shared)
    }

    /// See [`RunControl::respond`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn respond(&self, request: &RequestId, answer: HostAnswer) -> Result<(), RespondError> {
        self.shared.respond(request, answer)
    }

    /// See [`RunControl::steer`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn steer(&self, input: impl Into<UserInput>) -> Result<SteerId, SteerError> {
        self.shared.steer(None, input.into())
    }

    /// See [`RunControl::retract`].
    pub fn retract(&self, id: &SteerId) -> RetractReply {
        self.shared.retract(id)
    }

    /// See [`RunControl::suspend`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn suspend(&self) -> Result<Arc<Suspended>, NotSuspendable> {
        self.shared.suspend()
    }

    /// See [`RunControl::requests`].
    pub fn requests(&self) -> Vec<Arc<HostRequest>> {
        self.shared.requests()
    }

    /// The run's id.
    pub fn id(&self) -> &RunId {
        &self.shared.id
    }

    /// Cancels the run, at once and atomically, on any thread; who won (C7).
    ///
    /// When it returns, the run is committed, its log closed and its session idle; with required observers it is idle when
    /// they have accepted the end of the record, or have had their time (L5). Results that the driver had taken
    /// in are kept. Models and tools learn of it through their token, and are dropped when the driver is polled next.
    pub fn cancel(&self) -> CancelReply {
        self.shared.cancel()
    }

    /// The run's token. Cancelling it cancels the run when its driver is polled next (C3).
    pub fn cancellation_token(&self) -> CancellationToken {
        self.shared.token.clone()
    }

    /// The run's outcome, once it has ended. Any number of tasks may wait for it. It leaves a stream that was split
    /// off alone: if nobody reads that, the run pauses (E14). Otherwise see [`Run::outcome`].
    ///
    /// From this call on, and not only from the first poll, the outcome counts as awaited: then the run goes on when
    /// the stream is dropped (C9).
    pub fn outcome(&self) -> WaitForOutcome<'_> {
        WaitForOutcome::new(&self.shared)
    }

    /// The run's outcome, if it has ended.
    pub fn try_outcome(&self) -> Option<Arc<Outcome>> {
        self.shared.outcome()
    }

    /// The last few results that came too late to be applied, those after the run's end included (C6).
    pub fn late(&self) -> Vec<LateCompletion> {
        self.shared.late()
    }

    /// Up to `most` events after `after` that the log still holds, oldest first. It neither takes part in the
    /// primary stream nor disturbs it.
    pub fn events_after(&self, after: Seq, most: usize) -> Vec<Envelope> {
        self.shared.events_after(after, most)
    }

    /// What the log still holds as JSON Lines, oldest first, each line in canonical JSON.
    pub fn log_json(&self) -> String {
        let mut lines = String::new();
        for envelope in self.events_after(Seq(0), usize::MAX) {
            lines.push_str(&envelope.to_json(&self.shared.id));
            lines.push('\n');
        }
        lines
    }

    /// Lets the run go on without a handle. A stream that was split off still paces it while it is there.
    pub fn detach(self) {
        self.shared.with(|state| state.unattended = true);
    }

    /// Makes the machine panic after `steps` further inputs, to show what a defect of its own would lead to (X5).
    #[doc(hidden)]
    #[cfg(feature = "verify")]
    pub fn plant_panic(&self, steps: u64) {
        self.shared.plant_panic(steps);
    }
}

impl Drop for RunHandle {
    fn drop(&mut self) {
        if !self.shared.with(|state| state.unattended) {
            self.shared.abort(AbortCause::HandleDropped);
        }
        self.shared.with(|state| state.answerer_goes());
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Run").field(&self.handle.shared).finish()
    }
}

impl fmt::Debug for RunHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RunHandle").field(&self.shared).finish()
    }
}
