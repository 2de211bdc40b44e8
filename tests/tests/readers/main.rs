//! Everyone who reads a run beside its primary stream: pages, subscriptions, joins (L2-L4, S2).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is tests and their helpers"
)]

mod executors;
mod joins;
mod odd;
mod pages;
mod schedules;
mod slow;
mod wakes;

use runloom::testing::{Attempt, ScriptedModel, ScriptedTool};
use runloom::{
    Config, Driver, Engine, Envelope, Host, HostTransport, Limits, ManualTimer, ModelSpec, ReadError, Run,
    RunOptions, Session, Shared, Subscription,
};

type TestDriver = Driver<ManualTimer, HostTransport<Shared>>;

fn config(change: impl FnOnce(&mut Limits)) -> Config {
    Config::with(change).unwrap()
}

/// The smallest log that fits its limits, and subscriptions that may be this far behind.
fn tiny(events: u64) -> Config {
    let change = |limits: &mut Limits| {
        (limits.event_capacity, limits.calls, limits.parts, limits.steers) = (4, 2, 4, 1);
        (limits.response_bytes, limits.delta_bytes, limits.open_questions) = (4_096, 4_096, 1);
        limits.subscription_events = events;
    };
    let least = config(change);
    let (log_events, log_bytes) = (least.min_log_events(), least.min_log_bytes());
    config(|limits| {
        change(limits);
        (limits.log_events, limits.log_bytes) = (log_events, log_bytes);
    })
}

fn session(
    config: Config,
    attempts: impl IntoIterator<Item = Attempt>,
    tools: impl IntoIterator<Item = ScriptedTool>,
) -> (Session<Shared, ManualTimer>, ManualTimer) {
    let timer = ManualTimer::new();
    let model = ScriptedModel::timed(timer.clone(), attempts);
    let mut host = Host::shared().model(ModelSpec::new("scripted"), model);
    for tool in tools {
        host = host.tool(tool);
    }
    let engine = Engine::builder(host.build().unwrap(), timer.clone()).config(config).build();
    (engine.session().unwrap(), timer)
}

/// A run that nobody has to read.
fn unattended(config: Config, attempts: impl IntoIterator<Item = Attempt>) -> (Run, TestDriver) {
    session(config, attempts, []).0.start_with("go", RunOptions::new().unattended()).unwrap()
}

/// An answer of so many pieces.
fn pieces(count: usize) -> Attempt {
    Attempt::new().texts("a", count)
}

/// Everything until the end or the error.
async fn collect(mut subscription: Subscription) -> (Vec<Envelope>, Option<ReadError>) {
    let mut events = Vec::new();
    loop {
        match subscription.next().await {
            Ok(Some(envelope)) => events.push(envelope),
            Ok(None) => return (events, None),
            Err(error) => return (events, Some(error)),
        }
    }
}

fn seqs(events: &[Envelope]) -> Vec<u64> {
    events.iter().map(|envelope| envelope.seq.0).collect()
}

fn is_send<T: Send>() {}
fn is_sync<T: Sync>() {}

#[test]
fn readers_go_to_any_task() {
    is_send::<runloom::RunReader>();
    is_sync::<runloom::RunReader>();
    is_send::<Subscription>();
    is_sync::<Subscription>();
}
