//! All atomics and locks go through here, so that a model checker can stand in for the real thing: loom does under
//! `--cfg runloom_loom`, for the tests in `adapters/src/models`.

use std::sync::PoisonError;

#[cfg(all(runloom_loom, feature = "sqlite"))]
pub(crate) use loom::sync::Condvar;
#[cfg(runloom_loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
#[cfg(runloom_loom)]
pub(crate) use loom::sync::{Mutex, MutexGuard};
#[cfg(all(not(runloom_loom), feature = "sqlite"))]
pub(crate) use std::sync::Condvar;
#[cfg(not(runloom_loom))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
// Counting references is not what is checked, and wakers want the standard library's.
pub(crate) use std::sync::{Arc, Weak};
#[cfg(not(runloom_loom))]
pub(crate) use std::sync::{Mutex, MutexGuard};

/// Counts interleavings, from outside of them.
#[cfg(all(test, runloom_loom))]
pub(crate) type Tally = std::sync::atomic::AtomicUsize;

/// Locks, also after a panic: what the locks here guard is whole between any two of its statements.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits to be notified, also after a panic; see [`lock`].
#[cfg(feature = "sqlite")]
pub(crate) fn wait<'g, T>(condvar: &Condvar, guard: MutexGuard<'g, T>) -> MutexGuard<'g, T> {
    condvar.wait(guard).unwrap_or_else(PoisonError::into_inner)
}
