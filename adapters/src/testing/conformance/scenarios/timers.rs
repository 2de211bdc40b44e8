//! Timers that are not exact, and deadlines that are set anew with each item.

use super::super::flavours::Kind;
use super::super::hosts::Runs;
use super::super::odd::{OFF, Quirk};
use super::super::stage::{Setting, Wrong, ensure};
use super::Found;
use super::order::script;
use super::real::masked;
use crate::core::time::Time;
use crate::testing::{Attempt, ScriptedTool};
use crate::timer::{ManualTimer, Timer};
use std::time::Duration;

/// The script under each kind of timer: the same log, or with a late one the same but for its times.
pub(super) fn odd<K: Kind>(exec: &dyn Runs<K>) -> Result<Found, Wrong> {
    let mut exact = String::new();
    let mut polls = Vec::new();
    for quirk in [Quirk::Exact, Quirk::Early, Quirk::Late, Quirk::Spurious, Quirk::Short] {
        let mut setting = script(&ManualTimer::new());
        setting.quirk = quirk;
        let stage = setting.start(exec)?.with_reader();
        stage.finish()?;
        let log = stage.log()?;
        match quirk {
            Quirk::Exact => exact = log,
            Quirk::Late => {
                ensure(masked(&log) == masked(&exact), "a late timer changes more than times")?;
                ensure(log != exact, "a late timer was not late")?;
            }
            Quirk::Early | Quirk::Spurious | Quirk::Short => {
                ensure(log == exact, format_args!("the log is another with a timer that is {quirk:?}"))?;
            }
        }
        polls.push(stage.driver.polls());
    }
    let most = polls.iter().max().copied().unwrap_or(0);
    ensure(most <= polls[0] + 1_000, format_args!("{polls:?} polls by timer: one keeps the driver busy"))?;
    Ok(Found::logs(exact, format!("polls by timer {polls:?}")))
}

/// Idle deadlines that each item sets anew, a tool's deadline, a model that hangs for good: each falls due at its time,
/// or a little later with a timer that is late.
pub(super) fn deadlines<K: Kind>(exec: &dyn Runs<K>) -> Result<Found, Wrong> {
    let mut logs = String::new();
    for quirk in [Quirk::Exact, Quirk::Late, Quirk::Short] {
        let timer = ManualTimer::new();
        let pause = Duration::from_secs(100);
        let alive = Attempt::new().text("a").wait(pause).text("b").wait(pause).text("c").hang();
        let attempts = [alive, Attempt::new().call("slow", "{}"), "end".into()];
        let slow = ScriptedTool::timed(timer.clone(), "slow")
            .hang()
            .declared(|spec| spec.deadline(Duration::from_secs(40)));
        let mut setting = Setting::scripted(&timer, attempts).tool(slow);
        setting.quirk = quirk;
        let stage = setting.start(exec)?.with_reader();
        stage.finish()?;
        let log = stage.log()?;
        // 120 s after the last item, the wait before the second attempt, the tool's deadline.
        let due = Time::from_secs(200 + 120 + 1 + 40);
        let lateness = if quirk == Quirk::Late { 3 * OFF } else { Duration::ZERO };
        ensure(
            timer.now() == due.after(lateness),
            format_args!("{quirk:?}: over at {}, not {due}", timer.now()),
        )?;
        logs.push_str(&log);
    }
    Ok(Found::logs(logs, "361 s".to_owned()))
}
