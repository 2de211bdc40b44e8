//! Consent to calls: who is asked, what a consent is bound to, and what is remembered (T2).

use super::ToolSpec;
use crate::message::ToolCall;
use crate::text::Text;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::time::Duration;

/// Whether a tool's calls need consent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApprovalPolicy {
    /// They run.
    #[default]
    Allow,
    /// They are denied; the model is told why.
    Deny {
        /// Text for the model.
        reason: Text,
    },
    /// People are asked about each call.
    Ask,
    /// The host's approver decides about each call: it allows, denies, or has people asked. Without an approver people
    /// are asked.
    Decide,
}

/// A call that is to be approved, and what the approval will be bound to (T2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorizeRequest {
    /// The call.
    pub call: Arc<ToolCall>,
    /// The tool's declaration.
    pub spec: Arc<ToolSpec>,
    /// Hash of call, name and arguments; the verdict repeats it.
    pub binding: Binding,
    /// What the call is about to do, where the tool has prepared it; may be empty.
    pub summary: Text,
}

/// SHA-256 over call, tool name and the original arguments: an approval holds for exactly these (T2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Binding([u8; 32]);

impl Binding {
    /// The binding of `call`.
    pub fn of(call: &ToolCall) -> Self {
        Self(hash(call, Some(call.call)))
    }

    /// The hash.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The binding of this hash.
    pub(crate) const fn of_bytes(hash: [u8; 32]) -> Self {
        Self(hash)
    }

    /// The hash in hexadecimal, as a text.
    pub(crate) fn to_hex(self) -> Text {
        let mut bytes = alloc::vec::Vec::with_capacity(64);
        self.write_hex(&mut bytes);
        Text::new(core::str::from_utf8(&bytes).unwrap_or_default())
    }

    /// The hash in hexadecimal.
    pub(crate) fn write_hex<O: crate::json::Out>(&self, out: &mut O) {
        for byte in self.0 {
            let digit = |n: u8| if n < 10 { b'0' + n } else { b'a' + n - 10 };
            out.push(&[digit(byte >> 4), digit(byte & 15)]);
        }
    }
}

/// The approver's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Run the call that hashes to this.
    Allow(Binding),
    /// Do not; the model is told why.
    Deny {
        /// Text for the model.
        reason: Text,
    },
    /// Ask people about it.
    Ask {
        /// Why they are asked; may be empty.
        reason: Text,
        /// How long their answer may take; the run's default applies when absent.
        timeout: Option<Duration>,
    },
}

/// Consents that hold for equal calls: by tool name and arguments, byte for byte, and for one session only (T2).
///
/// Bounded: where one more does not fit, the oldest is forgotten, and its call is asked about again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approvals {
    known: Arc<VecDeque<[u8; 32]>>,
}

impl Approvals {
    /// How many are remembered.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// What is remembered, oldest first.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &[u8; 32]> {
        self.known.iter()
    }

    /// What [`Approvals::keys`] gave.
    pub(crate) fn of_keys(keys: impl IntoIterator<Item = [u8; 32]>) -> Self {
        Self { known: Arc::new(keys.into_iter().collect()) }
    }

    /// Whether an equal call was consented to.
    pub(crate) fn holds(&self, call: &ToolCall) -> bool {
        !self.is_empty() && self.known.contains(&Self::key(call))
    }

    pub(crate) fn remember(&mut self, call: &ToolCall, most: usize) {
        let key = Self::key(call);
        if most == 0 || self.known.contains(&key) {
            return;
        }
        let known = Arc::make_mut(&mut self.known);
        while known.len() >= most {
            known.pop_front();
        }
        known.push_back(key);
    }

    fn key(call: &ToolCall) -> [u8; 32] {
        hash(call, None)
    }
}

fn hash(call: &ToolCall, place: Option<crate::id::CallRef>) -> [u8; 32] {
    use sha2::Digest;
    let mut hash = sha2::Sha256::new();
    if let Some(place) = place {
        hash.update(place.step.to_le_bytes());
        hash.update(place.ordinal.to_le_bytes());
    }
    hash.update((call.name.len() as u64).to_le_bytes());
    hash.update(call.name.as_bytes());
    hash.update(call.arguments.as_bytes());
    hash.finalize().into()
}
