//! What each event means for the spans of its run.

use super::write::{Emit, Facts, code, ended};
use super::{SpanId, SpanKind, Spans, Telemetry, names};
use crate::compaction::Trigger;
use crate::event::{
    CompactionCompleted, Envelope, Event, HostAnswered, HostFailed, ModelCompleted, ModelFailed,
    ModelStarted, RunFailed, RunStarted, UsageUpdated,
};
use crate::host_input::HostRequest;
use crate::id::{Revision, Seq};
use crate::message::{ToolCall, ToolResult, ToolStatus};
use crate::outcome::{Answer, CancelCause};
use crate::problem::ProblemKind;
use crate::text::Text;
use crate::time::Time;
use crate::usage::Usage;
use alloc::string::ToString;
use alloc::vec;
use core::time::Duration;

impl Spans {
    /// Takes the run's next event, and hands on what it means, in order.
    pub fn take(&mut self, envelope: &Envelope, to: &mut dyn FnMut(Telemetry)) {
        let e = &mut Emit { at: envelope.at, seq: envelope.seq, to };
        let name = envelope.event.kind().as_str();
        match &envelope.event {
            Event::RunStarted(started) | Event::RunResumed(started) => self.run_starts(started, e),
            Event::RunCompleted(answer) => self.run_ends(false, completed(answer), e),
            Event::RunCancelled { revision, cause } => self.run_ends(false, cancelled(*cause, *revision), e),
            Event::RunFailed(run) => self.run_ends(true, failed(run), e),
            Event::RunSuspended { revision, .. } => self.run_suspends(*revision, e),
            Event::RunRecovered { revision } => e.event(name, self.run, Facts::default().revision(*revision)),
            Event::StepStarted { step, .. } => self.step_starts(*step, e),
            Event::StepCompleted { step } => self.step_ends(*step, false, Facts::default(), e),
            Event::StepFailed { step } => self.step_ends(*step, true, Facts::default(), e),
            Event::StepCancelled { step } => self.step_ends(*step, false, ended("cancelled"), e),
            Event::ModelStarted(started) => self.attempt_starts(started, e),
            Event::ModelCompleted(completed) => self.attempt_completes(completed, e),
            Event::ModelFailed(model) => self.attempt_fails(model, e),
            Event::ModelCancelled { .. } => self.attempt_ends(false, ended("cancelled"), e),
            Event::UsageUpdated(updated) => self.usage(updated),
            Event::RequestRetry { kind, delay } => e.event(name, self.attempt, repeated(*kind, *delay)),
            Event::HostedTool(tool) => e.event(name, self.attempt, code(names::TOOL, tool.name.clone())),
            Event::Diagnostic(fact) => e.event(name, self.attempt, code(names::DETAIL, fact.name.clone())),
            Event::WebSearch { .. } => e.event(name, self.attempt, Facts::default()),
            Event::StreamReset(_) => e.event(name, self.step, Facts::default()),
            Event::ToolStarted(call) => self.tool_starts(call, e),
            Event::ToolFinished(result) => self.tool_ends(result, e),
            Event::HostInputRequested(request) => self.request_starts(request, e),
            Event::HostInputAnswered(answered) => self.request_answered(answered, e),
            Event::HostInputFailed(failed) => self.request_failed(failed, e),
            Event::HostInputCancelled(request) => self.request_ends(request, false, ended("cancelled"), e),
            Event::SteeringDelivered(id) | Event::SteeringApplied(id) => {
                e.event(name, self.run, code(names::DETAIL, id.text().clone()));
            }
            Event::BoundaryApplied(it) => e.event(name, self.run, Facts::default().revision(it.revision)),
            Event::CompactionStarted { messages, trigger, .. } => {
                self.compaction_starts(*messages, *trigger, e)
            }
            Event::CompactionCompleted(done) => self.compaction_ends(false, compacted(done), e),
            Event::CompactionFailed(it) => {
                self.compaction_ends(true, code(names::ERROR, it.error.code()).usage(&it.usage), e);
            }
            Event::CompactionCancelled => self.compaction_ends(false, ended("cancelled"), e),
            Event::CompactionStopped { .. } => e.event(name, self.run, Facts::default()),
            // Content, and what becomes of it.
            Event::TextDelta(_)
            | Event::RefusalDelta(_)
            | Event::ReasoningDelta(_)
            | Event::ReasoningSummaryDelta(_)
            | Event::ToolCallDelta(_)
            | Event::ContextUpdated { .. }
            | Event::ToolProposed(_)
            | Event::ToolUpdated(_) => {}
        }
    }

