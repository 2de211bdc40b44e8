//! Where a history may be cut, and what may stand in the place of its older part (K2, K4, B5).

use super::{Compaction, CompactionFault, CompactionPolicy};
use crate::history::{History, HistoryError};
use crate::id::MessageId;
use crate::message::{Message, MessageBounds, MessageError, Role};
use crate::problem::clean;
use crate::steer::says_nothing;
use crate::text::Text;
use alloc::sync::Arc;

/// Why a compaction was without effect: the history is as it was (K4).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompactionError {
    /// The compactor failed.
    #[error("the compactor failed: {0}")]
    Failed(Text),
    /// It took longer than its deadline.
    #[error("the compactor took longer than its deadline")]
    TimedOut,
    /// The replacement says nothing.
    #[error("the replacement is empty")]
    Empty,
    /// A message of the replacement is not valid, or beyond a bound.
    #[error("the replacement is not valid: {0}")]
    Message(MessageError),
    /// A call stands in it without its result, or a result without its call; or it does not fit the history's bounds.
    #[error("the replacement does not fit: {0}")]
    History(HistoryError),
    /// The calls of its last message have no results.
    #[error("the replacement separates {calls} calls from their results")]
    OpenCalls {
        /// How many.
        calls: usize,
    },
    /// It is as large as what it replaces.
    #[error("the replacement is not smaller than what it replaces")]
    NoGain,
}

impl CompactionError {
    /// What a compactor's failure comes to: its text is cleaned and cut to `most` encoded bytes (M5).
    pub fn of(fault: &CompactionFault, most: u64) -> Self {
        Self::Failed(clean(&fault.message, most))
    }

    /// The error's stable code, as in `compaction.failed`.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Failed(_) => "failed",
            Self::TimedOut => "timed_out",
            Self::Empty => "empty",
            Self::Message(_) => "invalid",
            Self::History(_) | Self::OpenCalls { .. } => "splits_a_pair",
            Self::NoGain => "no_gain",
        }
    }
}

/// How many messages of `history` a compaction may replace: none of those from `fresh` on, which no model has answered
/// yet (B5); none of the last ones that `policy` keeps, up to `tokens` estimated tokens; and no call without its
/// result (K2). `None` if there is nothing to gain: fewer than two messages are left.
pub fn cut(history: &History, policy: &CompactionPolicy, fresh: usize, tokens: u64) -> Option<usize> {
    let most = fresh.min(history.len());
    let mut at = history.len();
    let (mut kept, mut size) = (0_usize, 0_u64);
    while let Some(message) = at.checked_sub(1).and_then(|before| history.get(before)) {
        kept += 1;
        size = size.saturating_add(message.estimated_tokens());
        if kept > policy.keep_messages || size > tokens {
            break;
        }
        at -= 1;
    }
    // However little is to be kept, the last round is: what the model is about to answer.
    at = at.min(most).min(history.len().saturating_sub(1));
    while history.get(at).is_some_and(|message| message.role() == Role::Tool) {
        at = at.checked_sub(1)?;
    }
    Some(at).filter(|at| *at >= 2)
}

/// Where the messages begin that stand behind all that models have said in `history`: no model has answered them yet (B5).
pub fn unread(history: &History) -> usize {
    let mut at = history.len();
    while let Some(before) = at.checked_sub(1)
        && let Some(Role::User | Role::Boundary) = history.get(before).map(|message| message.role())
    {
        at = before;
    }
    at
}

/// `history` with `compaction` in the place of its first `cut` messages; the rest is the same, message by message.
///
/// # Errors
///
/// [`CompactionError`] if the replacement is empty, not valid, or no gain.
pub fn replaced(
    history: &History,
    cut: usize,
    compaction: &Compaction,
    bounds: &MessageBounds,
    mut id: impl FnMut() -> MessageId,
) -> Result<History, CompactionError> {
    if compaction.messages.iter().all(|(_, parts)| says_nothing(parts)) {
        return Err(CompactionError::Empty);
    }
    let mut replaced = History::new(history.bounds());
    for (role, parts) in &compaction.messages {
        let message = Message::new(id(), *role, parts.clone(), bounds).map_err(CompactionError::Message)?;
        replaced.push(message).map_err(CompactionError::History)?;
    }
    let calls = replaced.open_calls();
    if calls > 0 {
        return Err(CompactionError::OpenCalls { calls });
    }
    for message in history.iter().skip(cut) {
        replaced.push_shared(Arc::clone(message)).map_err(CompactionError::History)?;
    }
    if replaced.estimated_tokens() >= history.estimated_tokens() {
        return Err(CompactionError::NoGain);
    }
    Ok(replaced)
}
