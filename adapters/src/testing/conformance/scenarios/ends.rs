//! Ends from outside and from within, at every moment at which everything sleeps.

use super::super::flavours::Kind;
use super::super::hosts::Runs;
use super::super::stage::{Setting, Stage, Wrong, ended, ensure};
use super::Found;
use super::order::{WAIT, script};
use crate::core::outcome::{CancelCause, RunResult};
use crate::sync::lock;
use crate::testing::{Attempt, ScriptedTool};
use crate::timer::ManualTimer;

/// Moments at which a run is ended: how often the clock had moved. The script is over before the last.
pub(super) const MOMENTS: usize = 12;

/// Plays the script up to a moment.
pub(super) fn stage_at<K: Kind>(exec: &dyn Runs<K>, moment: usize) -> Result<(Stage<'_, K>, bool), Wrong> {
    let stage = script(&ManualTimer::new()).start(exec)?.with_reader();
    // At the first moment nothing was polled by the scenario's will, though an executor with threads may have.
    let done = if moment == 0 { stage.play(0)? } else { stage.play(moment)? };
    Ok((stage, done))
}

/// Whether everything came to rest, without an alarm that is still set.
pub(super) fn at_rest<K: Kind>(stage: &Stage<'_, K>) -> Result<(), Wrong> {
    stage.settle();
    ensure(stage.driver.is_done(), "the driver is not done")?;
    ensure(stage.timer.next_alarm().is_none(), "an alarm is set after the end")
}

fn is_cancelled<K: Kind>(stage: &Stage<'_, K>, cause: CancelCause) -> Result<(), Wrong> {
    let result = stage.outcome()?.result.clone();
    ensure(result == RunResult::Cancelled(cause), format_args!("{result:?} in place of {cause:?}"))
}

/// Drops the handle, or a stream that was split off.
pub(super) fn drops<K: Kind>(exec: &dyn Runs<K>) -> Result<Found, Wrong> {
    let mut logs = String::new();
    for moment in 0..MOMENTS {
        let (stage, done) = stage_at(exec, moment)?;
        let handle = stage.take_handle();
        drop(handle);
        at_rest(&stage)?;
        let read = lock(&stage.read).clone();
        ended(&read)?;
        for envelope in &read {
            logs.push_str(&format!("{moment} {} {}\n", envelope.at, envelope.event.kind().as_str()));
        }
        let cancelled = read.last().is_some_and(|last| last.event.kind().as_str() == "run.cancelled");
        ensure(cancelled != done, format_args!("after {moment} moves the run ended otherwise"))?;
        ensure(stage.session.start("again").is_ok(), "the session is not free")?;
    }
    for moment in 0..MOMENTS {
        let mut stage = script(&ManualTimer::new()).start(exec)?;
        let stream = stage.take_stream();
        stage.play(0)?;
        for _ in 0..moment {
            stage.timer.advance_to_alarm();
            stage.settle();
        }
        drop(stream);
        stage.finish()?;
        logs.push_str(&stage.log()?);
    }
    Ok(Found::logs(logs, format!("{} drops", 2 * MOMENTS)))
}

/// Has the executor end the driver's task: its drop ends the run.
pub(super) fn aborts<K: Kind>(exec: &dyn Runs<K>) -> Result<Found, Wrong> {
    let mut logs = String::new();
    for moment in 0..MOMENTS {
        let (mut stage, done) = stage_at(exec, moment)?;
        stage.abort();
        at_rest(&stage)?;
        if !done {
            is_cancelled(&stage, CancelCause::DriverDropped)?;
        }
        logs.push_str(&stage.log()?);
        ensure(stage.session.start("again").is_ok(), "the session is not free")?;
    }
    Ok(Found::logs(logs, format!("{MOMENTS} aborts")))
}

/// Panics in model, tool, and machine.
pub(super) fn panics<K: Kind>(exec: &dyn Runs<K>) -> Result<Found, Wrong> {
    let mut logs = String::new();
    let timer = ManualTimer::new();
    let attempts = [
        Attempt::new().open_panic(),
        Attempt::new().text("a").wait(WAIT).panic(),
        Attempt::new().call("boom", "{}"),
        "end".into(),
    ];
    let tool = ScriptedTool::timed(timer.clone(), "boom").progress("p").wait(WAIT).panic();
    let stage = Setting::scripted(&timer, attempts).tool(tool).start(exec)?.with_reader();
    stage.finish()?;
    logs.push_str(&stage.log()?);
    for steps in 0..MOMENTS as u64 {
        let stage = script(&ManualTimer::new()).start(exec)?.with_reader();
        // An executor may poll more often than it must, and polls take steps: it may go off at another one elsewhere, so that
        // these logs are looked at and not compared.
        stage.play(1)?;
        stage.with_handle(|handle| handle.plant_panic(steps))?;
        stage.finish()?;
        let result = stage.outcome()?.result.clone();
        ensure(
            matches!(result, RunResult::Failed(_)),
            format_args!("{result:?} after a panic in a machine step"),
        )?;
        stage.log()?;
    }
    Ok(Found::logs(logs, format!("{} panics", MOMENTS + 3)))
}
