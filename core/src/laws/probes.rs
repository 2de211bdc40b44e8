//! What would come of a panic, and of the same inputs once more (X5, W8).

use super::{Broken, Checked, Found, Mark, found};
use crate::error::Misuse;
use crate::input::Input;
use crate::journal::{self, JournalBounds, Recorder};
use crate::output::{Outbox, Output};
use crate::run::Run;
use crate::time::Time;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

impl Checked {
    /// What a panic inside the next step would lead to: the log closes itself from its ledger (X5, E2, E3).
    ///
    /// # Errors
    ///
    /// [`Broken`] says what is wrong with the close.
    pub fn survives_panic(&self) -> Result<(), Broken> {
        self.clone().panicked().map(|_| ())
    }

    /// The run's machine has panicked: closes the log and checks what came of it.
    ///
    /// # Errors
    ///
    /// As [`Checked::survives_panic`].
    pub fn panicked(&mut self) -> Result<Vec<Output>, Broken> {
        let step = self.steps;
        self.close().map_err(|(law, what)| Broken { law, what, step })
    }

    fn close(&mut self) -> Result<Vec<Output>, Found> {
        let mark = Mark::of(&self.run);
        let mut outbox = Outbox::new();
        self.run.close_after_panic(&mut outbox);
        let outputs: Vec<Output> = core::iter::from_fn(|| outbox.pop()).collect();
        self.bounded(mark, &outputs)?;
        self.recorded(mark)?;
        if self.account.is_started() {
            self.verifier.finish().map_err(|violation| ("X5", format!("{violation}")))?;
            self.ops.stepped(&self.run, None, false, &outputs)?;
            self.observers.closed(&self.run)?;
        }
        let closed = Mark::of(&self.run);
        let mut twin = self.run.clone();
        let answer = twin.step(Time::MAX, Input::Wake { quiet: true }, &mut outbox);
        if answer != Err(Misuse::Poisoned) || Mark::of(&twin) != closed || !outbox.is_empty() {
            return Err(found("X5", "a run goes on after a panic of its machine"));
        }
        Ok(outputs)
    }

    /// Feeds the recorded inputs to a fresh run: its log must be equal, byte for byte (W8).
    ///
    /// # Errors
    ///
    /// [`Broken`] shows the first event that differs.
    pub fn replay(&self) -> Result<(), Broken> {
        if self.journal.is_none() {
            return Ok(());
        }
        let mut twin = Run::new(self.run.log().run_id().clone(), Arc::clone(self.run.config()));
        let mut outbox = Outbox::new();
        for (now, input) in self.inputs() {
            // Whether it is misuse shows in the log as well.
            let _ = twin.step(*now, input.clone(), &mut outbox);
            while outbox.pop().is_some() {}
        }
        self.equals(&twin)
    }

    /// As [`Checked::replay`]; and the run's journal, once it is read again, must lead to the same log too (L7). That costs
    /// several times as much.
    ///
    /// # Errors
    ///
    /// [`Broken`] shows the first event that differs.
    pub fn replay_journal(&self) -> Result<(), Broken> {
        if self.journal.is_none() {
            return Ok(());
        }
        let (twin, journal) = self.record();
        self.equals(&twin)?;
        match journal::replay(journal.as_bytes(), &JournalBounds::default()) {
            Ok(again) => self.equals(&again.run),
            Err(error) => Err(Broken { law: "L7", what: format!("{error}"), step: self.steps }),
        }
    }

    /// The journal of the recorded inputs, misuse left out (L7).
    pub fn journal(&self) -> String {
        self.record().1
    }

    /// Feeds the recorded inputs to a fresh run, and writes its journal.
    fn record(&self) -> (Run, String) {
        let mut run = Run::new(self.run.log().run_id().clone(), Arc::clone(self.run.config()));
        let (mut recorder, mut outbox) = (Recorder::new(&run), Outbox::new());
        for (now, input) in self.inputs() {
            // Whether it is misuse shows in the log as well.
            let _ = recorder.step(&mut run, *now, input.clone(), &mut outbox);
            while outbox.pop().is_some() {}
        }
        let journal = recorder.take();
        (run, journal)
    }

    /// Whether log and outcome of the run are those of `twin`.
    fn equals(&self, twin: &Run) -> Result<(), Broken> {
        let log = self.run.log();
        let broken = |what: String| Err(Broken { law: "W8", what, step: self.steps });
        let pairs = log.iter().zip(twin.log().iter());
        for (one, other) in pairs {
            let (one, other) = (one.to_json(log.run_id()), other.to_json(log.run_id()));
            if one != other {
                return broken(format!("{one} became {other}"));
            }
        }
        if log.end() != twin.log().end() || log.last_seq() != twin.log().last_seq() {
            return broken(String::from("the logs have different lengths"));
        }
        if format!("{:?}", self.run.outcome()) != format!("{:?}", twin.outcome()) {
            return broken(String::from("the outcomes differ"));
        }
        Ok(())
    }
}
