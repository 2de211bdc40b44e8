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
