//! Wakers that wait for an answer are foreign code (X5).

use crate::stage::{Kept, Reached, begun, calling, host, question, session, tool};
use runloom::{Asking, HostAnswer, ToolOutput};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

/// Calls this when it is woken.
struct Calls(Box<dyn Fn() + Send + Sync>);

impl Wake for Calls {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

fn waker(call: impl Fn() + Send + Sync + 'static) -> Waker {
    Waker::from(Arc::new(Calls(Box::new(call))))
}

/// A tool that asks twice and gives its questions away, and where they are.
fn asks_twice(hang: bool) -> (impl runloom::Tool, Kept<[Pin<Box<Asking>>; 2]>) {
    let kept = Kept::new();
    let keeps = kept.clone();
    let tool = tool("asks", move |cx| {
        let kept = keeps.clone();
        async move {
            kept.put([Box::pin(cx.ask(question("a"))), Box::pin(cx.ask(question("b")))]);
            if hang {
                std::future::pending::<()>().await;
            }
            cx.progress("wait").await;
            cx.progress("for it").await;
            Ok(ToolOutput::text("over"))
        }
    });
    (tool, kept)
}

/// A waker that panics harms neither the run nor the others that wait.
// proves: X5, H2
#[test]
fn wakers_that_panic_keep_nobody_asleep() {
    let (tool, kept) = asks_twice(true);
    let session = session(host(calling(["asks"])).tool(tool));
    let (run, mut driver) = begun(&session);
    let [mut a, mut b] = kept.take().unwrap();
    let woken = Arc::new(Mutex::new(0));
    let counts = Arc::clone(&woken);
    let bad = waker(|| panic!("a waker that panics"));
    let good = waker(move || *counts.lock().unwrap() += 1);
    assert!(a.as_mut().poll(&mut Context::from_waker(&bad)).is_pending());
    assert!(b.as_mut().poll(&mut Context::from_waker(&good)).is_pending());
    driver.run();
    for request in run.requests() {
        run.respond(&request.id, HostAnswer::value("\"x\"")).unwrap();
    }
    assert!(!driver.run(), "the run goes on: {:?}", run.handle().try_outcome());
    assert_eq!(*woken.lock().unwrap(), 1);
    assert!(matches!(a.as_mut().poll(&mut Context::from_waker(&bad)), Poll::Ready(Ok(_))));
    assert!(matches!(b.as_mut().poll(&mut Context::from_waker(&good)), Poll::Ready(Ok(_))));
}

/// The same where the call ends while they wait.
// proves: X5, H2
#[test]
fn wakers_that_panic_at_the_end_of_the_call_keep_nobody_asleep() {
    for cancelled in [false, true] {
        let (tool, kept) = asks_twice(cancelled);
        let asks = calling(["asks"]);
        let session = session(host(asks).tool(tool));
        let (run, driver) = session.start("go").unwrap();
        let mut driver = Box::pin(driver);
        let woken = Arc::new(Mutex::new(0));
        let mut waiting = None;
        for _ in 0..1_000 {
            let (_, own) = runloom_tests::bare::Flag::new();
            if driver.as_mut().poll(&mut Context::from_waker(&own)).is_ready() {
                break;
            }
            if let Some([mut a, mut b]) = kept.take() {
                let counts = Arc::clone(&woken);
                let bad = waker(|| panic!("a waker that panics"));
                let good = waker(move || *counts.lock().unwrap() += 1);
                assert!(a.as_mut().poll(&mut Context::from_waker(&bad)).is_pending());
                assert!(b.as_mut().poll(&mut Context::from_waker(&good)).is_pending());
                waiting = Some((a, b));
                if cancelled {
                    run.cancel();
                }
            }
        }
        let outcome = run.handle().try_outcome().unwrap();
        assert_eq!(outcome.answer().is_none(), cancelled, "{:?}", outcome.result);
        if cancelled {
            assert_eq!(*woken.lock().unwrap(), 1);
            assert!(waiting.is_some());
        }
    }
}

/// A waker may do to the run whatever it likes: it runs under no lock.
// proves: X5, C8
#[test]
fn a_waker_may_drop_the_handle() {
    let (tool, kept) = asks_twice(true);
    let session = session(host(calling(["asks"])).tool(tool));
    let (run, mut driver) = begun(&session);
    let [mut a, _b] = kept.take().unwrap();
    let handle: Arc<Mutex<Option<runloom::Run>>> = Arc::default();
    let (drops, state): (_, Reached<runloom::SessionState>) = (Arc::clone(&handle), Arc::default());
    let (sees, other) = (Arc::clone(&state), session.clone());
    let waker = waker(move || {
        let run = drops.lock().unwrap().take();
        drop(run);
        let _ = sees.set(other.state());
    });
    assert!(a.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    driver.run();
    let control = run.control();
    *handle.lock().unwrap() = Some(run);
    control.respond(&control.requests()[0].id, HostAnswer::value("\"x\"")).unwrap();
    assert!(driver.run());
    assert_eq!(state.get(), Some(&runloom::SessionState::Idle));
    assert_eq!(session.history().open_calls(), 0);
}
