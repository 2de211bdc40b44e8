//! A run under its laws, and what its surroundings know of it; over all parts of a run that is suspended.

use runloom_core::config::{Config, Deadlines, Limits};
use runloom_core::event::Envelope;
use runloom_core::history::History;
use runloom_core::id::{OpId, RequestId, Revision, RunId, SessionId};
use runloom_core::input::{Answerers, Input, Reader, Start};
use runloom_core::laws::{Checked, Depth};
use runloom_core::message::Part;
use runloom_core::model::{Completion, FinalCall, Finish, ModelItem, ModelSpec};
use runloom_core::observe::ObserveRequest;
use runloom_core::outcome::RunResult;
use runloom_core::output::{Output, Work};
use runloom_core::suspend::{Resume, Suspended};
use runloom_core::time::Time;
use runloom_core::tool::{Access, ApprovalPolicy, Resource, ToolEnd, ToolItem, ToolSpec};
use std::sync::Arc;
use std::time::Duration;

pub(crate) const TOOLS: [&str; 8] =
    ["person", "decided", "page", "form", "prep", "alone", "hidden", "writer"];

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Op {
    Model,
    Begun,
    Running { asked: u64 },
    Prepare,
    Authorize(runloom_core::tool::Binding),
    Respond,
    Observe(Arc<ObserveRequest>),
}

#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) checked: Checked,
    pub(crate) now: Time,
    pub(crate) ops: Vec<(OpId, Op)>,
    /// An operation that has ended, and a request that is over.
    pub(crate) ended: Option<OpId>,
    pub(crate) over: Option<RequestId>,
    pub(crate) events: Vec<Envelope>,
    pub(crate) trail: Vec<(Time, Input)>,
    start: Start,
    config: Arc<Config>,
}

fn specs() -> Vec<Arc<ToolSpec>> {
    let tool = |name: &str| ToolSpec::new(name, "", "{}").unwrap().access(Access::Shared);
    let writes = Access::to([Resource::write("src").tree()]);
    let all = [
        tool("person").approval(ApprovalPolicy::Ask),
        tool("decided").needs_approval(),
        tool("page").client(),
        tool("form").deadline(Duration::from_secs(5)),
        tool("prep").prepares().approval(ApprovalPolicy::Ask).fatal(),
        tool("alone").access(Access::Exclusive).approval(ApprovalPolicy::Ask),
        tool("hidden").hidden(),
        tool("writer").access(writes).prepares(),
    ];
    all.into_iter().map(Arc::new).collect()
}

fn config() -> Arc<Config> {
    let mut limits = Limits::default();
    (limits.calls, limits.parts, limits.steps, limits.parallel_tools) = (4, 8, 3, 2);
    (limits.open_questions, limits.preparations, limits.approvals) = (2, 1, 2);
    let mut deadlines = Deadlines::default();
    deadlines.host_input = Some(Duration::from_secs(20));
    Arc::new(Config::new(limits).unwrap().deadlines(deadlines).unwrap())
}

impl World {
    /// A run that waits for its model.
    pub(crate) fn new(answerers: Answerers, suspends: bool, observers: u32) -> Self {
        let session = SessionId::new("s").unwrap();
        let (input, model) = (vec![Part::Text("hello".into())], Arc::new(ModelSpec::new("m")));
        let start = Start::new(session, Revision(0), History::default(), input, model)
            .tools(specs())
            .reader(Reader::Unattended)
            .answerers(answerers)
            .observers(observers)
            .suspends(suspends);
        let config = config();
        let mut world = Self {
            checked: Checked::new(RunId::new("r").unwrap(), Arc::clone(&config)).depth(Depth::Probed),
            now: Time::ZERO,
            ops: Vec::new(),
            ended: None,
            over: None,
            events: Vec::new(),
            trail: Vec::new(),
            start: start.clone(),
            config,
        };
        world.step(Time::ZERO, Input::Start(Box::new(start))).unwrap();
        world
    }

