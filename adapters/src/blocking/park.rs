//! A waker that unparks a thread.

use crate::sync::{Arc, AtomicBool, Ordering};
use std::task::Wake;
use std::thread::Thread;

/// Remembers a wake, as a thread's own token may be taken by whoever else parks it.
pub(super) struct Parked {
    thread: Thread,
    woken: AtomicBool,
}

impl Parked {
    /// For the calling thread, and woken.
    pub(super) fn here() -> Arc<Self> {
        Arc::new(Self { thread: std::thread::current(), woken: AtomicBool::new(true) })
    }

    /// Whether it was woken since this was asked last.
    pub(super) fn take(&self) -> bool {
        self.woken.swap(false, Ordering::SeqCst)
    }
}

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.woken.swap(true, Ordering::SeqCst) {
            self.thread.unpark();
        }
    }
}
