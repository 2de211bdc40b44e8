//! What an agent asks that another one called: the calling run asks it on.

#![allow(clippy::unwrap_used)]

use futures_lite::future::{block_on, poll_once, zip};
use runloom::testing::{Attempt, ScriptedModel, ScriptedTool};
use runloom::{
    ApprovalPolicy, Engine, Event, Form, Host, HostAnswer, HostRequest, ManualTimer, ModelSpec, Part,
    Question, Refusal, RequestKind, Shape, SubAgent, ToolOutput, ToolSpec, tool_fn,
};

/// Runs a caller whose agent makes one call of `tool`; `answer` decides about each request of the caller. The text of the
/// agent's own call, and how many requests the caller had.
fn asked(
    tool: impl runloom::Tool,
    arguments: &str,
    answer: impl Fn(&HostRequest) -> HostAnswer,
) -> (String, usize) {
    let timer = ManualTimer::new();
    let name = runloom::Tool::spec(&tool).name;
    let attempts = [Attempt::new().call(name, arguments), "I am done.".into()];
    let model = ScriptedModel::new(attempts);
    let host = Host::shared().model(ModelSpec::new("agent"), model.clone()).tool(tool).build().unwrap();
    let agent = Engine::new(host, timer.clone());
    let ask = SubAgent::new("ask", "", agent).unwrap();
    let calls = [Attempt::new().call("ask", r#"{"task":"act"}"#), "end".into()];
    let host =
        Host::shared().model(ModelSpec::new("caller"), ScriptedModel::new(calls)).tool(ask).build().unwrap();
    let session = Engine::new(host, timer).session().unwrap();
    let (mut run, driver) = session.start("go").unwrap();
    let control = run.control();
    let mut requests = 0;
    let reading = async {
        let mut events = run.events();
        while let Some(envelope) = events.next().await {
            if let Event::HostInputRequested(request) = envelope.event {
                requests += 1;
                control.respond(&request.id, answer(&request)).unwrap();
            }
        }
    };
    let (outcome, ()) = block_on(zip(driver, reading));
    assert_eq!(outcome.answer().map(|answer| answer.text.as_str()), Some("end"));
    let mut results = Vec::new();
    for message in model.seen().last().expect("a request").history.iter() {
        for result in message.results() {
            if let Some(Part::Text(text)) = result.content.first() {
                results.push(text.to_string());
            }
        }
    }
    (results.join("|"), requests)
}

fn guarded() -> ScriptedTool {
    ScriptedTool::new("delete").declared(|spec| spec.approval(ApprovalPolicy::Ask)).output("deleted")
}

// proves: H1, T2
#[test]
fn consent_to_an_agents_call_is_asked_of_whoever_called_it() {
    let tool = guarded();
    let (text, requests) = asked(tool.clone(), r#"{"path":"notes"}"#, |request| {
        let RequestKind::Question(question) = &request.kind else { panic!("{request:?}") };
        let Form::Questionnaire(form) = &question.form else { panic!("{question:?}") };
        assert!(form.title.contains("delete") && form.title.contains("notes"), "{}", form.title);
        HostAnswer::choices([("decision", ["allow"])])
    });
    assert_eq!((text.as_str(), requests, tool.calls()), ("deleted", 1, 1));
}

// proves: H1, T2
#[test]
fn without_consent_the_agents_call_does_not_run() {
    let answers = [
        HostAnswer::choices([("decision", ["deny"])]),
        HostAnswer::Refused(Refusal::Declined),
        HostAnswer::Refused(Refusal::Dismissed),
    ];
    for answer in answers {
        let tool = guarded();
        let (text, requests) = asked(tool.clone(), "{}", |_| answer.clone());
        assert!(text.starts_with("denied"), "{text}");
        assert_eq!((requests, tool.calls()), (1, 0));
    }
}

// proves: H1
#[test]
fn a_question_of_an_agents_tool_is_asked_on_and_answered() {
    let spec = ToolSpec::new("pick", "", r#"{"type":"object"}"#).unwrap();
    let tool = tool_fn(spec, |_, cx| async move {
        match cx.ask(Question::value("Which?", Shape::one_of(["red", "blue"]))).await {
            Ok(HostAnswer::Value(text)) => Ok(ToolOutput::text(text)),
            other => Ok(ToolOutput::error(format!("{other:?}"))),
        }
    });
    let (text, requests) = asked(tool, "{}", |_| HostAnswer::value(r#""blue""#));
    assert_eq!((text.as_str(), requests), (r#""blue""#, 1));
}

/// An answer that the caller may give and the agent's engine cannot take is a refusal to the agent: it does not wait for
/// what cannot come any more.
// proves: H1
#[test]
fn an_answer_that_is_too_large_for_the_agent_does_not_hang_it() {
    let timer = ManualTimer::new();
    let spec = ToolSpec::new("pick", "", r#"{"type":"object"}"#).unwrap();
    let tool = tool_fn(spec, |_, cx| async move {
        let answer = cx.ask(Question::value("Which?", Shape::Text)).await;
        Ok(ToolOutput::text(answer.map_or_else(|error| error.as_str(), |_| "answered")))
    });
    let model = ScriptedModel::new([Attempt::new().call("pick", "{}"), "I am done.".into()]);
    let host = Host::shared().model(ModelSpec::new("agent"), model).tool(tool).build().unwrap();
    let mut limits = runloom::Limits::default();
    limits.answer_bytes = 1 << 10;
    let config = runloom::Config::new(limits).unwrap();
    let agent = Engine::builder(host, timer.clone()).config(config).build();
    let ask = SubAgent::new("ask", "", agent).unwrap();
    let calls = [Attempt::new().call("ask", r#"{"task":"act"}"#), "end".into()];
    let host = Host::shared().model(ModelSpec::new("caller"), ScriptedModel::new(calls)).tool(ask);
    let session = Engine::new(host.build().unwrap(), timer).session().unwrap();
    let (run, mut driver) = session.start("go").unwrap();
    assert!(block_on(poll_once(&mut driver)).is_none());
    let request = run.requests().pop().unwrap();
    run.respond(&request.id, HostAnswer::value(format!("\"{}\"", "x".repeat(2 << 10)))).unwrap();
    run.detach();
    let outcome = block_on(poll_once(&mut driver)).expect("nothing is waited for");
    assert_eq!(outcome.answer().map(|answer| answer.text.as_str()), Some("end"));
}
