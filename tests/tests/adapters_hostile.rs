//! Models, tools and wakers that do what they should not.

use futures_lite::future::{block_on, poll_once};
use futures_lite::stream;
use runloom::testing::{Attempt, ScriptedModel, ScriptedTool};
use runloom::{
    Approval, CancelCause, CancelReply, Engine, Host, ManualTimer, ModelItem, ModelSpec, Problem, Run,
    RunOptions, RunResult, Seq, Session, SessionState, Shared, approver_fn, model_fn,
};
use std::future::{Future, ready};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, Wake, Waker};

type TestSession = Session<Shared, ManualTimer>;

fn session(host: Host<Shared>) -> TestSession {
    Engine::new(host, ManualTimer::new()).session().expect("a session")
}

fn kinds(run: &Run) -> Vec<&'static str> {
    run.handle().events_after(Seq(0), usize::MAX).iter().map(|event| event.event.kind().as_str()).collect()
}

/// A model that never stops and never waits holds up neither its task nor a cancellation.
// proves: C3
#[test]
fn an_endless_model_is_cancelled_within_one_poll() {
    for empty in [true, false] {
        let items = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&items);
        let model = model_fn(move |_, _| {
            let counted = Arc::clone(&counted);
            let text = if empty { "" } else { "and " };
            ready(Ok::<_, Problem>(stream::repeat_with(move || {
                counted.fetch_add(1, Ordering::SeqCst);
                ModelItem::Text(text.into())
            })))
        });
        let session = session(Host::shared().model(ModelSpec::new("m"), model).build().expect("a host"));
        let (run, driver) = session.start_with("go", RunOptions::new().unattended()).expect("a run");
        let mut driver = pin!(driver);
        for _ in 0..5 {
            assert!(block_on(poll_once(&mut driver)).is_none());
        }
        let before = items.load(Ordering::SeqCst);
        assert!((5..5 * 400).contains(&before), "{before} items in five polls");
        run.cancellation_token().cancel();
        let outcome = block_on(poll_once(&mut driver)).expect("it ends within one poll");
        assert!(matches!(outcome.result, RunResult::Cancelled(CancelCause::Requested)));
        assert_eq!(items.load(Ordering::SeqCst), before, "items are read after a cancellation");
    }
}

/// Starts another run of its session when it is dropped, and keeps it.
struct StartsAgain {
    session: Arc<OnceLock<TestSession>>,
    next: Arc<Mutex<Vec<Box<dyn Send>>>>,
    state: Arc<Mutex<Vec<SessionState>>>,
}

impl Drop for StartsAgain {
    fn drop(&mut self) {
        let session = self.session.get().expect("a session");
        self.state.lock().expect("no panic").push(session.state());
        if let Ok(started) = session.start("from a drop") {
            self.next.lock().expect("no panic").push(Box::new(started));
        }
    }
}

/// The drop of a run's work may use the session, which is free by then.
// proves: C8, X5
#[test]
fn a_drop_may_start_the_next_run() {
    for end in 0..4 {
        let (place, next, state) = (Arc::default(), Arc::default(), Arc::default());
        let (in_model, kept, states) = (Arc::clone(&place), Arc::clone(&next), Arc::clone(&state));
        let model = model_fn(move |_, _| {
            let guard = StartsAgain {
                session: Arc::clone(&in_model),
                next: Arc::clone(&kept),
                state: Arc::clone(&states),
            };
            ready(Ok::<_, Problem>(Box::pin(stream::unfold(guard, |guard| async move {
                std::future::pending::<()>().await;
                Some((ModelItem::Alive, guard))
            }))))
        });
        let session = session(Host::shared().model(ModelSpec::new("m"), model).build().expect("a host"));
        assert!(place.set(session.clone()).is_ok());
        let (run, mut driver) = session.start("go").expect("a run");
        assert!(block_on(poll_once(&mut driver)).is_none());
        match end {
            0 => drop(driver),
            1 => {
                drop(run);
                block_on(&mut driver);
            }
            2 => {
                assert_eq!(run.cancel(), CancelReply::Cancelled);
                block_on(&mut driver);
            }
            _ => {
                run.handle().plant_panic(0);
                run.cancellation_token().cancel();
                block_on(&mut driver);
            }
        }
        let found = state.lock().expect("no panic").clone();
        let expected = if end == 3 { SessionState::Failed } else { SessionState::Idle };
        assert_eq!(found, [expected], "end {end}");
        assert_eq!((next.lock().expect("no panic").len(), session.state()), (1, SessionState::Running));
        next.lock().expect("no panic").clear();
        assert_eq!(session.state(), SessionState::Idle);
    }
}

