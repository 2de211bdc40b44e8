//! From a tree to values: each is looked at where it stands, and what is not known is kept.

use super::additions::{Addition, Step};
use super::{Additions, ImportError, ImportProblem};
use crate::canonical::{Node, canonical};
use crate::id::IdError;
use crate::text::{Text, prefix};
use crate::time::MAX_EXACT;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cell::Cell;
use core::time::Duration;

/// Longest pointer in an error, in bytes.
const MAX_POINTER: usize = 256;

/// Steps as a JSON Pointer, cut.
pub(super) fn cut_pointer<'a>(steps: impl IntoIterator<Item = &'a str>) -> Text {
    let mut text = String::new();
    for step in steps {
        if text.len() > MAX_POINTER {
            break;
        }
        text.push('/');
        text.push_str(&prefix(step, MAX_POINTER).replace('~', "~0").replace('/', "~1"));
    }
    Text::new(prefix(&text, MAX_POINTER))
}

/// Where in the tree a value stands.
pub(crate) struct Place<'a> {
    outer: Option<&'a Place<'a>>,
    step: Option<Here<'a>>,
    found: &'a Found,
}

#[derive(Clone, Copy, Debug)]
enum Here<'a> {
    Member(&'a str),
    Item(usize),
}

/// Members that are not known.
#[derive(Default)]
pub(crate) struct Found(Cell<Vec<Addition>>);

impl Found {
    pub(super) fn into_additions(self) -> Additions {
        Additions::of(self.0.into_inner())
    }
}

impl<'a> Place<'a> {
    pub(super) fn root(found: &'a Found) -> Self {
        Self { outer: None, step: None, found }
    }

    pub(crate) fn member(&'a self, name: &'a str) -> Self {
        Self { outer: Some(self), step: Some(Here::Member(name)), found: self.found }
    }

    pub(crate) fn item(&'a self, at: usize) -> Self {
        Self { outer: Some(self), step: Some(Here::Item(at)), found: self.found }
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut place = Some(self);
        while let Some(here) = place {
            steps.extend(here.step.map(|step| match step {
                Here::Member(name) => Step::Member(Text::new(name)),
                Here::Item(at) => Step::Item(at),
            }));
            place = here.outer;
        }
        steps.reverse();
        steps
    }

    pub(crate) fn error(&self, problem: impl Into<ImportProblem>) -> ImportError {
        let steps = self.steps();
        let texts: Vec<Text> = steps.iter().map(Step::text).collect();
        ImportError { at: cut_pointer(texts.iter().map(Text::as_str)), problem: problem.into() }
    }

    pub(crate) fn wrong(&self, expected: &'static str) -> ImportError {
        self.error(ImportProblem::Kind { expected })
    }

    pub(crate) fn unknown(&self, what: &'static str) -> ImportError {
        self.error(ImportProblem::Unknown { what })
    }

    pub(crate) fn contradiction(&self, what: &'static str) -> ImportError {
        self.error(ImportProblem::Contradiction(what))
    }
}

/// The members of an object that is being read.
pub(crate) struct Fields<'a> {
    members: &'a [(Text, Node)],
    asked: Vec<&'static str>,
    pub(crate) place: &'a Place<'a>,
}

