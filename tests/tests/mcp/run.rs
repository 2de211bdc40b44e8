//! A server's tools in runs: progress, cancellation, deadlines, faults.

use crate::wire::{Server, progress, result, text};
use futures_lite::future::{block_on, poll_once, zip};
use runloom::mcp::McpClient;
use runloom::testing::{Attempt, ScriptedModel};
use runloom::{
    Access, Engine, Event, Host, ManualTimer, ModelSpec, RunHandle, RunOptions, Shared, ToolStatus,
};
use runloom_tests::runs::{assert_ended, events, kinds, seconds, with_capacity};
use serde_json::json;

type Client = McpClient<crate::wire::Pipe>;

/// An engine whose model calls `t` as often as it is said in its first response, and then ends.
fn engine(
    client: &Client,
    calls: usize,
    timer: &ManualTimer,
    capacity: usize,
) -> Engine<Shared, ManualTimer> {
    let attempt = (0..calls).fold(Attempt::new(), |attempt, _| attempt.call("t", "{}"));
    let model = ScriptedModel::timed(timer.clone(), [attempt, "end".into()]);
    let mut host = Host::shared().model(ModelSpec::new("m"), model);
    for tool in block_on(client.tools()).expect("tools") {
        host = host.tool(tool.declared(|spec| spec.access(Access::Shared).deadline(seconds(9))));
    }
    Engine::builder(host.build().expect("a host"), timer.clone()).config(with_capacity(capacity)).build()
}

/// Status and text of each finished call, in the order of their ends.
fn finished(run: &RunHandle) -> Vec<(ToolStatus, String)> {
    let finished = events(run).into_iter().filter_map(|envelope| match envelope.event {
        Event::ToolFinished(finished) => {
            let text = match &*finished.content {
                [runloom::Part::Text(text)] => text.to_string(),
                other => format!("{other:?}"),
            };
            Some((finished.status, text))
        }
        _ => None,
    });
    finished.collect()
}

#[test]
fn a_run_calls_a_server_and_shows_its_progress() {
    let server = Server::new(|line| match line["method"].as_str() {
        Some("tools/list") => vec![result(line, json!({"tools": [crate::wire::declaration("t")]}))],
        Some("tools/call") => vec![progress(line, 1), progress(line, 5), text(line, "done")],
        _ => Vec::new(),
    });
    let client = server.client();
    let session = engine(&client, 2, &ManualTimer::new(), 64).session().unwrap();
    let (mut run, driver) = session.start("go").unwrap();
    let follow = async {
        let mut shown = Vec::new();
        let mut events = run.events();
        while let Some(envelope) = events.next().await {
            if let Event::ToolUpdated(update) = envelope.event {
                shown.push((update.call.call.ordinal, update.progress.to_string()));
            }
        }
        shown
    };
    let (outcome, mut shown) = block_on(zip(driver, follow));
    assert!(outcome.answer().is_some());
    assert_ended(run.handle());
    shown.sort();
    assert_eq!(shown, [(0, "1/9".into()), (0, "5/9".into()), (1, "1/9".into()), (1, "5/9".into())]);
    assert!(finished(run.handle()).iter().all(|end| *end == (ToolStatus::Success, "done".into())));
    assert_eq!(client.open_requests(), 0);
}

