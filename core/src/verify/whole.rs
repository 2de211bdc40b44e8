//! Whole logs and tails of logs, their encoding, and whether a log's ledger agrees with its events (L1, L6, X5).

use super::{RunState, Stage, Verifier, Violation};
use crate::canonical::{self, Bounds};
use crate::event::Envelope;
use crate::id::{RunId, Seq};
use crate::log::EventLog;
use alloc::vec::Vec;

/// Checks all events that `log` holds, that their bytes are canonical and as many as was counted, and that its ledger
/// names what is open (L1, L6, X5).
///
/// # Errors
///
/// The first [`Violation`].
pub fn verify_log(log: &EventLog) -> Result<(), Violation> {
    let whole = log.first_seq() == Seq(1);
    let mut verifier = if whole { Verifier::new() } else { Verifier::tail() };
    let mut before = log.end() - log.bytes();
    for envelope in log.iter() {
        verifier.observe(envelope)?;
        encoding(envelope, log.run_id(), before)?;
        before = envelope.end;
    }
    verifier.agree(log)
}

/// Checks that the event's bytes are canonical JSON, and as many as it says beyond those `before` it (L1, L6).
///
/// # Errors
///
/// [`Violation`] of `L1` or `L6`.
pub fn encoding(envelope: &Envelope, run: &RunId, before: u64) -> Result<(), Violation> {
    let broken = |rule, what| Err(Violation { rule, what, seq: envelope.seq });
    let mut bytes = Vec::new();
    envelope.write(run, &mut bytes);
    if before + bytes.len() as u64 != envelope.end {
        return broken("L1", "its encoded bytes are not what it says");
    }
    let bounds = Bounds { bytes: u64::MAX, values: u64::MAX, ..Bounds::default() };
    match canonical::check(&bytes, &bounds) {
        Ok(()) => Ok(()),
        Err(_) => broken("L6", "its bytes are not canonical JSON"),
    }
}

/// Checks events whose head is missing, such as a page of a log.
///
/// # Errors
///
/// The first [`Violation`].
pub fn verify_tail<'a>(events: impl IntoIterator<Item = &'a Envelope>) -> Result<(), Violation> {
    let mut verifier = Verifier::tail();
    events.into_iter().try_for_each(|envelope| verifier.observe(envelope))
}

impl Verifier {
    /// Whether `log`, whose events were all observed, keeps the right ledger of what is open (X5).
    ///
    /// # Errors
    ///
    /// [`Violation`] says what the ledger has wrong.
    pub fn agree(&self, log: &EventLog) -> Result<(), Violation> {
        let ledger = log.open();
        let broken = |what| Err(Violation { rule: "X5", what, seq: log.last_seq() });
        if self.next.is_some_and(|next| next != log.last_seq().0 + 1) {
            return broken("the log holds other events than were observed");
        }
        if ledger.closed != self.is_closed() || ledger.started != (self.run != RunState::New) {
            return broken("the ledger is wrong about the run");
        }
        if self.stage == Stage::Unknown {
            return Ok(());
        }
        let step = match self.stage {
            Stage::Between | Stage::StepFailed | Stage::StepCancelled => None,
            Stage::Unknown
            | Stage::Opened
            | Stage::Attempt(_)
            | Stage::Failed(_)
            | Stage::Reset { .. }
            | Stage::Cancelled
            | Stage::Completed => self.step,
        };
        if ledger.step != step && self.step.is_some() {
            return broken("the ledger is wrong about the step");
        }
        let fits = match (self.stage, ledger.attempt) {
            (Stage::Attempt(own), Some(open)) => {
                own.op.is_none_or(|op| op == open.op)
                    && own.number.is_none_or(|number| number == open.attempt)
                    && own.position.is_none_or(|position| position == open.position)
            }
            (Stage::Attempt(_), None) => false,
            (_, open) => open.is_none(),
        };
        if !fits {
            return broken("the ledger is wrong about the attempt");
        }
        if !self.between.agrees(ledger) {
            return broken("the ledger is wrong about the compaction");
        }
        if self.calls.agree(ledger) { Ok(()) } else { broken("the ledger is wrong about calls or requests") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::time::Time;

    // proves: L1, L6
    #[test]
    fn an_event_is_as_long_as_it_says() {
        let run = RunId::new("r").unwrap();
        let event =
            |end| Envelope { seq: Seq(4), at: Time::ZERO, end, event: Event::TextDelta("é\n".into()) };
        let len = event(0).to_json(&run).len() as u64;
        assert_eq!(encoding(&event(100 + len), &run, 100), Ok(()));
        for wrong in [99 + len, 101 + len] {
            let violation = encoding(&event(wrong), &run, 100).unwrap_err();
            assert_eq!((violation.rule, violation.seq), ("L1", Seq(4)));
        }
    }
}
