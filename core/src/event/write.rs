//! Canonical encoding of events (L6): one writer for bytes and for their number.

use super::{
    Envelope, Event, Metrics, ModelCompleted, ModelFailed, ResetReason, RunFailed, StreamReset, ToolUpdated,
};
use super::{context, host_input};
use crate::config::CLOSING_TEXT;
use crate::error::RunError;
use crate::id::{CallRef, RunId};
use crate::json::{Object, Out, encoded_prefix, integer, string};
use crate::message::{Image, ImageData, Part, ToolResult};
use crate::outcome::Answer;
use crate::time::micros;
use crate::usage::GenerationTokens;
use alloc::string::{String, ToString};
use core::time::Duration;

impl Envelope {
    /// Writes the event as one canonical JSON object: `at`, `kind`, `payload`, `run_id`, `seq`.
    pub fn write<O: Out>(&self, run: &RunId, out: &mut O) {
        self.write_with(run.as_str(), out);
    }

    /// As [`Envelope::write`], with any text in the place of the run id: counting needs it once for all events.
    pub(crate) fn write_with<O: Out>(&self, run: &str, out: &mut O) {
        out.push(b"{\"at\":");
        integer(out, self.at.as_micros());
        out.push(b",\"kind\":\"");
        out.push(self.event.kind().as_str().as_bytes());
        out.push(b"\",\"payload\":");
        self.event.write_payload(out);
        out.push(b",\"run_id\":");
        string(out, run);
        out.push(b",\"seq\":");
        integer(out, self.seq.0);
        out.push(b"}");
    }

    /// The event as one line of JSON, without the line's end.
    pub fn to_json(&self, run: &RunId) -> String {
        let mut bytes = alloc::vec::Vec::new();
        self.write(run, &mut bytes);
        // The writer emits ASCII and whole texts only.
        String::from_utf8(bytes).unwrap_or_default()
    }
}

impl Event {
    /// Writes the payload: one canonical JSON object.
    pub fn write_payload<O: Out>(&self, out: &mut O) {
        let mut o = Object::begin(out);
        match self {
            Self::TextDelta(text) | Self::ReasoningDelta(text) | Self::ReasoningSummaryDelta(text) => {
                o.str("text", text);
            }
            Self::RefusalDelta(text) => {
                o.bool("refusal", true).str("text", text);
            }
            Self::RunStarted(started) | Self::RunResumed(started) => {
                o.str("model", &started.model)
                    .u64("revision", started.revision.0)
                    .str("session_id", started.session.as_str());
            }
            Self::RunCompleted(answer) => write_answer(&mut o, answer),
            Self::RunCancelled { revision, cause } => {
                o.str("cause", cause.as_str()).u64("revision", revision.0);
            }
            Self::RunFailed(failed) => write_failed(&mut o, failed),
            Self::RunSuspended { revision, requests } => {
                o.u64("requests", u64::from(*requests)).u64("revision", revision.0);
            }
            Self::RunRecovered { revision } => _ = o.u64("revision", revision.0),
            Self::StepStarted { step, estimated_context_tokens } => {
                o.u64("estimated_context_tokens", *estimated_context_tokens).u64("step", u64::from(*step));
            }
            Self::StepCompleted { step } | Self::StepFailed { step } | Self::StepCancelled { step } => {
                o.u64("step", u64::from(*step));
            }
            Self::ToolCallDelta(delta) => {
                o.str("arguments", &delta.arguments).opt_str("name", delta.name.as_deref());
                write_call(&mut o, delta.call);
            }
            Self::ToolProposed(call) => {
                o.str("arguments", &call.arguments).str("call_id", &call.id).str("name", &call.name);
                write_call(&mut o, call.call);
            }
            Self::ToolStarted(call) => {
                o.str("call_id", &call.id).str("name", &call.name);
                write_call(&mut o, call.call);
            }
            Self::ToolUpdated(update) => write_update(&mut o, update),
            Self::ToolFinished(result) => write_result(&mut o, result),
            Self::HostInputRequested(request) => host_input::requested(&mut o, request),
            Self::HostInputAnswered(answered) => host_input::answered(&mut o, answered),
            Self::HostInputFailed(failed) => host_input::failed(&mut o, failed),
            Self::HostInputCancelled(request) => host_input::cancelled(&mut o, request),
            Self::SteeringDelivered(_)
            | Self::SteeringApplied(_)
            | Self::BoundaryApplied(_)
            | Self::CompactionStarted { .. }
            | Self::CompactionCompleted(_)
            | Self::CompactionFailed(_)
            | Self::CompactionCancelled
            | Self::CompactionStopped { .. } => context::write(&mut o, self),
            Self::ModelStarted(_)
            | Self::ModelCompleted(_)
            | Self::ModelFailed(_)
            | Self::ModelCancelled { .. }
            | Self::StreamReset(_)
            | Self::RequestRetry { .. }
            | Self::ContextUpdated { .. }
            | Self::WebSearch { .. }
            | Self::HostedTool(_)
            | Self::Diagnostic(_)
            | Self::UsageUpdated(_) => self.write_model(&mut o),
        }
        o.end();
    }

