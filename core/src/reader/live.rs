//! What somebody who joins late begins with (S2).

use super::Cursor;
use crate::event::Event;
use crate::history::History;
use crate::id::Seq;
use crate::log::EventLog;
use crate::run::Run;

/// The conversation of a run as it stands, and the cursor behind which everything follows that does not stand in it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LiveHistory {
    /// The candidate history; while a batch runs, its calls stand open in it.
    pub history: History,
    /// Behind this event comes what the history does not hold: the response that is under way from its beginning, the
    /// batch that is under way from its proposals, and whatever follows.
    pub cursor: Cursor,
    /// Whether all of that is still in the log. If not, the cursor stands before the oldest event that is.
    pub complete: bool,
}

impl Run {
    /// The conversation as it stands, with the cursor for what comes; of a run that has ended, as it left it, with the
    /// cursor behind its last event.
    pub fn live_history(&self) -> LiveHistory {
        let (history, (seq, complete)) = match self.outcome() {
            Some(outcome) => (outcome.history.clone(), (outcome.last_seq, true)),
            None => (self.candidate().cloned().unwrap_or_default(), joint(self.log())),
        };
        LiveHistory { history, cursor: Cursor::new(self.log().run_id().clone(), seq), complete }
    }
}

/// The last event whose effect the candidate history holds, and whether the log reaches back that far.
fn joint(log: &EventLog) -> (Seq, bool) {
    let open = log.open();
    let (attempt, batch) = (open.attempt.is_some(), !open.calls.is_empty());
    if !attempt && !batch {
        return (log.last_seq(), true);
    }
    let mut seq = log.last_seq();
    while let Some(envelope) = log.get(seq) {
        let before = Seq(seq.0 - 1);
        match attempt {
            true if matches!(envelope.event, Event::ModelStarted(_)) => return (before, true),
            false if matches!(envelope.event, Event::ModelCompleted(_)) => return (seq, true),
            true | false => seq = before,
        }
    }
    (seq, false)
}
