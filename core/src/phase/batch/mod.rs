//! The calls of one response: consent, overlap, limits, deadlines, requests, results (T1-T6, H1, E6, E7, E9, E10).
//!
//! ```text
//! unprepared -> preparing -> authorizing -> waiting (consent) -> queued -> begun -> running -> done
//!                                                                  ^   \-> waiting (client)  -> done
//!                                                                  \------ waiting (answer) <- running
//! ```

mod admit;
mod recover;
mod requests;
mod schedule;
mod suspend;
mod tools;

use super::{Flow, result};
use crate::clock::Clock;
use crate::event::Event;
use crate::id::OpId;
use crate::machine::Machine;
use crate::message::{Part, ToolCall, ToolResult};
use crate::output::Outbox;
use crate::text::Text;
use crate::time::Time;
use crate::tool::{Access, Binding, Resumption, ToolSpec};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;
use requests::Requests;
use schedule::Turns;
pub(crate) use suspend::resume;

/// The calls of one response, in model order.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    slots: Vec<Slot>,
    /// The first call without a result.
    first: usize,
    /// Calls without a result.
    open: usize,
    /// Calls whose operation has a clock: those that are prepared and those that run.
    clocked: Vec<usize>,
    /// How many calls are prepared, decided about by the approver, run, wait for an answer.
    preparing: usize,
    authorizing: usize,
    running: usize,
    waiting: usize,
    /// Calls that hold a secret answer and wait for their turn.
    secrets: usize,
    /// The first call that may still have to be prepared.
    unprepared: usize,
    turns: Turns,
    requests: Requests,
    /// The text beside the calls: the run's answer if no further step is left.
    answer: Text,
}

#[derive(Clone, Debug)]
struct Slot {
    call: Arc<ToolCall>,
    /// The call with the arguments that people gave it.
    edited: Option<Arc<ToolCall>>,
    spec: Option<Arc<ToolSpec>>,
    /// What this call touches, where its preparation has said so.
    access: Option<Access>,
    /// What it is about to do, in its preparation's words.
    summary: Text,
    state: State,
    /// Whether its tool's code was entered.
    started: bool,
    clock: Clock,
    deadline: Option<Duration>,
    /// Its requests that stand open.
    asking: Vec<usize>,
    /// What its tool is called again with.
    resumed: Option<Arc<Resumption>>,
    /// Whether that holds a secret answer.
    secret: bool,
}

#[derive(Clone, Debug)]
enum State {
    /// Waits for a place among the preparations.
    Unprepared,
    /// Its tool looks at it.
    Preparing(OpId),
    /// Waits for the approver's verdict.
    Authorizing(OpId, Binding),
    /// Waits for an answer: to a consent, of the client, or to the question with which its tool returned.
    Waiting,
    /// Waits for its turn.
    Queued,
    /// Handed out; its code is not entered yet.
    Begun(OpId),
    /// Its code runs.
    Running(OpId),
    /// Has its result.
    Done(Arc<ToolResult>),
}

impl Slot {
    fn new(call: Arc<ToolCall>, spec: Option<Arc<ToolSpec>>, default: Option<Duration>) -> Self {
        let deadline = spec.as_ref().and_then(|spec| spec.deadline).or(default);
        Self {
            call,
            edited: None,
            spec,
            access: None,
            summary: Text::EMPTY,
            state: State::Queued,
            started: false,
            clock: Clock::Off,
            deadline,
            asking: Vec::new(),
            resumed: None,
            secret: false,
        }
    }

    fn access(&self) -> Option<&Access> {
        self.access.as_ref().or_else(|| self.spec.as_ref().map(|spec| &spec.access))
    }

    /// The call as it is to be run.
    fn effective(&self) -> &Arc<ToolCall> {
        self.edited.as_ref().unwrap_or(&self.call)
    }

    /// Holds the clock while the stream is full or people are asked, and lets it go otherwise (R10).
    fn settle_clock(&mut self, m: &Machine) {
        if m.paused || !self.asking.is_empty() {
            self.clock.hold(m.now);
        } else {
            self.clock.release(m.now);
        }
    }
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
    let default = m.config.deadlines.tool;
    let slot = |call: Arc<ToolCall>| {
        let spec = m.offered.iter().find(|spec| spec.name == call.name).cloned();
        Slot::new(call, spec, default)
    };
    let slots: Vec<Slot> = calls.into_iter().map(slot).collect();
    let mut batch = Batch::of(slots, answer);
    let mut invalid = false;
    for at in 0..batch.slots.len() {
        if barred {
            batch.finish(m, at, out, |slot| result::interrupted(&slot.call, false));
        } else {
            invalid |= batch.admit(m, at, out);
        }
    }
    m.invalid_turns = if invalid { m.invalid_turns + 1 } else { 0 };
    batch.advance(m, out);
    batch
}

impl Batch {
    fn of(slots: Vec<Slot>, answer: Text) -> Self {
        Self {
            open: slots.len(),
            turns: Turns::default(),
            slots,
            first: 0,
            clocked: Vec::new(),
            preparing: 0,
            authorizing: 0,
            running: 0,
            waiting: 0,
            secrets: 0,
            unprepared: 0,
            requests: Requests::default(),
            answer,
        }
    }

