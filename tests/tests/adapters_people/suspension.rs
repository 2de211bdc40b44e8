//! Runs that are put aside and go on, through sessions (H6).

use crate::stage::{
    TestDriver, TestSession, asking, begun, calling, calls, heard, host, only, question, results, session,
    spec,
};
use runloom::testing::{ScriptedModel, ScriptedTool};
use runloom::{
    ApprovalPolicy, CancelCause, Config, Engine, Envelope, Event, Host, HostAnswer, HostBuilder, ManualTimer,
    Message, MessageBounds, MessageId, Part, ResumeError, Role, Run, RunOptions, RunResult, SessionState,
    Shared, StartError, Suspended, ToolFault, ToolOutput, ToolReturn, ToolStatus, responder_fn, tool_fn,
};
use runloom_core::verify::Verifier;
use runloom_tests::bare::Task;
use runloom_tests::runs::{count, events};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

fn gated(name: &'static str) -> ScriptedTool {
    ScriptedTool::new(name)
        .output(name)
        .declared(|spec| spec.access(runloom::Access::Shared).approval(ApprovalPolicy::Ask))
}

/// A tool that returns with a question, and then says what it kept and heard.
fn returning(name: &'static str, calls: &Arc<AtomicUsize>) -> impl runloom::Tool + use<> {
    let calls = Arc::clone(calls);
    tool_fn(spec(name), move |_, cx| {
        calls.fetch_add(1, Ordering::SeqCst);
        async move {
            Ok::<_, ToolFault>(match cx.resumed() {
                None => ToolReturn::ask(question(name), format!("state of {name}")),
                Some(resumed) => {
                    let heard = heard(resumed.answer.clone());
                    let Some(Part::Text(text)) = heard.content.first() else { panic!("no text") };
                    ToolOutput::text(format!("{}: {text}", resumed.state)).into()
                }
            })
        }
    })
}

/// The run's handle and the driver of its next part.
fn resumed(session: &TestSession, value: &Arc<Suspended>) -> (Run, Task<TestDriver>) {
    let (run, driver) = session.resume(Arc::clone(value)).unwrap();
    (run, Task::new(driver))
}

/// A session without messages.
fn empty(id: &runloom::SessionId) -> runloom::Snapshot {
    runloom::Snapshot::new(id.clone(), runloom::Revision(0), runloom::History::default())
}

/// Both parts of a run make one log: numbers, times and order.
#[track_caller]
fn assert_one_log(parts: &[Vec<Envelope>]) {
    let mut verifier = Verifier::new();
    for envelope in parts.iter().flatten() {
        verifier.observe(envelope).unwrap();
    }
    verifier.finish().unwrap();
    let seqs: Vec<_> = parts.iter().flatten().map(|envelope| envelope.seq.0).collect();
    assert!(seqs.iter().copied().eq(1..=seqs.len() as u64), "{seqs:?}");
}

/// Approval, client call and returned question in one batch, beside a tool that has finished; then on in the same
/// session. Nothing is run twice, nothing is asked twice (HITL-01).
// proves: H6, C5, E10, T6
#[test]
fn a_run_is_put_aside_and_goes_on() {
    let calls = Arc::new(AtomicUsize::new(0));
    let free = ScriptedTool::new("free").output("23 degrees").declared(|s| s.access(runloom::Access::Shared));
    let (ran, gated) = (free.clone(), gated("gated"));
    let parts = host(calling(["gated", "free", "page", "returns"])).tool(gated.clone()).tool(free);
    let session = session(parts.client_tool(spec("page")).tool(returning("returns", &calls)));
    let (run, mut driver) = begun(&session);
    assert_eq!(run.requests().len(), 3);
    let value = run.suspend().unwrap();
    assert_eq!((session.state(), session.revision().0, session.history().len()), (SessionState::Idle, 0, 0));
    assert!(driver.run());
    let outcome = run.handle().try_outcome().unwrap();
    assert!(matches!(&outcome.result, RunResult::Suspended(found) if Arc::ptr_eq(found, &value)));
    assert!(run.suspend().is_err(), "it is put aside already");
    let first = events(run.handle());
    assert!(matches!(first.last().unwrap().event, Event::RunSuspended { requests: 3, .. }));
    assert_eq!(value.requests().count(), 3);
    drop((run, driver));

    let (run, mut driver) = resumed(&session, &value);
    assert_eq!(session.state(), SessionState::WaitingForHostInput);
    let requests = run.requests();
    run.respond(&requests[2].id, HostAnswer::value("\"told\"")).unwrap();
    assert!(!driver.run());
    run.respond(&requests[0].id, HostAnswer::allow()).unwrap();
    run.respond(&requests[1].id, HostAnswer::Result(ToolOutput::text("shown"))).unwrap();
    assert!(driver.run());
    let texts: Vec<_> = results(&session).into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["gated", "23 degrees", "shown", "state of returns: \"told\""]);
    assert_eq!((ran.calls(), gated.calls(), calls.load(Ordering::SeqCst)), (1, 1, 2));
    assert_eq!((session.state(), session.revision().0), (SessionState::Completed, 1));
    let second = events(run.handle());
    assert_eq!(count(run.handle(), "host_input.requested"), 0, "nothing is asked twice");
    assert_one_log(&[first, second]);
}

