//! Required observers as seen from the outside: order, one at a time, nothing begins before they have accepted (L5).

use super::{Found, found};
use crate::error::RunError;
use crate::event::Event;
use crate::id::{OpId, Seq};
use crate::input::Input;
use crate::observe::{DurabilityError, DurabilityReason, ObserveRequest};
use crate::outcome::Outcome;
use crate::output::{Next, Output, Work};
use crate::run::Run;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// What the observers of a run were asked and have answered.
#[derive(Clone, Debug, Default)]
pub(super) struct Observers {
    seen: Vec<Seq>,
    refused: BTreeSet<Seq>,
    asked: Option<(OpId, Arc<ObserveRequest>)>,
    /// What the run has to fail with, if it goes on.
    failure: Option<(u32, Seq)>,
    loss: Option<(u32, Seq)>,
}

/// What an observer answers: through which event it has accepted, and whether that is all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer(OpId, Option<Seq>);

impl Answer {
    pub(super) fn of(input: &Input) -> Option<Self> {
        let Input::Observed { op, result } = input else { return None };
        Some(Self(*op, result.as_ref().err().map(|fault| fault.accepted)))
    }
}

impl Observers {
    pub(super) fn started(&mut self, count: u32, seq: Seq) {
        *self = Self { seen: (0..count).map(|_| seq).collect(), ..Self::default() };
    }

