//! The wait for boundary input (B2-B6): before a step asks the model, or before an end-turn commit.

use crate::boundary::{Boundary, BoundaryError, BoundaryRequest};
use crate::machine::{Machine, OpKind};
use crate::message::{Message, MessageBounds, Part, Role};
use crate::output::{Outbox, Work};
use crate::steer::says_nothing;
use crate::text::Text;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// A question to the source that stands open.
#[derive(Clone, Debug)]
pub(crate) struct Checkpoint {
    pub(crate) boundary: Boundary,
    /// The run's answer if nothing more is to be said; at completion.
    pub(crate) answer: Text,
}

/// Asks the source, unless there is none, or it has nothing more to say in this run.
pub(crate) fn begin(
    m: &mut Machine,
    boundary: Boundary,
    answer: Text,
    out: &mut Outbox,
) -> Option<Checkpoint> {
    if !m.collects {
        return None;
    }
    ask(m, boundary, out)?;
    Some(Checkpoint { boundary, answer })
}

/// Hands the question to the source.
pub(crate) fn ask(m: &mut Machine, boundary: Boundary, out: &mut Outbox) -> Option<()> {
    let session = m.origin.as_ref()?.session.clone();
    let request = BoundaryRequest { session, run: m.log.run_id().clone(), boundary, step: m.step };
    m.begin_op(OpKind::Boundary, Work::Boundary(Arc::new(request)), out);
    Some(())
}

/// The message that holds `parts`; `None` if they say nothing.
pub(crate) fn message(m: &Machine, parts: Vec<Part>) -> Result<Option<Message>, BoundaryError> {
    if says_nothing(&parts) {
        return Ok(None);
    }
    let limits = m.config.limits();
    let bounds =
        MessageBounds { parts: limits.parts, text: limits.boundary_bytes, image: limits.image_bytes };
    let message = Message::new(m.next_message_id(), Role::Boundary, parts, &bounds)?;
    m.history.accepts(&message)?;
    Ok(Some(message))
}
