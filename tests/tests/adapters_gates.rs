//! Runs that wait for the futures of their session's earlier runs.
#![allow(clippy::unwrap_used)]

use runloom::testing::{Attempt, ScriptedModel};
use runloom::{Config, Deadlines, Engine, Host, ManualTimer, ModelSpec, RunError, RunResult, Time};
use runloom_tests::bare::Task;
use std::time::Duration;

/// C8, R10: a run that waits for the futures of an earlier one cannot know whether its provider is silent, but its own
/// time goes on.
// proves: C8, R10
#[test]
fn the_deadline_of_a_run_falls_also_while_it_waits_for_the_last_ones_futures() {
    let timer = ManualTimer::new();
    let model = ScriptedModel::new([Attempt::new().hang(), Attempt::new().hang()]);
    let host = Host::shared().model(ModelSpec::new("m"), model.clone()).build().unwrap();
    let mut deadlines = Deadlines::default();
    (deadlines.first_item, deadlines.run) = (Some(Duration::from_secs(1)), Some(Duration::from_secs(5)));
    let config = Config::default().deadlines(deadlines).unwrap();
    let session = Engine::builder(host, timer.clone()).config(config).build().session().unwrap();
    let (run, driver) = session.start("one").unwrap();
    let mut first = Task::new(driver);
    first.run();
    drop(run);
    let (second, driver) = session.start("two").unwrap();
    let mut second_driver = Task::new(driver);
    assert!(!second_driver.run());
    timer.set(Time::from_secs(2));
    assert!(!second_driver.run(), "nobody has asked its provider yet");
    assert_eq!(timer.next_alarm(), Some(Time::from_secs(5)));
    timer.set(Time::from_secs(5));
    assert!(second_driver.run());
    let outcome = second.handle().try_outcome().unwrap();
    assert!(matches!(&outcome.result, RunResult::Failed(error) if **error == RunError::RunDeadline));
    assert_eq!(model.requests(), 1);
}

/// C8: each of many runs that were cancelled and whose drivers nobody has polled may still have futures. A further run
/// waits for all of them, whatever their order, and starting it does not take longer for their number.
// proves: C8
#[test]
fn many_runs_that_nobody_polls_are_waited_for() {
    const RUNS: usize = 5_000;
    for backwards in [false, true] {
        let timer = ManualTimer::new();
        let model = ScriptedModel::new(["a".into()]);
        let host = Host::shared().model(ModelSpec::new("m"), model.clone()).build().unwrap();
        let session = Engine::new(host, timer).session().unwrap();
        let mut drivers: Vec<_> = (0..RUNS).map(|_| session.start("go").unwrap().1).collect();
        let (run, driver) = session.start("go").unwrap();
        let mut last = Task::new(driver);
        assert!(!last.run());
        if backwards {
            drivers.reverse();
        }
        while let Some(driver) = drivers.pop() {
            assert_eq!(model.requests(), 0, "it began beside {} others", drivers.len() + 1);
            drop(driver);
            last.run();
        }
        assert!(last.run());
        assert_eq!(run.handle().try_outcome().unwrap().answer().unwrap().text, "a");
    }
}
