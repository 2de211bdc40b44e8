//! Parts that stay on one thread, and other executors than the barest (X2).

use crate::stage::{asking, calling, heard, host, question, spec};
use futures_lite::future::{block_on, zip};
use runloom::smol::SmolTimer;
use runloom::testing::ScriptedModel;
use runloom::{
    Access, Approval, ApprovalPolicy, Engine, Event, Host, HostAnswer, LocalTool, ManualTimer, ModelSpec,
    Preparation, RequestKind, Run, RunControl, ToolContext, ToolFault, ToolInvocation, ToolOutput,
    ToolReturn, ToolSpec, local_approver_fn, local_responder_fn, local_tool_fn,
};
use runloom_tests::bare::Task;
use runloom_tests::runs::assert_ended;
use std::cell::RefCell;
use std::rc::Rc;

type Diary = Rc<RefCell<Vec<String>>>;

/// A tool with a part that is not `Send`, which looks before it is called.
struct Looks(ToolSpec, Diary);

impl LocalTool for Looks {
    fn spec(&self) -> ToolSpec {
        self.0.clone()
    }

    async fn prepare(&self, call: ToolInvocation, _: ToolContext) -> Result<Preparation, ToolFault> {
        self.1.borrow_mut().push(format!("looks at {}", call.call.name));
        Ok(Preparation::new().access(Access::Shared).summary("looked"))
    }

    async fn call(&self, _: ToolInvocation, cx: ToolContext) -> Result<ToolReturn, ToolFault> {
        let answer = cx.ask(question("local")).await;
        self.1.borrow_mut().push("called".into());
        Ok(heard(answer).into())
    }
}

/// Every kind of part may be local: model, tool with preparation, approver, responder, client tool.
// proves: X2, H1, H2, T2
#[test]
fn local_hosts_have_all_of_it() {
    let diary = Diary::default();
    let (approves, responds) = (Rc::clone(&diary), Rc::clone(&diary));
    let approver = local_approver_fn(move |request, _| {
        approves.borrow_mut().push(format!("decides on {}: {}", request.call.name, request.summary));
        std::future::ready(Approval::ask("people"))
    });
    let responder = local_responder_fn(move |request, _| {
        responds.borrow_mut().push(format!("answers {}", request.kind.as_str()));
        let answer = match request.kind {
            RequestKind::Approval { .. } => None,
            RequestKind::Question(_) => Some(HostAnswer::value("\"from here\"")),
            _ => Some(HostAnswer::Result(ToolOutput::text("client"))),
        };
        std::future::ready(answer)
    });
    let looks = Looks(spec("looks").prepares().needs_approval(), Rc::clone(&diary));
    let keeps = Rc::new(());
    let plain = local_tool_fn(spec("plain"), move |_, _| {
        let kept = Rc::clone(&keeps);
        async move { Ok(ToolOutput::text(Rc::strong_count(&kept).to_string())) }
    });
    let model = calling(["looks", "plain", "page"]);
    let host = Host::local().model(ModelSpec::new("m"), model).tool(looks).tool(plain);
    let host = host.client_tool(spec("page")).approver(approver).responder(responder).build().unwrap();
    let session = Engine::new(host, ManualTimer::new()).session().unwrap();
    let (run, driver) = session.start("go").unwrap();
    let mut driver = Task::new(driver);
    driver.run();
    assert_eq!(run.requests().len(), 1, "people are left with the approval");
    run.respond(&run.requests()[0].id, HostAnswer::allow()).unwrap();
    assert!(driver.run());
    let expected = [
        "looks at looks",
        "decides on looks: looked",
        "answers call",
        "answers approval",
        "answers question",
        "called",
    ];
    let mut found = diary.borrow().clone();
    found.sort_by_key(|line| expected.iter().position(|known| known == line));
    assert_eq!(found, expected);
    assert_ended(run.handle());
}

/// Answers each request of a run from its events.
async fn answers(mut run: Run) -> Run {
    let control = run.control();
    let mut events = run.events();
    while let Some(envelope) = events.next().await {
        if let Event::HostInputRequested(request) = &envelope.event {
            answer(&control, request);
        }
    }
    run
}

fn answer(control: &RunControl, request: &runloom::HostRequest) {
    let answer = match &request.kind {
        RequestKind::Approval { .. } => HostAnswer::allow(),
        RequestKind::Question(_) => HostAnswer::value("\"yes\""),
        _ => HostAnswer::Result(ToolOutput::text("ok")),
    };
    control.respond(&request.id, answer).unwrap();
}

fn parts() -> runloom::Host<runloom::Shared> {
    let model: ScriptedModel = calling(["asks", "page", "gated"]);
    let gated = asking("gated");
    let gated = Gated(gated);
    host(model).tool(asking("asks")).client_tool(spec("page")).tool(gated).build().unwrap()
}

/// A tool that needs consent.
struct Gated<T>(T);

impl<T: runloom::Tool> runloom::Tool for Gated<T> {
    fn spec(&self) -> ToolSpec {
        runloom::Tool::spec(&self.0).approval(ApprovalPolicy::Ask)
    }

    async fn call(&self, call: ToolInvocation, cx: ToolContext) -> Result<ToolReturn, ToolFault> {
        runloom::Tool::call(&self.0, call, cx).await
    }
}

/// Reader and driver on one task, with a real clock.
// proves: X2, H2
#[test]
fn block_on_answers_from_the_events() {
    let session = Engine::new(parts(), SmolTimer::new()).session().unwrap();
    let (run, driver) = session.start("go").unwrap();
    let (outcome, run) = block_on(zip(driver, answers(run)));
    assert!(outcome.answer().is_some());
    assert_ended(run.handle());
}

/// The driver on an executor of several threads, the answers on another thread.
// proves: X2, H2
#[test]
fn smol_drives_while_another_thread_answers() {
    let session = Engine::new(parts(), SmolTimer::new()).session().unwrap();
    let (run, driver) = session.start("go").unwrap();
    let driving = smol::spawn(driver);
    let reader = std::thread::spawn(move || block_on(answers(run)));
    let outcome = block_on(driving);
    assert!(outcome.answer().is_some());
    let run = reader.join().unwrap();
    assert_ended(run.handle());
}
