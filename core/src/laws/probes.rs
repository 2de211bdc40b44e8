//! What would come of a panic, and of the same inputs once more (X5, W8).

use super::{Broken, Checked, Found, Mark, found};
use crate::error::Misuse;
use crate::input::Input;
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
        let log = self.run.log();
        let mut twin = Run::new(log.run_id().clone(), Arc::clone(self.run.config()));
        let mut outbox = Outbox::new();
        for (now, input) in self.inputs() {
            // Whether it is misuse shows in the log as well.
            let _ = twin.step(*now, input.clone(), &mut outbox);
            while outbox.pop().is_some() {}
        }
        let broken = |what: String| Err(Broken { law: "W8", what, step: self.steps });
        if self.journal.is_none() {
            return Ok(());
        }
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