    fn write_model<O: Out>(&self, o: &mut Object<'_, O>) {
        match self {
            Self::ModelStarted(started) => {
                o.u64("attempt", u64::from(started.attempt))
                    .str("model", &started.model)
                    .u64("op", started.op.0)
                    .u64("step", u64::from(started.step));
            }
            Self::ModelCompleted(done) => write_completed(o, done),
            Self::ModelFailed(failed) => write_model_failed(o, failed),
            Self::ModelCancelled { op, attempt, position } => {
                o.u64("attempt", u64::from(*attempt)).u64("op", op.0).str("position", position.as_str());
            }
            Self::StreamReset(reset) => write_reset(o, reset),
            Self::RequestRetry { kind, delay } => {
                o.u64("delay_us", micros(*delay)).str("kind", kind.as_str());
            }
            Self::ContextUpdated { kind } => {
                o.str("kind", kind);
            }
            Self::WebSearch { detail } => {
                o.str("detail", detail);
            }
            Self::HostedTool(tool) => {
                o.str("detail", &tool.detail).str("name", &tool.name);
            }
            Self::Diagnostic(fact) => {
                o.str("name", &fact.name).str("value", &fact.value);
            }
            Self::UsageUpdated(update) => {
                o.u64("op", update.op.0)
                    .u64("request", u64::from(update.request))
                    .object("usage", |o| update.usage.write(o));
            }
            // Written by `write_payload`.
            Self::RunStarted(_)
            | Self::RunCompleted(_)
            | Self::RunCancelled { .. }
            | Self::RunFailed(_)
            | Self::RunSuspended { .. }
            | Self::RunResumed(_)
            | Self::RunRecovered { .. }
            | Self::HostInputRequested(_)
            | Self::HostInputAnswered(_)
            | Self::HostInputFailed(_)
            | Self::HostInputCancelled(_)
            | Self::SteeringDelivered(_)
            | Self::SteeringApplied(_)
            | Self::BoundaryApplied(_)
            | Self::CompactionStarted { .. }
            | Self::CompactionCompleted(_)
            | Self::CompactionFailed(_)
            | Self::CompactionCancelled
            | Self::CompactionStopped { .. }
            | Self::StepStarted { .. }
            | Self::StepCompleted { .. }
            | Self::StepFailed { .. }
            | Self::StepCancelled { .. }
            | Self::TextDelta(_)
            | Self::RefusalDelta(_)
            | Self::ReasoningDelta(_)
            | Self::ReasoningSummaryDelta(_)
            | Self::ToolCallDelta(_)
            | Self::ToolProposed(_)
            | Self::ToolStarted(_)
            | Self::ToolUpdated(_)
            | Self::ToolFinished(_) => {}
        }
    }
}

fn write_update<O: Out>(o: &mut Object<'_, O>, update: &ToolUpdated) {
    o.str("call_id", &update.call.id)
        .u64("ordinal", u64::from(update.call.call.ordinal))
        .str("progress", &update.progress)
        .u64("step", u64::from(update.call.call.step));
}

fn write_call<O: Out>(o: &mut Object<'_, O>, call: CallRef) {
    o.u64("ordinal", u64::from(call.ordinal)).u64("step", u64::from(call.step));
}

fn write_answer<O: Out>(o: &mut Object<'_, O>, answer: &Answer) {
    o.str("answer", &answer.text)
        .u64("revision", answer.revision.0)
        .str("stop_reason", answer.stop_reason.as_str())
        .object("usage", |o| answer.usage.write(o));
}

fn write_failed<O: Out>(o: &mut Object<'_, O>, failed: &RunFailed) {
    let error = &*failed.error;
    let (retry_at, limits) = match error {
        RunError::Model { retry_at, limits_pointer, .. } => (*retry_at, limits_pointer.as_deref()),
        RunError::ModelCallDeadline
        | RunError::RunDeadline
        | RunError::InvalidArguments { .. }
        | RunError::Tool { .. }
        | RunError::Interrupted
        | RunError::BoundaryLost
        | RunError::Observer { .. }
        | RunError::HistoryFull(_)
        | RunError::DriverPanicked
        | RunError::Orphaned
        | RunError::Internal => (None, None),
    };
    let message = error.to_string();
    o.str("code", error.code())
        .opt_str("limits", limits)
        .str("message", encoded_prefix(&message, CLOSING_TEXT))
        .opt_u64("retry_at", retry_at.map(|at| at.as_micros()))
        .str("retryability", if error.is_retryable() { "retryable" } else { "permanent" })
        .u64("revision", failed.revision.0);
}

