//! A run that a test steps by hand.

use runloom_core::boundary::{BoundaryAnswer, BoundaryError};
use runloom_core::compaction::{Compaction, CompactionFault};
use runloom_core::config::{Config, Deadlines, Limits, RetryPolicy};
use runloom_core::error::{Misuse, RunError};
use runloom_core::event::{Envelope, Event};
use runloom_core::history::History;
use runloom_core::id::{CommandId, OpId, Revision, RunId, SessionId, SteerId};
use runloom_core::input::{AbortCause, Reader, Retract, Start, SteerInput};
use runloom_core::laws::{Checked, Depth};
use runloom_core::message::{Message, Part};
use runloom_core::model::{
    CallDelta, Completion, FinalCall, Finish, ModelItem, ModelSpec, Problem, ProblemKind,
};
use runloom_core::outcome::{Outcome, RunResult};
use runloom_core::output::{CancelReply, Reply, Work};
use runloom_core::steer::{RetractReply, SteerError};
use runloom_core::text::Text;
use runloom_core::time::Time;
use runloom_core::tool::{Access, ToolEnd, ToolFault, ToolItem, ToolOutput, ToolSpec, Verdict};
use runloom_core::usage::Usage;
use runloom_core::{Input, Next, Output};
use std::sync::Arc;
use std::time::Duration;

/// A tool without further properties that overlaps with others.
pub(crate) fn shared(name: &str) -> ToolSpec {
    ToolSpec::new(name, "", "{}").unwrap().access(Access::Shared)
}

pub(crate) fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// The default limits with changes.
pub(crate) fn limits(change: impl FnOnce(&mut Limits)) -> Config {
    let mut limits = Limits::default();
    change(&mut limits);
    Config::new(limits).unwrap()
}

/// The default configuration with other deadlines, none of which is set before.
pub(crate) fn deadlines(change: impl FnOnce(&mut Deadlines)) -> Config {
    let mut deadlines = Deadlines::default();
    (deadlines.first_item, deadlines.idle) = (None, None);
    change(&mut deadlines);
    Config::default().deadlines(deadlines).unwrap()
}

pub(crate) fn policy(change: impl FnOnce(&mut RetryPolicy)) -> RetryPolicy {
    let mut policy = RetryPolicy::default();
    change(&mut policy);
    policy
}

/// A run, its clock, and all that came of it.
#[derive(Clone, Debug)]
pub(crate) struct Hand {
    pub(crate) checked: Checked,
    pub(crate) now: Time,
    pub(crate) start: Start,
    pub(crate) outputs: Vec<Output>,
    /// All events, evicted ones too.
    pub(crate) events: Vec<Envelope>,
    /// Whether each event is taken at once.
    pub(crate) reads: bool,
    commands: u64,
}

impl Hand {
    /// A run that is not started, with these tools.
    pub(crate) fn new(config: Config, tools: impl IntoIterator<Item = ToolSpec>) -> Self {
        Self::named("r", config, tools)
    }

    pub(crate) fn named(run: &str, config: Config, tools: impl IntoIterator<Item = ToolSpec>) -> Self {
        let session = SessionId::new("s").unwrap();
        let model = Arc::new(ModelSpec::new("m"));
        let tools: Vec<_> = tools.into_iter().map(Arc::new).collect();
        let input = vec![Part::Text("hello".into())];
        Self {
            checked: Checked::new(RunId::new(run).unwrap(), Arc::new(config)).depth(Depth::Whole),
            now: Time::ZERO,
            start: Start::new(session, Revision(7), History::default(), input, model).tools(tools),
            outputs: Vec::new(),
            events: Vec::new(),
            reads: true,
            commands: 0,
        }
    }

    /// A run that waits for its model.
    pub(crate) fn begun(config: Config, tools: impl IntoIterator<Item = ToolSpec>) -> Self {
        let mut hand = Self::new(config, tools);
        hand.begin();
        hand
    }

    /// A run that waits for its model, and whose events nobody takes.
    pub(crate) fn begun_unread(config: Config, tools: impl IntoIterator<Item = ToolSpec>) -> Self {
        let mut hand = Self::new(config, tools).unread();
        hand.begin();
        hand
    }

    /// Whether the stream is full.
    pub(crate) fn is_full(&self) -> bool {
        self.checked.next().unwrap().credit.is_zero()
    }

    /// A run without tools under the default configuration that waits for its model.
    pub(crate) fn plain() -> Self {
        Self::begun(Config::default(), [])
    }

