//! The calls of one response: approval, overlap, limits, deadlines, results (T1-T5, E6, E7, E9, E10).

use super::{Ending, Flow, result};
use crate::clock::Clock;
use crate::error::RunError;
use crate::event::{Event, ToolUpdated};
use crate::id::OpId;
use crate::machine::{Machine, OpKind};
use crate::message::{Part, ToolCall, ToolResult};
use crate::output::{Outbox, Work};
use crate::text::Text;
use crate::time::Time;
use crate::tool::{Access, AuthorizeRequest, Binding, ToolEnd, ToolInvocation, ToolItem, ToolSpec, Verdict};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

/// The calls of one response, in model order.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    slots: Vec<Slot>,
    /// Tools under way.
    active: usize,
    /// Calls without a result.
    open: usize,
    /// The text beside the calls: the run's answer if no further step is left.
    answer: Text,
}

#[derive(Clone, Debug)]
struct Slot {
    call: Arc<ToolCall>,
    spec: Option<Arc<ToolSpec>>,
    state: State,
    clock: Clock,
    deadline: Option<Duration>,
}

#[derive(Clone, Debug)]
enum State {
    /// Waits for its verdict.
    Authorizing(OpId, Binding),
    /// Waits for its turn.
    Queued,
    /// Handed out; its code is not entered yet.
    Begun(OpId),
    /// Its code runs.
    Running(OpId),
    /// Has its result.
    Done(Arc<ToolResult>),
}

/// Proposes the calls and begins what may begin. `barred`: no call of this response runs (M8).
pub(crate) fn begin(
    m: &mut Machine,
    calls: Vec<Arc<ToolCall>>,
    barred: bool,
    answer: Text,
    out: &mut Outbox,
) -> Batch {
    for call in &calls {
        m.emit(Event::ToolProposed(Arc::clone(call)));
    }
    let tools = m.origin.as_ref().map_or_else(|| Arc::from([]), |origin| Arc::clone(&origin.tools));
    let default = m.config.deadlines.tool;
    let slots: Vec<Slot> = calls
        .into_iter()
        .map(|call| {
            let spec = tools.iter().find(|spec| spec.name == call.name).cloned();
            let deadline = spec.as_ref().and_then(|spec| spec.deadline).or(default);
            Slot { call, spec, state: State::Queued, clock: Clock::Off, deadline }
        })
        .collect();
    let mut batch = Batch { open: slots.len(), slots, active: 0, answer };
    let mut invalid = false;
    for at in 0..batch.slots.len() {
        if barred {
            batch.finish(m, at, |slot| result::interrupted(&slot.call, false));
        } else {
            invalid |= batch.admit(m, at, &tools, out);
        }
    }
    m.invalid_turns = if invalid { m.invalid_turns + 1 } else { 0 };
    batch.schedule(m, out);
    batch
}

/// Whether a call must wait for one of those before it that are open (T1).
fn barred(spec: &ToolSpec, open_before: bool, earlier: &[Arc<ToolSpec>]) -> bool {
    let exclusive = spec.access == Access::Exclusive;
    (exclusive && open_before) || earlier.iter().any(|other| other.access.conflicts(&spec.access))
}

impl Batch {
    /// Decides on one call before it may run; whether its arguments were invalid.
    fn admit(&mut self, m: &mut Machine, at: usize, tools: &[Arc<ToolSpec>], out: &mut Outbox) -> bool {
        let Some(slot) = self.slots.get_mut(at) else { return false };
        let invalid = result::invalid_arguments(&slot.call);
        let Some(spec) = slot.spec.clone() else {
            let limits = m.config.limits.clone();
            self.finish(m, at, |slot| result::unavailable(&slot.call, tools, &limits));
            return invalid.is_some();
        };
        if let Some(result) = invalid {
            self.finish(m, at, |_| result);
            return true;
        }
        if spec.needs_approval {
            let call = Arc::clone(&slot.call);
            let binding = Binding::of(&call);
            let work = Work::Authorize(Arc::new(AuthorizeRequest { call, spec, binding }));
            let op = m.begin_op(OpKind::Authorize(at), work, out);
            slot.state = State::Authorizing(op, binding);
        }
        false
    }

