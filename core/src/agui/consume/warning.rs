//! What a consumer noticed, and went on.

use crate::agui::message::Role;
use crate::agui::patch::PatchError;
use crate::agui::verify::VerificationError;
use crate::agui::wire::Notice;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Warnings that are kept; further ones are counted only.
const MOST_WARNINGS: usize = 1_000;

/// Something that is wrong or unknown, and that no stream is rejected for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// Something was taken out.
    Unknown {
        /// Which event, from 0.
        event: usize,
        /// What and where.
        notice: Notice,
    },
    /// A rule that binds producers only was broken.
    Order {
        /// Which event, from 0.
        event: usize,
        /// The rule and what is wrong.
        error: VerificationError,
    },
    /// The producer speaks a later version, or one that cannot be understood.
    Version {
        /// What it declares, cut to 64 bytes.
        declared: String,
    },
    /// A patch of the state does not apply; the state is as it was.
    StatePatch {
        /// Which event, from 0.
        event: usize,
        /// Why.
        error: PatchError,
    },
    /// A patch of an activity does not apply; the activity is as it was.
    ActivityPatch {
        /// Which event, from 0.
        event: usize,
        /// The activity.
        id: String,
        /// Why; absent where the content would have become something else than an object.
        error: Option<PatchError>,
    },
    /// An event is about something that does not exist, or is of another kind; it was skipped.
    NoTarget {
        /// Which event, from 0.
        event: usize,
        /// What was looked for.
        wanted: &'static str,
        /// Under which id.
        id: String,
    },
    /// A message is opened again in another role; it keeps its own, and what comes is appended to it.
    OtherRole {
        /// Which event, from 0.
        event: usize,
        /// The message.
        id: String,
        /// Whose message it is.
        role: Role,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { event, notice } => write!(f, "event {event}: {notice}"),
            Self::Order { event, error } => write!(f, "event {event}: {error}"),
            Self::Version { declared } => {
                let ours = crate::agui::PROTOCOL_VERSION;
                write!(
                    f,
                    "the producer declares version {declared:?}, this is {ours}; it is served all the same"
                )
            }
            Self::StatePatch { event, error } => {
                write!(f, "Failed to apply state patch of event {event}: {error}")
            }
            Self::ActivityPatch { event, id, error: Some(error) } => {
                write!(f, "Failed to apply patch of event {event} to activity {id:?}: {error}")
            }
            Self::ActivityPatch { event, id, error: None } => {
                write!(
                    f,
                    "Failed to apply patch of event {event} to activity {id:?}: its content stays an object"
                )
            }
            Self::NoTarget { event, wanted, id } => write!(f, "event {event}: there is no {wanted} {id:?}"),
            Self::OtherRole { event, id, role } => {
                write!(f, "event {event}: message {id:?} has the role {role}, and is continued as that")
            }
        }
    }
}

/// What was noticed, the first thousand of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Warnings {
    list: Vec<Warning>,
    more: u64,
}

impl Warnings {
    pub(super) fn push(&mut self, warning: Warning) {
        if self.list.len() < MOST_WARNINGS {
            self.list.push(warning);
        } else {
            self.more += 1;
        }
    }

    pub(super) fn skip(&mut self, more: u64) {
        self.more += more;
    }

    /// The warnings, in order.
    pub fn list(&self) -> &[Warning] {
        &self.list
    }

    /// How many more there were.
    pub fn more(&self) -> u64 {
        self.more
    }

    /// Whether nothing was noticed.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty() && self.more == 0
    }
}
