//! Real time: the executor's own timer, probed and used.

use super::super::flavours::{Kind, Parts};
use super::super::hosts::Runs;
use super::super::probe::Probe;
use super::super::stage::{Wrong, ended, ensure};
use super::super::watch::Watch;
use super::Found;
use crate::core::config::{Config, Deadlines, RetryPolicy};
use crate::core::id::Seq;
use crate::core::model::{Problem, ProblemKind};
use crate::driver::Driver;
use crate::engine::Engine;
use crate::host::HostTransport;
use crate::run::Run;
use crate::sync::Arc;
use crate::testing::{Attempt, ScriptedModel, ScriptedTool};
use crate::timer::{ManualTimer, Timer};
use serde_json::Value;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Waker};
use std::time::Duration;

const WAIT: Duration = Duration::from_millis(5);
const IDLE: Duration = Duration::from_millis(30);

/// The lines of a log without times.
pub(in super::super) fn masked(log: &str) -> String {
    let mut lines = String::new();
    for line in log.lines() {
        let mut value: Value = serde_json::from_str(line).unwrap_or_default();
        value["at"] = Value::Null;
        if let Some(metrics) = value.pointer_mut("/payload/metrics") {
            for (name, value) in metrics.as_object_mut().into_iter().flatten() {
                if name.ends_with("_us") {
                    *value = Value::Null;
                }
            }
        }
        lines.push_str(&value.to_string());
        lines.push('\n');
    }
    lines
}

pub(in super::super) async fn to_end(driver: impl Future) {
    driver.await;
}

type Started<K, T> = (Run, Driver<T, HostTransport<K>>);

/// A run that waits before a retry and for a model that says nothing more, by `timer`.
pub(in super::super) fn start<K: Kind, T: Timer + Clone>(timer: T) -> Result<Started<K, T>, Wrong> {
    let busy = Problem::new(ProblemKind::Overloaded, "busy");
    let attempts = [
        Attempt::new().refuse(busy),
        Attempt::new().texts("a", 20).hang(),
        Attempt::new().text("b").call("t", "{}"),
        "end".into(),
    ];
    let tool = ScriptedTool::timed(ManualTimer::new(), "t").progress("p").output("o");
    let model = ScriptedModel::new(attempts);
    let host = K::host(Parts { model, tools: vec![tool], act: None }).map_err(|error| error.to_string())?;
    let mut retry = RetryPolicy::default();
    retry.first_wait = WAIT;
    let mut deadlines = Deadlines::default();
    deadlines.idle = Some(IDLE);
    let config = Config::default().retry(retry).and_then(|config| config.deadlines(deadlines));
    let config = config.map_err(|error| error.to_string())?;
    let engine = Engine::builder(host, timer).config(config).build();
    let session = engine.session().map_err(|error| error.to_string())?;
    session.start("go").map_err(|error| error.to_string())
}

/// The timer keeps its contract, and a run on it has the log that it has under a manual clock, but for the times.
pub(super) fn timer<K: Kind>(exec: &dyn Runs<K>) -> Result<Found, Wrong> {
    let probe = Probe::default();
    exec.run(exec.probing(probe.clone()));
    let measured = probe.result()?;
    let watch = Arc::new(Watch::default());
    let (run, driving) = exec.real(&watch)?;
    let driving = exec.spawn(driving);
    let (handle, mut stream) = run.split();
    exec.run(K::task(async move {
        while stream.fill().await {
            while stream.take().is_some() {}
        }
    }));
    let outcome = handle.try_outcome().ok_or("the run has no outcome")?;
    ensure(outcome.answer().is_some(), "the run did not complete")?;
    let events = handle.events_after(Seq(0), usize::MAX);
    ended(&events)?;
    let (first, last) = (events.first().map(|e| e.at), events.last().map(|e| e.at));
    let took = last.zip(first).map_or(Duration::ZERO, |(last, first)| last.since(first));
    // Two retries: the second waits twice as long.
    let least = IDLE + 3 * WAIT;
    ensure(took >= least, format_args!("the run took {took:?}, less than {least:?}"))?;
    drop(driving);
    Ok(Found::logs(masked(&handle.log_json()), measured))
}

/// The log of the same run under a manual clock, its driver polled by hand.
pub(super) fn by_hand<K: Kind>(_: &dyn Runs<K>) -> Result<Found, Wrong> {
    let timer = ManualTimer::new();
    let (run, mut driver) = start::<K, ManualTimer>(timer.clone())?;
    let (handle, mut stream) = run.split();
    let mut cx = Context::from_waker(Waker::noop());
    let mut moves = 0;
    while Pin::new(&mut driver).poll(&mut cx).is_pending() {
        while stream.take().is_some() {}
        if pin!(stream.fill()).poll(&mut cx).is_pending() {
            ensure(timer.advance_to_alarm().is_some() && moves < 100, "the run does not end")?;
            moves += 1;
        }
    }
    Ok(Found::logs(masked(&handle.log_json()), String::new()))
}
