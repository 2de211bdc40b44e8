//! The machine's one entry point: it checks, dispatches and settles; behaviour lives in the phases.

use crate::assemble::Response;
use crate::config::Config;
use crate::error::{Misuse, RunError};
use crate::event::Event;
use crate::history::History;
use crate::id::{CommandId, MessageId, OpId, RunId};
use crate::input::{AbortCause, Input, Start};
use crate::json::encoded_prefix;
use crate::log::EventLog;
use crate::machine::{Machine, OpKind};
use crate::message::{Message, Part, Role};
use crate::model::{Completion, Finish};
use crate::outcome::{CancelCause, LateCompletion, Outcome, RunResult, StopReason};
use crate::output::{CancelReply, Credit, Next, Outbox, Output, Reply, Wake, WakeReason};
use crate::phase::{Ending, Flow, Phase, backoff, batch, closing, model};
use crate::text::Text;
use crate::time::{MAX_EXACT, Time};
use crate::tool::{ToolItem, Verdict};
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;

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
        if self.m.interrupted && self.m.outcome.is_none() {
            self.end(Ending::Interrupted, out);
        }
        self.settle_pause();
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

    /// The authoritative record.
    pub fn log(&self) -> &EventLog {
        &self.m.log
    }

    /// The result; authoritative once it is there.
    pub fn outcome(&self) -> Option<&Arc<Outcome>> {
        self.m.outcome.as_ref()
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

    /// Whether an approval is open (H1).
    pub fn awaits_people(&self) -> bool {
        matches!(&self.phase, Phase::Batch(batch) if batch.awaits_people())
    }

    /// The last time that was seen.
    pub fn now(&self) -> Time {
        self.m.now
    }

    /// The name of the phase, for tests and diagnostics: `new`, `model`, `backoff`, `batch` or `closed`.
    pub fn phase_name(&self) -> &'static str {
        match self.phase {
            Phase::New => "new",
            Phase::Model(_) => "model",
            Phase::Backoff(..) => "backoff",
            Phase::Batch(_) => "batch",
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
            Phase::Batch(batch) => offer(batch.quiet_deadline(), WakeReason::Tool),
            Phase::New | Phase::Closed => {}
        }
        if matches!(self.phase, Phase::New) { (None, None) } else { (first, hard) }
    }
}

/// Checks: nothing is changed by them (W1).
impl Run {
    fn check(&self, input: &Input) -> Result<Option<Message>, Misuse> {
        let new = matches!(self.phase, Phase::New);
        match input {
            Input::Start(_) if !new => Err(Misuse::AlreadyStarted),
            Input::Start(start) => self.check_start(start).map(Some),
            Input::Cancel { .. } | Input::Wake { .. } => Ok(None),
            Input::Abort(_) | Input::Taken { .. } | Input::ConsumerGone { .. } if new => {
                Err(Misuse::NotStarted { input: input.name() })
            }
            Input::Abort(_) | Input::ConsumerGone { .. } => Ok(None),
            Input::Taken { through } if *through > self.m.log.last_seq() => {
                Err(Misuse::TakenAhead { claimed: *through, last: self.m.log.last_seq() })
            }
            Input::Taken { .. } => Ok(None),
            Input::Model { op, .. } => {
                self.check_op(input, *op, |kind| kind == OpKind::Model)?;
                Ok(None)
            }
            Input::Authorized { op, .. } => {
                self.check_op(input, *op, |kind| matches!(kind, OpKind::Authorize(_)))?;
                Ok(None)
            }
            Input::Tool { op, item } => {
                let kind = self.check_op(input, *op, |kind| matches!(kind, OpKind::Tool(_)))?;
                match (kind, &self.phase) {
                    (Some(OpKind::Tool(at)), Phase::Batch(batch)) if !batch.accepts(at, item) => {
                        Err(Misuse::OutOfOrder { op: *op })
                    }
                    _ => Ok(None),
                }
            }
        }
    }

    /// The operation's kind if it is under way, `None` if it has ended.
    fn check_op(
        &self,
        input: &Input,
        op: OpId,
        is: impl Fn(OpKind) -> bool,
    ) -> Result<Option<OpKind>, Misuse> {
        match self.m.ops.find(op) {
            Some(kind) if is(kind) => Ok(Some(kind)),
            Some(_) => Err(Misuse::WrongKind { input: input.name(), op }),
            None if self.m.ops.was_issued(op) => Ok(None),
            None => Err(Misuse::UnknownOp { input: input.name(), op }),
        }
    }

