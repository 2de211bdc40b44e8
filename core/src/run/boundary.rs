//! What happens at a step boundary, in this order: compaction, boundary input, steering, the next step (E4).

use super::Run;
use crate::boundary::{Boundary, BoundaryAnswer, BoundaryError};
use crate::error::RunError;
use crate::event::{BoundaryApplied, Event};
use crate::id::{CommandId, OpId};
use crate::input::SteerInput;
use crate::message::{Message, Role};
use crate::outcome::StopReason;
use crate::output::{Outbox, Output, Reply};
use crate::phase::{Ending, Phase, boundary, compact, model};
use crate::steer::SteerError;
use crate::text::Text;
use alloc::boxed::Box;
use alloc::sync::Arc;

impl Run {
    /// The step is complete, and another follows.
    pub(super) fn another_step(&mut self, out: &mut Outbox) {
        self.m.emit(Event::StepCompleted { step: self.m.step });
        if !self.m.interrupted {
            self.next_step(out);
        }
    }

    /// Goes towards the next step: compaction first.
    pub(super) fn next_step(&mut self, out: &mut Outbox) {
        self.m.offer();
        match compact::begin_due(&mut self.m, out) {
            Some(compacting) => self.phase = Phase::Compact(Box::new(compacting)),
            None => self.ask_for_input(out),
        }
    }

    /// The compaction is over, whether or not the history was replaced.
    pub(super) fn after_compaction(&mut self, done: bool, out: &mut Outbox) {
        let Phase::Compact(compacting) = core::mem::replace(&mut self.phase, Phase::Closed) else { return };
        if self.m.interrupted {
            return;
        }
        match compacting.call {
            None => self.ask_for_input(out),
            Some((mut call, _)) if done => {
                call.go_on(&mut self.m, out);
                self.phase = Phase::Model(call);
            }
            Some((call, problem)) => {
                let error = call.error(&self.m, *problem);
                self.end(Ending::Failed(error), out);
            }
        }
    }

    fn ask_for_input(&mut self, out: &mut Outbox) {
        match boundary::begin(&mut self.m, Boundary::BeforeProvider, Text::EMPTY, out) {
            Some(checkpoint) => self.phase = Phase::Boundary(Box::new(checkpoint)),
            None => self.apply_steers(out),
        }
    }

    /// What people have added crosses into history, where there is room for it and for the step.
    fn apply_steers(&mut self, out: &mut Outbox) {
        let (messages, bytes) = self.m.steers.room();
        let bytes = bytes.saturating_add(self.m.config.limits.response_bytes);
        if let Err(full) = self.m.history.has_room(messages, bytes) {
            return self.end(Ending::Failed(RunError::HistoryFull(full)), out);
        }
        for steer in self.m.steers.take_all() {
            self.m.add(Role::User, steer.parts.to_vec());
            self.m.emit(Event::SteeringApplied(steer.id.clone()));
        }
        if !self.m.interrupted {
            self.begin_step(out);
        }
    }

    fn begin_step(&mut self, out: &mut Outbox) {
        self.m.step += 1;
        self.m.offer();
        self.m.sent = self.m.plain_estimate();
        self.m.emit(Event::StepStarted { step: self.m.step, estimated_context_tokens: self.m.sent });
        if let Some(call) = model::begin(&mut self.m, out) {
            self.phase = Phase::Model(call);
        }
    }

    /// The model has ended its turn: the run completes, unless there is something that it has not read (B3, H5). On the
    /// last step nothing is asked for that it could not read.
    pub(super) fn end_turn(&mut self, answer: Text, out: &mut Outbox) {
        if self.m.steps_left() {
            if self.m.steers.has_staged() {
                self.m.invalid_turns = 0;
                return self.another_step(out);
            }
            let asked = boundary::begin(&mut self.m, Boundary::BeforeCompletion, answer.clone(), out);
            if let Some(checkpoint) = asked {
                return self.phase = Phase::Boundary(Box::new(checkpoint));
            }
        }
        self.end(Ending::Completed(StopReason::EndTurn, answer), out);
    }
}

/// Answers of the source, and what people add.
impl Run {
    pub(super) fn boundary_answered(
        &mut self,
        op: OpId,
        command: CommandId,
        answer: BoundaryAnswer,
        out: &mut Outbox,
    ) {
        let asked = self.m.ops.find(op).is_some() && matches!(self.phase, Phase::Boundary(_));
        let reply = if !asked {
            self.m.ignored += 1;
            Ok(false)
        } else {
            self.take_input(op, answer, out)
        };
        out.push(Output::Reply { command, reply: Reply::Boundary(reply) });
    }

    /// Takes an answer to the open question in; whether it is committed.
    fn take_input(
        &mut self,
        op: OpId,
        answer: BoundaryAnswer,
        out: &mut Outbox,
    ) -> Result<bool, BoundaryError> {
        let message = match answer {
            BoundaryAnswer::Input(parts) => boundary::message(&self.m, parts)?,
            BoundaryAnswer::Lost => {
                self.m.ops.close(op);
                self.end(Ending::Failed(RunError::BoundaryLost), out);
                return Ok(false);
            }
        };
        self.m.ops.close(op);
        // An interruption comes first: what it would not show, it does not commit (C9).
        if self.m.stops_here() {
            return Ok(false);
        }
        let Phase::Boundary(checkpoint) = core::mem::replace(&mut self.phase, Phase::Closed) else {
            return Ok(false);
        };
        match (message, checkpoint.boundary) {
            (None, Boundary::BeforeProvider) => self.apply_steers(out),
            (None, Boundary::BeforeCompletion) => {
                (self.m.collects, self.m.collected) = (false, true);
                self.end_turn(checkpoint.answer, out);
            }
            (Some(message), boundary) => {
                self.commit_input(message, boundary, out);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Input at completion causes another step, before which the source is asked again (B3).
    fn commit_input(&mut self, message: Message, boundary: Boundary, out: &mut Outbox) {
        if boundary == Boundary::BeforeCompletion {
            self.m.emit(Event::StepCompleted { step: self.m.step });
            self.m.invalid_turns = 0;
        }
        self.m.add_message(message);
        let revision = self.m.commit();
        if let Some(origin) = self.m.origin.clone() {
            let session = origin.session.clone();
            self.m.emit(Event::BoundaryApplied(Arc::new(BoundaryApplied { session, boundary, revision })));
        }
        match boundary {
            Boundary::BeforeProvider => self.apply_steers(out),
            Boundary::BeforeCompletion => self.next_step(out),
        }
    }

    /// People add input; it is answered at once, wherever the run stands (H3).
    pub(super) fn steer(&mut self, input: SteerInput, out: &mut Outbox) {
        let reply = if self.m.is_over() {
            Err(SteerError::NotAccepting)
        } else {
            let config = Arc::clone(&self.m.config);
            self.m.steers.stage(input.id, input.parts, &config)
        };
        if let Phase::Model(call) = &self.phase {
            call.offer_steers(&mut self.m, out);
        }
        out.push(Output::Reply { command: input.command, reply: Reply::Steer(reply) });
    }
}
