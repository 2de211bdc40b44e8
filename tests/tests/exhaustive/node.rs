//! A state of the search: a run under its laws, and what its surroundings know of it.

use runloom_core::config::{Config, Deadlines, Limits, RetryPolicy};
use runloom_core::history::{History, HistoryBounds};
use runloom_core::id::{OpId, Revision, RunId, Seq, SessionId};
use runloom_core::input::{Input, Reader, Start};
use runloom_core::laws::{Broken, Checked, Depth, Stepped};
use runloom_core::message::Part;
use runloom_core::model::{ModelItem, ModelSpec};
use runloom_core::output::{Output, Work as CoreWork};
use runloom_core::time::Time;
use runloom_core::tool::{Access, Binding, ToolItem, ToolSpec};
use std::sync::Arc;
use std::time::Duration;

/// Kinds of operations, as far as the search tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Model,
    Tool { started: bool },
    Approval(Binding),
}

impl Work {
    pub(crate) fn is_model(work: &Self) -> bool {
        *work == Self::Model
    }

    pub(crate) fn is_tool(work: &Self) -> bool {
        matches!(work, Self::Tool { .. })
    }

    pub(crate) fn is_approval(work: &Self) -> bool {
        matches!(work, Self::Approval(_))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Completed,
    Abandoned,
}

/// The surroundings of a run.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) name: String,
    pub(crate) config: Arc<Config>,
    pub(crate) start: Arc<Start>,
}

impl Setting {
    /// A stream that is full after `capacity` events, and the smallest log that the limits allow.
    pub(crate) fn tiny(capacity: usize) -> Self {
        let mut limits = Limits::default();
        (limits.event_capacity, limits.calls, limits.parts, limits.steps) = (capacity, 3, 6, 2);
        (limits.response_bytes, limits.delta_bytes, limits.argument_bytes) = (4_096, 4_096, 4_096);
        (limits.tool_output_bytes, limits.parallel_tools, limits.late) = (256, 2, 2);
        (limits.payload_bytes, limits.error_bytes, limits.event_capacity_bytes) = (8_192, 256, 8_192);
        (limits.open_questions, limits.question_bytes, limits.answer_bytes) = (2, 256, 256);
        (limits.steers, limits.steer_bytes) = (2, 256);
        let roomy = Config::new(limits.clone()).expect("the limits fit together");
        (limits.log_events, limits.log_bytes) = (roomy.min_log_events(), roomy.min_log_bytes());
        let mut deadlines = Deadlines::default();
        let seconds = |n| Some(Duration::from_secs(n));
        (deadlines.first_item, deadlines.idle, deadlines.tool) = (seconds(2), seconds(1), seconds(3));
        (deadlines.attempt, deadlines.model_call, deadlines.run) = (seconds(5), seconds(9), seconds(30));
        let mut retry = RetryPolicy::default();
        retry.invalid_turns = 2;
        let config = Config::new(limits).expect("the log is just large enough");
        let config =
            config.deadlines(deadlines).and_then(|config| config.retry(retry)).expect("they are valid");
        let tool = |name: &str| ToolSpec::new(name, "", "{}").expect("a name");
        let tools = [
            Arc::new(tool("shared").access(Access::Shared)),
            Arc::new(tool("approval").access(Access::Shared).needs_approval()),
            Arc::new(tool("fatal").fatal()),
        ];
        let start = Self::start_with(History::default()).tools(tools);
        Self { name: format!("capacity {capacity}"), config: Arc::new(config), start: Arc::new(start) }
    }

    fn start_with(history: History) -> Start {
        let input = vec![Part::Text("hello".into())];
        let session = SessionId::new("s").expect("an id");
        Start::new(session, Revision(0), history, input, Arc::new(ModelSpec::new("m")))
    }

    /// The same without a reader.
    pub(crate) fn unattended(mut self) -> Self {
        self.start = Arc::new((*self.start).clone().reader(Reader::Unattended));
        self.name.push_str(", unattended");
        self
    }

    /// The same with a history that has room for one step.
    pub(crate) fn full(mut self) -> Self {
        let bounds = HistoryBounds { messages: 4, bytes: 1 << 20 };
        let mut start = (*self.start).clone();
        start.history = History::new(bounds);
        self.start = Arc::new(start);
        self.name.push_str(", full history");
        self
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) setting: Arc<Setting>,
    pub(crate) checked: Checked,
    pub(crate) now: Time,
    pub(crate) taken: Seq,
    pub(crate) started: bool,
    pub(crate) gone: bool,
    pub(crate) cancelled: bool,
    ops: Vec<(OpId, Work, Option<Ended>)>,
}

impl Node {
    pub(crate) fn new(setting: &Arc<Setting>, recorded: bool) -> Self {
        let checked = Checked::new(RunId::new("r").expect("an id"), Arc::clone(&setting.config));
        Self {
            setting: Arc::clone(setting),
            checked: if recorded { checked } else { checked.unrecorded() },
            now: Time::ZERO,
            taken: Seq(0),
            started: false,
            gone: false,
            cancelled: false,
            ops: Vec::new(),
        }
    }

