//! A whole run: order, retry, tools side by side, a reader that is slower than the model.

use super::super::flavours::Kind;
use super::super::hosts::Runs;
use super::super::stage::{Setting, Wrong, ensure};
use super::Found;
use crate::testing::{Attempt, ScriptedModel, ScriptedTool};
use crate::timer::ManualTimer;
use std::time::Duration;

pub(super) const WAIT: Duration = Duration::from_millis(1);

/// A run with something of everything, which moves the clock several times.
pub(super) fn script<K: Kind>(timer: &ManualTimer) -> Setting<K, ScriptedModel<ManualTimer>> {
    let text = "a longer piece of text, which needs an allocation of its own";
    let attempts = [
        Attempt::new().text("void").wait(WAIT).cut(),
        Attempt::new().texts("x", 100).text(text).call("t", "{}").call("u", r#"{"a":1}"#).usage(10, 20),
        Attempt::new().call("t", "not json").wait(WAIT),
        Attempt::new().wait(WAIT).texts("end", 50),
    ];
    let tool = |name| ScriptedTool::timed(timer.clone(), name);
    Setting::scripted(timer, attempts)
        .tool(tool("t").progress("one").wait(WAIT).progress("two").output("t"))
        .tool(tool("u").wait(2 * WAIT).panic())
}

pub(super) fn order<K: Kind>(exec: &dyn Runs<K>) -> Result<Found, Wrong> {
    let timer = ManualTimer::new();
    let stage = script(&timer).start(exec)?.with_reader();
    stage.finish()?;
    let log = stage.log()?;
    let read = crate::sync::lock(&stage.read).len();
    ensure(read == log.lines().count(), format_args!("{read} of {} events were read", log.lines().count()))?;
    ensure(stage.timer.next_alarm().is_none(), "an alarm is set after the end")?;
    let answer = stage.outcome()?.answer().map(|answer| answer.text.len());
    ensure(answer == Some(150), "the run has another answer")?;
    let (events, polls, wakes) = (log.lines().count(), stage.driver.polls(), stage.driver.wakes());
    Ok(Found::logs(log, format!("{events} events, {polls} polls, {wakes} wakes")))
}
