//! Sessions as values: what crosses to another process, and what does not (S3).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is tests and their helpers"
)]

use futures_lite::future::block_on;
use runloom::testing::{Attempt, ScriptedModel};
use runloom::{
    ApprovalPolicy, Engine, Event, History, HistoryBounds, Host, HostAnswer, LastRun, Lifecycle, ManualTimer,
    Message, MessageBounds, MessageId, Metadata, ModelSpec, Part, ResumeError, Revision, Role, RunOptions,
    Seq, Session, SessionError, SessionId, SessionState, Shared, Snapshot, StartError, ToolOutput, ToolSpec,
    tool_fn,
};
use runloom_tests::bare::Task;
use runloom_tests::runs::events;

type Own = Engine<Shared, ManualTimer>;

/// One process, whose tool acts only with consent.
fn process(script: impl IntoIterator<Item = Attempt>) -> Own {
    let spec = ToolSpec::new("act", "", "{}").unwrap().approval(ApprovalPolicy::Ask);
    let host = Host::shared()
        .model(ModelSpec::new("m"), ScriptedModel::new(script))
        .tool(tool_fn(spec, |_, cx| async move { Ok(ToolOutput::text(cx.idempotency_key().to_owned())) }))
        .build()
        .unwrap();
    Engine::new(host, ManualTimer::new())
}

fn ask(session: &Session<Shared, ManualTimer>) -> std::sync::Arc<runloom::Outcome> {
    let (_run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
    block_on(driver)
}

/// What comes out of a store: only text crosses.
fn stored(session: &Session<Shared, ManualTimer>) -> Snapshot {
    Snapshot::from_json(&session.snapshot().to_json()).unwrap()
}

// proves: S3
#[test]
fn d9_i14_the_answer_is_in_the_snapshot_and_crosses_byte_for_byte() {
    let session = process(["It is 42.".into()]).session().unwrap();
    let mut metadata = Metadata::new();
    metadata.insert("title", "Sums").unwrap();
    assert!(session.set_metadata(metadata.clone()).is_empty());
    let outcome = ask(&session);
    let json = session.snapshot().to_json();

    let there = process(["Again.".into()]).restore(&Snapshot::from_json(&json).unwrap()).unwrap();
    assert_eq!(there.snapshot().to_json(), json, "nothing is lost on the way");
    assert_eq!((there.history(), there.revision()), (session.history(), outcome.revision));
    assert_eq!((there.state(), there.metadata()), (SessionState::Completed, metadata));
    let last = there.history().last().cloned().unwrap();
    assert_eq!((last.role(), last.parts()), (Role::Assistant, &[Part::Text("It is 42.".into())][..]));
    let snapshot = there.snapshot();
    let run = LastRun { id: runloom::RunId::new("run-1").unwrap(), seq: outcome.last_seq };
    assert_eq!((snapshot.last_run(), snapshot.lifecycle()), (Some(&run), Lifecycle::Completed));
    assert_eq!(snapshot.model().map(AsRef::as_ref), Some("m"));
}

// proves: S3, T6, M1
#[test]
fn ids_of_runs_do_not_come_again_in_another_engine() {
    let act = || Attempt::new().call("act", "{}");
    let one = process([act(), "done".into()]);
    let session = one.session().unwrap();
    let consenting = |session: &Session<Shared, ManualTimer>| {
        let (run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
        let mut driver = Task::new(driver);
        driver.run();
        run.respond(&run.requests()[0].id, HostAnswer::allow()).unwrap();
        driver.run();
        run.id().to_string()
    };
    assert_eq!(consenting(&session), "run-1");
    let there = process([act(), "done".into()]).restore(&stored(&session)).unwrap();
    assert_eq!(consenting(&there), "run-2");
    let ids: Vec<_> = there.history().iter().map(|message| message.id().to_string()).collect();
    let mut unique = ids.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), ids.len(), "{ids:?}");
    let keys: Vec<_> = there
        .history()
        .iter()
        .flat_map(|message| message.results().map(|result| format!("{:?}", result.content)))
        .collect();
    assert!(keys.len() == 2 && keys[0] != keys[1], "{keys:?}");

    // An engine that has counted further goes on from there.
    let busy = process(["a".into(), "b".into(), "c".into(), "d".into()]);
    let own = busy.session().unwrap();
    (0..3).for_each(|_| drop(ask(&own)));
    let restored = busy.restore(&stored(&session)).unwrap();
    let (run, _driver) = restored.start("go").unwrap();
    assert_eq!(run.id().as_str(), "run-4");
}