/// Some answers, another suspension, the rest: in as many parts as it takes.
// proves: H6
#[test]
fn partial_answers_are_kept() {
    let names = ["a", "b", "c"];
    let parts = names.into_iter().fold(host(calling(names)), |host, name| host.tool(gated(name)));
    let session = session(parts);
    let (run, driver) = begun(&session);
    let mut log = Vec::new();
    let mut value = run.suspend().unwrap();
    log.push(events(run.handle()));
    drop((run, driver));
    for at in [1, 1, 0] {
        let (run, mut driver) = resumed(&session, &value);
        let requests = run.requests();
        run.respond(&requests[at].id, HostAnswer::allow()).unwrap();
        let ended = driver.run();
        if !ended {
            value = run.suspend().unwrap();
        }
        log.push(events(run.handle()));
        assert_eq!(ended, requests.len() == 1);
    }
    assert_one_log(&log);
    let texts: Vec<_> = results(&session).into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, names);
}

/// What keeps a run from being put aside is named; it goes on.
// proves: H6
#[test]
fn a_busy_run_is_not_suspendable() {
    let parts = host(calling(["asks", "gated"])).tool(asking("asks")).tool(gated("gated"));
    let session = session(parts);
    let (run, driver) = session.start("go").unwrap();
    assert!(run.suspend().unwrap_err().calls.is_empty(), "no call is there yet");
    let mut driver = Task::new(driver);
    driver.run();
    let requests = run.requests();
    let asked = requests.iter().find(|request| *request.call.name == *"asks").unwrap();
    assert_eq!(run.suspend().unwrap_err().calls, [asked.call.call], "it waits in its own code");
    run.respond(&asked.id, HostAnswer::value("\"x\"")).unwrap();
    driver.run();
    assert!(run.suspend().is_ok());
}

/// A run may be put aside by itself, as soon as it waits for answers only, and again after each part.
// proves: H6
#[test]
fn a_run_suspends_by_itself() {
    let slow = ScriptedTool::new("slow").output("slow").progress("on the way");
    let model = ScriptedModel::new([
        calls([("gated", "{}"), ("slow", "{}")]),
        calls([("gated", "{\"again\":1}")]),
        "done".into(),
    ]);
    let session = session(host(model).tool(gated("gated")).tool(slow));
    let options = || RunOptions::new().suspend_when_waiting();
    let (run, driver) = session.start_with("go", options()).unwrap();
    let mut driver = Task::new(driver);
    let mut log = Vec::new();
    assert!(driver.run());
    let suspended = |run: &Run| match &run.handle().try_outcome().unwrap().result {
        RunResult::Suspended(value) => Arc::clone(value),
        other => panic!("{other:?}"),
    };
    log.push(events(run.handle()));
    let mut value = suspended(&run);
    for part in 0..2 {
        let (run, driver) = session.resume_with(Arc::clone(&value), options()).unwrap();
        run.respond(&run.requests()[0].id, HostAnswer::allow()).unwrap();
        let mut driver = Task::new(driver);
        assert!(driver.run());
        log.push(events(run.handle()));
        if part == 0 {
            value = suspended(&run);
        } else {
            assert!(run.handle().try_outcome().unwrap().answer().is_some());
        }
    }
    assert_one_log(&log);
}

