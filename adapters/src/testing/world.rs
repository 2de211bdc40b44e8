//! A world in virtual time around one run: no driver, no executor, no waiting.
//!
//! ```
//! use runloom::testing::World;
//!
//! let report = World::new().model("hi").run();
//! assert_eq!(report.answer(), Some("hi"));
//! ```

use super::cast::{Cast, Ruling, Scripts};
use super::model::Attempt;
use super::player::Player;
use super::tool::ScriptedTool;
use crate::core::config::Config;
use crate::core::event::Envelope;
use crate::core::history::History;
use crate::core::host_input::HostAnswer;
use crate::core::id::{CommandId, Revision, RunId, Seq, SessionId};
use crate::core::input::{AbortCause, Input, Reader, Start};
use crate::core::laws::{Broken, Checked, Depth};
use crate::core::log::EventLog;
use crate::core::message::Part;
use crate::core::model::ModelSpec;
use crate::core::outcome::Outcome;
use crate::core::output::{Output, Reply};
use crate::core::suspend::{Resume, Suspended};
use crate::core::time::Time;
use std::sync::Arc;
use std::time::Duration;

/// How the primary reader behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// It takes each event at once.
    AtOnce,
    /// It takes up to `events` each time, `every` so often while something is unread.
    Lagging {
        /// Most events that it takes at a time.
        events: u64,
        /// The time between.
        every: Duration,
    },
    /// It is there and takes nothing.
    Never,
    /// There is none, and the run needs none.
    Unattended,
}

/// A run's surroundings, scripted: what the model, the tools, the approver, the reader and the host do, and when.
///
/// The world steps a [`Run`](crate::core::Run) only where a driver would: when something comes in, or when the run
/// asked to be woken. Every step is held to the laws. Equal worlds give equal reports.
#[derive(Clone, Debug)]
pub struct World {
    pub(super) config: Arc<Config>,
    pub(super) scripts: Scripts,
    pub(super) reading: Reading,
    pub(super) planned: Vec<(Time, Input)>,
    pub(super) late: bool,
    pub(super) depth: Depth,
    /// Steps after which the run is put aside, if it can be, and goes on at once.
    pub(super) suspensions: Vec<u64>,
    start: Start,
    pub(super) limit: u64,
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl World {
    /// A world without tools, whose model fails for want of a script; its reader takes each event at once.
    pub fn new() -> Self {
        let session = SessionId::new("session").expect("an id");
        let input = vec![Part::Text("hello".into())];
        let model = Arc::new(ModelSpec::new("scripted"));
        Self {
            config: Arc::new(Config::default()),
            scripts: Scripts::default(),
            reading: Reading::AtOnce,
            planned: Vec::new(),
            late: false,
            depth: Depth::Seen,
            suspensions: Vec::new(),
            start: Start::new(session, Revision(0), History::default(), input, model),
            limit: 1_000_000,
        }
    }

    /// With this configuration.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = Arc::new(config);
        self
    }

    /// With what the model does in its next attempt; the first call scripts the first attempt.
    #[must_use]
    pub fn model(mut self, attempt: impl Into<Attempt>) -> Self {
        self.scripts.attempts.push(attempt.into());
        self
    }

    /// With this tool.
    #[must_use]
    pub fn tool<T>(mut self, tool: &ScriptedTool<T>) -> Self {
        self.scripts.tools.push(tool.played());
        self
    }

    /// With tools whose code is entered this long after their call was handed over.
    #[must_use]
    pub fn tools_start_after(mut self, wait: Duration) -> Self {
        self.scripts.entry = wait;
        self
    }

    fn ruled(mut self, tool: &str, wait: Duration, ruling: Ruling) -> Self {
        self.scripts.rulings.push((tool.into(), wait, ruling));
        self
    }

    /// With an approver that allows calls of this tool after a while; without a word on a tool it allows at once.
    #[must_use]
    pub fn allows(self, tool: &str, wait: Duration) -> Self {
        self.ruled(tool, wait, Ruling::Allow)
    }

    /// With an approver that refuses calls of this tool after a while.
    #[must_use]
    pub fn denies(self, tool: &str, wait: Duration, reason: &str) -> Self {
        self.ruled(tool, wait, Ruling::Deny(reason.into()))
    }

