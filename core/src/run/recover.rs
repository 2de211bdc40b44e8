//! Another process goes on with a run: nothing that was under way is there any more (H7).

use super::Run;
use crate::event::Event;
use crate::input::Recover;
use crate::output::Outbox;
use crate::phase::{Flow, Phase, boundary};

impl Run {
    /// Begins again what may be begun again, and ends what may not.
    pub(super) fn recover(&mut self, recover: Recover, out: &mut Outbox) {
        if self.m.outcome.is_some() {
            return;
        }
        self.m.taken_over(recover, out);
        // The record is closed: only observers are asked again.
        if self.m.is_over() {
            return;
        }
        self.m.emit(Event::RunRecovered { revision: self.m.revision });
        let flow = match &mut self.phase {
            Phase::Model(call) => call.lost(&mut self.m, out),
            Phase::Batch(batch) => batch.recover(&mut self.m, out),
            Phase::Boundary(checkpoint) => {
                self.m.abandon_all(out);
                boundary::ask(&mut self.m, checkpoint.boundary, out);
                Flow::Stay
            }
            Phase::Compact(compacting) => {
                compacting.again(&mut self.m, out);
                Flow::Stay
            }
            // A wait goes on with what is left of it.
            Phase::Backoff(..) | Phase::New | Phase::Closed => Flow::Stay,
        };
        self.follow(flow, out);
    }
}