    pub(crate) fn step(&mut self, now: Time, input: Input) -> Result<Stepped, Broken> {
        let ends = match &input {
            Input::Model { op, item: ModelItem::Done(_) | ModelItem::Failed(_) }
            | Input::Tool { op, item: ToolItem::Done(_) }
            | Input::Authorized { op, .. } => Some(*op),
            _ => None,
        };
        let starts = if let Input::Tool { op, item: ToolItem::Started } = &input { Some(*op) } else { None };
        let taken = if let Input::Taken { through } = &input { *through } else { Seq(0) };
        let gone = matches!(input, Input::ConsumerGone { .. });
        let cancelled = matches!(input, Input::Cancel { .. });
        let stepped = self.checked.step(now, input)?;
        if stepped.answer.is_err() {
            return Ok(stepped);
        }
        self.now = self.now.max(now);
        self.started |= self.checked.run().candidate().is_some();
        self.taken = self.taken.max(taken);
        self.gone |= gone;
        self.cancelled |= cancelled;
        for (op, work, ended) in &mut self.ops {
            if ends == Some(*op) && ended.is_none() {
                *ended = Some(Ended::Completed);
            }
            if starts == Some(*op) && ended.is_none() {
                *work = Work::Tool { started: true };
            }
        }
        for output in &stepped.outputs {
            self.note(output);
        }
        Ok(stepped)
    }

    fn note(&mut self, output: &Output) {
        match output {
            Output::Begin { op, work } => {
                let work = match work {
                    CoreWork::Tool(_) => Work::Tool { started: false },
                    CoreWork::Authorize(request) => Work::Approval(request.binding),
                    _ => Work::Model,
                };
                self.ops.push((*op, work, None));
            }
            Output::Abandon { op } => {
                if let Some((.., ended)) = self.ops.iter_mut().find(|(open, ..)| open == op) {
                    *ended = Some(Ended::Abandoned);
                }
            }
            _ => {}
        }
    }

    pub(crate) fn start(&self) -> Option<Input> {
        Some(Input::Start(Box::new((*self.setting.start).clone())))
    }

    pub(crate) fn live(&self) -> bool {
        self.checked.run().outcome().is_none()
    }

    pub(crate) fn due(&self) -> Option<Time> {
        self.checked.next()?.wake.map(|wake| wake.at)
    }

    pub(crate) fn unread(&self) -> u64 {
        self.checked.run().log().last_seq().0 - self.taken.0
    }

    /// Whether a driver would take in an item now.
    pub(crate) fn takes_items(&self) -> bool {
        !self.live() || self.checked.next().is_none_or(|next| !next.credit.is_zero())
    }

    /// The oldest operation under way that is like this.
    pub(crate) fn open(&self, like: impl Fn(&Work) -> bool) -> Option<OpId> {
        self.ops.iter().find(|(_, work, ended)| ended.is_none() && like(work)).map(|(op, ..)| *op)
    }

    /// The newest operation under way that is like this.
    pub(crate) fn newest(&self, like: impl Fn(&Work) -> bool) -> Option<OpId> {
        self.ops.iter().rfind(|(_, work, ended)| ended.is_none() && like(work)).map(|(op, ..)| *op)
    }

    /// An operation that has ended so.
    pub(crate) fn ended(&self, how: Ended, like: fn(&Work) -> bool) -> Option<OpId> {
        self.ops.iter().rfind(|(_, work, ended)| *ended == Some(how) && like(work)).map(|(op, ..)| *op)
    }

    pub(crate) fn how_ended(&self, op: OpId) -> Option<Ended> {
        self.ops.iter().find(|(other, ..)| *other == op).and_then(|(.., ended)| *ended)
    }

    pub(crate) fn approval(&self) -> Option<(OpId, Binding)> {
        self.ops.iter().find_map(|(op, work, ended)| match (work, ended) {
            (Work::Approval(binding), None) => Some((*op, *binding)),
            _ => None,
        })
    }

    /// Where the run stands, in the matrix's words.
    pub(crate) fn phase(&self) -> &'static str {
        let run = self.checked.run();
        match run.phase_name() {
            "batch" if self.approval().is_some() => "batch, asking",
            "batch" if self.open(|work| *work == Work::Tool { started: true }).is_some() => "batch, running",
            "batch" => "batch, begun",
            "model"
                if run
                    .log()
                    .open()
                    .attempt
                    .is_some_and(|attempt| attempt.position == runloom_core::event::Position::Partial) =>
            {
                "model, partial"
            }
            "model" => "model, pristine",
            other => other,
        }
    }

    pub(crate) fn set_depth(&mut self, depth: Depth) {
        self.checked.set_depth(depth);
    }
}
