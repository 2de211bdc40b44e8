//! The engine's own driver over a log at its least bounds: what it takes in keeps to the credit (E13, L1).

use crate::hand::*;
use futures_lite::future::{block_on, poll_once};
use runloom::testing::{Attempt, ScriptedModel};
use runloom::{Engine, Host, ManualTimer, ModelSpec, ToolOutput, tool_fn};
use runloom_core::config::{Config, Limits};
use runloom_core::model::ModelItem;

/// These limits with the least log that they can do with.
fn least(limits: Limits) -> Config {
    let mut free = limits.clone();
    (free.log_events, free.log_bytes) = (usize::MAX, u64::MAX);
    let free = Config::new(free).unwrap();
    let (log_events, log_bytes) = (free.min_log_events(), free.min_log_bytes());
    let mut limits = limits;
    (limits.log_events, limits.log_bytes) = (log_events, log_bytes);
    Config::new(limits).unwrap()
}

fn small() -> Limits {
    let mut limits = Limits::default();
    (limits.calls, limits.parts) = (1, 3);
    (limits.response_bytes, limits.argument_bytes, limits.delta_bytes) = (300, 300, 16);
    (limits.tool_output_bytes, limits.progress_bytes, limits.error_bytes) = (256, 256, 256);
    (limits.fact_bytes, limits.payload_bytes) = (256, (4 << 10) + 1_024);
    (limits.open_questions, limits.question_bytes, limits.answer_bytes) = (1, 256, 256);
    limits
}

/// The number of the oldest event that the log holds.
fn first(log: &str) -> Option<u64> {
    let event: serde_json::Value = serde_json::from_str(log.lines().next()?).ok()?;
    event["seq"].as_u64()
}

// proves: E13, L1
#[test]
fn a_burst_that_no_reader_takes_evicts_nothing() {
    let text = "x".repeat(300);
    let burst =
        (0..64).fold(Attempt::new(), |burst, _| burst.item(ModelItem::Reasoning(text.as_str().into())));
    let host = Host::shared().model(ModelSpec::new("m"), ScriptedModel::new([burst.hang()])).build().unwrap();
    let engine = Engine::builder(host, ManualTimer::new()).config(least(small())).build();
    let (run, mut driver) = engine.session().unwrap().start("go").unwrap();
    for ends in [false, true] {
        assert!(block_on(poll_once(&mut driver)).is_none() || ends);
        if ends {
            run.cancel();
        }
        let log = run.handle().log_json();
        assert_eq!(first(&log), Some(1), "after {} events", log.lines().count());
    }
}

// proves: E13, L1, C5
#[test]
fn results_that_wait_for_the_reader_have_room_when_the_run_ends() {
    let mut limits = small();
    (limits.calls, limits.parts, limits.parallel_tools) = (30, 32, 30);
    (limits.event_capacity, limits.response_bytes) = (100, 3_000);
    limits.tool_output_bytes = 100 << 10;
    limits.payload_bytes = 128 << 10;
    limits.event_capacity_bytes = 30_000;
    let long = "x".repeat(100 << 10);
    let tool = tool_fn(shared("t"), move |_, _| {
        let long = long.clone();
        async move { Ok(ToolOutput::text(long)) }
    });
    let calls = (0..30).fold(Attempt::new(), |calls, _| calls.call("t", "{}"));
    let model = ScriptedModel::new([calls, Attempt::new().hang()]);
    let host = Host::shared().model(ModelSpec::new("m"), model).tool(tool).build().unwrap();
    let engine = Engine::builder(host, ManualTimer::new()).config(least(limits)).build();
    let (run, mut driver) = engine.session().unwrap().start("go").unwrap();
    let _ = block_on(poll_once(&mut driver));
    run.cancel();
    let log = run.handle().log_json();
    assert_eq!((first(&log), log.matches(r#""kind":"tool.finished""#).count()), (Some(1), 30));
}
