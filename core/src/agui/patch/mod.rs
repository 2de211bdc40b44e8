//! JSON Patch (RFC 6902): applied whole or not at all.

mod apply;
#[cfg(test)]
mod tests;

pub use apply::{Budget, apply, weight};

use super::wire::{Context, Path, Wire, custom, is_pointer, write_value};
use crate::json::{self, Out};
use alloc::string::String;
use serde::de::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// What it does.
    pub act: Act,
    /// Members that the operation does not define; kept, and ignored when it is applied.
    pub other: Map<String, Value>,
}

/// What an operation does. Places are JSON Pointers (RFC 6901).
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// Puts a value in: a member, which it replaces, or an item, before the one that is there.
    Add {
        /// Where.
        path: String,
        /// What.
        value: Value,
    },
    /// Takes a value out.
    Remove {
        /// Where.
        path: String,
    },
    /// Puts another value in the place of one.
    Replace {
        /// Where.
        path: String,
        /// What.
        value: Value,
    },
    /// Takes a value out and puts it in elsewhere.
    Move {
        /// From where.
        from: String,
        /// Where to.
        path: String,
    },
    /// Puts a copy of a value in elsewhere.
    Copy {
        /// From where.
        from: String,
        /// Where to.
        path: String,
    },
    /// Fails the patch unless the value is this one.
    Test {
        /// Where.
        path: String,
        /// What.
        value: Value,
    },
}

impl From<Act> for Operation {
    fn from(act: Act) -> Self {
        Self { act, other: Map::new() }
    }
}

impl Operation {
    /// Puts a value in.
    pub fn add(path: impl Into<String>, value: impl Into<Value>) -> Self {
        Act::Add { path: path.into(), value: value.into() }.into()
    }

    /// Takes a value out.
    pub fn remove(path: impl Into<String>) -> Self {
        Act::Remove { path: path.into() }.into()
    }

    /// Puts another value in the place of one.
    pub fn replace(path: impl Into<String>, value: impl Into<Value>) -> Self {
        Act::Replace { path: path.into(), value: value.into() }.into()
    }
}

/// Why a patch was not applied; the document is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("operation {index} at {path:?}: {why}")]
pub struct PatchError {
    /// Which operation, from 0.
    pub index: usize,
    /// Its place.
    pub path: String,
    /// What was wrong.
    pub why: PatchFault,
}

/// What was wrong with an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchFault {
    /// The place does not exist.
    #[error("there is no such place")]
    NoSuchPlace,
    /// The place is no JSON Pointer.
    #[error("not a JSON Pointer")]
    NotAPointer,
    /// The value is another one than the test says.
    #[error("the test failed")]
    TestFailed,
    /// A value cannot be moved into itself.
    #[error("a value cannot be moved into itself")]
    IntoItself,
    /// The result would be larger than the bound.
    #[error("the result is too large")]
    TooLarge,
}

impl Act {
    /// Its name in JSON.
    pub const fn op(&self) -> &'static str {
        match self {
            Self::Add { .. } => "add",
            Self::Remove { .. } => "remove",
            Self::Replace { .. } => "replace",
            Self::Move { .. } => "move",
            Self::Copy { .. } => "copy",
            Self::Test { .. } => "test",
        }
    }

    /// The place that it is about.
    pub fn path(&self) -> &str {
        match self {
            Self::Add { path, .. }
            | Self::Remove { path }
            | Self::Replace { path, .. }
            | Self::Move { path, .. }
            | Self::Copy { path, .. }
            | Self::Test { path, .. } => path,
        }
    }
}

/// Takes members out of an operation that is being read.
struct Members<'a> {
    of: Map<String, Value>,
    context: Context<'a>,
}

impl Members<'_> {
    fn fail<T, E: serde::de::Error>(&self, name: &str, expected: &'static str) -> Result<T, E> {
        let path = Path::Member(self.context.path(), name);
        self.context.at(&path).fail(expected);
        Err(custom())
    }

    fn pointer<E: serde::de::Error>(&mut self, name: &str) -> Result<String, E> {
        match self.of.remove(name) {
            Some(Value::String(text)) if is_pointer(&text) => Ok(text),
            Some(_) => self.fail(name, "a JSON Pointer is expected"),
            None => self.fail(name, "the member is required"),
        }
    }

    fn value<E: serde::de::Error>(&mut self) -> Result<Value, E> {
        match self.of.remove("value") {
            Some(value) => Ok(value),
            None => self.fail("value", "the member is required"),
        }
    }
}

impl Wire for Operation {
    const EXPECTED: &'static str = "an operation is expected: an object with an op";

    fn read<'de, D: Deserializer<'de>>(from: D, context: Context<'_>) -> Result<Option<Self>, D::Error> {
        let mut members = Members { of: Map::deserialize(from)?, context };
        let op = match members.of.remove("op") {
            Some(Value::String(op)) => op,
            Some(_) => return members.fail("op", "a string is expected"),
            None => return members.fail("op", "the member is required"),
        };
        let act = match op.as_str() {
            "add" => Act::Add { path: members.pointer("path")?, value: members.value()? },
            "remove" => Act::Remove { path: members.pointer("path")? },
            "replace" => Act::Replace { path: members.pointer("path")?, value: members.value()? },
            "move" => Act::Move { from: members.pointer("from")?, path: members.pointer("path")? },
            "copy" => Act::Copy { from: members.pointer("from")?, path: members.pointer("path")? },
            "test" => Act::Test { path: members.pointer("path")?, value: members.value()? },
            _ => return Ok(None),
        };
        Ok(Some(Self { act, other: members.of }))
    }

    fn write<O: Out>(&self, out: &mut O) {
        let mut object = json::Object::begin(out);
        object.str("op", self.act.op());
        match &self.act {
            Act::Move { from, .. } | Act::Copy { from, .. } => {
                object.str("from", from);
            }
            Act::Add { .. } | Act::Remove { .. } | Act::Replace { .. } | Act::Test { .. } => {}
        }
        object.str("path", self.act.path());
        match &self.act {
            Act::Add { value, .. } | Act::Replace { value, .. } | Act::Test { value, .. } => {
                write_value(object.key("value"), value);
            }
            Act::Remove { .. } | Act::Move { .. } | Act::Copy { .. } => {}
        }
        for (name, member) in &self.other {
            write_value(object.key(name), member);
        }
        object.end();
    }
}
