//! The native order verifier (W9): which event may follow which.
//!
//! It knows the machine's events only and none of its state, so that it can judge a log that came from elsewhere.

mod attempts;
mod between;
mod calls;
mod requests;
#[cfg(test)]
mod tests;
mod whole;

use crate::event::{Envelope, Event};
use crate::id::{OpId, Revision, Seq};
use crate::model::ProblemKind;
use crate::suspend::Suspended;
use crate::time::{MAX_EXACT, Time};
use attempts::{Attempt, Failed};
use between::Between;
use calls::Calls;
pub use whole::{encoding, verify_log, verify_tail};

/// An event that breaks the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("event {seq} breaks {rule}: {what}")]
pub struct Violation {
    /// The rule's id in the contract, such as `E3`.
    pub rule: &'static str,
    /// What is wrong.
    pub what: &'static str,
    /// The event.
    pub seq: Seq,
}

/// A broken rule and what is wrong; the caller knows the event.
type Broken = (&'static str, &'static str);

/// The order of one run's events, checked one by one.
///
/// After a violation its state says nothing any more.
#[derive(Clone, Debug)]
pub struct Verifier {
    attempts: u32,
    /// Attempts of the model call that were lost with their process: they do not count (H7).
    lost: u32,
    /// The next position; absent before the first event of a tail.
    next: Option<u64>,
    at: Time,
    end: u64,
    run: RunState,
    revision: Revision,
    /// The last step; absent in a tail before it shows.
    step: Option<u32>,
    stage: Stage,
    last_op: OpId,
    calls: Calls,
    between: Between,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunState {
    New,
    Open,
    /// Put aside: its next part goes on with `run.resumed`.
    Suspended,
    Ended,
}

/// Where the run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The head of the log is missing, and no event has told yet.
    Unknown,
    /// No step is open.
    Between,
    /// A step is open, without an attempt so far.
    Opened,
    /// An attempt is open.
    Attempt(Attempt),
    /// The attempt has failed: a reset follows, or the run is closed.
    Failed(Failed),
    /// The attempt is void: the next one follows, or the run is closed.
    Reset { attempt: Option<u32> },
    /// The attempt was ended from outside: the run is closed.
    Cancelled,
    /// The response is whole: its calls follow.
    Completed,
    /// The step ended with the run's failure.
    StepFailed,
    /// The step ended with the run's cancellation.
    StepCancelled,
}

impl Default for Verifier {
    fn default() -> Self {
        Self::new()
    }
}

impl Verifier {
    /// For a log from its first event on.
    pub fn new() -> Self {
        Self {
            attempts: u32::MAX,
            lost: 0,
            next: Some(1),
            at: Time::ZERO,
            end: 0,
            run: RunState::New,
            revision: Revision(0),
            step: Some(0),
            stage: Stage::Between,
            last_op: OpId(0),
            calls: Calls::default(),
            between: Between::default(),
        }
    }

    /// For a log whose head is missing. What began before is taken as it shows.
    pub fn tail() -> Self {
        Self {
            next: None,
            run: RunState::Open,
            step: None,
            stage: Stage::Unknown,
            calls: Calls::unknown(),
            between: Between::unknown(),
            ..Self::new()
        }
    }

    /// For the next part of a run that was suspended (H6): it begins with `run.resumed`.
    pub fn resumed(value: &Suspended) -> Self {
        Self {
            next: Some(value.seq.0 + 1),
            end: value.end,
            run: RunState::Suspended,
            revision: value.revision,
            step: Some(value.step),
            stage: Stage::Completed,
            last_op: OpId(value.ops),
            calls: Calls::resumed(value),
            between: Between::resumed(value),
            ..Self::new()
        }
    }

    /// With the configured number of attempts per model call (R1).
    #[must_use]
    pub fn attempts(mut self, most: u32) -> Self {
        self.attempts = most;
        self
    }

    /// Whether the terminal has come, or the run was suspended.
    pub fn is_closed(&self) -> bool {
        matches!(self.run, RunState::Ended | RunState::Suspended)
    }

