//! Where a run that was put aside does not go on, and what its value never holds (H6, T2).

use crate::hand::*;
use crate::suspend::{Story, tools};
use runloom_core::Input;
use runloom_core::config::Config;
use runloom_core::error::Misuse;
use runloom_core::history::{History, HistoryBounds, HistoryError};
use runloom_core::host_input::{HostAnswer, Question, Shape};
use runloom_core::id::{MessageId, Revision, RunId, SessionId};
use runloom_core::laws::{Checked, Depth};
use runloom_core::message::{Message, MessageBounds, Part, Role};
use runloom_core::model::ModelSpec;
use runloom_core::saved::ImportProblem;
use runloom_core::suspend::{Resume, ResumeError, Suspended};
use runloom_core::tool::{Access, ApprovalPolicy, ToolAsk, ToolEnd, ToolItem, ToolSpec};
use std::sync::Arc;

/// A run that waits for consent to its second call and for its client, as text.
fn waiting() -> (Story, String) {
    let mut story = Story::new(Config::default(), tools());
    story.hand.calls(["plain", "asked", "client"]);
    let (_, op) = story.hand.tools()[0];
    story.hand.runs(op, "ran");
    let json = story.suspend().unwrap().to_json();
    (story, json)
}

/// What a machine for the run `r` says to it; nothing has changed then.
#[track_caller]
fn refused(resume: Resume) -> ResumeError {
    let mut hand = Hand::new(Config::default(), []);
    let error = match hand.misuse(Input::Resume(Box::new(resume.clone()))) {
        Misuse::InvalidResume(error) => error,
        other => panic!("{other}"),
    };
    assert!(hand.checked.run().log().is_empty());
    error
}

fn user(text: &str) -> Message {
    let bounds = MessageBounds { parts: 1, text: 100, image: 0 };
    Message::new(MessageId::new("m").unwrap(), Role::User, vec![Part::Text(text.into())], &bounds).unwrap()
}

// proves: H6
#[test]
fn another_run_session_or_state_of_the_session_does_not_take_it_back() {
    let (story, json) = waiting();
    let resume = || story.resume_of(&json);

    let mut other =
        Checked::new(RunId::new("other").unwrap(), Arc::new(Config::default())).depth(Depth::Whole);
    let answer =
        other.step(runloom_core::time::Time::ZERO, Input::Resume(Box::new(resume()))).unwrap().answer;
    let expected = ResumeError::OtherRun(RunId::new("r").unwrap());
    assert_eq!(answer.map(|_| ()).unwrap_err(), Misuse::InvalidResume(expected));

    let mut foreign = resume();
    foreign.session = SessionId::new("elsewhere").unwrap();
    assert_eq!(refused(foreign), ResumeError::OtherSession(SessionId::new("s").unwrap()));

    let stale = |session| ResumeError::StaleSuspension { suspended: Revision(7), session };
    for revision in [Revision(6), Revision(8)] {
        let mut late = resume();
        late.revision = revision;
        assert_eq!(refused(late), stale(revision));
    }
    let mut longer = resume();
    longer.history.push(user("hello")).unwrap();
    assert_eq!(refused(longer), stale(Revision(7)));

    let mut small = resume();
    small.history = History::new(HistoryBounds { messages: 1, bytes: 1_000 });
    assert_eq!(refused(small), ResumeError::History(HistoryError::TooManyMessages { limit: 1 }));

    let mut twice = resume();
    twice.tools = [shared("a"), shared("a")].map(Arc::new).into();
    let mut hand = Hand::new(Config::default(), []);
    assert!(matches!(hand.misuse(Input::Resume(Box::new(twice))), Misuse::InvalidStart(_)));
    hand.give(Input::Resume(Box::new(resume())));
    assert!(matches!(hand.misuse(Input::Resume(Box::new(resume()))), Misuse::AlreadyStarted));
}

// proves: H6, T2
#[test]
fn arguments_that_were_changed_in_the_store_do_not_run() {
    let (_, json) = waiting();
    let changed = json.replacen("\"arguments\":\"{}\"", "\"arguments\":\"{\\\"all\\\":true}\"", 1);
    assert_ne!(changed, json);
    let error = Suspended::from_json(&changed).unwrap_err();
    assert_eq!((&*error.at, error.problem), ("/calls/0/hash", ImportProblem::Hash));
    let released = json.replacen("\"started\":false", "\"started\":true", 1);
    let error = Suspended::from_json(&released).unwrap_err();
    let what = "a call's state does not fit the call";
    assert_eq!((&*error.at, error.problem), ("", ImportProblem::Contradiction(what)));
}

// proves: H6, T6
#[test]
fn a_call_whose_tool_is_gone_ends_with_a_result() {
    let (mut story, json) = waiting();
    story.tools = vec![shared("plain")];
    story.go_on(story.resume_of(&json));
    assert_eq!(story.hand.statuses(), [(1, "unavailable"), (2, "failure")]);
    let closed: Vec<_> =
        story.hand.kinds().into_iter().filter(|kind| kind.starts_with("host_input")).collect();
    assert_eq!(closed, ["host_input.cancelled"; 2]);
    assert!(story.hand.is_live(), "the model is told");
}

