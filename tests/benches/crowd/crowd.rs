//! Many runs, all of them under way at the same moment.

use crate::memory;
use crate::pools::Pool;
use futures_lite::stream;
use runloom::{
    Access, CallDelta, CancelCause, CancellationToken, Completion, Engine, Finish, Host, ManualTimer, Model,
    ModelItem, ModelSpec, Problem, RunOptions, RunResult, Session, SessionState, Shared, ToolOutput,
    ToolSpec, model_fn, tool_fn,
};
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// Deltas of the last answer: with them a run has twenty events.
const DELTAS: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Complete,
    /// By one token that all of them share.
    Token,
    Shutdown,
}

#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) events: u64,
    pub(crate) wakes: u64,
    pub(crate) peak: usize,
    pub(crate) at_rest: usize,
    pub(crate) took: Duration,
}

/// Passes wakes on and counts them, for all drivers together.
struct Counting(Arc<AtomicU64>, Waker);

impl Wake for Counting {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
        self.1.wake_by_ref();
    }
}

/// A driver under such a waker, which is made anew only when the executor's changes.
struct Counted<F> {
    driver: F,
    wakes: Arc<AtomicU64>,
    waker: Option<(Waker, Waker)>,
}

impl<F: Future + Unpin> Future for Counted<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        if !this.waker.as_ref().is_some_and(|(own, _)| own.will_wake(cx.waker())) {
            let counting = Counting(Arc::clone(&this.wakes), cx.waker().clone());
            this.waker = Some((cx.waker().clone(), Waker::from(Arc::new(counting))));
        }
        let Some((_, waker)) = &this.waker else { return Poll::Pending };
        Pin::new(&mut this.driver).poll(&mut Context::from_waker(waker)).map(drop)
    }
}

/// A model that first calls the tool `meet`, and then says some words.
fn model() -> impl Model {
    model_fn(|request, _| {
        let answers = request.history.last().is_some_and(|message| message.results().next().is_some());
        let mut items = Vec::new();
        if answers {
            items.extend((0..DELTAS).map(|_| ModelItem::Text("word ".into())));
        } else {
            let (id, name) = (Some("call-1".into()), Some("meet".into()));
            let call = CallDelta { index: Some(0), id, name, arguments: "{}".into() };
            items.push(ModelItem::CallDelta(Box::new(call)));
        }
        let finish = if answers { Finish::Stop } else { Finish::ToolCalls };
        items.push(ModelItem::Done(Box::new(Completion::new(Some(finish), finish.as_str()))));
        ready(Ok::<_, Problem>(stream::iter(items)))
    })
}

/// A tool that waits until all are there.
fn engine(arrived: &Arc<AtomicUsize>, gate: &CancellationToken) -> Engine<Shared, ManualTimer> {
    let spec = ToolSpec::new("meet", "", "{}").unwrap().access(Access::Shared);
    let (arrived, gate) = (Arc::clone(arrived), gate.clone());
    let meet = tool_fn(spec, move |_, cx| {
        let (arrived, gate) = (Arc::clone(&arrived), gate.clone());
        async move {
            cx.progress("here").await;
            arrived.fetch_add(1, Ordering::SeqCst);
            gate.cancelled().await;
            Ok(ToolOutput::text("all are here"))
        }
    });
    let host = Host::shared().model(ModelSpec::new("scripted"), model()).tool(meet).build().unwrap();
    Engine::new(host, ManualTimer::new())
}

/// Waits until `count` says `all`.
fn until(count: &AtomicUsize, all: usize) {
    let start = Instant::now();
    while count.load(Ordering::SeqCst) < all {
        assert!(start.elapsed() < Duration::from_secs(120), "{} of {all}", count.load(Ordering::SeqCst));
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Starts so many runs, waits until all of them are in their tool, and has them all end.
pub(crate) fn play(pool: &dyn Pool, runs: usize, ending: Ending) -> Found {
    let (before, _) = memory();
    let (arrived, gate, token) = (Arc::default(), CancellationToken::new(), CancellationToken::new());
    let (wakes, ended, events) =
        (Arc::new(AtomicU64::new(0)), Arc::<AtomicUsize>::default(), Arc::<AtomicU64>::default());
    let engine = engine(&arrived, &gate);
    let start = Instant::now();
    let mut sessions = Vec::with_capacity(runs);
    for _ in 0..runs {
        let session = engine.session().unwrap();
        let options = RunOptions::new().cancellation_token(token.clone());
        let (mut run, driver) = session.start_with("go", options).unwrap();
        pool.spawn(Box::pin(Counted { driver, wakes: Arc::clone(&wakes), waker: None }));
        let (ended, events) = (Arc::clone(&ended), Arc::clone(&events));
        pool.spawn(Box::pin(async move {
            while run.fill().await {
                while run.take().is_some() {
                    events.fetch_add(1, Ordering::Relaxed);
                }
            }
            let result = &run.handle().try_outcome().unwrap().result;
            let expected = match ending {
                Ending::Complete => matches!(result, RunResult::Completed(_)),
                Ending::Token => *result == RunResult::Cancelled(CancelCause::Requested),
                Ending::Shutdown => *result == RunResult::Cancelled(CancelCause::Shutdown),
            };
            assert!(expected, "{result:?} after {ending:?}");
            ended.fetch_add(1, Ordering::SeqCst);
        }));
        sessions.push(session);
    }
    until(&arrived, runs);
    assert_eq!(engine.runs(), runs);
    match ending {
        Ending::Complete => gate.cancel(),
        Ending::Token => token.cancel(),
        Ending::Shutdown => assert_eq!(engine.shutdown(), runs),
    }
    until(&ended, runs);
    let took = start.elapsed();
    let (at_rest, peak) = memory();
    assert_eq!(engine.runs(), 0);
    assert!(
        sessions
            .iter()
            .all(|session: &Session<Shared, ManualTimer>| session.state() != SessionState::Running)
    );
    assert!(sessions.iter().all(|session| session.history().open_calls() == 0));
    Found {
        events: events.load(Ordering::Relaxed),
        wakes: wakes.load(Ordering::Relaxed),
        peak: peak.saturating_sub(before),
        at_rest: at_rest.saturating_sub(before),
        took,
    }
}
