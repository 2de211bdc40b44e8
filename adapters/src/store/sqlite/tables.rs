//! What each call does to the tables. All of it runs inside of a transaction.

use crate::core::id::{Revision, RunId, Seq, SessionId};
use crate::core::snapshot::Snapshot;
use crate::core::text::Text;
use crate::store::check::{as_kept, fresh};
use crate::store::{Epoch, JournalId, JournalSummary, Line, Owner, Page, Record, RunSummary, StoreError};
use rusqlite::{Connection, OptionalExtension as _, params};

/// A number as SQLite has it; what is larger than any that was kept stays larger.
fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number that SQLite has kept.
fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// A number that is to be kept.
fn exact(number: u64) -> Result<i64, StoreError> {
    i64::try_from(number).map_err(|_| StoreError::Failed(format!("{number} is too large a number").into()))
}

fn damaged(error: impl std::fmt::Display) -> StoreError {
    StoreError::Failed(format!("what is kept is damaged: {error}").into())
}

pub(super) fn claim(connection: &Connection, session: &SessionId) -> Result<Owner, StoreError> {
    let sql = "INSERT INTO session (id, epoch) VALUES (?1, 1)
               ON CONFLICT (id) DO UPDATE SET epoch = epoch + 1 RETURNING epoch";
    let epoch: i64 = connection.query_row(sql, [session.as_str()], |row| row.get(0))?;
    Ok(Owner { session: session.clone(), epoch: Epoch(unsigned(epoch)) })
}

/// Checks that nobody has claimed the session since.
fn owned(connection: &Connection, owner: &Owner) -> Result<(), StoreError> {
    let sql = "SELECT epoch FROM session WHERE id = ?1";
    let current = connection.query_row(sql, [owner.session.as_str()], |row| row.get(0)).optional()?;
    let current = Epoch(current.map_or(0, unsigned));
    let is_own = current == owner.epoch && current > Epoch(0);
    if is_own { Ok(()) } else { Err(StoreError::Fenced { epoch: owner.epoch, current }) }
}

pub(super) fn load(connection: &Connection, session: &SessionId) -> Result<Option<Snapshot>, StoreError> {
    let sql = "SELECT snapshot FROM session WHERE id = ?1";
    let json: Option<Option<String>> =
        connection.query_row(sql, [session.as_str()], |row| row.get(0)).optional()?;
    Ok(json.flatten().map(|json| Snapshot::from_json_within(&json, &as_kept(json.len()))).transpose()?)
}