    /// Gives a call its one result.
    fn finish(&mut self, m: &mut Machine, at: usize, make: impl FnOnce(&Slot) -> Arc<ToolResult>) {
        let Some(slot) = self.slots.get_mut(at) else { return };
        let result = make(slot);
        slot.clock = Clock::Off;
        if matches!(slot.state, State::Begun(_) | State::Running(_)) {
            self.active -= 1;
        }
        slot.state = State::Done(Arc::clone(&result));
        self.open -= 1;
        m.emit(Event::ToolFinished(result));
    }

    /// Begins queued calls in model order, as far as overlap and limit allow (T1).
    fn schedule(&mut self, m: &mut Machine, out: &mut Outbox) {
        let mut earlier: Vec<Arc<ToolSpec>> = Vec::new();
        let mut open_before = false;
        for at in 0..self.slots.len() {
            if self.active >= m.config.limits.parallel_tools {
                return;
            }
            let Some(slot) = self.slots.get_mut(at) else { return };
            let Some(spec) = slot.spec.clone() else { continue };
            match slot.state {
                State::Done(_) => continue,
                State::Queued if !barred(&spec, open_before, &earlier) => {
                    let invocation = ToolInvocation { call: Arc::clone(&slot.call), spec: Arc::clone(&spec) };
                    let op = m.begin_op(OpKind::Tool(at), Work::Tool(invocation), out);
                    slot.state = State::Begun(op);
                    self.active += 1;
                }
                State::Queued | State::Authorizing(..) | State::Begun(_) | State::Running(_) => {}
            }
            if spec.access == Access::Exclusive {
                return;
            }
            open_before = true;
            // Shared calls conflict with exclusive ones only, which wait for every call before them.
            if spec.access != Access::Shared {
                earlier.push(spec);
            }
        }
    }

    /// Whether every call has its result.
    pub(crate) fn is_settled(&self) -> bool {
        self.open == 0
    }

    /// Takes the text beside the calls.
    pub(crate) fn take_answer(&mut self) -> Text {
        core::mem::take(&mut self.answer)
    }

    fn settled(&self) -> Flow {
        if self.is_settled() { Flow::Settled } else { Flow::Stay }
    }

    /// Whether a tool may report `item` now; a tool says first that it starts, and says so once.
    pub(crate) fn accepts(&self, at: usize, item: &ToolItem) -> bool {
        self.slots.get(at).is_some_and(|slot| match slot.state {
            State::Begun(_) => *item == ToolItem::Started,
            State::Running(_) => *item != ToolItem::Started,
            State::Authorizing(..) | State::Queued | State::Done(_) => false,
        })
    }

    /// A tool reports.
    pub(crate) fn on_item(&mut self, m: &mut Machine, at: usize, item: ToolItem, out: &mut Outbox) -> Flow {
        let Some(slot) = self.slots.get_mut(at) else { return Flow::Stay };
        match (item, &slot.state) {
            (ToolItem::Started, State::Begun(op)) => {
                slot.state = State::Running(*op);
                slot.clock = Clock::start(m.now, slot.deadline, m.paused);
                m.emit(Event::ToolStarted(Arc::clone(&slot.call)));
                Flow::Stay
            }
            (ToolItem::Progress(text), State::Running(_)) => {
                if !text.is_empty() {
                    let progress = result::progress(text, &m.config.limits);
                    let call = Arc::clone(&slot.call);
                    m.emit(Event::ToolUpdated(Arc::new(ToolUpdated { call, progress })));
                }
                Flow::Stay
            }
            (ToolItem::Done(end), State::Running(op)) => {
                m.ops.close(*op);
                self.on_end(m, at, end, out)
            }
            (ToolItem::Started | ToolItem::Progress(_) | ToolItem::Done(_), _) => Flow::Stay,
        }
    }

