//! A fault that tests plant into the machine, to show what a defect of its own would lead to (X5).

use crate::run::Run;

impl Run {
    /// Makes the step after `steps` further ones panic.
    #[doc(hidden)]
    pub fn plant_panic(&mut self, steps: u64) {
        self.planted = Some(steps);
    }

    pub(crate) fn trip_planted(&mut self) {
        if let Some(left) = self.planted {
            #[allow(clippy::panic, reason = "this is the planted fault")]
            if left == 0 {
                panic!("planted");
            }
            self.planted = Some(left - 1);
        }
    }
}