fn write_completed<O: Out>(o: &mut Object<'_, O>, done: &ModelCompleted) {
    o.u64("attempt", u64::from(done.attempt))
        .opt_str("finish", done.completion.finish.map(|finish| finish.as_str()))
        .object("metrics", |o| write_metrics(o, &done.metrics))
        .u64("op", done.op.0);
    let raw = encoded_prefix(&done.completion.raw, 64);
    o.opt_str("raw_finish", Some(raw).filter(|raw| !raw.is_empty())).object("usage", |o| done.usage.write(o));
}

fn write_metrics<O: Out>(o: &mut Object<'_, O>, metrics: &Metrics) {
    let span = |span: Option<Duration>| span.map(micros);
    match metrics.generation_output_tokens {
        Some(GenerationTokens::Reported(n)) => {
            o.u64("generation_output_tokens", n.min(crate::time::MAX_EXACT));
        }
        Some(GenerationTokens::Unavailable) => {
            o.str("generation_output_tokens", "unavailable");
        }
        None => {}
    }
    o.opt_u64("generation_time_us", span(metrics.generation_time))
        .opt_u64("output_tokens", metrics.output_tokens.map(|n| n.min(crate::time::MAX_EXACT)))
        .opt_u64("time_to_first_token_us", span(metrics.time_to_first_token));
}

fn write_model_failed<O: Out>(o: &mut Object<'_, O>, failed: &ModelFailed) {
    let problem = &failed.problem;
    o.u64("attempt", u64::from(failed.attempt))
        .u64("op", failed.op.0)
        .str("position", failed.position.as_str());
    o.object("problem", |o| {
        o.str("kind", problem.kind.as_str())
            .str("message", encoded_prefix(&problem.message, CLOSING_TEXT))
            .opt_u64("retry_after_us", problem.retry_after.map(micros))
            .opt_u64("status", problem.status.map(u64::from));
    });
}

fn write_reset<O: Out>(o: &mut Object<'_, O>, reset: &StreamReset) {
    match reset.reason {
        ResetReason::InvalidResponse => {
            o.str("position", reset.position.as_str()).str("reason", "invalid_response");
        }
        ResetReason::ContextOverflow => {
            o.str("position", reset.position.as_str()).str("reason", "context_overflow");
        }
        ResetReason::RetryableFailure { kind, retry_after } => {
            o.str("kind", kind.as_str())
                .str("position", reset.position.as_str())
                .str("reason", "retryable_failure")
                .opt_u64("retry_after_us", retry_after.map(micros));
        }
    }
}

fn write_result<O: Out>(o: &mut Object<'_, O>, result: &ToolResult) {
    o.str("call_id", &result.id).array("content", result.content.iter(), |out, part| {
        let mut item = Object::begin(out);
        match part {
            Part::Text(text) => {
                item.str("text", text);
            }
            Part::Image(image) => {
                item.object("image", |o| write_image(o, image));
            }
            // A result holds text and images only.
            Part::ToolCall(_) | Part::ToolResult(_) | Part::Context(_) => {}
        }
        item.end();
    });
    o.str("name", &result.name)
        .u64("ordinal", u64::from(result.call.ordinal))
        .str("status", result.status.as_str())
        .u64("step", u64::from(result.call.step));
}

/// Type, length and hash of an image: its bytes are in history only (T5).
fn write_image<O: Out>(o: &mut Object<'_, O>, image: &Image) {
    use sha2::Digest;
    o.u64("bytes", image.data.len() as u64).str("media_type", encoded_prefix(&image.media_type, 64));
    let out = o.key("sha256");
    out.push(b"\"");
    if O::COUNTS_ONLY {
        out.push(&[b'0'; 64]);
    } else {
        let hash = match &image.data {
            ImageData::Bytes(bytes) => sha2::Sha256::digest(bytes),
            ImageData::Url(url) => sha2::Sha256::digest(url.as_bytes()),
        };
        for byte in hash {
            let digit = |n: u8| if n < 10 { b'0' + n } else { b'a' + n - 10 };
            out.push(&[digit(byte >> 4), digit(byte & 15)]);
        }
    }
    out.push(b"\"");
}
