//! Where foreign code is called, so that its panic ends no more than it must.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls `f`; `None` if it panicked. What `f` touches must be thrown away or be whole at any point.
pub(crate) fn caught<R>(f: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(result) => Some(result),
        Err(payload) => {
            // A payload's own drop may panic; the second payload is not worth a third attempt.
            if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
                std::mem::forget(second);
            }
            None
        }
    }
}

/// Drops `value`, whatever its drop does.
pub(crate) fn drop_caught<T>(value: T) {
    let _ = caught(|| drop(value));
}
