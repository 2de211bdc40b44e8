//! The attempts of one step: their order, what they show, what ends and voids them (E5, R4, M6).

use super::{Broken, Stage, Verifier};
use crate::event::{
    ModelCompleted, ModelFailed, ModelStarted, Position, ResetReason, StreamReset, ToolCallDelta,
    UsageUpdated,
};
use crate::id::OpId;
use crate::model::ProblemKind;
use core::time::Duration;

/// An open attempt; what a tail does not tell is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attempt {
    pub(super) op: Option<OpId>,
    pub(super) number: Option<u32>,
    pub(super) position: Option<Position>,
    pub(super) request: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Failed {
    pub(super) attempt: u32,
    pub(super) position: Position,
    pub(super) kind: ProblemKind,
    pub(super) retry_after: Option<Duration>,
}

impl Verifier {
    pub(super) fn model_started(&mut self, started: &ModelStarted) -> Result<(), Broken> {
        self.same_step(started.step)?;
        self.between.at_rest()?;
        let expected = match self.stage {
            Stage::Opened => Some(1),
            Stage::Reset { attempt } => attempt.map(|attempt| attempt + 1),
            Stage::Unknown => None,
            Stage::Failed(_) => return Err(("R4", "an attempt follows a failed one without a reset")),
            Stage::Attempt(_) => return Err(("E3", "another attempt is open")),
            Stage::Between
            | Stage::Cancelled
            | Stage::Completed
            | Stage::StepFailed
            | Stage::StepCancelled => return Err(("E3", "no step waits for an attempt")),
        };
        if expected.is_some_and(|expected| started.attempt != expected) {
            return Err(("R4", "attempts are numbered from 1 within a model call"));
        }
        if started.attempt == 0 || started.attempt > self.attempts.saturating_add(self.lost) {
            return Err(("R1", "there are more attempts than configured"));
        }
        if started.op <= self.last_op {
            return Err(("E1", "operations are numbered upwards"));
        }
        self.last_op = started.op;
        self.stage = Stage::Attempt(Attempt {
            op: Some(started.op),
            number: Some(started.attempt),
            position: Some(Position::Pristine),
            request: 1,
        });
        Ok(())
    }

    /// The open attempt. In a tail one that began before is taken as open.
    pub(super) fn attempt(&mut self) -> Result<&mut Attempt, Broken> {
        if self.stage == Stage::Unknown {
            self.stage = Stage::Attempt(Attempt { op: None, number: None, position: None, request: 1 });
        }
        if let Stage::Attempt(attempt) = &mut self.stage {
            Ok(attempt)
        } else {
            Err(("E5", "no attempt is open"))
        }
    }

    pub(super) fn delta(&mut self, empty: bool) -> Result<(), Broken> {
        self.attempt()?.position = Some(Position::Partial);
        if empty { Err(("E5", "a delta is empty")) } else { Ok(()) }
    }

    pub(super) fn call_delta(&mut self, delta: &ToolCallDelta) -> Result<(), Broken> {
        self.delta(delta.arguments.is_empty() && delta.name.is_none())?;
        self.same_step(delta.call.step)
    }

    pub(super) fn usage(&mut self, update: &UsageUpdated) -> Result<(), Broken> {
        let attempt = self.attempt()?;
        if *attempt.op.get_or_insert(update.op) != update.op {
            return Err(("R5", "usage names another attempt than the open one"));
        }
        if update.request < attempt.request {
            return Err(("R5", "usage names an earlier request"));
        }
        attempt.request = update.request;
        Ok(())
    }

    /// The open attempt ends, and the event names it and its position rightly.
    pub(super) fn attempt_ends(
        &mut self,
        op: OpId,
        number: u32,
        position: Option<Position>,
    ) -> Result<(), Broken> {
        let attempt = *self.attempt().map_err(|_| ("E3", "no attempt is open"))?;
        let same_op = attempt.op.is_none_or(|open| open == op);
        if !same_op || attempt.number.is_some_and(|open| open != number) {
            return Err(("E3", "it names another attempt than the open one"));
        }
        self.last_op = self.last_op.max(op);
        match (attempt.position, position) {
            (Some(known), Some(said)) if known != said => {
                Err(("M6", "the position does not fit to what the attempt has shown"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn model_cancelled(
        &mut self,
        op: OpId,
        attempt: u32,
        position: Position,
    ) -> Result<(), Broken> {
        self.attempt_ends(op, attempt, Some(position))?;
        self.stage = Stage::Cancelled;
        Ok(())
    }

    pub(super) fn model_completed(&mut self, done: &ModelCompleted) -> Result<(), Broken> {
        self.attempt_ends(done.op, done.attempt, None)?;
        self.stage = Stage::Completed;
        Ok(())
    }

    pub(super) fn model_failed(&mut self, failed: &ModelFailed) -> Result<(), Broken> {
        self.attempt_ends(failed.op, failed.attempt, Some(failed.position))?;
        self.stage = Stage::Failed(Failed {
            attempt: failed.attempt,
            position: failed.position,
            kind: failed.problem.kind,
            retry_after: failed.problem.retry_after,
        });
        Ok(())
    }

    pub(super) fn reset(&mut self, reset: &StreamReset) -> Result<(), Broken> {
        if self.stage == Stage::Unknown {
            self.stage = Stage::Reset { attempt: None };
            return Ok(());
        }
        let Stage::Failed(failed) = self.stage else {
            return Err(("R4", "a reset without a failed attempt before it"));
        };
        self.calls.none_proposed()?;
        if failed.attempt >= self.attempts.saturating_add(self.lost) {
            return Err(("R4", "a reset announces an attempt that may not come"));
        }
        if reset.position != failed.position {
            return Err(("R4", "reset and attempt have different positions"));
        }
        self.between.reset();
        let agrees = match reset.reason {
            ResetReason::ContextOverflow => failed.kind == ProblemKind::ContextOverflow,
            ResetReason::InvalidResponse => failed.kind == ProblemKind::InvalidResponse,
            ResetReason::RetryableFailure { kind, retry_after } => {
                kind == failed.kind
                    && kind != ProblemKind::InvalidResponse
                    && retry_after == failed.retry_after
                    && retry_after.is_none_or(|wait| !wait.is_zero())
            }
        };
        if !agrees {
            return Err(("R4", "the reset's reason is not the attempt's problem"));
        }
        self.stage = Stage::Reset { attempt: Some(failed.attempt) };
        Ok(())
    }
}