    /// Ends what is open, for a reader that gets no further: how it went on is not known.
    pub fn stop(&mut self, at: Time, to: &mut dyn FnMut(Telemetry)) {
        let e = &mut Emit { at, seq: Seq(0), to };
        self.run_ends(false, ended("incomplete"), e);
    }

    fn run_starts(&mut self, started: &RunStarted, e: &mut Emit<'_>) {
        self.run_ends(false, ended("incomplete"), e);
        let facts = code(names::OPERATION, "invoke_agent")
            .maybe(names::PROVIDER, self.provider.as_ref())
            .text(names::CONVERSATION, started.session.text().clone())
            .text(names::MODEL, started.model.clone())
            .text(names::RUN, self.run_id.text().clone())
            .revision(started.revision);
        self.run = Some(e.start(None, SpanKind::Run, "invoke_agent", facts));
    }

    /// Ends the run, and before it whatever the log has not closed: it was opened before a gap, or goes on elsewhere.
    fn run_ends(&mut self, failed: bool, facts: Facts, e: &mut Emit<'_>) {
        self.close("incomplete", e);
        e.end(&mut self.run, SpanKind::Run, failed, facts);
    }

    fn run_suspends(&mut self, revision: Revision, e: &mut Emit<'_>) {
        self.close("suspended", e);
        self.run_ends(false, ended("suspended").revision(revision), e);
    }

    /// Ends everything within the run, the innermost first.
    fn close(&mut self, how: &'static str, e: &mut Emit<'_>) {
        while let Some((_, span)) = self.requests.pop() {
            e.end(&mut Some(span), SpanKind::HostInput, false, ended(how));
        }
        while let Some((_, span)) = self.tools.pop() {
            e.end(&mut Some(span), SpanKind::Tool, false, ended(how));
        }
        e.end(&mut self.attempt, SpanKind::Attempt, false, ended(how));
        e.end(&mut self.compaction, SpanKind::Compaction, false, ended(how));
        e.end(&mut self.step, SpanKind::Step, false, ended(how));
    }

    fn step_starts(&mut self, step: u32, e: &mut Emit<'_>) {
        self.close("incomplete", e);
        self.number = step;
        self.step =
            Some(e.start(self.run, SpanKind::Step, "step", Facts::default().number(names::STEP, step)));
    }

    fn step_ends(&mut self, step: u32, failed: bool, facts: Facts, e: &mut Emit<'_>) {
        self.reaches(step, e);
        let open = self.step.take();
        self.close("incomplete", e);
        self.step = open;
        e.end(&mut self.step, SpanKind::Step, failed, facts);
    }

    /// The log is at this step: one before it is over, if its end is missing.
    fn reaches(&mut self, step: u32, e: &mut Emit<'_>) {
        if self.step.is_some() && self.number != step {
            self.close("incomplete", e);
        }
    }

    fn attempt_starts(&mut self, started: &ModelStarted, e: &mut Emit<'_>) {
        self.reaches(started.step, e);
        e.end(&mut self.attempt, SpanKind::Attempt, false, ended("incomplete"));
        let facts = code(names::OPERATION, "chat")
            .maybe(names::PROVIDER, self.provider.as_ref())
            .text(names::MODEL, started.model.clone())
            .number(names::STEP, started.step)
            .number(names::ATTEMPT, started.attempt);
        let name = Text::concat(&["chat ", &started.model]);
        (self.used, self.request) = (Usage::default(), (0, Usage::default()));
        self.attempt = Some(e.start(self.within(), SpanKind::Attempt, name, facts));
    }

    /// What a span belongs to that stands within a step.
    fn within(&self) -> Option<SpanId> {
        self.step.or(self.run)
    }

    /// A physical request of the attempt has used more; what earlier ones have used stays.
    fn usage(&mut self, updated: &UsageUpdated) {
        if updated.request != self.request.0 {
            self.used.add(&core::mem::take(&mut self.request.1));
            self.request.0 = updated.request;
        }
        self.request.1.replace(&updated.usage);
    }

    fn attempt_completes(&mut self, done: &ModelCompleted, e: &mut Emit<'_>) {
        self.request.1.replace(&done.usage);
        let mut facts = Facts::default().seconds(names::FIRST_CHUNK, done.metrics.time_to_first_token);
        if let Some(finish) = done.completion.finish {
            facts = facts.texts(names::FINISH_REASONS, vec![Text::from(finish.as_str())]);
        }
        self.attempt_ends(false, facts, e);
    }

    fn attempt_fails(&mut self, model: &ModelFailed, e: &mut Emit<'_>) {
        self.attempt_ends(true, code(names::ERROR, model.problem.kind.as_str()), e);
    }