    fn check_start(&self, start: &Start) -> Result<Message, Misuse> {
        let refuse = |text: &str| Misuse::InvalidStart(Text::new(encoded_prefix(text, 512)));
        if start.revision.0 >= MAX_EXACT {
            return Err(refuse("the session's revision cannot grow any more"));
        }
        let mut names: Vec<&str> = start.tools.iter().map(|tool| tool.name.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair.first() == pair.last()) {
            return Err(refuse(&alloc::format!("two tools are named {:?}", pair.first().unwrap_or(&""))));
        }
        let id = MessageId::of_run(self.m.log.run_id(), 1);
        let bounds = self.m.config.input_bounds();
        let input =
            Message::new(id, Role::User, start.input.clone(), &bounds).map_err(|e| refuse(&e.to_string()))?;
        start.history.accepts(&input).map_err(|e| refuse(&e.to_string()))?;
        Ok(input)
    }
}

/// What follows from an input.
impl Run {
    fn dispatch(&mut self, input: Input, message: Option<Message>, out: &mut Outbox) {
        let flow = match input {
            Input::Model { op, item } => match (self.m.ops.find(op), &mut self.phase) {
                (Some(_), Phase::Model(call)) => call.on_item(&mut self.m, item, out),
                _ => return self.m.ignored += 1,
            },
            Input::Tool { op, item } => match (self.m.ops.find(op), &mut self.phase) {
                (Some(OpKind::Tool(at)), Phase::Batch(batch)) => batch.on_item(&mut self.m, at, item, out),
                _ => return self.ignore_tool(op, item),
            },
            Input::Authorized { op, verdict } => return self.on_verdict(op, verdict, out),
            Input::Taken { through } => return self.m.set_taken(through),
            Input::Wake { .. } => return,
            Input::Start(start) => return self.start(*start, message, out),
            Input::Cancel { command } => return self.cancel(command, out),
            Input::Abort(cause) => return self.abort(cause, out),
            Input::ConsumerGone { awaited } => return self.m.consumer_gone(awaited),
        };
        self.follow(flow, out);
    }

    fn on_verdict(&mut self, op: OpId, verdict: Verdict, out: &mut Outbox) {
        let flow = match (self.m.ops.find(op), &mut self.phase) {
            (Some(OpKind::Authorize(at)), Phase::Batch(batch)) => {
                batch.on_verdict(&mut self.m, at, verdict, out)
            }
            _ => return self.m.ignored += 1,
        };
        self.follow(flow, out);
    }

    fn ignore_tool(&mut self, op: OpId, item: ToolItem) {
        self.m.ignored += 1;
        if let ToolItem::Done(end) = item {
            self.m.keep_late(op, end);
        }
    }

    fn start(&mut self, start: Start, message: Option<Message>, out: &mut Outbox) {
        let Some(message) = message else { return };
        let cancelled = start.cancelled || self.m.cancelled_early;
        self.m.begin(start, message);
        let Some(origin) = self.m.origin.clone() else { return };
        self.m.emit(origin.started());
        if cancelled {
            return self.end(Ending::Cancelled(CancelCause::Requested), out);
        }
        self.begin_step(out);
    }

    fn cancel(&mut self, command: CommandId, out: &mut Outbox) {
        let reply = match &self.m.outcome {
            Some(outcome) if matches!(outcome.result, RunResult::Cancelled(_)) => CancelReply::Cancelled,
            Some(_) => CancelReply::AlreadyFinished,
            None => {
                if matches!(self.phase, Phase::New) {
                    self.m.cancelled_early = true;
                } else {
                    self.end(Ending::Cancelled(CancelCause::Requested), out);
                }
                CancelReply::Cancelled
            }
        };
        out.push(Output::Reply { command, reply: Reply::Cancel(reply) });
    }

    fn abort(&mut self, cause: AbortCause, out: &mut Outbox) {
        if self.m.outcome.is_none() {
            let ending = match CancelCause::of(cause) {
                Some(cause) => Ending::Cancelled(cause),
                None => Ending::Failed(RunError::DriverPanicked),
            };
            self.end(ending, out);
        }
    }

    fn end(&mut self, ending: Ending, out: &mut Outbox) {
        let phase = core::mem::replace(&mut self.phase, Phase::Closed);
        closing::close(&mut self.m, phase, ending, out);
    }

    fn begin_step(&mut self, out: &mut Outbox) {
        if let Err(full) = self.m.history.has_room(self.m.config.limits.response_bytes) {
            return self.end(Ending::Failed(RunError::HistoryFull(full)), out);
        }
        self.m.step += 1;
        let tools = self.m.origin.as_ref().map_or(0, |origin| origin.tool_tokens);
        self.m.emit(Event::StepStarted {
            step: self.m.step,
            estimated_context_tokens: self.m.history.estimated_tokens().saturating_add(tools),
        });
        if let Some(call) = model::begin(&mut self.m, out) {
            self.phase = Phase::Model(call);
        }
    }

