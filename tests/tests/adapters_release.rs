//! What is left of a run that has ended.

use futures_lite::future::{block_on, poll_once};
use futures_lite::stream::Empty;
use runloom::testing::{Attempt, ScriptedModel};
use runloom::{
    CancellationToken, Engine, Host, ManualTimer, ModelItem, ModelSpec, Problem, ProblemKind, RunOptions,
    ToolContext, ToolOutput, ToolSpec, model_fn, tool_fn,
};
use std::future::{self, Future};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};

struct Idle;

impl Wake for Idle {
    fn wake(self: Arc<Self>) {}
}

fn object(name: &str) -> ToolSpec {
    ToolSpec::new(name, "", r#"{"type":"object"}"#).expect("a declaration")
}

fn refusal() -> Problem {
    Problem::new(ProblemKind::InvalidRequest, "no")
}

/// Polls until the future is done, with a waker of its own; the output, and how many wakers are still held.
fn finish<F: Future + Unpin>(future: &mut F) -> (F::Output, usize) {
    let idle = Arc::new(Idle);
    let waker = Waker::from(Arc::clone(&idle));
    let mut cx = Context::from_waker(&waker);
    for _ in 0..1_000 {
        if let std::task::Poll::Ready(output) = Pin::new(&mut *future).poll(&mut cx) {
            drop(waker);
            return (output, Arc::strong_count(&idle) - 1);
        }
    }
    panic!("the future is not done");
}

/// A task that has ended is not kept alive by what a tool leaves lying around.
// proves: C11
#[test]
fn a_kept_tool_context_holds_no_task() {
    let kept: Arc<Mutex<Vec<(ToolContext, Waker)>>> = Arc::default();
    let keeps = Arc::clone(&kept);
    let keep = tool_fn(object("keep"), move |_, cx| {
        let keeps = Arc::clone(&keeps);
        async move {
            cx.progress("on it").await;
            let waker = std::future::poll_fn(|cx| std::task::Poll::Ready(cx.waker().clone())).await;
            keeps.lock().expect("no panic").push((cx, waker));
            Ok(ToolOutput::text("kept"))
        }
    });
    let model = ScriptedModel::new([Attempt::new().call("keep", "{}"), "done".into()]);
    let host = Host::shared().model(ModelSpec::new("m"), model).tool(keep).build().expect("a host");
    let session = Engine::new(host, ManualTimer::new()).session().expect("a session");
    let (_run, mut driver) = session.start("keep it").expect("a run");
    let (outcome, held) = finish(&mut driver);
    assert!(outcome.answer().is_some());
    assert_eq!(held, 0, "wakers that a finished driver left behind");
    let (cx, waker) = kept.lock().expect("no panic").pop().expect("a context");
    waker.wake();
    block_on(cx.progress("too late"));
}

/// The future of a driver may stay where it is after its end, in a field or a list.
// proves: C1
#[test]
fn a_driver_that_has_ended_waits_for_no_token() {
    let token = CancellationToken::new();
    let model = ScriptedModel::new(["done".into()]);
    let host = Host::shared().model(ModelSpec::new("m"), model).build().expect("a host");
    let session = Engine::new(host, ManualTimer::new()).session().expect("a session");
    let options = RunOptions::new().cancellation_token(token.clone());
    let (run, mut driver) = session.start_with("hi", options).expect("a run");
    let (_, held) = finish(&mut driver);
    assert_eq!(held, 0, "wakers that a finished driver left behind");
    drop((run, driver, token));
}

/// Neither engine nor session nor token remembers a run that is over.
// proves: C8
#[test]
fn a_hundred_thousand_runs_leave_nothing_behind() {
    let token = CancellationToken::new();
    let model = model_fn(|_, _| future::ready(Err::<Empty<ModelItem>, _>(refusal())));
    let host = Host::shared().model(ModelSpec::new("m"), model).build().expect("a host");
    let engine = Engine::new(host, ManualTimer::new());
    let one = |kind: usize| {
        let session = engine.session().expect("a session");
        let options = RunOptions::new().cancellation_token(token.clone());
        let (run, mut driver) = session.start_with("hi", options).expect("a run");
        match kind % 5 {
            0 => drop(run),
            1 => drop(driver),
            2 => drop(block_on(poll_once(run.outcome()))),
            3 => {
                run.cancel();
                block_on(driver);
            }
            _ => assert!(block_on(poll_once(&mut driver)).is_some()),
        }
    };
    // What is allocated once is allocated by the first runs.
    (0..100).for_each(one);
    let measured = allocation_counter::measure(|| (0..100_000).for_each(one));
    assert!(measured.bytes_current.abs() < 16 * 1024, "{} bytes are left", measured.bytes_current);
    assert_eq!(engine.shutdown(), 0);
}
