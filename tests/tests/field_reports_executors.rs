//! What others had to fix in waits, cancellation and re-entry, by the report's id. The rest of those about executors are
//! scenarios of the conformance suite (WASM-02 in `timer`, WASM-05 in `re-entry` and `wakers`) and models of threads
//! (RUST-01).
#![allow(clippy::unwrap_used)]

use futures_lite::future::{block_on, poll_once, ready};
use runloom::testing::{Attempt, ScriptedTool};
use runloom::{
    Access, CancellationToken, ManualTimer, Problem, ProblemKind, RunHandle, RunResult, ToolStatus,
};
use runloom_tests::bare::{Flag, Task};
use runloom_tests::runs::{assert_ended, engine, seconds};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::Context;

/// CANC-08: thousands of waits that are raced and dropped leave no listener behind.
// proves: C1
#[test]
fn canc_08_listeners_do_not_pile_up() {
    let token = CancellationToken::new();
    let (flag, waker) = Flag::new();
    for _ in 0..10_000 {
        let raced = token.until_cancelled(ready(()));
        assert!(pin!(raced).poll(&mut Context::from_waker(&waker)).is_ready());
        let mut waits = token.cancelled();
        assert!(pin!(&mut waits).poll(&mut Context::from_waker(&waker)).is_pending());
    }
    // Each listener would hold the waker, and be woken.
    drop(waker);
    assert_eq!(Arc::strong_count(&flag), 1);
    token.cancel();
    assert_eq!(flag.wakes(), 0);
}

/// RETRY-05: a cancelled wait leaves no timer armed.
// proves: R3
#[test]
fn retry_05_a_cancelled_wait_leaves_no_alarm() {
    let timer = ManualTimer::new();
    let busy = Problem::new(ProblemKind::Overloaded, "busy").retry_after(Some(seconds(30)));
    let engine = engine([Attempt::new().refuse(busy)], [], &timer, 64);
    let (run, driver) = engine.session().unwrap().start("go").unwrap();
    let mut driver = Task::new(driver);
    assert!(!driver.run() && timer.next_alarm().is_some());
    timer.advance(seconds(1));
    let _ = run.cancel();
    assert!(driver.run());
    assert_eq!(timer.next_alarm(), None);
    assert_ended(run.handle());
}

/// CANC-01: the one token reaches whatever the run awaits, within one poll of the driver.
// proves: C1, C3
#[test]
fn canc_01_every_wait_sees_the_token() {
    let busy = || Problem::new(ProblemKind::Overloaded, "busy");
    let scripts: [(&str, Vec<Attempt>); 4] = [
        ("opening", vec![Attempt::new().open_hang()]),
        ("stream", vec![Attempt::new().text("a").hang()]),
        ("retry", vec![Attempt::new().refuse(busy())]),
        ("tool", vec![Attempt::new().call("fetch", "{}")]),
    ];
    for (what, script) in scripts {
        let timer = ManualTimer::new();
        let fetch = ScriptedTool::timed(timer.clone(), "fetch").wait(seconds(60)).output("done");
        let engine = engine(script, [fetch.clone()], &timer, 64);
        let (run, driver) = engine.session().unwrap().start("go").unwrap();
        let mut driver = Task::new(driver);
        assert!(!driver.run(), "{what}");
        run.cancellation_token().cancel();
        let before = driver.polls();
        assert!(driver.run(), "{what}");
        assert_eq!(driver.polls() - before, 1, "{what}");
        assert!(matches!(run.handle().try_outcome().unwrap().result, RunResult::Cancelled(_)), "{what}");
        // The tool is dropped and does not run to its end.
        timer.advance(seconds(120));
        assert_eq!((fetch.finished(), fetch.dropped()), (0, usize::from(what == "tool")), "{what}");
    }
}

fn statuses(run: &RunHandle) -> Vec<ToolStatus> {
    let outcome = run.try_outcome().unwrap();
    outcome.history.iter().flat_map(|message| message.results().map(|result| result.status)).collect()
}

/// LOOP-05: three of five tools never return: a cancellation closes the batch at once and keeps the two results.
// proves: C5
#[test]
fn loop_05_tools_that_never_return_do_not_hold_a_cancel() {
    let timer = ManualTimer::new();
    let names = ["a", "b", "c", "d", "e"];
    let attempt = names.iter().fold(Attempt::new(), |attempt, name| attempt.call(*name, "{}"));
    let tools = names.map(|name| {
        let tool = ScriptedTool::timed(timer.clone(), name).declared(|spec| spec.access(Access::Shared));
        if name < "c" { tool.wait(seconds(64)).output("done") } else { tool.hang() }
    });
    let engine = engine([attempt], tools, &timer, 64);
    let (run, driver) = engine.session().unwrap().start("go").unwrap();
    let mut driver = Task::new(driver);
    driver.run();
    timer.advance(seconds(64));
    driver.run();
    timer.advance(seconds(56));
    driver.run();
    let _ = run.cancel();
    assert_ended(run.handle());
    let found = statuses(run.handle());
    assert_eq!(found.len(), 5);
    assert_eq!(found[..2], [ToolStatus::Success; 2]);
    assert!(found[2..].iter().all(|status| *status == ToolStatus::InterruptedOutcomeUnknown), "{found:?}");
    assert!(block_on(poll_once(run.outcome())).is_some());
}
