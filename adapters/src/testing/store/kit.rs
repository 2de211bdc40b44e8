//! Words for the checks.

use super::{Bench, Checked};
use crate::core::history::{History, HistoryBounds};
use crate::core::id::{MessageId, Revision, RunId, SessionId};
use crate::core::message::{Message, MessageBounds, Part, Role};
use crate::core::snapshot::Snapshot;
use crate::store::{Line, LocalSessionStore, Owner, Record, StoreError};
use std::fmt::Debug;

impl<S: LocalSessionStore> Bench<S> {
    /// A session that no other check has.
    pub(super) fn session(&self, name: &str) -> Result<SessionId, String> {
        SessionId::new(format!("{} {name} \"é\u{1f600}'", self.check)).map_err(|error| error.to_string())
    }

    /// A session, claimed.
    pub(super) async fn owner(&self, name: &str) -> Result<Owner, String> {
        done("claim", self.store.claim(&self.session(name)?).await)
    }
}

/// What a call that must succeed gives.
pub(super) fn done<T>(what: &str, result: Result<T, StoreError>) -> Result<T, String> {
    result.map_err(|error| format!("{what} failed: {error}"))
}

/// Two values that must be the same.
pub(super) fn same<T: PartialEq + Debug>(what: &str, found: T, expected: T) -> Checked {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?} instead of {expected:?}")) }
}

/// A call that must fail, and how.
pub(super) fn refused<T: Debug>(
    what: &str,
    result: Result<T, StoreError>,
    expected: impl FnOnce(&StoreError) -> bool,
) -> Checked {
    match result {
        Ok(value) => Err(format!("{what} was not refused: {value:?}")),
        Err(error) if expected(&error) => Ok(()),
        Err(error) => Err(format!("{what} was refused as something else: {error}")),
    }
}

pub(super) fn is_fenced(error: &StoreError) -> bool {
    matches!(error, StoreError::Fenced { .. })
}

pub(super) fn run(name: &str) -> Result<RunId, String> {
    RunId::new(name).map_err(|error| error.to_string())
}

/// A session at this revision, with so many messages.
pub(super) fn snapshot(session: &SessionId, revision: u64, messages: u32) -> Result<Snapshot, String> {
    let bounds = MessageBounds { parts: 1, text: 1 << 20, image: 0 };
    let mut history = History::new(HistoryBounds::default());
    for n in 0..messages {
        let text = format!("message {n}: \"\\ \u{0}\n é\u{1f600}");
        let id = MessageId::new(format!("m{n}")).map_err(|error| error.to_string())?;
        let message = Message::new(id, Role::User, vec![Part::Text(text.into())], &bounds);
        let message = message.map_err(|error| error.to_string())?;
        history.push(message).map_err(|error| error.to_string())?;
    }
    Ok(Snapshot::new(session.clone(), Revision(revision), history).with_runs(7))
}

/// Lines with these numbers, whose texts name them.
pub(super) fn lines(what: &str, numbers: impl IntoIterator<Item = u64>) -> Vec<Line> {
    let line = |number| Line { number, text: format!("{{\"{what}\":\"é\\n'{number}\"}}").into() };
    numbers.into_iter().map(line).collect()
}

/// Events and lines of the journal of a run's first part.
pub(super) fn record(
    run: &RunId,
    events: impl IntoIterator<Item = u64>,
    journal: impl IntoIterator<Item = u64>,
) -> Record {
    let mut record = Record::new(run.clone());
    record.events = lines("event", events);
    record.journal = lines("line", journal);
    record
}