/// The reader stands still: reports wait within their bound, and other runs on the same connection go on.
#[test]
fn a_run_that_is_not_read_holds_up_no_other() {
    let server = Server::silent();
    let (client, timer) = (server.client(), ManualTimer::new());
    let (slow, mut slow_driver) = engine(&client, 1, &timer, 9).session().unwrap().start("go").unwrap();
    assert!(block_on(poll_once(&mut slow_driver)).is_none());
    let first = server.got("tools/call").remove(0);
    (1..=20).for_each(|done| server.say(progress(&first, done)));
    assert!(block_on(poll_once(&mut slow_driver)).is_none());

    let session = engine(&client, 1, &timer, 9).session().unwrap();
    let (quick, mut driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
    assert!(block_on(poll_once(&mut driver)).is_none());
    server.say(progress(&first, 21));
    let second = server.got("tools/call").remove(1);
    server.say(text(&second, "quick"));
    assert!(block_on(driver).answer().is_some());
    assert_ended(quick.handle());

    server.say(text(&first, "slow"));
    let (mut run, driver) = (slow, slow_driver);
    let follow = async {
        let mut shown = Vec::new();
        let mut events = run.events();
        while let Some(envelope) = events.next().await {
            if let Event::ToolUpdated(update) = envelope.event {
                shown.push(update.progress.to_string());
            }
        }
        shown
    };
    let (_, shown) = block_on(zip(driver, follow));
    assert_eq!(shown, (1..=21).map(|done| format!("{done}/9")).collect::<Vec<_>>());
    assert_eq!(finished(run.handle()), [(ToolStatus::Success, "slow".into())]);
}

// proves: C3, C11
#[test]
fn cancelling_a_run_takes_its_call_back() {
    let server = Server::silent();
    let client = server.client();
    let session = engine(&client, 1, &ManualTimer::new(), 64).session().unwrap();
    let (run, mut driver) = session.start("go").unwrap();
    assert!(block_on(poll_once(&mut driver)).is_none());
    let id = server.got("tools/call")[0]["id"].clone();
    run.cancel();
    block_on(driver);
    let told = server.got("notifications/cancelled");
    assert_eq!((told.len(), &told[0]["params"]["requestId"]), (1, &id));
    server.say(text(&json!({"id": id}), "too late"));
    assert_ended(run.handle());
    assert_eq!(finished(run.handle())[0].0, ToolStatus::InterruptedOutcomeUnknown);
    assert_eq!(client.open_requests(), 0);
}

// proves: R10
#[test]
fn a_server_that_never_answers_meets_the_deadline() {
    let server = Server::silent();
    let (client, timer) = (server.client(), ManualTimer::new());
    let session = engine(&client, 1, &timer, 64).session().unwrap();
    let (run, mut driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
    assert!(block_on(poll_once(&mut driver)).is_none());
    timer.advance(seconds(9));
    assert!(block_on(driver).answer().is_some());
    assert_eq!(finished(run.handle())[0].0, ToolStatus::TimedOut);
    assert_eq!(server.got("notifications/cancelled").len(), 1);
    assert_ended(run.handle());
}

// proves: T3
#[test]
fn what_goes_wrong_is_a_result_for_the_model() {
    for (answer, expected) in [
        (json!({"result": {"content": [{"type": "text", "text": "no"}], "isError": true}}), "no"),
        (
            json!({"error": {"code": -32602, "message": "a is missing"}}),
            "the server refused the call: a is missing",
        ),
        (
            json!({"error": {"code": -32603, "message": "key sk-canary-123456"}}),
            "the tool failed (it may have had effects; trying again will not help): the MCP server answered with error -32603: key [redacted]",
        ),
        (
            json!({"result": 7}),
            "the tool failed (it may have had effects; trying again will not help): the answer of the MCP server cannot be read: its result is no object",
        ),
    ] {
        let server = Server::new(move |line| match line["method"].as_str() {
            Some("tools/list") => vec![result(line, json!({"tools": [crate::wire::declaration("t")]}))],
            Some("tools/call") => {
                let mut answer = answer.clone();
                answer["jsonrpc"] = json!("2.0");
                answer["id"] = line["id"].clone();
                vec![answer]
            }
            _ => Vec::new(),
        });
        let client = server.client();
        let session = engine(&client, 1, &ManualTimer::new(), 64).session().unwrap();
        let (run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
        assert!(block_on(driver).answer().is_some());
        assert_eq!(finished(run.handle()), [(ToolStatus::Failure, expected.into())]);
        assert_eq!(kinds(run.handle()).last(), Some(&"run.completed"));
    }
}