    /// Whether the run was suspended and has not gone on since (H6).
    pub fn is_suspended(&self) -> bool {
        self.run == RunState::Suspended
    }

    /// Checks the next event.
    ///
    /// # Errors
    ///
    /// [`Violation`] names the rule and the event.
    pub fn observe(&mut self, envelope: &Envelope) -> Result<(), Violation> {
        let seq = envelope.seq;
        let broken = |(rule, what): Broken| Violation { rule, what, seq };
        if self.next.is_none() && seq == Seq(1) {
            // Nothing is missing after all.
            *self = Self::new().attempts(self.attempts);
        }
        self.envelope(envelope).map_err(broken)?;
        self.event(&envelope.event).map_err(broken)
    }

    /// The log's end: exactly one terminal has come (E2), or the run was suspended, whose next part holds it (H6).
    ///
    /// # Errors
    ///
    /// [`Violation`] if neither is so.
    pub fn finish(&self) -> Result<(), Violation> {
        let seq = Seq(self.next.unwrap_or(1) - 1);
        match self.run {
            RunState::Ended | RunState::Suspended => Ok(()),
            RunState::New | RunState::Open => {
                Err(Violation { rule: "E2", what: "the log ends without a terminal", seq })
            }
        }
    }

    fn envelope(&mut self, envelope: &Envelope) -> Result<(), Broken> {
        let seq = envelope.seq.0;
        if seq == 0 || seq > MAX_EXACT {
            return Err(("E1", "its number is out of range"));
        }
        if self.next.is_some_and(|next| next != seq) {
            return Err(("E1", "its number does not follow the one before"));
        }
        // Each part of a run has the clock of its own engine.
        let same_clock = !matches!(envelope.event, Event::RunResumed(_));
        if envelope.at < self.at && same_clock {
            return Err(("E1", "its time lies before that of the event before"));
        }
        if envelope.end <= self.end {
            return Err(("L1", "its encoded bytes were not added up"));
        }
        self.next = Some(seq + 1);
        self.at = envelope.at;
        self.end = envelope.end;
        Ok(())
    }

    fn event(&mut self, event: &Event) -> Result<(), Broken> {
        if self.begins(event)? {
            return Ok(());
        }
        if !matches!(event, Event::ToolFinished(_) | Event::HostInputCancelled(_)) {
            self.calls.taken_over(false);
        }
        self.happens(event)
    }

    /// An event of a run that goes on.
    fn happens(&mut self, event: &Event) -> Result<(), Broken> {
        match event {
            Event::RunStarted(_) => Err(("E2", "the run has started before")),
            Event::RunRecovered { .. } => self.recovered(),
            Event::RunResumed(_) => self.resumes(),
            Event::RunSuspended { revision, .. } => self.suspended(*revision),
            Event::RunCompleted(answer) => self.completed(answer.revision),
            Event::RunCancelled { revision, .. } => self.terminal(*revision, Stage::StepCancelled),
            Event::RunFailed(failed) => self.terminal(failed.revision, Stage::StepFailed),
            Event::StepStarted { step, .. } => self.step_started(*step),
            Event::StepCompleted { step } => self.step_ended(*step, Stage::Between),
            Event::StepFailed { step } => self.step_ended(*step, Stage::StepFailed),
            Event::StepCancelled { step } => self.step_ended(*step, Stage::StepCancelled),
            Event::ModelStarted(started) => self.model_started(started),
            Event::ModelCompleted(done) => self.model_completed(done),
            Event::ModelFailed(failed) => self.model_failed(failed),
            Event::ModelCancelled { op, attempt, position } => self.model_cancelled(*op, *attempt, *position),
            Event::TextDelta(text)
            | Event::RefusalDelta(text)
            | Event::ReasoningDelta(text)
            | Event::ReasoningSummaryDelta(text) => self.delta(text.is_empty()),
            Event::ToolCallDelta(delta) => self.call_delta(delta),
            Event::ContextUpdated { .. } | Event::WebSearch { .. } | Event::HostedTool(_) => {
                self.delta(false)
            }
            Event::RequestRetry { .. } | Event::Diagnostic(_) => self.attempt().map(|_| ()),
            Event::UsageUpdated(update) => self.usage(update),
            Event::StreamReset(reset) => self.reset(reset),
            Event::ToolProposed(call) => {
                self.may_propose()?;
                self.calls.proposed(call, self.step)
            }
            Event::ToolStarted(call) => {
                self.in_batch()?;
                self.calls.started(call)
            }
            Event::ToolUpdated(update) => {
                self.in_batch()?;
                self.calls.updated(update)
            }
            Event::ToolFinished(result) => self.calls.finished(result),
            Event::HostInputRequested(request) => {
                self.in_batch()?;
                self.calls.requested(request)
            }
            Event::HostInputAnswered(answered) => {
                self.in_batch()?;
                self.calls.closed(&answered.request, false)
            }
            Event::HostInputFailed(failed) => {
                self.in_batch()?;
                self.calls.closed(&failed.request, false)
            }
            Event::HostInputCancelled(request) => {
                self.in_batch()?;
                self.calls.closed(request, true)
            }
            Event::SteeringDelivered(_)
            | Event::SteeringApplied(_)
            | Event::BoundaryApplied(_)
            | Event::CompactionStarted { .. }
            | Event::CompactionCompleted(_)
            | Event::CompactionFailed(_)
            | Event::CompactionCancelled
            | Event::CompactionStopped { .. } => self.added(event),
        }
    }

