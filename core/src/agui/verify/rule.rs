//! The rules, each with its name and its sentence.

use crate::agui::event::EventType;
use alloc::string::String;
use core::fmt;

/// What a table of rules says about each.
macro_rules! rules {
    ($($(#[$doc:meta])* $rule:ident $name:literal $sentence:literal),* $(,)?) => {
        /// A rule about the order of events (V3).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Rule {
            $( $(#[$doc])* $rule, )*
        }

        impl Rule {
            /// Every rule.
            pub const ALL: &'static [Self] = &[$( Self::$rule, )*];

            /// The rule's name.
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$rule => $name, )* }
            }

            /// The rule in one sentence.
            pub const fn describe(self) -> &'static str {
                match self { $( Self::$rule => $sentence, )* }
            }
        }
    };
}

rules! {
    /// Anything after the end of a run.
    RunEnded "run-ended" "nothing of a run follows its end",
    /// A second start of a run.
    DuplicateRunStarted "duplicate-run-started" "a run is started once, and ended before the next one",
    /// Opening what is open, or announcing an invocation again.
    DuplicateStart "duplicate-start" "what is open cannot be opened again",
    /// Continuing or closing what is not open.
    NotOpen "not-open" "content and terminators require a matching start",
    /// Naming something that was never introduced.
    UnknownId "unknown-id" "an id that is referred to was introduced before",
    /// A result before its call is complete.
    OutOfOrder "out-of-order" "a result follows the end of its call",
    /// Finishing while something is open.
    OpenAtFinish "open-at-finish" "what a run opened is closed before RUN_FINISHED",
    /// Naming another owner.
    OwnerMismatch "owner-mismatch" "what one subagent opened, no other continues, closes or reopens",
    /// Anything before the start of a run.
    NotStarted "not-started" "a stream begins with RUN_STARTED or RUN_ERROR",
    /// Another run or thread than the one that was started.
    RunIdentity "run-identity" "a run keeps its run id, and a stream its thread id",
    /// Reopening something as something else.
    OpenerMismatch "opener-mismatch" "what is reopened keeps its role, name and parent",
    /// A chunk that continues nothing, or contradicts what it continues.
    Chunk "chunk" "a chunk opens an item completely or continues one that is open as it was opened",
    /// Asking twice under one id.
    DuplicateInterrupt "duplicate-interrupt" "interrupt ids are unique in a run",
    /// Leaving other calls to the application than those that are unanswered.
    PendingToolCalls "pending-tool-calls" "pending calls are exactly those started and not answered, in call order",
    /// A value that the schema forbids.
    Malformed "malformed" "every value is one that the schema allows",
    /// More ids than the verifier was told to remember.
    TooMany "too-many" "a run introduces no more ids than the bound",
    /// A stream that ends without the end of its run.
    Truncated "truncated" "a stream ends with RUN_FINISHED or RUN_ERROR",
}

impl Rule {
    /// Whether the rule binds producers only, so that a consumer takes the event and tells of it (V11).
    pub const fn only_warns_consumers(self) -> bool {
        matches!(self, Self::UnknownId | Self::OutOfOrder | Self::OpenerMismatch | Self::PendingToolCalls)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An event that breaks a rule, which changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} breaks rule `{rule}` ({}): {detail}", Subject(*event), rule.describe())]
pub struct VerificationError {
    /// The event; absent where the end of the stream is what is wrong.
    pub event: Option<EventType>,
    /// The rule.
    pub rule: Rule,
    /// The id that it is about.
    pub id: Option<String>,
    /// What is wrong; in debug builds also everything that is open.
    pub detail: String,
}

struct Subject(Option<EventType>);

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.map_or("the end of the stream", EventType::as_str))
    }
}
