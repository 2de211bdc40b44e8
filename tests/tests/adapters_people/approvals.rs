//! Consent: policy, approver and memory over the runs of a session (T2).

use crate::stage::{TestSession, calls, host, open, results, session, spec, timed};
use runloom::testing::{Attempt, ScriptedModel};
use runloom::{
    Approval, ApprovalPolicy, Config, HostAnswer, ManualTimer, Part, Run, ToolOutput, ToolStatus,
    approver_fn, tool_fn,
};
use runloom_tests::bare::Task;
use runloom_tests::runs::{assert_ended, count};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Runs,
    Denied,
    Asked,
}

/// The arguments with which a tool was called.
type Seen = Arc<Mutex<Vec<String>>>;

fn noting(policy: ApprovalPolicy) -> (impl runloom::Tool, Seen) {
    let seen = Seen::default();
    let notes = Arc::clone(&seen);
    let tool = tool_fn(spec("act").approval(policy), move |arguments, _| {
        notes.lock().unwrap().push(arguments.to_string());
        async { Ok(ToolOutput::text("done")) }
    });
    (tool, seen)
}

/// A model that acts in as many runs as there are arguments.
fn acting(arguments: &[&str]) -> ScriptedModel {
    let run = |arguments: &&str| [Attempt::new().call("act", *arguments), "end".into()];
    ScriptedModel::new(arguments.iter().flat_map(run))
}

/// Makes one run; people give `answer` where they are asked.
#[track_caller]
fn acts(session: &TestSession, answer: &HostAnswer) -> (Fate, Run) {
    let (run, driver) = session.start("go").unwrap();
    let mut driver = Task::new(driver);
    let mut fate = None;
    if !driver.run() {
        assert_eq!(open(run.handle()), ["approval act"]);
        fate = Some(Fate::Asked);
        run.respond(&run.requests()[0].id, answer.clone()).unwrap();
        assert!(driver.run());
    }
    let status = results(session).pop().unwrap().0;
    let fate = fate.unwrap_or(if status == ToolStatus::Success { Fate::Runs } else { Fate::Denied });
    assert_ended(run.handle());
    (fate, run)
}

/// Policy, approver and memory, in two sessions of one engine's kind: equal calls, other arguments, forgetting.
// proves: T2
#[test]
fn policy_approver_and_memory_decide_together() {
    let deny = || ApprovalPolicy::Deny { reason: "never".into() };
    for (policy, approver, expected) in [
        (ApprovalPolicy::Allow, None, Fate::Runs),
        (ApprovalPolicy::Allow, Some(Approval::deny("no")), Fate::Runs),
        (deny(), Some(Approval::Allow), Fate::Denied),
        (ApprovalPolicy::Ask, None, Fate::Asked),
        (ApprovalPolicy::Ask, Some(Approval::Allow), Fate::Asked),
        (ApprovalPolicy::Ask, Some(Approval::deny("no")), Fate::Asked),
        (ApprovalPolicy::Decide, None, Fate::Asked),
        (ApprovalPolicy::Decide, Some(Approval::Allow), Fate::Runs),
        (ApprovalPolicy::Decide, Some(Approval::deny("no")), Fate::Denied),
        (ApprovalPolicy::Decide, Some(Approval::ask("look")), Fate::Asked),
    ] {
        let case = format!("{policy:?} {approver:?}");
        let build = |arguments: &[&str]| {
            let (tool, seen) = noting(policy.clone());
            let mut parts = host(acting(arguments)).tool(tool);
            if let Some(verdict) = approver.clone() {
                parts = parts.approver(approver_fn(move |_, _| std::future::ready(verdict.clone())));
            }
            (session(parts), seen)
        };
        let (one, seen) = build(&["{\"n\":1}", "{\"n\":1}", "{\"n\": 1}", "{\"n\":1}"]);
        assert_eq!(acts(&one, &HostAnswer::allow_always()).0, expected, "{case}");
        let again = if expected == Fate::Asked { Fate::Runs } else { expected };
        assert_eq!(acts(&one, &HostAnswer::deny("no")).0, again, "{case}: an equal call");
        assert_eq!(one.remembered_approvals(), usize::from(expected == Fate::Asked), "{case}");
        assert_eq!(acts(&one, &HostAnswer::deny("no")).0, expected, "{case}: other bytes are another call");
        one.forget_approvals();
        assert_eq!(acts(&one, &HostAnswer::deny("no")).0, expected, "{case}: forgotten");
        let ran = match expected {
            Fate::Runs => 4,
            Fate::Denied => 0,
            Fate::Asked => 2,
        };
        assert_eq!(seen.lock().unwrap().len(), ran, "{case}");
        let (other, _) = build(&["{\"n\":1}"]);
        assert_eq!(acts(&other, &HostAnswer::deny("no")).0, expected, "{case}: another session");
    }
}

