//! The core in a bare loop beside drivers on executors: one script, one log.

use futures_lite::future::{block_on, poll_once};
use runloom::testing::ScriptedModel;
use runloom::tokio::TokioTimer;
use runloom::{
    CallDelta, Completion, Credit, Engine, Finish, Host, ManualTimer, ModelItem, ModelSpec, OpId, Problem,
    ProblemKind, Revision, RunId, RunOptions, SessionId, Timer, ToolOutput, ToolSpec, Transport, Work,
    tool_fn,
};
use runloom_bare::{Script, drive};
use runloom_core::input::{Reader, Start};
use runloom_core::message::Part;
use runloom_core::tool::{ToolEnd, ToolItem};
use runloom_core::{Input, Run};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

const NOW: Duration = Duration::ZERO;
const SOON: Duration = Duration::from_millis(4);

fn specs() -> [ToolSpec; 2] {
    let spec = |name| ToolSpec::new(name, "", "{}").unwrap().access(runloom::Access::Shared);
    [spec("a"), spec("b").deadline(Duration::from_millis(40))]
}

/// A retry, a model that falls silent, two tools side by side of which one is too slow, an answer.
fn script() -> Script {
    let text = |text: &str| ModelItem::Text(text.into());
    let call = |index, name: &str| {
        let (id, name) = (Some(format!("call-{name}").into()), Some(name.into()));
        ModelItem::CallDelta(Box::new(CallDelta { index: Some(index), id, name, arguments: "{}".into() }))
    };
    let done = |finish: Finish| ModelItem::Done(Box::new(Completion::new(Some(finish), finish.as_str())));
    let busy = Problem::new(ProblemKind::Overloaded, "busy");
    let output = ToolItem::Done(ToolEnd::Output(ToolOutput::text("done")));
    Script::new()
        .attempt([(SOON, ModelItem::Failed(Box::new(busy)))])
        .attempt([(NOW, text("void")), (SOON, text("void"))])
        .attempt([(SOON, call(0, "a")), (SOON, call(1, "b")), (NOW, done(Finish::ToolCalls))])
        .attempt((0..100).map(|_| (NOW, text("end "))).chain([(SOON, done(Finish::Stop))]))
        .tool("a", [(SOON, ToolItem::Progress("half".into())), (SOON, output)])
        .tool("b", [])
}

/// The log of the bare loop.
fn bare() -> String {
    let mut run = Run::new(RunId::new("run-1").unwrap(), Arc::default());
    let (session, input) = (SessionId::new("session-1").unwrap(), vec![Part::Text("go".into())]);
    let model = Arc::new(ModelSpec::new("scripted"));
    let start = Start::new(session, Revision(0), Default::default(), input, model)
        .tools(specs().map(Arc::new).to_vec())
        .reader(Reader::Unattended);
    drive(&mut run, start, &mut script()).unwrap();
    assert_eq!(run.outcome().unwrap().answer().unwrap().text.len(), 400);
    run.log().iter().map(|envelope| envelope.to_json(run.log().run_id()) + "\n").collect()
}

/// The same script as a driver's transport, whose items come by a timer.
struct Scripted<T> {
    script: Script,
    timer: T,
}

impl<T: Timer> Transport for Scripted<T> {
    fn begin(&mut self, op: OpId, work: Work) {
        self.script.begin(self.timer.now(), op, &work);
    }

    fn abandon(&mut self, op: OpId) {
        self.script.abandon(op);
    }

    fn poll_items(&mut self, cx: &mut Context<'_>, room: Credit, into: &mut Vec<Input>) -> Poll<()> {
        loop {
            if let Some(input) = self.script.take(self.timer.now(), !room.is_zero()) {
                into.push(input);
                return Poll::Ready(());
            }
            let Some(at) = self.script.next() else { return Poll::Pending };
            if self.timer.poll_at(at, cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}

type Started<T> = (runloom::Run, runloom::Driver<T, Scripted<T>>);

fn start<T: Timer + Clone + Send + Sync + 'static>(timer: &T) -> Started<T> {
    let mut host = Host::shared().model(ModelSpec::new("scripted"), ScriptedModel::new([]));
    for spec in specs() {
        host = host.tool(tool_fn(spec, |_, _| async { Ok(ToolOutput::text("")) }));
    }
    let session = Engine::new(host.build().unwrap(), timer.clone()).session().unwrap();
    let transport = Scripted { script: script(), timer: timer.clone() };
    session.start_on("go", RunOptions::new().unattended(), |_| transport).unwrap()
}

// proves: X1, X2, W8
#[test]
fn a_bare_loop_and_drivers_write_one_log() {
    let bare = bare();
    let timer = ManualTimer::new();
    let (run, driver) = start(&timer);
    let mut driver = pin!(driver);
    while block_on(poll_once(&mut driver)).is_none() {
        timer.advance_to_alarm().unwrap();
    }
    assert_eq!(run.handle().log_json(), bare);

    // Paused time is a manual clock that moves by itself.
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let (run, driver) = start(&TokioTimer::on(runtime.handle().clone()));
    runtime.block_on(driver);
    assert_eq!(run.handle().log_json(), bare);
    assert!(bare.lines().count() > 120);
}