    /// Ends the attempt with what all of its physical requests have used: that is what was billed (R5).
    fn attempt_ends(&mut self, failed: bool, facts: Facts, e: &mut Emit<'_>) {
        self.used.add(&core::mem::take(&mut self.request.1));
        e.end(&mut self.attempt, SpanKind::Attempt, failed, facts.usage(&self.used));
    }

    fn tool_starts(&mut self, call: &ToolCall, e: &mut Emit<'_>) {
        self.reaches(call.call.step, e);
        let facts = code(names::OPERATION, "execute_tool")
            .text(names::TOOL, call.name.clone())
            .text(names::TOOL_CALL, call.id.clone())
            .text(names::TOOL_TYPE, "function")
            .text(names::CALL, call.call.to_string());
        let name = Text::concat(&["execute_tool ", &call.name]);
        self.tools.push((call.call, e.start(self.within(), SpanKind::Tool, name, facts)));
    }

    /// Ends the call's span, if its tool's code was entered at all.
    fn tool_ends(&mut self, result: &ToolResult, e: &mut Emit<'_>) {
        let Some(at) = self.tools.iter().position(|(call, _)| *call == result.call) else { return };
        let (_, span) = self.tools.remove(at);
        let (failed, facts) = match result.status {
            ToolStatus::Success => (false, Facts::default()),
            ToolStatus::InterruptedNotStarted | ToolStatus::InterruptedOutcomeUnknown => {
                (false, ended("cancelled").text(names::REASON, result.status.as_str()))
            }
            ToolStatus::Failure
            | ToolStatus::Denied
            | ToolStatus::Unavailable
            | ToolStatus::InvalidArguments
            | ToolStatus::TimedOut
            | ToolStatus::Panicked => (true, code(names::ERROR, result.status.as_str())),
        };
        e.end(&mut Some(span), SpanKind::Tool, failed, facts);
    }

    fn request_starts(&mut self, request: &HostRequest, e: &mut Emit<'_>) {
        self.reaches(request.call.call.step, e);
        let facts = code(names::REQUEST, request.id.text().clone())
            .text(names::REQUEST_KIND, request.kind.as_str())
            .text(names::TOOL, request.call.name.clone())
            .text(names::CALL, request.call.call.to_string());
        let tool = self.tools.iter().find(|(call, _)| *call == request.call.call).map(|(_, span)| *span);
        let span = e.start(tool.or(self.within()), SpanKind::HostInput, "host_input", facts);
        self.requests.push((request.id.clone(), span));
    }

    fn request_answered(&mut self, answered: &HostAnswered, e: &mut Emit<'_>) {
        self.request_ends(&answered.request, false, code(names::REASON, answered.source.as_str()), e);
    }

    fn request_failed(&mut self, failed: &HostFailed, e: &mut Emit<'_>) {
        self.request_ends(&failed.request, true, code(names::ERROR, failed.error.as_str()), e);
    }

    fn request_ends(&mut self, request: &HostRequest, failed: bool, facts: Facts, e: &mut Emit<'_>) {
        let Some(at) = self.requests.iter().position(|(id, _)| *id == request.id) else { return };
        let (_, span) = self.requests.remove(at);
        e.end(&mut Some(span), SpanKind::HostInput, failed, facts);
    }

    fn compaction_starts(&mut self, messages: u32, trigger: Trigger, e: &mut Emit<'_>) {
        e.end(&mut self.compaction, SpanKind::Compaction, false, ended("incomplete"));
        let facts = code(names::REASON, trigger.as_str()).number(names::MESSAGES, messages);
        self.compaction = Some(e.start(self.within(), SpanKind::Compaction, "compaction", facts));
    }

    fn compaction_ends(&mut self, failed: bool, facts: Facts, e: &mut Emit<'_>) {
        e.end(&mut self.compaction, SpanKind::Compaction, failed, facts);
    }
}

fn completed(answer: &Answer) -> Facts {
    code(names::REASON, answer.stop_reason.as_str()).revision(answer.revision).usage(&answer.usage)
}

fn compacted(done: &CompactionCompleted) -> Facts {
    Facts::default().number(names::MESSAGES, done.removed).revision(done.revision).usage(&done.usage)
}

fn cancelled(cause: CancelCause, revision: Revision) -> Facts {
    ended("cancelled").text(names::REASON, cause.as_str()).revision(revision)
}

fn failed(run: &RunFailed) -> Facts {
    code(names::ERROR, run.error.code()).revision(run.revision)
}

fn repeated(kind: ProblemKind, delay: Duration) -> Facts {
    code(names::ERROR, kind.as_str()).seconds(names::DELAY, Some(delay))
}