/// A memory never overrides what the approver refuses.
// proves: T2
#[test]
fn a_denial_is_stronger_than_the_memory() {
    let strict = Arc::new(Mutex::new(false));
    let asks = Arc::clone(&strict);
    let approver = approver_fn(move |_, _| {
        let denies = *asks.lock().unwrap();
        std::future::ready(if denies { Approval::deny("not any more") } else { Approval::ask("") })
    });
    let (tool, _) = noting(ApprovalPolicy::Decide);
    let session = session(host(acting(&["{}", "{}", "{}"])).tool(tool).approver(approver));
    assert_eq!(acts(&session, &HostAnswer::allow_always()).0, Fate::Asked);
    assert_eq!(acts(&session, &HostAnswer::allow()).0, Fate::Runs);
    *strict.lock().unwrap() = true;
    assert_eq!(acts(&session, &HostAnswer::allow()).0, Fate::Denied);
    assert!(results(&session).pop().unwrap().1.contains("not any more"));
}

/// What is forgotten while a run goes on does not come back with its end.
// proves: T2
#[test]
fn forgetting_holds_also_against_the_run_that_goes_on() {
    let (tool, _) = noting(ApprovalPolicy::Ask);
    let session = session(host(acting(&["{}", "{}", "{}", "{}"])).tool(tool));
    assert_eq!(acts(&session, &HostAnswer::allow_always()).0, Fate::Asked);
    let (run, driver) = session.start("go").unwrap();
    session.forget_approvals();
    assert!(Task::new(driver).run(), "this run has what it began with");
    assert_eq!(session.remembered_approvals(), 0);
    drop(run);
    assert_eq!(acts(&session, &HostAnswer::allow_always()).0, Fate::Asked);
    assert_eq!(acts(&session, &HostAnswer::deny("no")).0, Fate::Runs, "the next consent is remembered again");
}

