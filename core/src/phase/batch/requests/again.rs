//! The host's responder: it is asked once about each request, and by another process anew (H2, H7).

use super::{Batch, EntryState};
use crate::host_input::AskError;
use crate::machine::{Machine, OpKind};
use crate::output::{Outbox, Work};
use alloc::sync::Arc;

impl Batch {
    /// Asks the responder; where nobody can answer, the request fails at once.
    pub(super) fn ask_responder(&mut self, m: &mut Machine, index: usize, out: &mut Outbox) {
        if m.answerers.responder {
            let Some(entry) = self.requests.entries.get_mut(index) else { return };
            let work = Work::Respond(Arc::clone(&entry.request));
            entry.responder = Some(m.begin_op(OpKind::Respond(index), work, out));
        } else if !m.answerers.handle {
            self.fail(m, index, AskError::NoResponder, out);
        }
    }

    /// The responder is gone with its process: the one that there is is asked about all that stands open (H7).
    pub(in super::super) fn ask_again(&mut self, m: &mut Machine, out: &mut Outbox) {
        for index in 0..self.requests.entries.len() {
            let Some(entry) = self.requests.entries.get_mut(index) else { continue };
            if entry.state == EntryState::Open {
                if let Some(op) = entry.responder.take() {
                    m.abandon(op, out);
                }
                self.ask_responder(m, index, out);
            }
        }
    }
}