/// An approver may cancel the run that asks it: its answer comes too late then.
// proves: T2, C3
#[test]
fn an_approver_may_cancel_the_run() {
    let handle: Arc<OnceLock<runloom::RunHandle>> = Arc::default();
    let cancels = Arc::clone(&handle);
    let approver = approver_fn(move |_, _| {
        let reply = cancels.get().expect("a handle").cancel();
        assert_eq!(reply, CancelReply::Cancelled);
        ready(Approval::Allow)
    });
    let model = ScriptedModel::new([Attempt::new().call("act", "{}"), "done".into()]);
    let act = ScriptedTool::new("act").declared(|spec| spec.needs_approval()).output("acted");
    let accounts = act.clone();
    let host = Host::shared().model(ModelSpec::new("m"), model).tool(act).approver(approver);
    let session = session(host.build().expect("a host"));
    let (run, driver) = session.start_with("go", RunOptions::new().unattended()).expect("a run");
    let (ours, stream) = run.split();
    drop(stream);
    assert!(handle.set(ours).is_ok());
    let outcome = block_on(driver);
    assert!(matches!(outcome.result, RunResult::Cancelled(CancelCause::Requested)));
    assert_eq!((accounts.calls(), session.history().open_calls()), (0, 0));
}

/// Panics when it is woken, and again when it is dropped.
struct Bad(AtomicUsize);

impl Wake for Bad {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
        panic!("a waker that panics");
    }
}

impl Drop for Bad {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("a waker that panics when it is dropped");
        }
    }
}

fn poll_badly<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    let waker = Waker::from(Arc::new(Bad(AtomicUsize::new(0))));
    let polled = future.poll(&mut Context::from_waker(&waker));
    // It may be the last one.
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(waker)));
    polled
}

/// Wakers are foreign code too: theirs are the panics, and the run goes on to its one end.
// proves: E2, X5
#[test]
fn wakers_that_panic_harm_nobody_else() {
    let model = ScriptedModel::new([Attempt::new().text("hm").hang()]);
    let session = session(Host::shared().model(ModelSpec::new("m"), model).build().expect("a host"));
    let (run, driver) = session.start("go").expect("a run");
    let (handle, mut stream) = run.split();
    let mut driver = Box::pin(driver);
    assert!(poll_badly(driver.as_mut()).is_pending());
    while let Some(event) = block_on(poll_once(stream.next())) {
        assert!(event.is_some());
    }
    let _ = poll_badly(pin!(stream.next()));
    let mut waits = Box::pin(handle.outcome());
    assert!(poll_badly(waits.as_mut()).is_pending());
    let (woken, waker) = counting();
    let mut waits_well = Box::pin(handle.outcome());
    assert!(waits_well.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    assert_eq!(handle.cancel(), CancelReply::Cancelled);
    assert_eq!(woken.0.load(Ordering::SeqCst), 1);
    assert!(block_on(driver).answer().is_none());
    drop((waits, waits_well));
}

struct Counts(AtomicUsize);

impl Wake for Counts {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn counting() -> (Arc<Counts>, Waker) {
    let counts = Arc::new(Counts(AtomicUsize::new(0)));
    (Arc::clone(&counts), Waker::from(counts))
}

/// Items far above every bound end their attempt and are kept nowhere.
// proves: M3
#[test]
fn huge_items_end_their_attempt() {
    let huge = "x".repeat(8 << 20);
    for item in [
        ModelItem::Text(huge.as_str().into()),
        ModelItem::Reasoning(huge.as_str().into()),
        ModelItem::Failed(Box::new(Problem::new(runloom::ProblemKind::InvalidRequest, &huge))),
    ] {
        let attempt = Attempt::new().item(item);
        let session = session(
            Host::shared()
                .model(ModelSpec::new("m"), ScriptedModel::new([attempt.clone(), attempt.clone(), attempt]))
                .build()
                .expect("a host"),
        );
        let (run, driver) = session.start_with("go", RunOptions::new().unattended()).expect("a run");
        let outcome = block_on(driver);
        assert!(matches!(outcome.result, RunResult::Failed(_)), "{:?}", kinds(&run));
        assert!(run.handle().log_json().len() < 5 << 20, "{} bytes", run.handle().log_json().len());
        assert_eq!(session.history().open_calls(), 0);
    }
}
