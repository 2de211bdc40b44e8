//! Where each input goes, and the commands that concern the whole run.

use super::Run;
use crate::error::RunError;
use crate::host_input::RespondError;
use crate::id::{CommandId, OpId};
use crate::input::{AbortCause, Input, Respond, Start};
use crate::machine::OpKind;
use crate::message::Message;
use crate::observe::DurabilityReason;
use crate::outcome::{CancelCause, RunResult};
use crate::output::{CancelReply, Outbox, Output, Reply};
use crate::phase::{Ending, Flow, Phase, batch, closing};
use crate::suspend::{NotSuspendable, Resume};
use crate::tool::ToolItem;
use alloc::boxed::Box;

impl Run {
    pub(super) fn dispatch(&mut self, input: Input, message: Option<Message>, out: &mut Outbox) {
        let flow = match input {
            Input::Model { op, item } => match (self.m.ops.find(op), &mut self.phase) {
                (Some(_), Phase::Model(call)) => call.on_item(&mut self.m, item, out),
                _ => return self.m.ignored += 1,
            },
            Input::Tool { op, item } => match (self.m.ops.find(op), &mut self.phase) {
                (Some(OpKind::Tool(at)), Phase::Batch(batch)) => batch.on_item(&mut self.m, at, item, out),
                _ => return self.ignore_tool(op, item),
            },
            Input::Prepared { op, result } => match (self.m.ops.find(op), &mut self.phase) {
                (Some(OpKind::Prepare(at)), Phase::Batch(batch)) => {
                    batch.on_prepared(&mut self.m, at, result, out)
                }
                _ => return self.m.ignored += 1,
            },
            Input::Authorized { op, verdict } => match (self.m.ops.find(op), &mut self.phase) {
                (Some(OpKind::Authorize(at)), Phase::Batch(batch)) => {
                    batch.on_verdict(&mut self.m, at, verdict, out)
                }
                _ => return self.m.ignored += 1,
            },
            Input::Responded { op, answer } => match (self.m.ops.find(op), &mut self.phase) {
                (Some(OpKind::Respond(index)), Phase::Batch(batch)) => {
                    batch.on_responded(&mut self.m, index, answer, out)
                }
                _ => return self.m.ignored += 1,
            },
            Input::Compacted { op, result } => match (self.m.ops.find(op), &self.phase) {
                (Some(_), Phase::Compact(compacting)) => {
                    Flow::Compacted(compacting.on_result(&mut self.m, result))
                }
                _ => return self.m.ignored += 1,
            },
            Input::Observed { op, result } => match self.m.observed(op, result) {
                Some(refusal) if self.m.is_over() => return self.m.note_loss(refusal),
                Some(refusal) => Flow::End(Ending::Failed(refusal.into_error())),
                None => return,
            },
            Input::Boundary { op, command, answer } => {
                return self.boundary_answered(op, command, answer, out);
            }
            Input::Steer(steer) => return self.steer(*steer, out),
            Input::Retract(retract) => {
                let reply = self.m.steers.retract(&retract.id);
                return out.push(Output::Reply { command: retract.command, reply: Reply::Retract(reply) });
            }
            Input::Respond(respond) => return self.take_answer_of(*respond, out),
            Input::HandleGone => return self.handle_gone(out),
            Input::Suspend { command } => return self.suspend_at(command, out),
            Input::Resume(resume) => return self.resume(&resume, out),
            Input::Recover(recover) => return self.recover(*recover, out),
            Input::Visibility(change) => return self.m.show(&change),
            Input::Taken { through } => return self.m.set_taken(through),
            Input::Wake { .. } => return,
            Input::Start(start) => return self.start(*start, message, out),
            Input::Cancel { command } => return self.cancel(command, out),
            Input::Abort(cause) => return self.abort(cause, out),
            Input::ConsumerGone { awaited } => return self.m.consumer_gone(awaited),
        };
        self.follow(flow, out);
    }

    fn ignore_tool(&mut self, op: OpId, item: ToolItem) {
        self.m.ignored += 1;
        if let ToolItem::Done(end) = item {
            self.m.keep_late(op, end);
        }
    }

