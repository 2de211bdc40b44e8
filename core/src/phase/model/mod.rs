//! A model call: its attempts, and what their streams say (M3, M6-M8, R1-R5, R10, T7).

mod content;

use super::{Ending, Flow, compact};
use crate::assemble::{Assembler, Response, Violation};
use crate::clock::{Clock, Idle};
use crate::error::RunError;
use crate::event::{
    Event, Metrics, ModelCompleted, ModelFailed, ModelStarted, Position, ResetReason, StreamReset,
};
use crate::id::OpId;
use crate::json::encoded_prefix;
use crate::machine::{Machine, OpKind};
use crate::model::{Completion, Finish, ModelItem, ModelRequest, Problem, ProblemKind};
use crate::output::{Outbox, WakeReason, Work};
use crate::problem::clean;
use crate::retry::{Decision, decide};
use crate::text::Text;
use crate::time::Time;
use crate::usage::{GenerationTokens, Usage};
use alloc::boxed::Box;
use alloc::format;
use alloc::sync::Arc;
use core::time::Duration;

/// One model call of a step.
#[derive(Clone, Debug)]
pub(crate) struct ModelCall {
    request: ModelRequest,
    failures: u32,
    malformed: u32,
    /// Attempts that were lost with their process: they do not count (H7).
    lost: u32,
    /// Whether the history was compacted, or was to be, because it was too large.
    recovered: bool,
    deadline: Option<Time>,
    attempt: Attempt,
}

/// The attempt under way, or the one that has just ended.
#[derive(Clone, Debug)]
struct Attempt {
    op: OpId,
    /// Whether the operation is under way.
    live: bool,
    assembler: Assembler,
    position: Position,
    started: Time,
    deadline: Option<Time>,
    clock: Clock,
    clock_reason: WakeReason,
    physical: u32,
    facts: u32,
    usage: Usage,
    reported: bool,
    generation_tokens: Option<GenerationTokens>,
    first_token: Option<Time>,
    idle: Idle,
    idle_before_first_token: Duration,
}

/// Begins the model call of a new step.
pub(crate) fn begin(m: &mut Machine, out: &mut Outbox) -> Option<Box<ModelCall>> {
    let origin = Arc::clone(m.origin.as_ref()?);
    let operation = format!("{}/{}", m.log.run_id(), m.ops.next_id());
    let request = ModelRequest {
        operation: Text::from(operation),
        attempt: 0,
        model: Arc::clone(&origin.model),
        history: m.history.clone(),
        tools: Arc::clone(&m.offered),
    };
    let deadline = m.config.deadlines.model_call.map(|span| m.now.after(span));
    let attempt = Attempt::idle(m);
    let mut call = Box::new(ModelCall {
        request,
        failures: 0,
        malformed: 0,
        lost: 0,
        recovered: false,
        deadline,
        attempt,
    });
    call.next_attempt(m, out);
    Some(call)
}

impl Attempt {
    /// An attempt that was not begun.
    fn idle(m: &Machine) -> Self {
        Self {
            op: OpId(0),
            live: false,
            assembler: Assembler::new(m.step, m.config.response_bounds()),
            position: Position::Pristine,
            started: m.now,
            deadline: None,
            clock: Clock::Off,
            clock_reason: WakeReason::FirstItem,
            physical: 1,
            facts: 0,
            usage: Usage::default(),
            reported: false,
            generation_tokens: None,
            first_token: None,
            idle: Idle::default(),
            idle_before_first_token: Duration::ZERO,
        }
    }

    fn metrics(&self, now: Time) -> Metrics {
        let (first, before) = (self.first_token, self.idle_before_first_token);
        let after = self.idle.passed(now).saturating_sub(before);
        let to_first = |at: Time| at.since(self.started).saturating_sub(before);
        Metrics {
            output_tokens: self.usage.output_tokens,
            generation_output_tokens: self.generation_tokens,
            time_to_first_token: first.map(to_first),
            generation_time: first.map(|at| now.since(at).saturating_sub(after)),
        }
    }
}

impl ModelCall {
    /// Begins the next attempt, with the same request (R6).
    pub(crate) fn next_attempt(&mut self, m: &mut Machine, out: &mut Outbox) {
        self.request.attempt += 1;
        let mut attempt = Attempt::idle(m);
        attempt.op = m.ops.next_id();
        attempt.live = true;
        attempt.deadline = m.config.deadlines.attempt.map(|span| m.now.after(span));
        attempt.clock = Clock::start(m.now, m.config.deadlines.first_item, m.paused);
        if m.paused {
            attempt.idle.hold(m.now);
        }
        self.attempt = attempt;
        m.emit(Event::ModelStarted(Arc::new(ModelStarted {
            op: m.ops.next_id(),
            step: m.step,
            attempt: self.request.attempt,
            model: Text::new(encoded_prefix(&self.request.model.name, 256)),
        })));
        m.begin_op(OpKind::Model, Work::Model(Arc::new(self.request.clone())), out);
    }