/// It can be cancelled without being polled; what it brought is committed, and it is stale then.
// proves: H6, C4, C5
#[test]
fn a_suspended_run_can_be_cancelled() {
    let parts = host(calling(["gated", "page"])).tool(gated("gated")).client_tool(spec("page"));
    let session = session(parts);
    let (run, _driver) = begun(&session);
    let value = run.suspend().unwrap();
    let first = events(run.handle());
    let cancelled = session.cancel_suspended(Arc::clone(&value)).unwrap();
    let outcome = cancelled.handle().try_outcome().unwrap();
    assert!(matches!(outcome.result, RunResult::Cancelled(CancelCause::Requested)));
    assert_one_log(&[first, events(cancelled.handle())]);
    let statuses: Vec<_> = results(&session).into_iter().map(|(status, _)| status).collect();
    assert_eq!(statuses, [ToolStatus::InterruptedNotStarted, ToolStatus::InterruptedOutcomeUnknown]);
    assert_eq!((session.revision().0, session.state()), (1, SessionState::Idle));
    for again in [session.resume(Arc::clone(&value)), session.resume(value)] {
        assert!(matches!(again, Err(StartError::Resume(ResumeError::StaleSuspension { .. }))));
    }
}

fn message(text: &str) -> Message {
    let bounds = MessageBounds { parts: 8, text: 100, image: 0 };
    Message::new(MessageId::new("extra").unwrap(), Role::User, vec![Part::Text(text.into())], &bounds)
        .unwrap()
}

/// A session that has committed something since, is busy, or is another one, and an engine that is shut down, refuse;
/// nothing has changed then.
// proves: H6, S2, C10
#[test]
fn what_cannot_go_on_is_refused() {
    let build = || host(calling(["gated"])).tool(gated("gated")).build().unwrap();
    let engine =
        |host: Host<Shared>| Engine::builder(host, ManualTimer::new()).config(Config::default()).build();
    let first = engine(build());
    let session = first.session().unwrap();
    let (run, _driver) = begun(&session);
    let value = run.suspend().unwrap();
    drop(run);

    let other = first.session().unwrap();
    assert!(matches!(
        other.resume(Arc::clone(&value)),
        Err(StartError::Resume(ResumeError::OtherSession(found))) if found == *session.id()
    ));
    let (busy, driver) = session.start("meanwhile").unwrap();
    assert!(matches!(session.resume(Arc::clone(&value)), Err(StartError::Busy)));
    drop((busy, driver));
    assert_eq!(session.revision().0, 1, "that run was committed as cancelled");
    let stale = session.resume(Arc::clone(&value));
    assert!(matches!(stale, Err(StartError::Resume(ResumeError::StaleSuspension { .. }))));

    let again = engine(build());
    let fresh = again.restore(&empty(session.id())).unwrap();
    fresh.append([message("meanwhile")]).unwrap();
    let stale = fresh.resume(Arc::clone(&value));
    assert!(matches!(stale, Err(StartError::Resume(ResumeError::StaleSuspension { .. }))));
    assert_eq!((fresh.history().len(), fresh.state()), (1, SessionState::Idle));

    let last = engine(build());
    let fresh = last.restore(&empty(session.id())).unwrap();
    last.shutdown();
    assert!(matches!(fresh.resume(value), Err(StartError::EngineShutdown(_))));
}

/// One value, two attempts: the second finds the session busy, and after the first is over it is stale.
// proves: H6
#[test]
fn a_value_goes_on_once() {
    let session = session(host(calling(["gated"])).tool(gated("gated")));
    let (run, driver) = begun(&session);
    let value = run.suspend().unwrap();
    drop(driver);
    drop(run);
    let (run, mut driver) = resumed(&session, &value);
    assert!(matches!(session.resume(Arc::clone(&value)), Err(StartError::Busy)));
    run.respond(&only(&run.control()).id, HostAnswer::allow()).unwrap();
    assert!(driver.run());
    let again = session.resume(value);
    assert!(matches!(again, Err(StartError::Resume(ResumeError::StaleSuspension { .. }))));
}

