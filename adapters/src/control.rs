//! Commands to a run that outlive its handle's borrow: answers, suspension, cancellation.

use crate::CancellationToken;
use crate::core::host_input::{HostAnswer, HostRequest, RespondError};
use crate::core::id::{RequestId, RunId, SteerId};
use crate::core::output::CancelReply;
use crate::core::steer::{RetractReply, SteerError};
use crate::core::suspend::{NotSuspendable, Suspended};
use crate::host::UnknownTool;
use crate::reading::RunReader;
use crate::shared::RunShared;
use crate::start::UserInput;
use crate::sync::Arc;
use std::fmt;

/// Commands to a run, for any task and any number of them; see [`Run::control`](crate::Run::control).
///
/// It keeps the run neither going nor in the session: dropping it ends nothing. But as long as there is one, someone
/// can answer the run's requests (H2).
pub struct RunControl {
    shared: Arc<RunShared>,
}

impl RunControl {
    /// One more that can answer.
    pub(crate) fn new(shared: &Arc<RunShared>) -> Self {
        shared.with(|state| state.answerer_comes());
        Self { shared: Arc::clone(shared) }
    }

    /// The run's id.
    pub fn id(&self) -> &RunId {
        &self.shared.id
    }

    /// Reads the run; see [`RunReader`]. It goes on without this control, and cannot answer.
    pub fn reader(&self) -> RunReader {
        RunReader::new(&self.shared)
    }

    /// The requests that stand open, in the order in which they were asked (H1).
    pub fn requests(&self) -> Vec<Arc<HostRequest>> {
        self.shared.requests()
    }

    /// Answers a request, at once and exactly once, on any thread (H2). It never waits: neither for the stream, which
    /// may be full, nor for the driver, which is woken.
    ///
    /// # Errors
    ///
    /// [`RespondError`]; then nothing has changed.
    pub fn respond(&self, request: &RequestId, answer: HostAnswer) -> Result<(), RespondError> {
        self.shared.respond(request, answer)
    }

    /// Adds an input while the run is under way: it crosses into history before the run's next step, or goes into the
    /// model's turn if the model can be steered (H3, H4). Answered at once wherever the run stands, on any thread, whether
    /// or not anyone polls or reads. What was accepted is applied, or stands in
    /// [`Outcome::unapplied`](crate::Outcome::unapplied) (H5).
    ///
    /// # Errors
    ///
    /// [`SteerError`]; then nothing has changed.
    pub fn steer(&self, input: impl Into<UserInput>) -> Result<SteerId, SteerError> {
        self.shared.steer(None, input.into())
    }

    /// Adds an input under an id of the host's own; an id that waits or was applied is refused.
    ///
    /// # Errors
    ///
    /// As [`RunControl::steer`].
    pub fn steer_as(&self, id: SteerId, input: impl Into<UserInput>) -> Result<SteerId, SteerError> {
        self.shared.steer(Some(id), input.into())
    }

    /// Takes an input back, if neither the model nor the history has it yet (H3). The answer is decided at once.
    pub fn retract(&self, id: &SteerId) -> RetractReply {
        self.shared.retract(id)
    }

    /// Puts the run aside as a value, if it waits for answers only (H6). Nothing is committed, and the session is idle;
    /// [`Session::resume`](crate::Session::resume) goes on from the value. With required observers the session is idle when
    /// they have accepted the end of this part's record: await the outcome, which holds the same value, before it is kept.
    ///
    /// # Errors
    ///
    /// [`NotSuspendable`] names the calls that are under way; the run goes on then.
    pub fn suspend(&self) -> Result<Arc<Suspended>, NotSuspendable> {
        self.shared.suspend()
    }

    /// See [`RunHandle::cancel`](crate::RunHandle::cancel).
    pub fn cancel(&self) -> CancelReply {
        self.shared.cancel()
    }

    /// See [`RunHandle::cancellation_token`](crate::RunHandle::cancellation_token).
    pub fn cancellation_token(&self) -> CancellationToken {
        self.shared.token.clone()
    }

    /// Has the model offered these tools from the run's next step on; see
    /// [`ToolSpec::hidden`](crate::ToolSpec::hidden).
    ///
    /// # Errors
    ///
    /// [`UnknownTool`] names the first that the run does not have; then nothing changes.
    pub fn show_tools<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<(), UnknownTool> {
        self.shared.show_tools(names, true)
    }

    /// Keeps these tools from the model from the run's next step on.
    ///
    /// # Errors
    ///
    /// As [`RunControl::show_tools`].
    pub fn hide_tools<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<(), UnknownTool> {
        self.shared.show_tools(names, false)
    }
}

impl Clone for RunControl {
    fn clone(&self) -> Self {
        Self::new(&self.shared)
    }
}

impl Drop for RunControl {
    fn drop(&mut self) {
        self.shared.with(|state| state.answerer_goes());
    }
}

impl fmt::Debug for RunControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RunControl").field(&self.shared).finish()
    }
}
