//! Timers that are not exact.

use futures_lite::future::poll_once;
use runloom::testing::{Attempt, ScriptedModel};
use runloom::{Engine, Host, ManualTimer, ModelSpec, Problem, ProblemKind, Time, Timer};
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Wakes a little too early, as timers do that count whole milliseconds, and waits for the rest when it is polled again.
#[derive(Clone, Default)]
struct Early(ManualTimer);

const EARLY: Duration = Duration::from_millis(1);

impl Timer for Early {
    fn now(&self) -> Time {
        self.0.now()
    }

    fn poll_at(&mut self, at: Time, cx: &mut Context<'_>) -> Poll<()> {
        let left = at.since(self.now());
        if left.is_zero() {
            return Poll::Ready(());
        }
        let first = if left > EARLY { left - EARLY } else { left };
        let until = self.now().after(first);
        match self.0.poll_at(until, cx) {
            Poll::Ready(()) => Poll::Ready(()),
            Poll::Pending => Poll::Pending,
        }
    }
}

// proves: X3
#[test]
fn a_timer_that_wakes_early_is_asked_again() {
    let busy = Problem::new(ProblemKind::Overloaded, "busy");
    let model = ScriptedModel::new([Attempt::new().refuse(busy), "four".into()]);
    let timer = Early::default();
    let host = Host::shared().model(ModelSpec::new("m"), model).build().expect("a host");
    let session = Engine::new(host, timer.clone()).session().expect("a session");
    let (_run, driver) = session.start("what is 2 + 2?").expect("a run");
    let mut driver = pin!(driver);
    let outcome = futures_lite::future::block_on(async {
        loop {
            if let Some(outcome) = poll_once(&mut driver).await {
                break outcome;
            }
            timer.0.advance_to_alarm().expect("an alarm, as long as the run waits");
        }
    });
    assert_eq!(outcome.answer().map(|answer| answer.text.as_str()), Some("four"));
    assert_eq!(timer.now(), Time::from_secs(1));
}

/// A clock that jumps by hours, as after a sleep of the machine, lets one deadline fall due at a time.
// proves: R10
#[test]
fn a_jump_of_hours_costs_one_attempt_each() {
    let hanging = || Attempt::new().text("well").hang();
    let model = ScriptedModel::new([hanging(), hanging(), "four".into()]);
    let timer = ManualTimer::new();
    let host = Host::shared().model(ModelSpec::new("m"), model.clone()).build().expect("a host");
    let session = Engine::new(host, timer.clone()).session().expect("a session");
    let (run, driver) = session.start("what is 2 + 2?").expect("a run");
    let (mut driver, mut waits) = (pin!(driver), pin!(run.outcome()));
    let outcome = futures_lite::future::block_on(async {
        for _ in 0..9 {
            if poll_once(&mut driver).await.is_some() {
                break;
            }
            assert!(poll_once(&mut waits).await.is_none());
            timer.advance(Duration::from_secs(7 * 3600));
        }
        waits.await
    });
    assert_eq!(outcome.answer().map(|answer| answer.text.as_str()), Some("four"));
    assert_eq!(model.requests(), 3);
}
