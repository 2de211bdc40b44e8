//! State that is published as it changes.

use crate::kit::{agent_with, events, input};
use runloom::agui::consume::Consumer;
use runloom::agui::server::{Result, RunContext, Runner};
use runloom::agui::{Event, EventType, RunAgentInput, RunOutcome};
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Plan {
    title: String,
    steps: Vec<String>,
    done: usize,
}

/// The state that a reader of the events holds.
fn read(events: &[Event]) -> serde_json::Value {
    let mut consumer = Consumer::new();
    events.iter().for_each(|event| consumer.event(event.clone(), &mut |_| {}).unwrap());
    assert!(consumer.warnings().is_empty());
    consumer.thread().state().clone()
}

fn run<F>(asked: RunAgentInput, agent: F) -> Vec<Event>
where
    F: AsyncFn(&mut RunContext<Plan>) -> Result<RunOutcome> + 'static,
{
    events(Runner::new(agent_with::<Plan, F>(agent)).run_local(asked))
}

fn kinds(events: &[Event]) -> Vec<EventType> {
    events[1..events.len() - 1].iter().map(Event::event_type).collect()
}

// proves: V1
#[test]
fn a_snapshot_comes_first_then_the_shorter_of_the_two() {
    let all = run(input(), async |cx: &mut RunContext<Plan>| {
        cx.set_state(Plan { title: "A title of some length".into(), ..Plan::default() })?;
        cx.update_state(|plan| plan.steps.push("one".into()))?;
        // The same again is nothing.
        cx.publish_state()?;
        cx.set_state(Plan::default())?;
        assert_eq!(cx.state().done, 0);
        Ok(RunOutcome::Success)
    });
    use EventType::{StateDelta, StateSnapshot};
    assert_eq!(kinds(&all), [StateSnapshot, StateDelta, StateSnapshot]);
    assert!(
        all[2].encode().contains(r#"[{"op":"add","path":"/steps/0","value":"one"}]"#),
        "{}",
        all[2].encode()
    );
    assert_eq!(read(&all), json!({"title": "", "steps": [], "done": 0}));
}

// proves: V1
#[test]
fn changed_state_goes_out_before_the_next_event_and_with_a_success() {
    let all = run(input(), async |cx: &mut RunContext<Plan>| {
        cx.state_mut().title = "A title that is longer than a delta of the number below it".into();
        let mut message = cx.assistant_message()?;
        message.state_mut().done = 2;
        message.delta("x")?;
        message.end()?;
        cx.state_mut().done = 3;
        Ok(RunOutcome::Success)
    });
    use EventType::{StateDelta, StateSnapshot, TextMessageContent, TextMessageEnd, TextMessageStart};
    assert_eq!(
        kinds(&all),
        [StateSnapshot, TextMessageStart, StateDelta, TextMessageContent, TextMessageEnd, StateDelta]
    );
    assert_eq!(read(&all)["done"], 3);
    // A failed agent may have failed in the middle of a change.
    let all = run(input(), async |cx: &mut RunContext<Plan>| {
        cx.state_mut().done = 1;
        Err(runloom::agui::server::Error::agent("no"))
    });
    assert_eq!(kinds(&all), []);
}

// proves: V1
#[test]
fn raw_state_events_are_what_deltas_build_on() {
    let all = run(input(), async |cx: &mut RunContext<Plan>| {
        cx.emit(Event::state_snapshot(json!({"title": "", "steps": ["a raw one", "another"], "done": 7})))?;
        cx.update_state(|plan| plan.done = 8)?;
        // A delta that applies to nothing: what the reader has is not known any more.
        cx.emit(Event::state_delta(vec![runloom::agui::Operation::remove("/nowhere")]))?;
        cx.update_state(|plan| plan.done = 9)?;
        Ok(RunOutcome::Success)
    });
    assert_eq!(kinds(&all).last(), Some(&EventType::StateSnapshot));
    let Some(Event::StateSnapshot(snapshot)) = all.iter().rev().nth(1) else { panic!() };
    assert_eq!(snapshot.snapshot, json!({"title": "", "steps": [], "done": 9}));
}

// proves: V1
#[test]
fn random_changes_are_read_back() {
    let mut random = runloom::testing::Random::new(1);
    for _ in 0..200 {
        let changes: Vec<(u64, u64)> = (0..8).map(|_| (random.below(5), random.below(6))).collect();
        let wanted = std::sync::Arc::new(std::sync::Mutex::new(json!(null)));
        let kept = wanted.clone();
        let all = run(input(), async move |cx: &mut RunContext<Plan>| {
            for (what, n) in &changes {
                cx.update_state(|plan| match what {
                    0 => plan.steps.push(format!("step/{n}~")),
                    1 => plan.steps.insert(0, n.to_string()),
                    2 => drop(plan.steps.pop()),
                    3 => plan.title.push_str("a piece of a title "),
                    _ => plan.done = *n as usize,
                })?;
            }
            *kept.lock().unwrap() = serde_json::to_value(cx.state()).unwrap();
            Ok(RunOutcome::Success)
        });
        assert_eq!(read(&all), *wanted.lock().unwrap());
    }
}
