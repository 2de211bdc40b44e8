//! Public reports of bugs in programs of this kind, by their ids: `tests/field-reports.md` says what becomes of each.
#![allow(clippy::unwrap_used)]

mod loops;
mod pieces;
mod table;