    /// Takes in an item of the attempt's stream; whatever it is, it is a sign of life (R10).
    #[inline]
    pub(crate) fn on_item(&mut self, m: &mut Machine, item: ModelItem, out: &mut Outbox) -> Flow {
        self.attempt.clock = Clock::start(m.now, m.config.deadlines.idle, m.paused);
        self.attempt.clock_reason = WakeReason::Idle;
        let content = match item {
            ModelItem::Text(text) => self.on_text(m, text, false),
            ModelItem::Refusal(text) => self.on_text(m, text, true),
            ModelItem::Reasoning(text) => self.on_display(m, &text, Event::ReasoningDelta),
            ModelItem::ReasoningSummary(text) => self.on_display(m, &text, Event::ReasoningSummaryDelta),
            ModelItem::CallDelta(delta) => self.on_call_delta(m, &delta),
            ModelItem::Call(call) => self.on_call(m, &call),
            ModelItem::CallEnd(index) => {
                self.attempt.assembler.call_end(index);
                Ok(())
            }
            ModelItem::Usage(usage) => {
                self.on_usage(m, &usage);
                Ok(())
            }
            ModelItem::GenerationTokens(tokens) => {
                self.attempt.generation_tokens = Some(tokens);
                Ok(())
            }
            ModelItem::Context(context) => {
                let kind = clean(&context.kind, 256);
                let taken = self.attempt.assembler.context(context);
                if taken.is_ok() {
                    self.show(m, Event::ContextUpdated { kind });
                }
                taken
            }
            ModelItem::Activity(activity) => {
                self.on_activity(m, *activity);
                Ok(())
            }
            ModelItem::Steering(item) => {
                self.on_steering(m, &item, out);
                Ok(())
            }
            ModelItem::Alive => Ok(()),
            ModelItem::Done(completion) => return self.on_done(m, *completion),
            ModelItem::Failed(problem) => {
                self.end_op(m);
                let problem = problem.bounded(m.config.limits.error_bytes);
                return if problem.kind == ProblemKind::InvalidResponse {
                    self.malformed(m, problem)
                } else {
                    self.fail(m, problem)
                };
            }
        };
        match content {
            Ok(()) => Flow::Stay,
            Err(violation) => {
                m.abandon(self.attempt.op, out);
                self.attempt.live = false;
                self.malformed(m, violation.into())
            }
        }
    }

    fn end_op(&mut self, m: &mut Machine) {
        m.ops.close(self.attempt.op);
        self.attempt.live = false;
    }

    fn on_done(&mut self, m: &mut Machine, completion: Completion) -> Flow {
        self.end_op(m);
        if completion.finish == Some(Finish::Error) {
            let problem = Problem::new(ProblemKind::Server, "the provider ended the response with an error");
            return self.fail(m, problem);
        }
        if self.attempt.assembler.is_truncated(&completion, self.attempt.reported) {
            return self.fail(m, Violation::Truncated.into());
        }
        let empty = Assembler::new(m.step, m.config.response_bounds());
        let assembler = core::mem::replace(&mut self.attempt.assembler, empty);
        match assembler.complete(&completion, self.attempt.reported) {
            Ok(response) => {
                m.settle_request();
                m.emit(Event::ModelCompleted(Arc::new(ModelCompleted {
                    op: self.attempt.op,
                    attempt: self.request.attempt,
                    completion: completion.clone(),
                    usage: self.attempt.usage,
                    metrics: self.attempt.metrics(m.now),
                })));
                if !m.interrupted {
                    m.usage.add(&self.attempt.usage);
                }
                self.answered(m);
                Flow::Respond(Box::new(response), completion)
            }
            Err(violation) => self.malformed(m, violation.into()),
        }
    }

    /// The model has read what it was sent, and said how much that was.
    fn answered(&self, m: &mut Machine) {
        m.fresh = None;
        m.steers.turn_ends();
        if let Some(reported) = self.attempt.usage.input_tokens {
            m.context.measure(reported, m.sent, &m.config.compaction);
        }
    }

    fn record_failure(&mut self, m: &mut Machine, problem: &Problem) {
        m.settle_request();
        m.emit(Event::ModelFailed(Arc::new(ModelFailed {
            op: self.attempt.op,
            attempt: self.request.attempt,
            problem: problem.clone(),
            position: self.attempt.position,
        })));
    }

    fn reset(&self, m: &mut Machine, reason: ResetReason) {
        m.steers.reset();
        m.emit(Event::StreamReset(Arc::new(StreamReset { reason, position: self.attempt.position })));
    }

    /// A response that breaks the stream union is asked for again at once, a bounded number of times (R1, R2).
    fn malformed(&mut self, m: &mut Machine, mut problem: Problem) -> Flow {
        (problem.retryable, problem.retry_after) = (None, None);
        self.record_failure(m, &problem);
        self.discard(m);
        self.malformed += 1;
        if self.malformed >= m.config.retry.malformed || self.counted() >= m.config.retry.attempts {
            return Flow::End(Ending::Failed(self.error(m, problem)));
        }
        self.reset(m, ResetReason::InvalidResponse);
        Flow::RetryNow
    }

