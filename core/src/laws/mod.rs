//! The laws as code (W1-W10): a run whose every step is held to them.
//!
//! [`Checked`] steps a [`Run`] and judges what comes of it from the outside: from the inputs that it passed on, the
//! outputs that came back and the events that were recorded. Clones are cheap, so that tests can branch.

mod account;
mod additions;
mod observers;
mod ops;
mod probes;
#[cfg(test)]
mod tests;

use crate::config::Config;
use crate::error::{Misuse, RunError};
use crate::event::Event;
use crate::history::History;
use crate::id::{Revision, RunId, Seq};
use crate::input::{Input, Reader};
use crate::log::Ledger;
use crate::outcome::{Outcome, RunResult};
use crate::output::{Credit, Next, Outbox, Output};
use crate::run::Run;
use crate::suspend::{Resume, Suspended};
use crate::time::Time;
use crate::verify::{Verifier, encoding};
use account::Account;
use additions::Said;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use observers::{Answer, Observers};
use ops::{End, Ops};

/// A broken law.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("step {step} breaks {law}: {what}")]
pub struct Broken {
    /// The law's or rule's id in the contract.
    pub law: &'static str,
    /// What is wrong.
    pub what: String,
    /// Which step, counted from 1.
    pub step: u64,
}

/// A broken law and what is wrong; the caller knows the step.
type Found = (&'static str, String);

fn found(law: &'static str, what: &str) -> Found {
    (law, String::from(what))
}

/// How much each step is examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// What can be seen without a clone.
    Seen,
    /// Clones are stepped too: a spurious wake (W2), and the whole history is checked anew (W10).
    Probed,
    /// Clones are compared in every detail (W1, W2), and each event's bytes are read (L6). Slow: for single sequences and
    /// samples.
    Whole,
}

/// What a step brought.
#[derive(Clone, Debug)]
pub struct Stepped {
    /// What the machine said.
    pub answer: Result<Next, Misuse>,
    /// What it wants done, in order.
    pub outputs: Vec<Output>,
    /// The last event before the step; what came after is the step's own.
    pub since: Seq,
}

/// A run under the laws.
#[derive(Clone, Debug)]
pub struct Checked {
    run: Run,
    depth: Depth,
    verifier: Verifier,
    ops: Ops,
    observers: Observers,
    account: Account,
    journal: Option<Vec<(Time, Input)>>,
    steps: u64,
    taken: Seq,
    /// Whether a primary reader paces the run.
    read: bool,
    next: Option<Next>,
}

/// What a step must not change, or by how much.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Mark {
    seq: Seq,
    first: Seq,
    bytes: u64,
    now: Time,
    messages: usize,
    late: usize,
    ignored: u64,
    live: bool,
}

impl Mark {
    fn of(run: &Run) -> Self {
        Self {
            seq: run.log().last_seq(),
            first: run.log().first_seq(),
            bytes: run.log().end(),
            now: run.now(),
            messages: run.candidate().map_or(0, History::len),
            late: run.late().len(),
            ignored: run.ignored(),
            live: run.outcome().is_none(),
        }
    }
}

impl Checked {
    /// A run that has not been started, with its inputs recorded for [`Checked::replay`].
    pub fn new(id: RunId, config: Arc<Config>) -> Self {
        let attempts = config.retry.attempts;
        Self {
            run: Run::new(id, config),
            depth: Depth::Probed,
            verifier: Verifier::new().attempts(attempts),
            ops: Ops::default(),
            observers: Observers::default(),
            account: Account::default(),
            journal: Some(Vec::new()),
            steps: 0,
            taken: Seq(0),
            read: false,
            next: None,
        }
    }

    /// Examined this much from now on.
    #[must_use]
    pub fn depth(mut self, depth: Depth) -> Self {
        self.depth = depth;
        self
    }

    /// Without a record of its inputs; [`Checked::replay`] then has nothing to compare.
    #[must_use]
    pub fn unrecorded(mut self) -> Self {
        self.journal = None;
        self
    }

    /// Changes how much each step is examined.
    pub fn set_depth(&mut self, depth: Depth) {
        self.depth = depth;
    }

    /// The run.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The inputs so far, misuse included; empty if they are not recorded.
    pub fn inputs(&self) -> &[(Time, Input)] {
        self.journal.as_deref().unwrap_or_default()
    }

    /// What the last accepted step left to wait for.
    pub fn next(&self) -> Option<Next> {
        self.next
    }

