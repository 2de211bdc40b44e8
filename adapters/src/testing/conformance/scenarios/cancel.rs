//! Cancellation: who sees it, and within how many polls.

use super::super::flavours::Kind;
use super::super::hosts::Runs;
use super::super::stage::{Setting, Wrong, ensure};
use super::Found;
use super::ends::{MOMENTS, at_rest, stage_at};
use super::pace::Endless;
use crate::CancellationToken;
use crate::core::output::CancelReply;
use crate::run::RunHandle;
use crate::start::RunOptions;
use crate::sync::Arc;
use crate::timer::ManualTimer;

/// By the handle and by the token, at every moment of rest: one poll of the driver is enough.
pub(super) fn resting<K: Kind>(exec: &dyn Runs<K>) -> Result<Found, Wrong> {
    let (mut logs, mut most) = (String::new(), 0);
    for (moment, by_token) in (0..MOMENTS).flat_map(|moment| [(moment, false), (moment, true)]) {
        let (stage, done) = stage_at(exec, moment)?;
        let before = stage.driver.polls();
        if by_token {
            stage.with_handle(RunHandle::cancellation_token)?.cancel();
        } else {
            let expected = if done { CancelReply::AlreadyFinished } else { CancelReply::Cancelled };
            let reply = stage.with_handle(RunHandle::cancel)?;
            ensure(reply == expected, format_args!("cancel says {reply:?} after {moment} moves"))?;
            // The commit does not wait for the driver.
            stage.outcome()?;
        }
        at_rest(&stage)?;
        let polls = stage.driver.polls() - before;
        ensure(polls <= 1, format_args!("{polls} polls from the cancellation to the end"))?;
        most = most.max(polls);
        logs.push_str(&stage.log()?);
    }
    Ok(Found::logs(logs, format!("{most} poll at most")))
}

/// While a model never stops: one poll more than the one that may be under way.
pub(super) fn while_busy<K: Kind>(exec: &dyn Runs<K>) -> Result<Found, Wrong> {
    let mut most = 0;
    for outer in [false, true] {
        let token = CancellationToken::new();
        let mut setting = Setting::new(&ManualTimer::new(), Endless);
        setting.options = RunOptions::new().unattended().cancellation_token(token.clone());
        let stage = setting.start(exec)?;
        let driver = Arc::clone(&stage.driver);
        exec.run(K::task(async move { super::pace::until(|| driver.polls() >= 3).await }));
        let own = stage.with_handle(RunHandle::cancellation_token)?;
        let cancelled = if outer { token } else { own };
        cancelled.cancel();
        // Others may poll it all the while: what counts begins after the call.
        let before = stage.driver.polls();
        at_rest(&stage)?;
        let polls = stage.driver.polls() - before;
        ensure(polls <= 1, format_args!("{polls} polls from the cancellation to the end"))?;
        most = most.max(polls);
        stage.with_handle(RunHandle::try_outcome)?.ok_or("the run did not end")?;
    }
    Ok(Found::measured(format!("{most} poll at most")))
}