    /// Another process has taken over, with so many observers; `last` was the last event before.
    pub(super) fn recovered(&mut self, count: u32, last: Seq) {
        let base = self.seen.iter().min().copied().unwrap_or(last);
        let seen = core::mem::take(&mut self.seen).into_iter().chain(core::iter::repeat(base));
        self.seen = seen.take(count as usize).collect();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    fn acknowledged(&self, run: &Run) -> Seq {
        self.seen.iter().min().copied().unwrap_or(run.log().last_seq())
    }

    /// Whether something is recorded that not all have accepted.
    pub(super) fn awaited(&self, run: &Run) -> bool {
        self.acknowledged(run) < run.log().last_seq()
    }

    /// An accepted step of `run`, which was over or not before, with the answer that it took.
    pub(super) fn stepped(
        &mut self,
        run: &Run,
        over: bool,
        answer: Option<Answer>,
        next: Next,
        outputs: &[Output],
    ) -> Result<(), Found> {
        if self.is_empty() {
            return if outputs.iter().any(observes) {
                Err(found("L5", "nobody is to be asked"))
            } else {
                Ok(())
            };
        }
        self.answered(over, answer);
        for output in outputs {
            self.output(run, output)?;
        }
        if self.acknowledged(run) != run.acknowledged() || !self.refused.iter().eq(run.refused()) {
            return Err(found("L5", "the run is mistaken about what was accepted"));
        }
        if run.log().first_seq() > Seq(self.acknowledged(run).0 + 1) {
            return Err(found("L5", "an event was evicted that an observer has not accepted"));
        }
        if self.awaited(run) && outputs.iter().any(begins) {
            return Err(found("L5", "work begins although not all events are accepted"));
        }
        if next.live && self.awaited(run) != self.asked.is_some() {
            return Err(found("L5", "an observer waits for events, or is asked for none"));
        }
        if let (Some(failure), false) = (self.failure.take(), over) {
            self.failed(run, failure)?;
        }
        match run.outcome() {
            None if run.log().is_closed() && !self.awaited(run) => {
                Err(found("L5", "all is accepted, and there is no outcome"))
            }
            Some(outcome) => self.ended(run, outcome),
            None => Ok(()),
        }
    }

    /// The machine of `run` has panicked: nobody is waited for.
    pub(super) fn closed(&self, run: &Run) -> Result<(), Found> {
        match run.outcome() {
            Some(outcome) if !self.is_empty() => self.ended(run, outcome),
            Some(_) | None => Ok(()),
        }
    }

    fn answered(&mut self, over: bool, answer: Option<Answer>) {
        let Some(Answer(op, fault)) = answer else { return };
        let Some((_, request)) = self.asked.take_if(|(asked, _)| *asked == op) else { return };
        let (first, through) = (Seq(request.after().0 + 1), request.through());
        let reached =
            fault.map_or(through, |accepted| Seq(accepted.0.saturating_add(1)).clamp(first, through));
        if let Some(seen) = self.seen.get_mut(request.observer as usize) {
            *seen = reached;
        }
        if fault.is_some() {
            self.refused.insert(reached);
            let refusal = (request.observer, reached);
            if over {
                self.loss.get_or_insert(refusal);
            } else {
                self.failure = Some(refusal);
            }
        }
        for seen in &mut self.seen {
            while self.refused.contains(&Seq(seen.0 + 1)) {
                seen.0 += 1;
            }
        }
    }

    fn output(&mut self, run: &Run, output: &Output) -> Result<(), Found> {
        match output {
            Output::Begin { op, work: Work::Observe(request) } => {
                if self.asked.is_some() {
                    return Err(found("L5", "two observers are asked at the same time"));
                }
                self.asked(run, request)?;
                self.asked = Some((*op, Arc::clone(request)));
            }
            Output::Abandon { op } => {
                self.asked.take_if(|(asked, _)| asked == op);
            }
            Output::Begin { .. } | Output::Deliver { .. } | Output::Steer { .. } | Output::Reply { .. } => {}
        }
        Ok(())
    }

    /// Each observer gets each event once and in order, after those before it have accepted it.
    fn asked(&self, run: &Run, request: &ObserveRequest) -> Result<(), Found> {
        let at = request.observer as usize;
        let (Some(seen), earlier) = (self.seen.get(at), self.seen.get(..at).unwrap_or_default()) else {
            return Err(found("L5", "an observer is asked that is not there"));
        };
        if request.events.is_empty() || request.after() != *seen || request.run != *run.log().run_id() {
            return Err(("L5", format!("observer {at} has {seen} and is asked about {request:?}")));
        }
        if earlier.iter().any(|seen| *seen < request.through()) {
            return Err(found("L5", "an observer is asked before those in front of it"));
        }
        if request.events.iter().any(|envelope| self.refused.contains(&envelope.seq)) {
            return Err(found("L5", "an event that was refused is shown to another observer"));
        }
        let recorded = run.log().after(*seen).take(request.events.len());
        if !recorded.eq(request.events.iter()) {
            return Err(found("L5", "an observer is shown something else than the record"));
        }
        Ok(())
    }

    /// What an observer refuses fails the run.
    fn failed(&self, run: &Run, failure: (u32, Seq)) -> Result<(), Found> {
        let terminal = run.log().get(run.log().last_seq()).map(|envelope| &envelope.event);
        let same = matches!(terminal, Some(Event::RunFailed(failed))
            if matches!(*failed.error, RunError::Observer { observer, seq, .. } if (observer, seq) == failure));
        if same {
            Ok(())
        } else {
            Err(("L5", format!("{failure:?} was refused, and the run ends as {terminal:?}")))
        }
    }

    fn ended(&self, run: &Run, outcome: &Outcome) -> Result<(), Found> {
        let lost = outcome.durability.as_ref();
        let named = lost.map(|error| (error.observer, error.seq));
        let agrees = match (self.loss, lost.map(|error| &error.reason)) {
            (Some(_), Some(DurabilityReason::Refused(_))) => named == self.loss,
            (Some(_), _) => false,
            (None, None) => !self.awaited(run),
            (None, Some(DurabilityReason::Refused(_))) => false,
            (None, Some(DurabilityReason::TimedOut | DurabilityReason::Abandoned)) => {
                let first = Seq(self.acknowledged(run).0 + 1);
                self.awaited(run) && lost.is_some_and(|error| error.seq == first)
            }
        };
        if agrees && lost.is_none_or(|error| same_kind(run, error)) {
            return Ok(());
        }
        Err(("L5", format!("the outcome says {lost:?}, and the observers have {:?}", self.seen)))
    }
}

fn same_kind(run: &Run, error: &DurabilityError) -> bool {
    run.log().get(error.seq).is_none_or(|envelope| envelope.event.kind() == error.kind)
}

fn observes(output: &Output) -> bool {
    matches!(output, Output::Begin { work: Work::Observe(_), .. })
}

/// Whether it begins work other than an observer's.
fn begins(output: &Output) -> bool {
    matches!(output, Output::Begin { .. }) && !observes(output)
}
