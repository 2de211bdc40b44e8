//! Tools: what they declare, how they are invoked, what they report (T1-T6).

mod access;
mod approval;
mod invocation;
mod report;

pub use access::{Access, Resource};
pub use approval::{ApprovalPolicy, Approvals, AuthorizeRequest, Binding, Verdict};
pub use invocation::{Preparation, Resumption, ToolInvocation};
pub(crate) use report::refuse;
pub use report::{
    Ask, Certainty, MAX_FAULT_TEXT, ToolAsk, ToolEnd, ToolFault, ToolItem, ToolOutput, ToolVisibility,
};

use crate::text::Text;
use alloc::sync::Arc;
use core::time::Duration;

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
    /// Whether its calls need consent (T2).
    pub approval: ApprovalPolicy,
    /// Whether a failure of its infrastructure ends the run (T3).
    pub fatal: bool,
    /// Whether each call is looked at before it is scheduled: the tool then says what this very call touches.
    pub prepares: bool,
    /// Whether the client executes it: the engine only asks for its result.
    pub client: bool,
    /// Whether it is kept from the model until something shows it.
    pub hidden: bool,
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
    /// The deadline of each call is zero: every call would fail before it began.
    #[error("the deadline of tool {0:?} is zero")]
    Deadline(Text),
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
        let spec = Self {
            name: name.into(),
            description: description.into(),
            schema: schema.into(),
            access: Access::Exclusive,
            deadline: None,
            approval: ApprovalPolicy::Allow,
            fatal: false,
            prepares: false,
            client: false,
            hidden: false,
        };
        spec.check()?;
        Ok(spec)
    }

    /// Whether the declaration is valid; its members can be changed after it was made.
    ///
    /// # Errors
    ///
    /// [`ToolSpecError`] if name or schema cannot be sent to a provider, or the deadline is zero.
    pub fn check(&self) -> Result<(), ToolSpecError> {
        let name = &self.name;
        let named = (1..=64).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        if !named {
            return Err(ToolSpecError::Name(Text::new(crate::text::prefix(name, 64))));
        }
        if !matches!(serde_json::from_str(&self.schema), Ok(serde_json::Value::Object(_))) {
            return Err(ToolSpecError::Schema(name.clone()));
        }
        if self.deadline == Some(Duration::ZERO) {
            return Err(ToolSpecError::Deadline(name.clone()));
        }
        Ok(())
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

    /// With this policy about consent.
    #[must_use]
    pub fn approval(mut self, policy: ApprovalPolicy) -> Self {
        self.approval = policy;
        self
    }

    /// Has the host's approver decide about each call; people, where there is none.
    #[must_use]
    pub fn needs_approval(self) -> Self {
        self.approval(ApprovalPolicy::Decide)
    }

    /// Is looked at before each call is scheduled.
    #[must_use]
    pub fn prepares(mut self) -> Self {
        self.prepares = true;
        self
    }

    /// Is executed by the client, which answers with its result.
    #[must_use]
    pub fn client(mut self) -> Self {
        self.client = true;
        self
    }

    /// Is kept from the model until something shows it.
    #[must_use]
    pub fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }

    /// Ends the run when its infrastructure fails.
    #[must_use]
    pub fn fatal(mut self) -> Self {
        self.fatal = true;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_checked() {
        assert!(ToolSpec::new("add", "", "{}").is_ok());
        assert!(matches!(ToolSpec::new("a b", "", "{}"), Err(ToolSpecError::Name(_))));
        assert!(matches!(ToolSpec::new("", "", "{}"), Err(ToolSpecError::Name(_))));
        assert!(matches!(ToolSpec::new("a", "", "[]"), Err(ToolSpecError::Schema(_))));
        assert!(matches!(ToolSpec::new("a", "", "{"), Err(ToolSpecError::Schema(_))));
        let add = ToolSpec::new("add", "", "{}").unwrap();
        assert_eq!(add.clone().deadline(Duration::from_nanos(1)).check(), Ok(()));
        assert_eq!(add.deadline(Duration::ZERO).check(), Err(ToolSpecError::Deadline("add".into())));
    }

    #[test]
    fn items_stay_small() {
        assert!(size_of::<ToolItem>() <= 32);
    }
}
