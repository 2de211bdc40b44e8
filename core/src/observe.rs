//! Required observers: who must have accepted what is recorded before the run goes on (L5).

use crate::event::{Envelope, EventKind};
use crate::id::{RunId, Seq};
use crate::text::Text;
use alloc::sync::Arc;

/// Most required observers of a run.
pub const MAX_OBSERVERS: u32 = 64;

/// Events for one required observer. It gets each event of the run once, in order; the next observer gets the same ones
/// when this one has accepted them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ObserveRequest {
    /// The run.
    pub run: RunId,
    /// Which observer, in the order of construction, from 0.
    pub observer: u32,
    /// Consecutive events, at least one: what was recorded when the first of the observers was asked.
    pub events: Arc<[Envelope]>,
}

impl ObserveRequest {
    /// The event before the first of these; 0 before the run's first.
    pub fn after(&self) -> Seq {
        Seq(self.events.first().map_or(0, |first| first.seq.0.saturating_sub(1)))
    }

    /// What an observer says that accepts none of these events.
    pub fn refuse(&self, message: impl Into<Text>) -> ObserverFault {
        ObserverFault::new(self.after(), message)
    }

    /// The last of these events.
    pub fn through(&self) -> Seq {
        self.events.last().map_or(Seq(0), |last| last.seq)
    }
}

/// Why a required observer did not accept an event. The run fails (L5), or after its end the outcome tells.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("events after {accepted} were not accepted: {message}")]
#[non_exhaustive]
pub struct ObserverFault {
    /// The last of the request's events that the observer did accept; what lies before the request stands for none of
    /// them. The one behind it is the one that it refused.
    pub accepted: Seq,
    /// Why, for people; it is cleaned and cut.
    pub message: Text,
}

impl ObserverFault {
    /// A fault of an observer that has accepted the events up to `accepted`, this one included.
    pub fn new(accepted: Seq, message: impl Into<Text>) -> Self {
        Self { accepted, message: message.into() }
    }
}

/// Which events of an ended run are not durable. The run's result stands nevertheless (L5).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("required observer {observer} did not accept event {seq}, {}: {reason}", .kind.as_str())]
#[non_exhaustive]
pub struct DurabilityError {
    /// The observer, in the order of construction, from 0.
    pub observer: u32,
    /// The first event that it did not accept once the run had ended.
    pub seq: Seq,
    /// The event's kind.
    pub kind: EventKind,
    /// Why.
    pub reason: DurabilityReason,
}

/// Why an event of an ended run is not durable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DurabilityReason {
    /// The observer failed or panicked.
    #[error("{0}")]
    Refused(Text),
    /// The observers were not done within [`Deadlines::finalization`](crate::config::Deadlines).
    #[error("the time for it was up")]
    TimedOut,
    /// Handle, driver or engine ended the run, which did not wait: this event and what follows is only in the log.
    #[error("the run was dropped or shut down")]
    Abandoned,
}
