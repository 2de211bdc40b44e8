//! All atomics and locks go through here, so that a model checker can stand in for the real thing.

use std::sync::PoisonError;

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
pub(crate) use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// Locks, also after a panic: what the locks here guard is whole between any two of its statements.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
