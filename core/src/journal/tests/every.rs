//! Inputs and configurations with everything in them that a plain JSON number or a tidy value would not carry.

use crate::boundary::BoundaryAnswer;
use crate::compaction::{Compaction, CompactionFault, CompactionPolicy, ContextState};
use crate::config::{Config, Deadlines, Limits, RetryPolicy};
use crate::history::{History, HistoryBounds};
use crate::host_input::{Choice, Field, Form, HostAnswer, Prompt, Question, Questionnaire, Refusal, Shape};
use crate::id::{CallRef, CommandId, MessageId, OpId, RequestId, Revision, Seq, SessionId, SteerId};
use crate::input::{AbortCause, Answerers, Input, Reader, Recover, Respond, Retract, Start, SteerInput};
use crate::message::{
    Image, ImageData, Message, MessageBounds, Part, ProviderContext, Role, ToolCall, ToolResult, ToolStatus,
};
use crate::model::{
    Activity, CallDelta, Completion, FinalCall, Finish, ModelItem, ModelParameters, ModelSpec, Problem,
    ProblemKind, SteeringItem, ToolChoice,
};
use crate::observe::ObserverFault;
use crate::saved::ImportBounds;
use crate::suspend::{Resume, Suspended};
use crate::tool::{
    Access, ApprovalPolicy, Approvals, Ask, Binding, Preparation, Resource, ToolAsk, ToolEnd, ToolFault,
    ToolItem, ToolOutput, ToolSpec, ToolVisibility, Verdict,
};
use crate::usage::{GenerationTokens, Usage};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

const ODD: &str = "\u{0}\n\"\\\u{7f}\u{2028}\u{1f600}e\u{301}";

fn call(arguments: &str) -> Arc<ToolCall> {
    let at = CallRef { step: u32::MAX, ordinal: 0 };
    Arc::new(ToolCall { call: at, id: "c".into(), name: ODD.into(), arguments: arguments.into() })
}

/// Parts of every kind, also where they are out of place: it is the machine that judges them.
fn parts() -> Vec<Part> {
    let image = |data| Part::Image(Arc::new(Image { media_type: "image/png".into(), data }));
    let context = ProviderContext { model: "m".into(), kind: "k".into(), payload: ODD.into() };
    let own = call("{ \"a\" : 1.50e3 }");
    let result = |content: Vec<Part>| {
        let (id, name) = (own.id.clone(), own.name.clone());
        let status = ToolStatus::InterruptedOutcomeUnknown;
        Part::ToolResult(Arc::new(ToolResult { call: own.call, id, name, status, content: content.into() }))
    };
    vec![
        Part::Text("".into()),
        Part::Text(ODD.into()),
        image(ImageData::Bytes([0, 255, 7].into())),
        image(ImageData::Url("https://x/?\"".into())),
        Part::ToolCall(Arc::clone(&own)),
        Part::Context(Arc::new(context)),
        result(vec![Part::ToolCall(own.clone()), result(vec![Part::Text("x".into())])]),
    ]
}

fn output() -> ToolOutput {
    let mut output = ToolOutput::parts(parts());
    output.is_error = true;
    output
}

fn spans() -> [Duration; 5] {
    [
        Duration::ZERO,
        Duration::from_micros(1),
        Duration::from_nanos(1_500),
        Duration::from_secs(1 << 40),
        Duration::MAX,
    ]
}

fn usage() -> Usage {
    let mut usage = Usage::new(u64::MAX, 1 << 53);
    (usage.cache_read_tokens, usage.reasoning_tokens) = (Some(0), Some((1 << 53) - 1));
    usage
}

fn questions() -> Vec<Question> {
    let mut prompt = Prompt::new("id", ODD);
    prompt.choices = vec![Choice { value: "v".into(), label: "".into() }];
    (prompt.several, prompt.other) = (true, true);
    // Two prompts of one id: the tool is told that it cannot be asked.
    let twice = Questionnaire { title: "t".into(), prompts: vec![prompt.clone(), prompt] };
    let field = Field { name: "f".into(), shape: Shape::List(Box::new(Shape::Integer)), required: true };
    let shape = Shape::Object(vec![field]);
    let forms = [Form::Questionnaire(twice), Form::Value { prompt: ODD.into(), shape }];
    let with = |(form, timeout): (Form, Duration)| {
        let mut question = Question::new(form);
        (question.timeout, question.secret) = (Some(timeout), true);
        question.id = Some(RequestId::new("q").unwrap());
        question.fallback = Some(HostAnswer::Result(output()));
        question
    };
    let [first, second] = forms;
    vec![with((first.clone(), spans()[2])), with((second, spans()[3])), Question::new(first)]
}

