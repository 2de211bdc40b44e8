//! Tools: what they declare, how they are invoked, what they report (T1-T5).

use crate::message::{Part, ToolCall};
use crate::problem::clean;
use crate::text::Text;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

/// Longest text of a tool's fault, in encoded bytes.
pub const MAX_FAULT_TEXT: u64 = 4 * 1024;

/// What a tool declares about itself. Immutable while a run uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolSpec {
    /// Name; 1 to 64 of `[a-zA-Z0-9_-]`, which every provider takes.
    pub name: Text,
    /// What the tool does, for the model.
    pub description: Text,
    /// JSON Schema of the arguments: the text of an object.
    pub schema: Arc<str>,
    /// Which calls it may overlap with.
    pub access: Access,
    /// How long one call may run; the run's default applies when absent.
    pub deadline: Option<Duration>,
    /// Whether the approver must allow each call.
    pub needs_approval: bool,
    /// Whether a failure of its infrastructure ends the run (T3).
    pub fatal: bool,
}

/// Why a tool cannot be declared so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolSpecError {
    /// The name has a form that some provider refuses.
    #[error("tool name {0:?} is not 1 to 64 of [a-zA-Z0-9_-]")]
    Name(Text),
    /// The schema is not the text of a JSON object.
    #[error("schema of tool {0:?} is not a JSON object")]
    Schema(Text),
    /// Two tools have this name.
    #[error("two tools are named {0:?}")]
    Duplicate(Text),
}

impl ToolSpec {
    /// A tool that takes an object described by `schema` (JSON Schema text). Exclusive until it says otherwise.
    ///
    /// # Errors
    ///
    /// [`ToolSpecError`] if name or schema cannot be sent to a provider.
    pub fn new(
        name: impl Into<Text>,
        description: impl Into<Text>,
        schema: impl Into<Arc<str>>,
    ) -> Result<Self, ToolSpecError> {
        let (name, schema) = (name.into(), schema.into());
        let named = (1..=64).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        if !named {
            return Err(ToolSpecError::Name(Text::new(crate::text::prefix(&name, 64))));
        }
        if !matches!(serde_json::from_str(&schema), Ok(serde_json::Value::Object(_))) {
            return Err(ToolSpecError::Schema(name));
        }
        Ok(Self {
            name,
            description: description.into(),
            schema,
            access: Access::Exclusive,
            deadline: None,
            needs_approval: false,
            fatal: false,
        })
    }

    /// With this access.
    #[must_use]
    pub fn access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// With a deadline for each call.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Asks the approver before each call.
    #[must_use]
    pub fn needs_approval(mut self) -> Self {
        self.needs_approval = true;
        self
    }

    /// Ends the run when its infrastructure fails.
    #[must_use]
    pub fn fatal(mut self) -> Self {
        self.fatal = true;
        self
    }
}

/// What a tool touches, and so which calls may overlap (T1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Access {
    /// Overlaps with nothing: a barrier in model order.
    #[default]
    Exclusive,
    /// Overlaps with every call that is not exclusive.
    Shared,
    /// Overlaps unless both name a resource and one of them writes it.
    Resources(Arc<[Resource]>),
}

/// A named resource that a tool reads or writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The resource's name, such as `db` or `workspace`.
    pub name: Text,
    /// Whether the tool changes it.
    pub writes: bool,
}

impl Access {
    /// Access to named resources: `(name, writes)`.
    pub fn resources<'a>(items: impl IntoIterator<Item = (&'a str, bool)>) -> Self {
        let items = items.into_iter().map(|(name, writes)| Resource { name: Text::new(name), writes });
        Self::Resources(items.collect::<Vec<_>>().into())
    }

    /// Whether calls with these two accesses must not overlap.
    pub fn conflicts(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exclusive, _) | (_, Self::Exclusive) => true,
            (Self::Shared, _) | (_, Self::Shared) => false,
            (Self::Resources(a), Self::Resources(b)) => {
                a.iter().any(|x| b.iter().any(|y| x.name == y.name && (x.writes || y.writes)))
            }
        }
    }
}

/// A call that is to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolInvocation {
    /// The call; its arguments are the text of a JSON object.
    pub call: Arc<ToolCall>,
    /// The tool's declaration.
    pub spec: Arc<ToolSpec>,
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
}

