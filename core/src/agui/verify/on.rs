//! The verifier that checks.

use super::order::{Broken, Order, Phase};
use super::{Mode, OpenItem, Rule, VerificationError};
use crate::agui::event::EventType;
use crate::agui::lanes::{Chunk, Fault, Lanes, Plan, ends};
use crate::agui::wire::MAX_SAFE_INTEGER;
use crate::agui::{Event, RunAgentInput};
use alloc::string::String;
use alloc::vec::Vec;

/// Checks a stream event by event. Memory grows with the ids of a run, up to a bound; see [`Verifier::most_ids`].
#[derive(Clone, Debug)]
pub struct Verifier {
    mode: Mode,
    order: Order,
    lanes: Lanes,
    warning: Option<VerificationError>,
    /// Rules that tests have switched off, a bit each.
    off: u32,
}

impl Verifier {
    /// A verifier at the start of a stream.
    pub fn new(mode: Mode) -> Self {
        Self { mode, order: Order::default(), lanes: Lanes::default(), warning: None, off: 0 }
    }

    /// With another bound on the ids that one run may introduce, 2^20 by default.
    #[must_use]
    pub fn most_ids(mut self, most: usize) -> Self {
        self.order.most_ids = most;
        self
    }

    /// Makes known what the input holds: its calls can be answered, its messages have owners. In [`Mode::SingleRun`] the
    /// run must then be the input's, and in either mode the thread.
    pub fn know(&mut self, input: &RunAgentInput) {
        let run = match self.mode {
            Mode::SingleRun => Some(input.run_id.as_str()),
            Mode::Stream => None,
        };
        self.order.know(input, run);
    }

    /// Counts the input's run as started, and makes known what the input holds.
    pub fn start(&mut self, input: &RunAgentInput) {
        self.know(input);
        self.order.start(&input.thread_id, &input.run_id);
    }

    /// Checks the next event. An event that is rejected changes nothing.
    ///
    /// # Errors
    ///
    /// [`VerificationError`] names the event, the rule and the id.
    pub fn observe(&mut self, event: &Event) -> Result<(), VerificationError> {
        self.warning = None;
        let kind = event.event_type();
        self.phase(kind)?;
        if event.base().timestamp.is_some_and(|at| at.unsigned_abs() > MAX_SAFE_INTEGER.unsigned_abs()) {
            let detail = "a timestamp is within ±(2^53 − 1)".into();
            self.judge(kind, Broken { rule: Rule::Malformed, id: None, detail })?;
        }
        if let Some(chunk) = Chunk::of(event) {
            return self.chunk(kind, chunk);
        }
        if let Err(broken) = self.order.check(event, self.mode) {
            self.judge(kind, broken)?;
        }
        self.order.accept(event);
        if !self.lanes.is_empty() {
            self.lanes.end(ends(event));
        }
        Ok(())
    }
}

impl Verifier {
    fn chunk(&mut self, kind: EventType, chunk: Chunk<'_>) -> Result<(), VerificationError> {
        let (opens, checked) = match self.lanes.plan(chunk) {
            Ok(Plan::Continue { id, .. }) => {
                (false, self.order.check_continuing(chunk.kind, id, chunk.tag, false))
            }
            Ok(Plan::Open) => (true, self.order.check_opening(chunk)),
            Err(Fault { rule, what, id }) => (false, Err(Broken { rule, id, detail: what.into() })),
        };
        if let Err(broken) = checked {
            self.judge(kind, broken)?;
        }
        if let Some(id) = chunk.id.filter(|_| opens) {
            self.order.accept_opening(chunk.kind, id, chunk.tag, chunk.said, false);
            self.lanes.open(chunk);
        }
        Ok(())
    }

    /// Whether an event of this type may come at all.
    fn phase(&mut self, kind: EventType) -> Result<(), VerificationError> {
        let starts = kind == EventType::RunStarted;
        let fails = kind == EventType::RunError;
        let stream = self.mode == Mode::Stream;
        let (rule, detail) = match self.order.phase {
            Phase::Before if starts || fails => return Ok(()),
            Phase::Before => (Rule::NotStarted, "no run has started"),
            Phase::Open if starts => (Rule::DuplicateRunStarted, "the run is open"),
            Phase::Open => return Ok(()),
            Phase::Finished if stream && (starts || fails) => return Ok(()),
            Phase::Failed if stream && starts => return Ok(()),
            Phase::Finished | Phase::Failed => (Rule::RunEnded, "the run has ended"),
        };
        self.judge(kind, Broken { rule, id: None, detail: detail.into() })
    }

    /// Rejects the event, or lets it pass with a warning.
    #[cold]
    fn judge(&mut self, event: EventType, broken: Broken) -> Result<(), VerificationError> {
        let Broken { rule, id, mut detail } = broken;
        if self.off & (1 << rule as u32) != 0 {
            return Ok(());
        }
        if cfg!(debug_assertions) {
            self.order.dump(&mut detail);
        }
        let error = VerificationError { event: Some(event), rule, id, detail };
        if self.mode == Mode::Stream && rule.only_warns_consumers() {
            self.warning = Some(error);
            return Ok(());
        }
        Err(error)
    }

    /// Checks that the stream may end here.
    ///
    /// # Errors
    ///
    /// [`Rule::Truncated`] where a run is open, or none has come.
    pub fn finish(&self) -> Result<(), VerificationError> {
        let rule = Rule::Truncated;
        let mut detail: String = match self.order.phase {
            Phase::Before => "nothing has come".into(),
            Phase::Open => "the run is open".into(),
            Phase::Finished | Phase::Failed => return Ok(()),
        };
        if self.off & (1 << rule as u32) != 0 {
            return Ok(());
        }
        if cfg!(debug_assertions) {
            self.order.dump(&mut detail);
        }
        Err(VerificationError { event: None, rule, id: self.order.run.clone(), detail })
    }

    /// What is open, in the order in which it can be closed: calls, messages, spans, steps and invocations, the last two
    /// from the inside out. Items that chunks are putting together need no closing and are not among them.
    pub fn open_items(&self) -> Vec<OpenItem> {
        self.order.open_items()
    }

    /// Calls that this run started and that are not answered, in the order in which it started them.
    pub fn pending_tool_calls(&self) -> Vec<String> {
        self.order.pending().into_iter().map(String::from).collect()
    }

    /// What the last event did that a consumer does not reject.
    pub fn warning(&self) -> Option<&VerificationError> {
        self.warning.as_ref()
    }

    /// Switches a rule off, so that tests can show that others notice.
    #[doc(hidden)]
    #[must_use]
    pub fn without(mut self, rule: Rule) -> Self {
        self.off |= 1 << rule as u32;
        self
    }
}