    /// With an approver whose word on calls of this tool is about another call.
    #[must_use]
    pub fn mistakes(self, tool: &str, wait: Duration) -> Self {
        self.ruled(tool, wait, Ruling::Mistaken)
    }

    /// With an approver that never decides on calls of this tool.
    #[must_use]
    pub fn ignores(self, tool: &str) -> Self {
        self.ruled(tool, Duration::ZERO, Ruling::Never)
    }

    /// With an approver that has people asked about calls of this tool, for so long at most.
    #[must_use]
    pub fn refers(self, tool: &str, wait: Duration, timeout: Option<Duration>) -> Self {
        self.ruled(tool, wait, Ruling::Refer(timeout))
    }

    /// With people who hold the handle and answer this, after a while, to requests of its kind about calls of this tool.
    /// What nobody answers stands open.
    #[must_use]
    pub fn answers(mut self, tool: &str, wait: Duration, answer: HostAnswer) -> Self {
        self.scripts.answers.push((tool.into(), wait, answer));
        self
    }

    /// With a responder of the host, which answers this after a while, or `None`, to requests of its kind about calls of
    /// this tool. On what it has no script for it works without end.
    #[must_use]
    pub fn responds(mut self, tool: &str, wait: Duration, answer: Option<HostAnswer>) -> Self {
        self.scripts.responses.push((tool.into(), wait, answer));
        self.start.answerers.responder = true;
        self
    }

    /// With one more required observer, which takes so long for each request and refuses the event at `refused`, if one
    /// is named.
    #[must_use]
    pub fn observer(mut self, wait: Duration, refused: Option<u64>) -> Self {
        self.scripts.observers.push((wait, refused.map(Seq)));
        self
    }

    /// With nobody who holds the handle.
    #[must_use]
    pub fn without_handle(mut self) -> Self {
        self.start.answerers.handle = false;
        self
    }

    /// Puts the run aside after its step of this number, counted from 1, if it can be, and resumes it at once in another
    /// machine (H6). The report then holds the events of all parts.
    #[must_use]
    pub fn suspend_after(mut self, step: u64) -> Self {
        self.suspensions.push(step);
        self
    }

    /// With this reader.
    #[must_use]
    pub fn reader(mut self, reading: Reading) -> Self {
        self.reading = reading;
        self
    }

    /// With what the run starts with; its tools and its reader are the world's.
    #[must_use]
    pub fn start(mut self, start: Start) -> Self {
        self.start = start;
        self
    }

    /// Continues the conversation that `report` left, with this text.
    #[must_use]
    pub fn after(mut self, report: &Report, text: &str) -> Self {
        if let Some(outcome) = report.outcome() {
            self.start.history = outcome.history.clone();
            self.start.revision = outcome.revision;
            self.start.context = outcome.context;
        }
        self.start.input = vec![Part::Text(text.into())];
        self
    }

    /// Gives the run this input at this time, whatever else happens.
    #[must_use]
    pub fn at(mut self, at: Duration, input: Input) -> Self {
        self.planned.push((Time::ZERO.after(at), input));
        self
    }

    /// Cancels the run at this time.
    #[must_use]
    pub fn cancel_at(self, at: Duration) -> Self {
        let command = CommandId(self.planned.len() as u64 + 1);
        self.at(at, Input::Cancel { command })
    }

    /// Aborts the run at this time.
    #[must_use]
    pub fn abort_at(self, at: Duration, cause: AbortCause) -> Self {
        self.at(at, Input::Abort(cause))
    }

    /// Lets abandoned work go on, so that its items come too late.
    #[must_use]
    pub fn late_items(mut self) -> Self {
        self.late = true;
        self
    }

    /// How much each step is examined.
    #[must_use]
    pub fn depth(mut self, depth: Depth) -> Self {
        self.depth = depth;
        self
    }

    /// Most steps, so that a run that never rests is noticed; 1,000,000 by default.
    #[must_use]
    pub fn limit(mut self, steps: u64) -> Self {
        self.limit = steps;
        self
    }

