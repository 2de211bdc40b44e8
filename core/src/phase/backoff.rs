//! The wait before the next attempt (R2, R3): no operation is under way, one timer is armed.

use super::model::ModelCall;
use super::{Ending, Flow};
use crate::error::RunError;
use crate::machine::Machine;
use crate::time::Time;

/// Whether the wait is over, or the model call's time is up.
pub(crate) fn on_time(m: &Machine, call: &ModelCall, until: Time) -> Flow {
    let [(deadline, _), _] = call.hard_deadline();
    if deadline.is_some_and(|at| at <= m.now) {
        return Flow::End(Ending::Failed(RunError::ModelCallDeadline));
    }
    if until <= m.now { Flow::RetryNow } else { Flow::Stay }
}
