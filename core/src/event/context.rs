//! Canonical encoding of what changes the context between steps: boundary input and compaction.

use super::{BoundaryApplied, CompactionCompleted, CompactionFailed, Event};
use crate::config::CLOSING_TEXT;
use crate::json::{Object, Out, encoded_prefix};
use crate::time::MAX_EXACT;
use alloc::string::ToString;

/// What is added between steps; of other events nothing.
pub(super) fn write<O: Out>(o: &mut Object<'_, O>, event: &Event) {
    if let Event::SteeringDelivered(id) | Event::SteeringApplied(id) = event {
        o.str("steer_id", id.as_str());
    } else if let Event::BoundaryApplied(applied) = event {
        boundary(o, applied);
    } else if let Event::CompactionStarted { messages, estimated_context_tokens, trigger } = event {
        o.u64("estimated_context_tokens", (*estimated_context_tokens).min(MAX_EXACT))
            .u64("messages", u64::from(*messages))
            .str("trigger", trigger.as_str());
    } else if let Event::CompactionCompleted(done) = event {
        completed(o, done);
    } else if let Event::CompactionFailed(fault) = event {
        failed(o, fault);
    } else if let Event::CompactionStopped { failures, estimated_context_tokens } = event {
        o.u64("estimated_context_tokens", (*estimated_context_tokens).min(MAX_EXACT))
            .u64("failures", u64::from(*failures));
    }
}

fn boundary<O: Out>(o: &mut Object<'_, O>, applied: &BoundaryApplied) {
    o.str("boundary", applied.boundary.as_str())
        .u64("revision", applied.revision.0)
        .str("session_id", applied.session.as_str());
}

fn completed<O: Out>(o: &mut Object<'_, O>, done: &CompactionCompleted) {
    o.u64("estimated_context_tokens", done.estimated_context_tokens.min(MAX_EXACT))
        .u64("messages", u64::from(done.messages))
        .u64("removed", u64::from(done.removed))
        .u64("revision", done.revision.0)
        .object("usage", |o| done.usage.write(o));
}

fn failed<O: Out>(o: &mut Object<'_, O>, failed: &CompactionFailed) {
    let message = failed.error.to_string();
    o.str("code", failed.error.code())
        .str("message", encoded_prefix(&message, CLOSING_TEXT))
        .object("usage", |o| failed.usage.write(o));
}
