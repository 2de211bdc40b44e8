//! Where a run's journal goes: lines wait in memory, within a bound, until the host takes them (L7, H7).

use crate::core::error::Misuse;
use crate::core::journal::Recorder;
use crate::core::time::Time;
use crate::core::{Input, Next, Outbox, Run as Machine};
use crate::store::Scribe;
use crate::sync::{Arc, Mutex, lock};
use std::fmt;
use std::future::poll_fn;
use std::task::{Poll, Waker};

/// A run's journal, to be taken out line by line. Clones share it.
///
/// Nothing is written anywhere by itself: the host takes the lines and keeps them, all and in order. Each run needs a
/// journal of its own: the lines of two would mix. What a journal holds is described at
/// [`core::journal`](crate::core::journal): answers to secret questions stand in it.
///
/// ```
/// use runloom::{Journal, RunOptions};
///
/// let journal = Journal::new(1 << 20);
/// let options = RunOptions::new().journal(journal.clone());
/// # let _ = options;
/// assert_eq!(journal.take(), Ok(String::new()));
/// ```
#[derive(Clone)]
pub struct Journal {
    shared: Arc<Mutex<Waiting>>,
    most: usize,
}

#[derive(Default)]
struct Waiting {
    lines: String,
    /// Set once more came than there was room for: from there on the journal has a gap.
    full: Option<JournalFull>,
    ended: bool,
    reader: Option<Waker>,
}

/// The host did not take a journal's lines in time: from here on it has a gap, and is over. The run itself goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{observed} bytes of a journal wait, more than {limit}: it ends here")]
#[non_exhaustive]
pub struct JournalFull {
    /// The bound, in bytes.
    pub limit: usize,
    /// What would have waited.
    pub observed: usize,
}

impl fmt::Debug for Journal {
    /// Numbers only: a journal holds whatever was said.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting = lock(&self.shared).lines.len();
        f.debug_struct("Journal").field("waiting", &waiting).field("most", &self.most).finish()
    }
}

impl Journal {
    /// A journal of which at most this many bytes wait to be taken.
    pub fn new(most: usize) -> Self {
        Self { shared: Arc::new(Mutex::new(Waiting::default())), most }
    }

    /// Takes the lines that wait: whole ones, each with its end; empty if there is none.
    ///
    /// # Errors
    ///
    /// [`JournalFull`] once everything before the gap was taken.
    pub fn take(&self) -> Result<String, JournalFull> {
        let mut waiting = lock(&self.shared);
        match waiting.full {
            Some(full) if waiting.lines.is_empty() => Err(full),
            _ => Ok(std::mem::take(&mut waiting.lines)),
        }
    }

    /// Waits for lines and takes them; `None` once the run has ended and all of them were taken. One task may wait at a
    /// time.
    ///
    /// # Errors
    ///
    /// As [`Journal::take`].
    pub async fn next(&self) -> Result<Option<String>, JournalFull> {
        poll_fn(|cx| {
            let mut spare = Some(cx.waker().clone());
            let polled = self.poll(&mut spare);
            // A waker that was replaced is dropped here, after unlocking.
            drop(spare);
            polled
        })
        .await
    }

    fn poll(&self, spare: &mut Option<Waker>) -> Poll<Result<Option<String>, JournalFull>> {
        let mut waiting = lock(&self.shared);
        if !waiting.lines.is_empty() {
            return Poll::Ready(Ok(Some(std::mem::take(&mut waiting.lines))));
        }
        if let Some(full) = waiting.full {
            return Poll::Ready(Err(full));
        }
        if waiting.ended {
            return Poll::Ready(Ok(None));
        }
        let waker = spare.take();
        *spare = std::mem::replace(&mut waiting.reader, waker);
        Poll::Pending
    }
}

/// Writes the journal of a run that is stepped behind its lock: to the host's, to its keeper's, or to both.
pub(crate) struct Tape {
    recorder: Recorder,
    journal: Option<Journal>,
    scribe: Option<Scribe>,
}

impl Tape {
    /// Writes what `recorder` records; what waits in it already belongs to it.
    pub(crate) fn of(recorder: Recorder, journal: Option<Journal>, scribe: Option<Scribe>) -> Option<Self> {
        (journal.is_some() || scribe.is_some()).then_some(Self { recorder, journal, scribe })
    }

    pub(crate) fn step(
        &mut self,
        machine: &mut Machine,
        now: Time,
        input: Input,
        out: &mut Outbox,
    ) -> Result<Next, Misuse> {
        let stepped = self.recorder.step(machine, now, input, out);
        // Of a start that was refused there is only the journal's head: no run, and nothing to recover.
        if stepped.is_ok() {
            self.hand_over(machine);
        }
        stepped
    }

    pub(crate) fn close_after_panic(&mut self, machine: &mut Machine, out: &mut Outbox) {
        self.recorder.close_after_panic(machine, out);
        self.hand_over(machine);
    }

    /// Moves what was written to where the host takes it.
    fn hand_over(&mut self, machine: &Machine) {
        let lines = self.recorder.take();
        if let Some(scribe) = &mut self.scribe {
            scribe.write(&lines);
        }
        if let Some(journal) = &self.journal {
            journal.write(&lines, machine.outcome().is_some());
        }
    }

    /// Whoever waits for lines, if there are any; to be woken after unlocking.
    pub(crate) fn reader(&self) -> Option<Waker> {
        self.journal.as_ref().and_then(Journal::reader)
    }
}

impl Journal {
    fn write(&self, lines: &str, ended: bool) {
        let mut waiting = lock(&self.shared);
        let (limit, observed) = (self.most, waiting.lines.len().saturating_add(lines.len()));
        if waiting.full.is_none() && observed > limit {
            waiting.full = Some(JournalFull { limit, observed });
        }
        if waiting.full.is_none() {
            waiting.lines.push_str(lines);
        }
        waiting.ended |= ended;
    }

    fn reader(&self) -> Option<Waker> {
        let mut waiting = lock(&self.shared);
        let ready = !waiting.lines.is_empty() || waiting.full.is_some() || waiting.ended;
        if ready { waiting.reader.take() } else { None }
    }
}

/// Steps a machine, with a tape or without.
pub(crate) fn step_with(
    machine: &mut Machine,
    tape: &mut Option<Tape>,
    now: Time,
    input: Input,
    out: &mut Outbox,
) -> Result<Next, Misuse> {
    match tape {
        Some(tape) => tape.step(machine, now, input, out),
        None => machine.step(now, input, out),
    }
}