    fn on_end(&mut self, m: &mut Machine, at: usize, end: ToolEnd, out: &mut Outbox) -> Flow {
        let fatal = self.slots.get(at).and_then(|slot| slot.spec.as_ref()).filter(|spec| spec.fatal);
        let fatal = fatal.and_then(|spec| Some((spec.name.clone(), result::fatal_text(&end)?)));
        let config = Arc::clone(&m.config);
        self.finish(m, at, |slot| result::of_end(&slot.call, end, &config.limits));
        if let Some((tool, message)) = fatal {
            return Flow::End(Ending::Failed(RunError::Tool { tool, message }));
        }
        self.schedule(m, out);
        self.settled()
    }

    /// The approver decides; a verdict about anything but this call counts as a denial (T2).
    pub(crate) fn on_verdict(
        &mut self,
        m: &mut Machine,
        at: usize,
        verdict: Verdict,
        out: &mut Outbox,
    ) -> Flow {
        let Some(slot) = self.slots.get_mut(at) else { return Flow::Stay };
        let State::Authorizing(op, binding) = slot.state else { return Flow::Stay };
        m.ops.close(op);
        let reason = match verdict {
            Verdict::Allow(allowed) if allowed == binding => {
                slot.state = State::Queued;
                None
            }
            Verdict::Allow(_) => Some(Text::new("the approval is for another call")),
            Verdict::Deny { reason } => Some(reason),
        };
        if let Some(reason) = reason {
            let config = Arc::clone(&m.config);
            self.finish(m, at, |slot| result::denied(&slot.call, &reason, &config.limits));
        }
        self.schedule(m, out);
        self.settled()
    }

    /// The earliest deadline of a running tool.
    pub(crate) fn quiet_deadline(&self) -> Option<Time> {
        self.slots.iter().filter_map(|slot| slot.clock.at()).min()
    }

    /// On a quiet wake: ends every tool whose deadline has passed with an error result (R10).
    pub(crate) fn on_quiet(&mut self, m: &mut Machine, out: &mut Outbox) -> Flow {
        let mut any = false;
        for at in 0..self.slots.len() {
            let Some(slot) = self.slots.get(at) else { break };
            let (State::Running(op), true) = (&slot.state, slot.clock.is_due(m.now)) else { continue };
            m.abandon(*op, out);
            let deadline = slot.deadline.unwrap_or_default();
            self.finish(m, at, |slot| result::timed_out(&slot.call, deadline));
            any = true;
        }
        if any {
            self.schedule(m, out);
        }
        self.settled()
    }

    /// Holds or releases the clocks that stand still while the primary stream is full.
    pub(crate) fn on_pause(&mut self, m: &Machine) {
        for slot in &mut self.slots {
            if m.paused { slot.clock.hold(m.now) } else { slot.clock.release(m.now) }
        }
    }

    /// Whether an approval is open, so that the session waits for people (H1).
    pub(crate) fn awaits_people(&self) -> bool {
        self.slots.iter().any(|slot| matches!(slot.state, State::Authorizing(..)))
    }

    /// All results in model order, for history (E10); unresolved calls are interrupted and reported first (C5).
    pub(crate) fn close(self, m: &mut Machine) -> Vec<Part> {
        let mut results = Vec::with_capacity(self.slots.len());
        for slot in self.slots {
            let result = match slot.state {
                State::Done(result) => result,
                State::Authorizing(..) | State::Queued | State::Begun(_) | State::Running(_) => {
                    let started = matches!(slot.state, State::Running(_));
                    let result = result::interrupted(&slot.call, started);
                    m.emit_closing(Event::ToolFinished(Arc::clone(&result)));
                    result
                }
            };
            results.push(Part::ToolResult(result));
        }
        results
    }
}
