//! What follows a response, and batches that do not settle (M8, R10, C5, C6).

use runloom::testing::{Attempt, Report, ScriptedTool, World};
use runloom::{Access, Finish, ToolStatus};
use runloom_core::event::Event;
use std::time::Duration;

fn results(report: &Report) -> Vec<(ToolStatus, String)> {
    let finished = |event: &Event| match event {
        Event::ToolFinished(result) => Some((result.status, format!("{:?}", result.content))),
        _ => None,
    };
    report.events.iter().filter_map(|envelope| finished(&envelope.event)).collect()
}

fn statuses(report: &Report) -> Vec<ToolStatus> {
    results(report).into_iter().map(|(status, _)| status).collect()
}

// LOOP-01: a finish that speaks of calls, without a call, is asked again twice at most.
// proves: M3, R1
#[test]
fn loop_01_no_calls_end_the_loop() {
    let empty = || Attempt::new().finish(Finish::ToolCalls);
    let report = (0..10).fold(World::new(), |world, _| world.model(empty())).run();
    let kinds = report.kinds();
    assert_eq!(kinds.iter().filter(|kind| **kind == "model.started").count(), 2);
    assert_eq!(kinds.last(), Some(&"run.failed"));
}

// LOOP-02: whole calls are run, whatever the finish says.
// proves: M8
#[test]
fn loop_02_calls_run_after_any_harmless_finish() {
    for finish in [Some(Finish::Stop), Some(Finish::ToolCalls), None] {
        let calls =
            Attempt::new().text("let me see").call("look", "{}").call("look", "{}").call("look", "{}");
        let calls = match finish {
            Some(finish) => calls.finish(finish),
            None => calls,
        };
        let report = World::new().model(calls).model("done").tool(&ScriptedTool::new("look")).run();
        assert_eq!(statuses(&report), [ToolStatus::Success; 3], "{finish:?}");
        assert_eq!(report.answer(), Some("done"));
    }
}

// LOOP-03: a tool that does not exist is a result that lists those that do.
// proves: E7, T6
#[test]
fn loop_03_an_unknown_tool_is_a_result() {
    let report = World::new()
        .model(Attempt::new().call("get_date", "{}"))
        .model("done")
        .tool(&ScriptedTool::new("list_dir"))
        .tool(&ScriptedTool::new("read_file"))
        .run();
    let [(status, text)] = &results(&report)[..] else { panic!("one result") };
    assert_eq!(*status, ToolStatus::Unavailable);
    assert!(text.contains("list_dir") && text.contains("read_file"), "{text}");
    assert!(!report.kinds().contains(&"tool.started"));
    assert_eq!(report.answer(), Some("done"));
}

/// Five tools at once: two return after 64 s, three never; those report all the while.
fn stuck(deadline: Option<Duration>) -> World {
    let shared = |tool: ScriptedTool| tool.declared(|spec| spec.access(Access::Shared));
    let good = shared(ScriptedTool::new("good").wait(Duration::from_secs(64)).output("here"));
    let mut never = shared(ScriptedTool::new("never"));
    for _ in 0..100 {
        never = never.wait(Duration::from_secs(30)).progress("still there");
    }
    never = never.hang().declared(|spec| match deadline {
        Some(deadline) => spec.deadline(deadline),
        None => spec,
    });
    let names = ["good", "never", "good", "never", "never"];
    let calls = names.into_iter().fold(Attempt::new(), |attempt, name| attempt.call(name, "{}"));
    let mut limits = runloom::Limits::default();
    limits.parallel_tools = 5;
    let config = runloom::Config::new(limits).unwrap();
    World::new().config(config).model(calls).model("done").tool(&good).tool(&never)
}

// LOOP-05: the deadline of a tool falls whatever it reports, and costs only its own slot.
// proves: R10, C5
#[test]
fn loop_05_a_tool_that_never_settles_is_given_up() {
    let report = stuck(Some(Duration::from_secs(100))).run();
    assert_eq!(report.answer(), Some("done"));
    let (fine, late) = (ToolStatus::Success, ToolStatus::TimedOut);
    let history = &report.outcome().unwrap().history;
    let found: Vec<_> =
        history.iter().flat_map(|message| message.results()).map(|result| result.status).collect();
    assert_eq!(found, [fine, late, fine, late, late]);
    assert_eq!(report.now, runloom::Time::from_secs(100));
}

// LOOP-05: a cancel closes the batch at once, and keeps what is there; CANC-01: what comes later is not applied.
// proves: C3, C5, C6
#[test]
fn loop_05_a_cancel_does_not_wait_for_tools() {
    let report = stuck(None).late_items().cancel_at(Duration::from_secs(300)).run();
    let cancelled = report.events.last().unwrap();
    assert_eq!(cancelled.event.kind().as_str(), "run.cancelled");
    assert_eq!(cancelled.at, runloom::Time::from_secs(300));
    let unknown = ToolStatus::InterruptedOutcomeUnknown;
    let history = &report.outcome().unwrap().history;
    let found: Vec<_> =
        history.iter().flat_map(|message| message.results()).map(|result| result.status).collect();
    assert_eq!(found, [ToolStatus::Success, unknown, ToolStatus::Success, unknown, unknown]);
}

// CANC-01: a tool that goes on after the cancel has its end among the late ones, and nothing else changes.
// proves: C6
#[test]
fn canc_01_what_comes_after_the_cancel_is_kept_apart() {
    let slow = ScriptedTool::new("fetch").wait(Duration::from_secs(60)).output("too late");
    let world = World::new().model(Attempt::new().call("fetch", "{}")).tool(&slow);
    let report = world.late_items().cancel_at(Duration::from_secs(1)).run();
    assert_eq!(statuses(&report), [ToolStatus::InterruptedOutcomeUnknown]);
    assert_eq!(report.checked().run().late().len(), 1);
}
