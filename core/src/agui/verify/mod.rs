//! The verifier: whether a stream of events keeps the rules, event by event (V3, V4, V5, V11).
//!
//! One engine serves both ends. [`Mode::SingleRun`] is a producer's: one run, nothing after its end. [`Mode::Stream`] is
//! a consumer's: a thread that is replayed, failures before or after a run; and what only producers are held to
//! (a result for a known and finished call, reopening under the same role and name, exact pending calls) is a warning.
//!
//! | event | what is checked, in this order |
//! | --- | --- |
//! | any | the stream has begun and the run has not ended |
//! | `RUN_STARTED` | no run is open; its ids are the input's; the thread is the stream's |
//! | `RUN_FINISHED` | its ids are its start's; nothing is open; its outcome's ids |
//! | `*_START` | not open; the owner; the same opener as before |
//! | `*_CONTENT` `*_ARGS` `*_END` | open; the owner |
//! | `*_CHUNK` | continues as it was opened, or opens completely; then as a start or a content |
//! | `TOOL_CALL_RESULT` | the call is known, and complete |
//! | `STEP_*` `SUBAGENT_*` | open or not, for each owner |
//! | `ACTIVITY_DELTA` `REASONING_ENCRYPTED_VALUE` | the owner of what they are about |
//!
//! A rejected event changes nothing. Continuing events allocate nothing. Without the feature `verify` the verifier is
//! empty and `observe` accepts everything.

#[cfg(feature = "verify")]
mod accept;
#[cfg(feature = "verify")]
mod entities;
mod lines;
#[cfg(not(feature = "verify"))]
mod off;
#[cfg(feature = "verify")]
mod on;
#[cfg(feature = "verify")]
mod order;
mod rule;

pub use lines::{Rejected, verify_lines};
#[cfg(not(feature = "verify"))]
pub use off::Verifier;
#[cfg(feature = "verify")]
pub use on::Verifier;
pub use rule::{Rule, VerificationError};

/// What a verifier is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// What a producer sends: one run.
    SingleRun,
    /// What a consumer reads: any number of runs, one after the other.
    Stream,
}

/// Something that a run has opened and not closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenItem {
    /// What it is.
    pub kind: OpenKind,
    /// Its id, or a step's name.
    pub id: alloc::string::String,
    /// The invocation that it belongs to; absent for an invocation itself.
    pub owner: Option<alloc::string::String>,
}

/// What can be open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OpenKind {
    /// A tool call.
    ToolCall,
    /// A reasoning message.
    ReasoningMessage,
    /// A text message.
    TextMessage,
    /// A span of reasoning.
    Reasoning,
    /// A step.
    Step,
    /// An invocation of a subagent.
    Subagent,
}

impl OpenItem {
    /// The event that closes it. An invocation is closed as one that failed with this message and code.
    pub fn closing_event(self, message: &str, code: &str) -> super::Event {
        use super::Event;
        let Self { kind, id, owner } = self;
        let mut event = match kind {
            OpenKind::ToolCall => Event::tool_call_end(id),
            OpenKind::ReasoningMessage => Event::reasoning_message_end(id),
            OpenKind::TextMessage => Event::text_message_end(id),
            OpenKind::Reasoning => Event::reasoning_end(id),
            OpenKind::Step => Event::step_finished(id),
            OpenKind::Subagent => return Event::subagent_error(id, message, Some(code.into())),
        };
        if let Some(place) = event.subagent_run_id_mut() {
            *place = owner;
        }
        event
    }
}