fn answers() -> Vec<HostAnswer> {
    vec![
        HostAnswer::Allow { remember: true, arguments: Some(ODD.into()) },
        HostAnswer::Deny { reason: ODD.into() },
        HostAnswer::Choices([("id".into(), ["a".into(), "b".into()].into())].into()),
        HostAnswer::Value("1.0".into()),
        HostAnswer::Result(output()),
        HostAnswer::Refused(Refusal::Declined),
        HostAnswer::Refused(Refusal::Dismissed),
    ]
}

fn history() -> History {
    let bounds = MessageBounds { parts: 9, text: 999, image: 99 };
    let message = |n: u32, role, parts| {
        let id = MessageId::new(alloc::format!("m{n}")).unwrap();
        Message::new(id, role, parts, &bounds).unwrap()
    };
    let own = call("");
    let result = ToolResult {
        call: own.call,
        id: own.id.clone(),
        name: own.name.clone(),
        status: ToolStatus::Denied,
        content: [Part::Text("no".into())].into(),
    };
    let messages = [
        message(1, Role::User, vec![Part::Text("a".into())]),
        message(2, Role::Assistant, vec![Part::Text(ODD.into()), Part::ToolCall(own)]),
        message(3, Role::Tool, vec![Part::ToolResult(Arc::new(result))]),
        message(4, Role::Boundary, vec![Part::Text("b".into())]),
    ];
    // A run may have brought it above its bounds.
    let history = History::from_messages(HistoryBounds::default(), messages).unwrap();
    history.with_bounds(HistoryBounds { messages: 2, bytes: u64::MAX })
}

fn model() -> Arc<ModelSpec> {
    let parameters = ModelParameters {
        max_output_tokens: Some(u32::MAX),
        temperature: Some(-0.0),
        top_p: Some(0.1 + 0.2),
        stop: vec!["".into(), ODD.into()],
        reasoning_effort: Some("low".into()),
        thinking_budget: Some(0),
        tool_choice: ToolChoice::Tool(ODD.into()),
        parallel_tool_calls: Some(false),
        extra: Some("{ \"a\": 1e400 }".into()),
    };
    Arc::new(ModelSpec::new(ODD).system(ODD).parameters(parameters))
}

fn tools() -> Arc<[Arc<ToolSpec>]> {
    let policies = [
        ApprovalPolicy::Allow,
        ApprovalPolicy::Deny { reason: ODD.into() },
        ApprovalPolicy::Ask,
        ApprovalPolicy::Decide,
    ];
    let accesses = [
        Access::Exclusive,
        Access::Shared,
        Access::to([Resource::write("a/b").tree(), Resource::read("")]),
        Access::to([]),
    ];
    let spec = |(at, (policy, access)): (usize, (ApprovalPolicy, Access))| {
        let name = alloc::format!("t{at}");
        let mut spec = ToolSpec::new(name, ODD, "{ \"type\" : \"object\" }").unwrap();
        spec = spec.approval(policy).access(access).deadline(spans()[at]);
        spec.fatal = at == 1;
        spec.prepares = at == 2;
        spec.client = at == 3;
        spec.hidden = at == 0;
        Arc::new(spec)
    };
    policies.into_iter().zip(accesses).enumerate().map(spec).collect()
}

fn start() -> Start {
    let session = SessionId::new("s").unwrap();
    let mut start = Start::new(session, Revision(1 << 52), history(), parts(), model());
    (start.tools, start.reader, start.cancelled) = (tools(), Reader::Unattended, true);
    start.observers = 3;
    start.approvals = Approvals::of_keys([[0; 32], [0xab; 32]]);
    start.answerers = Answerers { handle: false, responder: true };
    (start.suspends, start.boundaries, start.compacts) = (true, true, true);
    start.context = ContextState::extreme();
    start
}

/// A run that was put aside by an earlier version, with a member that is not known.
fn suspended() -> Suspended {
    let json = include_str!("../../suspend/tests/golden_v1.json").trim_end();
    Suspended::from_json_within(json, &ImportBounds::default()).unwrap()
}