    /// Runs to the end.
    ///
    /// # Panics
    ///
    /// If a law is broken or the limit of steps is reached.
    #[track_caller]
    #[allow(clippy::panic, reason = "a law is broken, and this is a test")]
    pub fn run(self) -> Report {
        match self.try_run() {
            Ok(report) => report,
            Err(error) => panic!("{error}"),
        }
    }

    /// Runs to the end, or to where nothing can happen any more.
    ///
    /// # Errors
    ///
    /// [`WorldError`] if a law is broken or the limit of steps is reached.
    pub fn try_run(self) -> Result<Report, WorldError> {
        let mut player = Player::new(self);
        player.play()?;
        Ok(player.into_report())
    }

    /// The run before its first step.
    pub(super) fn checked(&self) -> Checked {
        let id = RunId::new("run").expect("an id");
        Checked::new(id, Arc::clone(&self.config)).depth(self.depth)
    }

    /// The first input.
    pub(super) fn first(&self) -> Input {
        let reader = if self.reading == Reading::Unattended { Reader::Unattended } else { Reader::Primary };
        let tools: Vec<_> = self.scripts.tools.iter().map(|tool| Arc::clone(&tool.spec)).collect();
        let start = self.start.clone().tools(tools).reader(reader);
        let (boundaries, compacts) = (&self.scripts.boundaries, &self.scripts.compactions);
        let start = start.boundaries(!boundaries.is_empty()).compacts(!compacts.is_empty());
        let start = start.observers(self.observers());
        Input::Start(Box::new(start))
    }

    /// The first input of a run's next part.
    pub(super) fn resumed(&self, value: Arc<Suspended>) -> Input {
        let start = &self.start;
        let (session, model) = (start.session.clone(), Arc::clone(&start.model));
        let mut resume = Resume::new(value, session, start.revision, start.history.clone(), model);
        resume.tools = self.scripts.tools.iter().map(|tool| Arc::clone(&tool.spec)).collect();
        resume.answerers = start.answerers;
        resume.observers = self.observers();
        if self.reading == Reading::Unattended {
            resume.reader = Reader::Unattended;
        }
        Input::Resume(Box::new(resume))
    }

    fn observers(&self) -> u32 {
        u32::try_from(self.scripts.observers.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn cast(&self) -> Cast {
        Cast::new(Arc::new(self.scripts.clone()))
    }
}

/// Why a world stopped before its run did.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WorldError {
    /// The run broke a law.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// The run did not come to rest.
    #[error("the run did not come to rest within {0} steps")]
    Limit(u64),
}

/// What happened in a world.
#[derive(Clone, Debug)]
pub struct Report {
    pub(super) checked: Checked,
    /// All events of all parts, those included that a log has evicted.
    pub events: Vec<Envelope>,
    /// All outputs, with their times.
    pub outputs: Vec<(Time, Output)>,
    /// When the world came to rest.
    pub now: Time,
    /// How often the run was put aside and resumed.
    pub suspensions: usize,
    /// How many steps it took, over all parts.
    pub steps: u64,
}

impl Report {
    /// The run's log.
    pub fn log(&self) -> &EventLog {
        self.checked.run().log()
    }

    /// The run's outcome; `None` if nothing could happen any more while it was live.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.checked.run().outcome().map(|outcome| &**outcome)
    }

    /// The answer of a run that completed.
    pub fn answer(&self) -> Option<&str> {
        self.outcome()?.answer().map(|answer| answer.text.as_str())
    }

    /// The inputs, with their times.
    pub fn inputs(&self) -> &[(Time, Input)] {
        self.checked.inputs()
    }

    /// The run with its laws, for further steps.
    pub fn checked(&self) -> &Checked {
        &self.checked
    }

    /// The names of the events' kinds, in order.
    pub fn kinds(&self) -> Vec<&'static str> {
        self.events.iter().map(|envelope| envelope.event.kind().as_str()).collect()
    }

    /// The answers to commands, in order.
    pub fn replies(&self) -> impl Iterator<Item = (CommandId, Reply)> + '_ {
        self.outputs.iter().filter_map(|(_, output)| match output {
            Output::Reply { command, reply } => Some((*command, reply.clone())),
            _ => None,
        })
    }
}