    /// The model asks for these calls.
    pub(crate) fn calls(&mut self, names: &[&str]) {
        let op = self.ops.iter().find(|(_, op)| *op == Op::Model).expect("a model call").0;
        for name in names {
            let call = FinalCall { id: None, name: (*name).into(), arguments: "{}".into() };
            self.step(self.now, Input::Model { op, item: ModelItem::Call(Box::new(call)) }).unwrap();
        }
        let done = ModelItem::Done(Box::new(Completion::new(Some(Finish::ToolCalls), "")));
        self.step(self.now, Input::Model { op, item: done }).unwrap();
    }

    pub(crate) fn suspended(&self) -> Option<&Arc<Suspended>> {
        match &self.checked.run().outcome()?.result {
            RunResult::Suspended(value) => Some(value),
            _ => None,
        }
    }

    /// Whether the run has ended for good.
    pub(crate) fn is_over(&self) -> bool {
        self.checked.run().outcome().is_some() && self.suspended().is_none()
    }

    /// What the suspended run goes on with.
    pub(crate) fn resumption(&self, value: &Arc<Suspended>) -> Resume {
        let start = self.start.clone();
        let approvals = self.checked.run().outcome().map(|outcome| outcome.approvals.clone());
        let mut resume =
            Resume::new(Arc::clone(value), start.session, start.revision, start.history, start.model);
        (resume.tools, resume.reader, resume.answerers) = (start.tools, start.reader, start.answerers);
        resume.observers = start.observers;
        resume.approvals = approvals.unwrap_or_default();
        resume
    }

    pub(crate) fn step(&mut self, now: Time, input: Input) -> Result<(), String> {
        self.trail.push((now, input.clone()));
        if let Input::Resume(_) = &input {
            self.checked.replay_journal().map_err(|broken| broken.to_string())?;
            self.checked =
                Checked::new(RunId::new("r").unwrap(), Arc::clone(&self.config)).depth(Depth::Probed);
            self.ops.clear();
        }
        let stepped = self.checked.step(now, input.clone()).map_err(|broken| broken.to_string())?;
        if let Err(misuse) = stepped.answer {
            return Err(format!("{misuse}"));
        }
        self.now = self.now.max(now);
        let since = stepped.since.max(self.events.last().map_or(stepped.since, |last| last.seq));
        self.events.extend(self.checked.run().log().after(since).cloned());
        self.noticed(&input);
        for output in &stepped.outputs {
            self.note(output);
        }
        Ok(())
    }

    fn noticed(&mut self, input: &Input) {
        let ends = match input {
            Input::Model { op, item: ModelItem::Done(_) | ModelItem::Failed(_) }
            | Input::Tool { op, item: ToolItem::Done(_) }
            | Input::Prepared { op, .. }
            | Input::Authorized { op, .. }
            | Input::Observed { op, .. }
            | Input::Responded { op, .. } => Some(*op),
            _ => None,
        };
        if let Some(ended) = ends {
            self.ops.retain(|(op, _)| *op != ended);
            self.ended = Some(ended);
        }
        match input {
            Input::Tool { op, item: ToolItem::Started } => self.set(*op, Op::Running { asked: 0 }),
            Input::Tool { op, item: ToolItem::Ask(ask) } => self.set(*op, Op::Running { asked: ask.ticket }),
            Input::Respond(respond) => self.over = Some(respond.request.clone()),
            _ => {}
        }
    }

    fn set(&mut self, op: OpId, state: Op) {
        if let Some((_, own)) = self.ops.iter_mut().find(|(own, _)| *own == op) {
            *own = state;
        }
    }

    fn note(&mut self, output: &Output) {
        match output {
            Output::Begin { op, work } => {
                let state = match work {
                    Work::Model(_) => Op::Model,
                    Work::Tool(_) => Op::Begun,
                    Work::Prepare(_) => Op::Prepare,
                    Work::Authorize(request) => Op::Authorize(request.binding),
                    Work::Respond(_) => Op::Respond,
                    Work::Observe(request) => Op::Observe(Arc::clone(request)),
                    other => panic!("{other:?}"),
                };
                self.ops.push((*op, state));
            }
            Output::Abandon { op } => {
                self.ops.retain(|(own, _)| own != op);
                self.ended = Some(*op);
            }
            Output::Deliver { .. } | Output::Reply { .. } => {}
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn done(text: &str) -> ToolItem {
    ToolItem::Done(ToolEnd::Output(runloom_core::tool::ToolOutput::text(text)))
}
