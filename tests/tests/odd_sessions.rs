//! Sessions at the edge of what their numbers hold, and commands in odd orders.
#![allow(clippy::unwrap_used)]

use futures_lite::future::{block_on, poll_once};
use runloom::testing::{Attempt, ScriptedModel, ScriptedTool};
use runloom::{
    ApprovalPolicy, Boundary, CompactError, Compaction, CompactionFault, CompactionPolicy, Config, Engine,
    History, Host, HostAnswer, Limits, ManualTimer, Message, MessageBounds, MessageId, ModelSpec, Part,
    RetractReply, Revision, Role, RunOptions, RunResult, Session, SessionError, SessionId, SessionState,
    Shared, Snapshot, StartError, SteerError, SteerId, Suspended, boundary_inputs, compactor_fn,
};
use std::sync::Arc;

const LAST: u64 = (1 << 53) - 1;

fn message(id: &str, role: Role, text: &str) -> Message {
    let bounds = MessageBounds { parts: 9, text: 90_000, image: 0 };
    Message::new(MessageId::new(id).unwrap(), role, vec![Part::Text(text.into())], &bounds).unwrap()
}

fn engine(script: impl IntoIterator<Item = Attempt>) -> Engine<Shared, ManualTimer> {
    let compactor = compactor_fn(|_, _| async { Ok::<_, CompactionFault>(Compaction::summary("short")) });
    let host = Host::shared()
        .model(ModelSpec::new("m"), ScriptedModel::new(script))
        .compactor(compactor)
        .build()
        .unwrap();
    Engine::new(host, ManualTimer::new())
}

fn history(pairs: usize) -> History {
    let mut history = History::default();
    for n in 0..pairs {
        let long = "a long text ".repeat(20);
        history.push(message(&format!("u{n}"), Role::User, &long)).unwrap();
        history.push(message(&format!("a{n}"), Role::Assistant, &long)).unwrap();
    }
    history
}

fn at(revision: u64) -> Session<Shared, ManualTimer> {
    let id = SessionId::new("s").unwrap();
    engine(["hi".into()]).restore(&Snapshot::new(id, Revision(revision), history(10))).unwrap()
}

/// A change by hand is refused where the revision could not grow, and the session can still be saved.
#[test]
fn a_revision_that_cannot_grow_refuses_changes_by_hand() {
    for revision in [LAST - 1, LAST, u64::MAX] {
        let session = at(revision);
        let grows = revision < LAST;
        let appended = session.append([message("x", Role::User, "x")]);
        assert!(appended.is_ok() == grows && (grows || appended == Err(SessionError::RevisionFull)));
        let session = at(revision);
        let compacted = block_on(session.compact());
        assert!(compacted.is_ok() == grows && (grows || compacted == Err(CompactError::RevisionFull)));
        assert_eq!(session.state(), SessionState::Idle);
        if revision <= LAST {
            let json = session.snapshot().to_json();
            assert!(Snapshot::from_json(&json).is_ok(), "{:?}", session.revision());
        }
    }
}

#[test]
fn a_session_whose_revision_cannot_grow_starts_no_run() {
    for (revision, starts) in [(LAST - 500, true), (LAST - 100, false), (LAST, false), (u64::MAX, false)] {
        let session = at(revision);
        match session.start("go") {
            Ok((run, driver)) => {
                assert!(starts && block_on(driver).answer().is_some(), "{revision}");
                drop(run);
            }
            Err(error) => assert!(!starts && matches!(error, StartError::Invalid(_)), "{error:?}"),
        }
        assert_ne!(session.state(), SessionState::Running);
    }
}

