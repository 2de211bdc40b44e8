//! The machine's one entry point: it checks, dispatches and settles; behaviour lives in the phases.

mod boundary;
mod check;
mod dispatch;
mod follow;
mod recover;

use crate::config::Config;
use crate::error::{Misuse, RunError};
use crate::history::History;
use crate::host_input::HostRequest;
use crate::id::{Revision, RunId, Seq};
use crate::input::Input;
use crate::log::EventLog;
use crate::machine::Machine;
use crate::outcome::{LateCompletion, Outcome, RunResult};
use crate::output::{Credit, Next, Outbox, Wake, WakeReason};
use crate::phase::batch::Batch;
use crate::phase::{Ending, Flow, Phase, backoff, closing};
use crate::suspend::Suspended;
use crate::time::Time;
use crate::tool::ToolSpec;
use alloc::sync::Arc;

/// One agent run as a deterministic state machine: equal inputs give equal logs, byte for byte (W8).
///
/// [`Run::step`] is the only mutator; everything else looks. The machine does no IO, reads no clock and draws no
/// random number. It can be cloned, which makes exploring all orders of events cheap.
#[derive(Clone, Debug)]
pub struct Run {
    m: Machine,
    phase: Phase,
    /// Set while a step runs: found set, the last one panicked.
    stepping: bool,
    #[cfg(feature = "verify")]
    pub(crate) planted: Option<u64>,
}

impl Run {
    /// A run that has not been started; the first input is [`Input::Start`], or a cancel before it.
    pub fn new(id: RunId, config: Arc<Config>) -> Self {
        Self {
            m: Machine::new(id, config),
            phase: Phase::New,
            stepping: false,
            #[cfg(feature = "verify")]
            planted: None,
        }
    }

    /// Takes in what happened at `now` and puts what is to be done into `out`, in order.
    ///
    /// `now` is clamped to the last one seen. An item of an abandoned operation is ignored and counted.
    ///
    /// # Errors
    ///
    /// [`Misuse`] if the input cannot come now, such as an item of an operation that was never begun. Then nothing has
    /// changed and nothing was recorded (W1).
    pub fn step(&mut self, now: Time, input: Input, out: &mut Outbox) -> Result<Next, Misuse> {
        if self.stepping {
            return Err(Misuse::Poisoned);
        }
        let message = self.check(&input)?;
        self.stepping = true;
        self.m.now = self.m.now.max(now);
        #[cfg(feature = "verify")]
        self.trip_planted();
        let quiet = matches!(input, Input::Wake { quiet: true });
        self.dispatch(input, message, out);
        self.fall_due(quiet, out);
        if self.m.interrupted && !self.m.is_over() {
            self.end(Ending::Interrupted, out);
        }
        self.settle_pause();
        self.settle_suspension(quiet, out);
        self.m.settle_observers(out);
        self.stepping = false;
        Ok(self.next())
    }

    /// Closes the log from its own ledger after a panic escaped [`Run::step`]; the run fails as
    /// [`RunError::Internal`], the session keeps its history and revision, and every later step is refused (X5). A run
    /// that was never started records nothing and has no outcome.
    pub fn close_after_panic(&mut self, out: &mut Outbox) {
        self.stepping = true;
        self.phase = Phase::Closed;
        closing::close_after_panic(&mut self.m, out);
    }

    /// Time has passed, without a step.
    pub(crate) fn pass(&mut self, now: Time) {
        if now > self.m.now {
            self.m.now = now;
        }
    }

    /// The authoritative record.
    pub fn log(&self) -> &EventLog {
        &self.m.log
    }

    /// Through which event every required observer has accepted the record, or has passed over what was
    /// [refused](Run::refused); the last event if there are no observers (L5).
    pub fn acknowledged(&self) -> Seq {
        self.m.acknowledged()
    }

    /// The events that a required observer refused, oldest first; the observers behind it were not asked about them.
    pub fn refused(&self) -> &[Seq] {
        self.m.observers.refused()
    }