/// Reads an object; members that `read` does not ask for are kept.
pub(crate) fn object<T>(
    node: &Node,
    place: &Place<'_>,
    read: impl FnOnce(&mut Fields<'_>) -> Result<T, ImportError>,
) -> Result<T, ImportError> {
    let Node::Object(members) = node else { return Err(place.wrong("an object")) };
    let mut fields = Fields { members, asked: Vec::new(), place };
    let value = read(&mut fields)?;
    fields.keep_rest();
    Ok(value)
}

pub(crate) fn text(node: &Node, place: &Place<'_>) -> Result<Text, ImportError> {
    match node {
        Node::Text(text) => Ok(text.clone()),
        Node::Null
        | Node::Bool(_)
        | Node::Integer(_)
        | Node::Negative(_)
        | Node::Fraction(_)
        | Node::List(_)
        | Node::Object(_) => Err(place.wrong("a text")),
    }
}

/// Whether a condition holds.
pub(crate) fn flag(node: &Node, place: &Place<'_>) -> Result<bool, ImportError> {
    match node {
        Node::Bool(value) => Ok(*value),
        Node::Null
        | Node::Integer(_)
        | Node::Negative(_)
        | Node::Fraction(_)
        | Node::Text(_)
        | Node::List(_)
        | Node::Object(_) => Err(place.wrong("true or false")),
    }
}

/// An integer from 0 to `limit`.
pub(crate) fn number(node: &Node, place: &Place<'_>, limit: u64) -> Result<u64, ImportError> {
    match *node {
        Node::Integer(n) if n <= limit => Ok(n),
        Node::Integer(observed) => Err(place.error(ImportProblem::Number { limit, observed })),
        Node::Null
        | Node::Bool(_)
        | Node::Negative(_)
        | Node::Fraction(_)
        | Node::Text(_)
        | Node::List(_)
        | Node::Object(_) => Err(place.wrong("an integer from 0 on")),
    }
}

/// An integer from 0 to `u32::MAX`.
pub(crate) fn small(node: &Node, place: &Place<'_>) -> Result<u32, ImportError> {
    number(node, place, u64::from(u32::MAX)).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
}

/// The items of a list, each read at its place.
pub(crate) fn list<T>(
    node: &Node,
    place: &Place<'_>,
    mut each: impl FnMut(&Node, &Place<'_>) -> Result<T, ImportError>,
) -> Result<Vec<T>, ImportError> {
    let Node::List(items) = node else { return Err(place.wrong("a list")) };
    items.iter().enumerate().map(|(at, item)| each(item, &place.item(at))).collect()
}

impl Fields<'_> {
    fn keep_rest(self) {
        if self.asked.len() >= self.members.len()
            && self.members.iter().all(|(name, _)| self.asked.contains(&name.as_str()))
        {
            return;
        }
        let mut found = self.place.found.0.take();
        let rest = self.members.iter().filter(|(name, _)| !self.asked.contains(&name.as_str()));
        let steps = self.place.steps();
        found.extend(rest.map(|(name, value)| Addition {
            at: steps.clone(),
            name: name.clone(),
            value: value.clone(),
        }));
        self.place.found.0.set(found);
    }

    fn find(&mut self, name: &'static str) -> Option<&Node> {
        self.asked.push(name);
        let at = self.members.binary_search_by(|(other, _)| canonical(other, name)).ok()?;
        self.members.get(at).map(|(_, node)| node)
    }

    /// A member that may be absent.
    pub(crate) fn maybe<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&Node, &Place<'_>) -> Result<T, ImportError>,
    ) -> Result<Option<T>, ImportError> {
        let place = self.place;
        self.find(name).map(|node| read(node, &place.member(name))).transpose()
    }

    /// A member that must be there.
    pub(crate) fn need<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&Node, &Place<'_>) -> Result<T, ImportError>,
    ) -> Result<T, ImportError> {
        self.maybe(name, read)?.ok_or_else(|| self.place.member(name).error(ImportProblem::Missing))
    }

    pub(crate) fn text(&mut self, name: &'static str) -> Result<Text, ImportError> {
        self.need(name, text)
    }

    pub(crate) fn number(&mut self, name: &'static str) -> Result<u64, ImportError> {
        self.need(name, |node, place| number(node, place, MAX_EXACT))
    }

    pub(crate) fn maybe_number(&mut self, name: &'static str) -> Result<Option<u64>, ImportError> {
        self.maybe(name, |node, place| number(node, place, MAX_EXACT))
    }

    pub(crate) fn small(&mut self, name: &'static str) -> Result<u32, ImportError> {
        self.need(name, small)
    }

    pub(crate) fn maybe_small(&mut self, name: &'static str) -> Result<Option<u32>, ImportError> {
        self.maybe(name, small)
    }

    pub(crate) fn flag(&mut self, name: &'static str) -> Result<bool, ImportError> {
        self.need(name, flag)
    }

    /// A span in microseconds that may be absent.
    pub(crate) fn span(&mut self, name: &'static str) -> Result<Option<Duration>, ImportError> {
        self.maybe(name, |node, place| number(node, place, MAX_EXACT).map(Duration::from_micros))
    }

    pub(crate) fn list<T>(
        &mut self,
        name: &'static str,
        each: impl FnMut(&Node, &Place<'_>) -> Result<T, ImportError>,
    ) -> Result<Vec<T>, ImportError> {
        self.need(name, |node, place| list(node, place, each))
    }

    /// An id, made by `make`.
    pub(crate) fn id<T>(
        &mut self,
        name: &'static str,
        make: impl FnOnce(Text) -> Result<T, IdError>,
    ) -> Result<T, ImportError> {
        self.need(name, |node, place| make(text(node, place)?).map_err(|error| place.error(error)))
    }

    /// One of a fixed set of names.
    pub(crate) fn one_of<T>(
        &mut self,
        name: &'static str,
        what: &'static str,
        known: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, ImportError> {
        self.need(name, |node, place| known(&text(node, place)?).ok_or_else(|| place.unknown(what)))
    }
}

impl Step {
    pub(super) fn text(&self) -> Text {
        match self {
            Self::Member(name) => name.clone(),
            Self::Item(at) => Text::from(at.to_string()),
        }
    }
}
