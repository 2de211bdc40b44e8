//! A run whose process is gone: its machine is rebuilt from its journal, and goes on or is closed (H7).

use super::replay::{ReplayError, replay_whole};
use super::{JournalBounds, Recorder};
use crate::error::Misuse;
use crate::id::Seq;
use crate::input::{AbortCause, Input, Recover};
use crate::output::{Next, Outbox};
use crate::run::Run;
use alloc::boxed::Box;

/// A machine that was rebuilt from a journal, and the journal's continuation.
///
/// The machine stands where it stood after its last input. If it has an outcome, the run had ended, and there is nothing to
/// do. Else either [`Recovered::go_on`] or [`Recovered::close`] comes next, through which the run has exactly one terminal
/// over all its processes (W7). A run that was never started takes neither: it can be started as any other.
///
/// The machine's time goes on from where it was, [`Run::now`]: a host's clock has another origin in another process, so
/// that the host adds the difference. While no process carried the run, no time has passed for it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Recovered {
    /// The machine.
    pub run: Run,
    /// Writes the rest of the journal. What it has waiting belongs behind the bytes that are kept: the events of the last
    /// input that the journal lacks.
    pub recorder: Recorder,
    /// The last event that the journal has; 0, or the one before this part of the run, if it has none.
    pub seq: Seq,
    /// How many bytes of the journal are kept: it is to be cut there before anything is appended.
    pub kept: u64,
    /// How many bytes of a last line without an end are to be cut away.
    pub torn: u64,
}

impl Recovered {
    /// Goes on with the run in this process, as [`Input::Recover`] says.
    ///
    /// # Errors
    ///
    /// [`Misuse`] if the run was never started, or its machine had panicked.
    pub fn go_on(&mut self, recover: Recover, out: &mut Outbox) -> Result<Next, Misuse> {
        self.step(Input::Recover(Box::new(recover)), out)
    }

    /// Closes the run as `run.failed{interrupted}`: what is open is closed, and what it brought is committed.
    ///
    /// # Errors
    ///
    /// As [`Recovered::go_on`].
    pub fn close(&mut self, out: &mut Outbox) -> Result<Next, Misuse> {
        self.step(Input::Abort(AbortCause::ProcessLost), out)
    }

    fn step(&mut self, input: Input, out: &mut Outbox) -> Result<Next, Misuse> {
        let now = self.run.now();
        self.recorder.step(&mut self.run, now, input, out)
    }
}

/// Rebuilds the machine of a run from its journal, as a crash has left it: the last line may be cut off, and the events of
/// the last input may be missing, in whole or in part. Damage elsewhere is an error.
///
/// # Errors
///
/// As [`replay`](super::replay), except for what a crash leaves.
pub fn recover(journal: &[u8], bounds: &JournalBounds) -> Result<Recovered, ReplayError> {
    let (replay, torn) = replay_whole(journal, bounds)?;
    let seq = replay.compared();
    let mut recorder = Recorder::behind(seq);
    let run = replay.into_run();
    recorder.events(&run);
    Ok(Recovered { run, recorder, seq, kept: journal.len() as u64 - torn, torn })
}
