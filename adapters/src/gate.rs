//! Keeps a session's next run from beginning work before the last one's futures are gone (C8).

use crate::sync::{Arc, Mutex, lock};
use crate::wakers::{Ticket, WakerSet};
use std::task::Context;

/// Open once the run that owns its [`GateKeeper`] has dropped its work.
#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<GateState>,
}

#[derive(Default)]
struct GateState {
    open: bool,
    waiting: WakerSet,
}

impl Gate {
    pub(crate) fn is_open(&self) -> bool {
        lock(&self.state).open
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

/// The gates that a run has to wait for.
#[derive(Default)]
pub(crate) struct Gates {
    closed: Vec<(Arc<Gate>, Ticket)>,
}

impl Gates {
    pub(crate) fn new(gates: impl IntoIterator<Item = Arc<Gate>>) -> Self {
        Self { closed: gates.into_iter().map(|gate| (gate, Ticket::default())).collect() }
    }

    /// Whether all are open; if not, the task is woken when the next one opens.
    pub(crate) fn poll_open(&mut self, cx: &Context<'_>) -> bool {
        while let Some((gate, ticket)) = self.closed.last_mut() {
            let waker = cx.waker().clone();
            let (open, replaced) = {
                let mut state = lock(&gate.state);
                (state.open, state.waiting.put(ticket, waker))
            };
            drop(replaced);
            if !open {
                return false;
            }
            self.leave_last();
        }
        true
    }

    fn leave_last(&mut self) {
        if let Some((gate, mut ticket)) = self.closed.pop() {
            let left = lock(&gate.state).waiting.leave(&mut ticket);
            drop(left);
        }
    }
}

impl Drop for Gates {
    fn drop(&mut self) {
        while !self.closed.is_empty() {
            self.leave_last();
        }
    }
}
