//! Writes a journal while a run is stepped.

use super::input;
use super::line::{Head, append};
use crate::error::Misuse;
use crate::id::Seq;
use crate::input::Input;
use crate::output::{Next, Outbox};
use crate::run::Run;
use crate::saved::Node;
use crate::time::Time;
use alloc::string::String;
use core::fmt;

/// Writes the journal of one run: it steps the run, and keeps the lines until someone takes them.
///
/// Lines are whole, and in the order in which they belong into the journal. Whoever takes them decides where they go, and
/// must keep them all: a journal with a gap cannot be replayed. Before the host acts on the outputs of a step, the lines
/// of that step should be safe; what was begun and is not in the journal would be begun again after a crash (H7).
///
/// ```
/// use runloom_core::config::Config;
/// use runloom_core::history::History;
/// use runloom_core::id::{Revision, RunId, SessionId};
/// use runloom_core::input::Start;
/// use runloom_core::journal::{JournalBounds, Recorder, replay};
/// use runloom_core::message::Part;
/// use runloom_core::model::ModelSpec;
/// use runloom_core::time::Time;
/// use runloom_core::{Input, Outbox, Run};
/// use std::sync::Arc;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut run = Run::new(RunId::new("run-1")?, Arc::new(Config::default()));
/// let mut recorder = Recorder::new(&run);
/// let mut out = Outbox::new();
/// let input = vec![Part::Text("hello".into())];
/// let model = Arc::new(ModelSpec::new("some-model"));
/// let start = Start::new(SessionId::new("s")?, Revision(0), History::default(), input, model);
/// let next = recorder.step(&mut run, Time::ZERO, Input::Start(Box::new(start)), &mut out)?;
/// assert!(next.live);
/// let journal = recorder.take();
///
/// let replayed = replay(journal.as_bytes(), &JournalBounds::default())?;
/// assert_eq!(replayed.run.log().last_seq(), run.log().last_seq());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Recorder {
    /// Whole lines that nobody has taken yet.
    text: String,
    /// The last event that was written.
    seq: Seq,
    /// The input that the machine is taking in; found set, the machine has panicked over it.
    pending: Option<Node>,
}

impl fmt::Debug for Recorder {
    /// Numbers only: a journal holds whatever was said.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("bytes", &self.text.len()).field("seq", &self.seq).finish()
    }
}

impl Recorder {
    /// Begins the journal of `run`, which has not been stepped yet.
    pub fn new(run: &Run) -> Self {
        let mut text = Head::of(run).write().to_json();
        text.push('\n');
        Self { text, seq: run.log().last_seq(), pending: None }
    }

    /// Goes on with a journal whose last event is `seq`.
    pub(super) fn behind(seq: Seq) -> Self {
        Self { text: String::new(), seq, pending: None }
    }

    /// Steps `run` as [`Run::step`] does, and writes down the input and the events that came of it. Of a misuse nothing is
    /// written.
    ///
    /// # Errors
    ///
    /// As [`Run::step`].
    pub fn step(&mut self, run: &mut Run, now: Time, input: Input, out: &mut Outbox) -> Result<Next, Misuse> {
        let resumed =
            if let Input::Resume(resume) = &input { Some(resume.suspended.last_seq()) } else { None };
        self.pending = Some(input::write(&input));
        let stepped = run.step(now, input, out);
        let written = self.pending.take();
        if let (Ok(_), Some(input)) = (&stepped, written) {
            append(&mut self.text, run.now(), "input", &input);
            self.seq = resumed.unwrap_or(self.seq);
            self.events(run);
        }
        stepped
    }

    /// Closes `run` as [`Run::close_after_panic`] does, after a panic has escaped [`Recorder::step`], and writes that down.
    ///
    /// What a step had recorded before it panicked is in the journal, but cannot be replayed: a replay then diverges there.
    pub fn close_after_panic(&mut self, run: &mut Run, out: &mut Outbox) {
        let input = self.pending.take().unwrap_or(Node::Null);
        append(&mut self.text, run.now(), "panicked", &input);
        run.close_after_panic(out);
        self.events(run);
    }

    /// Writes the events of the log that are not written yet.
    pub(super) fn events(&mut self, run: &Run) {
        for envelope in run.log().after(self.seq) {
            self.text.push_str(&envelope.to_json(run.log().run_id()));
            self.text.push('\n');
            self.seq = envelope.seq;
        }
    }

    /// How many bytes wait to be taken.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Whether nothing waits to be taken.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Takes the lines that wait: whole ones, each with its end. They follow those that were taken before.
    pub fn take(&mut self) -> String {
        core::mem::take(&mut self.text)
    }
}
