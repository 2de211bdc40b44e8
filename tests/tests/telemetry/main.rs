//! Telemetry of runs: what the spans say, what they keep to themselves, and that `tracing` gets the same.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is tests and their helpers"
)]

mod collector;

use collector::Collector;
use futures_lite::future::{block_on, poll_once, zip};
use runloom::core::telemetry::{Spans, Telemetry, Value};
use runloom::telemetry::TracingSpans;
use runloom::testing::{Attempt, ScriptedModel, ScriptedTool};
use runloom::{
    Engine, Host, ManualTimer, ModelSpec, Problem, ProblemKind, Run, RunOptions, Session, Shared, UserInput,
};
use runloom_tests::runs::events;
use std::fmt::Write;

const SECRET: &str = "xyzzy";

/// A session whose every text holds the secret.
fn session() -> (Session<Shared, ManualTimer>, ManualTimer) {
    let timer = ManualTimer::new();
    let arguments = format!("{{\"a\":\"{SECRET}\"}}");
    let model = ScriptedModel::timed(
        timer.clone(),
        [
            Attempt::new().text(SECRET).usage(7, 1).fail(Problem::new(ProblemKind::Server, SECRET)),
            Attempt::new().text(SECRET).call("look", arguments.as_str()).call("fail", "{}").usage(10, 20),
            Attempt::new().text(SECRET).usage(40, 5),
        ],
    );
    let look = ScriptedTool::new("look").progress(SECRET).output(SECRET);
    let fail = ScriptedTool::new("fail").declared(|spec| spec.needs_approval());
    let fail = fail.fault(runloom::ToolFault::new(SECRET));
    let host = Host::shared().model(ModelSpec::new("some-model"), model).tool(look).tool(fail);
    (Engine::new(host.build().unwrap(), timer.clone()).session().unwrap(), timer)
}

/// Drives a run to its end: time passes, and whoever is asked consents.
fn drive(run: &Run, driver: impl Future + Unpin, timer: &ManualTimer) {
    let mut driver = driver;
    while block_on(poll_once(&mut driver)).is_none() {
        for request in run.requests() {
            run.respond(&request.id, runloom::HostAnswer::allow()).unwrap();
        }
        timer.advance_to_alarm();
    }
}

/// The spans as text, one line each, indented by depth.
fn rendered(telemetry: &[Telemetry]) -> String {
    let (mut text, mut open) = (String::new(), Vec::new());
    let facts = |attributes: &[runloom::core::telemetry::Attribute]| {
        let all = attributes.iter().map(|fact| match &fact.value {
            Value::Text(text) => format!(" {}={text}", fact.key),
            Value::Integer(number) => format!(" {}={number}", fact.key),
            other => format!(" {}={other:?}", fact.key),
        });
        all.collect::<String>()
    };
    for item in telemetry {
        match item {
            Telemetry::Start(start) => {
                let depth = start.parent.map_or(0, |parent| {
                    open.iter().find(|(id, _)| *id == parent).map_or(99, |(_, depth)| depth + 1)
                });
                open.push((start.id, depth));
                let at = start.at.as_micros() / 1_000;
                writeln!(text, "{}{at} > {}{}", "  ".repeat(depth), start.name, facts(&start.attributes))
                    .unwrap();
            }
            Telemetry::End(end) => {
                let (_, depth) = open.iter().find(|(id, _)| *id == end.id).unwrap();
                let (mark, at) = (if end.failed { "!" } else { "<" }, end.at.as_micros() / 1_000);
                writeln!(text, "{}{at} {mark}{}", "  ".repeat(*depth), facts(&end.attributes)).unwrap();
            }
            Telemetry::Event(event) => {
                writeln!(text, "- {}{}", event.name, facts(&event.attributes)).unwrap()
            }
            other => panic!("{other:?}"),
        }
    }
    text
}

const EXPECTED: &str = include_str!("expected.txt");