pub(super) fn save(
    connection: &Connection,
    owner: &Owner,
    snapshot: &Snapshot,
    expected: Option<Revision>,
) -> Result<(), StoreError> {
    if *snapshot.session_id() != owner.session {
        return Err(StoreError::OtherSession(snapshot.session_id().clone()));
    }
    owned(connection, owner)?;
    let (session, revision, json) =
        (owner.session.as_str(), exact(snapshot.revision().0)?, snapshot.to_json());
    let sql = "SELECT revision, revision = ?2 AND snapshot = ?3 FROM session WHERE id = ?1";
    let (found, is_same): (Option<i64>, Option<bool>) =
        connection.query_row(sql, params![session, revision, json], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if is_same == Some(true) {
        return Ok(());
    }
    let found = found.map(|revision| Revision(unsigned(revision)));
    if found != expected {
        return Err(StoreError::Conflict { expected, found });
    }
    let sql = "UPDATE session SET revision = ?2, snapshot = ?3 WHERE id = ?1";
    connection.execute(sql, params![session, revision, json])?;
    Ok(())
}

pub(super) fn sessions(
    connection: &Connection,
    after: Option<&SessionId>,
    limit: usize,
) -> Result<Vec<SessionId>, StoreError> {
    let sql = "SELECT id FROM session WHERE id > ?1 AND snapshot IS NOT NULL ORDER BY id LIMIT ?2";
    let mut statement = connection.prepare(sql)?;
    // No id is empty.
    let after = after.map_or("", SessionId::as_str);
    let rows = statement.query_map(params![after, int(limit as u64)], |row| row.get::<_, String>(0))?;
    rows.map(|id| SessionId::new(id?).map_err(damaged)).collect()
}

pub(super) fn delete(connection: &Connection, owner: &Owner) -> Result<(), StoreError> {
    owned(connection, owner)?;
    connection.execute("DELETE FROM run WHERE session = ?1", [owner.session.as_str()])?;
    let sql = "UPDATE session SET revision = NULL, snapshot = NULL WHERE id = ?1";
    connection.execute(sql, [owner.session.as_str()])?;
    Ok(())
}

/// The number of a run, and its last event.
fn run_of(
    connection: &Connection,
    session: &SessionId,
    run: &RunId,
) -> Result<Option<(i64, u64)>, StoreError> {
    let sql = "SELECT ordinal, last FROM run WHERE session = ?1 AND name = ?2";
    let row = connection
        .query_row(sql, [session.as_str(), run.as_str()], |row| Ok((row.get(0)?, unsigned(row.get(1)?))));
    Ok(row.optional()?)
}

/// The number of a part's journal, and how many lines it has.
fn journal_of(connection: &Connection, run: i64, part: Seq) -> Result<Option<(i64, u64)>, StoreError> {
    let sql = "SELECT ordinal, lines FROM journal WHERE run = ?1 AND part = ?2";
    let row = connection.query_row(sql, [run, int(part.0)], |row| Ok((row.get(0)?, unsigned(row.get(1)?))));
    Ok(row.optional()?)
}

/// The lines that are new, where those up to `last` are kept in `table` under `of`.
fn news<'l>(
    connection: &Connection,
    (run, lines): (&RunId, &'l [Line]),
    last: u64,
    (sql, of): (&str, Option<i64>),
) -> Result<&'l [Line], StoreError> {
    let mut statement = connection.prepare(sql)?;
    fresh(run, last, lines, |line| {
        let row = statement
            .query_row(params![of, int(line.number), line.text.as_str()], |row| row.get::<_, bool>(0));
        Ok(row.optional()?.unwrap_or(false))
    })
}

pub(super) fn record(connection: &Connection, owner: &Owner, record: &Record) -> Result<(), StoreError> {
    owned(connection, owner)?;
    let run = run_of(connection, &owner.session, &record.run)?;
    let journal = match run {
        Some((run, _)) => journal_of(connection, run, record.part)?,
        None => None,
    };
    let last = run.map_or(record.part.0, |(_, last)| last);
    let (events, lines) = ((&record.run, &record.events[..]), (&record.run, &record.journal[..]));
    let kept = "SELECT json = ?3 FROM event WHERE run = ?1 AND seq = ?2";
    let events = news(connection, events, last, (kept, run.map(|(run, _)| run)))?;
    let kept = "SELECT json = ?3 FROM line WHERE journal = ?1 AND number = ?2";
    let before = journal.map_or(0, |(_, lines)| lines);
    let lines = news(connection, lines, before, (kept, journal.map(|(journal, _)| journal)))?;
    if events.is_empty() && lines.is_empty() {
        return Ok(());
    }

    let last = exact(events.last().map_or(last, |event| event.number))?;
    let run = match run {
        Some((run, _)) => {
            connection.execute("UPDATE run SET last = ?2 WHERE ordinal = ?1", [run, last])?;
            run
        }
        None => {
            let sql = "INSERT INTO run (session, name, last) VALUES (?1, ?2, ?3) RETURNING ordinal";
            let names = params![owner.session.as_str(), record.run.as_str(), last];
            connection.query_row(sql, names, |row| row.get(0))?
        }
    };
    insert(connection, "INSERT INTO event (run, seq, json) VALUES (?1, ?2, ?3)", run, events)?;
    let Some(end) = lines.last() else { return Ok(()) };
    let sql = "INSERT INTO journal (run, part, lines) VALUES (?1, ?2, ?3)
               ON CONFLICT (run, part) DO UPDATE SET lines = ?3 RETURNING ordinal";
    let numbers = [run, exact(record.part.0)?, exact(end.number)?];
    let journal: i64 = connection.query_row(sql, numbers, |row| row.get(0))?;
    insert(connection, "INSERT INTO line (journal, number, json) VALUES (?1, ?2, ?3)", journal, lines)
}