/// SHA-256 over call, tool name and the original arguments: an approval holds for exactly these (T2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Binding([u8; 32]);

impl Binding {
    /// The binding of `call`.
    pub fn of(call: &ToolCall) -> Self {
        use sha2::Digest;
        let mut hash = sha2::Sha256::new();
        hash.update(call.call.step.to_le_bytes());
        hash.update(call.call.ordinal.to_le_bytes());
        hash.update((call.name.len() as u64).to_le_bytes());
        hash.update(call.name.as_bytes());
        hash.update(call.arguments.as_bytes());
        Self(hash.finalize().into())
    }

    /// The hash.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
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
}

/// What a running tool reports. 32 bytes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ToolItem {
    /// The tool's code is about to be entered.
    Started,
    /// Progress for people; the model never sees it.
    Progress(Text),
    /// The end.
    Done(ToolEnd),
}

/// How a tool's code ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ToolEnd {
    /// It returned.
    Output(ToolOutput),
    /// Its infrastructure failed (T3).
    Failed(Box<ToolFault>),
    /// It panicked (T4).
    Panicked,
}

/// What a tool returned.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolOutput {
    /// Text and images for the model.
    pub content: Arc<[Part]>,
    /// Whether the tool reports an error.
    pub is_error: bool,
}

impl ToolOutput {
    /// A successful result of one text.
    pub fn text(text: impl Into<Text>) -> Self {
        Self { content: [Part::Text(text.into())].into(), is_error: false }
    }

    /// A result that tells the model what went wrong.
    pub fn error(text: impl Into<Text>) -> Self {
        Self { content: [Part::Text(text.into())].into(), is_error: true }
    }

    /// A successful result of several parts: text and images.
    pub fn parts(content: impl Into<Arc<[Part]>>) -> Self {
        Self { content: content.into(), is_error: false }
    }
}

/// A failure of a tool's infrastructure (T3).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolFault {
    /// Cleaned text, at most [`MAX_FAULT_TEXT`] encoded bytes.
    pub message: Text,
    /// Whether it is certain that the tool did nothing more.
    pub certainty: Certainty,
    /// Whether the model may try again.
    pub retryable: bool,
}

/// What is known about the effects of a failed tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// The failure is final: no effect is under way.
    Definitive,
    /// The effect may have happened or may still happen.
    Uncertain,
}

impl ToolFault {
    /// An uncertain failure that is not worth another try; the text is cleaned and cut.
    pub fn new(message: &str) -> Self {
        Self { message: clean(message, MAX_FAULT_TEXT), certainty: Certainty::Uncertain, retryable: false }
    }

    /// Marks the failure as definitive.
    #[must_use]
    pub fn definitive(mut self) -> Self {
        self.certainty = Certainty::Definitive;
        self
    }

    /// Marks the failure as worth another try.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: T1
    #[test]
    fn only_named_writes_and_exclusives_conflict() {
        let read = Access::resources([("db", false)]);
        let write = Access::resources([("db", true), ("fs", false)]);
        let other = Access::resources([("net", true)]);
        assert!(!read.conflicts(&read));
        assert!(read.conflicts(&write) && write.conflicts(&read) && write.conflicts(&write));
        assert!(!other.conflicts(&write) && !Access::Shared.conflicts(&write));
        assert!(Access::Exclusive.conflicts(&Access::Shared) && other.conflicts(&Access::Exclusive));
    }

    #[test]
    fn declarations_are_checked() {
        assert!(ToolSpec::new("add", "", "{}").is_ok());
        assert!(matches!(ToolSpec::new("a b", "", "{}"), Err(ToolSpecError::Name(_))));
        assert!(matches!(ToolSpec::new("", "", "{}"), Err(ToolSpecError::Name(_))));
        assert!(matches!(ToolSpec::new("a", "", "[]"), Err(ToolSpecError::Schema(_))));
        assert!(matches!(ToolSpec::new("a", "", "{"), Err(ToolSpecError::Schema(_))));
    }

    #[test]
    fn items_stay_small() {
        assert!(size_of::<ToolItem>() <= 32);
    }
}
