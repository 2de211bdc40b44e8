//! Recorded logs: the events of a run as they come back from a file (L6).
//!
//! A recorded log is text, one event a line, as [`Envelope::to_json`](crate::event::Envelope::to_json) wrote them. It may
//! begin anywhere: the head of a log can have been evicted. Reading is strict. Each line is canonical JSON with exactly
//! the members of an event; numbers have no gap, and all events are those of one run; a kind that is not known is an error
//! and never mapped to a near one; what is opened is closed once, and nothing is closed that was not open. What a payload
//! holds beyond what is known stays as it is, so that an export gives the same bytes. Nothing is renumbered.

mod error;
mod event;
mod log;
mod pairing;
#[cfg(test)]
mod tests;

pub use error::{RecordError, RecordProblem};
pub use event::RecordedEvent;
pub use log::{RecordBounds, RecordedLog, RecordedPage};
