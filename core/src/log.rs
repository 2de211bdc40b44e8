//! The authoritative record of a run: bounded, evicted oldest first, and with a ledger of what stands open (L1, E3).

use crate::config::Config;
use crate::event::{Envelope, Event, Position};
use crate::host_input::HostRequest;
use crate::id::{CallRef, OpId, RunId, Seq};
use crate::json::{Len, encoded_len};
use crate::message::ToolCall;
use crate::time::Time;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The events of one run. Only its machine appends.
#[derive(Clone, Debug)]
pub struct EventLog {
    run: RunId,
    /// Encoded bytes of the run id.
    run_len: u64,
    events: VecDeque<Envelope>,
    next: u64,
    end: u64,
    start: u64,
    max_events: usize,
    max_bytes: u64,
    ledger: Ledger,
}

impl EventLog {
    pub(crate) fn new(run: RunId, config: &Config) -> Self {
        Self {
            run_len: encoded_len(run.as_str()),
            run,
            events: VecDeque::with_capacity(config.limits.log_events.min(16)),
            next: 1,
            end: 0,
            start: 0,
            max_events: config.limits.log_events,
            max_bytes: config.limits.log_bytes,
            ledger: Ledger::default(),
        }
    }

    /// The log of a run's next part, which goes on after `seq` and `end`; `open` is what its first part left open.
    pub(crate) fn resumed(run: RunId, config: &Config, seq: Seq, end: u64, open: Ledger) -> Self {
        Self { next: seq.0 + 1, end, start: end, ledger: open, ..Self::new(run, config) }
    }

    pub(crate) fn append(&mut self, at: Time, event: Event) {
        self.ledger.note(&event);
        let mut envelope = Envelope { seq: Seq(self.next), at, end: 0, event };
        let mut len = Len(self.run_len);
        envelope.write_with("", &mut len);
        self.end += len.0;
        envelope.end = self.end;
        self.next += 1;
        self.events.push_back(envelope);
        while self.events.len() > self.max_events || self.end - self.start > self.max_bytes {
            match self.events.pop_front() {
                Some(oldest) => self.start = oldest.end,
                None => break,
            }
        }
    }

    /// The run.
    pub fn run_id(&self) -> &RunId {
        &self.run
    }

    /// The last event's position; 0 before the first.
    pub fn last_seq(&self) -> Seq {
        Seq(self.next - 1)
    }

    /// The position of the oldest event that is still here; one past the last if there is none.
    pub fn first_seq(&self) -> Seq {
        Seq(self.next - self.events.len() as u64)
    }

    /// How many events are here.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether no event is here.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Encoded bytes of the events that are here.
    pub fn bytes(&self) -> u64 {
        self.end - self.start
    }

    /// Encoded bytes of all events of the run, evicted ones included.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Encoded bytes of the events after `seq` that are here.
    pub(crate) fn bytes_after(&self, seq: Seq) -> u64 {
        self.end - self.get(seq).map_or(self.start, |envelope| envelope.end)
    }

    /// The event at `seq`, unless it was evicted or has not happened.
    pub fn get(&self, seq: Seq) -> Option<&Envelope> {
        let at = seq.0.checked_sub(self.first_seq().0)?;
        self.events.get(usize::try_from(at).ok()?)
    }

    /// The events after `seq` that are here, oldest first.
    pub fn after(&self, seq: Seq) -> impl ExactSizeIterator<Item = &Envelope> + '_ {
        let skip = seq.0.saturating_add(1).saturating_sub(self.first_seq().0);
        let skip = usize::try_from(skip).unwrap_or(usize::MAX).min(self.events.len());
        self.events.range(skip..)
    }

    /// The events that are here, oldest first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Envelope> + '_ {
        self.events.iter()
    }

    /// What was opened and not closed yet.
    pub fn open(&self) -> &Ledger {
        &self.ledger
    }

    /// Whether the terminal event is recorded.
    pub fn is_closed(&self) -> bool {
        self.ledger.closed
    }
}