fn resume() -> Resume {
    let start = start();
    let (session, history) = (start.session, start.history);
    let mut resume = Resume::new(Arc::new(suspended()), session, start.revision, history, start.model);
    (resume.tools, resume.approvals, resume.context) = (start.tools, start.approvals, start.context);
    (resume.suspends, resume.boundaries, resume.compacts, resume.cancelled) = (true, true, true, true);
    resume
}

fn model_items() -> Vec<ModelItem> {
    let context = ProviderContext { model: "m".into(), kind: "k".into(), payload: ODD.into() };
    let mut items = vec![
        ModelItem::Text(ODD.into()),
        ModelItem::Refusal("".into()),
        ModelItem::Reasoning("r".into()),
        ModelItem::ReasoningSummary("s".into()),
        ModelItem::CallDelta(Box::default()),
        ModelItem::CallDelta(Box::new(CallDelta {
            index: Some(u32::MAX),
            id: Some("".into()),
            name: Some(ODD.into()),
            arguments: "{".into(),
        })),
        ModelItem::Call(Box::new(FinalCall { id: Some("i".into()), name: "n".into(), arguments: "".into() })),
        ModelItem::CallEnd(7),
        ModelItem::Usage(Box::default()),
        ModelItem::Usage(Box::new(usage())),
        ModelItem::GenerationTokens(GenerationTokens::Unavailable),
        ModelItem::GenerationTokens(GenerationTokens::Reported(u64::MAX)),
        ModelItem::Context(Arc::new(context)),
        ModelItem::Steering(Box::new(SteeringItem::Claim)),
        ModelItem::Steering(Box::new(SteeringItem::Delivered(SteerId::new("d").unwrap()))),
        ModelItem::Steering(Box::new(SteeringItem::Released(SteerId::new("r").unwrap()))),
        ModelItem::Activity(Box::new(Activity::WebSearch { detail: ODD.into() })),
        ModelItem::Activity(Box::new(Activity::HostedTool { name: "n".into(), detail: "d".into() })),
        ModelItem::Activity(Box::new(Activity::Diagnostic { name: "a.b".into(), value: ODD.into() })),
        ModelItem::Alive,
        ModelItem::Done(Box::new(Completion::new(None, ODD))),
    ];
    items.extend(
        super::super::model::FINISHES
            .map(|finish: Finish| ModelItem::Done(Box::new(Completion::new(Some(finish), finish.as_str())))),
    );
    items.extend(spans().map(|delay| {
        ModelItem::Activity(Box::new(Activity::RequestRetry { kind: ProblemKind::Server, delay }))
    }));
    items.extend(ProblemKind::ALL.map(|kind| {
        let mut problem = Problem::new(kind, "p");
        problem.message = ODD.into();
        (problem.status, problem.retryable) = (Some(u16::MAX), Some(false));
        problem.retry_after = Some(spans()[2]);
        ModelItem::Failed(Box::new(problem))
    }));
    items
}

fn tool_items() -> Vec<ToolItem> {
    let change = ToolVisibility { show: vec!["a".into(), "".into()], hide: vec![ODD.into()] };
    let mut items = vec![
        ToolItem::Started,
        ToolItem::Progress(ODD.into()),
        ToolItem::Withdraw(u64::MAX),
        ToolItem::Visibility(Box::new(change)),
        ToolItem::Done(ToolEnd::Output(output())),
        ToolItem::Done(ToolEnd::Panicked),
        ToolItem::Done(ToolEnd::Failed(Box::new(ToolFault::new("x")))),
        ToolItem::Done(ToolEnd::Failed(Box::new(ToolFault::new("x").definitive().retryable()))),
    ];
    for question in questions() {
        let question = Arc::new(question);
        items.push(ToolItem::Ask(Box::new(Ask { ticket: 1 << 60, question: Arc::clone(&question) })));
        items.push(ToolItem::Done(ToolEnd::Ask(Box::new(ToolAsk { question, state: ODD.into() }))));
    }
    items
}