#[test]
fn spans_say_what_happened_and_keep_what_was_said() {
    let (session, timer) = session();
    let (run, driver) = session.start_with(SECRET, RunOptions::new().unattended()).unwrap();
    drive(&run, driver, &timer);
    let mut spans = Spans::new(run.id().clone()).provider("scripted");
    let mut telemetry = Vec::new();
    events(run.handle()).iter().for_each(|event| spans.take(event, &mut |item| telemetry.push(item)));
    assert_eq!(spans.open(), 0);
    let text = rendered(&telemetry);
    if std::env::var_os("REWRITE").is_some_and(|value| value == "1") {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/telemetry/expected.txt");
        std::fs::write(path, &text).unwrap();
    } else {
        assert_eq!(text, EXPECTED);
    }
    assert!(!format!("{telemetry:?}").contains(SECRET), "no content");
}

#[test]
fn tracing_gets_the_same_spans() {
    let (session, timer) = session();
    let collector = Collector::default();
    let guard = tracing::subscriber::set_default(collector.clone());
    let (run, driver) = session.start_with(UserInput::from(SECRET), RunOptions::new().unattended()).unwrap();
    let outer = tracing::info_span!("request");
    let spans = TracingSpans::new(run.id().clone()).within(&outer).provider("scripted");
    let reader = run.reader();
    let drives = async { drive(&run, driver, &timer) };
    let (_, traced) = block_on(zip(drives, spans.follow(reader)));
    traced.unwrap();
    drop(outer);
    drop(guard);

    let seen = collector.spans();
    let names: Vec<_> = seen.iter().map(|span| (span.name, span.parent)).collect();
    let expected = [
        ("request", None),
        ("invoke_agent", Some("request")),
        ("step", Some("invoke_agent")),
        ("chat", Some("step")),
        ("chat", Some("step")),
        ("execute_tool", Some("step")),
        ("host_input", Some("step")),
        ("execute_tool", Some("step")),
        ("step", Some("invoke_agent")),
        ("chat", Some("step")),
    ];
    let mut sorted = (names.clone(), expected.to_vec());
    sorted.0.sort_unstable();
    sorted.1.sort_unstable();
    assert_eq!(sorted.0, sorted.1, "{names:?}");
    assert!(seen.iter().all(|span| span.closed == 1), "{seen:?}");
    let failed = seen.iter().find(|span| span.field("error.type") == Some("server")).unwrap();
    assert_eq!((failed.name, failed.field("otel.status_code")), ("chat", Some("ERROR")));
    assert_eq!(failed.field("otel.name"), Some("chat some-model"));
    assert_eq!(failed.field("gen_ai.usage.input_tokens"), Some("7"));
    assert!(!format!("{seen:?}").contains(SECRET), "no content");
}

/// The spans of one run are not put together from another's events.
#[test]
fn only_the_runs_own_events_are_followed() {
    let (session, _) = session();
    let (run, _driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
    let other = runloom::RunId::new("another").unwrap();
    let mut following = std::pin::pin!(TracingSpans::new(other).follow(run.reader()));
    let followed = block_on(poll_once(&mut following)).expect("an error at once");
    assert_eq!(followed.map_err(|error| error.reason), Err(runloom::ReadFault::WrongRun));
}

/// A run that is given up ends its spans, and says that it is not known how it went on.
#[test]
fn spans_that_are_dropped_are_ended() {
    let collector = Collector::default();
    let guard = tracing::subscriber::set_default(collector.clone());
    let (session, _) = session();
    let (run, mut driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
    let mut spans = TracingSpans::new(run.id().clone());
    assert!(block_on(poll_once(&mut driver)).is_none());
    events(run.handle()).iter().for_each(|event| spans.take(event));
    drop(spans);
    drop(guard);
    let seen = collector.spans();
    assert!(!seen.is_empty() && seen.iter().all(|span| span.closed == 1), "{seen:?}");
    let incomplete = |span: &&collector::Seen| span.field("runloom.end") == Some("incomplete");
    assert_eq!(seen.iter().filter(incomplete).count(), 2, "the run and its step: {seen:?}");
}
