//! From bytes, or from any other format, to a tree: bounded, and without a member that stands there twice.

use super::fields::cut_pointer;
use super::{ImportBounds, ImportError, ImportProblem, MAX_DEPTH};
use crate::canonical::{Bounds, CanonicalError, CanonicalProblem, Node, Numbers, Reader, canonical};
use crate::text::{Text, prefix};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cell::Cell;
use core::fmt;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Reads one JSON value and nothing behind it.
pub(crate) fn read(text: &str, bounds: &ImportBounds) -> Result<Node, ImportError> {
    let observed = text.len() as u64;
    if observed > bounds.bytes {
        let problem = ImportProblem::TooLarge { limit: bounds.bytes, observed };
        return Err(ImportError { at: Text::EMPTY, problem });
    }
    let within = Bounds { bytes: bounds.bytes, values: bounds.values, depth: MAX_DEPTH };
    // Members that are not known keep their integers, also those that no double holds.
    let mut reader = Reader::new(text, &within, Numbers::AsWritten);
    reader.read().map_err(|error| {
        let steps: Vec<Text> = reader.path().collect();
        ImportError { at: cut_pointer(steps.iter().map(Text::as_str)), problem: problem(&error) }
    })
}

fn problem(error: &CanonicalError) -> ImportProblem {
    match error.problem {
        CanonicalProblem::TooLarge { limit, observed } => ImportProblem::TooLarge { limit, observed },
        CanonicalProblem::TooMany { limit } => ImportProblem::TooMany { limit },
        CanonicalProblem::TooDeep { .. } => ImportProblem::TooDeep,
        CanonicalProblem::Duplicate => ImportProblem::Duplicate,
        CanonicalProblem::NotUtf8
        | CanonicalProblem::Expected(_)
        | CanonicalProblem::Control
        | CanonicalProblem::Escape
        | CanonicalProblem::Surrogate
        | CanonicalProblem::Overflow
        | CanonicalProblem::Trailing
        | CanonicalProblem::NotCanonical => ImportProblem::NotJson(Text::from(error.to_string())),
    }
}

/// What a value has taken so far, and where and why reading stopped.
pub(crate) struct Reading {
    bounds: ImportBounds,
    bytes: Cell<u64>,
    values: Cell<u64>,
    problem: Cell<Option<ImportProblem>>,
    /// From the place outwards.
    path: Cell<Vec<Text>>,
}

impl Reading {
    pub(crate) fn new(bounds: &ImportBounds) -> Self {
        let (bytes, values) = (Cell::new(0), Cell::new(0));
        Self { bounds: *bounds, bytes, values, problem: Cell::new(None), path: Cell::default() }
    }

    pub(crate) fn seed(&self) -> Seed<'_> {
        Seed { reading: self, depth: 0 }
    }

    /// Why reading stopped; `error` is the reader's own word.
    pub(crate) fn error(&self, error: &dyn fmt::Display) -> ImportError {
        let words = || ImportProblem::NotJson(Text::new(prefix(&error.to_string(), 256)));
        let path = self.path.take();
        let at = cut_pointer(path.iter().rev().map(Text::as_str));
        ImportError { at, problem: self.problem.take().unwrap_or_else(words) }
    }

    fn stop<E: Error>(&self, problem: ImportProblem) -> E {
        let error = E::custom(&problem);
        self.problem.set(Some(problem));
        error
    }

    /// Notes a step of the path while an error goes outwards.
    fn inside<T, E>(&self, read: Result<T, E>, step: impl FnOnce() -> Text) -> Result<T, E> {
        if read.is_err() {
            let mut path = self.path.take();
            path.push(step());
            self.path.set(path);
        }
        read
    }

    fn count<E: Error>(&self) -> Result<(), E> {
        self.values.set(self.values.get().saturating_add(1));
        let limit = self.bounds.values;
        if self.values.get() > limit { Err(self.stop(ImportProblem::TooMany { limit })) } else { Ok(()) }
    }

    fn spend<E: Error>(&self, bytes: usize) -> Result<(), E> {
        let (limit, observed) = (self.bounds.bytes, self.bytes.get().saturating_add(bytes as u64));
        self.bytes.set(observed);
        if observed > limit { Err(self.stop(ImportProblem::TooLarge { limit, observed })) } else { Ok(()) }
    }
}

/// Reads one value at a depth.
#[derive(Clone, Copy)]
pub(crate) struct Seed<'r> {
    reading: &'r Reading,
    depth: usize,
}

impl Seed<'_> {
    fn deeper<E: Error>(self) -> Result<Self, E> {
        if self.depth >= MAX_DEPTH {
            return Err(self.reading.stop(ImportProblem::TooDeep));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        self.reading.count()?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }
    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(self.deeper()?)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }
    fn visit_u64<E>(self, n: u64) -> Result<Node, E> {
        Ok(Node::Integer(n))
    }
    fn visit_i64<E>(self, n: i64) -> Result<Node, E> {
        Ok(Node::whole(n))
    }
    fn visit_f64<E: Error>(self, n: f64) -> Result<Node, E> {
        if n.is_finite() {
            Ok(Node::Fraction(n.to_bits()))
        } else {
            Err(E::custom("a number without a value"))
        }
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Node, E> {
        self.reading.spend(text.len())?;
        Ok(Node::Text(Text::new(text)))
    }
    fn visit_string<E: Error>(self, text: String) -> Result<Node, E> {
        self.reading.spend(text.len())?;
        Ok(Node::Text(Text::from(text)))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let seed = self.deeper()?;
        let mut list = Vec::new();
        loop {
            let item = items.next_element_seed(seed);
            match self.reading.inside(item, || Text::from(list.len().to_string()))? {
                Some(item) => list.push(item),
                None => return Ok(Node::List(list)),
            }
        }
    }
    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Node, A::Error> {
        let seed = self.deeper()?;
        let mut object: Vec<(Text, Node)> = Vec::new();
        while let Some(name) = members.next_key::<String>()? {
            self.reading.spend(name.len())?;
            let name = Text::from(name);
            let value = self.reading.inside(members.next_value_seed(seed), || name.clone())?;
            object.push((name, value));
        }
        object.sort_unstable_by(|(a, _), (b, _)| canonical(a, b));
        let twice = object.windows(2).find_map(|pair| match pair {
            [(a, _), (b, _)] if a == b => Some(a.clone()),
            _ => None,
        });
        match twice {
            Some(name) => self.reading.inside(Err(self.reading.stop(ImportProblem::Duplicate)), || name),
            None => Ok(Node::Object(object)),
        }
    }
}
