//! Spans from a run's events: one mapping for a run that goes on and for its log (L1, L7).
//!
//! [`Spans`] takes events in order and says what starts, ends and happens. It reads nothing else, so that what telemetry
//! claims is what was recorded. There is no content in it: no texts of people, models, tools and errors, no arguments;
//! but ids, names of models and tools, counts and codes.
//!
//! ```text
//! invoke_agent                 the run, or the part of it up to a suspension
//! ├─ step                      steering, boundary input: events of the run
//! │  ├─ chat MODEL             an attempt; repeated physical requests are its events
//! │  ├─ chat MODEL             the next one
//! │  ├─ execute_tool NAME      from the moment at which the tool's code is entered
//! │  └─ host_input             an approval, a question, a call that the client executes
//! └─ compaction
//! ```

mod map;
pub mod names;
mod write;

use crate::id::{CallRef, RequestId, RunId};
use crate::text::Text;
use crate::time::Time;
use crate::usage::Usage;
use alloc::vec::Vec;

/// Names a span within its run: the position of the event that opened it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanId(pub u64);

/// What telemetry learns from an event.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Telemetry {
    /// A span starts.
    Start(SpanStart),
    /// A span ends.
    End(SpanEnd),
    /// Something happened within a span.
    Event(SpanEvent),
}

/// What a span is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SpanKind {
    /// A run.
    Run,
    /// A step.
    Step,
    /// An attempt of a model call; a client's span in OpenTelemetry's terms, all others are internal.
    Attempt,
    /// A tool.
    Tool,
    /// A request for host input.
    HostInput,
    /// A compaction.
    Compaction,
}

/// A span that starts.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanStart {
    /// Names it.
    pub id: SpanId,
    /// The span that it belongs to; absent for a run, and where that was opened before the first event that was seen.
    pub parent: Option<SpanId>,
    /// What it is about.
    pub kind: SpanKind,
    /// Its name, as the conventions form it.
    pub name: Text,
    /// When it started, on the engine's clock.
    pub at: Time,
    /// What is known of it so far.
    pub attributes: Vec<Attribute>,
}

/// A span that ends.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanEnd {
    /// Which.
    pub id: SpanId,
    /// What it was about.
    pub kind: SpanKind,
    /// When it ended, on the engine's clock.
    pub at: Time,
    /// Whether it failed; the code stands in [`names::ERROR`].
    pub failed: bool,
    /// What became known of it.
    pub attributes: Vec<Attribute>,
}

/// Something that happened within a span.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanEvent {
    /// The span; absent where that was opened before the first event that was seen.
    pub span: Option<SpanId>,
    /// What happened: the kind of the run's event.
    pub name: &'static str,
    /// When, on the engine's clock.
    pub at: Time,
    /// What is known of it.
    pub attributes: Vec<Attribute>,
}

/// A fact about a span.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// One of [`names`].
    pub key: &'static str,
    /// Its value.
    pub value: Value,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A text.
    Text(Text),
    /// A whole number.
    Integer(u64),
    /// A number; spans of time in seconds.
    Number(f64),
    /// Several texts.
    Texts(Vec<Text>),
}

/// Maps the events of one run to spans. Every span that it starts it ends exactly once, if the log ends or
/// [`Spans::stop`] is called; where events are missing, as soon as it shows that it is over.
#[derive(Clone, Debug)]
pub struct Spans {
    run_id: RunId,
    provider: Option<Text>,
    run: Option<SpanId>,
    step: Option<SpanId>,
    /// The number of the step that is open.
    number: u32,
    attempt: Option<SpanId>,
    compaction: Option<SpanId>,
    tools: Vec<(CallRef, SpanId)>,
    requests: Vec<(RequestId, SpanId)>,
    /// What the physical requests of the attempt have used; the last one is kept apart, because it may grow.
    used: Usage,
    request: (u32, Usage),
}

impl Spans {
    /// For the events of this run.
    pub fn new(run: RunId) -> Self {
        Self {
            run_id: run,
            provider: None,
            run: None,
            step: None,
            number: 0,
            attempt: None,
            compaction: None,
            tools: Vec::new(),
            requests: Vec::new(),
            used: Usage::default(),
            request: (0, Usage::default()),
        }
    }

    /// With the name of the provider, in the conventions' terms (such as `openai`, `anthropic`): no event has it.
    #[must_use]
    pub fn provider(mut self, name: impl Into<Text>) -> Self {
        self.provider = Some(name.into());
        self
    }

    /// How many spans are open.
    pub fn open(&self) -> usize {
        let single = [self.run, self.step, self.attempt, self.compaction];
        single.iter().flatten().count() + self.tools.len() + self.requests.len()
    }
}
