//! What changed between two documents, as a patch.

use super::Operation;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde_json::{Map, Value};

/// Deeper than this a changed value is replaced as a whole, so that no document overflows the stack.
const MOST_DEPTH: usize = 96;

/// The operations that turn `from` into `to`: none if they are equal.
///
/// Members are compared by name. Of arrays, what is equal at both ends stays; what is between is compared place by place,
/// then cut or extended. Uses `add`, `remove` and `replace` only. Cost is linear in both documents for each level that
/// arrays are nested; the patch may be longer than `to` itself, where a snapshot says the same in less.
pub fn diff(from: &Value, to: &Value) -> Vec<Operation> {
    let mut differences = Differences { path: String::new(), depth: 0, found: Vec::new() };
    differences.value(from, to);
    differences.found
}

struct Differences {
    path: String,
    depth: usize,
    found: Vec<Operation>,
}

impl Differences {
    fn value(&mut self, from: &Value, to: &Value) {
        match (from, to) {
            (Value::Object(from), Value::Object(to)) if self.depth < MOST_DEPTH => self.object(from, to),
            (Value::Array(from), Value::Array(to)) if self.depth < MOST_DEPTH => self.array(from, to),
            (from, to) if from == to => {}
            (_, to) => self.found.push(Operation::replace(self.path.clone(), to.clone())),
        }
    }

    /// Goes on below this place.
    fn below(&mut self, name: &str, then: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push('/');
        for letter in name.chars() {
            match letter {
                '~' => self.path.push_str("~0"),
                '/' => self.path.push_str("~1"),
                letter => self.path.push(letter),
            }
        }
        self.depth += 1;
        then(self);
        self.depth -= 1;
        self.path.truncate(length);
    }

    fn object(&mut self, from: &Map<String, Value>, to: &Map<String, Value>) {
        for (name, old) in from {
            self.below(name, |this| match to.get(name) {
                Some(new) => this.value(old, new),
                None => this.found.push(Operation::remove(this.path.clone())),
            });
        }
        for (name, new) in to.iter().filter(|(name, _)| !from.contains_key(name.as_str())) {
            self.below(name, |this| this.found.push(Operation::add(this.path.clone(), new.clone())));
        }
    }

    fn array(&mut self, from: &[Value], to: &[Value]) {
        let head = from.iter().zip(to).take_while(|(old, new)| old == new).count();
        let (old, new) = (from.get(head..).unwrap_or_default(), to.get(head..).unwrap_or_default());
        let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
        let (old, new) = (cut(old, tail), cut(new, tail));
        for (at, (old, new)) in old.iter().zip(new).enumerate() {
            self.below(&format!("{}", head + at), |this| this.value(old, new));
        }
        // From the back, so that no index shifts before it is named.
        for at in (new.len()..old.len()).rev() {
            self.below(&format!("{}", head + at), |this| {
                this.found.push(Operation::remove(this.path.clone()));
            });
        }
        for (at, added) in new.iter().enumerate().skip(old.len()) {
            self.below(&format!("{}", head + at), |this| {
                this.found.push(Operation::add(this.path.clone(), added.clone()));
            });
        }
    }
}

/// All but the last `tail`.
fn cut(items: &[Value], tail: usize) -> &[Value] {
    items.get(..items.len().saturating_sub(tail)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::{Budget, apply};
    use super::*;
    use alloc::string::ToString;
    use serde_json::json;

    fn said(from: Value, to: Value) -> String {
        let patch = diff(&from, &to);
        let mut patched = from;
        apply(&mut patched, &patch, &mut Budget::default()).unwrap();
        assert_eq!(patched, to);
        let name = |operation: &Operation| format!("{} {}", operation.act.op(), operation.act.path());
        patch.iter().map(name).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn a_patch_names_what_changed_and_nothing_else() {
        assert_eq!(said(json!({"a": 1, "b": [1, 2]}), json!({"a": 1, "b": [1, 2]})), "");
        assert_eq!(said(json!({"a": 1}), json!({"a": 2})), "replace /a");
        assert_eq!(said(json!({"a": 1}), json!({"b": 1})), "remove /a, add /b");
        assert_eq!(
            said(json!({"a": {"b": {"c": 1, "d": 2}}}), json!({"a": {"b": {"c": 3, "d": 2}}})),
            "replace /a/b/c"
        );
        assert_eq!(said(json!({"a/b~c": 1}), json!({"a/b~c": null})), "replace /a~1b~0c");
        assert_eq!(said(json!({"": {"": 1}}), json!({"": {"": 2}})), "replace //");
        assert_eq!(said(json!([1]), json!({"0": 1})), "replace ");
        assert_eq!(said(json!(null), json!(1)), "replace ");
    }

    #[test]
    fn arrays_keep_what_is_equal_at_their_ends() {
        assert_eq!(said(json!([1, 2]), json!([1, 2, 3])), "add /2");
        assert_eq!(said(json!([1, 2, 3]), json!([1, 3])), "remove /1");
        assert_eq!(said(json!([1, 2, 3, 4]), json!([])), "remove /3, remove /2, remove /1, remove /0");
        assert_eq!(said(json!([1, 4]), json!([1, 2, 3, 4])), "add /1, add /2");
        assert_eq!(said(json!([1, {"a": 1}, 3]), json!([1, {"a": 2}, 3])), "replace /1/a");
        assert_eq!(said(json!([1, 1, 1]), json!([1, 1])), "remove /2");
    }

    #[test]
    fn deep_documents_are_replaced_from_a_depth_on() {
        let nested = |leaf: i64| (0..120).fold(json!(leaf), |inner, _| json!({ "a": inner }));
        let patch = diff(&nested(1), &nested(2));
        assert_eq!(patch.len(), 1);
        assert_eq!(patch[0].act.path().to_string(), "/a".repeat(MOST_DEPTH));
        assert_eq!(said(nested(1), nested(2)), format!("replace {}", "/a".repeat(MOST_DEPTH)));
    }
}
