//! Every interleaving of acknowledgements with a cancel, a tool, a full stream and a drop. The laws demand after each step
//! that nothing begins, nothing is evicted and nobody is asked out of turn before observers have accepted (L5).

use runloom::testing::{Attempt, Explore, Explored, Reading, ScriptedTool, World};
use runloom_core::config::{Config, Deadlines, Limits};
use runloom_core::event::Event;
use runloom_core::host_input::HostAnswer;
use runloom_core::input::{AbortCause, Input};
use runloom_core::laws::{Checked, Depth};
use runloom_core::observe::DurabilityReason;
use runloom_core::outcome::{CancelCause, RunResult};
use runloom_core::tool::{Access, ApprovalPolicy};
use std::time::Duration;

const NOW: Duration = Duration::ZERO;

fn world(change: impl FnOnce(&mut Limits)) -> World {
    let mut deadlines = Deadlines::default();
    (deadlines.first_item, deadlines.idle) = (None, None);
    let config = Config::with(change).and_then(|config| config.deadlines(deadlines));
    World::new().config(config.expect("a valid configuration")).depth(Depth::Whole)
}

fn tool(name: &str) -> ScriptedTool {
    ScriptedTool::new(name).declared(|spec| spec.access(Access::Shared)).output("1")
}

/// The run ends; only time and drops leave something that is not accepted.
fn accounted(run: &Checked) -> Result<(), String> {
    let outcome = run.run().outcome().ok_or("the run stalled")?;
    if outcome.history.open_calls() > 0 {
        return Err("the history is not at rest".into());
    }
    let dropped = run.inputs().iter().any(|(_, input)| matches!(input, Input::Abort(_)));
    match &outcome.durability {
        None if run.run().acknowledged() < outcome.last_seq => Err("something is not accepted".into()),
        Some(lost) if lost.reason == DurabilityReason::Abandoned && !dropped => {
            Err("nobody has dropped the run".into())
        }
        _ => Ok(()),
    }
}

#[track_caller]
fn explored(name: &str, explore: Explore<'_>) -> Explored {
    let seen = explore.run(accounted).unwrap_or_else(|error| panic!("{name}: {error}"));
    println!("{name}: {} sequences, {} steps, {:?}", seen.sequences, seen.steps, seen.endings);
    seen
}

fn has(seen: &Explored, endings: &[&str]) {
    for ending in endings {
        assert!(seen.endings.contains_key(*ending), "{ending} is not among {:?}", seen.endings);
    }
}

// proves: L5, C3, W5
#[test]
fn acknowledgements_with_a_tool_and_a_cancel_at_every_point() {
    let case = world(|_| {})
        .model(Attempt::new().call("a", "{}"))
        .model("two")
        .tool(&tool("a"))
        .observer(NOW, None)
        .cancel_at(NOW);
    let seen = explored("tool, cancel", Explore::new(&case));
    has(&seen, &["completed end_turn", "cancelled requested"]);
}

// proves: L5, C3
#[test]
fn two_observers_and_two_tools_and_a_cancel() {
    let case = world(|_| {})
        .model(Attempt::new().call("a", "{}").call("b", "{}"))
        .model("two")
        .tool(&tool("a"))
        .tool(&tool("b"))
        .observer(NOW, None)
        .observer(NOW, None)
        .cancel_at(NOW);
    let seen = explored("two observers, two tools", Explore::new(&case).wakes(false));
    has(&seen, &["completed end_turn", "cancelled requested"]);
}

// proves: L5, C8
#[test]
fn a_drop_at_every_point() {
    let case = world(|_| {})
        .model(Attempt::new().text("one").call("a", "{}"))
        .model("two")
        .tool(&tool("a"))
        .observer(NOW, None)
        .observer(NOW, None)
        .abort_at(NOW, AbortCause::HandleDropped)
        .cancel_at(NOW);
    let seen = explored("drop, cancel", Explore::new(&case).wakes(false));
    has(&seen, &["completed end_turn", "cancelled requested", "cancelled handle_dropped"]);
}

