//! Every interleaving of small cases: three tools, back-off, approvals, a slow reader; each with a cancel anywhere.

use runloom::testing::{Attempt, Explore, Explored, Reading, ScriptedTool, World};
use runloom_core::config::{Config, Deadlines, Limits};
use runloom_core::input::AbortCause;
use runloom_core::laws::{Checked, Depth};
use runloom_core::model::{Finish, Problem, ProblemKind};
use runloom_core::tool::{Access, ToolFault};
use std::time::Duration;

/// A configuration without deadlines, so that time passes only where a case is about it.
fn timeless() -> Config {
    let mut deadlines = Deadlines::default();
    (deadlines.first_item, deadlines.idle) = (None, None);
    Config::default().deadlines(deadlines).expect("valid deadlines")
}

fn world() -> World {
    World::new().config(timeless()).depth(Depth::Whole)
}

fn calls<'a>(names: impl IntoIterator<Item = &'a str>) -> Attempt {
    names.into_iter().fold(Attempt::new(), |attempt, name| attempt.call(name, "{}"))
}

fn fails(kind: ProblemKind) -> Attempt {
    Attempt::new().fail(Problem::new(kind, ""))
}

/// A tool that overlaps with others.
fn tool(name: &str) -> ScriptedTool {
    ScriptedTool::new(name).declared(|spec| spec.access(Access::Shared))
}

fn asking(name: &str) -> ScriptedTool {
    tool(name).declared(|spec| spec.needs_approval())
}

/// The history of every end is at rest, and no call is left without its result.
fn at_rest(run: &Checked) -> Result<(), String> {
    let outcome = run.run().outcome().ok_or("the run stalled")?;
    let calls: usize = outcome.history.iter().map(|message| message.calls().count()).sum();
    let results: usize = outcome.history.iter().map(|message| message.results().count()).sum();
    if calls == results { Ok(()) } else { Err(format!("{calls} calls have {results} results")) }
}

#[track_caller]
fn explored(name: &str, world: &World) -> Explored {
    let seen = Explore::new(world).run(at_rest).unwrap_or_else(|error| panic!("{name}: {error}"));
    println!(
        "{name}: {} sequences, {} steps, longest {}: {:?}",
        seen.sequences, seen.steps, seen.longest, seen.endings
    );
    seen
}

#[track_caller]
fn ends_as(seen: &Explored, endings: &[&str]) {
    assert_eq!(seen.endings.keys().map(String::as_str).collect::<Vec<_>>(), endings);
}

#[test]
fn three_overlapping_tools_and_a_cancel() {
    let case = world()
        .model(calls(["a", "b", "c"]))
        .model("done")
        .tool(&tool("a").output("1"))
        .tool(&tool("b").fault(ToolFault::new("no")))
        .tool(&tool("c").panic())
        .cancel_at(Duration::ZERO);
    ends_as(&explored("three tools", &case), &["cancelled requested", "completed end_turn"]);
}

#[test]
fn an_exclusive_tool_is_a_barrier() {
    let case = world()
        .model(calls(["read", "write", "read"]))
        .model("done")
        .tool(&tool("read").progress("half"))
        .tool(&ScriptedTool::new("write"))
        .cancel_at(Duration::ZERO);
    explored("barrier", &case);
}

#[test]
fn tools_that_name_resources_overlap_unless_one_writes() {
    let resource = |name: &str, of: &str, writes: bool| {
        tool(name).declared(|spec| spec.access(Access::resources([(of, writes)])))
    };
    let case = world()
        .model(calls(["r", "r", "w", "other"]))
        .model("done")
        .tool(&resource("r", "db", false))
        .tool(&resource("w", "db", true))
        .tool(&resource("other", "fs", true));
    explored("resources", &case);
}

#[test]
fn back_off_and_a_cancel() {
    let case = world()
        .model(Attempt::new().text("a").fail(Problem::new(ProblemKind::Server, "")))
        .model(fails(ProblemKind::Overloaded))
        .model(Attempt::new().finish(Finish::Stop))
        .model("b")
        .cancel_at(Duration::ZERO);
    ends_as(&explored("back-off", &case), &["cancelled requested", "completed end_turn"]);
}

#[test]
fn approvals_and_a_cancel() {
    let at_once = Duration::ZERO;
    let case = world()
        .model(calls(["allowed", "denied", "mistaken", "free"]))
        .model("done")
        .tool(&asking("allowed"))
        .tool(&asking("denied"))
        .denies("denied", at_once, "no")
        .tool(&asking("mistaken"))
        .mistakes("mistaken", at_once)
        .tool(&tool("free"))
        .cancel_at(at_once);
    ends_as(&explored("approvals", &case), &["cancelled requested", "completed end_turn"]);
}

/// The smallest log that fits, and a stream that is full after `capacity` events.
fn tiny(capacity: usize) -> Config {
    let mut limits = Limits::default();
    (limits.event_capacity, limits.calls, limits.parts) = (capacity, 2, 4);
    (limits.response_bytes, limits.delta_bytes) = (4096, 4096);
    let config = Config::new(limits.clone()).expect("limits that fit");
    (limits.log_events, limits.log_bytes) = (config.min_log_events(), config.min_log_bytes());
    Config::new(limits).expect("limits that fit")
}

#[test]
fn a_slow_reader_a_deadline_and_a_cancel() {
    for capacity in [1, 2, 4] {
        let mut deadlines = Deadlines::default();
        deadlines.tool = Some(Duration::from_secs(1));
        let config = tiny(capacity).deadlines(deadlines).unwrap();
        let case = World::new()
            .config(config)
            .depth(Depth::Probed)
            .reader(Reading::Lagging { events: 3, every: Duration::from_secs(1) })
            .model(calls(["a"]))
            .model("b")
            .tool(&tool("a").hang())
            .cancel_at(Duration::ZERO);
        let name = format!("slow reader, capacity {capacity}");
        let seen =
            Explore::new(&case).limit(200_000).run(at_rest).unwrap_or_else(|error| panic!("{name}: {error}"));
        println!("{name}: {} sequences, {} steps: {:?}", seen.sequences, seen.steps, seen.endings);
    }
}

#[test]
fn work_that_is_abandoned_and_goes_on() {
    let case = world()
        .model(calls(["a", "b"]))
        .model("done")
        .tool(&tool("a").output("1"))
        .tool(&tool("b").progress("p").output("2"))
        .late_items()
        .cancel_at(Duration::ZERO);
    explored("late", &case);
}

#[test]
fn an_answer_that_never_begins_and_an_abrupt_end() {
    for (cause, ending) in [
        (AbortCause::HandleDropped, "cancelled handle_dropped"),
        (AbortCause::DriverDropped, "cancelled driver_dropped"),
        (AbortCause::Shutdown, "cancelled shutdown"),
        (AbortCause::DriverPanicked, "failed driver_panicked"),
    ] {
        let case = world()
            .model(calls(["a", "b"]))
            .model(Attempt::new().open_hang())
            .tool(&tool("a").progress("half"))
            .tool(&asking("b"))
            .abort_at(Duration::ZERO, cause);
        ends_as(&explored("abrupt end", &case), &[ending]);
    }
}

#[test]
fn too_many_orders_are_an_error() {
    let case = world().model(calls(["a", "a"])).tool(&tool("a")).model("b");
    let error = Explore::new(&case).limit(3).run(|_| Ok(())).unwrap_err();
    assert!(error.to_string().contains("more than 3 sequences"), "{error}");
}
