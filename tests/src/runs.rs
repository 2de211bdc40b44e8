//! Engines over scripts, and what must hold of every run that has ended.

use runloom::testing::{Attempt, ScriptedModel, ScriptedTool};
use runloom::{
    Access, Config, Engine, Envelope, Event, Host, Limits, ManualTimer, ModelSpec, RunHandle, RunResult, Seq,
    Shared, ToolSpec,
};
use runloom_core::verify::Verifier;
use std::time::Duration;

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

/// A tool of this name that overlaps with others.
pub fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "", "{}").expect("a name").access(Access::Shared)
}

/// This many seconds.
pub fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
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

/// Longest log that is written and read back for each run.
const RECORDED: usize = 200;

/// Checks what holds of every run that has ended and whose whole log is there: the order of its events, one terminal,
/// at the end, with which the outcome agrees, and a record that is read
/// back (E1, E2, E3, L6, W7, W9).
///
/// # Panics
///
/// If it does not hold.
pub fn assert_ended(run: &RunHandle) {
    let events = events(run);
    let mut verifier = Verifier::new();
    let verified = events.iter().try_for_each(|envelope| verifier.observe(envelope));
    if let Err(violation) = verified.and_then(|()| verifier.finish()) {
        panic!("{violation}: {:?}", kinds(run));
    }
    if events.len() <= RECORDED
        && let Err(error) = crate::records::round_trip(run.id(), &events)
    {
        panic!("{error}: {:?}", kinds(run));
    }
    let terminals = events.iter().filter(|envelope| envelope.event.is_terminal()).count();
    assert_eq!(terminals, 1, "{:?}", kinds(run));
    let (outcome, last) = (run.try_outcome().expect("an outcome"), events.last().expect("an event"));
    assert_eq!(outcome.last_seq, last.seq);
    match (&outcome.result, &last.event) {
        (RunResult::Completed(answer), Event::RunCompleted(shown)) => assert_eq!(answer, shown),
        (RunResult::Cancelled(cause), Event::RunCancelled { cause: shown, .. }) => assert_eq!(cause, shown),
        (RunResult::Failed(error), Event::RunFailed(shown)) => assert_eq!(*error, shown.error),
        (result, event) => panic!("{result:?} beside {event:?}"),
    }
}