// proves: H6, T2
#[test]
fn policies_are_those_of_the_engine_that_goes_on() {
    let mut asked = ToolSpec::new("asked", "", "{}").unwrap().access(Access::Exclusive);
    asked.approval = ApprovalPolicy::Ask;
    let tools = vec![asked, shared("plain")];
    let mut story = Story::new(Config::default(), tools.clone());
    story.hand.calls(["asked", "plain"]);
    assert!(story.hand.tools().is_empty(), "the second waits behind the first");
    let json = story.suspend().unwrap().to_json();
    story.tools[1].approval = ApprovalPolicy::Deny { reason: "not here".into() };
    story.go_on(story.resume_of(&json));
    assert_eq!(story.hand.statuses(), [(1, "denied")]);
    story.tools[0].approval = ApprovalPolicy::Deny { reason: "nor this".into() };
    let json = story.suspend().unwrap().to_json();
    story.go_on(story.resume_of(&json));
    assert_eq!(story.hand.statuses(), [(0, "denied")]);
}

// proves: H6, H2
#[test]
fn nobody_to_answer_in_the_next_part_fails_the_requests() {
    let (mut story, json) = waiting();
    let mut resume = story.resume_of(&json);
    (resume.answerers.handle, resume.answerers.responder) = (false, false);
    story.go_on(resume);
    assert_eq!(story.hand.kinds()[..3], ["run.resumed", "host_input.failed", "tool.finished"]);
    assert_eq!(story.hand.statuses(), [(1, "denied"), (2, "failure")]);
}

/// The tool `kept` returns with a question.
fn asks(story: &mut Story, question: Question) {
    let (_, op) = story.hand.tools()[0];
    story.hand.enter(op);
    let ask = ToolAsk { question: Arc::new(question), state: "kept".into() };
    story.hand.tool(op, ToolItem::Done(ToolEnd::Ask(Box::new(ask))));
}

// proves: H6, M5
#[test]
fn an_answer_to_a_secret_question_is_in_no_value() {
    let asked = || {
        let mut asked = ToolSpec::new("asked", "", "{}").unwrap();
        asked.approval = ApprovalPolicy::Ask;
        vec![asked, shared("kept")]
    };
    for secret in [false, true] {
        // The tool runs, returns with its question, and has to wait for the exclusive call before it.
        let mut exclusive = asked();
        exclusive.reverse();
        exclusive[0].access = Access::Shared;
        let mut story = Story::new(limits(|limits| limits.parallel_tools = 1), {
            let mut client = shared("client");
            client.client = true;
            exclusive.push(client);
            exclusive
        });
        story.hand.calls(["kept", "kept", "client"]);
        let question = Question::value("password?", Shape::Text);
        asks(&mut story, if secret { question.secret() } else { question });
        let (_, second) = story.hand.tools()[1];
        story.respond("1.0/2", HostAnswer::value("\"sk-canary\"")).unwrap();
        assert_eq!(story.suspend().unwrap_err().calls.len(), if secret { 2 } else { 1 });
        story.hand.runs(second, "done");
        assert!(story.suspend().is_err(), "the first runs again");
        let (_, first) = story.hand.tools()[2];
        story.hand.runs(first, "done too");
        let json = story.suspend().unwrap().to_json();
        assert!(!json.contains("canary"));
    }
}

// proves: H6, M5
#[test]
fn a_value_holds_no_parameters_policies_tools_or_consents() {
    let mut asked =
        ToolSpec::new("asked", "sk-description-canary", "{\"title\":\"sk-schema-canary\"}").unwrap();
    asked.approval = ApprovalPolicy::Ask;
    let mut denied = shared("denied");
    denied.approval = ApprovalPolicy::Deny { reason: "sk-policy-canary".into() };
    let tools = vec![asked, denied];
    let mut story = Story::new(Config::default().limits_pointer("sk-pointer-canary"), tools.clone());
    let mut model = ModelSpec::new("m");
    model.parameters.extra = Some("{\"key\":\"sk-parameter-canary\"}".into());
    story.hand = Hand::new(story.config.clone(), tools).quick();
    story.hand.start.model = Arc::new(model);
    story.hand.begin();
    story.hand.call("c0", "asked", "{\"remembered\":1}");
    story.hand.call("c1", "asked", "{}");
    story.hand.done(runloom_core::model::Finish::ToolCalls);
    story.respond("1.0/1", HostAnswer::allow_always()).unwrap();
    let (_, op) = story.hand.tools()[0];
    story.hand.runs(op, "ran");
    let json = story.suspend().unwrap().to_json();
    assert_eq!(story.hand.outcome().approvals.len(), 1, "the session has it");
    assert!(!json.contains("canary"), "{json}");
    for word in ["remember\"", "approvals", "policy", "schema", "description", "parameters", "token\""] {
        assert!(!json.contains(word), "{word}: {json}");
    }
    // In another process the consent is not known: an equal call is asked about again.
    let resume = story.resume_of(&json);
    assert!(resume.approvals.is_empty());
    let debug = format!("{resume:?}");
    assert!(!debug.contains("remembered"), "{debug}");
}

// proves: H6
#[test]
fn a_run_that_is_to_be_put_aside_again_gives_another_value_of_the_same_run() {
    let (mut story, json) = waiting();
    let mut resume = story.resume_of(&json);
    resume.suspends = true;
    story.go_on(resume);
    assert!(story.hand.is_live(), "only a quiet wake puts it aside");
    story.hand.wake(true);
    let again = match &story.hand.outcome().result {
        runloom_core::outcome::RunResult::Suspended(value) => Arc::clone(value),
        other => panic!("{other:?}"),
    };
    assert_eq!(again.last_seq().0, Suspended::from_json(&json).unwrap().last_seq().0 + 2);
    let mut first: serde_json::Value = serde_json::from_str(&json).unwrap();
    let mut second: serde_json::Value = serde_json::from_str(&again.to_json()).unwrap();
    for value in [&mut first, &mut second] {
        value["seq"].take();
        value["log_bytes"].take();
    }
    assert_eq!(first, second, "but for the two events nothing has changed");
}
