//! Applying a patch in place, with a journal that takes it back.

use super::{Act, Operation, PatchError, PatchFault};
use crate::agui::wire::is_pointer;
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;
use serde_json::Value;

/// Deepest nesting of a patched document: what a reader of JSON accepts, so that it can be sent on.
const MOST_DEPTH: usize = 127;

/// How much a document may still grow, in units of [`weight`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// What is left.
    pub left: u64,
}

impl Default for Budget {
    /// 64 MiB.
    fn default() -> Self {
        Self { left: 64 << 20 }
    }
}

/// About how many bytes of memory a value takes. Linear in the value.
pub fn weight(value: &Value) -> u64 {
    32 + match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len() as u64,
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(members) => {
            members.iter().map(|(name, member)| 32 + name.len() as u64 + weight(member)).sum()
        }
    }
}

/// Levels of nesting; a scalar has one.
fn depth(value: &Value) -> usize {
    1 + match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        Value::Array(items) => items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => members.values().map(depth).max().unwrap_or(0),
    }
}

/// Applies the operations in order, whole or not at all.
///
/// Cost is linear in the operations, the length of the arrays that they shift, and the values that they copy, compare,
/// take out or bury deeper; the document as a whole is not copied.
///
/// # Errors
///
/// [`PatchError`] names the first operation that does not apply. Document and budget are then as they were. Nothing
/// grows beyond the budget or deeper than 127 levels, however often a document is copied into itself.
pub fn apply(document: &mut Value, patch: &[Operation], budget: &mut Budget) -> Result<(), PatchError> {
    let before = *budget;
    let mut undo = Vec::new();
    for (index, operation) in patch.iter().enumerate() {
        match change(document, &operation.act, budget) {
            Ok(change) => undo.extend(change),
            Err(why) => {
                undo.into_iter().rev().for_each(|change: Undo| change.take_back(document));
                *budget = before;
                let path = String::from(operation.act.path());
                return Err(PatchError { index, path, why });
            }
        }
    }
    Ok(())
}

type Place = Vec<String>;

/// How one change is taken back. Places are exact: they name the index of what was appended.
enum Undo {
    /// Something was put in where nothing was.
    Added(Place),
    /// Something else stood there.
    Replaced(Place, Value),
    /// This was taken out.
    Removed(Place, Value),
    /// Something went from the one place to the other, where this may have stood.
    Moved(Place, Place, Option<Value>),
}

impl Undo {
    fn take_back(self, document: &mut Value) {
        // None of these can fail: each finds the document as its change left it.
        match self {
            Self::Added(place) => {
                let _ = remove(document, &place);
            }
            Self::Replaced(place, old) => {
                let _ = find(document, &place).map(|found| *found = old);
            }
            Self::Removed(mut place, value) => {
                let _ = insert(document, &mut place, value);
            }
            Self::Moved(mut from, to, old) => {
                let value = match old {
                    Some(old) => find(document, &to).map(|found| mem::replace(found, old)),
                    None => remove(document, &to),
                };
                let _ = value.map(|value| insert(document, &mut from, value));
            }
        }
    }
}

fn change(document: &mut Value, act: &Act, budget: &mut Budget) -> Result<Option<Undo>, PatchFault> {
    match act {
        Act::Add { path, value } => add(document, tokens(path)?, value.clone(), budget).map(Some),
        Act::Remove { path } => {
            let place = tokens(path)?;
            let value = remove(document, &place)?;
            budget.left = budget.left.saturating_add(weight(&value));
            Ok(Some(Undo::Removed(place, value)))
        }
        Act::Replace { path, value } => {
            let place = tokens(path)?;
            let found = find(document, &place)?;
            fits(place.len(), value)?;
            charge(budget, weight(value), weight(found))?;
            let old = mem::replace(found, value.clone());
            Ok(Some(Undo::Replaced(place, old)))
        }
        Act::Move { from, path } => relocate(document, tokens(from)?, tokens(path)?, budget),
        Act::Copy { from, path } => {
            let value = find(document, &tokens(from)?)?;
            // Measured before it is copied, so that a large one costs nothing where there is no room.
            charge(&mut budget.clone(), weight(value), 0)?;
            let value = value.clone();
            add(document, tokens(path)?, value, budget).map(Some)
        }
        Act::Test { path, value } => {
            let found = find(document, &tokens(path)?)?;
            if same(found, value) { Ok(None) } else { Err(PatchFault::TestFailed) }
        }
    }
}

fn charge(budget: &mut Budget, more: u64, less: u64) -> Result<(), PatchFault> {
    budget.left = budget.left.saturating_add(less).checked_sub(more).ok_or(PatchFault::TooLarge)?;
    Ok(())
}