// proves: S3, H6
#[test]
fn i12_a_suspended_run_goes_on_behind_its_last_event() {
    let session = process([Attempt::new().call("act", "{}")]).session().unwrap();
    let (run, driver) = session.start_with("go", RunOptions::new().suspend_when_waiting()).unwrap();
    Task::new(driver).run();
    let first = events(run.handle());
    let stored = stored(&session);
    assert_eq!((stored.lifecycle(), stored.revision()), (Lifecycle::Idle, Revision(0)));
    let value = stored.suspended().unwrap();
    assert_eq!(value.last_seq(), first.last().unwrap().seq);

    let there = process(["done".into()]).restore(&stored).unwrap();
    let (run, driver) = there.resume(there.suspended().unwrap()).unwrap();
    let mut driver = Task::new(driver);
    driver.run();
    assert!(there.suspended().is_some(), "until the run has ended, it can go on from there after a crash");
    run.respond(&run.requests()[0].id, HostAnswer::allow()).unwrap();
    driver.run();
    let second = events(run.handle());
    assert_eq!(second[0].seq, Seq(value.last_seq().0 + 1));
    assert!(matches!(second[0].event, Event::RunResumed(_)));
    assert!(!second.iter().any(|envelope| matches!(envelope.event, Event::RunStarted(_))));
    assert!(there.suspended().is_none());
    assert!(there.snapshot().suspended().is_none());
}

// proves: S3, H6
#[test]
fn i13_what_has_ended_can_be_looked_at_and_does_not_go_on() {
    let session = process([Attempt::new().call("act", "{}")]).session().unwrap();
    let (run, driver) = session.start_with("go", RunOptions::new().suspend_when_waiting()).unwrap();
    Task::new(driver).run();
    drop(run);
    let value = session.suspended().unwrap();
    let run = session.cancel_suspended(std::sync::Arc::clone(&value)).unwrap();
    drop(run);
    let stored = stored(&session);
    let there = process([]).restore(&stored).unwrap();
    assert_eq!((there.state(), there.revision()), (SessionState::Idle, Revision(1)));
    assert_eq!(there.history().len(), 3, "input, call, result");
    assert!(there.suspended().is_none());
    let stale = ResumeError::StaleSuspension { suspended: Revision(0), session: Revision(1) };
    assert!(matches!(there.resume(value), Err(StartError::Resume(error)) if error == stale));
}

/// A run that ended without a commit leaves the revision; its last event tells that it is over.
// proves: S3, H6, C9
#[test]
fn i13_a_run_that_was_interrupted_does_not_go_on_either() {
    let session = process([Attempt::new().call("act", "{}"), Attempt::new().text("text")]).session().unwrap();
    let (run, driver) = session.start_with("go", RunOptions::new().suspend_when_waiting()).unwrap();
    Task::new(driver).run();
    drop(run);
    let value = session.suspended().unwrap();
    let (run, driver) = session.resume(std::sync::Arc::clone(&value)).unwrap();
    run.respond(&run.requests()[0].id, HostAnswer::allow()).unwrap();
    let (handle, stream) = run.split();
    drop(stream);
    Task::new(driver).run();
    drop(handle);
    assert_eq!((session.revision(), session.state()), (Revision(0), SessionState::Failed));
    let there = process([]).restore(&stored(&session)).unwrap();
    assert_eq!(there.state(), SessionState::Failed);
    let refused = there.resume(value);
    assert!(matches!(refused, Err(StartError::Resume(ResumeError::Superseded { .. }))));
}

