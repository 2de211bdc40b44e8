//! Where a reader stands, and what it has to tell.

use super::Wire;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::fmt;
use core::marker::PhantomData;
use serde::de::{DeserializeSeed, Deserializer};

/// Notices that one value keeps; further ones are counted only.
const MOST_NOTICES: usize = 64;

/// A value that was read, and what was taken out of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded<T> {
    /// The value; absent where the protocol does not name its kind, which is no error.
    pub value: Option<T>,
    /// What was taken out, in the order of the text. At most 64.
    pub notices: Vec<Notice>,
    /// How many more notices there were.
    pub more: u64,
}

/// Something that the protocol does not describe, and that was therefore taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// What it was.
    pub kind: NoticeKind,
    /// Where it stood: a JSON Pointer into the value.
    pub path: String,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            NoticeKind::UnknownMember => write!(f, "unknown member removed at {}", self.path),
            NoticeKind::UnknownKind => write!(f, "value of an unknown kind removed at {}", self.path),
            NoticeKind::UnknownEvent { name } => write!(f, "event of unknown type {name} dropped"),
        }
    }
}

/// What was taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoticeKind {
    /// A member that the protocol does not describe.
    UnknownMember,
    /// A member or an item of a list whose kind the protocol does not name.
    UnknownKind,
    /// A whole event.
    UnknownEvent {
        /// Its type, cut to 128 bytes.
        name: String,
    },
}

/// Why a text is not a value of the protocol. Neither form repeats a value of the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The text is not one JSON value, or nests deeper than 128.
    #[error("not JSON (near byte {offset})")]
    NotJson {
        /// About where, in bytes from the start of the text.
        offset: u64,
    },
    /// A member that the protocol describes has a value that it does not allow, or is missing.
    #[error("malformed{}{path}: {expected}", if path.is_empty() { "" } else { " at " })]
    Malformed {
        /// A JSON Pointer into the value.
        path: String,
        /// What the protocol allows there.
        expected: &'static str,
    },
}

impl DecodeError {
    /// Where in the value, if the text is JSON at all: a JSON Pointer.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::NotJson { .. } => None,
            Self::Malformed { path, .. } => Some(path),
        }
    }
}

/// The way from the root to where a reader stands; it lives on the stack.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Path<'a> {
    /// The value itself.
    Root,
    /// A member of an object.
    Member(&'a Path<'a>, &'a str),
    /// An item of a list.
    Item(&'a Path<'a>, usize),
}

impl Path<'_> {
    fn text(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Member(parent, name) => {
                let name = name.replace('~', "~0").replace('/', "~1");
                format!("{}/{name}", parent.text())
            }
            Self::Item(parent, index) => format!("{}/{index}", parent.text()),
        }
    }
}

#[derive(Debug, Default)]
struct Log {
    notices: Vec<Notice>,
    more: u64,
    failure: Option<(String, &'static str)>,
}

/// Where a reader stands, and where it reports to.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    path: &'a Path<'a>,
    log: &'a Reports,
}

#[derive(Debug, Default)]
pub(crate) struct Reports(RefCell<Log>);

impl<'a> Context<'a> {
    /// The same reports, elsewhere.
    pub(crate) fn at<'b>(self, path: &'b Path<'b>) -> Context<'b>
    where
        'a: 'b,
    {
        Context { path, log: self.log }
    }

    pub(crate) fn path(self) -> &'a Path<'a> {
        self.path
    }

    /// Takes note of the first failure; later ones are its consequences.
    pub(crate) fn fail(self, expected: &'static str) {
        let mut log = self.log.0.borrow_mut();
        if log.failure.is_none() {
            log.failure = Some((self.path.text(), expected));
        }
    }

    pub(crate) fn note(self, kind: NoticeKind) {
        let mut log = self.log.0.borrow_mut();
        if log.notices.len() < MOST_NOTICES {
            let path = self.path.text();
            log.notices.push(Notice { kind, path });
        } else {
            log.more += 1;
        }
    }

    /// The value here is taken out because nothing names its kind.
    pub(crate) fn unknown_kind(self) {
        self.note(NoticeKind::UnknownKind);
    }

    pub(crate) fn unknown_event(self, name: &str) {
        let mut end = name.len().min(128);
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        let name = name.get(..end).unwrap_or_default().to_owned();
        self.note(NoticeKind::UnknownEvent { name });
    }
}

/// Reads a `T` at a place.
pub(crate) struct Read<'a, T>(Context<'a>, PhantomData<T>);

impl<'a, T> Read<'a, T> {
    pub(crate) fn at(context: Context<'a>) -> Self {
        Self(context, PhantomData)
    }
}

impl<'de, T: Wire> DeserializeSeed<'de> for Read<'_, T> {
    type Value = Option<T>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Option<T>, D::Error> {
        T::read(from, self.0).inspect_err(|_| self.0.fail(T::EXPECTED))
    }
}

pub(super) fn decode<T: Wire>(json: &str) -> Result<Decoded<T>, DecodeError> {
    let reports = Reports::default();
    let context = Context { path: &Path::Root, log: &reports };
    let read = T::read_text(json, context);
    let log = reports.0.into_inner();
    match read {
        Ok(value) => Ok(Decoded { value, notices: log.notices, more: log.more }),
        // The text is judged before its meaning: half a value is no value.
        Err(error) if !error.is_data() => Err(DecodeError::NotJson { offset: offset(json, &error) }),
        Err(error) => match crate::read_json::check(json) {
            Err(error) => Err(DecodeError::NotJson { offset: offset(json, &error) }),
            Ok(()) => {
                let (path, expected) = log.failure.unwrap_or_default();
                let _ = error;
                Err(DecodeError::Malformed { path, expected })
            }
        },
    }
}

/// Bytes before the place that the error names by line and column.
fn offset(json: &str, error: &serde_json::Error) -> u64 {
    let lines = json.split_inclusive('\n').take(error.line().saturating_sub(1));
    let before: usize = lines.map(str::len).sum();
    (before + error.column().saturating_sub(1)).min(json.len()) as u64
}
