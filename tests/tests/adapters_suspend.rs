//! Runs that go on in another process: nothing crosses but the value's text, and the session's history (H6).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is tests and their helpers"
)]

use futures_lite::future::block_on;
use runloom::testing::{Attempt, ScriptedModel};
use runloom::{
    ApprovalPolicy, Driver, Engine, Event, History, Host, HostAnswer, HostTransport, ManualTimer, ModelSpec,
    Question, RequestId, ResumeError, Revision, Run, RunOptions, RunResult, Session, SessionId, SessionState,
    Shape, Shared, Snapshot, StartError, Suspended, Time, ToolOutput, ToolReturn, ToolSpec, tool_fn,
};
use runloom_tests::bare::Task;
use std::sync::{Arc, Mutex};

type Calls = Arc<Mutex<Vec<String>>>;

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "", "{}").unwrap().access(runloom::Access::Shared)
}

/// One process: an engine with a clock of its own, and what its tools were called with.
struct Process {
    engine: Engine<Shared, ManualTimer>,
    calls: Calls,
}

impl Process {
    fn new(began: u64, script: impl IntoIterator<Item = Attempt>) -> Self {
        let calls = Calls::default();
        let (delete, wizard) = (Arc::clone(&calls), Arc::clone(&calls));
        let mut asked = spec("delete");
        asked.approval = ApprovalPolicy::Ask;
        let host = Host::shared()
            .model(ModelSpec::new("m"), ScriptedModel::new(script))
            .tool(tool_fn(asked, move |arguments, cx| {
                delete.lock().unwrap().push(format!("delete {arguments} {}", cx.idempotency_key()));
                async { Ok(ToolOutput::text("deleted")) }
            }))
            .tool(tool_fn(spec("wizard"), move |_, cx| {
                let resumed = cx.resumed().map(|resumed| format!("{} {:?}", resumed.state, resumed.answer));
                wizard.lock().unwrap().push(format!("wizard {resumed:?} {}", cx.idempotency_key()));
                async move {
                    Ok(match resumed {
                        Some(answer) => ToolReturn::from(ToolOutput::text(answer)),
                        None => ToolReturn::ask(
                            Question::value("how many?", Shape::Integer).id(RequestId::new("many").unwrap()),
                            "page 1",
                        ),
                    })
                }
            }))
            .client_tool(spec("locate"))
            .build()
            .unwrap();
        let timer = ManualTimer::new();
        timer.set(Time::from_secs(began));
        Self { engine: Engine::new(host, timer), calls }
    }

    /// The session as the host has kept it.
    fn session(&self, revision: u64) -> Session<Shared, ManualTimer> {
        let id = SessionId::new("kept").unwrap();
        self.engine.restore(&Snapshot::new(id, Revision(revision), History::default())).unwrap()
    }

    fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }
}

fn asks() -> Attempt {
    Attempt::new().call("delete", "{\"all\":1}").call("locate", "{}").call("wizard", "{}")
}

type Own = (Run, Task<Driver<ManualTimer, HostTransport<Shared>>>);

/// Polls the run until it waits; its value if it was put aside.
fn rest((run, driver): &mut Own) -> Option<String> {
    driver.run();
    match &run.handle().try_outcome()?.result {
        RunResult::Suspended(value) => Some(value.to_json()),
        _ => None,
    }
}

fn take((run, driver): (Run, Driver<ManualTimer, HostTransport<Shared>>)) -> Own {
    (run, Task::new(driver))
}

fn first() -> (Process, String) {
    let process = Process::new(5, [asks()]);
    let session = process.session(3);
    let mut own = take(session.start_with("go", RunOptions::new().suspend_when_waiting()).unwrap());
    let json = rest(&mut own).expect("it is put aside by itself");
    assert_eq!((session.state(), session.revision()), (SessionState::Idle, Revision(3)));
    assert_eq!(process.engine.runs(), 0, "it is not registered");
    (process, json)
}

fn answer(run: &Run, which: usize) {
    let (id, answer) = [
        ("1.0/1", HostAnswer::allow()),
        ("1.1/2", HostAnswer::Result(ToolOutput::text("here"))),
        ("many", HostAnswer::value("7")),
    ][which]
        .clone();
    run.respond(&RequestId::new(id).unwrap(), answer).unwrap();
}

fn ids(run: &Run) -> Vec<String> {
    run.requests().iter().map(|request| request.id.to_string()).collect()
}

const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

