//! Responders: a program that answers (H2).

use crate::stage::{asking, begun, calling, host, open, results, session, spec};
use runloom::testing::ScriptedTool;
use runloom::{
    ApprovalPolicy, HostAnswer, HostRequest, RequestKind, ResponderContext, RunOptions, ToolOutput,
    ToolStatus, responder_fn,
};
use runloom_tests::bare::Task;
use runloom_tests::runs::{assert_ended, count, events};
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// How a responder answers.
type Answers = fn() -> Answering;
type Answering = Pin<Box<dyn Future<Output = Option<HostAnswer>> + Send>>;

fn value(text: &str) -> HostAnswer {
    HostAnswer::value(format!("{text:?}"))
}

/// Counts how often a future of the responder was dropped before its end.
#[derive(Clone, Default)]
struct Drops(Arc<AtomicUsize>);

impl Drops {
    fn guard(&self) -> impl Drop + use<> {
        struct Guard(Arc<AtomicUsize>);
        impl Drop for Guard {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
        }
        Guard(Arc::clone(&self.0))
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// It answers every kind of request, and the record says that it did.
// proves: H2
#[test]
fn a_responder_answers_all_kinds() {
    let responder = responder_fn(|request: Arc<HostRequest>, cx: ResponderContext| async move {
        assert!(!cx.token().is_cancelled() && cx.run_id().as_str() == "run-1");
        Some(match request.kind {
            RequestKind::Approval { .. } => HostAnswer::allow(),
            RequestKind::Question(_) => value("told"),
            _ => HostAnswer::Result(ToolOutput::text("executed")),
        })
    });
    let gated = ScriptedTool::new("gated").output("ran").declared(|spec| spec.approval(ApprovalPolicy::Ask));
    let parts = host(calling(["gated", "asks", "page"])).tool(gated).tool(asking("asks"));
    let session = session(parts.client_tool(spec("page")).responder(responder));
    let (run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
    let mut driver = Task::new(driver);
    assert!(driver.run());
    let texts: Vec<_> = results(&session).into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["ran", "\"told\"", "executed"]);
    let lines: Vec<_> = events(run.handle()).iter().map(|e| e.to_json(run.id())).collect();
    let answered = lines.iter().filter(|line| line.contains("host_input.answered"));
    assert!(answered.clone().count() == 3 && answered.clone().all(|line| line.contains("responder")));
    assert_ended(run.handle());
}

/// No answer, an invalid one and a panic leave the request to whoever holds the handle.
// proves: H2
#[test]
fn without_an_answer_the_handle_decides() {
    let cases: [(&str, Answers); 4] = [
        ("declines", || Box::pin(async { None })),
        ("invalid", || Box::pin(async { Some(HostAnswer::value("7")) })),
        ("kind", || Box::pin(async { Some(HostAnswer::deny("no")) })),
        ("panics", || Box::pin(async { panic!("a responder that panics") })),
    ];
    for (name, answers) in cases {
        let responder = responder_fn(move |_, _| answers());
        let session = session(host(calling(["asks"])).tool(asking("asks")).responder(responder));
        let (run, mut driver) = begun(&session);
        assert_eq!(open(run.handle()), ["question asks"], "{name}");
        run.respond(&run.requests()[0].id, value("by hand")).unwrap();
        assert!(driver.run());
        assert_eq!(results(&session), [(ToolStatus::Success, "\"by hand\"".to_owned())]);
        assert_ended(run.handle());
    }
}

/// The same without a handle: nobody can answer then.
// proves: H2
#[test]
fn without_an_answer_and_without_a_handle_nobody_can() {
    let gate = Arc::new(Mutex::new(false));
    let opens = Arc::clone(&gate);
    let responder = responder_fn(move |_, _| {
        let gate = Arc::clone(&opens);
        std::future::poll_fn(move |_| {
            if *gate.lock().unwrap() { std::task::Poll::Ready(None) } else { std::task::Poll::Pending }
        })
    });
    let session = session(host(calling(["asks"])).tool(asking("asks")).responder(responder));
    let (run, mut driver) = begun(&session);
    run.detach();
    driver.run();
    assert!(driver.output().is_none(), "the responder works on it");
    *gate.lock().unwrap() = true;
    // Nothing woke the responder's future, which is foreign code; the driver asks it when it is told to.
    for _ in 0..3 {
        driver.poll();
    }
    if driver.output().is_none() {
        drop(driver);
        assert_eq!(session.history().open_calls(), 0);
    } else {
        assert_eq!(results(&session)[0].1, "no_responder");
    }
}

/// The handle is faster: the responder's future is dropped, and its answer is not needed.
// proves: H2
#[test]
fn the_first_valid_answer_counts() {
    let drops = Drops::default();
    let counts = drops.clone();
    let responder = responder_fn(move |_, _| {
        let guard = counts.guard();
        async move {
            pending::<()>().await;
            drop(guard);
            None
        }
    });
    let session = session(host(calling(["asks"])).tool(asking("asks")).responder(responder));
    let (run, mut driver) = begun(&session);
    assert_eq!(drops.count(), 0);
    run.respond(&run.requests()[0].id, HostAnswer::value("{")).unwrap_err();
    driver.run();
    assert_eq!(drops.count(), 0, "an invalid answer changes nothing");
    run.respond(&run.requests()[0].id, value("quick")).unwrap();
    assert!(driver.run());
    assert_eq!(drops.count(), 1);
    assert_eq!(count(run.handle(), "host_input.answered"), 1);
    assert_ended(run.handle());
}

/// Ends of the run reach it: its future is dropped with the run's other work.
// proves: C3, H2
#[test]
fn a_cancel_drops_the_responders_future() {
    let drops = Drops::default();
    let counts = drops.clone();
    let responder = responder_fn(move |_, cx: ResponderContext| {
        let guard = counts.guard();
        async move {
            cx.token().cancelled().await;
            pending::<()>().await;
            drop(guard);
            None
        }
    });
    let session = session(host(calling(["asks"])).tool(asking("asks")).responder(responder));
    let (run, mut driver) = begun(&session);
    run.cancel();
    assert!(driver.run());
    assert_eq!(drops.count(), 1);
    assert_eq!(count(run.handle(), "host_input.cancelled"), 1);
    assert_ended(run.handle());
}

/// A run that is put aside by itself lets the responder come to its answer first, and is put aside once it has none.
// proves: H2, H6
#[test]
fn a_run_is_not_put_aside_while_the_responder_works() {
    for answers in [true, false] {
        let responder = responder_fn(move |_, _| async move {
            futures_lite::future::yield_now().await;
            answers.then(HostAnswer::allow)
        });
        let gated =
            ScriptedTool::new("gated").declared(|spec| spec.approval(ApprovalPolicy::Ask)).output("ran");
        let parts = host(calling(["gated"])).tool(gated.clone()).responder(responder);
        let session = session(parts);
        let options = RunOptions::new().unattended().suspend_when_waiting();
        let (run, driver) = session.start_with("go", options).unwrap();
        let outcome = futures_lite::future::block_on(driver);
        assert_eq!(outcome.answer().is_some(), answers, "{:?}", outcome.result);
        assert_eq!(gated.calls(), usize::from(answers));
        assert_eq!(count(run.handle(), "host_input.requested"), 1);
    }
}
