//! Waiting for the outcome of a run whose events nobody reads.

use futures_lite::future::{block_on, poll_once};
use runloom::testing::{Attempt, ScriptedModel, ScriptedTool};
use runloom::{
    Access, Config, Engine, Host, Limits, ManualTimer, ModelSpec, Problem, ProblemKind, RunResult, Session,
    Shared,
};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};

fn session(
    attempts: impl IntoIterator<Item = Attempt>,
    tool: ScriptedTool<ManualTimer>,
    timer: &ManualTimer,
    capacity: usize,
) -> Session<Shared, ManualTimer> {
    let mut limits = Limits::default();
    limits.event_capacity = capacity;
    let model = ScriptedModel::new(attempts);
    let host = Host::shared().model(ModelSpec::new("m"), model).tool(tool).build().expect("a host");
    let engine = Engine::builder(host, timer.clone()).config(Config::new(limits).expect("limits")).build();
    engine.session().expect("a session")
}

fn work(timer: &ManualTimer) -> ScriptedTool<ManualTimer> {
    ScriptedTool::timed(timer.clone(), "work")
        .declared(|spec| spec.access(Access::Shared))
        .progress("on it")
        .output("done")
}

/// Whether the driver was woken.
struct Flag(AtomicBool);

impl Flag {
    fn raised() -> (Arc<Self>, Waker) {
        let flag = Arc::new(Self(AtomicBool::new(true)));
        (Arc::clone(&flag), Waker::from(flag))
    }
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// The wait begins when the stream has been full for a while, and results have piled up behind it.
// proves: E14
#[test]
fn a_full_stream_empties_for_who_waits_whatever_its_capacity() {
    for capacity in 1..12 {
        for calls in 1..4 {
            let timer = ManualTimer::new();
            let busy = Problem::new(ProblemKind::Overloaded, "busy");
            let asks = (0..calls).fold(Attempt::new().text("well"), |attempt, _| attempt.call("work", "{}"));
            let attempts = [Attempt::new().refuse(busy), asks, "done".into()];
            let session = session(attempts, work(&timer), &timer, capacity);
            let (mut run, driver) = session.start("go").expect("a run");
            let mut driver = pin!(driver);
            // Reads as many events as this, and then waits for the outcome.
            for read in 0..20 {
                while block_on(poll_once(&mut driver)).is_none() && timer.advance_to_alarm().is_some() {}
                if read < capacity * 2 && block_on(poll_once(run.events().next())).is_none() {
                    break;
                }
            }
            let mut waits = pin!(run.outcome());
            let (flag, waker) = Flag::raised();
            let outcome = loop {
                if let Some(outcome) = block_on(poll_once(&mut waits)) {
                    break outcome;
                }
                if flag.0.swap(false, Ordering::SeqCst) {
                    let _ = driver.as_mut().poll(&mut Context::from_waker(&waker));
                } else {
                    let alarm = timer.advance_to_alarm();
                    assert!(alarm.is_some(), "capacity {capacity}, {calls} calls: the run stands still");
                }
            };
            assert!(matches!(outcome.result, RunResult::Completed(_)));
        }
    }
}
