//! Feeds a journal to a fresh machine, and compares each event with the one that was recorded (L7, W8).

use super::line::{Entry, Head, What, is_event};
use super::{JournalBounds, JournalError, JournalProblem};
use crate::error::Misuse;
use crate::id::Seq;
use crate::input::Input;
use crate::output::Outbox;
use crate::run::Run;
use crate::time::Time;
use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

/// Why a journal does not replay.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// It cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The machine refuses an input that it had taken when the journal was written.
    #[error("line {line}: the machine refuses the input: {misuse}")]
    Refused {
        /// Which line, from 1.
        line: u64,
        /// Why.
        misuse: Misuse,
    },
    /// An event is not the one that was recorded.
    #[error(transparent)]
    Diverged(Box<Divergence>),
}

/// The first event that is not the one that was recorded (L7).
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: event {seq} is not the one that was recorded")]
#[non_exhaustive]
pub struct Divergence {
    /// Where the recorded event stands, or should stand; from 1.
    pub line: u64,
    /// The event's number.
    pub seq: Seq,
    /// The event as it was recorded; absent if the replay has one more.
    pub recorded: Option<String>,
    /// The event as the replay has it; absent if it has none.
    pub replayed: Option<String>,
}

impl fmt::Debug for Divergence {
    /// The place only: what was said does not belong into logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Divergence").field("line", &self.line).field("seq", &self.seq).finish_non_exhaustive()
    }
}

/// What a line of a journal was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Line {
    /// An input, which the machine has taken.
    Input,
    /// An event, which the machine has recorded too.
    Event,
    /// A panic of the machine, after which its log was closed.
    Panicked,
}

/// A replay, line by line; memory does not grow with the journal.
#[derive(Debug)]
pub struct Replay {
    run: Run,
    out: Outbox,
    bounds: JournalBounds,
    /// The last event that was compared.
    compared: Seq,
    /// The last line.
    line: u64,
}

/// A journal that was replayed to its end.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Replayed {
    /// The machine after the last input; its log is the one that was recorded, as far as it is retained.
    pub run: Run,
    /// How many lines the journal has.
    pub lines: u64,
}

impl Replay {
    /// Begins with the journal's first line, without its end.
    ///
    /// # Errors
    ///
    /// [`ReplayError::Journal`] if it is not the head of a journal of this version.
    pub fn new(head: &str, bounds: &JournalBounds) -> Result<Self, ReplayError> {
        let head = Head::read(head, &bounds.line).map_err(|problem| JournalError { line: 1, problem })?;
        let run = Run::new(head.run, head.config);
        Ok(Self { run, out: Outbox::new(), bounds: *bounds, compared: Seq(0), line: 1 })
    }

    /// The machine after the last line.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The last event that was compared.
    pub(super) fn compared(&self) -> Seq {
        self.compared
    }

    pub(super) fn into_run(self) -> Run {
        self.run
    }

    /// Takes the next line, without its end.
    ///
    /// # Errors
    ///
    /// [`ReplayError`] with the line; the replay is not to be used further then.
    pub fn line(&mut self, line: &str) -> Result<Line, ReplayError> {
        self.line += 1;
        if is_event(line) {
            return self.event(line).map(|()| Line::Event);
        }
        self.is_complete()?;
        let entry = Entry::read(line, &self.bounds.line).map_err(|problem| self.problem(problem))?;
        if entry.at < self.run.now() {
            return Err(self.problem(JournalProblem::TimeGoesBack));
        }
        match entry.what {
            What::Input(input) => self.input(entry.at, input).map(|()| Line::Input),
            What::Panicked(_) => {
                self.run.pass(entry.at);
                self.run.close_after_panic(&mut self.out);
                Ok(Line::Panicked)
            }
        }
    }

    fn problem(&self, problem: JournalProblem) -> ReplayError {
        JournalError { line: self.line, problem }.into()
    }

    fn input(&mut self, at: Time, input: Input) -> Result<(), ReplayError> {
        let resumed =
            if let Input::Resume(resume) = &input { Some(resume.suspended.last_seq()) } else { None };
        match self.run.step(at, input, &mut self.out) {
            Ok(_) => {
                self.compared = resumed.unwrap_or(self.compared);
                // Nobody does what the run wants done: it was done when the journal was written.
                while self.out.pop().is_some() {}
                Ok(())
            }
            Err(misuse) => Err(ReplayError::Refused { line: self.line, misuse }),
        }
    }

    fn event(&mut self, recorded: &str) -> Result<(), ReplayError> {
        let seq = Seq(self.compared.0.saturating_add(1));
        let replayed = self.replayed(seq);
        if replayed.as_deref() != Some(recorded) {
            return Err(self.diverged(seq, Some(recorded.into()), replayed));
        }
        self.compared = seq;
        Ok(())
    }

    fn replayed(&self, seq: Seq) -> Option<String> {
        let log = self.run.log();
        log.get(seq).map(|envelope| envelope.to_json(log.run_id()))
    }

    fn diverged(&self, seq: Seq, recorded: Option<String>, replayed: Option<String>) -> ReplayError {
        ReplayError::Diverged(Box::new(Divergence { line: self.line, seq, recorded, replayed }))
    }

    /// Whether every event of the last input was in the journal.
    fn is_complete(&self) -> Result<(), ReplayError> {
        if self.compared >= self.run.log().last_seq() {
            return Ok(());
        }
        let seq = Seq(self.compared.0.saturating_add(1));
        Err(self.diverged(seq, None, self.replayed(seq)))
    }

    /// The journal is over.
    ///
    /// # Errors
    ///
    /// [`ReplayError::Diverged`] if events of the last input are missing.
    pub fn finish(mut self) -> Result<Replayed, ReplayError> {
        let lines = self.line;
        self.line += 1;
        self.is_complete()?;
        Ok(Replayed { run: self.run, lines })
    }
}

/// Replays a whole journal: each input is fed to a fresh machine, and each event must be the one that was recorded, byte
/// for byte.
///
/// # Errors
///
/// [`ReplayError`] with the first line that cannot be read, that the machine refuses, or whose event differs; an event that
/// is missing and one too many differ as well, and a last line without an end cannot be read.
pub fn replay(journal: &[u8], bounds: &JournalBounds) -> Result<Replayed, ReplayError> {
    let (replay, torn) = replay_whole(journal, bounds)?;
    match torn {
        0 => replay.finish(),
        bytes => {
            let problem = JournalProblem::Torn { bytes };
            Err(JournalError { line: replay.line + 1, problem }.into())
        }
    }
}

/// Replays the lines that have their end, and says how many bytes follow them.
pub(super) fn replay_whole(journal: &[u8], bounds: &JournalBounds) -> Result<(Replay, u64), ReplayError> {
    let observed = journal.len() as u64;
    let error = |line, problem| ReplayError::from(JournalError { line, problem });
    if observed > bounds.bytes {
        return Err(error(1, JournalProblem::TooLarge { limit: bounds.bytes, observed }));
    }
    let mut replay: Option<Replay> = None;
    let mut rest = journal;
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let (line, after) = rest.split_at(end);
        let number = replay.as_ref().map_or(1, |replay| replay.line + 1);
        let line = core::str::from_utf8(line).map_err(|_| error(number, JournalProblem::NotUtf8))?;
        match &mut replay {
            Some(replay) => _ = replay.line(line)?,
            None => replay = Some(Replay::new(line, bounds)?),
        }
        rest = after.get(1..).unwrap_or_default();
    }
    let replay = replay.ok_or_else(|| error(1, JournalProblem::Empty))?;
    Ok((replay, rest.len() as u64))
}
