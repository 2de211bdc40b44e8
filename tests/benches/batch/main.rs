//! One batch of calls on the bare machine, for counting instructions: `batch CASE CALLS TIMES`.
//!
//! `instructions.sh` beside this file runs it under valgrind and prints what a call costs in batches of several sizes.
//! Started by `cargo bench` it runs each case once, so that it stays in working order.
#![allow(clippy::unwrap_used)]

use runloom_core::history::History;
use runloom_core::host_input::HostAnswer;
use runloom_core::id::{CommandId, Revision, RunId, SessionId};
use runloom_core::input::{Input, Reader, Respond, Start};
use runloom_core::message::Part;
use runloom_core::model::{Completion, FinalCall, Finish, ModelItem, ModelSpec};
use runloom_core::output::{Outbox, Output, Work};
use runloom_core::time::Time;
use runloom_core::tool::{Access, ApprovalPolicy, ToolEnd, ToolItem, ToolOutput, ToolSpec};
use runloom_core::{Run, config::Config};
use std::collections::VecDeque;
use std::sync::Arc;

const CASES: [&str; 7] =
    ["shared", "exclusive", "resources", "trees", "approvals", "approvals-reversed", "client"];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    match args.as_slice() {
        [case, calls, times] => {
            let calls = calls.parse().unwrap();
            for _ in 0..times.parse::<u32>().unwrap() {
                batch(case, calls);
            }
        }
        _ => CASES.iter().for_each(|case| println!("{case}: {} events", batch(case, 128))),
    }
}

/// The tools of a case; calls take them in turn.
fn tools(case: &str) -> Vec<ToolSpec> {
    let spec = |name: &str| ToolSpec::new(name, "", "{}").unwrap();
    let path = |n: usize| format!("disk/folder-{n}");
    let touching = |n: usize| spec(&format!("t{n}")).access(Access::resources([(&*path(n), true)]));
    match case {
        "exclusive" => vec![spec("t")],
        // Each resource is written by every eighth call.
        "resources" => (0..8).map(touching).collect(),
        // A tree over all of them that is read, and one below it that is written.
        "trees" => {
            let tree = runloom_core::tool::Resource::read("disk").tree();
            vec![spec("all").access(Access::to([tree])), touching(0), touching(1)]
        }
        "approvals" | "approvals-reversed" => {
            vec![spec("t").access(Access::Shared).approval(ApprovalPolicy::Ask)]
        }
        "client" => vec![spec("t").access(Access::Shared).client()],
        _ => vec![spec("t").access(Access::Shared)],
    }
}

struct Bench {
    run: Run,
    out: Outbox,
    commands: u64,
}

impl Bench {
    fn step(&mut self, input: Input) {
        let _ = self.run.step(Time::ZERO, input, &mut self.out).unwrap();
    }

    /// Does what the run wants done until nothing is left.
    fn work(&mut self, calls: usize, tools: &[Arc<ToolSpec>]) {
        let mut queue = VecDeque::new();
        loop {
            queue.extend(std::iter::from_fn(|| self.out.pop()));
            let Some(output) = queue.pop_front() else { return };
            let Output::Begin { op, work } = output else { continue };
            match work {
                Work::Model(request) => {
                    let first = request.history.len() == 1;
                    for n in (0..calls).filter(|_| first) {
                        let name = tools[n % tools.len()].name.clone();
                        let (id, arguments) = (format!("call-{n}").into(), format!("{{\"n\":{n}}}").into());
                        let call = FinalCall { id: Some(id), name, arguments };
                        self.step(Input::Model { op, item: ModelItem::Call(Box::new(call)) });
                    }
                    if !first {
                        self.step(Input::Model { op, item: ModelItem::Text("done".into()) });
                    }
                    let finish = if first { Finish::ToolCalls } else { Finish::Stop };
                    let done = Completion::new(Some(finish), "stop");
                    self.step(Input::Model { op, item: ModelItem::Done(Box::new(done)) });
                }
                Work::Tool(_) => {
                    self.step(Input::Tool { op, item: ToolItem::Started });
                    let end = ToolEnd::Output(ToolOutput::text("ok"));
                    self.step(Input::Tool { op, item: ToolItem::Done(end) });
                }
                _ => {}
            }
        }
    }

    fn respond(&mut self, request: &runloom_core::host_input::HostRequest, answer: HostAnswer) {
        self.commands += 1;
        let (command, request) = (CommandId(self.commands), request.id.clone());
        self.step(Input::Respond(Box::new(Respond { command, request, answer })));
        let _ = self.out.take_reply(command);
    }
}

/// One run with one batch; how many events it has.
fn batch(case: &str, calls: usize) -> u64 {
    let run = Run::new(RunId::new("run").unwrap(), Arc::new(Config::default()));
    let mut bench = Bench { run, out: Outbox::new(), commands: 0 };
    let tools: Arc<[Arc<ToolSpec>]> = tools(case).into_iter().map(Arc::new).collect();
    let (session, input) = (SessionId::new("session").unwrap(), vec![Part::Text("go".into())]);
    let model = Arc::new(ModelSpec::new("m"));
    let start = Start::new(session, Revision(0), History::default(), input, model);
    let start = start.tools(Arc::clone(&tools)).reader(Reader::Unattended);
    bench.step(Input::Start(Box::new(start)));
    bench.work(calls, &tools);
    let mut requests = bench.run.requests().to_vec();
    if case.ends_with("reversed") {
        requests.reverse();
    }
    let answer =
        if case == "client" { HostAnswer::Result(ToolOutput::text("ok")) } else { HostAnswer::allow() };
    for request in requests {
        bench.respond(&request, answer.clone());
        bench.work(calls, &tools);
    }
    let outcome = bench.run.outcome().unwrap();
    assert!(outcome.answer().is_some(), "{:?}", outcome.result);
    outcome.last_seq.0
}
