//! What a summarizing compactor reads, and what a compaction by hand says about a failure (K4, K6, C3, R5, M5).

#![allow(clippy::unwrap_used, clippy::panic, reason = "all of it is tests and their helpers")]

use futures_lite::future::{block_on, poll_once};
use futures_lite::stream;
use runloom::testing::{Attempt, ScriptedModel};
use runloom::{
    Activity, CompactError, Compaction, CompactionError, CompactionFault, CompactionPolicy, Completion,
    Config, Deadlines, Engine, Event, EventKind, Finish, Host, Limits, Local, LocalSummarizer, ManualTimer,
    MessageBounds, MessageId, ModelItem, ModelSpec, Part, Problem, ProblemKind, Role, Run, Seq, Shared,
    Summarizer, Usage, compactor_fn, model_fn,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const LONG: &str = "a long text that takes some tokens, so that there is something to gain when it goes away";

type Session = runloom::Session<Shared, ManualTimer>;

fn config() -> Config {
    let policy = CompactionPolicy::after_messages(5).keep_messages(2);
    Config::default().compaction(policy).unwrap()
}

fn old(at: usize) -> runloom::Message {
    let bounds = MessageBounds { parts: 9, text: 9_000, image: 0 };
    let role = if at.is_multiple_of(2) { Role::User } else { Role::Assistant };
    let id = MessageId::new(format!("old-{at}").as_str()).unwrap();
    let parts = vec![Part::Text(format!("{at} {LONG}").as_str().into())];
    runloom::Message::new(id, role, parts, &bounds).unwrap()
}

/// A session of six long messages, whose compactor asks a model that says this.
fn summarized(
    config: Config,
    timer: &ManualTimer,
    items: impl Iterator<Item = ModelItem> + Send + Clone + Sync + 'static,
) -> Session {
    let model = model_fn(move |_, _| {
        let items = items.clone();
        async move { Ok::<_, Problem>(stream::iter(items)) }
    });
    let host = Host::shared()
        .model(ModelSpec::new("m"), ScriptedModel::new(["one".into()]))
        .compactor(Summarizer::new(ModelSpec::new("cheap"), model))
        .build()
        .unwrap();
    let session = Engine::builder(host, timer.clone()).config(config).build().session().unwrap();
    session.append((0..6).map(old)).unwrap();
    session
}

fn text(text: &str) -> ModelItem {
    ModelItem::Text(text.into())
}

fn usage(input: u64, output: u64) -> ModelItem {
    ModelItem::Usage(Box::new(Usage::new(input, output)))
}

fn retry() -> ModelItem {
    let delay = Duration::ZERO;
    ModelItem::Activity(Box::new(Activity::RequestRetry { kind: ProblemKind::Server, delay }))
}

fn done() -> ModelItem {
    ModelItem::Done(Box::new(Completion::new(Some(Finish::Stop), "stop")))
}

/// Why the run's compaction failed, and what it had cost.
fn failure(run: &Run) -> (String, Usage) {
    let failed = |event: &Event| match event {
        Event::CompactionFailed(failed) => Some((failed.error.to_string(), failed.usage)),
        _ => None,
    };
    run.handle().events_after(Seq(0), 99).iter().find_map(|envelope| failed(&envelope.event)).unwrap()
}

// proves: K4, R5
#[test]
fn an_endless_summary_is_read_up_to_the_bound_of_a_response() {
    let mut limits = Limits::default();
    limits.response_bytes = 10_000;
    let policy = CompactionPolicy::after_messages(5).keep_messages(2);
    let config = Config::new(limits).unwrap().compaction(policy).unwrap();
    let polled = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&polled);
    let endless = std::iter::once(usage(90, 9)).chain(std::iter::repeat_with(move || {
        count.fetch_add(1, Ordering::Relaxed);
        text("0123456789")
    }));
    let session = summarized(config, &ManualTimer::new(), endless);
    let (run, driver) = session.start("hello").unwrap();
    let outcome = block_on(driver);
    // 52 bytes are the heading's.
    let (why, usage) = failure(&run);
    assert_eq!(why, "the compactor failed: the summary is larger than 9948 bytes");
    assert_eq!((usage, outcome.billed), (Usage::new(90, 9), Usage::new(90, 9)));
    assert_eq!((outcome.answer().unwrap().text.as_str(), outcome.history.len()), ("one", 8));
    assert_eq!(polled.load(Ordering::Relaxed), 995);
}

// proves: C3, K4
#[test]
fn a_summary_that_never_waits_lets_cancellation_and_its_deadline_through() {
    let endless = || std::iter::repeat(ModelItem::Alive);
    let session = summarized(config(), &ManualTimer::new(), endless());
    let (run, mut driver) = session.start("hello").unwrap();
    assert!(block_on(poll_once(&mut driver)).is_none());
    run.cancel();
    let outcome = block_on(driver);
    assert_eq!((outcome.history.len(), session.revision().0), (7, 2));
    // Its time passes although it has always something to say.
    let mut deadlines = Deadlines::default();
    deadlines.compaction = Some(Duration::from_secs(5));
    let timer = ManualTimer::new();
    let session = summarized(config().deadlines(deadlines).unwrap(), &timer, endless());
    let (run, mut driver) = session.start("hello").unwrap();
    assert!(block_on(poll_once(&mut driver)).is_none());
    timer.advance(Duration::from_secs(5));
    assert_eq!(block_on(driver).answer().unwrap().text, "one");
    assert_eq!(failure(&run).0, CompactionError::TimedOut.to_string());
    // By hand others have their turn too, and giving it up gives the session free.
    let session = summarized(config(), &ManualTimer::new(), endless());
    assert!(block_on(poll_once(Box::pin(session.compact()))).is_none());
    assert!(session.start("hello").is_ok());
}