/// Edited arguments are what the tool gets; history keeps the model's call and says what was run.
// proves: T2, M9
#[test]
fn edited_arguments_reach_the_tool() {
    let (tool, seen) = noting(ApprovalPolicy::Ask);
    let session = session(host(acting(&[r#"{"path":"a"}"#])).tool(tool));
    let (_, run) = acts(&session, &HostAnswer::allow_with(r#"{"path":"b"}"#));
    assert_eq!(*seen.lock().unwrap(), [r#"{"path":"b"}"#]);
    let history = session.history();
    let call = history.iter().find_map(|message| message.calls().next()).unwrap();
    assert_eq!(call.arguments, r#"{"path":"a"}"#);
    let (status, text) = results(&session).pop().unwrap();
    assert_eq!(status, ToolStatus::Success);
    assert!(text.contains(r#"{"path":"b"}"#) && text.ends_with("done"), "{text}");
    assert_eq!(session.remembered_approvals(), 0);
    assert_ended(run.handle());
}

/// Several stand open at once and are answered in any order; each denial tells the model why.
// proves: T2, H2, E10
#[test]
fn approvals_are_answered_in_any_order() {
    let (tool, seen) = noting(ApprovalPolicy::Ask);
    let batch = calls(["{\"n\":0}", "{\"n\":1}", "{\"n\":2}", "{\"n\":3}"].map(|n| ("act", n)));
    let session = session(host(ScriptedModel::new([batch, "end".into()])).tool(tool));
    let (run, driver) = session.start("go").unwrap();
    let mut driver = Task::new(driver);
    driver.run();
    let requests = run.requests();
    assert_eq!(requests.len(), 4);
    let answers = [
        (3, HostAnswer::allow()),
        (1, HostAnswer::deny("too dear")),
        (0, HostAnswer::Refused(runloom::Refusal::Dismissed)),
        (2, HostAnswer::allow()),
    ];
    for (at, answer) in answers {
        run.respond(&requests[at].id, answer).unwrap();
        driver.run();
    }
    assert!(driver.output().is_some());
    let results = results(&session);
    let statuses: Vec<_> = results.iter().map(|(status, _)| *status).collect();
    let (denied, success) = (ToolStatus::Denied, ToolStatus::Success);
    assert_eq!(statuses, [denied, denied, success, success]);
    assert!(results[0].1.contains("dismissed") && results[1].1.contains("too dear"), "{results:?}");
    assert_eq!(*seen.lock().unwrap(), ["{\"n\":3}", "{\"n\":2}"]);
    assert_ended(run.handle());
}

/// A consent that is to be remembered answers the equal requests that stand open, and no others.
// proves: T2
#[test]
fn a_remembered_consent_answers_its_equals() {
    let (tool, _) = noting(ApprovalPolicy::Ask);
    let batch = calls(["{}", "{}", "{\"n\":1}"].map(|n| ("act", n)));
    let session = session(host(ScriptedModel::new([batch, "end".into()])).tool(tool));
    let (run, driver) = session.start("go").unwrap();
    let mut driver = Task::new(driver);
    driver.run();
    let requests = run.requests();
    run.respond(&requests[1].id, HostAnswer::allow_always()).unwrap();
    assert_eq!(run.requests().len(), 1);
    assert!(run.respond(&requests[0].id, HostAnswer::allow()).is_err());
    run.respond(&requests[2].id, HostAnswer::deny("no")).unwrap();
    assert!(driver.run());
    assert_eq!(count(run.handle(), "host_input.answered"), 3);
}

/// The approver may say how long people have; then the call is denied.
// proves: T2, H2
#[test]
fn an_approval_expires() {
    let timer = ManualTimer::new();
    let limit = Duration::from_secs(30);
    let approver = approver_fn(move |request, _| async move {
        assert_eq!(request.call.name, "act");
        Approval::Ask { reason: "is it fine?".into(), timeout: Some(limit) }
    });
    let (tool, seen) = noting(ApprovalPolicy::Decide);
    let parts = host(acting(&["{}"])).tool(tool).approver(approver);
    let session = timed(parts, &timer, Config::default());
    let (run, driver) = session.start("go").unwrap();
    let mut driver = Task::new(driver);
    driver.run();
    assert_eq!(run.requests()[0].timeout, Some(limit));
    assert_eq!(timer.next_alarm(), Some(runloom::Time::from_secs(30)));
    timer.advance_to_alarm();
    assert!(driver.run());
    let (status, text) = results(&session).pop().unwrap();
    assert_eq!(status, ToolStatus::Denied);
    assert!(text.contains("within 30000 ms"), "{text}");
    assert!(seen.lock().unwrap().is_empty());
    assert_ended(run.handle());
}

/// HITL-03: a consent is about these bytes: where the model calls with others, people are asked again.
// proves: T2
#[test]
fn changed_arguments_are_asked_about_again() {
    let (tool, seen) = noting(ApprovalPolicy::Ask);
    let arguments = [r#"{"message":"reviewed"}"#, r#"{"message":"changed"}"#];
    let session = session(host(acting(&arguments)).tool(tool));
    assert_eq!(acts(&session, &HostAnswer::allow_always()).0, Fate::Asked);
    assert_eq!(acts(&session, &HostAnswer::deny("not this one")).0, Fate::Asked);
    assert_eq!(*seen.lock().unwrap(), [arguments[0]]);
    let first = session.history();
    let text = first.iter().flat_map(|message| message.parts().iter());
    assert!(text.clone().any(|part| matches!(part, Part::ToolCall(call) if call.arguments == *arguments[1])));
}
