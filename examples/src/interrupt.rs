//! Ctrl-C: the first one cancels what is under way, a second one ends the program.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The exit status of a program that was interrupted: 128 and the number of SIGINT.
pub const INTERRUPTED: u8 = 130;

type Cancel = Box<dyn Fn() + Send>;

/// What the next Ctrl-C cancels. Clones share it.
#[derive(Clone, Default)]
pub struct Interrupt {
    cancel: Arc<Mutex<Option<Cancel>>>,
}

impl Interrupt {
    /// Takes over Ctrl-C for the whole process.
    ///
    /// # Errors
    ///
    /// If the system refuses, or another part of the program has taken it over.
    pub fn install() -> Result<Self, ctrlc::Error> {
        let interrupt = Self::default();
        let theirs = interrupt.clone();
        ctrlc::set_handler(move || {
            if !theirs.fire() {
                std::process::exit(INTERRUPTED.into());
            }
        })?;
        Ok(interrupt)
    }

    /// Sets what the next Ctrl-C calls, in a thread of its own. It is called once: after that, and while nothing is set,
    /// Ctrl-C ends the program.
    pub fn set(&self, cancel: impl Fn() + Send + 'static) {
        self.replace(Some(Box::new(cancel)));
    }

    /// Sets nothing.
    pub fn clear(&self) {
        self.replace(None);
    }

    fn replace(&self, cancel: Option<Cancel>) -> Option<Cancel> {
        let mut current = self.cancel.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *current, cancel)
    }

    /// Calls what is set; `false` if nothing is.
    fn fire(&self) -> bool {
        self.replace(None).map(|cancel| cancel()).is_some()
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interrupt")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn one_ctrl_c_cancels_once() {
        let (interrupt, calls) = (Interrupt::default(), Arc::new(AtomicU32::new(0)));
        let counted = Arc::clone(&calls);
        assert!(!interrupt.fire());
        interrupt.set(move || {
            counted.fetch_add(1, Ordering::SeqCst);
        });
        assert!(interrupt.fire() && !interrupt.fire());
        interrupt.set(|| ());
        interrupt.clear();
        assert!(!interrupt.fire());
        assert_eq!(calls.load(Ordering::SeqCst), 1);
    }
}