    fn start(&mut self, start: Start, message: Option<Message>, out: &mut Outbox) {
        let Some(message) = message else { return };
        let cancelled = start.cancelled || self.m.cancelled_early;
        self.m.begin(start, message);
        let Some(origin) = self.m.origin.clone() else { return };
        self.m.emit(origin.started());
        if cancelled {
            return self.end(Ending::Cancelled(CancelCause::Requested), out);
        }
        self.next_step(out);
    }

    fn cancel(&mut self, command: CommandId, out: &mut Outbox) {
        let reply = match self.m.result() {
            Some(outcome) if matches!(outcome.result, RunResult::Cancelled(_)) => CancelReply::Cancelled,
            Some(_) => CancelReply::AlreadyFinished,
            None => {
                if matches!(self.phase, Phase::New) {
                    self.m.cancelled_early = true;
                } else {
                    self.end(Ending::Cancelled(CancelCause::Requested), out);
                }
                CancelReply::Cancelled
            }
        };
        out.push(Output::Reply { command, reply: Reply::Cancel(reply) });
    }

    fn abort(&mut self, cause: AbortCause, out: &mut Outbox) {
        if !self.m.is_over() {
            let ending = match CancelCause::of(cause) {
                Some(cause) => Ending::Cancelled(cause),
                None if cause == AbortCause::ProcessLost => Ending::Failed(RunError::Orphaned),
                None => Ending::Failed(RunError::DriverPanicked),
            };
            self.end(ending, out);
        }
        // Nobody is left to wait (C8).
        self.m.stop_observing(DurabilityReason::Abandoned, out);
    }

    pub(super) fn end(&mut self, ending: Ending, out: &mut Outbox) {
        let phase = core::mem::replace(&mut self.phase, Phase::Closed);
        closing::close(&mut self.m, phase, ending, out);
    }
}

/// Answers, and runs that are put aside.
impl Run {
    fn take_answer_of(&mut self, respond: Respond, out: &mut Outbox) {
        let command = respond.command;
        let taken = match &mut self.phase {
            Phase::Batch(batch) if !self.m.is_over() => batch.respond(&mut self.m, respond, out),
            _ if self.m.is_over() => Err(RespondError::NotAccepting),
            Phase::Batch(_)
            | Phase::New
            | Phase::Model(_)
            | Phase::Backoff(..)
            | Phase::Boundary(_)
            | Phase::Compact(_)
            | Phase::Closed => Err(RespondError::Unknown(respond.request)),
        };
        let reply = match taken {
            Ok(flow) => {
                self.follow(flow, out);
                Ok(())
            }
            Err(error) => Err(error),
        };
        out.push(Output::Reply { command, reply: Reply::Respond(reply) });
    }

    fn handle_gone(&mut self, out: &mut Outbox) {
        self.m.answerers.handle = false;
        if let Phase::Batch(batch) = &mut self.phase {
            let flow = batch.on_handle_gone(&mut self.m, out);
            self.follow(flow, out);
        }
    }

    fn suspend_at(&mut self, command: CommandId, out: &mut Outbox) {
        let reply = match &self.phase {
            Phase::Batch(batch) if batch.is_suspendable() => Ok(()),
            Phase::Batch(batch) => Err(batch.busy()),
            Phase::New
            | Phase::Model(_)
            | Phase::Backoff(..)
            | Phase::Boundary(_)
            | Phase::Compact(_)
            | Phase::Closed => Err(NotSuspendable::default()),
        };
        if reply.is_ok() {
            self.suspend(out);
        }
        out.push(Output::Reply { command, reply: Reply::Suspend(reply) });
    }

    /// Puts the run aside as a value (H6).
    pub(super) fn suspend(&mut self, out: &mut Outbox) {
        if let Phase::Batch(batch) = core::mem::replace(&mut self.phase, Phase::Closed) {
            closing::suspend(&mut self.m, &batch, out);
        }
    }

    fn resume(&mut self, resume: &Resume, out: &mut Outbox) {
        self.m.resume(resume);
        let Some(origin) = self.m.origin.clone() else { return };
        self.m.emit(origin.resumed());
        let cancelled = resume.cancelled || self.m.cancelled_early;
        let batch = batch::resume(&mut self.m, &resume.suspended, &resume.tools, cancelled, out);
        let settled = batch.is_settled();
        self.phase = Phase::Batch(Box::new(batch));
        if cancelled {
            self.end(Ending::Cancelled(CancelCause::Requested), out);
        } else if settled {
            self.after_batch(out);
        }
    }
}
