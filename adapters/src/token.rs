//! Cancellation as a flag that tasks can wait for (C1).

use crate::sync::{Arc, AtomicBool, Mutex, Ordering, lock};
use crate::wakers::{Ticket, WakerSet};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

/// A flag that is raised once and that tasks can wait for (C1).
///
/// Clones share the flag, and dropping one does nothing. A run's token is shared by its model, its tools and its
/// approver. Nothing here needs an executor.
///
/// ```
/// let token = runloom::CancellationToken::new();
/// let clone = token.clone();
/// assert!(token.check_cancelled().is_ok());
/// clone.cancel();
/// assert!(token.is_cancelled());
/// ```
#[derive(Clone, Default)]
pub struct CancellationToken {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    cancelled: AtomicBool,
    /// How deep the run is nested whose token this is.
    depth: u32,
    waiting: Mutex<WakerSet>,
}

/// The token was cancelled; for `?` after [`CancellationToken::check_cancelled`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

impl CancellationToken {
    /// A token that nobody has cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// The token of a run that a call of another run made, so many runs deep.
    pub(crate) fn nested(depth: u32) -> Self {
        Self { inner: Arc::new(Inner { depth, ..Inner::default() }) }
    }

    /// How many runs the one whose token this is lies inside of.
    pub(crate) fn depth(&self) -> u32 {
        self.inner.depth
    }

    /// Raises the flag and wakes everyone who waits. Later calls do nothing.
    pub fn cancel(&self) {
        if !self.inner.cancelled.swap(true, Ordering::SeqCst) {
            let woken = lock(&self.inner.waiting).take();
            woken.wake();
        }
    }

    /// Whether the flag is raised.
    pub fn is_cancelled(&self) -> bool {
        self.inner.cancelled.load(Ordering::SeqCst)
    }

    /// An error once the flag is raised.
    ///
    /// # Errors
    ///
    /// [`Cancelled`] if the token was cancelled.
    pub fn check_cancelled(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }

    /// Waits for the flag. The future owns its clone of the token and leaves nothing behind when dropped.
    pub fn cancelled(&self) -> WaitForCancellation {
        WaitForCancellation { token: self.clone(), ticket: Ticket::default() }
    }

    /// Runs `future` unless the flag is raised first: then the result is `None` and `future` is dropped.
    ///
    /// If the flag is raised already, `future` is never polled. The result borrows nothing but what `future` does.
    pub fn until_cancelled<F: Future>(&self, future: F) -> impl Future<Output = Option<F::Output>> + use<F> {
        let mut cancelled = self.cancelled();
        async move {
            let mut future = pin!(future);
            poll_fn(|cx| match Pin::new(&mut cancelled).poll(cx) {
                Poll::Ready(()) => Poll::Ready(None),
                Poll::Pending => future.as_mut().poll(cx).map(Some),
            })
            .await
        }
    }
}

impl fmt::Debug for CancellationToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CancellationToken").field(&self.is_cancelled()).finish()
    }
}

/// Waits for a [`CancellationToken`]; see [`CancellationToken::cancelled`].
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct WaitForCancellation {
    token: CancellationToken,
    ticket: Ticket,
}

impl Future for WaitForCancellation {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        if this.token.is_cancelled() {
            return Poll::Ready(());
        }
        let waker = cx.waker().clone();
        let replaced = lock(&this.token.inner.waiting).put(&mut this.ticket, waker);
        drop(replaced);
        // Whoever raised the flag before the line above may have missed this waiter.
        if this.token.is_cancelled() { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for WaitForCancellation {
    fn drop(&mut self) {
        let left = lock(&self.token.inner.waiting).leave(&mut self.ticket);
        drop(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    #[test]
    fn a_dropped_waiter_leaves_nothing_behind() {
        let token = CancellationToken::new();
        let waiting = || lock(&token.inner.waiting).len();
        let mut waiter = token.cancelled();
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..3 {
            assert!(Pin::new(&mut waiter).poll(&mut cx).is_pending());
            assert_eq!(waiting(), 1);
        }
        drop(waiter);
        assert_eq!(waiting(), 0);
    }
}
