//! A model call: its attempts, and what their streams say (M3, M6-M8, R1-R5, R10, T7).

use super::{Ending, Flow};
use crate::assemble::{Assembler, Response, Violation};
use crate::clock::{Clock, Idle};
use crate::config::MAX_DETAIL;
use crate::error::RunError;
use crate::event::{
    Diagnostic, Event, HostedTool, Metrics, ModelCompleted, ModelFailed, ModelStarted, Position, ResetReason,
    StreamReset, ToolCallDelta, UsageUpdated,
};
use crate::id::{CallRef, OpId, check_id};
use crate::json::{encoded_len, encoded_prefix};
use crate::machine::{Machine, OpKind};
use crate::model::{Activity, CallDelta, Completion, Finish, ModelItem, ModelRequest, Problem, ProblemKind};
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
    let mut call = Box::new(ModelCall { request, failures: 0, malformed: 0, deadline, attempt });
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

    fn show(&mut self, m: &mut Machine, event: Event) {
        self.attempt.position = Position::Partial;
        m.emit(event);
    }

    fn token(&mut self, m: &Machine) {
        let attempt = &mut self.attempt;
        attempt.idle.wakes(m.now);
        if attempt.first_token.is_none() {
            attempt.first_token = Some(m.now);
            attempt.idle_before_first_token = attempt.idle.passed(m.now);
        }
    }

    fn on_text(&mut self, m: &mut Machine, text: Text, refusal: bool) -> Result<(), Violation> {
        if text.is_empty() {
            return Ok(());
        }
        self.attempt.assembler.text(&text)?;
        self.token(m);
        self.deltas(m, &text, if refusal { Event::RefusalDelta } else { Event::TextDelta });
        Ok(())
    }

    /// Reasoning is shown, not stored; one item may be no larger than a whole response.
    fn on_display(
        &mut self,
        m: &mut Machine,
        text: &Text,
        event: fn(Text) -> Event,
    ) -> Result<(), Violation> {
        let (limit, observed) = (m.config.limits.response_bytes, encoded_len(text));
        if observed > limit {
            return Err(Violation::Oversized { what: "bytes of reasoning in one item", limit, observed });
        }
        if !text.is_empty() {
            self.token(m);
            self.deltas(m, text, event);
        }
        Ok(())
    }

    /// Records text in pieces of the delta bound.
    fn deltas(&mut self, m: &mut Machine, text: &Text, event: fn(Text) -> Event) {
        let most = m.config.limits.delta_bytes;
        // No escape is longer than six bytes a byte.
        if text.len() as u64 * 6 <= most || encoded_len(text) <= most {
            self.show(m, event(text.clone()));
            return;
        }
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let piece = encoded_prefix(rest, most);
            self.show(m, event(Text::new(piece)));
            rest = rest.get(piece.len()..).unwrap_or_default();
        }
    }

    fn on_call_delta(&mut self, m: &mut Machine, delta: &CallDelta) -> Result<(), Violation> {
        let ordinal = self.attempt.assembler.call_delta(delta)?;
        self.token(m);
        self.call_deltas(m, ordinal, delta.name.as_ref(), &delta.arguments);
        Ok(())
    }

    fn on_call(&mut self, m: &mut Machine, call: &crate::model::FinalCall) -> Result<(), Violation> {
        if let Some(ordinal) = self.attempt.assembler.call(call)? {
            self.token(m);
            self.call_deltas(m, ordinal, Some(&call.name), &call.arguments);
        }
        Ok(())
    }

    fn call_deltas(&mut self, m: &mut Machine, ordinal: u32, name: Option<&Text>, arguments: &Text) {
        let call = CallRef { step: m.step, ordinal };
        let mut name = name.filter(|name| !name.is_empty()).map(|name| Text::new(encoded_prefix(name, 256)));
        let mut rest = arguments.as_str();
        while name.is_some() || !rest.is_empty() {
            let piece = encoded_prefix(rest, m.config.limits.delta_bytes);
            rest = rest.get(piece.len()..).unwrap_or_default();
            let delta = ToolCallDelta { call, name: name.take(), arguments: Text::new(piece) };
            self.show(m, Event::ToolCallDelta(Arc::new(delta)));
        }
    }

    fn on_usage(&mut self, m: &mut Machine, usage: &Usage) {
        let attempt = &mut self.attempt;
        attempt.reported = true;
        attempt.usage.replace(usage);
        let update = UsageUpdated { op: attempt.op, request: attempt.physical, usage: attempt.usage };
        m.emit(Event::UsageUpdated(Arc::new(update)));
        // What is not recorded is not billed.
        if !m.interrupted {
            m.request = attempt.usage;
        }
    }

    fn on_activity(&mut self, m: &mut Machine, activity: Activity) {
        let event = match activity {
            Activity::RequestRetry { kind, delay } => {
                m.settle_request();
                self.attempt.usage = Usage::default();
                self.attempt.reported = false;
                self.attempt.physical += 1;
                // The wait is none of the model's time (T7).
                self.attempt.idle.wait(m.now, delay);
                return m.emit(Event::RequestRetry { kind, delay });
            }
            Activity::WebSearch { detail } => Event::WebSearch { detail: clean(&detail, MAX_DETAIL) },
            Activity::HostedTool { name, detail } => Event::HostedTool(Arc::new(HostedTool {
                name: clean(&name, 256),
                detail: clean(&detail, MAX_DETAIL),
            })),
            Activity::Diagnostic { name, value } => return self.on_fact(m, &name, &value),
        };
        self.show(m, event);
    }

    /// Records a fact if its namespace is allowed and it is within bounds (M5); half a fact would be a wrong one.
    fn on_fact(&mut self, m: &mut Machine, name: &Text, value: &Text) {
        let namespace = name.split_once('.').map_or("", |(namespace, _)| namespace);
        let allowed = m.config.fact_namespaces.iter().any(|allowed| *allowed == namespace);
        let small = encoded_len(value) <= m.config.limits.fact_bytes && check_id(name).is_ok();
        if !allowed || !small || self.attempt.facts >= m.config.limits.facts {
            return;
        }
        self.attempt.facts += 1;
        let fact = Diagnostic { name: name.clone(), value: clean(value, m.config.limits.fact_bytes) };
        m.emit(Event::Diagnostic(Arc::new(fact)));
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
                Flow::Respond(Box::new(response), completion)
            }
            Err(violation) => self.malformed(m, violation.into()),
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
        m.emit(Event::StreamReset(Arc::new(StreamReset { reason, position: self.attempt.position })));
    }

    /// A response that breaks the stream union is asked for again at once, a bounded number of times (R1, R2).
    fn malformed(&mut self, m: &mut Machine, mut problem: Problem) -> Flow {
        (problem.retryable, problem.retry_after) = (None, None);
        self.record_failure(m, &problem);
        self.discard(m);
        self.malformed += 1;
        if self.malformed >= m.config.retry.malformed || self.request.attempt >= m.config.retry.attempts {
            return Flow::End(Ending::Failed(self.error(m, problem)));
        }
        self.reset(m, ResetReason::InvalidResponse);
        Flow::RetryNow
    }

    fn fail(&mut self, m: &mut Machine, problem: Problem) -> Flow {
        self.record_failure(m, &problem);
        self.failures += 1;
        match decide(&m.config.retry, &problem, self.request.attempt, self.failures) {
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

    /// What an abandoned or malformed attempt brought is void (R4).
    fn discard(&mut self, m: &Machine) {
        self.attempt.assembler = Assembler::new(m.step, m.config.response_bounds());
    }

    fn error(&self, m: &Machine, mut problem: Problem) -> RunError {
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