    /// Whether `event` opens the run or its next part; whatever comes before that or after the end breaks the order.
    fn begins(&mut self, event: &Event) -> Result<bool, Broken> {
        match (self.run, event) {
            (RunState::Open, _) => return Ok(false),
            (RunState::Ended, _) => return Err(("E2", "the terminal is behind it")),
            (RunState::New, Event::RunStarted(started)) => self.revision = started.revision,
            (RunState::New, _) => return Err(("E2", "the first event must be run.started")),
            (RunState::Suspended, Event::RunResumed(resumed)) if resumed.revision == self.revision => {}
            (RunState::Suspended, Event::RunResumed(_)) => {
                return Err(("H6", "the run goes on at another revision"));
            }
            (RunState::Suspended, _) => return Err(("H6", "a suspended run goes on without run.resumed")),
        }
        self.run = RunState::Open;
        Ok(true)
    }

    /// `run.resumed` in a run that is open: in a tail its suspension may have come before.
    fn resumes(&self) -> Result<(), Broken> {
        if self.stage == Stage::Unknown { Ok(()) } else { Err(("H6", "the run was not suspended")) }
    }

    /// `run.suspended`: calls are open, and the session is as the run found it.
    fn suspended(&mut self, revision: Revision) -> Result<(), Broken> {
        if !matches!(self.stage, Stage::Completed | Stage::Unknown) {
            return Err(("H6", "a run is suspended outside of a batch"));
        }
        if revision != self.revision && self.stage != Stage::Unknown {
            return Err(("H6", "a suspension changes the revision"));
        }
        self.revision = revision;
        self.run = RunState::Suspended;
        Ok(())
    }

    /// `run.recovered`: what was under way is lost, and the run is not being closed (H7).
    fn recovered(&mut self) -> Result<(), Broken> {
        match self.stage {
            Stage::Unknown | Stage::Attempt(_) => self.lost = self.lost.saturating_add(1),
            Stage::Between | Stage::Reset { .. } | Stage::Completed => {}
            Stage::Opened
            | Stage::Failed(_)
            | Stage::Cancelled
            | Stage::StepFailed
            | Stage::StepCancelled => {
                return Err(("H7", "a run is recovered that has no state to go on from"));
            }
        }
        self.calls.taken_over(true);
        Ok(())
    }