    /// Examines each step less closely: for large values and long runs.
    pub(crate) fn quick(mut self) -> Self {
        self.checked.set_depth(Depth::Seen);
        self
    }

    /// Nobody takes events.
    pub(crate) fn unread(mut self) -> Self {
        self.reads = false;
        self
    }

    /// Needs no reader.
    pub(crate) fn unattended(mut self) -> Self {
        self.start = self.start.reader(Reader::Unattended);
        self.unread()
    }

    pub(crate) fn begin(&mut self) -> Next {
        let start = self.start.clone();
        self.give(Input::Start(Box::new(start)))
    }

    /// Moves the clock.
    pub(crate) fn at(&mut self, millis: u64) -> &mut Self {
        self.now = Time::from_millis(millis);
        self
    }

    #[track_caller]
    fn step(&mut self, input: Input) -> Result<Next, Misuse> {
        let stepped = self.checked.step(self.now, input).unwrap_or_else(|broken| panic!("{broken}"));
        self.checked.survives_panic().unwrap_or_else(|broken| panic!("{broken}"));
        self.events.extend(self.checked.run().log().after(stepped.since).cloned());
        self.outputs.extend(stepped.outputs);
        stepped.answer
    }

    /// Gives a proper input.
    #[track_caller]
    pub(crate) fn give(&mut self, input: Input) -> Next {
        let next = self.step(input).unwrap_or_else(|misuse| panic!("{misuse}"));
        let started = self.checked.run().candidate().is_some();
        if self.reads && started { self.take() } else { next }
    }

    /// Gives an input that must be refused.
    #[track_caller]
    pub(crate) fn misuse(&mut self, input: Input) -> Misuse {
        self.step(input).map(|next| panic!("taken: {next:?}")).unwrap_err()
    }

    /// Takes all events.
    #[track_caller]
    pub(crate) fn take(&mut self) -> Next {
        let through = self.checked.run().log().last_seq();
        self.step(Input::Taken { through }).unwrap_or_else(|misuse| panic!("{misuse}"))
    }

    /// The work that was begun last.
    pub(crate) fn begun_last(&self) -> (OpId, Work) {
        let begun = self.outputs.iter().rev().find_map(|output| match output {
            Output::Begin { op, work } => Some((*op, work.clone())),
            _ => None,
        });
        begun.expect("something was begun")
    }

    pub(crate) fn op(&self) -> OpId {
        self.begun_last().0
    }

    /// The operations of tools that were begun, in order, with their calls' ordinals.
    pub(crate) fn tools(&self) -> Vec<(u32, OpId)> {
        let tool = |output: &Output| match output {
            Output::Begin { op, work: Work::Tool(invocation) } => Some((invocation.call.call.ordinal, *op)),
            _ => None,
        };
        self.outputs.iter().filter_map(tool).collect()
    }

    /// The questions to the approver, in order.
    pub(crate) fn questions(&self) -> Vec<(OpId, Arc<runloom_core::tool::AuthorizeRequest>)> {
        let question = |output: &Output| match output {
            Output::Begin { op, work: Work::Authorize(request) } => Some((*op, Arc::clone(request))),
            _ => None,
        };
        self.outputs.iter().filter_map(question).collect()
    }

    pub(crate) fn abandoned(&self) -> Vec<OpId> {
        let abandoned = |output: &Output| match output {
            Output::Abandon { op } => Some(*op),
            _ => None,
        };
        self.outputs.iter().filter_map(abandoned).collect()
    }

    #[track_caller]
    pub(crate) fn item(&mut self, item: ModelItem) -> Next {
        let op = self.op();
        self.give(Input::Model { op, item })
    }

    #[track_caller]
    pub(crate) fn text(&mut self, text: &str) -> Next {
        self.item(ModelItem::Text(text.into()))
    }

    #[track_caller]
    pub(crate) fn delta(&mut self, index: Option<u32>, id: &str, name: &str, arguments: &str) -> Next {
        self.item(delta(index, id, name, arguments))
    }

    #[track_caller]
    pub(crate) fn call(&mut self, id: &str, name: &str, arguments: &str) -> Next {
        let call = FinalCall { id: Some(id.into()), name: name.into(), arguments: arguments.into() };
        self.item(ModelItem::Call(Box::new(call)))
    }

    #[track_caller]
    pub(crate) fn usage(&mut self, input: u64, output: u64) -> Next {
        self.item(ModelItem::Usage(Box::new(Usage::new(input, output))))
    }