    fn fail(&mut self, m: &mut Machine, problem: Problem) -> Flow {
        self.record_failure(m, &problem);
        if problem.kind == ProblemKind::ContextOverflow && self.may_recover(m) {
            self.recovered = true;
            self.discard(m);
            self.reset(m, ResetReason::ContextOverflow);
            return Flow::Overflow(Box::new(problem));
        }
        self.failures += 1;
        match decide(&m.config.retry, &problem, self.counted(), self.failures) {
            // At the end of time no wait passes any more.
            Decision::Wait(wait) if m.now.after(wait) > m.now => {
                self.discard(m);
                let (kind, retry_after) = (problem.kind, problem.retry_after);
                self.reset(m, ResetReason::RetryableFailure { kind, retry_after });
                Flow::RetryAt(m.now.after(wait))
            }
            Decision::Wait(_) | Decision::GiveUp => Flow::End(Ending::Failed(self.error(m, problem))),
        }
    }

    /// The attempt is gone with its process: what it showed is void, and the next one begins at once (H7).
    pub(crate) fn lost(&mut self, m: &mut Machine, out: &mut Outbox) -> Flow {
        m.abandon(self.attempt.op, out);
        self.attempt.live = false;
        let kind = ProblemKind::Connection;
        self.record_failure(m, &Problem::new(kind, "the process that made the request is gone"));
        self.discard(m);
        self.lost = self.lost.saturating_add(1);
        self.reset(m, ResetReason::RetryableFailure { kind, retry_after: None });
        Flow::RetryNow
    }

    /// The attempts that the bound of the model call counts (R1).
    fn counted(&self) -> u32 {
        self.request.attempt.saturating_sub(self.lost)
    }

    /// Whether a context that was too large is compacted: once in a model call, and if an attempt is left (K5, R1).
    fn may_recover(&self, m: &Machine) -> bool {
        !self.recovered && self.counted() < m.config.retry.attempts && compact::can_recover(m)
    }

    /// Goes on with the history that came of the compaction.
    pub(crate) fn go_on(&mut self, m: &mut Machine, out: &mut Outbox) {
        self.request.history = m.history.clone();
        m.sent = m.plain_estimate();
        self.next_attempt(m, out);
    }

    /// What an abandoned or malformed attempt brought is void (R4).
    fn discard(&mut self, m: &Machine) {
        self.attempt.assembler = Assembler::new(m.step, m.config.response_bounds());
    }

    /// The run's error for want of a further attempt.
    pub(crate) fn error(&self, m: &Machine, mut problem: Problem) -> RunError {
        // A wait that nobody is asked to sit through makes the failure a permanent one, with a time to come back (R7).
        if problem.retry_after.is_some_and(|hint| hint > m.config.retry.give_up_hint) {
            problem.retryable = Some(false);
        }
        let limited = matches!(problem.kind, ProblemKind::RateLimited | ProblemKind::QuotaExhausted);
        RunError::Model {
            attempts: self.request.attempt,
            retry_at: problem.retry_after.map(|hint| m.now.after(hint)),
            limits_pointer: m.config.limits_pointer.clone().filter(|_| limited),
            problem,
        }
    }

    /// The earliest deadline that any wake decides.
    pub(crate) fn hard_deadline(&self) -> [(Option<Time>, WakeReason); 2] {
        let attempt = self.attempt.deadline.filter(|_| self.attempt.live);
        [(self.deadline, WakeReason::ModelCall), (attempt, WakeReason::Attempt)]
    }

    /// The deadline that only a quiet wake decides.
    pub(crate) fn quiet_deadline(&self) -> (Option<Time>, WakeReason) {
        (self.attempt.clock.at().filter(|_| self.attempt.live), self.attempt.clock_reason)
    }

    /// Lets due deadlines fall: the model call's, the attempt's, and on a quiet wake the first item's or idle one.
    pub(crate) fn on_time(&mut self, m: &mut Machine, quiet: bool, out: &mut Outbox) -> Flow {
        let due = |at: Option<Time>| at.is_some_and(|at| at <= m.now);
        if due(self.deadline) {
            return Flow::End(Ending::Failed(RunError::ModelCallDeadline));
        }
        if !self.attempt.live {
            return Flow::Stay;
        }
        let text = if due(self.attempt.deadline) {
            "the attempt took longer than its deadline"
        } else if quiet && self.attempt.clock.is_due(m.now) {
            if self.attempt.clock_reason == WakeReason::FirstItem {
                "nothing came within the deadline of the first item"
            } else {
                "nothing came within the idle deadline"
            }
        } else {
            return Flow::Stay;
        };
        m.abandon(self.attempt.op, out);
        self.attempt.live = false;
        self.fail(m, Problem::new(ProblemKind::Timeout, text))
    }

    /// Holds or releases the clocks that stand still while the primary stream is full.
    pub(crate) fn on_pause(&mut self, m: &Machine) {
        let attempt = &mut self.attempt;
        if m.paused {
            attempt.clock.hold(m.now);
            attempt.idle.hold(m.now);
        } else {
            attempt.clock.release(m.now);
            attempt.idle.release(m.now);
        }
    }

    /// What the ended run keeps of the attempt (C4).
    pub(crate) fn close(self) -> Response {
        self.attempt.assembler.abort()
    }
}