    /// `run.completed`: the last step is complete.
    fn completed(&mut self, revision: Revision) -> Result<(), Broken> {
        match self.stage {
            Stage::Between if self.step != Some(0) => self.terminal(revision, Stage::Between),
            Stage::Unknown => self.terminal(revision, Stage::Unknown),
            Stage::Between => Err(("E2", "a run completes without a step")),
            Stage::StepFailed | Stage::StepCancelled => {
                Err(("E2", "a run completes whose last step did not"))
            }
            Stage::Opened
            | Stage::Attempt(_)
            | Stage::Failed(_)
            | Stage::Reset { .. }
            | Stage::Cancelled
            | Stage::Completed => Err(("E3", "the run ends while its step is open")),
        }
    }

    /// A terminal to which a step that ended as `after` agrees.
    fn terminal(&mut self, revision: Revision, after: Stage) -> Result<(), Broken> {
        self.calls.all_finished()?;
        self.between.at_rest()?;
        let between = matches!(self.stage, Stage::Between | Stage::Unknown);
        if !between && self.stage != after {
            let ended = matches!(self.stage, Stage::StepFailed | Stage::StepCancelled);
            return Err(if ended {
                ("E2", "run and step end differently")
            } else {
                ("E3", "the run ends while its step is open")
            });
        }
        if revision < self.revision {
            return Err(("E2", "the revision goes back"));
        }
        self.run = RunState::Ended;
        Ok(())
    }

    fn step_started(&mut self, step: u32) -> Result<(), Broken> {
        self.between.step_started()?;
        if !matches!(self.stage, Stage::Between | Stage::Unknown) {
            return Err(("E3", "a step starts while another is open, or after the last one"));
        }
        if step == 0 || self.step.is_some_and(|last| step != last + 1) {
            return Err(("E4", "steps are numbered from 1 without a gap"));
        }
        self.calls.next_step()?;
        self.lost = 0;
        self.step = Some(step);
        self.stage = Stage::Opened;
        Ok(())
    }

    fn step_ended(&mut self, step: u32, as_: Stage) -> Result<(), Broken> {
        self.same_step(step)?;
        match self.stage {
            Stage::Attempt(_) => return Err(("E3", "the step ends while its attempt is open")),
            Stage::Between | Stage::StepFailed | Stage::StepCancelled => {
                return Err(("E3", "no step is open"));
            }
            Stage::Unknown | Stage::Completed => {}
            Stage::Opened | Stage::Failed(_) | Stage::Reset { .. } | Stage::Cancelled => {
                if as_ == Stage::Between {
                    return Err(("E3", "a step completes without a response"));
                }
            }
        }
        self.calls.all_finished()?;
        self.between.step_ended()?;
        self.stage = as_;
        Ok(())
    }

    fn same_step(&mut self, step: u32) -> Result<(), Broken> {
        if *self.step.get_or_insert(step) == step {
            Ok(())
        } else {
            Err(("E3", "it names another step than the open one"))
        }
    }

    /// Calls are proposed of a whole response, or of an aborted attempt while the run is closed (E6).
    fn may_propose(&mut self) -> Result<(), Broken> {
        if matches!(self.stage, Stage::Completed | Stage::Unknown) {
            return Ok(());
        }
        match self.stage {
            Stage::Failed(failed) if failed.kind == ProblemKind::InvalidResponse => {
                Err(("E6", "a malformed attempt proposes calls"))
            }
            Stage::Failed(_) | Stage::Cancelled => {
                self.calls.aborted();
                Ok(())
            }
            Stage::Unknown
            | Stage::Between
            | Stage::Opened
            | Stage::Attempt(_)
            | Stage::Reset { .. }
            | Stage::Completed
            | Stage::StepFailed
            | Stage::StepCancelled => Err(("E6", "calls are proposed after the end of their response")),
        }
    }

    /// Tools run only in the batch of a whole response.
    fn in_batch(&mut self) -> Result<(), Broken> {
        if !matches!(self.stage, Stage::Completed | Stage::Unknown) {
            return Err(("E7", "a tool runs outside of its batch"));
        }
        self.stage = Stage::Completed;
        Ok(())
    }
}
