//! Keeps a session's next run from beginning work before the last one's futures are gone (C8).

use crate::sync::{Arc, Mutex, lock};
use crate::wakers::{Ticket, WakerSet};
use std::task::Context;

/// Open once the run that owns its [`GateKeeper`] has dropped its work. It knows the gate of the run before, which may
/// still be closed then: so a run knows all that it waits for by one gate, however many there are.
#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<GateState>,
}

#[derive(Default)]
struct GateState {
    open: bool,
    waiting: WakerSet,
    before: Option<Arc<Gate>>,
}

impl Gate {
    /// Puts it behind another.
    pub(crate) fn follow(&self, before: Option<Arc<Self>>) {
        lock(&self.state).before = before;
    }

    /// The last gate of those up to `last` that is closed.
    pub(crate) fn closed(last: Option<Arc<Self>>) -> Option<Arc<Self>> {
        let mut gate = last?;
        loop {
            let before = {
                let state = lock(&gate.state);
                if !state.open {
                    break;
                }
                state.before.clone()
            };
            gate = before?;
        }
        Some(gate)
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        // One after the other: a long row would not fit on the stack.
        let mut before = lock(&self.state).before.take();
        while let Some(gate) = before.and_then(Arc::into_inner) {
            before = lock(&gate.state).before.take();
        }
    }
}

/// Opens its gate when dropped.
pub(crate) struct GateKeeper(pub(crate) Arc<Gate>);

impl Drop for GateKeeper {
    fn drop(&mut self) {
        let woken = {
            let mut state = lock(&self.0.state);
            state.open = true;
            state.waiting.take()
        };
        woken.wake();
    }
}

/// The gates that a run has to wait for: this one and those before it.
#[derive(Default)]
pub(crate) struct Gates {
    last: Option<(Arc<Gate>, Ticket)>,
}

impl Gates {
    pub(crate) fn new(last: Option<Arc<Gate>>) -> Self {
        Self { last: last.map(|gate| (gate, Ticket::default())) }
    }

    /// Whether all are open; if not, the task is woken when the next one opens.
    pub(crate) fn poll_open(&mut self, cx: &Context<'_>) -> bool {
        while let Some((gate, ticket)) = &mut self.last {
            let waker = cx.waker().clone();
            let (open, before, replaced) = {
                let mut state = lock(&gate.state);
                (state.open, state.before.clone(), state.waiting.put(ticket, waker))
            };
            drop(replaced);
            if !open {
                return false;
            }
            self.leave();
            self.last = Gate::closed(before).map(|gate| (gate, Ticket::default()));
        }
        true
    }

    fn leave(&mut self) {
        if let Some((gate, mut ticket)) = self.last.take() {
            let left = lock(&gate.state).waiting.leave(&mut ticket);
            drop(left);
        }
    }
}

impl Drop for Gates {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(all(test, not(runloom_loom)))]
mod tests {
    use super::*;
    use std::task::Waker;

    /// Gates open in any order; a run passes when all are open.
    #[test]
    fn a_run_waits_for_all_that_were_before() {
        let [first, second, third] = [(); 3].map(|()| Arc::new(Gate::default()));
        second.follow(Some(Arc::clone(&first)));
        third.follow(Some(Arc::clone(&second)));
        let cx = Context::from_waker(Waker::noop());
        let mut gates = Gates::new(Some(Arc::clone(&third)));
        assert!(!gates.poll_open(&cx));
        drop(GateKeeper(Arc::clone(&second)));
        assert!(!gates.poll_open(&cx));
        drop(GateKeeper(Arc::clone(&third)));
        assert!(!gates.poll_open(&cx));
        assert!(Gate::closed(Some(third)).is_some_and(|gate| Arc::ptr_eq(&gate, &first)));
        drop(GateKeeper(first));
        assert!(gates.poll_open(&cx) && gates.poll_open(&cx));
    }

    #[test]
    fn a_long_row_is_dropped_without_a_deep_stack() {
        let mut last = None;
        for _ in 0..1_000_000 {
            let gate = Gate::default();
            gate.follow(last);
            last = Some(Arc::new(gate));
        }
        drop(last);
    }
}