    /// Whether items that were taken in while there was [credit](Next::credit) may be stepped: neither what the primary
    /// reader has not taken nor what observers have not accepted has reached the event capacity.
    pub fn has_room(&self) -> bool {
        !self.m.is_full() && !self.m.is_backlogged()
    }

    /// The result; authoritative once it is there. With required observers it is there when they have accepted the end of
    /// the record, or have had their time.
    pub fn outcome(&self) -> Option<&Arc<Outcome>> {
        self.m.outcome.as_ref()
    }

    /// The value of a run that was put aside; with required observers it is there before the [outcome](Run::outcome).
    pub fn suspended(&self) -> Option<&Arc<Suspended>> {
        match self.m.result().map(|outcome| &outcome.result) {
            Some(RunResult::Suspended(value)) => Some(value),
            Some(RunResult::Completed(_) | RunResult::Cancelled(_) | RunResult::Failed(_)) | None => None,
        }
    }

    /// The limits that the run keeps.
    pub fn config(&self) -> &Arc<Config> {
        &self.m.config
    }

    /// Completions that came after their operation was abandoned, those after the run's end included (C6).
    pub fn late(&self) -> &[LateCompletion] {
        &self.m.late
    }

    /// How many items of ended operations were ignored.
    pub fn ignored(&self) -> u64 {
        self.m.ignored
    }

    /// The conversation as it stands in this run; `None` before the start. While a batch runs, its calls stand open.
    pub fn candidate(&self) -> Option<&History> {
        self.m.origin.as_ref().map(|_| &self.m.history)
    }

    /// The conversation as it was committed last, by this run or before it, and its revision (B4, K1, C9); `None` before
    /// the start.
    pub fn committed(&self) -> Option<(&History, Revision)> {
        self.m.origin.as_ref().map(|_| (&self.m.committed, self.m.revision))
    }

    /// Whether a request for host input is open, approvals included (H1).
    pub fn awaits_people(&self) -> bool {
        matches!(&self.phase, Phase::Batch(batch) if batch.awaits_people())
    }

    /// The tools that the run was started with, those included that the model is not offered.
    pub fn tools(&self) -> &[Arc<ToolSpec>] {
        self.m.origin.as_ref().map_or(&[], |origin| &origin.tools)
    }

    /// Whether something is recorded that required observers have not accepted yet (L5).
    pub fn awaits_observers(&self) -> bool {
        self.m.awaits_observers()
    }

    /// Whether the run has ended; observers may still be asked about its end, and then there is no outcome yet (L5).
    pub fn is_over(&self) -> bool {
        self.m.is_over()
    }

    /// The requests for host input that stand open, in the order in which they were asked (H1); those of a run's earlier
    /// part come first, in call order.
    pub fn requests(&self) -> &[Arc<HostRequest>] {
        &self.m.log.open().requests
    }

    /// The last time that was seen.
    pub fn now(&self) -> Time {
        self.m.now
    }

