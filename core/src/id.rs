//! Identities. Nothing here is global: ids come from the host or are counted by one machine.

use crate::text::Text;
use core::fmt;

/// Longest id, in bytes of its canonical encoding.
pub const MAX_ID: u64 = 256;

/// Most bytes of a run's id that go into the ids of its messages: a dot and ten digits follow.
const MESSAGE_RUN: u64 = MAX_ID - 12;

/// Why a text is not a valid id (M1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdError {
    /// The id has no byte.
    #[error("an id must not be empty")]
    Empty,
    /// The id is longer than [`MAX_ID`] bytes.
    #[error("an id of {0} bytes is longer than {MAX_ID}")]
    TooLong(u64),
    /// The id holds a control character, at this byte offset.
    #[error("an id must not hold control characters (offset {0})")]
    Control(usize),
}

/// Checks the shape that every textual id shares.
///
/// # Errors
///
/// [`IdError`] if it is empty, longer than 256 encoded bytes, or holds a control character.
pub fn check_id(text: &str) -> Result<(), IdError> {
    if text.is_empty() {
        return Err(IdError::Empty);
    }
    let encoded = crate::json::encoded_len(text);
    if encoded > MAX_ID {
        return Err(IdError::TooLong(encoded));
    }
    match text.char_indices().find(|(_, c)| c.is_control()) {
        Some((at, _)) => Err(IdError::Control(at)),
        None => Ok(()),
    }
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Text);

        impl $name {
            /// A validated id: 1 to 256 bytes without control characters.
            ///
            /// # Errors
            ///
            /// As [`check_id`].
            pub fn new(id: impl Into<Text>) -> Result<Self, IdError> {
                let id = id.into();
                check_id(&id)?;
                Ok(Self(id))
            }
            /// The id as text.
            pub fn as_str(&self) -> &str {
                self.0.as_str()
            }
            /// The id as shared text.
            pub fn text(&self) -> &Text {
                &self.0
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self.as_str(), f)
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

text_id!(
    /// Names one run; stands in every event (E1).
    RunId
);
text_id!(
    /// Names one session.
    SessionId
);
text_id!(
    /// Names one message in a history (M1).
    MessageId
);

text_id!(
    /// Names one request for host input in its run (H1).
    RequestId
);

text_id!(
    /// Names one input that people added while a run was under way (H3).
    SteerId
);

impl SteerId {
    /// An id that the engine made itself.
    pub(crate) fn trusted(id: alloc::string::String) -> Self {
        Self(Text::from(id))
    }
}

impl RequestId {
    /// The id of the `n`-th request that belongs to `call`.
    pub(crate) fn of_call(call: CallRef, n: u32) -> Self {
        Self(Text::from(alloc::format!("{call}/{n}")))
    }
}

impl RunId {
    /// The id of the `number`-th run of a session under its `claim`-th claim: `session/run-2-1`. The id of a session that
    /// leaves no room is cut, with its SHA-256 behind, so that runs of two sessions never have one id.
    pub fn of_claim(session: &SessionId, claim: u64, number: u64) -> Self {
        use sha2::Digest;
        let own = alloc::format!("/run-{claim}-{number}");
        // Two numbers have 40 digits at most, and ids of messages are to have room for theirs.
        let room = MESSAGE_RUN - own.len() as u64;
        let session = session.as_str();
        if crate::json::encoded_len(session) <= room {
            return Self(Text::concat(&[session, &own]));
        }
        let hash = crate::tool::Binding::of_bytes(sha2::Sha256::digest(session.as_bytes()).into()).to_hex();
        let cut = crate::json::encoded_prefix(session, room - 65);
        Self(Text::concat(&[cut, "~", &hash, &own]))
    }
}

impl MessageId {
    /// The id of the `n`-th message that a compaction by hand puts into the history of this revision (K6).
    pub fn of_compaction(revision: Revision, n: u32) -> Self {
        Self(Text::from(alloc::format!("compaction-{revision}.{n}")))
    }

    /// The id of the `n`-th message that `run` adds; stays valid for every valid run id.
    pub(crate) fn of_run(run: &RunId, n: u32) -> Self {
        let mut digits = [0_u8; 10];
        let digits = core::str::from_utf8(crate::json::digits(u64::from(n), &mut digits)).unwrap_or_default();
        let run = crate::json::encoded_prefix(run.as_str(), MESSAGE_RUN);
        Self(Text::concat(&[run, ".", digits]))
    }
}

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

/// One piece of work that the machine asked for; counted from 1 within a run. Requests to required observers are counted
/// apart from the rest, from 2^52 + 1, so that the record is the same whether or not anyone observes it; they are written
/// as `o1`, `o2` and so on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(pub u64);

/// Operations above it are requests to observers.
const OBSERVING: u64 = 1 << 52;

impl OpId {
    /// The request to an observer of this number, counted from 1.
    pub const fn observing(number: u64) -> Self {
        Self(OBSERVING.saturating_add(number))
    }

    /// The number of a request to an observer; `None` for any other work.
    pub const fn observation(self) -> Option<u64> {
        match self.0.checked_sub(OBSERVING) {
            None | Some(0) => None,
            Some(number) => Some(number),
        }
    }
}

impl fmt::Display for OpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.observation() {
            Some(number) => write!(f, "o{number}"),
            None => fmt::Display::fmt(&self.0, f),
        }
    }
}
number_id!(
    /// Names a command that its caller awaits a [`Reply`](crate::Reply) for.
    CommandId
);
number_id!(
    /// Position of an event in its run: from 1, without a gap, below 2^53 (E1).
    Seq
);
number_id!(
    /// State of a session's committed history; each commit adds one.
    Revision
);

/// The engine's identity of a tool call: the step that proposed it and its place in the response (M7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallRef {
    /// Step, counted from 1 within the run.
    pub step: u32,
    /// Place in the response, counted from 0.
    pub ordinal: u32,
}

impl fmt::Display for CallRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.step, self.ordinal)
    }
}
