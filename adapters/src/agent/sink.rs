//! The way of an event out of a run: attribution, transformers, order, queue.

use super::error::{CANCELLED, Error, Result};
use super::queue::Queue;
use super::transform::Chain;
use crate::core::agui::patch::{Budget, apply};
use crate::core::agui::{Event, EventType, RunAgentInput, RunOutcome, VerificationError, Verifier};
use crate::sync::Arc;
use crate::token::CancellationToken;
use serde_json::Value;
use std::fmt;

pub(super) struct Sink {
    pub(super) queue: Arc<Queue>,
    pub(super) token: CancellationToken,
    pub(super) verifier: Verifier,
    pub(super) chain: Chain,
    /// The invocations that are going on, the innermost last. Events without an owner get that one.
    pub(super) owners: Vec<String>,
    /// The state as the reader has it; `None` before the first snapshot.
    pub(super) published: Option<Value>,
    /// Whether anyone asks for that.
    pub(super) keeps_state: bool,
    /// The first event that was refused.
    pub(super) violation: Option<VerificationError>,
    pub(super) ended: bool,
}

impl Sink {
    pub(super) fn new(queue: Arc<Queue>, token: CancellationToken, verifier: Verifier, chain: Chain) -> Self {
        let (owners, published, violation) = (Vec::new(), None, None);
        Self { queue, token, verifier, chain, owners, published, keeps_state: false, violation, ended: false }
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.token.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Whether events may go out: not once a transformer is missing that was to change them.
    fn admits(&self) -> Result<()> {
        self.check()?;
        if self.chain.is_broken() { Err(Error::agent("a transformer panicked")) } else { Ok(()) }
    }

    /// Sends an event of the agent.
    pub(super) fn emit(&mut self, mut event: Event) -> Result<()> {
        self.admits()?;
        if let Some(owner) = self.owners.last()
            && let Some(place) = event.subagent_run_id_mut()
        {
            place.get_or_insert_with(|| owner.clone());
        }
        self.emit_as_it_is(event)
    }

    /// Sends an event of the agent whose owner is settled.
    pub(super) fn emit_as_it_is(&mut self, event: Event) -> Result<()> {
        self.admits()?;
        if self.chain.is_empty() {
            return self.put(event, false);
        }
        self.chain.apply(event).into_iter().try_for_each(|event| self.put(event, false))
    }

    /// Closes something that was opened: also when the run was cancelled (V6), and however full the queue is.
    pub(super) fn close(&mut self, event: Event) -> Result<()> {
        self.chain.apply_caught(event).into_iter().try_for_each(|event| self.put(event, true))?;
        self.admits()
    }

    /// Puts an event into the queue that keeps the rules.
    fn put(&mut self, event: Event, must: bool) -> Result<()> {
        let kind = event.event_type();
        if self.keeps_state && matches!(kind, EventType::StateSnapshot | EventType::StateDelta) {
            return self.put_state(event, must);
        }
        self.push(event, must)?;
        self.ended |= matches!(kind, EventType::RunFinished | EventType::RunError);
        Ok(())
    }

    fn push(&mut self, event: Event, must: bool) -> Result<()> {
        let (verifier, violation, ended) = (&mut self.verifier, &mut self.violation, self.ended);
        self.queue.push(event, must, |event| {
            if let Err(error) = verifier.observe(event) {
                // What closes itself is not the agent's doing.
                if !must {
                    violation.get_or_insert_with(|| error.clone());
                }
                return Err(error.into());
            }
            // Only without the verifier: a run has one end all the same.
            if ended { Err(Error::Disconnected) } else { Ok(()) }
        })
    }

    /// Keeps what the reader will have as state.
    fn put_state(&mut self, event: Event, must: bool) -> Result<()> {
        let published = if let Event::StateSnapshot(snapshot) = &event {
            Some(snapshot.snapshot.clone())
        } else if let (Event::StateDelta(delta), Some(state)) = (&event, &self.published) {
            let mut state = state.clone();
            // What cannot be followed is forgotten, so that the next publication is a snapshot.
            apply(&mut state, &delta.delta, &mut Budget::default()).is_ok().then_some(state)
        } else {
            None
        };
        self.push(event, must)?;
        self.published = published;
        Ok(())
    }

    /// Starts the stream.
    pub(super) fn begin(&mut self, started: Event) {
        let original = started.clone();
        let mut made = self.chain.apply_caught(started).into_iter();
        let (first, original) = match made.next() {
            Some(first) if first.event_type() == EventType::RunStarted => (first, original),
            Some(_) | None => (original.clone(), original),
        };
        if self.put(first, true).is_err() {
            let _ = self.put(original, true);
        }
        for event in made.filter(|event| event.event_type() != EventType::RunStarted) {
            let _ = self.put(event, true);
        }
    }

    /// Closes what is open, by way of the transformers and then past them.
    pub(super) fn close_all(&mut self, message: &str) {
        self.owners.clear();
        for item in self.verifier.open_items() {
            let _ = self.close(item.closing_event(message, CANCELLED));
        }
        for item in self.verifier.open_items() {
            let _ = self.put(item.closing_event(message, CANCELLED), true);
        }
    }

    /// Ends the stream. The transformers may change the end, but not its type, and not the fact.
    pub(super) fn terminate(&mut self, event: Event) -> Result<()> {
        self.owners.clear();
        // A stop and a failure have their end whatever became of the transformers.
        let completes = event.event_type() == EventType::RunFinished && !is_cancelled(&event);
        if completes {
            self.admits()?;
        }
        if !self.chain.is_empty() {
            let all = self.chain.apply_caught(event.clone());
            if completes {
                self.admits()?;
            }
            for made in all {
                if !made.is_terminal() {
                    let _ = self.put(made, true);
                } else if says_the_same(&made, &event) && self.put(made, true).is_ok() {
                    return Ok(());
                }
            }
        }
        self.put(event, true)
    }

    /// The event that opens the run of this input.
    pub(super) fn started(input: &RunAgentInput, echo: bool) -> Event {
        let mut event = Event::run_started(&input.thread_id, &input.run_id);
        if let Event::RunStarted(started) = &mut event {
            started.protocol_version = Some(crate::core::agui::PROTOCOL_VERSION.into());
            started.parent_run_id.clone_from(&input.parent_run_id);
            started.input = echo.then(|| Box::new(input.clone()));
        }
        event
    }
}

/// Whether two ends are of one type, and cancelled or not.
fn says_the_same(a: &Event, b: &Event) -> bool {
    (a.event_type(), is_cancelled(a)) == (b.event_type(), is_cancelled(b))
}

fn is_cancelled(event: &Event) -> bool {
    matches!(event, Event::RunFinished(finished) if finished.outcome == Some(RunOutcome::Cancelled))
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.queue.close_writer();
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink").field("ended", &self.ended).finish_non_exhaustive()
    }
}