// proves: R5
#[test]
fn requests_that_a_summarys_model_repeats_add_up() {
    let items = [usage(90, 1), retry(), usage(50, 1), text("brief"), usage(50, 7), done()];
    let session = summarized(config(), &ManualTimer::new(), items.into_iter());
    let (_run, driver) = session.start("hello").unwrap();
    assert_eq!(block_on(driver).billed, Usage::new(140, 8));
    // By hand the host has to bill it itself.
    let items = [usage(90, 1), retry(), usage(50, 1), text("brief"), usage(50, 7), done()];
    let session = summarized(config(), &ManualTimer::new(), items.into_iter());
    assert_eq!(block_on(session.compact()).unwrap().usage, Usage::new(140, 8));
}

// proves: C3, R5, X2
#[test]
fn on_one_thread_a_summary_is_read_in_the_same_way() {
    let model = runloom::local_model_fn(|_, _| async {
        let items = [usage(90, 1), retry(), usage(50, 7)].into_iter();
        Ok::<_, Problem>(stream::iter(items.chain(std::iter::repeat(ModelItem::Alive))))
    });
    let host = Host::<Local>::local()
        .model(ModelSpec::new("m"), ScriptedModel::new(["one".into()]))
        .compactor(LocalSummarizer::new(Summarizer::new(ModelSpec::new("cheap"), model)))
        .build()
        .unwrap();
    let session = Engine::builder(host, ManualTimer::new()).config(config()).build().session().unwrap();
    session.append((0..6).map(old)).unwrap();
    let (run, mut driver) = session.start("hello").unwrap();
    assert!(block_on(poll_once(&mut driver)).is_none());
    run.cancel();
    assert_eq!(block_on(driver).history.len(), 7);
}

// proves: K6, R5, M5
#[test]
fn a_compaction_by_hand_that_fails_tells_what_it_cost_and_nothing_that_is_secret() {
    let fault = || {
        let text = format!("no\u{7}: sk-canary-123456 {}", "x".repeat(9_000));
        CompactionFault::new(text).usage(Usage::new(30, 4))
    };
    let usage = Usage::new(30, 4);
    type Answer = dyn Fn() -> Result<Compaction, CompactionFault> + Send + Sync;
    let answers: [(&str, Box<Answer>); 3] = [
        ("failed", Box::new(move || Err(fault()))),
        ("empty", Box::new(move || Ok(Compaction::default().usage(usage)))),
        ("no_gain", Box::new(move || Ok(Compaction::summary(LONG.repeat(99)).usage(usage)))),
    ];
    for (code, answer) in answers {
        let compactor = compactor_fn(move |_, _| std::future::ready(answer()));
        let host = Host::shared().model(ModelSpec::new("m"), ScriptedModel::new([])).compactor(compactor);
        let engine = Engine::builder(host.build().unwrap(), ManualTimer::new()).config(config()).build();
        let session = engine.session().unwrap();
        session.append((0..6).map(old)).unwrap();
        let failed = block_on(session.compact()).unwrap_err();
        let shown = format!("{failed} {failed:?}");
        assert!(!shown.contains("canary") && !shown.contains('\u{7}'), "{shown}");
        let CompactError::Failed { error, usage: cost } = failed else { panic!("{code}") };
        assert_eq!((error.code(), cost), (code, usage));
        if let CompactionError::Failed(text) = &error {
            assert!(text.starts_with("no : [redacted] xx") && text.ends_with(" [cut]"), "{text}");
            assert_eq!(text.len() as u64, Limits::default().error_bytes);
        }
        assert_eq!((session.revision().0, session.history().len()), (1, 6));
    }
}

// proves: K4, M5
#[test]
fn a_run_that_gives_compaction_up_goes_on_and_says_so() {
    let refuses = || Attempt::new().refuse(Problem::new(ProblemKind::Server, "no"));
    let host = Host::shared()
        .model(ModelSpec::new("m"), ScriptedModel::new(["one".into(), "two".into(), "three".into()]))
        .compactor(Summarizer::new(ModelSpec::new("cheap"), ScriptedModel::new([refuses(), refuses()])))
        .build()
        .unwrap();
    let policy = CompactionPolicy::after_messages(5).keep_messages(2);
    let engine = Engine::builder(host, ManualTimer::new())
        .config(Config::default().compaction(policy).unwrap())
        .build();
    let session = engine.session().unwrap();
    session.append((0..6).map(old)).unwrap();
    let stopped = [false, true, true].map(|_| {
        let (run, driver) = session.start(LONG.repeat(2)).unwrap();
        assert!(block_on(driver).answer().is_some());
        let events = run.handle().events_after(Seq(0), 99);
        events.iter().any(|envelope| envelope.event.kind() == EventKind::CompactionStopped)
    });
    assert_eq!(stopped, [false, true, true]);
}