// proves: S3
#[test]
fn while_a_run_is_under_way_the_snapshot_is_of_what_was_committed() {
    let engine = process(["one".into(), "two".into()]);
    let session = engine.session().unwrap();
    drop(ask(&session));
    let before = session.snapshot();
    let (run, driver) = session.start("go").unwrap();
    let during = session.snapshot();
    assert_eq!(during.history(), before.history());
    assert_eq!((during.revision(), during.last_run()), (before.revision(), before.last_run()));
    assert_eq!((before.runs(), during.runs()), (1, 2), "the id of the run under way does not come again");
    drop((run, driver));
    assert_eq!(session.snapshot().revision(), Revision(2));
}

// proves: S3, T2, M5
#[test]
fn no_credentials_tools_policies_and_consents_are_in_it() {
    let secret = "sk-secret-credential";
    let spec = ToolSpec::new("act", "tool-description", r#"{"title":"tool-schema"}"#).unwrap();
    let host = Host::shared()
        .model(
            ModelSpec::new("m").system("system-prompt"),
            ScriptedModel::new([
                Attempt::new()
                    .item(runloom::ModelItem::Reasoning("display-reasoning".into()))
                    .call("act", "{}"),
                "ok".into(),
            ]),
        )
        .tool(tool_fn(spec.approval(ApprovalPolicy::Ask), move |_, _| async move {
            let _ = secret;
            Ok(ToolOutput::text("done"))
        }))
        .build()
        .unwrap();
    let session = Engine::new(host, ManualTimer::new()).session().unwrap();
    let (run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
    let mut driver = Task::new(driver);
    driver.run();
    run.respond(&run.requests()[0].id, HostAnswer::Allow { remember: true, arguments: None }).unwrap();
    driver.run();
    assert_eq!(session.remembered_approvals(), 1);
    let json = session.snapshot().to_json();
    for absent in
        ["secret", "tool-description", "tool-schema", "system-prompt", "display-reasoning", "approv"]
    {
        assert!(!json.contains(absent), "{absent}: {json}");
    }
    assert_eq!(process([]).restore(&stored(&session)).unwrap().remembered_approvals(), 0);
}

fn text(n: usize) -> Message {
    let bounds = MessageBounds { parts: 1, text: 100, image: 0 };
    let id = MessageId::new(format!("m{n}").as_str()).unwrap();
    Message::new(id, Role::User, vec![Part::Text("hello".into())], &bounds).unwrap()
}

// proves: S3, M4
#[test]
fn bounds_are_those_of_the_engine_and_open_calls_are_refused() {
    let host =
        || Host::shared().model(ModelSpec::new("m"), ScriptedModel::new(["x".into()])).build().unwrap();
    let bounds = HistoryBounds { messages: 4, bytes: 1 << 20 };
    let small = Engine::builder(host(), ManualTimer::new()).history_bounds(bounds).build();
    let mut history = History::default();
    (0..6).for_each(|n| history.push(text(n)).unwrap());
    let id = SessionId::new("kept").unwrap();
    let long = small.restore(&Snapshot::new(id.clone(), Revision(9), history)).unwrap();
    assert_eq!((long.history().len(), long.revision()), (6, Revision(9)));
    assert!(matches!(long.start("go"), Err(StartError::Invalid(_))), "there is no room for more");

    let call = runloom::ToolCall {
        call: runloom::CallRef { step: 1, ordinal: 0 },
        id: "c".into(),
        name: "act".into(),
        arguments: "{}".into(),
    };
    let open = [Part::ToolCall(std::sync::Arc::new(call))];
    let bounds = MessageBounds { parts: 1, text: 100, image: 0 };
    let message =
        Message::new(MessageId::new("c").unwrap(), Role::Assistant, open.to_vec(), &bounds).unwrap();
    let history = History::from_messages(HistoryBounds::default(), [text(0), message]).unwrap();
    let refused = small.restore(&Snapshot::new(id, Revision(1), history)).unwrap_err();
    assert_eq!(refused, SessionError::OpenCalls { calls: 1 });
}