    #[inline]
    fn follow(&mut self, flow: Flow, out: &mut Outbox) {
        match flow {
            Flow::Stay => {}
            Flow::Respond(response, completion) => self.respond(*response, &completion, out),
            Flow::RetryAt(until) => {
                if let Phase::Model(call) = core::mem::replace(&mut self.phase, Phase::Closed) {
                    self.phase = Phase::Backoff(call, until);
                }
            }
            Flow::RetryNow => match core::mem::replace(&mut self.phase, Phase::Closed) {
                Phase::Model(mut call) | Phase::Backoff(mut call, _) => {
                    call.next_attempt(&mut self.m, out);
                    self.phase = Phase::Model(call);
                }
                other @ (Phase::New | Phase::Batch(_) | Phase::Closed) => self.phase = other,
            },
            Flow::Settled => self.after_batch(out),
            Flow::End(ending) => self.end(ending, out),
        }
    }

    /// A whole response: what follows depends on its calls, not on the finish reason (M8).
    fn respond(&mut self, response: Response, completion: &Completion, out: &mut Outbox) {
        let Response { mut parts, answer, calls, .. } = response;
        parts.retain(|part| !matches!(part, Part::Text(text) if text.is_empty()));
        self.m.add(Role::Assistant, parts);
        let cut = completion.finish == Some(Finish::Length);
        let refused = matches!(completion.finish, Some(Finish::Refusal | Finish::ContentFilter));
        let stop = match (refused, cut) {
            (true, _) => StopReason::Refusal,
            (false, true) => StopReason::MaxTokens,
            (false, false) => StopReason::EndTurn,
        };
        if calls.is_empty() {
            if completion.finish != Some(Finish::Pause) {
                return self.end(Ending::Completed(stop, answer), out);
            }
            self.m.invalid_turns = 0;
            return self.after_step(answer, out);
        }
        let barred = refused || (cut && calls.iter().any(|call| !call.complete));
        let calls = calls.into_iter().map(|call| call.call).collect();
        let batch = batch::begin(&mut self.m, calls, barred, answer, out);
        let settled = batch.is_settled();
        self.phase = Phase::Batch(alloc::boxed::Box::new(batch));
        if barred {
            let answer = self.take_answer();
            return self.end(Ending::Completed(stop, answer), out);
        }
        if settled {
            self.after_batch(out);
        }
    }

    fn take_answer(&mut self) -> Text {
        match &mut self.phase {
            Phase::Batch(batch) => batch.take_answer(),
            Phase::New | Phase::Model(_) | Phase::Backoff(..) | Phase::Closed => Text::EMPTY,
        }
    }

    fn after_batch(&mut self, out: &mut Outbox) {
        let answer = self.take_answer();
        if let Phase::Batch(batch) = core::mem::replace(&mut self.phase, Phase::Closed) {
            let results = batch.close(&mut self.m);
            self.m.add(Role::Tool, results);
        }
        let turns = self.m.invalid_turns;
        if turns >= self.m.config.retry.invalid_turns {
            return self.end(Ending::Failed(RunError::InvalidArguments { turns }), out);
        }
        self.after_step(answer, out);
    }

    /// The step is done; another follows, or the step limit is reached (R9).
    fn after_step(&mut self, answer: Text, out: &mut Outbox) {
        if !self.m.steps_left() {
            return self.end(Ending::Completed(StopReason::MaxSteps, answer), out);
        }
        self.m.emit(Event::StepCompleted { step: self.m.step });
        if !self.m.interrupted {
            self.begin_step(out);
        }
    }
}

/// Time and back-pressure: the last acts of a step.
impl Run {
    /// Lets due deadlines fall until none is due.
    fn fall_due(&mut self, quiet: bool, out: &mut Outbox) {
        while self.m.outcome.is_none() {
            if self.m.run_deadline.is_some_and(|at| at <= self.m.now) {
                return self.end(Ending::Failed(RunError::RunDeadline), out);
            }
            let flow = match &mut self.phase {
                Phase::Model(call) => call.on_time(&mut self.m, quiet, out),
                Phase::Backoff(call, until) => backoff::on_time(&self.m, call, *until),
                Phase::Batch(batch) if quiet => batch.on_quiet(&mut self.m, out),
                Phase::Batch(_) | Phase::New | Phase::Closed => Flow::Stay,
            };
            if matches!(flow, Flow::Stay) || self.m.interrupted {
                return;
            }
            self.follow(flow, out);
        }
    }

    /// Holds or releases the clocks when the primary stream became full or free, to a fixed point.
    fn settle_pause(&mut self) {
        while self.m.outcome.is_none() && self.m.is_full() != self.m.paused {
            self.m.paused = !self.m.paused;
            match &mut self.phase {
                Phase::Model(call) | Phase::Backoff(call, _) => call.on_pause(&self.m),
                Phase::Batch(batch) => batch.on_pause(&self.m),
                Phase::New | Phase::Closed => {}
            }
        }
    }
}