    /// Moves a call on, and keeps count of what is under way.
    fn set(&mut self, at: usize, state: State) {
        let Some(slot) = self.slots.get_mut(at) else { return };
        let before = core::mem::replace(&mut slot.state, state);
        let clocked =
            |state: &State| matches!(state, State::Preparing(_) | State::Begun(_) | State::Running(_));
        match (clocked(&before), clocked(&slot.state)) {
            (false, true) => self.clocked.push(at),
            (true, false) => {
                slot.clock = Clock::Off;
                self.clocked.retain(|known| *known != at);
            }
            (true, true) | (false, false) => {}
        }
        let counted = [(&before, -1_isize), (&slot.state, 1)];
        for (state, change) in counted {
            let count = match state {
                State::Preparing(_) => &mut self.preparing,
                State::Authorizing(..) => &mut self.authorizing,
                State::Begun(_) | State::Running(_) => &mut self.running,
                State::Waiting => &mut self.waiting,
                State::Unprepared | State::Queued | State::Done(_) => continue,
            };
            *count = count.saturating_add_signed(change);
        }
        self.notice(at);
    }

    /// Gives a call its one result; what it still asks is not needed any more.
    fn finish(
        &mut self,
        m: &mut Machine,
        at: usize,
        out: &mut Outbox,
        make: impl FnOnce(&Slot) -> Arc<ToolResult>,
    ) {
        self.drop_requests(m, at, out);
        let Some(slot) = self.slots.get(at) else { return };
        let edited = slot.edited.as_ref().filter(|_| slot.started).map(|call| &call.arguments);
        let result = result::noted(make(slot), edited);
        self.set(at, State::Done(Arc::clone(&result)));
        self.open -= 1;
        m.emit(Event::ToolFinished(result));
    }

    /// Begins whatever may begin.
    fn advance(&mut self, m: &mut Machine, out: &mut Outbox) {
        self.prepare(m, out);
        self.schedule(m, out);
    }

    /// After something has changed.
    fn go_on(&mut self, m: &mut Machine, out: &mut Outbox) -> Flow {
        self.advance(m, out);
        if self.is_settled() { Flow::Settled } else { Flow::Stay }
    }

    /// Whether every call has its result.
    pub(crate) fn is_settled(&self) -> bool {
        self.open == 0
    }

    /// Takes the text beside the calls.
    pub(crate) fn take_answer(&mut self) -> Text {
        core::mem::take(&mut self.answer)
    }

    /// The earliest deadline of a tool that runs or prepares.
    pub(crate) fn quiet_deadline(&self) -> Option<Time> {
        self.clocked.iter().filter_map(|at| self.slots.get(*at)?.clock.at()).min()
    }

    /// The earliest time at which a request has waited long enough.
    pub(crate) fn request_deadline(&self) -> Option<Time> {
        self.requests.next_due()
    }

    /// Lets due times fall: those of requests, and on a quiet wake those of tools (R10).
    pub(crate) fn on_time(&mut self, m: &mut Machine, quiet: bool, out: &mut Outbox) -> Flow {
        let mut any = false;
        loop {
            let mut due = false;
            while let Some(request) = self.requests.due(m.now) {
                self.time_out(m, request, out);
                due = true;
            }
            if quiet {
                due |= self.tools_due(m, out);
            }
            if !due {
                break;
            }
            // What begins now may have no time at all (W3).
            self.advance(m, out);
            any = true;
        }
        if any && self.is_settled() { Flow::Settled } else { Flow::Stay }
    }

    /// Holds or releases the clocks that stand still while the primary stream is full.
    pub(crate) fn on_pause(&mut self, m: &Machine) {
        for at in &self.clocked {
            if let Some(slot) = self.slots.get_mut(*at) {
                slot.settle_clock(m);
            }
        }
    }

    /// Whether a request is open or the approver decides, so that the session waits for people (H1).
    pub(crate) fn awaits_people(&self) -> bool {
        self.authorizing > 0 || self.requests.any_open()
    }

    /// All results in model order, for history (E10); unresolved calls are interrupted and reported first (C5).
    pub(crate) fn close(mut self, m: &mut Machine) -> Vec<Part> {
        let mut results = Vec::with_capacity(self.slots.len());
        for slot in &self.slots {
            let result = match &slot.state {
                State::Done(result) => Arc::clone(result),
                State::Unprepared
                | State::Preparing(_)
                | State::Authorizing(..)
                | State::Waiting
                | State::Queued
                | State::Begun(_)
                | State::Running(_) => {
                    for request in self.requests.close_all(&slot.asking) {
                        m.emit_closing(Event::HostInputCancelled(request));
                    }
                    let result = result::interrupted(&slot.call, slot.started);
                    m.emit_closing(Event::ToolFinished(Arc::clone(&result)));
                    result
                }
            };
            results.push(Part::ToolResult(result));
        }
        results
    }
}