// proves: L5, E13
#[test]
fn a_full_stream_beside_an_observer() {
    let case = world(|limits| limits.event_capacity = 2)
        .model(Attempt::new().text("one").text("two"))
        .reader(Reading::Lagging { events: 2, every: NOW })
        .observer(NOW, None)
        .cancel_at(NOW);
    let seen = explored("full stream", Explore::new(&case));
    has(&seen, &["completed end_turn", "cancelled requested"]);
}

// proves: L5, H2
#[test]
fn answers_of_people_and_a_suspension_beside_an_observer() {
    let gated = tool("a").declared(|spec| spec.approval(ApprovalPolicy::Ask));
    let case = world(|_| {})
        .model(Attempt::new().call("a", "{}"))
        .model("two")
        .tool(&gated)
        .answers("a", NOW, HostAnswer::allow())
        .observer(NOW, None)
        .cancel_at(NOW);
    let seen = explored("answers", Explore::new(&case));
    has(&seen, &["completed end_turn", "cancelled requested"]);
}

// proves: L5, E1, E3
#[test]
fn every_event_refused_by_either_observer_and_a_cancel_anywhere() {
    for observer in 0..2 {
        for refused in 1..=14 {
            let mut case = world(|_| {}).model(Attempt::new().call("a", "{}")).model("two").tool(&tool("a"));
            for own in 0..2 {
                case = case.observer(NOW, (own == observer).then_some(refused));
            }
            let case = case.cancel_at(NOW);
            let check = |run: &Checked| {
                accounted(run)?;
                let outcome = run.run().outcome().ok_or("no outcome")?;
                let failed =
                    matches!(&outcome.result, RunResult::Failed(error) if error.code() == "observer_failed");
                let told = outcome.durability.as_ref().is_some_and(|lost| lost.seq.0 == refused);
                let last = run.run().log().iter().last().map(|envelope| envelope.event.is_terminal());
                if last != Some(true) {
                    return Err("the terminal is not the last event".into());
                }
                // Time may be up first, and then nobody refuses anything.
                let refuses = !run.run().refused().is_empty();
                if refuses != (failed || told) || (failed && told) {
                    return Err(format!("refused {:?}, failed {failed}, told {told}", run.run().refused()));
                }
                Ok(())
            };
            let seen = Explore::new(&case).wakes(false).run(check);
            let seen = seen.unwrap_or_else(|error| panic!("observer {observer}, event {refused}: {error}"));
            has(&seen, &["cancelled requested"]);
        }
    }
}

// proves: L5
#[test]
fn worlds_with_slow_observers_take_their_time_and_end_as_without() {
    let run = |observers: usize, wait: Duration| {
        let mut case = World::new()
            .model(Attempt::new().text("one").call("a", "{}").call("a", "{}"))
            .model("two")
            .tool(&tool("a"));
        for _ in 0..observers {
            case = case.observer(wait, None);
        }
        case.run()
    };
    let (plain, slow) = (run(0, NOW), run(3, Duration::from_millis(7)));
    let kinds = |report: &runloom::testing::Report| {
        let deltas = |kind: &&'static str| !kind.ends_with("delta");
        report.kinds().into_iter().filter(deltas).collect::<Vec<_>>()
    };
    assert_eq!(slow.answer(), plain.answer());
    let (mut one, mut other) = (kinds(&plain), kinds(&slow));
    one.sort_unstable();
    other.sort_unstable();
    assert_eq!(one, other);
    assert!(slow.now > plain.now);
    assert!(matches!(slow.events.last().map(|last| &last.event), Some(Event::RunCompleted(_))));
    // Slower than the budget: the result stays.
    let late = run(1, Duration::from_secs(3));
    assert_eq!(late.answer(), plain.answer());
    let lost = late.outcome().and_then(|outcome| outcome.durability.clone()).map(|lost| lost.reason);
    assert_eq!(lost, Some(DurabilityReason::TimedOut));
    let cancelled = World::new().model("x").observer(Duration::from_secs(1), None).cancel_at(NOW).run();
    let outcome = cancelled.outcome().expect("it ends");
    assert_eq!(outcome.result, RunResult::Cancelled(CancelCause::Requested));
    assert_eq!(outcome.durability, None);
}