// proves: H6, T6, H2
#[test]
fn answered_in_every_order_in_as_many_processes_as_there_are_answers_nothing_is_lost_or_done_twice() {
    for order in ORDERS {
        for parts in 1..=3 {
            let (process, mut json) = first();
            let mut all = process.calls();
            let mut left = order.to_vec();
            let mut outcome = None;
            for part in (1..=parts).rev() {
                let process = Process::new(1_000_000 / part, ["done".into()]);
                let session = process.session(3);
                let value = Suspended::from_json(&json).unwrap();
                assert_eq!(value.requests().count(), left.len());
                let options = RunOptions::new().suspend_when_waiting();
                let mut own = take(session.resume_with(value, options).unwrap());
                assert_eq!(ids(&own.0).len(), left.len());
                assert_eq!(session.state(), SessionState::WaitingForHostInput);
                let now = if part == 1 { left.len() } else { 1 };
                left.drain(..now).for_each(|which| answer(&own.0, which));
                match rest(&mut own) {
                    Some(again) => json = again,
                    None => outcome = own.0.handle().try_outcome(),
                }
                all.extend(process.calls());
            }
            let outcome = outcome.expect("it has ended");
            assert_eq!(outcome.answer().unwrap().text, "done");
            assert_eq!((outcome.revision, outcome.history.len()), (Revision(4), 4));
            let results: Vec<_> = outcome.history.get(2).unwrap().results().cloned().collect();
            let texts: Vec<_> = results.iter().map(|result| format!("{:?}", result.content)).collect();
            assert_eq!(texts[..2], ["[Text(\"deleted\")]", "[Text(\"here\")]"]);
            assert!(texts[2].contains("page 1 Ok(Value"), "{texts:?}");
            all.sort_unstable();
            assert_eq!(all.len(), 3, "{all:?}");
            assert!(all[0].starts_with("delete {\"all\":1} ") && all[1].starts_with("wizard None "));
            assert!(all[2].starts_with("wizard Some("));
            let key = |call: &str| call.rsplit(' ').next().map(str::to_owned);
            assert_eq!(key(&all[1]), key(&all[2]), "the key is the same in both processes");
        }
    }
}

// proves: H6
#[test]
fn a_session_that_has_gone_on_does_not_take_the_run_back_and_the_value_stays_good_elsewhere() {
    let (_, json) = first();
    let process = Process::new(9, ["hello".into()]);
    let session = process.session(3);
    let value = Arc::new(Suspended::from_json(&json).unwrap());
    block_on(session.start("something else").unwrap().1);
    let expected = ResumeError::StaleSuspension { suspended: Revision(3), session: Revision(4) };
    let error = session.resume(Arc::clone(&value)).map(|_| ()).unwrap_err();
    assert_eq!(error, StartError::Resume(expected.clone()));
    let error = session.cancel_suspended(Arc::clone(&value)).map(|_| ()).unwrap_err();
    assert_eq!(error, StartError::Resume(expected));
    assert_eq!((session.state(), session.revision()), (SessionState::Completed, Revision(4)));

    let other = process.engine.session().unwrap();
    let foreign = ResumeError::OtherSession(SessionId::new("kept").unwrap());
    assert_eq!(other.resume(Arc::clone(&value)).map(|_| ()).unwrap_err(), StartError::Resume(foreign));

    process.engine.shutdown();
    assert!(matches!(session.resume(value).map(|_| ()), Err(StartError::EngineShutdown(_))));
}

// proves: H6, C4
#[test]
fn a_run_that_was_put_aside_is_cancelled_in_another_process() {
    let (_, json) = first();
    let process = Process::new(9, []);
    let session = process.session(3);
    let value = Arc::new(Suspended::from_json(&json).unwrap());
    let run = session.cancel_suspended(Arc::clone(&value)).unwrap();
    let outcome = run.handle().try_outcome().unwrap();
    assert!(matches!(outcome.result, RunResult::Cancelled(_)));
    assert_eq!((session.state(), session.revision()), (SessionState::Idle, Revision(4)));
    assert_eq!(session.history().len(), 3);
    assert!(process.calls().is_empty());
    let events = run.handle().events_after(value.last_seq(), 100);
    assert!(matches!(events.first().unwrap().event, Event::RunResumed(_)));
    assert_eq!(events.first().unwrap().seq.0, value.last_seq().0 + 1);
    assert!(matches!(events.last().unwrap().event, Event::RunCancelled { .. }));
    let stale = session.resume(value).map(|_| ()).unwrap_err();
    assert!(matches!(stale, StartError::Resume(ResumeError::StaleSuspension { .. })));
}