/// What a run has opened and not closed. Kept by the log from its own events, so that a run whose machine is broken
/// can still be closed (E3, X5).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    /// Whether the run has begun.
    pub started: bool,
    /// Whether the run has ended.
    pub closed: bool,
    /// The open step.
    pub step: Option<u32>,
    /// The open attempt.
    pub attempt: Option<OpenAttempt>,
    /// The open calls, in call order.
    pub calls: Vec<OpenCall>,
    /// The open requests for host input, in the order in which they were asked.
    pub requests: Vec<Arc<HostRequest>>,
    /// Whether a compaction is under way.
    pub compaction: bool,
    /// Whether the run was put aside: what stands open goes on in its next part (H6).
    pub suspended: bool,
}

/// An attempt that stands open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenAttempt {
    /// Its operation.
    pub op: OpId,
    /// Which attempt of the model call.
    pub attempt: u32,
    /// Whether it has shown anything.
    pub position: Position,
}

/// A call that stands open.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenCall {
    /// The call.
    pub call: Arc<ToolCall>,
    /// Whether its tool's code was entered.
    pub started: bool,
}

impl Ledger {
    /// Where the open call stands; calls are opened in call order.
    fn place(&self, call: CallRef) -> Option<usize> {
        self.calls.binary_search_by_key(&call, |open| open.call.call).ok()
    }

    fn close_request(&mut self, request: &HostRequest) {
        // The place is compared first: it is cheaper than the id.
        let is_it = |open: &Arc<HostRequest>| open.call.call == request.call.call && open.id == request.id;
        if let Some(at) = self.requests.iter().position(is_it) {
            self.requests.remove(at);
        }
    }

    fn note(&mut self, event: &Event) {
        match event {
            Event::TextDelta(_)
            | Event::RefusalDelta(_)
            | Event::ReasoningDelta(_)
            | Event::ReasoningSummaryDelta(_)
            | Event::ToolCallDelta(_)
            | Event::ContextUpdated { .. }
            | Event::WebSearch { .. }
            | Event::HostedTool(_) => {
                if let Some(attempt) = &mut self.attempt {
                    attempt.position = Position::Partial;
                }
            }
            Event::RunStarted(_) => self.started = true,
            Event::RunCompleted(_) | Event::RunCancelled { .. } | Event::RunFailed(_) => self.closed = true,
            Event::RunSuspended { .. } => (self.closed, self.suspended) = (true, true),
            Event::RunResumed(_) => (self.closed, self.suspended) = (false, false),
            Event::StepStarted { step, .. } => self.step = Some(*step),
            Event::StepCompleted { .. } | Event::StepFailed { .. } | Event::StepCancelled { .. } => {
                self.step = None
            }
            Event::ModelStarted(started) => {
                let position = Position::Pristine;
                self.attempt = Some(OpenAttempt { op: started.op, attempt: started.attempt, position });
            }
            Event::ModelCompleted(_) | Event::ModelFailed(_) | Event::ModelCancelled { .. } => {
                self.attempt = None
            }
            Event::ToolProposed(call) => {
                self.calls.push(OpenCall { call: Arc::clone(call), started: false });
            }
            Event::ToolStarted(call) => {
                if let Some(open) = self.place(call.call).and_then(|at| self.calls.get_mut(at)) {
                    open.started = true;
                }
            }
            Event::ToolFinished(result) => {
                if let Some(at) = self.place(result.call) {
                    self.calls.remove(at);
                }
            }
            Event::HostInputRequested(request) => self.requests.push(Arc::clone(request)),
            Event::HostInputAnswered(answered) => self.close_request(&answered.request),
            Event::HostInputFailed(failed) => self.close_request(&failed.request),
            Event::HostInputCancelled(request) => self.close_request(request),
            Event::CompactionStarted { .. } => self.compaction = true,
            Event::CompactionCompleted(_) | Event::CompactionFailed(_) | Event::CompactionCancelled => {
                self.compaction = false;
            }
            Event::RunRecovered { .. }
            | Event::SteeringDelivered(_)
            | Event::SteeringApplied(_)
            | Event::BoundaryApplied(_)
            | Event::CompactionStopped { .. }
            | Event::StreamReset(_)
            | Event::RequestRetry { .. }
            | Event::Diagnostic(_)
            | Event::UsageUpdated(_)
            | Event::ToolUpdated(_) => {}
        }
    }
}
