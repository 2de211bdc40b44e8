//! Canonical encoding of what changes the context between steps: boundary input and compaction.

use super::{BoundaryApplied, CompactionCompleted, CompactionFailed};
use crate::config::CLOSING_TEXT;
use crate::json::{Object, Out, encoded_prefix};
use crate::time::MAX_EXACT;
use alloc::string::ToString;

pub(super) fn boundary<O: Out>(o: &mut Object<'_, O>, applied: &BoundaryApplied) {
    o.str("boundary", applied.boundary.as_str())
        .u64("revision", applied.revision.0)
        .str("session_id", applied.session.as_str());
}

pub(super) fn completed<O: Out>(o: &mut Object<'_, O>, done: &CompactionCompleted) {
    o.u64("estimated_context_tokens", done.estimated_context_tokens.min(MAX_EXACT))
        .u64("messages", u64::from(done.messages))
        .u64("removed", u64::from(done.removed))
        .u64("revision", done.revision.0)
        .object("usage", |o| done.usage.write(o));
}

pub(super) fn failed<O: Out>(o: &mut Object<'_, O>, failed: &CompactionFailed) {
    let message = failed.error.to_string();
    o.str("code", failed.error.code())
        .str("message", encoded_prefix(&message, CLOSING_TEXT))
        .object("usage", |o| failed.usage.write(o));
}
