//! The barest executor, whose logs those of the others are compared with.

use super::block_on::BlockOn;
use super::executor::LocalTask;
use crate::sync::{Arc, AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

/// Polls when woken, and yields the thread meanwhile.
fn spin(mut future: LocalTask) {
    let flag = Arc::new(Flag(AtomicBool::new(true)));
    let waker = Waker::from(Arc::clone(&flag));
    loop {
        if !flag.0.swap(false, Ordering::AcqRel) {
            std::thread::yield_now();
        } else if future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            return;
        }
    }
}

pub(super) fn bare() -> BlockOn {
    BlockOn::new(spin)
}