fn insert(connection: &Connection, sql: &str, of: i64, lines: &[Line]) -> Result<(), StoreError> {
    let mut statement = connection.prepare(sql)?;
    for line in lines {
        statement.execute(params![of, exact(line.number)?, line.text.as_str()])?;
    }
    Ok(())
}

pub(super) fn runs(
    connection: &Connection,
    session: &SessionId,
    after: u64,
    limit: usize,
) -> Result<Vec<RunSummary>, StoreError> {
    let sql =
        "SELECT ordinal, name, last FROM run WHERE session = ?1 AND ordinal > ?2 ORDER BY ordinal LIMIT ?3";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(params![session.as_str(), int(after), int(limit as u64)])?;
    let mut runs = Vec::new();
    while let Some(row) = rows.next()? {
        let run = RunId::new(row.get::<_, String>(1)?).map_err(damaged)?;
        runs.push(RunSummary { ordinal: unsigned(row.get(0)?), run, last: Seq(unsigned(row.get(2)?)) });
    }
    Ok(runs)
}

/// Lines behind `after` in the order of their numbers, as many as the page takes.
fn page(
    connection: &Connection,
    sql: &str,
    of: i64,
    after: u64,
    page: Page,
) -> Result<Vec<Line>, StoreError> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([of, int(after)])?;
    let (mut lines, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let text = row.get_ref(1)?.as_str().map_err(damaged)?;
        if !page.takes(lines.len(), bytes, text.len()) {
            break;
        }
        bytes += text.len() as u64;
        lines.push(Line { number: unsigned(row.get(0)?), text: Text::new(text) });
    }
    Ok(lines)
}

pub(super) fn events(
    connection: &Connection,
    session: &SessionId,
    run: &RunId,
    after: Seq,
    most: Page,
) -> Result<Vec<Line>, StoreError> {
    let Some((run, _)) = run_of(connection, session, run)? else { return Ok(Vec::new()) };
    page(
        connection,
        "SELECT seq, json FROM event WHERE run = ?1 AND seq > ?2 ORDER BY seq",
        run,
        after.0,
        most,
    )
}

pub(super) fn journals(
    connection: &Connection,
    session: &SessionId,
) -> Result<Vec<JournalSummary>, StoreError> {
    let sql = "SELECT name, part, lines FROM journal JOIN run ON run.ordinal = journal.run
               WHERE session = ?1 ORDER BY journal.ordinal";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([session.as_str()])?;
    let mut journals = Vec::new();
    while let Some(row) = rows.next()? {
        let run = RunId::new(row.get::<_, String>(0)?).map_err(damaged)?;
        let id = JournalId { session: session.clone(), run, part: Seq(unsigned(row.get(1)?)) };
        journals.push(JournalSummary { id, lines: unsigned(row.get(2)?) });
    }
    Ok(journals)
}

pub(super) fn journal(
    connection: &Connection,
    id: &JournalId,
    after: u64,
    most: Page,
) -> Result<Vec<Line>, StoreError> {
    let Some((run, _)) = run_of(connection, &id.session, &id.run)? else { return Ok(Vec::new()) };
    let Some((journal, _)) = journal_of(connection, run, id.part)? else { return Ok(Vec::new()) };
    let sql = "SELECT number, json FROM line WHERE journal = ?1 AND number > ?2 ORDER BY number";
    page(connection, sql, journal, after, most)
}

pub(super) fn retire(
    connection: &Connection,
    owner: &Owner,
    run: &RunId,
    before: Seq,
) -> Result<(), StoreError> {
    owned(connection, owner)?;
    if let Some((run, _)) = run_of(connection, &owner.session, run)? {
        connection.execute("DELETE FROM journal WHERE run = ?1 AND part < ?2", [run, int(before.0)])?;
    }
    Ok(())
}