/// Whether a value may stand at that depth.
fn fits(at: usize, value: &Value) -> Result<(), PatchFault> {
    if at + depth(value) <= MOST_DEPTH { Ok(()) } else { Err(PatchFault::TooLarge) }
}

fn add(
    document: &mut Value,
    mut place: Place,
    value: Value,
    budget: &mut Budget,
) -> Result<Undo, PatchFault> {
    fits(place.len(), &value)?;
    charge(budget, weight(&value) + place.last().map_or(0, |name| 32 + name.len() as u64), 0)?;
    match insert(document, &mut place, value) {
        Ok(None) => Ok(Undo::Added(place)),
        Ok(Some(old)) => {
            budget.left = budget.left.saturating_add(weight(&old));
            Ok(Undo::Replaced(place, old))
        }
        Err((why, _)) => Err(why),
    }
}

fn relocate(
    document: &mut Value,
    mut from: Place,
    mut to: Place,
    budget: &mut Budget,
) -> Result<Option<Undo>, PatchFault> {
    let found = find(document, &from)?;
    if from == to {
        return Ok(None);
    }
    if to.starts_with(&from) {
        return Err(PatchFault::IntoItself);
    }
    if to.len() > from.len() {
        fits(to.len(), found)?;
    }
    let value = remove(document, &from)?;
    match insert(document, &mut to, value) {
        Ok(old) => {
            budget.left = budget.left.saturating_add(old.as_ref().map_or(0, weight));
            Ok(Some(Undo::Moved(from, to, old)))
        }
        Err((why, value)) => {
            let _ = insert(document, &mut from, value);
            Err(why)
        }
    }
}

/// The names on the way to a place.
fn tokens(pointer: &str) -> Result<Place, PatchFault> {
    if !is_pointer(pointer) {
        return Err(PatchFault::NotAPointer);
    }
    Ok(pointer.split('/').skip(1).map(|token| unescape(token).into_owned()).collect())
}

fn unescape(token: &str) -> Cow<'_, str> {
    if token.contains('~') { token.replace("~1", "/").replace("~0", "~").into() } else { token.into() }
}

/// An index of an array: digits without zeros in front.
fn index(token: &str) -> Option<usize> {
    let digits = token.bytes().all(|byte| byte.is_ascii_digit());
    if digits && (token == "0" || !token.starts_with('0')) { token.parse().ok() } else { None }
}

fn find<'a>(document: &'a mut Value, place: &[String]) -> Result<&'a mut Value, PatchFault> {
    let mut at = document;
    for token in place {
        at = match at {
            Value::Object(members) => members.get_mut(token),
            Value::Array(items) => index(token).and_then(|index| items.get_mut(index)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        }
        .ok_or(PatchFault::NoSuchPlace)?;
    }
    Ok(at)
}

/// Puts a value in, and returns the one that stood there. The end of an array gets its index into `place`.
fn insert(
    document: &mut Value,
    place: &mut [String],
    value: Value,
) -> Result<Option<Value>, (PatchFault, Value)> {
    let Some((last, parent)) = place.split_last_mut() else {
        return Ok(Some(mem::replace(document, value)));
    };
    match find(document, parent) {
        Ok(Value::Object(members)) => Ok(members.insert(last.clone(), value)),
        Ok(Value::Array(items)) => {
            let at = if last == "-" { Some(items.len()) } else { index(last) };
            match at.filter(|at| *at <= items.len()) {
                Some(at) => {
                    *last = alloc::format!("{at}");
                    items.insert(at, value);
                    Ok(None)
                }
                None => Err((PatchFault::NoSuchPlace, value)),
            }
        }
        Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | Err(_) => {
            Err((PatchFault::NoSuchPlace, value))
        }
    }
}

/// Takes a value out; null stays in the place of the whole document.
fn remove(document: &mut Value, place: &[String]) -> Result<Value, PatchFault> {
    let Some((last, parent)) = place.split_last() else {
        return Ok(mem::take(document));
    };
    match find(document, parent)? {
        Value::Object(members) => members.remove(last),
        Value::Array(items) => {
            index(last).filter(|index| *index < items.len()).map(|index| items.remove(index))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
    .ok_or(PatchFault::NoSuchPlace)
}

/// Whether two values are equal as JSON: numbers by their value, however they are written.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        // Two integers are compared as they are: as floats, large ones that differ would be equal.
        (Value::Number(a), Value::Number(b)) => {
            let fraction = a.is_f64() || b.is_f64();
            a == b || fraction && a.as_f64().is_some_and(|a| Some(a) == b.as_f64())
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(name, member)| b.get(name).is_some_and(|other| same(member, other)))
        }
        _ => a == b,
    }
}