    #[track_caller]
    pub(crate) fn done(&mut self, finish: Finish) -> Next {
        self.item(done(Some(finish)))
    }

    #[track_caller]
    pub(crate) fn fail(&mut self, kind: ProblemKind) -> Next {
        self.item(ModelItem::Failed(Box::new(Problem::new(kind, "no"))))
    }

    /// A response of these calls, by tool name, with ids `c0`, `c1`, ... and `{}` as arguments.
    #[track_caller]
    pub(crate) fn calls<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) -> Next {
        for (at, name) in names.into_iter().enumerate() {
            self.call(&format!("c{at}"), name, "{}");
        }
        self.done(Finish::ToolCalls)
    }

    #[track_caller]
    pub(crate) fn tool(&mut self, op: OpId, item: ToolItem) -> Next {
        self.give(Input::Tool { op, item })
    }

    #[track_caller]
    pub(crate) fn enter(&mut self, op: OpId) -> Next {
        self.tool(op, ToolItem::Started)
    }

    #[track_caller]
    pub(crate) fn finish(&mut self, op: OpId, text: &str) -> Next {
        self.tool(op, output(text))
    }

    #[track_caller]
    pub(crate) fn breaks(&mut self, op: OpId, text: &str) -> Next {
        self.tool(op, ToolItem::Done(ToolEnd::Failed(Box::new(ToolFault::new(text)))))
    }

    /// Lets a tool run at once.
    #[track_caller]
    pub(crate) fn runs(&mut self, op: OpId, text: &str) -> Next {
        self.enter(op);
        self.finish(op, text)
    }

    #[track_caller]
    pub(crate) fn verdict(&mut self, op: OpId, verdict: Verdict) -> Next {
        self.give(Input::Authorized { op, verdict })
    }

    #[track_caller]
    pub(crate) fn wake(&mut self, quiet: bool) -> Next {
        self.give(Input::Wake { quiet })
    }

    #[track_caller]
    pub(crate) fn cancel(&mut self) -> CancelReply {
        self.commands += 1;
        let command = CommandId(self.commands);
        self.give(Input::Cancel { command });
        match self.outputs.last() {
            Some(Output::Reply { command: own, reply: Reply::Cancel(reply) }) if *own == command => *reply,
            other => panic!("no reply but {other:?}"),
        }
    }

    fn command(&mut self) -> CommandId {
        self.commands += 1;
        CommandId(self.commands)
    }

    /// The reply to the command that was given last; other outputs may stand around it.
    #[track_caller]
    fn reply(&self, own: CommandId) -> Reply {
        let reply = self.outputs.iter().rev().find_map(|output| match output {
            Output::Reply { command, reply } if *command == own => Some(reply.clone()),
            _ => None,
        });
        reply.expect("a reply")
    }

    /// People add an input under this id.
    #[track_caller]
    pub(crate) fn steer(&mut self, id: &str, text: &str) -> Result<String, SteerError> {
        self.steer_parts(Some(id), vec![Part::Text(text.into())])
    }

    #[track_caller]
    pub(crate) fn steer_parts(&mut self, id: Option<&str>, parts: Vec<Part>) -> Result<String, SteerError> {
        let command = self.command();
        let id = id.map(|id| SteerId::new(id).unwrap());
        self.give(Input::Steer(Box::new(SteerInput { command, id, parts })));
        match self.reply(command) {
            Reply::Steer(reply) => reply.map(|id| id.as_str().to_owned()),
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn retract(&mut self, id: &str) -> RetractReply {
        let command = self.command();
        self.give(Input::Retract(Box::new(Retract { command, id: SteerId::new(id).unwrap() })));
        match self.reply(command) {
            Reply::Retract(reply) => reply,
            other => panic!("{other:?}"),
        }
    }

    /// The source answers `op`.
    #[track_caller]
    pub(crate) fn boundary(&mut self, op: OpId, answer: BoundaryAnswer) -> Result<bool, BoundaryError> {
        let command = self.command();
        self.give(Input::Boundary { op, command, answer });
        match self.reply(command) {
            Reply::Boundary(reply) => reply,
            other => panic!("{other:?}"),
        }
    }

    /// The source answers the question that was asked last, with this text or nothing.
    #[track_caller]
    pub(crate) fn tells(&mut self, text: &str) -> bool {
        let parts = if text.is_empty() { Vec::new() } else { vec![Part::Text(text.into())] };
        self.boundary(self.op(), BoundaryAnswer::Input(parts)).expect("it is in bounds")
    }

    /// Where the source was asked, in order.
    pub(crate) fn asked(&self) -> Vec<&'static str> {
        let asked = |output: &Output| match output {
            Output::Begin { work: Work::Boundary(request), .. } => Some(request.boundary.as_str()),
            _ => None,
        };
        self.outputs.iter().filter_map(asked).collect()
    }

    /// The compactions that were asked for, in order: what set each off, and how many messages it replaces.
    pub(crate) fn compactions(&self) -> Vec<(&'static str, usize)> {
        let asked = |output: &Output| match output {
            Output::Begin { work: Work::Compact(request), .. } => {
                Some((request.trigger.as_str(), request.cut))
            }
            _ => None,
        };
        self.outputs.iter().filter_map(asked).collect()
    }

    #[track_caller]
    pub(crate) fn compacted(&mut self, result: Result<Compaction, CompactionFault>) -> Next {
        let op = self.op();
        self.give(Input::Compacted { op, result: result.map(Box::new).map_err(Box::new) })
    }

    /// The ids of the inputs that the outcome returns.
    pub(crate) fn unapplied(&self) -> Vec<&str> {
        self.outcome().unapplied.iter().map(|steer| steer.id.as_str()).collect()
    }

    /// The texts of the messages in the outcome's history, with their roles' first letters.
    pub(crate) fn said(&self) -> Vec<String> {
        self.outcome().history.iter().map(|message| said(message)).collect()
    }

    #[track_caller]
    pub(crate) fn abort(&mut self, cause: AbortCause) -> Next {
        self.give(Input::Abort(cause))
    }

    /// The kinds of all events.
    pub(crate) fn kinds(&self) -> Vec<&'static str> {
        self.events.iter().map(|envelope| envelope.event.kind().as_str()).collect()
    }

    /// The kinds of the events from the `n`-th on, counted from 0.
    pub(crate) fn kinds_from(&self, n: usize) -> Vec<&'static str> {
        self.kinds().split_off(n)
    }

    pub(crate) fn json(&self, at: usize) -> String {
        self.events[at].to_json(self.checked.run().log().run_id())
    }

    pub(crate) fn last(&self) -> &Event {
        &self.events.last().expect("an event").event
    }

    /// The statuses of all finished calls, with their ordinals, in order of the events.
    pub(crate) fn statuses(&self) -> Vec<(u32, &'static str)> {
        let status = |envelope: &Envelope| match &envelope.event {
            Event::ToolFinished(result) => Some((result.call.ordinal, result.status.as_str())),
            _ => None,
        };
        self.events.iter().filter_map(status).collect()
    }

    pub(crate) fn outcome(&self) -> &Outcome {
        self.checked.run().outcome().expect("an outcome")
    }

    pub(crate) fn is_live(&self) -> bool {
        self.checked.run().outcome().is_none()
    }

    #[track_caller]
    pub(crate) fn error(&self) -> &RunError {
        match &self.outcome().result {
            RunResult::Failed(error) => error,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn answer(&self) -> &str {
        &self.outcome().answer().expect("an answer").text
    }

    /// The roles of the messages in the outcome's history.
    pub(crate) fn roles(&self) -> Vec<&'static str> {
        self.outcome().history.iter().map(|message| message.role().as_str()).collect()
    }

    /// Ends the account: equal inputs gave equal logs (W8).
    #[track_caller]
    pub(crate) fn replays(&self) {
        self.checked.replay_journal().unwrap_or_else(|broken| panic!("{broken}"));
    }
}

pub(crate) fn done(finish: Option<Finish>) -> ModelItem {
    ModelItem::Done(Box::new(Completion::new(finish, "")))
}

pub(crate) fn output(text: &str) -> ToolItem {
    ToolItem::Done(ToolEnd::Output(ToolOutput::text(text)))
}

pub(crate) fn delta(index: Option<u32>, id: &str, name: &str, arguments: &str) -> ModelItem {
    let some = |text: &str| Some(Text::new(text)).filter(|text| !text.is_empty());
    ModelItem::CallDelta(Box::new(CallDelta {
        index,
        id: some(id),
        name: some(name),
        arguments: arguments.into(),
    }))
}

/// A message's text, behind its role's first letter.
pub(crate) fn said(message: &Message) -> String {
    let text: Vec<&str> = message
        .parts()
        .iter()
        .filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    format!("{} {}", &message.role().as_str()[..1], text.join("|"))
}
