//! Whose turn it is: overlap as tools declare it, barriers in model order, the limit on executions (T1).

use super::requests::Asker;
use super::{Batch, State};
use crate::event::Event;
use crate::host_input::RequestKind;
use crate::machine::{Machine, OpKind};
use crate::output::{Outbox, Work};
use crate::tool::{Access, ToolInvocation};
use alloc::sync::Arc;
use alloc::vec::Vec;

impl Batch {
    /// Begins queued calls in model order, as far as overlap and limit allow.
    pub(super) fn schedule(&mut self, m: &mut Machine, out: &mut Outbox) {
        while self.slots.get(self.first).is_some_and(|slot| matches!(slot.state, State::Done(_))) {
            self.first += 1;
        }
        let mut earlier: Vec<Access> = Vec::new();
        let mut open_before = false;
        for at in self.first..self.slots.len() {
            if self.running >= m.config.limits.parallel_tools && !self.has_clients {
                return;
            }
            let Some(slot) = self.slots.get(at) else { return };
            match slot.state {
                State::Done(_) => continue,
                // What the call touches is not known yet: nothing behind it may begin.
                State::Unprepared | State::Preparing(_) => return,
                State::Authorizing(..)
                | State::Waiting
                | State::Queued
                | State::Begun(_)
                | State::Running(_) => {}
            }
            let Some(access) = slot.access().cloned() else { continue };
            let barred = (access == Access::Exclusive && open_before)
                || earlier.iter().any(|other| other.conflicts(&access));
            if matches!(slot.state, State::Queued) && !barred {
                self.begin_call(m, at, out);
                // A call that nobody can execute has its result at once.
                if self.slots.get(at).is_some_and(|slot| matches!(slot.state, State::Done(_))) {
                    continue;
                }
            }
            match access {
                Access::Exclusive => return,
                // Shared calls conflict with exclusive ones only, which wait for every call before them.
                Access::Shared => {}
                Access::Resources(_) => earlier.push(access),
            }
            open_before = true;
        }
    }

    fn begin_call(&mut self, m: &mut Machine, at: usize, out: &mut Outbox) {
        let Some(slot) = self.slots.get_mut(at) else { return };
        let Some(spec) = slot.spec.clone() else { return };
        if spec.client {
            return self.hand_over(m, at, out);
        }
        if self.running >= m.config.limits.parallel_tools {
            return;
        }
        let resumed = slot.resumed.take();
        let call = Arc::clone(slot.effective());
        let op = m.begin_op(OpKind::Tool(at), Work::Tool(ToolInvocation { call, spec, resumed }), out);
        self.keep_secret(at, false);
        self.set(at, State::Begun(op));
    }

    /// Hands a call over to the client: from here on it may have been executed.
    fn hand_over(&mut self, m: &mut Machine, at: usize, out: &mut Outbox) {
        let Some(slot) = self.slots.get_mut(at) else { return };
        slot.started = true;
        let (call, timeout) = (Arc::clone(&slot.call), slot.deadline);
        self.set(at, State::Waiting);
        m.emit(Event::ToolStarted(call));
        // The engine makes the id, so that nothing is in the way of asking.
        let _ = self.open_request(m, at, RequestKind::Call, (None, timeout), Asker::Client, out);
    }
}
