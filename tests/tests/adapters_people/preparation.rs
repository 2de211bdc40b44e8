//! `Tool::prepare`: what a very call touches, before it is scheduled (T1).

use crate::stage::{begun, calling, calls, host, open, question, results, session, spec, timed};
use runloom::testing::ScriptedModel;
use runloom::{
    Access, ApprovalPolicy, Config, HostAnswer, ManualTimer, Preparation, RequestKind, Resource, Tool,
    ToolContext, ToolFault, ToolInvocation, ToolOutput, ToolReturn, ToolSpec, ToolStatus,
};
use runloom_tests::runs::{assert_ended, kinds};
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Looks {
    Well,
    Fails,
    Panics,
    Hangs,
}

/// A tool that touches the path of its arguments, and hangs in it until it may return.
#[derive(Clone)]
struct Touch {
    spec: ToolSpec,
    looks: Looks,
    running: Arc<Mutex<Vec<String>>>,
    hangs: bool,
}

impl Touch {
    fn new(looks: Looks) -> Self {
        Self { spec: spec("touch").prepares(), looks, running: Arc::default(), hangs: false }
    }
}

impl Tool for Touch {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn prepare(&self, call: ToolInvocation, cx: ToolContext) -> Result<Preparation, ToolFault> {
        assert_eq!(cx.call_ref(), call.call.call);
        match self.looks {
            Looks::Well => {
                let path = call.call.arguments.as_str().trim_matches(['{', '}']).to_owned();
                let writes = Resource::write(path.trim_matches('"').split('"').next().unwrap()).tree();
                Ok(Preparation::new().access(Access::to([writes])).summary(format!("touches {path}")))
            }
            Looks::Fails => Err(ToolFault::new("no such path").definitive()),
            Looks::Panics => panic!("a preparation that panics"),
            Looks::Hangs => pending().await,
        }
    }

    async fn call(&self, call: ToolInvocation, _: ToolContext) -> Result<ToolReturn, ToolFault> {
        self.running.lock().unwrap().push(call.call.arguments.to_string());
        if self.hangs {
            pending::<()>().await;
        }
        Ok(ToolOutput::text("touched").into())
    }
}

/// A preparation that goes wrong is a failure of its call alone, which was not started.
// proves: T1, T3, T4
#[test]
fn preparations_that_go_wrong_fail_their_call() {
    for (looks, expected) in [(Looks::Fails, "no such path"), (Looks::Panics, "panicked")] {
        let session = session(host(calling(["touch"])).tool(Touch::new(looks)));
        let (run, driver) = begun(&session);
        assert!(driver.output().unwrap().answer().is_some());
        let (status, text) = results(&session).pop().unwrap();
        assert_eq!(status, ToolStatus::Failure, "{looks:?}");
        assert!(text.contains(expected), "{text}");
        assert!(!kinds(run.handle()).contains(&"tool.started"));
        assert_ended(run.handle());
    }
}

/// The tool's deadline holds for its preparation too.
// proves: T1, R10
#[test]
fn a_preparation_that_hangs_has_a_deadline() {
    let timer = ManualTimer::new();
    let mut touch = Touch::new(Looks::Hangs);
    touch.spec = touch.spec.deadline(Duration::from_secs(3));
    let session = timed(host(calling(["touch"])).tool(touch), &timer, Config::default());
    let (run, mut driver) = begun(&session);
    assert_eq!(timer.next_alarm(), Some(runloom::Time::from_secs(3)));
    timer.advance_to_alarm();
    assert!(driver.run());
    let (status, text) = results(&session).pop().unwrap();
    assert_eq!(status, ToolStatus::Failure);
    assert!(text.contains("within 3000 ms"), "{text}");
    assert!(!kinds(run.handle()).contains(&"tool.started"));
    assert_ended(run.handle());
}

/// Calls overlap by what their arguments touch: a tree bars what is below it and nothing else.
// proves: T1
#[test]
fn what_a_call_touches_decides_about_overlap() {
    let mut touch = Touch::new(Looks::Well);
    touch.hangs = true;
    let running = Arc::clone(&touch.running);
    let batch = [r#"{"a":1}"#, r#"{"a/x":1}"#, r#"{"b":1}"#, r#"{"ab":1}"#].map(|path| ("touch", path));
    let session = session(host(ScriptedModel::new([calls(batch)])).tool(touch));
    let (run, _driver) = begun(&session);
    assert_eq!(*running.lock().unwrap(), [batch[0].1, batch[2].1, batch[3].1]);
    run.cancel();
    let statuses: Vec<_> = results(&session).into_iter().map(|(status, _)| status).collect();
    let unknown = ToolStatus::InterruptedOutcomeUnknown;
    assert_eq!(statuses, [unknown, ToolStatus::InterruptedNotStarted, unknown, unknown]);
    assert_ended(run.handle());
}

/// People are told what the call is about to do, in the preparation's words.
// proves: T1, T2
#[test]
fn the_summary_reaches_people() {
    let mut touch = Touch::new(Looks::Well);
    touch.spec = touch.spec.approval(ApprovalPolicy::Ask);
    let batch = calls([("touch", r#"{"a":1}"#)]);
    let session = session(host(ScriptedModel::new([batch, "done".into()])).tool(touch));
    let (run, mut driver) = begun(&session);
    let request = run.requests().pop().unwrap();
    assert_eq!(open(run.handle()), ["approval touch"]);
    assert!(matches!(&request.kind, RequestKind::Approval { reason, .. } if *reason == *"touches \"a\":1"));
    run.respond(&request.id, HostAnswer::allow()).unwrap();
    assert!(driver.run());
    assert_ended(run.handle());
}

/// A tool whose preparation tries to speak.
struct Speaks(ToolSpec);

impl Tool for Speaks {
    fn spec(&self) -> ToolSpec {
        self.0.clone()
    }

    async fn prepare(&self, _: ToolInvocation, cx: ToolContext) -> Result<Preparation, ToolFault> {
        cx.progress("looking").await;
        cx.progress("still looking").await;
        let answer = cx.ask(question("may I look?")).await;
        Ok(Preparation::new().summary(answer.unwrap_err().as_str()))
    }

    async fn call(&self, _: ToolInvocation, _: ToolContext) -> Result<ToolReturn, ToolFault> {
        Ok(ToolOutput::text("spoken").into())
    }
}

/// A preparation is no running tool: what it reports goes nowhere, what it asks is an error at once, and it never waits
/// for someone who does not hear it.
// proves: T1, E7
#[test]
fn a_preparation_that_asks_or_reports_does_not_hang() {
    let speaks = Speaks(spec("speaks").prepares().approval(ApprovalPolicy::Ask));
    let session = session(host(calling(["speaks"])).tool(speaks));
    let (run, mut driver) = begun(&session);
    let request = run.requests().pop().expect("the preparation is over");
    assert!(matches!(&request.kind, RequestKind::Approval { reason, .. } if reason.as_str() == "gone"));
    run.respond(&request.id, HostAnswer::allow()).unwrap();
    assert!(driver.run());
    assert_eq!(results(&session), [(ToolStatus::Success, "spoken".to_owned())]);
    assert!(!kinds(run.handle()).contains(&"tool.updated"));
    assert_ended(run.handle());
}
