//! Calls that the client executes (H6, T1).

use crate::stage::{begun, calling, calls, host, open, results, session, spec, timed};
use runloom::testing::{ScriptedModel, ScriptedTool};
use runloom::{
    Access, ApprovalPolicy, Config, HostAnswer, Image, ImageData, ManualTimer, Part, Refusal, RequestKind,
    RespondError, RunOptions, ToolOutput, ToolStatus,
};
use runloom_tests::bare::Task;
use runloom_tests::runs::{assert_ended, kinds};
use std::time::Duration;

/// The client's results are the calls' results, in model order, beside tools of the host.
// proves: E7, E10, H2
#[test]
fn the_client_answers_with_results() {
    let model = ScriptedModel::new([
        calls([("page", "{\"q\":1}"), ("mine", "{}"), ("page", "{\"q\":2}")]),
        "done".into(),
    ]);
    let mine = ScriptedTool::new("mine").output("own").declared(|spec| spec.access(Access::Shared));
    let session = session(host(model).client_tool(spec("page")).tool(mine));
    let (run, mut driver) = begun(&session);
    let requests = run.requests();
    assert_eq!(open(run.handle()), ["call page", "call page"]);
    assert!(matches!(requests[0].kind, RequestKind::Call));
    assert_eq!(requests[1].call.arguments, "{\"q\":2}");
    assert_eq!(kinds(run.handle()).iter().filter(|kind| **kind == "tool.started").count(), 3);
    let wrong = run.respond(&requests[0].id, HostAnswer::allow());
    assert!(matches!(wrong, Err(RespondError::Invalid { .. })));
    run.respond(&requests[1].id, HostAnswer::Result(ToolOutput::text("two"))).unwrap();
    run.respond(&requests[0].id, HostAnswer::Refused(Refusal::Declined)).unwrap();
    assert!(driver.run());
    let results = results(&session);
    assert!(results[0].1.contains("declined"), "{results:?}");
    assert_eq!(results[1..], [(ToolStatus::Success, "own".into()), (ToolStatus::Success, "two".into())]);
    assert_ended(run.handle());
}

/// The declaration's deadline is how long the client may take.
// proves: R10, H2
#[test]
fn a_client_may_be_too_late() {
    let timer = ManualTimer::new();
    let page = spec("page").deadline(Duration::from_secs(9));
    let session = timed(host(calling(["page"])).client_tool(page), &timer, Config::default());
    let (run, mut driver) = begun(&session);
    assert_eq!(run.requests()[0].timeout, Some(Duration::from_secs(9)));
    timer.advance(Duration::from_secs(9));
    assert!(driver.run());
    assert_eq!(results(&session)[0].0, ToolStatus::TimedOut);
    assert_ended(run.handle());
}

/// With consent before: the client gets the arguments that people gave.
// proves: T2, H2
#[test]
fn consent_comes_before_the_client() {
    let page = spec("page").approval(ApprovalPolicy::Ask);
    let session = session(host(calling(["page"])).client_tool(page));
    let (run, mut driver) = begun(&session);
    assert_eq!(open(run.handle()), ["approval page"]);
    run.respond(&run.requests()[0].id, HostAnswer::allow_with("{\"edited\":true}")).unwrap();
    driver.run();
    let requests = run.requests();
    assert_eq!(open(run.handle()), ["call page"]);
    assert_eq!(requests[0].call.arguments, "{\"edited\":true}");
    let data = ImageData::Bytes(vec![1, 2, 3].into());
    let image = Part::Image(Image { media_type: "image/png".into(), data }.into());
    let output = ToolOutput::parts(vec![Part::Text("seen".into()), image]);
    run.respond(&requests[0].id, HostAnswer::Result(output)).unwrap();
    assert!(driver.run());
    assert_eq!(results(&session)[0].0, ToolStatus::Success);
    assert_ended(run.handle());
}

/// Calls of a client count for no limit of executions: all of them are handed over at once.
// proves: T1
#[test]
fn all_calls_of_the_client_are_open_at_once() {
    let model = ScriptedModel::new([calls([("page", "{}"); 16]), "done".into()]);
    let session = session(host(model).client_tool(spec("page")));
    let (run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
    let mut driver = Task::new(driver);
    driver.run();
    assert_eq!(run.requests().len(), 16);
    for request in run.requests().iter().rev() {
        run.respond(&request.id, HostAnswer::Result(ToolOutput::text("ok"))).unwrap();
    }
    assert!(driver.run());
    assert_eq!(results(&session).len(), 16);
}

/// What a client's declaration says about preparation has no code here: it is left out.
// proves: T1
#[test]
fn a_client_is_not_prepared() {
    let session = session(host(calling(["page"])).client_tool(spec("page").prepares()));
    let (run, mut driver) = begun(&session);
    run.respond(&run.requests()[0].id, HostAnswer::Result(ToolOutput::text("ok"))).unwrap();
    assert!(driver.run());
    assert_eq!(results(&session), [(ToolStatus::Success, "ok".to_owned())]);
}
