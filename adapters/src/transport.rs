//! What carries out a run's work: the trait between a driver and its models, tools and approver.

use crate::core::Input;
use crate::core::host_input::{AskError, HostAnswer};
use crate::core::id::OpId;
use crate::core::output::{Credit, Work};
use crate::core::steer::Steer;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Carries out the work of one run and yields what comes of it.
///
/// A driver calls it from one task. None of its methods runs under a lock. A transport that panics, or that yields
/// an item of work that was never begun, fails the run as
/// [`DriverPanicked`](crate::core::error::RunError::DriverPanicked).
/// [`HostTransport`](crate::HostTransport) is the usual one.
pub trait Transport {
    /// Begins `work`; what comes of it is yielded under `op`.
    ///
    /// A tool first yields [`ToolItem::Started`](crate::core::tool::ToolItem::Started), and its code is entered only
    /// in a later [`poll_items`](Transport::poll_items), when that is recorded. [`Work::Observe`] is asked only of a
    /// transport whose host has required observers; until it yields [`Input::Observed`](crate::core::Input), the run waits.
    fn begin(&mut self, op: OpId, work: Work);

    /// Drops the work of `op`. Nothing is yielded for it any more. An unknown `op` is no error.
    fn abandon(&mut self, op: OpId);

    /// Hands the answer to a question that the tool of `op` asked to it; `ticket` is the tool's own number for the
    /// question (H2). An unknown `op` is no error. A transport whose tools never ask has no use for it.
    fn deliver(&mut self, op: OpId, ticket: u64, answer: Box<Result<HostAnswer, AskError>>) {
        let _ = (op, ticket, answer);
    }

    /// Hands an input to the model's attempt of `op`, which has claimed one (H4). An unknown `op` is no error. A
    /// transport whose models never claim has no use for it.
    fn steer(&mut self, op: OpId, steer: Arc<Steer>) {
        let _ = (op, steer);
    }

    /// Whether something is recorded that required observers have not accepted; said before each
    /// [`poll_items`](Transport::poll_items). While it is so, the code of no tool is entered, also of one that has yielded
    /// that it starts: after a crash the record tells whether a tool may have run (L5, H7). A transport of a run without
    /// observers has no use for it.
    fn unobserved(&mut self, waits: bool) {
        let _ = waits;
    }

    /// Appends items to `into`, which is empty: `Ready` with at least one, else `Pending`.
    ///
    /// Consecutive items of a model travel together, at most `room.items` of them; the one with which their encoded
    /// text reaches `room.bytes` is the last. An item of a tool or an approver travels alone, so that each result is
    /// recorded before other foreign code runs.
    ///
    /// With a `room` of zero the reader of the run has fallen behind: no model item is yielded and no tool starts,
    /// but tools that run go on, and each of them and each approval may yield one item, which the driver holds.
    /// They have been taken over when `room` is not zero again. The answer of an observer always passes: the room is zero
    /// while observers are asked as well.
    fn poll_items(&mut self, cx: &mut Context<'_>, room: Credit, into: &mut Vec<Input>) -> Poll<()>;
}