    /// The operations that were begun and have not ended (W5).
    pub fn open_ops(&self) -> impl Iterator<Item = crate::id::OpId> + '_ {
        self.ops.open()
    }

    /// Makes the step after `steps` further ones panic; probes that step clones rest until then.
    #[doc(hidden)]
    pub fn plant_panic(&mut self, steps: u64) {
        self.run.plant_panic(steps);
    }

    /// Steps the run and checks what came of it.
    ///
    /// # Errors
    ///
    /// [`Broken`] names the law; the run is not to be used further.
    pub fn step(&mut self, now: Time, input: Input) -> Result<Stepped, Broken> {
        self.steps += 1;
        let step = self.steps;
        if let Some(journal) = &mut self.journal {
            journal.push((now, input.clone()));
        }
        self.examine(now, input).map_err(|(law, what)| Broken { law, what, step })
    }

    fn examine(&mut self, now: Time, input: Input) -> Result<Stepped, Found> {
        let mut mark = Mark::of(&self.run);
        let planted = self.run.planted.is_some();
        let image = (self.depth == Depth::Whole && !planted).then(|| format!("{:?}", self.run));
        let end = End::of(&input);
        let quiet = matches!(input, Input::Wake { quiet: true });
        let taken = if let Input::Taken { through } = input { Some(through) } else { None };
        let gone = matches!(input, Input::ConsumerGone { .. });
        let recovers = if let Input::Recover(recover) = &input { Some(**recover) } else { None };
        let resumes = if let Input::Resume(resume) = &input { Some((**resume).clone()) } else { None };
        let said = Said::of(&input);
        let (observed, over) = (Answer::of(&input), self.run.log().is_closed());
        let kept = if let Input::Prepared { .. } = &input { Some(input.clone()) } else { None };
        let starts = if let Input::Start(start) = &input { Some((**start).clone()) } else { None };

        let mut outbox = Outbox::new();
        let answer = self.run.step(now, input, &mut outbox);
        let outputs: Vec<Output> = core::iter::from_fn(|| outbox.pop()).collect();
        match &answer {
            Err(_) => self.nothing_changed(mark, image.as_deref(), &outputs)?,
            Ok(next) => {
                if let Some(start) = starts {
                    self.read = start.reader == Reader::Primary;
                    self.ops.started(&start);
                    self.observers.started(start.observers, Seq(0));
                    self.account.started(start);
                }
                if let Some(resume) = resumes {
                    self.resumed(&mut mark, &resume);
                }
                if let Some(input) = kept {
                    self.ops.prepared(&input);
                }
                self.account.said(said, &outputs);
                self.taken = self.taken.max(taken.unwrap_or_default());
                self.read &= !gone;
                if let (Some(recover), true) = (recovers, mark.live) {
                    (self.read, self.taken) = (recover.reader == Reader::Primary, mark.seq);
                    self.observers.recovered(recover.observers, mark.seq);
                }
                self.observers.stepped(&self.run, over, observed, *next, &outputs)?;
                self.waits(*next, quiet)?;
                self.ends(mark, *next, &outputs)?;
                self.bounded(mark, &outputs)?;
                self.recorded(mark)?;
                self.ops.stepped(&self.run, end, self.observers.awaited(&self.run), &outputs)?;
                self.history(mark)?;
                self.next = Some(*next);
                if self.depth >= Depth::Probed && !planted {
                    self.spurious_wake(*next)?;
                }
            }
        }
        Ok(Stepped { answer, outputs, since: mark.seq })
    }

    /// What the run's first part has left.
    fn resumed(&mut self, mark: &mut Mark, resume: &Resume) {
        let value = &resume.suspended;
        (mark.seq, mark.first, mark.bytes) = (value.seq, Seq(value.seq.0 + 1), value.end);
        self.read = resume.reader == Reader::Primary;
        self.taken = value.seq;
        self.ops.resumed(resume);
        self.observers.started(resume.observers, value.seq);
        self.account.resumed(resume);
        self.verifier = Verifier::resumed(value).attempts(self.run.config().retry.attempts);
    }

    /// W1.
    fn nothing_changed(&self, mark: Mark, image: Option<&str>, outputs: &[Output]) -> Result<(), Found> {
        if Mark::of(&self.run) != mark || !outputs.is_empty() {
            return Err(found("W1", "misuse changed the run"));
        }
        match image {
            Some(image) if image != format!("{:?}", self.run) => {
                Err(found("W1", "misuse changed the machine's state"))
            }
            _ => Ok(()),
        }
    }

    /// W2.
    fn spurious_wake(&self, next: Next) -> Result<(), Found> {
        let mut twin = self.run.clone();
        let mut outbox = Outbox::new();
        let answer = twin.step(twin.now(), Input::Wake { quiet: false }, &mut outbox);
        if answer != Ok(next) {
            return Err(("W2", format!("a spurious wake changed {next:?} to {answer:?}")));
        }
        if Mark::of(&twin) != Mark::of(&self.run) || !outbox.is_empty() {
            return Err(found("W2", "a spurious wake had an effect"));
        }
        if self.depth == Depth::Whole && format!("{twin:?}") != format!("{:?}", self.run) {
            return Err(found("W2", "a spurious wake changed the machine's state"));
        }
        Ok(())
    }

    /// W3, and what follows from how much is unread: the credit, and whether clocks run (E13, R10).
    fn waits(&self, next: Next, quiet: bool) -> Result<(), Found> {
        if let Some(wake) = next.wake
            && wake.at <= self.run.now()
            && (quiet || !wake.why.is_quiet())
        {
            return Err(("W3", format!("at {} it asks to be woken at {}", self.run.now(), wake.at)));
        }
        if !next.live {
            let rests = next.wake.is_none() && next.credit == Credit::ZERO;
            return if rests { Ok(()) } else { Err(found("W4", "an ended run still waits for something")) };
        }
        let (limits, log) = (&self.run.config().limits, self.run.log());
        let unread = log.last_seq().0 - self.taken.0;
        let full = self.read
            && (unread >= limits.event_capacity as u64 || self.unread_bytes() >= limits.event_capacity_bytes);
        let full = full || self.observers.awaited(&self.run);
        if full != next.credit.is_zero() {
            return Err(("E13", format!("{unread} events are unread, and the credit is {:?}", next.credit)));
        }
        match next.wake {
            Some(wake) if full && wake.why.is_quiet() => {
                Err(("R10", format!("the stream is full, and the clock of {:?} runs", wake.why)))
            }
            _ => Ok(()),
        }
    }

    fn unread_bytes(&self) -> u64 {
        let log = self.run.log();
        let before = log.after(self.taken).next().map_or(log.end(), |first| {
            let mut len = crate::json::Len::default();
            first.write(log.run_id(), &mut len);
            first.end - len.0
        });
        log.end() - before
    }

    /// W4, W7.
    fn ends(&self, mark: Mark, next: Next, outputs: &[Output]) -> Result<(), Found> {
        if next.live != self.run.outcome().is_none() {
            return Err(found("W7", "`live` and the outcome disagree"));
        }
        let finalizes = next.live && self.run.log().is_closed() && self.observers.awaited(&self.run);
        if self.run.log().is_closed() == next.live && !finalizes {
            return Err(found("W7", "the outcome and the log disagree about the end"));
        }
        if mark.live {
            return Ok(());
        }
        if outputs.iter().any(|output| !matches!(output, Output::Reply { .. })) {
            return Err(found("W4", "an ended run has an output"));
        }
        if self.run.log().last_seq() != mark.seq {
            return Err(found("W4", "an ended run recorded an event"));
        }
        Ok(())
    }

    /// W6, and the bounds of the log (L1).
    fn bounded(&self, mark: Mark, outputs: &[Output]) -> Result<(), Found> {
        let (config, log) = (self.run.config(), self.run.log());
        let events = log.last_seq().0 - mark.seq.0;
        let bytes = log.end() - mark.bytes;
        let counts = [
            ("events", events, config.max_step_events() as u64),
            ("outputs", outputs.len() as u64, config.max_step_outputs() as u64),
            ("bytes", bytes, config.max_step_bytes()),
        ];
        if let Some((what, count, most)) = counts.into_iter().find(|(_, count, most)| count > most) {
            return Err(("W6", format!("{count} {what} in one step are more than {most}")));
        }
        if log.len() > config.limits.log_events || log.bytes() > config.limits.log_bytes {
            return Err(found("L1", "the log holds more than its bounds"));
        }
        let room = log.len() < config.limits.log_events
            && log.bytes() + config.max_step_bytes() <= config.limits.log_bytes;
        if log.first_seq() > mark.first && room {
            return Err(found("L1", "an event was evicted although there was room"));
        }
        if self.read && log.first_seq() > Seq(self.taken.0 + 1) {
            return Err(found("E13", "an event was evicted that the primary reader has not taken"));
        }
        Ok(())
    }

    /// W9, the events' encoding (L1, L6), and what follows from them: usage, messages, outcome (R5, C4, E10).
    fn recorded(&mut self, mark: Mark) -> Result<(), Found> {
        let log = self.run.log();
        if log.after(mark.seq).len() as u64 != log.last_seq().0 - mark.seq.0 {
            return Err(found("L1", "a step evicted its own events"));
        }
        let mut before = mark.bytes;
        for envelope in log.after(mark.seq) {
            if self.depth == Depth::Whole {
                encoding(envelope, log.run_id(), before)
                    .map_err(|violation| (violation.rule, format!("{violation}")))?;
            }
            before = envelope.end;
            let refused = |violation| ("W9", format!("{violation}; it is {:?}", envelope.event));
            self.verifier.observe(envelope).map_err(refused)?;
            self.account.event(&envelope.event, self.run.committed())?;
        }
        self.verifier.agree(log).map_err(|violation| ("W9", format!("{violation}")))?;
        match (mark.live, self.run.outcome()) {
            (true, Some(outcome)) => {
                let outcome = Arc::clone(outcome);
                self.outcome(&outcome)
            }
            _ => Ok(()),
        }
    }

    /// W7: the outcome agrees with the terminal event.
    fn outcome(&mut self, outcome: &Outcome) -> Result<(), Found> {
        let terminal = self.run.log().get(outcome.last_seq).map(|envelope| &envelope.event);
        let agrees = match (&outcome.result, terminal) {
            (RunResult::Completed(answer), Some(Event::RunCompleted(event))) => {
                answer == event && answer.revision == outcome.revision && answer.usage == outcome.usage
            }
            (RunResult::Cancelled(cause), Some(Event::RunCancelled { revision, cause: event })) => {
                cause == event && *revision == outcome.revision
            }
            (RunResult::Failed(error), Some(Event::RunFailed(event))) => {
                *error == event.error && event.revision == outcome.revision
            }
            (RunResult::Suspended(value), Some(Event::RunSuspended { revision, requests })) => {
                return self.put_aside(outcome, value, *revision, *requests);
            }
            (
                RunResult::Completed(_)
                | RunResult::Cancelled(_)
                | RunResult::Failed(_)
                | RunResult::Suspended(_),
                _,
            ) => false,
        };
        if !agrees || outcome.last_seq != self.run.log().last_seq() {
            return Err(("W7", format!("the outcome {:?} does not agree with {terminal:?}", outcome.result)));
        }
        let lost = matches!(&outcome.result, RunResult::Failed(error)
            if matches!(**error, RunError::Interrupted | RunError::Internal));
        self.account.ended(outcome, !lost)
    }

    /// H6: a run that is put aside has committed nothing, and its value agrees with its log.
    fn put_aside(
        &self,
        outcome: &Outcome,
        value: &Suspended,
        revision: Revision,
        requests: u32,
    ) -> Result<(), Found> {
        let log = self.run.log();
        // A call waits for one answer, so that call order is an order; the log's is that of asking.
        let by_call = |mut ledger: Ledger| {
            ledger.requests.sort_by_key(|request| request.call.call);
            ledger
        };
        let same = (value.seq, value.end, value.revision) == (log.last_seq(), log.end(), revision)
            && outcome.revision == revision
            && outcome.last_seq == value.seq
            && value.requests().count() == requests as usize
            && by_call(value.ledger()) == by_call(log.open().clone());
        if !same {
            return Err(found("H6", "the value does not agree with the log"));
        }
        value.check().map_err(|error| ("H6", format!("{error}")))?;
        let again = Suspended::from_json(&value.to_json()).map_err(|error| ("H6", format!("{error}")))?;
        if again != *value {
            return Err(found("H6", "the value's saved form is another value"));
        }
        self.account.ended_open(outcome)
    }

    /// W10.
    fn history(&self, mark: Mark) -> Result<(), Found> {
        let ended = mark.live && self.run.outcome().is_some();
        let Some(candidate) = self.run.candidate() else { return Ok(()) };
        let changed = candidate.len() != mark.messages && self.depth >= Depth::Probed;
        if !ended && !changed {
            return Ok(());
        }
        valid(candidate)?;
        match self.run.outcome() {
            Some(outcome) if outcome.history.open_calls() > 0 => {
                Err(found("W10", "the history of an ended run is not at rest"))
            }
            Some(outcome) => valid(&outcome.history),
            None => Ok(()),
        }
    }
}

fn valid(history: &History) -> Result<(), Found> {
    let mut fresh = History::new(crate::history::HistoryBounds { messages: usize::MAX, bytes: u64::MAX });
    history
        .iter()
        .try_for_each(|message| fresh.push((**message).clone()))
        .map_err(|error| ("W10", format!("the history is not valid: {error}")))
}