    /// The name of the phase, for tests and diagnostics: `new`, `model`, `backoff`, `batch`,
    /// `boundary`, `compact` or `closed`.
    pub fn phase_name(&self) -> &'static str {
        match self.phase {
            Phase::New => "new",
            Phase::Model(_) => "model",
            Phase::Backoff(..) => "backoff",
            Phase::Batch(_) => "batch",
            Phase::Boundary(_) => "boundary",
            Phase::Compact(_) => "compact",
            Phase::Closed => "closed",
        }
    }

    /// What the machine waits for now.
    fn next(&self) -> Next {
        let live = self.m.outcome.is_none();
        let (wake, hard) = if live { self.wakes() } else { (None, None) };
        Next { wake, hard, credit: if live { self.m.credit() } else { Credit::ZERO }, live }
    }

    /// The earliest wake, and the earliest that is no quiet one.
    fn wakes(&self) -> (Option<Wake>, Option<Wake>) {
        let (mut first, mut hard): (Option<Wake>, Option<Wake>) = (None, None);
        let mut offer = |at: Option<Time>, why: WakeReason| {
            let earlier = |known: Option<Wake>| at.filter(|at| known.is_none_or(|known| *at < known.at));
            if let Some(at) = earlier(first) {
                first = Some(Wake { at, why });
            }
            if let Some(at) = earlier(hard).filter(|_| !why.is_quiet()) {
                hard = Some(Wake { at, why });
            }
        };
        if self.m.is_over() {
            offer(self.m.observers.deadline(), WakeReason::Finalization);
            return (first, hard);
        }
        offer(self.m.run_deadline, WakeReason::Run);
        match &self.phase {
            Phase::Model(call) => {
                call.hard_deadline().into_iter().for_each(|(at, why)| offer(at, why));
                let (at, why) = call.quiet_deadline();
                offer(at, why);
            }
            Phase::Backoff(call, until) => {
                let [(at, why), _] = call.hard_deadline();
                offer(at, why);
                offer(Some(*until), WakeReason::Backoff);
            }
            Phase::Batch(batch) => {
                offer(batch.request_deadline(), WakeReason::HostInput);
                offer(batch.quiet_deadline(), WakeReason::Tool);
                offer(self.suspends_now(batch).then_some(self.m.now), WakeReason::Suspend);
            }
            Phase::Compact(compacting) => {
                compacting.deadlines().into_iter().for_each(|(at, why)| offer(at, why));
            }
            // The source has the time that the run has.
            Phase::Boundary(_) | Phase::New | Phase::Closed => {}
        }
        if matches!(self.phase, Phase::New) { (None, None) } else { (first, hard) }
    }
}

/// Time and back-pressure: the last acts of a step.
impl Run {
    /// Lets due deadlines fall until none is due.
    fn fall_due(&mut self, quiet: bool, out: &mut Outbox) {
        while !self.m.is_over() {
            if self.m.run_deadline.is_some_and(|at| at <= self.m.now) {
                return self.end(Ending::Failed(RunError::RunDeadline), out);
            }
            let flow = match &mut self.phase {
                Phase::Model(call) => call.on_time(&mut self.m, quiet, out),
                Phase::Backoff(call, until) => backoff::on_time(&self.m, call, *until),
                Phase::Batch(batch) => batch.on_time(&mut self.m, quiet, out),
                Phase::Compact(compacting) => compacting.on_time(&mut self.m, out),
                Phase::Boundary(_) | Phase::New | Phase::Closed => Flow::Stay,
            };
            if matches!(flow, Flow::Stay) || self.m.interrupted {
                return;
            }
            self.follow(flow, out);
        }
    }

    /// Holds or releases the clocks when the primary stream became full or free, or observers are asked or done, to a fixed
    /// point.
    fn settle_pause(&mut self) {
        while !self.m.is_over() && self.m.is_held_up() != self.m.paused {
            self.m.paused = !self.m.paused;
            match &mut self.phase {
                Phase::Model(call) | Phase::Backoff(call, _) => call.on_pause(&self.m),
                Phase::Batch(batch) => batch.on_pause(&self.m),
                // What these wait for passes while the stream is full (E13, B4).
                Phase::Boundary(_) | Phase::Compact(_) | Phase::New | Phase::Closed => {}
            }
        }
    }

    /// Whether the run is to be put aside as soon as the transport is known to have nothing (H6).
    fn suspends_now(&self, batch: &Batch) -> bool {
        // While the responder works on a request, its answer is awaited: asked anew in each part, it might never get there.
        self.m.suspends && !self.m.paused && batch.is_suspendable() && self.m.ops.are_idle()
    }

    /// Puts aside a run that waits for answers only, on a quiet wake.
    fn settle_suspension(&mut self, quiet: bool, out: &mut Outbox) {
        if let Phase::Batch(batch) = &self.phase
            && quiet
            && !self.m.is_over()
            && self.suspends_now(batch)
        {
            self.suspend(out);
        }
    }
}
