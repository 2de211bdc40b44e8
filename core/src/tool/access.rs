//! What calls touch, and so which of them may overlap (T1).

use crate::text::Text;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// What a tool touches, and so which calls may overlap (T1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Access {
    /// Overlaps with nothing: a barrier in model order.
    #[default]
    Exclusive,
    /// Overlaps with every call that is not exclusive.
    Shared,
    /// Overlaps unless both touch a common resource and one of them writes it.
    Resources(Arc<[Resource]>),
}

/// A named resource that a call reads or writes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resource {
    /// The resource's name, such as `db` or `workspace/src`.
    pub name: Text,
    /// Whether the call changes it.
    pub writes: bool,
    /// Whether everything below it is meant too: `workspace` then covers `workspace/src`. Names are compared as they
    /// are, part by part between the slashes; `.` and `..` mean nothing.
    pub tree: bool,
}

impl Resource {
    /// A resource that is read.
    pub fn read(name: impl Into<Text>) -> Self {
        Self { name: name.into(), writes: false, tree: false }
    }

    /// A resource that is changed.
    pub fn write(name: impl Into<Text>) -> Self {
        Self { name: name.into(), writes: true, tree: false }
    }

    /// With everything below it.
    #[must_use]
    pub fn tree(mut self) -> Self {
        self.tree = true;
        self
    }

    /// Whether the two name something in common.
    fn meets(&self, other: &Self) -> bool {
        self.name == other.name
            || (self.tree && is_below(&other.name, &self.name))
            || (other.tree && is_below(&self.name, &other.name))
    }
}

/// Whether `name` stands below `root`: the whole root, then a slash. The empty root is above everything.
fn is_below(name: &str, root: &str) -> bool {
    let root = root.strip_suffix('/').unwrap_or(root);
    root.is_empty() || name.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Access {
    /// Access to named resources: `(name, writes)`.
    pub fn resources<'a>(items: impl IntoIterator<Item = (&'a str, bool)>) -> Self {
        let item = |(name, writes)| Resource { name: Text::new(name), writes, tree: false };
        Self::Resources(items.into_iter().map(item).collect::<Vec<_>>().into())
    }

    /// Access to these resources.
    pub fn to(resources: impl Into<Arc<[Resource]>>) -> Self {
        Self::Resources(resources.into())
    }

    /// Whether calls with these two accesses must not overlap.
    pub fn conflicts(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exclusive, _) | (_, Self::Exclusive) => true,
            (Self::Shared, _) | (_, Self::Shared) => false,
            (Self::Resources(a), Self::Resources(b)) => {
                a.iter().any(|x| b.iter().any(|y| (x.writes || y.writes) && x.meets(y)))
            }
        }
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

    // proves: T1
    #[test]
    fn a_tree_covers_what_stands_below_it_and_nothing_beside_it() {
        let tree = Access::to([Resource::write("src").tree()]);
        let conflicts = |name: &str| {
            let one = Access::to([Resource::read(name)]);
            assert_eq!(tree.conflicts(&one), one.conflicts(&tree), "{name}");
            tree.conflicts(&one)
        };
        assert!(conflicts("src") && conflicts("src/a") && conflicts("src/a/b") && conflicts("src/"));
        assert!(!conflicts("srcs") && !conflicts("sr") && !conflicts("a/src") && !conflicts(""));
        let above = Access::to([Resource::read("").tree()]);
        assert!(above.conflicts(&tree) && above.conflicts(&Access::to([Resource::write("x")])));
        let (outer, inner) = (Resource::read("a/").tree(), Resource::write("a/b").tree());
        assert!(Access::to([outer]).conflicts(&Access::to([inner])));
        let plain = Access::to([Resource::write("src")]);
        assert!(!plain.conflicts(&Access::to([Resource::write("src/a")])), "no tree, no descent");
    }
}
