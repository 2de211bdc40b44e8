//! The consumer: a stream of events becomes messages, state and an end (V11).
//!
//! The stages stand in the protocol's order: what is unknown is taken out, chunks are expanded, the order is verified,
//! and what remains is folded and handed on. Nothing that a stage before would have refused reaches a later one.
//!
//! ```
//! use runloom_core::agui::consume::{Consumer, End};
//!
//! let mut consumer = Consumer::new();
//! let mut seen = 0;
//! for line in [
//!     r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
//!     r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"Hello"}"#,
//!     r#"{"type":"TEXT_MESSAGE_CHUNK","delta":", world."}"#,
//!     r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#,
//! ] {
//!     consumer.line(line.as_bytes(), &mut |_event| seen += 1)?;
//! }
//! let folded = consumer.finish();
//! assert!(matches!(folded.end, End::Finished(_)));
//! assert_eq!(folded.thread.messages()[0].text(), "Hello, world.");
//! // A start, two contents and an end were made of the two chunks.
//! assert_eq!(seen, 6);
//! # Ok::<(), runloom_core::agui::verify::Rejected>(())
//! ```

mod calls;
mod expand;
mod planted;
mod report;
mod snapshot;
mod thread;
mod warning;

pub use expand::{ExpandError, Expander};
#[doc(hidden)]
pub use planted::Fault;
pub use report::fold_lines;
pub use thread::{SubagentState, SubagentStatus, Thread};
pub use warning::{Warning, Warnings};

use super::verify::{Mode, Rejected, Rule, VerificationError, Verifier};
use super::{Event, RunAgentInput, RunOutcome};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// How a stream ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// Its last run did not fail. A cancelled run is neither a success nor a failure.
    Finished(RunOutcome),
    /// Its last run failed, at once or after it had reported success.
    Failed {
        /// What went wrong, for people.
        message: String,
        /// What went wrong, for programs.
        code: Option<String>,
    },
    /// It ended inside a run, or before one: no outcome, and never a success. What came is kept.
    Truncated,
}

/// What a stream came to.
#[derive(Clone, Debug)]
pub struct Folded {
    /// Messages, state, and what else it built.
    pub thread: Thread,
    /// How it ended.
    pub end: End,
    /// What was noticed on the way.
    pub warnings: Warnings,
    /// Events that came, those that were dropped included.
    pub events: usize,
}

/// Reads a stream event by event.
///
/// Memory grows with what comes, up to [`Consumer::most_bytes`]; what a patch copies counts against the thread's own
/// bound. After an error every further event is refused with the same error.
#[derive(Clone, Debug)]
pub struct Consumer {
    verifier: Verifier,
    expander: Expander,
    thread: Thread,
    warnings: Warnings,
    end: End,
    events: usize,
    bytes: u64,
    most_bytes: u64,
    rejected: Option<Rejected>,
    /// Reused from event to event.
    pieces: Vec<Event>,
}

impl Default for Consumer {
    fn default() -> Self {
        Self::new()
    }
}

impl Consumer {
    /// A consumer of a thread that it knows nothing of.
    pub fn new() -> Self {
        Self {
            verifier: Verifier::new(Mode::Stream),
            expander: Expander::new(),
            thread: Thread::default(),
            warnings: Warnings::default(),
            end: End::Truncated,
            events: 0,
            bytes: 0,
            most_bytes: 256 << 20,
            rejected: None,
            pieces: Vec::new(),
        }
    }

    /// A consumer of the run that this input asks for: its messages and state are what the stream builds on.
    pub fn of(input: &RunAgentInput) -> Self {
        let mut consumer = Self::new();
        consumer.verifier.know(input);
        consumer.thread.begin_with(input);
        consumer
    }

    /// With another bound on the bytes of all events together, 256 MiB by default.
    #[must_use]
    pub fn most_bytes(mut self, most: u64) -> Self {
        self.most_bytes = most;
        self
    }

    /// With another bound on how much memory state and activities take, 64 MiB by default. What a patch would put on top
    /// does not apply; a snapshot is taken whatever its size, because it is no larger than its event.
    #[must_use]
    pub fn most_state(mut self, most: u64) -> Self {
        self.thread.most_state(most);
        self
    }

