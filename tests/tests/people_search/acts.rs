//! What can be done to a run, as it stands.

use crate::world::{Op, TOOLS, World, done};
use runloom_core::host_input::{HostAnswer, HostRequest, Question, Refusal, RequestKind, Shape};
use runloom_core::id::{CommandId, OpId, RequestId};
use runloom_core::input::{AbortCause, Answerers, Input, Reader, Recover, Respond};
use runloom_core::model::{Completion, FinalCall, Finish, ModelItem};
use runloom_core::observe::ObserverFault;
use runloom_core::time::Time;
use runloom_core::tool::{
    Access, Ask, Preparation, Resource, ToolAsk, ToolEnd, ToolFault, ToolItem, ToolOutput, ToolVisibility,
    Verdict,
};
use std::sync::Arc;
use std::time::Duration;

const COMMAND: CommandId = CommandId(1);

/// Each with its time.
pub(crate) fn acts(world: &World) -> Vec<(Time, Input)> {
    let now = world.now;
    let mut all: Vec<(Time, Input)> = Vec::new();
    if let Some(value) = world.suspended() {
        let resume = world.resumption(value);
        for (nobody, cancelled) in [(false, false), (false, false), (true, false), (false, true)] {
            let mut resume = resume.clone();
            if nobody {
                (resume.answerers.handle, resume.answerers.responder) = (false, false);
            }
            resume.cancelled = cancelled;
            all.push((now, Input::Resume(Box::new(resume))));
        }
        let mut without = resume;
        without.tools = without.tools.iter().filter(|tool| tool.client).cloned().collect();
        all.push((now, Input::Resume(Box::new(without))));
        return all;
    }
    for (op, state) in &world.ops {
        all.extend(of_op(*op, state).into_iter().map(|input| (now, input)));
    }
    for request in world.checked.run().requests() {
        let answers = answers(request);
        all.extend(answers.into_iter().map(|answer| (now, respond(&request.id, answer))));
    }
    if let Some(over) = &world.over {
        all.push((now, respond(over, HostAnswer::allow())));
    }
    if let Some(op) = world.ended {
        all.push((now, Input::Tool { op, item: done("late") }));
        all.push((now, Input::Responded { op, answer: None }));
    }
    let hide = ToolVisibility { show: vec!["hidden".into()], hide: vec!["form".into()] };
    all.push((now, Input::Visibility(Box::new(hide))));
    all.push((now, Input::Suspend { command: COMMAND }));
    all.push((now, Input::HandleGone));
    for (handle, responder) in [(true, true), (false, false)] {
        let recover = Recover::new(Reader::Unattended, Answerers { handle, responder });
        all.push((now, Input::Recover(Box::new(recover))));
    }
    all.push((now, Input::Cancel { command: COMMAND }));
    all.push((now, Input::Abort(AbortCause::HandleDropped)));
    if let Some(wake) = world.checked.next().and_then(|next| next.wake) {
        all.push((wake.at, Input::Wake { quiet: true }));
        all.push((wake.at, Input::Wake { quiet: false }));
    }
    all
}

fn of_op(op: OpId, state: &Op) -> Vec<Input> {
    let tool = |item| Input::Tool { op, item };
    match state {
        Op::Model => {
            let call = |name: &str| {
                let call = FinalCall { id: None, name: name.into(), arguments: "{}".into() };
                Input::Model { op, item: ModelItem::Call(Box::new(call)) }
            };
            let end = |finish| {
                let done = ModelItem::Done(Box::new(Completion::new(Some(finish), "")));
                Input::Model { op, item: done }
            };
            let mut all: Vec<Input> = TOOLS.iter().map(|name| call(name)).collect();
            all.extend([Input::Model { op, item: ModelItem::Text("x".into()) }, end(Finish::Stop)]);
            all.extend([end(Finish::ToolCalls), end(Finish::ToolCalls), end(Finish::ToolCalls)]);
            all
        }
        Op::Begun => vec![tool(ToolItem::Started)],
        Op::Running { asked } => running(*asked).into_iter().map(tool).collect(),
        Op::Prepare => {
            let src = Preparation::new().access(Access::to([Resource::write("src/a")])).summary("edits");
            let fault = Box::new(ToolFault::new("no such file"));
            let of = |result| Input::Prepared { op, result };
            vec![of(Ok(Box::default())), of(Ok(Box::new(src))), of(Err(fault))]
        }
        Op::Authorize(binding) => {
            let ask = Verdict::Ask { reason: "it writes".into(), timeout: None };
            let all = [Verdict::Allow(*binding), Verdict::Deny { reason: "no".into() }, ask];
            all.into_iter().map(|verdict| Input::Authorized { op, verdict }).collect()
        }
        Op::Observe(request) => {
            let of = |result: Result<(), _>| Input::Observed { op, result: result.map_err(Box::new) };
            let part = ObserverFault::new(request.through(), "no");
            // Most are accepted, or no run would come far.
            let accepted = (0..24).map(|_| of(Ok(())));
            accepted.chain([of(Err(request.refuse("no"))), of(Err(part))]).collect()
        }
        Op::Respond => {
            let all = [None, Some(HostAnswer::allow()), Some(HostAnswer::value("\"x\""))];
            all.into_iter().map(|answer| Input::Responded { op, answer: answer.map(Box::new) }).collect()
        }
    }
}

fn running(asked: u64) -> Vec<ToolItem> {
    let text = || Question::value("?", Shape::Text);
    let ask = |question| ToolItem::Ask(Box::new(Ask { ticket: asked + 1, question: Arc::new(question) }));
    let back = |question| {
        let ask = ToolAsk { question: Arc::new(question), state: "kept".into() };
        ToolItem::Done(ToolEnd::Ask(Box::new(ask)))
    };
    let hurried = text().timeout(Duration::from_secs(1)).fallback(HostAnswer::value("\"late\""));
    let mut all = vec![
        done("42"),
        ask(text()),
        ask(hurried.clone()),
        ask(text().timeout(Duration::from_secs(2))),
        ask(text().id(RequestId::new("mine").unwrap())),
        back(text()),
        back(hurried),
        back(text().secret()),
        back(Question::value("?", Shape::one_of([]))),
        ToolItem::Progress("half".into()),
        ToolItem::Done(ToolEnd::Panicked),
        ToolItem::Done(ToolEnd::Failed(Box::new(ToolFault::new("broken")))),
    ];
    all.extend((asked > 0).then_some(ToolItem::Withdraw(asked)));
    all
}

fn respond(request: &RequestId, answer: HostAnswer) -> Input {
    Input::Respond(Box::new(Respond { command: COMMAND, request: request.clone(), answer }))
}

/// Some that fit, and one that does not.
fn answers(request: &HostRequest) -> Vec<HostAnswer> {
    match &request.kind {
        RequestKind::Approval { .. } => vec![
            HostAnswer::allow(),
            HostAnswer::allow_always(),
            HostAnswer::allow_with("{\"a\":1}"),
            HostAnswer::deny("no"),
            HostAnswer::value("1"),
        ],
        RequestKind::Question(_) => {
            vec![HostAnswer::value("\"x\""), HostAnswer::Refused(Refusal::Declined), HostAnswer::value("1")]
        }
        RequestKind::Call => vec![HostAnswer::Result(ToolOutput::text("page")), HostAnswer::allow()],
        other => panic!("{other:?}"),
    }
}
