//! `inspect replay`: feeds a run's journal to a fresh machine and prints the log that comes of it.

use runloom_core::journal::{JournalBounds, JournalError, JournalProblem, Line, Replay, ReplayError};
use std::io::{self, Write};

/// Why a replay stopped.
#[derive(Debug)]
pub enum Stopped {
    /// The journal does not replay; the words say why, and where it diverges both sides.
    Journal(String),
    /// What is printed went nowhere.
    Output(io::Error),
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<ReplayError> for Stopped {
    fn from(error: ReplayError) -> Self {
        let mut words = error.to_string();
        if let ReplayError::Diverged(found) = &error {
            let side = |event: &Option<String>| event.clone().unwrap_or_else(|| "no event".to_owned());
            words =
                format!("{words}\nrecorded: {}\nreplayed: {}", side(&found.recorded), side(&found.replayed));
        }
        Self::Journal(words)
    }
}

/// Replays `journal` and writes each event that is as it was recorded to `out`, one a line.
///
/// # Errors
///
/// [`Stopped`] at the first line that cannot be read or taken, or whose event differs; what comes before it is written.
pub fn replay(journal: &[u8], out: &mut impl Write) -> Result<(), Stopped> {
    let bounds = JournalBounds::default();
    let wrong = |line, problem| Stopped::from(ReplayError::from(JournalError::new(line, problem)));
    let (limit, observed) = (bounds.bytes, journal.len() as u64);
    if observed > limit {
        return Err(wrong(1, JournalProblem::TooLarge { limit, observed }));
    }
    let mut replay: Option<Replay> = None;
    let mut number = 0;
    for line in journal.split_inclusive(|byte| *byte == b'\n') {
        number += 1;
        let Some(line) = line.strip_suffix(b"\n") else {
            return Err(wrong(number, JournalProblem::Torn { bytes: line.len() as u64 }));
        };
        let line = std::str::from_utf8(line).map_err(|_| wrong(number, JournalProblem::NotUtf8))?;
        match &mut replay {
            None => replay = Some(Replay::new(line, &bounds)?),
            Some(replay) => {
                if replay.line(line)? == Line::Event {
                    writeln!(out, "{line}")?;
                }
            }
        }
    }
    replay.ok_or_else(|| wrong(1, JournalProblem::Empty))?.finish()?;
    Ok(())
}
