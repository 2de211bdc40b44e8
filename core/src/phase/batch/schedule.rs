//! Whose turn it is: overlap as tools declare it, barriers in model order, the limit on executions (T1).

use super::requests::Asker;
use super::{Batch, Slot, State};
use crate::event::Event;
use crate::host_input::RequestKind;
use crate::machine::{Machine, OpKind};
use crate::output::{Outbox, Work};
use crate::tool::{Access, ToolInvocation};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Whose turn it can be. Kept up as calls move on, so that a batch costs the same for each of its calls, however many
/// there are: a call is looked at again only when the one that barred it has its result.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns {
    /// What the calls before this one touch is known; nothing from it on may begin.
    known: usize,
    /// Queued calls that nothing bars: those of the host's tools, and those of the client.
    ready: BTreeSet<usize>,
    clients: BTreeSet<usize>,
    /// Exclusive calls without a result, as far as it is known what they touch.
    barriers: BTreeSet<usize>,
    /// Queued calls, by the nearest call before that bars them.
    barred: BTreeMap<usize, Vec<usize>>,
}

impl Batch {
    /// Takes note of the state that a call has now.
    pub(super) fn notice(&mut self, at: usize) {
        let Some(slot) = self.slots.get(at) else { return };
        if matches!(slot.state, State::Done(_)) {
            self.turns.barriers.remove(&at);
            for freed in self.turns.barred.remove(&at).unwrap_or_default() {
                self.consider(freed);
            }
        } else if at < self.turns.known {
            self.consider(at);
        }
    }

    /// Finds a queued call its place: it may begin, or another call bars it. Calls that have no result bar what they
    /// conflict with, whether they run or not.
    fn consider(&mut self, at: usize) {
        while self.slots.get(self.first).is_some_and(|slot| matches!(slot.state, State::Done(_))) {
            self.first += 1;
        }
        let Some(slot) = self.slots.get(at) else { return };
        let (State::Queued, Some(access), Some(spec)) = (&slot.state, slot.access(), &slot.spec) else {
            return;
        };
        let bars = |other: &Slot| {
            !matches!(other.state, State::Done(_))
                && other.access().is_none_or(|other| other.conflicts(access))
        };
        let bar = match access {
            // Most calls: they need not look at each other.
            Access::Shared => self.turns.barriers.range(..at).next_back().copied(),
            Access::Exclusive | Access::Resources(_) => {
                let earlier = self.slots.get(self.first..at).unwrap_or_default();
                earlier.iter().rposition(bars).map(|place| self.first + place)
            }
        };
        match bar {
            Some(bar) => self.turns.barred.entry(bar).or_default().push(at),
            None if spec.client => _ = self.turns.clients.insert(at),
            None => _ = self.turns.ready.insert(at),
        }
    }

    /// Begins queued calls in model order, as far as overlap and limit allow.
    pub(super) fn schedule(&mut self, m: &mut Machine, out: &mut Outbox) {
        while let Some(slot) = self.slots.get(self.turns.known) {
            if matches!(slot.state, State::Unprepared | State::Preparing(_)) {
                break;
            }
            let at = self.turns.known;
            if matches!(slot.access(), Some(Access::Exclusive)) && !matches!(slot.state, State::Done(_)) {
                self.turns.barriers.insert(at);
            }
            self.turns.known += 1;
            self.consider(at);
        }
        loop {
            let full = self.running >= m.config.limits.parallel_tools;
            let own = self.turns.ready.first().filter(|_| !full);
            let Some(at) = own.into_iter().chain(self.turns.clients.first()).min().copied() else { return };
            self.turns.ready.remove(&at);
            self.turns.clients.remove(&at);
            self.begin_call(m, at, out);
        }
    }

    fn begin_call(&mut self, m: &mut Machine, at: usize, out: &mut Outbox) {
        let Some(slot) = self.slots.get_mut(at).filter(|slot| matches!(slot.state, State::Queued)) else {
            return;
        };
        let Some(spec) = slot.spec.clone() else { return };
        if spec.client {
            return self.hand_over(m, at, out);
        }
        let resumed = slot.resumed.clone();
        let call = Arc::clone(slot.effective());
        let op = m.begin_op(OpKind::Tool(at), Work::Tool(ToolInvocation { call, spec, resumed }), out);
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
