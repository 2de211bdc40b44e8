//! Hosts: what they bring, how they are checked, approvals and progress (T2, T5, X3).

use futures_lite::future::block_on;
use runloom::testing::{Attempt, NoWaiting, ScriptedModel, ScriptedTool};
use runloom::{
    Approval, Engine, Host, HostAnswer, HostError, IdKind, ModelSpec, Part, Refusal, SessionState,
    StartError, ToolOutput, ToolSpec, ToolSpecError, ToolStatus, approver_fn, tool_fn,
};
use runloom_tests::runs::{assert_ended, count, with_capacity};
use std::time::Duration;

// proves: X3
#[test]
fn ids_are_the_hosts_if_it_wants() {
    let host = || Host::shared().model(ModelSpec::new("m"), ScriptedModel::new([])).build().unwrap();
    let session = Engine::new(host(), NoWaiting).session().unwrap();
    assert_eq!(session.id().as_str(), "session-1");
    assert_eq!(session.start("go").unwrap().0.id().as_str(), "run-1");
    assert_eq!(session.start("go").unwrap().0.id().as_str(), "run-2");
    let ids = |kind, n| match kind {
        IdKind::Session => format!("s{n}"),
        _ if n == 1 => format!("r{n}"),
        _ => String::new(),
    };
    let session = Engine::builder(host(), NoWaiting).ids(ids).build().session().unwrap();
    assert_eq!(session.id().as_str(), "s1");
    assert_eq!(session.start("go").unwrap().0.id().as_str(), "r1");
    assert!(matches!(session.start("go"), Err(StartError::Id(_))));
    assert_eq!(session.state(), SessionState::Idle);
}

#[test]
fn hosts_are_checked() {
    assert_eq!(Host::shared().build().unwrap_err(), HostError::NoModel);
    let host = Host::shared().model(ModelSpec::new("m"), ScriptedModel::new([]));
    let twice = host.tool(ScriptedTool::new("a")).tool(ScriptedTool::new("a")).build();
    assert_eq!(twice.unwrap_err(), HostError::Tool(ToolSpecError::Duplicate("a".into())));
    let declared = |change: fn(ToolSpec) -> ToolSpec| {
        let host = Host::shared().model(ModelSpec::new("m"), ScriptedModel::new([]));
        host.tool(ScriptedTool::new("a").declared(change)).build().unwrap_err()
    };
    let hurried = declared(|spec| spec.deadline(Duration::ZERO));
    assert_eq!(hurried, HostError::Tool(ToolSpecError::Deadline("a".into())));
    assert_eq!(declared(ToolSpec::client), HostError::ClientTool("a".into()));
}

/// T2: without an approver nothing that needs approval runs; a panic is no consent.
// proves: T2
#[test]
fn approval_decides() {
    let run_with = |approve: Option<Option<Approval>>| {
        let tool = ScriptedTool::new("act").output("done").declared(|spec| spec.needs_approval());
        let model = ScriptedModel::new([Attempt::new().call("act", "{}"), "end".into()]);
        let mut host = Host::shared().model(ModelSpec::new("m"), model.clone()).tool(tool.clone());
        if let Some(answer) = approve {
            host = host.approver(approver_fn(move |request, _| {
                let answer = answer.clone();
                async move {
                    assert_eq!(request.call.name, "act");
                    answer.expect("an answer")
                }
            }));
        }
        let session = Engine::new(host.build().unwrap(), NoWaiting).session().unwrap();
        let (run, driver) = session.start("go").unwrap();
        let control = run.control();
        // Without an approver people are asked.
        let declines = std::future::poll_fn(move |cx| {
            for request in control.requests() {
                control.respond(&request.id, HostAnswer::Refused(Refusal::Declined)).unwrap();
            }
            cx.waker().wake_by_ref();
            std::task::Poll::<()>::Pending
        });
        block_on(futures_lite::future::or(async { drop(driver.await) }, declines));
        assert_ended(run.handle());
        let history = session.history();
        let result = history.iter().find_map(|m| m.results().next().cloned()).unwrap();
        let Some(Part::Text(text)) = result.content.first() else { panic!("no text") };
        (result.status, text.to_string(), tool.calls())
    };
    let (status, text, calls) = run_with(None);
    assert_eq!((status, calls), (ToolStatus::Denied, 0));
    assert!(text.contains("the person declined"), "{text}");
    let (status, text, calls) = run_with(Some(Some(Approval::deny("not today"))));
    assert_eq!((status, calls), (ToolStatus::Denied, 0));
    assert!(text.contains("not today"), "{text}");
    let (status, text, calls) = run_with(Some(None));
    assert_eq!((status, calls), (ToolStatus::Denied, 0));
    assert!(text.contains("panicked"), "{text}");
    let (status, text, calls) = run_with(Some(Some(Approval::Allow)));
    assert_eq!((status, text.as_str(), calls), (ToolStatus::Success, "done", 1));
}

/// Progress waits for its place: none is lost, and each stands between start and end.
// proves: T5, E7
#[test]
fn progress_is_never_lost() {
    let spec = ToolSpec::new("count", "", "{}").unwrap();
    let tool = tool_fn(spec, |arguments, cx| async move {
        assert_eq!(arguments["n"], 3);
        assert_eq!((cx.call_id(), cx.idempotency_key().as_str()), ("call-1", "run-1/1.0"));
        let (a, b) = (cx.progress("a"), cx.progress("b"));
        futures_lite::future::zip(b, a).await;
        for n in 0..20 {
            cx.progress(n.to_string()).await;
        }
        cx.progress("").await;
        Ok(ToolOutput::text("counted"))
    });
    let model = ScriptedModel::new([Attempt::new().call("count", r#"{"n":3}"#), "end".into()]);
    let host = Host::shared().model(ModelSpec::new("m"), model).tool(tool).build().unwrap();
    let engine = Engine::builder(host, NoWaiting).config(with_capacity(1)).build();
    let (run, driver) = engine.session().unwrap().start("go").unwrap();
    block_on(futures_lite::future::zip(driver, run.outcome()));
    assert_eq!(count(run.handle(), "tool.updated"), 22);
    assert_ended(run.handle());
}