/// A snapshot may say anything about the context: no number in it breaks a run.
#[test]
fn a_context_state_of_a_snapshot_breaks_no_run() {
    let session = at(3);
    let json = session.snapshot().to_json();
    let context = r#"{"measured":{"reported":"18446744073709551615","estimated":1,"prefix":true},"last_tokens":9007199254740991,"failures":4294967295,"unproven_failures":4294967295,"told":true}"#;
    let mut value: serde_json::Value = serde_json::from_str(&json).unwrap();
    value["context"] = serde_json::from_str(context).unwrap();
    let snapshot = Snapshot::from_json(&value.to_string()).unwrap();
    let model = ScriptedModel::new([Attempt::new().text("x").usage(1_000_000, 5)]);
    let host = Host::shared()
        .model(ModelSpec::new("m"), model)
        .compactor(compactor_fn(|_, _| async { Ok::<_, CompactionFault>(Compaction::summary("short")) }))
        .build()
        .unwrap();
    let config = Config::default().compaction(CompactionPolicy::at_tokens(100)).unwrap();
    let engine = Engine::builder(host, ManualTimer::new()).config(config).build();
    let session = engine.restore(&snapshot).unwrap();
    let (run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
    let outcome = block_on(driver);
    assert!(outcome.answer().is_some(), "{:?}", outcome.result);
    drop(run);
}

/// Steers beside an approval: what is applied goes on in the value, what waits is returned, at every place of the id.
#[test]
fn steers_around_a_suspension() {
    let tool = ScriptedTool::new("t").output("o").declared(|mut spec| {
        spec.approval = ApprovalPolicy::Ask;
        spec
    });
    let script = [
        Attempt::new().call("t", "{}"),
        Attempt::new().text("a").call("t", "{}"),
        "end".into(),
        "more".into(),
    ];
    let host =
        Host::shared().model(ModelSpec::new("m"), ScriptedModel::new(script)).tool(tool).build().unwrap();
    let engine = Engine::new(host, ManualTimer::new());
    let session = engine.session().unwrap();
    let (run, mut driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
    let control = run.control();
    assert!(block_on(poll_once(&mut driver)).is_none());
    let own = SteerId::new("mine").unwrap();
    control.steer_as(own.clone(), "first").unwrap();
    let request = control.requests()[0].id.clone();
    control.respond(&request, HostAnswer::Allow { remember: false, arguments: None }).unwrap();
    assert!(block_on(poll_once(&mut driver)).is_none());
    assert_eq!(control.retract(&own), RetractReply::AlreadyApplied);
    let waits = control.steer("second").unwrap();
    let value = control.suspend().unwrap();
    let outcome = block_on(&mut driver);
    let returned: Vec<_> = outcome.unapplied.iter().map(|steer| steer.id.clone()).collect();
    assert_eq!(returned, std::slice::from_ref(&waits));
    assert!(matches!(control.steer("late"), Err(SteerError::NotAccepting)));
    drop((run, control, driver));
    let value = Arc::new(Suspended::from_json(&value.to_json()).unwrap());
    let (run, mut driver) = session.resume(value).unwrap();
    let control = run.control();
    let _ = block_on(poll_once(&mut driver));
    assert!(matches!(control.steer_as(own.clone(), "again"), Err(SteerError::Duplicate(_))));
    assert_eq!(control.retract(&own), RetractReply::AlreadyApplied);
    assert_eq!(control.retract(&waits), RetractReply::NotFound);
    // An id that was returned may come again; the engine's own next id is another one.
    let fresh = control.steer("third").unwrap();
    assert_ne!(fresh, waits);
    control.steer_as(waits.clone(), "second").unwrap();
    assert_eq!(control.retract(&waits), RetractReply::Retracted);
    let request = control.requests()[0].id.clone();
    control.respond(&request, HostAnswer::Allow { remember: false, arguments: None }).unwrap();
    let outcome = block_on(async { futures_lite::future::zip(&mut driver, run.outcome()).await.0 });
    assert!(outcome.unapplied.is_empty());
    let users = outcome.history.iter().filter(|message| message.role() == Role::User).count();
    assert_eq!(users, 3, "the input, the first and the third steer");
}

/// An engine whose model answers three times, and whose runs have so many steps.
fn engine_of_steps(steps: u32) -> Engine<runloom::Shared, ManualTimer> {
    let mut limits = Limits::default();
    limits.steps = steps;
    let model = ScriptedModel::new(["one".into(), "two".into(), "three".into()]);
    let host = Host::shared().model(ModelSpec::new("m"), model).build().unwrap();
    Engine::builder(host, ManualTimer::new()).config(Config::new(limits).unwrap()).build()
}

/// A boundary question is answered by a steer, a cancel, a shutdown, from within its own answer's turn.
#[test]
fn commands_while_the_last_question_is_open() {
    for ends in ["steer", "cancel", "drop", "shutdown", "too large", "steer at the last step"] {
        let engine = engine_of_steps(if ends == "steer at the last step" { 2 } else { 50 });
        let session = engine.session().unwrap();
        let (source, mut questions) = boundary_inputs();
        session.set_boundary_inputs(Some(source)).unwrap();
        let (run, mut driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
        let _ = block_on(poll_once(&mut driver));
        let first = questions.try_next().unwrap();
        assert_eq!(first.boundary(), Boundary::BeforeProvider);
        assert!(!block_on(first.nothing()).unwrap());
        let _ = block_on(poll_once(&mut driver));
        let last = questions.try_next().unwrap();
        assert_eq!(last.boundary(), Boundary::BeforeCompletion);
        let control = run.control();
        let id = control.steer("and this").unwrap();
        match ends {
            "steer" | "steer at the last step" => {
                assert!(!block_on(last.nothing()).unwrap());
                let outcome = block_on(&mut driver);
                assert_eq!(outcome.answer().unwrap().text.as_str(), "two", "{ends}");
                assert!(outcome.unapplied.is_empty(), "{ends}");
            }
            "cancel" => {
                control.cancel();
                assert!(!block_on(last.respond("late")).unwrap());
                let outcome = block_on(&mut driver);
                assert_eq!(outcome.unapplied[0].id, id);
                assert_eq!(outcome.history.len(), 2, "the held response is committed");
            }
            "drop" => {
                drop(last);
                let outcome = block_on(&mut driver);
                assert!(matches!(outcome.result, RunResult::Failed(_)));
                assert_eq!(outcome.unapplied[0].id, id);
                assert_eq!(outcome.history.len(), 2, "the held response is committed");
            }
            "shutdown" => {
                assert_eq!(engine.shutdown(), 1);
                assert!(!block_on(last.nothing()).unwrap());
                assert_eq!(block_on(&mut driver).unapplied.len(), 1);
            }
            _ => {
                let error = block_on(last.respond("x".repeat(300 << 10).as_str())).unwrap_err();
                assert!(block_on(error.question.respond("notice")).unwrap());
                let again = loop {
                    if let Some(question) = questions.try_next() {
                        break question;
                    }
                    assert!(block_on(poll_once(&mut driver)).is_none());
                };
                assert_eq!(again.boundary(), Boundary::BeforeProvider);
                assert!(!block_on(again.nothing()).unwrap());
                let _ = block_on(poll_once(&mut driver));
                let again = questions.try_next().unwrap();
                assert!(!block_on(again.nothing()).unwrap());
                let outcome = block_on(&mut driver);
                let roles: Vec<_> = outcome.history.iter().map(|message| message.role()).collect();
                assert_eq!(
                    roles,
                    [Role::User, Role::Assistant, Role::Boundary, Role::User, Role::Assistant],
                    "{ends}"
                );
            }
        }
    }
}
