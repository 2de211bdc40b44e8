//! Members that this version does not know: kept where they stood, and written again.

use super::fields::{Found, Place, cut_pointer};
use super::{ImportError, ImportProblem};
use crate::canonical::{Node, canonical};
use crate::text::Text;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

/// All members of a saved value that are not known.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Additions(Arc<[Addition]>);

impl fmt::Debug for Additions {
    /// Their number: what is in them is not known.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} additions", self.0.len())
    }
}

/// A member that is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Addition {
    /// The object that it stands in.
    pub(super) at: Vec<Step>,
    pub(super) name: Text,
    pub(super) value: Node,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Member(Text),
    Item(usize),
}

impl Additions {
    pub(super) fn of(additions: Vec<Addition>) -> Self {
        Self(additions.into())
    }

    /// Takes out those that stand within the member `name` of the whole value.
    pub(crate) fn take_within(&mut self, name: &str) -> Self {
        let is_within = |addition: &&Addition| matches!(addition.at.first(), Some(Step::Member(member)) if member == name);
        let (inner, outer): (Vec<_>, Vec<_>) = self.0.iter().partition(is_within);
        let inner = inner.into_iter().map(|addition| {
            let at = addition.at.iter().skip(1).cloned().collect();
            Addition { at, ..addition.clone() }
        });
        let inner = inner.collect();
        self.0 = outer.into_iter().cloned().collect();
        Self(inner)
    }

    /// Puts each back where it stood.
    pub(crate) fn graft(&self, root: &mut Node) {
        for addition in self.0.iter() {
            if let Some(Node::Object(members)) = find(root, &addition.at)
                && let Err(at) = members.binary_search_by(|(name, _)| canonical(name, &addition.name))
            {
                members.insert(at, (addition.name.clone(), addition.value.clone()));
            }
        }
    }

    /// As [`Additions::import`], of a value in which every member must be known.
    pub(crate) fn import_known<T>(
        node: &Node,
        read: impl FnOnce(&Node, &Place<'_>) -> Result<T, ImportError>,
        write: impl FnOnce(&T) -> Node,
    ) -> Result<T, ImportError> {
        let (value, additions) = Self::import(node, read, write)?;
        match additions.0.first() {
            None => Ok(value),
            Some(addition) => {
                let steps: Vec<Text> = addition.at.iter().map(Step::text).collect();
                let names = steps.iter().chain([&addition.name]).map(Text::as_str);
                Err(ImportError {
                    at: cut_pointer(names),
                    problem: ImportProblem::Unknown { what: "member" },
                })
            }
        }
    }

    /// Reads a value from `node` with `read`, writes it again with `write`, and compares.
    pub(crate) fn import<T>(
        node: &Node,
        read: impl FnOnce(&Node, &Place<'_>) -> Result<T, ImportError>,
        write: impl FnOnce(&T) -> Node,
    ) -> Result<(T, Self), ImportError> {
        let found = Found::default();
        let value = read(node, &Place::root(&found))?;
        let additions = found.into_additions();
        let mut written = write(&value);
        additions.graft(&mut written);
        let empty = Found::default();
        match difference(node, &written, &Place::root(&empty)) {
            Some(error) => Err(error),
            None => Ok((value, additions)),
        }
    }
}

fn find<'n>(root: &'n mut Node, steps: &[Step]) -> Option<&'n mut Node> {
    steps.iter().try_fold(root, |node, step| match (node, step) {
        (Node::Object(members), Step::Member(name)) => {
            let at = members.binary_search_by(|(other, _)| canonical(other, name)).ok()?;
            members.get_mut(at).map(|(_, node)| node)
        }
        (Node::List(items), Step::Item(at)) => items.get_mut(*at),
        (_, Step::Member(_) | Step::Item(_)) => None,
    })
}

/// The first place at which two trees differ.
fn difference(a: &Node, b: &Node, place: &Place<'_>) -> Option<ImportError> {
    match (a, b) {
        (Node::List(a), Node::List(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b).enumerate();
            pairs.find_map(|(at, (a, b))| difference(a, b, &place.item(at)))
        }
        (Node::Object(a), Node::Object(b)) => {
            let pairs = a.iter().zip(b);
            let inside = pairs.map(|((name, a), (other, b))| {
                let place = place.member(name);
                if name == other {
                    difference(a, b, &place)
                } else {
                    Some(place.error(ImportProblem::Differs))
                }
            });
            let first = { inside }.find_map(|found| found);
            first.or_else(|| (a.len() != b.len()).then(|| place.error(ImportProblem::Differs)))
        }
        (a, b) if a == b => None,
        _ => Some(place.error(ImportProblem::Differs)),
    }
}
