//! What comes before a call's turn: whether it can be run at all, its preparation, and consent to it (T2, M7).

use super::requests::Asker;
use super::{Batch, Slot, State, result};
use crate::clock::Clock;
use crate::host_input::RequestKind;
use crate::id::OpId;
use crate::machine::{Machine, OpKind};
use crate::output::{Outbox, Work};
use crate::phase::Flow;
use crate::problem::bounded;
use crate::text::Text;
use crate::tool::{
    ApprovalPolicy, AuthorizeRequest, Binding, Preparation, ToolFault, ToolInvocation, Verdict,
};
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::time::Duration;

impl Batch {
    /// Decides on one call before it may run; whether its arguments were invalid.
    pub(super) fn admit(&mut self, m: &mut Machine, at: usize, out: &mut Outbox) -> bool {
        let Some(slot) = self.slots.get(at) else { return false };
        let config = Arc::clone(&m.config);
        let Some(spec) = slot.spec.clone() else {
            let offered = Arc::clone(&m.offered);
            self.finish(m, at, out, |slot| result::unavailable(&slot.call, &offered, &config.limits));
            return false;
        };
        if let Some(refused) = result::invalid_arguments(&slot.call) {
            self.finish(m, at, out, |_| refused);
            return true;
        }
        if let ApprovalPolicy::Deny { reason } = &spec.approval {
            self.finish(m, at, out, |slot| result::denied(&slot.call, reason, &config.limits));
        } else if spec.prepares {
            self.set(at, State::Unprepared);
        } else {
            self.consent(m, at, out);
        }
        false
    }

    /// Has tools look at their calls, in model order and a bounded number at a time.
    pub(super) fn prepare(&mut self, m: &mut Machine, out: &mut Outbox) {
        while self.preparing < m.config.limits.preparations {
            let Some(slot) = self.slots.get_mut(self.unprepared) else { return };
            let at = self.unprepared;
            self.unprepared += 1;
            if let (State::Unprepared, Some(spec)) = (&slot.state, &slot.spec) {
                let work = Work::Prepare(ToolInvocation::new(Arc::clone(&slot.call), Arc::clone(spec)));
                slot.clock = Clock::start(m.now, slot.deadline, m.paused);
                let op = m.begin_op(OpKind::Prepare(at), work, out);
                self.set(at, State::Preparing(op));
            }
        }
    }

    /// A tool has looked at a call, or has failed to: then the call fails without having been started.
    pub(crate) fn on_prepared(
        &mut self,
        m: &mut Machine,
        at: usize,
        result: Result<Box<Preparation>, Box<ToolFault>>,
        out: &mut Outbox,
    ) -> Flow {
        let Some(slot) = self.slots.get_mut(at) else { return Flow::Stay };
        let State::Preparing(op) = slot.state else { return Flow::Stay };
        m.ops.close(op);
        match result {
            Ok(preparation) => {
                slot.access = preparation.access;
                slot.summary = bounded(&preparation.summary, m.config.limits.error_bytes);
                self.consent(m, at, out);
            }
            Err(fault) => {
                let fatal = slot.spec.as_ref().filter(|spec| spec.fatal).map(|spec| spec.name.clone());
                let config = Arc::clone(&m.config);
                self.finish(m, at, out, |slot| result::of_fault(&slot.call, &fault, &config.limits));
                if let Some(tool) = fatal {
                    return result::fatal(tool, &fault);
                }
            }
        }
        self.go_on(m, out)
    }

    /// Asks for consent, where the tool's policy wants it.
    pub(super) fn consent(&mut self, m: &mut Machine, at: usize, out: &mut Outbox) {
        let Some(spec) = self.slots.get(at).and_then(|slot| slot.spec.clone()) else { return };
        match spec.approval {
            ApprovalPolicy::Allow | ApprovalPolicy::Deny { .. } => self.set(at, State::Queued),
            ApprovalPolicy::Ask => self.ask_people(m, at, Text::EMPTY, None, out),
            ApprovalPolicy::Decide => {
                let Some(slot) = self.slots.get(at) else { return };
                let (call, summary) = (Arc::clone(&slot.call), slot.summary.clone());
                let binding = Binding::of(&call);
                let work = Work::Authorize(Arc::new(AuthorizeRequest { call, spec, binding, summary }));
                let op = m.begin_op(OpKind::Authorize(at), work, out);
                self.set(at, State::Authorizing(op, binding));
            }
        }
    }

    /// Asks people for their consent, unless it was given to an equal call and was to be remembered.
    fn ask_people(
        &mut self,
        m: &mut Machine,
        at: usize,
        reason: Text,
        timeout: Option<Duration>,
        out: &mut Outbox,
    ) {
        let Some(slot) = self.slots.get(at) else { return };
        if m.approvals.holds(&slot.call) {
            return self.set(at, State::Queued);
        }
        let reason = if reason.is_empty() { &slot.summary } else { &reason };
        let reason = bounded(reason, m.config.limits.error_bytes);
        let kind = RequestKind::Approval { binding: Binding::of(&slot.call), reason };
        self.set(at, State::Waiting);
        // The engine makes the id, so that nothing is in the way of asking.
        let _ = self.open_request(m, at, kind, (None, timeout), Asker::Consent, out);
    }

    /// The approver decides; a verdict about anything but this call counts as a denial (T2).
    pub(crate) fn on_verdict(
        &mut self,
        m: &mut Machine,
        at: usize,
        verdict: Verdict,
        out: &mut Outbox,
    ) -> Flow {
        let Some(State::Authorizing(op, binding)) = self.slots.get(at).map(|slot| slot.state.clone()) else {
            return Flow::Stay;
        };
        m.ops.close(op);
        match verdict {
            Verdict::Allow(allowed) if allowed == binding => self.set(at, State::Queued),
            Verdict::Allow(_) => self.deny(m, at, "the approval is for another call", out),
            Verdict::Deny { reason } => self.deny(m, at, &reason, out),
            Verdict::Ask { reason, timeout } => self.ask_people(m, at, reason, timeout, out),
        }
        self.go_on(m, out)
    }

    /// Denies a call; the model is told why.
    pub(super) fn deny(&mut self, m: &mut Machine, at: usize, reason: &str, out: &mut Outbox) {
        let config = Arc::clone(&m.config);
        self.finish(m, at, out, |slot: &Slot| result::denied(&slot.call, reason, &config.limits));
    }

    /// The operation of a call that is under way, whatever it is.
    pub(super) fn op_of(&self, at: usize) -> Option<OpId> {
        match self.slots.get(at)?.state {
            State::Preparing(op) | State::Authorizing(op, _) | State::Begun(op) | State::Running(op) => {
                Some(op)
            }
            State::Unprepared | State::Waiting | State::Queued | State::Done(_) => None,
        }
    }
}