/// In another engine, as in another process: the responder there is handed what stands open, and tools there run.
// proves: H6, H2
#[test]
fn another_engine_goes_on() {
    let parts = || -> HostBuilder<Shared> {
        host(ScriptedModel::new([calls([("gated", "{}"), ("page", "{}")]), "done".into()]))
            .tool(gated("gated"))
            .client_tool(spec("page"))
    };
    let one = session(parts());
    let (run, driver) = begun(&one);
    let value = run.suspend().unwrap();
    let first = events(run.handle());
    drop((run, driver));

    let asked = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&asked);
    let responder = responder_fn(move |request: Arc<runloom::HostRequest>, _| {
        notes.lock().unwrap().push(request.id.to_string());
        let approval = matches!(request.kind, runloom::RequestKind::Approval { .. });
        let result = HostAnswer::Result(ToolOutput::text("page"));
        std::future::ready(Some(if approval { HostAnswer::allow() } else { result }))
    });
    let model = ScriptedModel::new(["done".into()]);
    let there = host(model).tool(gated("gated")).client_tool(spec("page")).responder(responder);
    let engine = Engine::builder(there.build().unwrap(), ManualTimer::new()).build();
    let two = engine.restore(&one.snapshot()).unwrap();
    let (run, mut driver) = resumed(&two, &value);
    assert!(driver.run());
    assert_eq!(asked.lock().unwrap().len(), 2);
    let texts: Vec<_> = results(&two).into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["gated", "page"]);
    assert_one_log(&[first, events(run.handle())]);
}

/// An answer that the responder gave while the stream was full counts: it is not asked about again.
// proves: H6, E13
#[test]
fn answers_that_wait_for_the_reader_count_before_a_suspension() {
    let gates: Arc<Mutex<bool>> = Arc::default();
    let opens = Arc::clone(&gates);
    let responder = responder_fn(move |request: Arc<runloom::HostRequest>, _| {
        let gate = Arc::clone(&opens);
        let answers = matches!(request.kind, runloom::RequestKind::Call);
        std::future::poll_fn(move |cx| {
            if answers && *gate.lock().unwrap() {
                return std::task::Poll::Ready(Some(HostAnswer::Result(ToolOutput::text("responder"))));
            }
            cx.waker().wake_by_ref();
            std::task::Poll::Pending
        })
    });
    let timer = ManualTimer::new();
    let needed = {
        let parts = host(calling(["page", "gated"])).client_tool(spec("page")).tool(gated("gated"));
        let (run, _driver) = begun(&crate::stage::timed(parts, &timer, Config::default()));
        events(run.handle()).len()
    };
    let parts = host(calling(["page", "gated"])).client_tool(spec("page")).tool(gated("gated"));
    let session =
        crate::stage::timed(parts.responder(responder), &timer, runloom_tests::runs::with_capacity(needed));
    let (run, driver) = session.start("go").unwrap();
    let mut driver = Task::new(driver);
    for _ in 0..100 {
        driver.poll();
    }
    assert_eq!(run.requests().len(), 2);
    *gates.lock().unwrap() = true;
    for _ in 0..100 {
        driver.poll();
    }
    assert_eq!(run.requests().len(), 2, "the answer waits for the reader");
    let value = run.suspend().unwrap();
    assert_eq!(value.requests().count(), 1);
}

/// A value that the run has gone on from is not taken again: what ran since would run twice, and numbers of events would be
/// used twice. No commit tells the two apart.
// proves: H6, E1, W7
#[test]
fn a_value_that_the_run_has_left_behind_is_refused() {
    let (a, b) = (gated("a"), gated("b"));
    let session = session(host(calling(["a", "b"])).tool(a.clone()).tool(b));
    let (run, driver) = begun(&session);
    let first = run.suspend().unwrap();
    drop((run, driver));
    let (run, mut driver) = resumed(&session, &first);
    driver.run();
    run.respond(&run.requests()[0].id, HostAnswer::allow()).unwrap();
    assert!(!driver.run());
    let second = run.suspend().unwrap();
    drop((run, driver));
    assert_eq!((a.calls(), session.revision().0), (1, 0));
    let refused = session.resume(Arc::clone(&first)).unwrap_err();
    let expected = ResumeError::Superseded { suspended: first.last_seq(), reached: second.last_seq() };
    assert_eq!(refused, StartError::Resume(expected));
    assert_eq!(session.state(), SessionState::Idle);

    // The newest value is taken; a reader that is lost ends the run without a commit, and for good.
    let (run, mut driver) = resumed(&session, &second);
    driver.run();
    let (handle, stream) = run.split();
    drop(stream);
    handle.respond(&handle.requests()[0].id, HostAnswer::allow()).unwrap();
    assert!(driver.run());
    assert!(matches!(&handle.try_outcome().unwrap().result, RunResult::Failed(_)));
    assert_eq!(session.revision().0, 0);
    let refused = session.resume(second).unwrap_err();
    assert!(matches!(refused, StartError::Resume(ResumeError::Superseded { .. })), "{refused}");
    assert_eq!(a.calls(), 1);
}
