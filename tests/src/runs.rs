//! Engines over scripts, and what must hold of every run that has ended.

use runloom::testing::{Attempt, ScriptedModel, ScriptedTool};
use runloom::{Config, Engine, Envelope, Host, Limits, ManualTimer, ModelSpec, RunHandle, Seq, Shared};

/// An engine whose clock stands still unless it is moved.
pub type TestEngine = Engine<Shared, ManualTimer>;

/// An engine over these scripts, with a manual clock and room for `capacity` unread events.
pub fn engine(
    attempts: impl IntoIterator<Item = Attempt>,
    tools: impl IntoIterator<Item = ScriptedTool<ManualTimer>>,
    timer: &ManualTimer,
    capacity: usize,
) -> TestEngine {
    let model = ScriptedModel::timed(timer.clone(), attempts);
    let mut host = Host::shared().model(ModelSpec::new("scripted"), model);
    for tool in tools {
        host = host.tool(tool);
    }
    let host = host.build().expect("a host");
    Engine::builder(host, timer.clone()).config(with_capacity(capacity)).build()
}

/// Default limits with room for `capacity` unread events.
pub fn with_capacity(capacity: usize) -> Config {
    let mut limits = Limits::default();
    limits.event_capacity = capacity;
    Config::new(limits).expect("limits")
}

/// All events of the run that its log holds.
pub fn events(run: &RunHandle) -> Vec<Envelope> {
    run.events_after(Seq(0), usize::MAX)
}

/// The kinds of the run's events, in order.
pub fn kinds(run: &RunHandle) -> Vec<&'static str> {
    events(run).iter().map(|envelope| envelope.event.kind().as_str()).collect()
}

/// How often `kind` stands in the run's log.
pub fn count(run: &RunHandle, kind: &str) -> usize {
    kinds(run).iter().filter(|found| **found == kind).count()
}

/// Checks what holds of every run that has ended: numbers without gaps, `run.started` first, one terminal, at the
/// end, with which the outcome agrees (E1, E2, W7).
pub fn assert_ended(run: &RunHandle) {
    let events = events(run);
    let numbers: Vec<u64> = events.iter().map(|envelope| envelope.seq.0).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "{:?}", kinds(run));
    let kinds = kinds(run);
    assert_eq!(kinds.first(), Some(&"run.started"), "{kinds:?}");
    let terminals = events.iter().filter(|envelope| envelope.event.is_terminal()).count();
    assert_eq!(terminals, 1, "{kinds:?}");
    assert!(events.last().is_some_and(|last| last.event.is_terminal()), "{kinds:?}");
    let outcome = run.try_outcome().expect("an outcome");
    assert_eq!(Some(outcome.last_seq), events.last().map(|last| last.seq));
    for (opened, closed) in [
        ("step.started", ["step.completed", "step.failed", "step.cancelled"].as_slice()),
        ("model.started", ["model.completed", "model.failed", "model.cancelled"].as_slice()),
        ("tool.proposed", ["tool.finished"].as_slice()),
    ] {
        let opens = kinds.iter().filter(|kind| **kind == opened).count();
        let closes = kinds.iter().filter(|kind| closed.contains(kind)).count();
        assert_eq!(opens, closes, "{opened}: {kinds:?}");
    }
}
