//! Requests that nobody can answer (H2).

use crate::stage::{asking, begun, calling, host, only, results, session, spec};
use runloom::testing::ScriptedTool;
use runloom::{ApprovalPolicy, HostAnswer, RunOptions, ToolStatus};
use runloom_tests::bare::Task;

/// With the handle gone and no control left, what is asked fails at once, and the run goes on.
// proves: H2
#[test]
fn after_detaching_nobody_can_answer() {
    for asked_before in [true, false] {
        let gated = ScriptedTool::new("gated").declared(|_| spec("gated").approval(ApprovalPolicy::Ask));
        let parts = host(calling(["asks", "gated", "page"])).tool(asking("asks")).tool(gated);
        let session = session(parts.client_tool(spec("page")));
        let (run, driver) = session.start("go").unwrap();
        let mut driver = Task::new(driver);
        if asked_before {
            driver.run();
            assert_eq!(run.requests().len(), 3);
        }
        run.detach();
        assert!(driver.run());
        let results = results(&session);
        assert_eq!(results[0].1, "no_responder");
        assert_eq!(results[1].0, ToolStatus::Denied);
        assert_eq!(results[2].0, ToolStatus::Failure, "{results:?}");
        assert!(driver.output().unwrap().answer().is_some());
    }
}

/// A control can answer as the handle can; with the last one gone, nobody can.
// proves: H2
#[test]
fn the_last_control_counts() {
    for answers in [true, false] {
        let session = session(host(calling(["asks"])).tool(asking("asks")));
        let (run, mut driver) = begun(&session);
        let control = run.control();
        let other = control.clone();
        run.detach();
        assert!(!driver.run());
        drop(control);
        assert!(!driver.run(), "one is left");
        if answers {
            other.respond(&only(&other).id, HostAnswer::value("\"x\"")).unwrap();
        } else {
            drop(other);
        }
        assert!(driver.run());
        assert_eq!(results(&session)[0].1, if answers { "\"x\"" } else { "no_responder" });
    }
}

/// A run that needs no reader has a handle all the same, for as long as it is there.
// proves: H2
#[test]
fn an_unattended_run_is_answered_by_its_handle() {
    for keeps in [true, false] {
        let session = session(host(calling(["asks"])).tool(asking("asks")));
        let (run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
        let mut driver = Task::new(driver);
        driver.run();
        if keeps {
            run.respond(&run.requests()[0].id, HostAnswer::value("\"x\"")).unwrap();
        } else {
            drop(run);
        }
        assert!(driver.run());
        assert_eq!(results(&session)[0].1, if keeps { "\"x\"" } else { "no_responder" });
    }
}

/// Controls keep no run alive: a dropped handle ends it, and they learn of it.
// proves: C8, H2
#[test]
fn a_control_does_not_keep_the_run_going() {
    let session = session(host(calling(["asks"])).tool(asking("asks")));
    let (run, mut driver) = begun(&session);
    let control = run.control();
    let request = only(&control);
    drop(run);
    let late = control.respond(&request.id, HostAnswer::value("\"x\""));
    assert_eq!(late, Err(runloom::RespondError::NotAccepting));
    assert!(control.requests().is_empty() && control.suspend().is_err());
    assert!(driver.run());
    assert_eq!(results(&session)[0].0, ToolStatus::InterruptedOutcomeUnknown);
}
