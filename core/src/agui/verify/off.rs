//! The verifier of a build without it: nothing.

use super::{Mode, OpenItem, VerificationError};
use crate::agui::{Event, RunAgentInput};
use alloc::vec::Vec;

/// Accepts everything and takes no room; the feature `verify` makes it one that checks (V5).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verifier;

const _: () = assert!(size_of::<Verifier>() == 0, "nothing is left of it");

impl Verifier {
    /// A verifier at the start of a stream.
    #[inline]
    pub fn new(_: Mode) -> Self {
        Self
    }

    /// The bound on ids, which nothing needs.
    #[inline]
    #[must_use]
    pub fn most_ids(self, _: usize) -> Self {
        self
    }

    /// Makes known what the input holds.
    #[inline]
    pub fn know(&mut self, _: &RunAgentInput) {}

    /// Counts the input's run as started.
    #[inline]
    pub fn start(&mut self, _: &RunAgentInput) {}

    /// Accepts the event.
    ///
    /// # Errors
    ///
    /// None.
    #[inline(always)]
    pub fn observe(&mut self, _: &Event) -> Result<(), VerificationError> {
        Ok(())
    }

    /// Accepts the end.
    ///
    /// # Errors
    ///
    /// None.
    #[inline(always)]
    pub fn finish(&self) -> Result<(), VerificationError> {
        Ok(())
    }

    /// Nothing is known to be open.
    #[inline]
    pub fn open_items(&self) -> Vec<OpenItem> {
        Vec::new()
    }

    /// Calls of this run that are not answered: unknown.
    #[inline]
    pub fn pending_tool_calls(&self) -> Vec<alloc::string::String> {
        Vec::new()
    }

    /// There are no warnings.
    #[inline]
    pub fn warning(&self) -> Option<&VerificationError> {
        None
    }
}
