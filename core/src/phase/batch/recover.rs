//! A batch whose process is gone (H7): what may have acted is not run again, what has not begun is run, and whoever was
//! asked is asked again.

use super::{Batch, State, result};
use crate::machine::Machine;
use crate::output::Outbox;
use crate::phase::Flow;

impl Batch {
    /// Takes the batch over from a process that is gone.
    pub(crate) fn recover(&mut self, m: &mut Machine, out: &mut Outbox) -> Flow {
        // All that is lost is ended before anything is begun in its place.
        for at in 0..self.slots.len() {
            self.lose(m, at, out);
        }
        for at in 0..self.slots.len() {
            self.begin_again(m, at, out);
        }
        self.ask_again(m, out);
        self.go_on(m, out)
    }

    /// Ends a call whose tool's code was entered: what it did is not known.
    fn lose(&mut self, m: &mut Machine, at: usize, out: &mut Outbox) {
        let Some(State::Running(op)) = self.slots.get(at).map(|slot| slot.state.clone()) else { return };
        m.abandon(op, out);
        self.finish(m, at, out, |slot| result::lost(&slot.call));
    }

    /// Puts a call back whose operation has had no effect.
    fn begin_again(&mut self, m: &mut Machine, at: usize, out: &mut Outbox) {
        let Some(op) = self.op_of(at) else { return };
        m.abandon(op, out);
        match self.slots.get(at).map(|slot| slot.state.clone()) {
            Some(State::Begun(_)) => self.set(at, State::Queued),
            Some(State::Preparing(_)) => {
                self.set(at, State::Unprepared);
                self.unprepared = self.unprepared.min(at);
            }
            Some(State::Authorizing(..)) => self.consent(m, at, out),
            Some(State::Unprepared | State::Waiting | State::Queued | State::Running(_) | State::Done(_))
            | None => {}
        }
    }
}
