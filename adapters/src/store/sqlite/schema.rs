//! How a file is opened, and what is in it.

use crate::core::text::{Text, prefix};
use crate::store::StoreError;
use rusqlite::{Connection, ErrorCode};
use std::path::Path;
use std::time::{Duration, Instant};

/// The version of the tables that this crate makes, and the only one that it opens.
pub const VERSION: i64 = 1;

/// Tells files of this kind from others; stands in their head.
const APPLICATION: i64 = 0x726c_6f6d;

/// Longest message of SQLite, in bytes.
const MAX_MESSAGE: usize = 512;

/// Ids are texts as they are; numbers are whole. Events and lines stand in the order in which they are read.
const TABLES: &str = "
    CREATE TABLE session (
        id TEXT PRIMARY KEY,
        epoch INTEGER NOT NULL,
        revision INTEGER,
        snapshot TEXT
    ) STRICT;
    CREATE TABLE run (
        ordinal INTEGER PRIMARY KEY AUTOINCREMENT,
        session TEXT NOT NULL REFERENCES session (id),
        name TEXT NOT NULL,
        last INTEGER NOT NULL,
        UNIQUE (session, name)
    ) STRICT;
    CREATE TABLE event (
        run INTEGER NOT NULL REFERENCES run (ordinal) ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        json TEXT NOT NULL,
        PRIMARY KEY (run, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE journal (
        ordinal INTEGER PRIMARY KEY AUTOINCREMENT,
        run INTEGER NOT NULL REFERENCES run (ordinal) ON DELETE CASCADE,
        part INTEGER NOT NULL,
        lines INTEGER NOT NULL,
        UNIQUE (run, part)
    ) STRICT;
    CREATE TABLE line (
        journal INTEGER NOT NULL REFERENCES journal (ordinal) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        json TEXT NOT NULL,
        PRIMARY KEY (journal, number)
    ) STRICT, WITHOUT ROWID;
";

/// Opens a file, or makes one.
pub(super) fn open(path: &Path, busy: Duration) -> Result<Connection, StoreError> {
    let connection = Connection::open(path)?;
    // SQLite counts milliseconds up to this many.
    let busy = busy.min(Duration::from_millis(i32::MAX.unsigned_abs().into()));
    connection.busy_timeout(busy)?;
    prepare(&connection, busy).map(|()| connection)
}

/// Has the file written ahead, and says which mode it has. Of this change alone SQLite does not wait for other processes.
fn write_ahead(connection: &Connection, busy: Duration) -> Result<String, StoreError> {
    let begun = Instant::now();
    loop {
        match connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)) {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && begun.elapsed() < busy =>
            {
                std::thread::sleep(Duration::from_millis(1));
            }
            mode => return Ok(mode?),
        }
    }
}

fn prepare(connection: &Connection, busy: Duration) -> Result<(), StoreError> {
    let is_ours = identify(connection)?;
    let mode = write_ahead(connection, busy)?;
    if mode != "wal" {
        let what = format!("the file cannot have a write-ahead log, but {mode}");
        return Err(StoreError::Failed(what.into()));
    }
    // A commit returns when it is on the medium; on Apple's systems a sync says so only if it is told to.
    connection.execute_batch(
        "PRAGMA synchronous = FULL;
         PRAGMA fullfsync = ON;
         PRAGMA checkpoint_fullfsync = ON;
         PRAGMA foreign_keys = ON;",
    )?;
    if is_ours { Ok(()) } else { create(connection) }
}

/// Whether the tables are there; an error if something else is. All of it is read at one moment: another process may be
/// making the tables.
fn identify(connection: &Connection) -> Result<bool, StoreError> {
    connection.execute_batch("SAVEPOINT look")?;
    let found = look(connection);
    connection.execute_batch("RELEASE look")?;
    found
}

fn look(connection: &Connection) -> Result<bool, StoreError> {
    let number = |name: &str| -> Result<i64, StoreError> {
        Ok(connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))?)
    };
    let (application, found) = (number("application_id")?, number("user_version")?);
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (application, found, tables) {
        (APPLICATION, VERSION, _) => Ok(true),
        (APPLICATION, found, _) => Err(StoreError::Version { found, known: VERSION }),
        (0, 0, 0) => Ok(false),
        _ => Err(StoreError::Foreign("the database belongs to another program".into())),
    }
}

/// Makes the tables, unless another process has made them meanwhile.
fn create(connection: &Connection) -> Result<(), StoreError> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let made = identify(connection).and_then(|is_ours| {
        if !is_ours {
            connection.execute_batch(TABLES)?;
            connection.execute_batch(&format!(
                "PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};"
            ))?;
        }
        Ok(connection.execute_batch("COMMIT")?)
    });
    if made.is_err() && !connection.is_autocommit() {
        // The first error is the one that tells.
        let _ = connection.execute_batch("ROLLBACK");
    }
    made
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let words = Text::new(prefix(&error.to_string(), MAX_MESSAGE));
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::Foreign(words),
            _ => Self::Failed(words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a commit means depends on these.
    // proves: H7
    #[test]
    fn a_connection_syncs_each_commit() {
        let file = std::env::temp_dir().join(format!("runloom-schema-{}.db", std::process::id()));
        let _ = std::fs::remove_file(&file);
        for _ in 0..2 {
            let connection = open(&file, Duration::from_secs(1)).unwrap();
            let text = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
            let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
            assert_eq!(text("PRAGMA journal_mode"), "wal");
            assert_eq!(number("PRAGMA synchronous"), 2, "FULL");
            assert_eq!(number("PRAGMA fullfsync"), 1);
            assert_eq!(number("PRAGMA checkpoint_fullfsync"), 1);
            assert_eq!(number("PRAGMA foreign_keys"), 1);
            assert_eq!(
                (number("PRAGMA user_version"), number("PRAGMA application_id")),
                (VERSION, APPLICATION)
            );
        }
        std::fs::remove_file(&file).unwrap();
    }
}