    /// Reads one event from JSON text. `deliver` gets what the application may see, in order.
    ///
    /// # Errors
    ///
    /// [`Rejected`] names the event by its position among all that came, and the rule.
    pub fn line(&mut self, json: &[u8], deliver: &mut dyn FnMut(&Event)) -> Result<(), Rejected> {
        self.admit()?;
        self.bytes = self.bytes.saturating_add(json.len() as u64);
        if self.bytes > self.most_bytes {
            let detail = alloc::format!("the stream is longer than {} bytes", self.most_bytes);
            return self.reject(Rule::TooMany, None, detail);
        }
        match Event::decode_bytes(json) {
            Err(error) => self.reject(Rule::Malformed, None, error.to_string()),
            Ok(decoded) => {
                let strict = self.thread.planted(Fault::UnknownIsFatal);
                for notice in decoded.notices {
                    if strict {
                        return self.reject(Rule::Malformed, None, notice.to_string());
                    }
                    self.warnings.push(Warning::Unknown { event: self.events, notice });
                }
                self.warnings.skip(decoded.more);
                match decoded.value {
                    Some(event) => self.process(event, deliver),
                    None => {
                        self.events += 1;
                        Ok(())
                    }
                }
            }
        }
    }

    /// Takes one event that was read already. `deliver` gets what the application may see, in order.
    ///
    /// # Errors
    ///
    /// As [`Consumer::line`].
    pub fn event(&mut self, event: Event, deliver: &mut dyn FnMut(&Event)) -> Result<(), Rejected> {
        self.admit()?;
        self.process(event, deliver)
    }

    fn admit(&self) -> Result<(), Rejected> {
        self.rejected.clone().map_or(Ok(()), Err)
    }

    fn reject(&mut self, rule: Rule, id: Option<String>, detail: String) -> Result<(), Rejected> {
        let rejected = Rejected { at: self.events, rule, id, detail };
        self.rejected = Some(rejected.clone());
        Err(rejected)
    }

    fn process(&mut self, event: Event, deliver: &mut dyn FnMut(&Event)) -> Result<(), Rejected> {
        // A chunk is judged as what it is before it becomes something else, so that both ends say the same of it.
        if let Err(VerificationError { rule, id, detail, .. }) = self.verifier.observe(&event) {
            return self.reject(rule, id, detail);
        }
        if let Some(warning) = self.verifier.warning() {
            self.warnings.push(Warning::Order { event: self.events, error: warning.clone() });
        }
        let mut pieces = core::mem::take(&mut self.pieces);
        let expanded = self.expander.expand(event, &mut pieces);
        if let Err(error) = expanded {
            return self.reject(error.rule, error.id, error.what.into());
        }
        for piece in pieces.drain(..) {
            self.conclude(&piece);
            self.thread.fold(&piece, self.events, &mut self.warnings);
            deliver(&piece);
        }
        self.pieces = pieces;
        self.events += 1;
        Ok(())
    }

    /// What the event says about the end.
    fn conclude(&mut self, event: &Event) {
        if let Event::RunStarted(_) = event {
            self.end = End::Truncated;
        } else if let Event::RunFinished(finished) = event {
            self.end = End::Finished(finished.outcome.clone().unwrap_or_default());
        } else if let Event::RunError(error) = event {
            let late = self.end != End::Truncated;
            if !(late && self.thread.planted(Fault::LateErrorIsIgnored)) {
                self.end = End::Failed { message: error.message.clone(), code: error.code.clone() };
            }
        }
    }

    /// What was built so far.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// What was noticed so far.
    pub fn warnings(&self) -> &Warnings {
        &self.warnings
    }

    /// Ends the stream.
    pub fn finish(self) -> Folded {
        let lies = self.end == End::Truncated && self.thread.planted(Fault::TruncationIsSuccess);
        let end = if lies { End::Finished(RunOutcome::Success) } else { self.end };
        Folded { thread: self.thread, end, warnings: self.warnings, events: self.events }
    }

    /// Makes the consumer do something wrong, so that tests can show that others notice.
    #[doc(hidden)]
    #[must_use]
    pub fn plant(mut self, fault: Fault) -> Self {
        self.thread.plant(fault);
        self
    }
}
