//! Where a running tool leaves a progress report for its transport: one place, so that none is lost and none piles up.

use super::ready::OpWaker;
use crate::core::text::Text;
use crate::sync::{Arc, Mutex, lock};
use crate::wakers::{Ticket, WakerSet};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Wake};

#[derive(Default)]
pub(super) struct ProgressSlot {
    state: Mutex<SlotState>,
}

#[derive(Default)]
struct SlotState {
    /// With its place in the tool's order.
    report: Option<(usize, Text)>,
    closed: bool,
    waiting: WakerSet,
}

impl ProgressSlot {
    /// Takes the report and lets the next one in.
    pub(super) fn take(&self) -> Option<Text> {
        let (report, woken) = {
            let mut state = lock(&self.state);
            let (_, report) = state.report.take()?;
            (report, state.waiting.take())
        };
        woken.wake();
        Some(report)
    }

    /// The place of the report that stands here.
    pub(super) fn place(&self) -> Option<usize> {
        lock(&self.state).report.as_ref().map(|(place, _)| *place)
    }

    /// The call has ended: later reports are dropped.
    pub(super) fn close(&self) {
        let woken = {
            let mut state = lock(&self.state);
            state.closed = true;
            state.report = None;
            state.waiting.take()
        };
        woken.wake();
    }

    /// Leaves the report if there is room or nobody reads any more.
    fn offer(&self, report: &mut Option<Text>, place: usize) -> bool {
        {
            let mut state = lock(&self.state);
            if state.closed {
                return true;
            }
            if state.report.is_some() {
                return false;
            }
            state.report = report.take().map(|report| (place, report));
        }
        true
    }
}

/// Waits until a progress report is taken over; see [`ToolContext::progress`](super::ToolContext::progress).
#[must_use = "futures do nothing unless polled"]
pub struct Progress {
    /// The running call: it holds the place, and waking it has the transport look there.
    call: Arc<OpWaker>,
    report: Option<Text>,
    ticket: Ticket,
}

impl Progress {
    pub(super) fn new(call: Arc<OpWaker>, report: Text) -> Self {
        let report = Some(report).filter(|text| !text.is_empty());
        Self { call, report, ticket: Ticket::default() }
    }

    fn offer(&mut self) -> bool {
        let taken = self.call.progress.offer(&mut self.report, self.call.place());
        if taken {
            self.call.wake_by_ref();
        }
        taken
    }
}

impl Future for Progress {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        if this.report.is_none() || this.offer() {
            return Poll::Ready(());
        }
        let waker = cx.waker().clone();
        let replaced = lock(&this.call.progress.state).waiting.put(&mut this.ticket, waker);
        drop(replaced);
        // The place may have become free before this task stood in line.
        if this.offer() { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress").field("left", &self.report.is_none()).finish_non_exhaustive()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let left = lock(&self.call.progress.state).waiting.leave(&mut self.ticket);
        drop(left);
    }
}
