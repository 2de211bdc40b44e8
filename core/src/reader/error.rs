//! Why a reader of a log gets no further, with the facts to go on from (L4).

use crate::id::Seq;
use core::fmt;

/// Bounds of a page or of a subscription (L3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReadBounds {
    /// Most events: of one page, or behind which a subscription may fall.
    pub events: u64,
    /// Most encoded bytes of the same.
    pub bytes: u64,
}

impl ReadBounds {
    /// So many events and so many encoded bytes.
    pub const fn new(events: u64, bytes: u64) -> Self {
        Self { events, bytes }
    }
}

/// Why a reader gets no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReadFault {
    /// The event after the cursor was evicted.
    CursorBehind,
    /// The cursor stands behind the last event.
    CursorAhead,
    /// The cursor is one of another run.
    WrongRun,
    /// What follows the cursor does not fit: all of it into a new subscription, or its first event into a page. Read
    /// pages up to the end first, or larger ones.
    ReplayTooLarge {
        /// The last event that would fit; the cursor itself if none does.
        last_fit: Seq,
    },
    /// The reader has fallen behind by more than its bounds (L3).
    Slow,
}

impl ReadFault {
    /// The reason's stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CursorBehind => "cursor_behind",
            Self::CursorAhead => "cursor_ahead",
            Self::WrongRun => "wrong_run",
            Self::ReplayTooLarge { .. } => "replay_too_large",
            Self::Slow => "slow_consumer",
        }
    }
}

/// What a reader has used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReadResource {
    /// Events of a page, or of what a subscription would begin with.
    ReplayEvents,
    /// Encoded bytes of the same.
    ReplayBytes,
    /// Events that a subscription is behind.
    SubscriptionEvents,
    /// Encoded bytes that a subscription is behind.
    SubscriptionBytes,
}

impl ReadResource {
    /// The resource's stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReplayEvents => "replay_events",
            Self::ReplayBytes => "replay_bytes",
            Self::SubscriptionEvents => "subscription_events",
            Self::SubscriptionBytes => "subscription_bytes",
        }
    }
}

/// Which bound was exceeded, and by how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Exceeded {
    /// What was used up.
    pub resource: ReadResource,
    /// How much of it there was.
    pub limit: u64,
    /// How much was needed.
    pub observed: u64,
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ", {} {} of {}", self.resource.as_str(), self.observed, self.limit)
    }
}

/// Why a reader gets no further: one struct for pages, subscriptions and recorded logs (L4). It holds no content.
///
/// A subscription that has ended with it gives it again whenever it is asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}{}: after {requested} of {earliest} to {latest}; go on after {recovery}",
    .reason.as_str(),
    DisplayExceeded(.exceeded)
)]
#[non_exhaustive]
pub struct ReadError {
    /// Why.
    pub reason: ReadFault,
    /// The bound that was exceeded; of cursors that do not fit there is none.
    pub exceeded: Option<Exceeded>,
    /// The cursor that the page or the subscription began with.
    pub requested: Seq,
    /// The oldest event that was there; one past `latest` if there was none.
    pub earliest: Seq,
    /// The last event.
    pub latest: Seq,
    /// The cursor to go on from: max(last delivered, earliest − 1); `latest` if the cursor stands behind that.
    pub recovery: Seq,
    /// The last event that the reader was given; of a page that failed the cursor itself.
    pub last_delivered: Seq,
    /// The bounds of the page or of the subscription.
    pub bounds: ReadBounds,
}

struct DisplayExceeded<'a>(&'a Option<Exceeded>);

impl fmt::Display for DisplayExceeded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |exceeded| exceeded.fmt(f))
    }
}
