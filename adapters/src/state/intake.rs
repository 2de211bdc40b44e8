//! What a run takes in from its transport: at once, as far as there is room, and the rest later.

use super::RunState;
use crate::core::Input;
use crate::core::input::AbortCause;
use crate::core::model::ModelItem;

impl RunState {
    /// Takes in what the transport has yielded.
    pub(crate) fn take_in(&mut self, items: &mut Vec<Input>, full: bool) {
        for item in items.drain(..) {
            // An item may bring more events than there is room for: those behind it wait, in their order.
            let waits = full || !self.held.is_empty() || !self.may_step(&item, true);
            let passes = matches!(item, Input::Observed { .. });
            if waits && !passes && self.next.live {
                self.held.push_back(item);
            } else {
                self.feed(item);
            }
        }
    }

    /// Steps an item of the transport. One that is improper shows that the transport is broken.
    pub(super) fn feed(&mut self, item: Input) {
        if !self.step(item) && self.next.live {
            self.step(Input::Abort(AbortCause::DriverPanicked));
        }
    }

    /// Steps what was taken in and not stepped yet, as far as there is room: the run goes on.
    pub(super) fn catch_up(&mut self) {
        self.tell_taken();
        let mut joins = false;
        while let Some(item) = self.held.pop_front() {
            if !self.next.live || !self.may_step(&item, joins) {
                return self.held.push_front(item);
            }
            joins = true;
            self.feed(item);
            self.tell_taken();
        }
    }

    /// Whether `item` may be stepped: with credit, or where it `joins` what a model yielded with it, so that observers are
    /// asked about all of it together. What ends the attempt waits until they have accepted it (L5).
    fn may_step(&self, item: &Input, joins: bool) -> bool {
        let ends = |item: &ModelItem| matches!(item, ModelItem::Done(_) | ModelItem::Failed(_));
        let joins = joins && matches!(item, Input::Model { item, .. } if !ends(item));
        !self.next.credit.is_zero() || (joins && self.machine.has_room())
    }

    /// Steps what was taken in and not stepped yet, before the run ends.
    pub(super) fn settle(&mut self) {
        self.tell_taken();
        let mut cut = false;
        while let Some(item) = self.held.pop_front() {
            // Results of tools have room in every log; of a model's stream the part that fits has come.
            let fits = self.next.live && self.machine.has_room();
            cut |= matches!(item, Input::Model { .. }) && !fits;
            if !(cut && matches!(item, Input::Model { .. })) {
                self.feed(item);
            }
        }
    }
}
