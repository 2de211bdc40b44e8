//! What stands between two steps, in its order: compaction, boundary input, steering (E4, E11, H3, H4, B7).

use super::{Broken, Stage, Verifier};
use crate::event::{BoundaryApplied, Event};
use crate::id::{Revision, SteerId};
use crate::log::Ledger;
use crate::suspend::Suspended;
use alloc::collections::BTreeSet;

/// How far the order of a step boundary has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    #[default]
    Compaction,
    Boundary,
    Steering,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Between {
    place: Place,
    /// Whether a compaction is open; in a tail one may have been opened before.
    compacting: bool,
    unknown: bool,
    /// Whether it is said that no compaction is tried any more.
    stopped: bool,
    /// Whether no commit was seen yet, nor the run's beginning.
    tail: bool,
    /// Inputs that the open attempt has delivered, or an earlier one that was not void.
    delivered: BTreeSet<SteerId>,
    applied: BTreeSet<SteerId>,
}

impl Between {
    pub(super) fn unknown() -> Self {
        Self { unknown: true, tail: true, ..Self::default() }
    }

    /// The next part of a run that was suspended.
    pub(super) fn resumed(value: &Suspended) -> Self {
        Self { applied: value.applied.iter().map(|applied| applied.id.clone()).collect(), ..Self::default() }
    }

    /// No compaction is open.
    pub(super) fn at_rest(&self) -> Result<(), Broken> {
        if self.compacting { Err(("E11", "a compaction is not closed")) } else { Ok(()) }
    }

    pub(super) fn step_started(&mut self) -> Result<(), Broken> {
        self.place = Place::default();
        self.at_rest()
    }

    pub(super) fn step_ended(&mut self) -> Result<(), Broken> {
        self.place = Place::default();
        self.at_rest()
    }

    pub(super) fn delivered(&mut self, id: &SteerId) -> Result<(), Broken> {
        if self.applied.contains(id) {
            return Err(("H3", "an input is delivered that was applied"));
        }
        if self.delivered.insert(id.clone()) { Ok(()) } else { Err(("H4", "an input is delivered twice")) }
    }

    /// What an attempt has delivered is void with it.
    pub(super) fn reset(&mut self) {
        self.delivered.clear();
    }

    pub(super) fn compacted(&mut self) -> Result<(), Broken> {
        if !core::mem::take(&mut self.compacting) && !core::mem::take(&mut self.unknown) {
            return Err(("E11", "no compaction is open"));
        }
        Ok(())
    }

    fn reaches(&mut self, place: Place) -> Result<(), Broken> {
        self.at_rest()?;
        if self.place > place {
            return Err(("E4", "compaction, boundary input and steering are out of order"));
        }
        self.place = place;
        Ok(())
    }

    pub(super) fn agrees(&self, ledger: &Ledger) -> bool {
        ledger.compaction == self.compacting || self.unknown
    }
}

impl Verifier {
    /// An event about what is added between steps.
    pub(super) fn added(&mut self, event: &Event) -> Result<(), Broken> {
        if let Event::SteeringDelivered(id) = event {
            self.attempt().map_err(|_| ("H4", "an input is delivered outside of an attempt"))?;
            return self.between.delivered(id);
        }
        if let Event::SteeringApplied(id) = event {
            return self.steering_applied(id);
        }
        if let Event::BoundaryApplied(applied) = event {
            return self.boundary_applied(applied);
        }
        if let Event::CompactionStarted { .. } = event {
            return self.compaction_started();
        }
        if let Event::CompactionStopped { .. } = event {
            return self.compaction_stopped();
        }
        self.between.compacted()?;
        if let Event::CompactionCompleted(done) = event { self.committed(done.revision) } else { Ok(()) }
    }

    /// No step is open, or its end is not known to have come.
    fn is_between(&self) -> bool {
        matches!(self.stage, Stage::Between | Stage::Unknown)
    }

    /// Inputs cross into history between steps, or when the run is closed, in the way of which its step has ended.
    pub(super) fn steering_applied(&mut self, id: &SteerId) -> Result<(), Broken> {
        match self.stage {
            Stage::Between | Stage::Unknown => self.between.reaches(Place::Steering)?,
            Stage::StepFailed | Stage::StepCancelled if self.between.delivered.contains(id) => {}
            Stage::StepFailed | Stage::StepCancelled => {
                return Err(("H5", "a run that ends applies an input that was not delivered"));
            }
            Stage::Opened
            | Stage::Attempt(_)
            | Stage::Failed(_)
            | Stage::Reset { .. }
            | Stage::Cancelled
            | Stage::Completed => return Err(("H3", "an input is applied within a step")),
        }
        self.between.delivered.remove(id);
        if self.between.applied.insert(id.clone()) {
            Ok(())
        } else {
            Err(("H3", "an input is applied twice"))
        }
    }

    pub(super) fn boundary_applied(&mut self, applied: &BoundaryApplied) -> Result<(), Broken> {
        if !self.is_between() {
            return Err(("B2", "boundary input is applied within a step"));
        }
        if self.between.place == Place::Boundary {
            return Err(("B2", "boundary input is applied twice at one boundary"));
        }
        self.between.reaches(Place::Boundary)?;
        if applied.boundary == crate::boundary::Boundary::BeforeCompletion {
            // The step that it causes is a boundary of its own.
            self.between.place = Place::default();
        }
        self.committed(applied.revision)
    }

    /// Between steps, or within a model call whose context was too large (K5).
    pub(super) fn compaction_started(&mut self) -> Result<(), Broken> {
        if !self.is_between() && !matches!(self.stage, Stage::Reset { .. }) {
            return Err(("E11", "a compaction starts within a step"));
        }
        self.between.reaches(Place::Compaction)?;
        self.between.compacting = true;
        self.between.unknown = false;
        Ok(())
    }

    /// Where a compaction would start, and once in a run.
    fn compaction_stopped(&mut self) -> Result<(), Broken> {
        if !self.is_between() && !matches!(self.stage, Stage::Reset { .. }) {
            return Err(("K4", "compaction is given up within a step"));
        }
        self.between.reaches(Place::Compaction)?;
        if core::mem::replace(&mut self.between.stopped, true) {
            return Err(("K4", "compaction is given up twice"));
        }
        Ok(())
    }

    /// A commit while the run goes on adds one to the revision.
    pub(super) fn committed(&mut self, revision: Revision) -> Result<(), Broken> {
        let known = !core::mem::take(&mut self.between.tail);
        if revision <= self.revision || (known && revision.0 != self.revision.0 + 1) {
            return Err(("B4", "a commit does not add one to the revision"));
        }
        self.revision = revision;
        Ok(())
    }
}