/// At least one input of every kind, and in them values of every kind.
pub(super) fn inputs() -> Vec<Input> {
    let (op, command) = (OpId(u64::MAX), CommandId(u64::MAX));
    let steer = |id| SteerInput { command, id, parts: parts() };
    let fault = || Box::new(ToolFault::new("f"));
    let preparation = Preparation::new().access(Access::Shared).summary(ODD);
    let mut compaction = Compaction::of([(Role::User, parts()), (Role::AbortedAssistant, vec![])]);
    compaction.usage = usage();
    let mut inputs = vec![
        Input::Start(Box::new(start())),
        Input::Resume(Box::new(resume())),
        Input::Recover(Box::new(Recover::new(Reader::Unattended, Answerers::default()).observers(u32::MAX))),
        Input::Observed { op: OpId::observing(1), result: Ok(()) },
        Input::Observed {
            op: OpId::observing(u64::MAX),
            result: Err(Box::new(ObserverFault::new(Seq(u64::MAX), ODD))),
        },
        Input::Cancel { command },
        Input::Suspend { command },
        Input::Wake { quiet: true },
        Input::Prepared { op, result: Ok(Box::new(preparation)) },
        Input::Prepared { op, result: Ok(Box::default()) },
        Input::Prepared { op, result: Err(fault()) },
        Input::Authorized { op, verdict: Verdict::Allow(Binding::of(&call("x"))) },
        Input::Authorized { op, verdict: Verdict::Deny { reason: ODD.into() } },
        Input::Authorized { op, verdict: Verdict::Ask { reason: ODD.into(), timeout: Some(spans()[4]) } },
        Input::Responded { op, answer: None },
        Input::HandleGone,
        Input::Steer(Box::new(steer(None))),
        Input::Steer(Box::new(steer(Some(SteerId::new("s").unwrap())))),
        Input::Retract(Box::new(Retract { command, id: SteerId::new("s").unwrap() })),
        Input::Boundary { op, command, answer: BoundaryAnswer::Input(parts()) },
        Input::Boundary { op, command, answer: BoundaryAnswer::Input(vec![]) },
        Input::Boundary { op, command, answer: BoundaryAnswer::Lost },
        Input::Compacted { op, result: Ok(Box::new(compaction)) },
        Input::Compacted { op, result: Err(Box::new(CompactionFault::new(ODD).usage(usage()))) },
        Input::Visibility(Box::default()),
        Input::Taken { through: Seq((1 << 53) - 1) },
        Input::ConsumerGone { awaited: true },
    ];
    let causes = [
        AbortCause::HandleDropped,
        AbortCause::DriverDropped,
        AbortCause::DriverPanicked,
        AbortCause::Shutdown,
        AbortCause::ProcessLost,
    ];
    inputs.extend(causes.map(Input::Abort));
    inputs.extend(model_items().into_iter().map(|item| Input::Model { op: OpId(1), item }));
    inputs.extend(tool_items().into_iter().map(|item| Input::Tool { op: OpId(1), item }));
    for answer in answers() {
        let request = RequestId::new("1.0/1").unwrap();
        inputs.push(Input::Respond(Box::new(Respond { command, request, answer: answer.clone() })));
        inputs.push(Input::Responded { op, answer: Some(Box::new(answer)) });
    }
    for float in [0.0, 1.0, -1.0, 0.5, 1e21, 1e-7, f64::MAX, f64::MIN_POSITIVE, f64::NAN, f64::INFINITY] {
        let mut own = start();
        let mut spec = (*own.model).clone();
        spec.parameters.temperature = Some(float);
        own.model = Arc::new(spec);
        inputs.push(Input::Start(Box::new(own)));
    }
    inputs
}

/// Configurations that differ from the default in every member.
pub(super) fn configs() -> Vec<Config> {
    let limits =
        Limits { log_events: usize::MAX, log_bytes: u64::MAX, steps: 1, late: 0, ..Limits::default() };
    let [_, micro, nanos, long, most] = spans();
    let deadlines = Deadlines {
        first_item: None,
        idle: Some(micro),
        attempt: Some(Duration::from_nanos(1_001)),
        model_call: Some(long),
        tool: Some(most),
        host_input: Some(nanos),
        compaction: None,
        run: Some(micro),
        finalization: Some(nanos),
    };
    let retry = RetryPolicy {
        attempts: 7,
        first_wait: Duration::new(1, 1),
        hint_cap: most,
        give_up_hint: nanos,
        malformed: 1,
        invalid_turns: 1,
    };
    let policy = CompactionPolicy::at_tokens(u64::MAX).keep_tokens(1 << 60).keep_messages(usize::MAX);
    let full = Config::new(limits).unwrap().deadlines(deadlines).unwrap().retry(retry).unwrap();
    let full = full.compaction(policy).unwrap().limits_pointer(ODD).fact_namespaces(["a", ODD]);
    vec![Config::default(), full]
}
