//! Steering, boundary inputs and compaction through engine, session and handle (H3-H5, B1-B6, K1-K6, C10).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is tests and their helpers"
)]

use futures_lite::future::{block_on, poll_once};
use runloom::testing::{Attempt, ScriptedModel};
use runloom::{
    Boundary, CompactError, Compaction, CompactionFault, CompactionPolicy, Config, Engine, Event, Finish,
    Host, Local, LocalSummarizer, ManualTimer, Model, ModelContext, ModelItem, ModelRequest, ModelSpec,
    Problem, ProblemKind, RetractReply, Role, RunError, RunResult, SessionState, Shared, SteerError, SteerId,
    SteeringItem, Summarizer, boundary_inputs, compactor_fn, local_compactor_fn, model_fn,
};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const LONG: &str = "a long text that takes some tokens, so that there is something to gain when it goes away";

type Session = runloom::Session<Shared, ManualTimer>;

fn engine(host: Host<Shared>, policy: CompactionPolicy) -> Engine<Shared, ManualTimer> {
    Engine::builder(host, ManualTimer::new()).config(Config::default().compaction(policy).unwrap()).build()
}

fn session(model: ScriptedModel) -> Session {
    let host = Host::shared().model(ModelSpec::new("m"), model).build().unwrap();
    Engine::new(host, ManualTimer::new()).session().unwrap()
}

/// The texts of a request's or session's history.
fn texts(history: &runloom::History) -> Vec<String> {
    let text = |message: &Arc<runloom::Message>| {
        let part = |part: &runloom::Part| match part {
            runloom::Part::Text(text) => Some(text.as_str().to_owned()),
            _ => None,
        };
        message.parts().iter().filter_map(part).collect::<Vec<_>>().join("|")
    };
    history.iter().map(text).collect()
}

// proves: H3, H5
#[test]
fn a_control_steers_without_anyone_polling_and_outlives_the_handle() {
    let session = session(ScriptedModel::new(["one".into(), "two".into()]));
    let (run, driver) = session.start("hello").unwrap();
    let control = run.control();
    let id = control.steer("more").unwrap();
    assert_eq!(id.as_str(), "steer-1");
    let own = SteerId::new("own").unwrap();
    assert_eq!(run.handle().control().steer_as(own.clone(), "never mind"), Ok(own.clone()));
    assert_eq!(control.steer_as(own.clone(), "x"), Err(SteerError::Duplicate(own.clone())));
    assert_eq!(run.retract(&own), RetractReply::Retracted);
    run.detach();
    let outcome = block_on(driver);
    // The model had been asked already: the answer is followed by one more step.
    assert_eq!(texts(&outcome.history), ["hello", "one", "more", "two"]);
    assert_eq!(control.steer("late"), Err(SteerError::NotAccepting));
    assert_eq!(control.retract(&id), RetractReply::AlreadyApplied);
}

// proves: H5, C8
#[test]
fn what_a_dropped_run_had_accepted_is_in_its_outcome() {
    let session = session(ScriptedModel::new([Attempt::new().text("x").hang()]));
    let (run, mut driver) = session.start("hello").unwrap();
    assert!(block_on(poll_once(&mut driver)).is_none());
    run.steer("kept").unwrap();
    let control = run.control();
    drop(run);
    let outcome = block_on(driver);
    assert_eq!(outcome.unapplied.len(), 1);
    assert_eq!(control.steer("late"), Err(SteerError::NotAccepting));
}

/// A model that takes one input during its turn and repeats it.
fn steerable() -> impl Model {
    model_fn(|_request: Arc<ModelRequest>, cx: ModelContext| async move {
        let mut step = 0;
        let mut taken = None;
        Ok::<_, Problem>(futures_lite::stream::poll_fn(move |task| {
            step += 1;
            std::task::Poll::Ready(match step {
                1 => Some(ModelItem::Steering(Box::new(SteeringItem::Claim))),
                2 => {
                    let std::task::Poll::Ready(steer) = cx.steering().poll_next(task) else {
                        step = 1;
                        return std::task::Poll::Pending;
                    };
                    let delivered = SteeringItem::Delivered(steer.id.clone());
                    taken = Some(steer);
                    Some(ModelItem::Steering(Box::new(delivered)))
                }
                3 => {
                    let parts = taken.take().map(|steer: Arc<runloom::Steer>| steer.parts.len());
                    Some(ModelItem::Text(format!("{parts:?} read").as_str().into()))
                }
                4 => Some(ModelItem::Done(Box::new(runloom::Completion::new(Some(Finish::Stop), "stop")))),
                _ => None,
            })
        }))
    })
}

// proves: H4
#[test]
fn a_model_that_can_be_steered_gets_the_input_during_its_turn() {
    let host = Host::shared().model(ModelSpec::new("m"), steerable()).build().unwrap();
    let session = Engine::new(host, ManualTimer::new()).session().unwrap();
    let (run, mut driver) = session.start("hello").unwrap();
    assert!(block_on(poll_once(&mut driver)).is_none());
    let id = run.steer("now").unwrap();
    let outcome = block_on(driver);
    assert_eq!(texts(&outcome.history), ["hello", "Some(1) read", "now"]);
    let about: Vec<_> = run
        .handle()
        .events_after(runloom::Seq(0), 99)
        .into_iter()
        .filter(|own| matches!(&own.event, Event::SteeringDelivered(own) | Event::SteeringApplied(own) if *own == id))
        .map(|own| own.event.kind().as_str())
        .collect();
    assert_eq!(about, ["steering.delivered", "steering.applied"]);
}

// proves: B1, B2, B3, B4, B7
#[test]
fn a_source_is_asked_beside_the_run_and_learns_of_each_commit_at_once() {
    let session = session(ScriptedModel::new(["one".into(), "two".into()]));
    let (source, mut questions) = boundary_inputs();
    assert!(session.set_boundary_inputs(source).unwrap().is_none());
    let (run, mut driver) = session.start("hello").unwrap();
    assert!(matches!(session.set_boundary_inputs(None), Err(runloom::SessionError::Busy)));
    assert!(block_on(poll_once(&mut driver)).is_none());
    let question = questions.try_next().unwrap();
    assert_eq!((question.boundary(), question.step()), (Boundary::BeforeProvider, 0));
    assert_eq!((question.session(), question.run()), (session.id(), run.id()));
    // It is committed although nobody polls the driver or reads.
    assert!(block_on(question.respond("a notice")).unwrap());
    assert_eq!((session.revision().0, session.history().len()), (1, 2));
    assert_eq!(session.history().get(1).unwrap().role(), Role::Boundary);
    assert!(block_on(poll_once(&mut driver)).is_none());
    let question = questions.try_next().unwrap();
    assert_eq!((question.boundary(), question.step()), (Boundary::BeforeCompletion, 1));
    assert!(block_on(question.respond("wait")).unwrap());
    assert!(block_on(poll_once(&mut driver)).is_none());
    assert!(!block_on(questions.try_next().unwrap().nothing()).unwrap());
    assert!(block_on(poll_once(&mut driver)).is_none());
    assert!(!block_on(questions.try_next().unwrap().nothing()).unwrap());
    let outcome = block_on(driver);
    assert_eq!(texts(&outcome.history), ["hello", "a notice", "one", "wait", "two"]);
    assert_eq!((outcome.revision.0, session.revision().0), (3, 3));
    assert!(session.set_boundary_inputs(None).unwrap().is_some());
    assert!(block_on(questions.next()).is_none());
}

// proves: B4, B6, C9
#[test]
fn a_question_of_a_run_that_has_ended_is_answered_with_false() {
    let session = session(ScriptedModel::new(["one".into()]));
    let (source, mut questions) = boundary_inputs();
    session.set_boundary_inputs(source).unwrap();
    let (run, mut driver) = session.start("hello").unwrap();
    assert!(block_on(poll_once(&mut driver)).is_none());
    let question = questions.try_next().unwrap();
    run.cancel();
    assert!(!block_on(question.respond("too late")).unwrap());
    assert!(matches!(block_on(driver).result, RunResult::Cancelled(_)));
    assert_eq!((session.revision().0, session.history().len()), (1, 1));
}

// proves: B6
#[test]
fn questions_that_are_dropped_and_receivers_that_are_gone_fail_the_run() {
    type Lose = fn(runloom::BoundaryInputs);
    let ways: [Lose; 2] = [|mut questions| drop(questions.try_next()), drop];
    for lose in ways {
        let session = session(ScriptedModel::new(["one".into()]));
        let (source, questions) = boundary_inputs();
        session.set_boundary_inputs(source).unwrap();
        let (run, mut driver) = session.start("hello").unwrap();
        assert!(block_on(poll_once(&mut driver)).is_none());
        lose(questions);
        let outcome = block_on(driver);
        assert!(matches!(&outcome.result, RunResult::Failed(error) if **error == RunError::BoundaryLost));
        assert_eq!((session.state(), session.history().len()), (SessionState::Failed, 1));
        drop(run);
        // The next run asks a source whose receiver is gone.
        let (_run, driver) = session.start("again").unwrap();
        let outcome = block_on(driver);
        assert!(matches!(&outcome.result, RunResult::Failed(_) | RunResult::Completed(_)));
    }
}

// proves: B6
#[test]
fn a_question_that_nobody_has_received_is_taken_back_when_the_run_ends() {
    let session = session(ScriptedModel::new(["one".into()]));
    let (source, mut questions) = boundary_inputs();
    session.set_boundary_inputs(source).unwrap();
    let (run, mut driver) = session.start("hello").unwrap();
    assert!(block_on(poll_once(&mut driver)).is_none());
    run.cancel();
    block_on(driver);
    assert!(questions.try_next().is_none());
}

// proves: B4
#[test]
fn input_that_is_too_large_gives_the_question_back() {
    let host = Host::shared().model(ModelSpec::new("m"), ScriptedModel::new(["one".into()])).build().unwrap();
    let config = Config::with(|limits| limits.boundary_bytes = 4).unwrap();
    let session = Engine::builder(host, ManualTimer::new()).config(config).build().session().unwrap();
    let (source, mut questions) = boundary_inputs();
    session.set_boundary_inputs(source).unwrap();
    let (_run, mut driver) = session.start("hello").unwrap();
    assert!(block_on(poll_once(&mut driver)).is_none());
    let refused = block_on(questions.try_next().unwrap().respond("12345")).unwrap_err();
    assert!(block_on(refused.question.respond("1234")).unwrap());
}

/// A session of six long messages.
fn long_session(engine: &Engine<Shared, ManualTimer>) -> Session {
    let session = engine.session().unwrap();
    let bounds = runloom::MessageBounds { parts: 9, text: 9_000, image: 0 };
    let message = |at: usize| {
        let role = if at.is_multiple_of(2) { Role::User } else { Role::Assistant };
        let id = runloom::MessageId::new(format!("old-{at}").as_str()).unwrap();
        runloom::Message::new(
            id,
            role,
            vec![runloom::Part::Text(format!("{at} {LONG}").as_str().into())],
            &bounds,
        )
    };
    session.append((0..6).map(message).map(Result::unwrap)).unwrap();
    session
}

// proves: K1, K2, K5, R5
#[test]
fn a_summarizing_compactor_asks_a_model_without_tools_and_its_tokens_are_billed() {
    let cheap = ScriptedModel::new([Attempt::new().usage(90, 9).text("they talked")]);
    let host = Host::shared()
        .model(ModelSpec::new("m"), ScriptedModel::new(["one".into()]))
        .compactor(Summarizer::new(ModelSpec::new("cheap"), cheap.clone()))
        .build()
        .unwrap();
    let session = long_session(&engine(host, CompactionPolicy::after_messages(5).keep_messages(2)));
    let (_run, driver) = session.start("hello").unwrap();
    let outcome = block_on(driver);
    let texts = texts(&outcome.history);
    assert_eq!(texts.len(), 4);
    assert!(texts[0].ends_with("they talked"), "{texts:?}");
    assert_eq!((outcome.revision.0, outcome.billed.input_tokens), (3, Some(90)));
    let seen = &cheap.seen()[0];
    assert!(seen.tools.is_empty());
    let asked = format!("{:?}", seen.history.last().unwrap().parts());
    assert!(
        asked.contains("user: 0 a long")
            && asked.contains("assistant: 3 a long")
            && !asked.contains("5 a long")
    );
}

// proves: K4
#[test]
fn field_report_comp_04_a_summary_that_is_empty_or_only_calls_a_tool_is_a_failure() {
    for attempt in [
        Attempt::new().call("look", "{}"),
        Attempt::new().text(" "),
        Attempt::new().text("x").finish(Finish::Length),
    ] {
        let host = Host::shared()
            .model(ModelSpec::new("m"), ScriptedModel::new(["one".into()]))
            .compactor(Summarizer::new(ModelSpec::new("cheap"), ScriptedModel::new([attempt])))
            .build()
            .unwrap();
        let session = long_session(&engine(host, CompactionPolicy::after_messages(5).keep_messages(2)));
        let (_run, driver) = session.start("hello").unwrap();
        let outcome = block_on(driver);
        assert_eq!((outcome.history.len(), outcome.answer().unwrap().text.as_str()), (8, "one"));
    }
}

// proves: K4, C3
#[test]
fn a_compactor_that_panics_has_failed_and_one_that_hangs_is_cancelled_at_once() {
    let host = |hangs: bool| {
        Host::shared()
            .model(ModelSpec::new("m"), ScriptedModel::new(["one".into()]))
            .compactor(compactor_fn(move |_, _| async move {
                if hangs {
                    std::future::pending::<()>().await;
                }
                panic!("scripted")
            }))
            .build()
            .unwrap()
    };
    let policy = CompactionPolicy::after_messages(5).keep_messages(2);
    let session = long_session(&engine(host(false), policy));
    let (_run, driver) = session.start("hello").unwrap();
    assert_eq!(block_on(driver).history.len(), 8);
    let session = long_session(&engine(host(true), policy));
    let (run, mut driver) = session.start("hello").unwrap();
    assert!(block_on(poll_once(&mut driver)).is_none());
    run.cancel();
    assert_eq!((session.state(), session.history().len()), (SessionState::Idle, 7));
    block_on(driver);
}

// proves: K5
#[test]
fn an_overflow_is_compacted_and_the_session_keeps_the_commit_when_the_run_is_cancelled_then() {
    let overflow = Problem::new(ProblemKind::ContextOverflow, "too long");
    let model = ScriptedModel::new([Attempt::new().refuse(overflow), Attempt::new().text("x").hang()]);
    let host = Host::shared()
        .model(ModelSpec::new("m"), model.clone())
        .compactor(compactor_fn(|request, _| async move {
            Ok(Compaction::summary(format!("{} messages", request.head().count())))
        }))
        .build()
        .unwrap();
    let session = long_session(&engine(host, CompactionPolicy::default().keep_messages(2)));
    let (run, mut driver) = session.start("hello").unwrap();
    assert!(block_on(poll_once(&mut driver)).is_none());
    assert_eq!((session.revision().0, session.history().len()), (2, 3));
    assert_eq!(texts(&model.seen()[1].history)[0], "5 messages");
    run.cancel();
    assert_eq!((session.revision().0, session.history().len()), (3, 4));
}

// proves: K6
#[test]
fn a_compaction_by_hand_is_an_operation_of_the_session_and_shutdown_cancels_and_counts_it() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let host = Host::shared()
        .model(ModelSpec::new("m"), ScriptedModel::new([]))
        .compactor(compactor_fn(move |_, _| {
            let call = count.fetch_add(1, Ordering::Relaxed);
            async move {
                match call {
                    0 => Ok(Compaction::summary("brief")),
                    1 => Err(CompactionFault::new("no")),
                    _ => std::future::pending().await,
                }
            }
        }))
        .build()
        .unwrap();
    let engine = engine(host, CompactionPolicy::default().keep_messages(2));
    let session = long_session(&engine);
    let done = block_on(session.compact()).unwrap();
    assert_eq!((done.revision.0, done.replaced, done.messages), (2, 4, 3));
    assert_eq!((session.revision().0, session.history().len(), session.state()), (2, 3, SessionState::Idle));
    let short = engine.session().unwrap();
    assert_eq!(block_on(short.compact()), Err(CompactError::NothingToReplace));
    let session = long_session(&engine);
    assert!(matches!(block_on(session.compact()), Err(CompactError::Failed { .. })));
    {
        let mut hanging = pin!(session.compact());
        assert!(block_on(poll_once(hanging.as_mut())).is_none());
        assert_eq!(block_on(session.compact()), Err(CompactError::Busy));
        assert!(session.start("hello").is_err());
    }
    // Given up, the session is free.
    let mut hanging = pin!(session.compact());
    assert!(block_on(poll_once(hanging.as_mut())).is_none());
    assert_eq!((engine.shutdown(), engine.shutdown()), (1, 0));
    assert!(matches!(block_on(hanging), Err(CompactError::EngineShutdown(_))));
    assert_eq!((session.revision().0, session.history().len()), (1, 6));
    assert!(matches!(block_on(session.compact()), Err(CompactError::EngineShutdown(_))));
}

// proves: K6
#[test]
fn without_a_compactor_there_is_nothing_to_compact_with() {
    let session = session(ScriptedModel::new([]));
    assert_eq!(block_on(session.compact()), Err(CompactError::NoCompactor));
}

/// A model whose provider shortens histories itself.
struct Native(ScriptedModel);

impl Model for Native {
    type Stream = <ScriptedModel as Model>::Stream;

    async fn open(&self, request: Arc<ModelRequest>, cx: ModelContext) -> Result<Self::Stream, Problem> {
        Model::open(&self.0, request, cx).await
    }

    async fn compact(
        &self,
        request: Arc<runloom::CompactionRequest>,
        _: runloom::CompactionContext,
    ) -> Result<Compaction, CompactionFault> {
        let context = runloom::core::message::ProviderContext {
            model: request.model.name.clone(),
            kind: "native.compaction".into(),
            payload: "{\"opaque\":1}".into(),
        };
        Ok(Compaction::of([(Role::Assistant, vec![runloom::Part::Context(Arc::new(context))])]))
    }
}

// proves: K1, M9
#[test]
fn a_provider_may_compact_natively_and_what_it_requires_back_stands_in_the_history() {
    let policy = CompactionPolicy::after_messages(5).keep_messages(2);
    let model = Native(ScriptedModel::new(["one".into()]));
    let host = Host::shared().model(ModelSpec::new("m"), model).compact_natively().build().unwrap();
    let session = long_session(&engine(host, policy));
    let (_run, driver) = session.start("hello").unwrap();
    let outcome = block_on(driver);
    let first = outcome.history.get(0).unwrap();
    assert!(
        matches!(first.parts(), [runloom::Part::Context(context)] if context.kind == "native.compaction")
    );
    // A model that cannot do it fails the compaction, and the run goes on.
    let model = ScriptedModel::new(["one".into()]);
    let host = Host::shared().model(ModelSpec::new("m"), model).compact_natively().build().unwrap();
    let session = long_session(&engine(host, policy));
    let (_run, driver) = session.start("hello").unwrap();
    assert_eq!(block_on(driver).history.len(), 8);
}

// proves: K1, X2
#[test]
fn local_hosts_have_compactors_that_stay_on_one_thread() {
    let policy = CompactionPolicy::after_messages(1).keep_messages(1);
    let build = |local: bool| {
        let host = Host::<Local>::local()
            .model(ModelSpec::new("m"), ScriptedModel::new(["one".into(), "two".into(), "three".into()]));
        let host = if local {
            let note = std::rc::Rc::new(String::from("noted"));
            host.compactor(local_compactor_fn(move |_, _| {
                let note = std::rc::Rc::clone(&note);
                async move { Ok(Compaction::summary(note.as_str())) }
            }))
        } else {
            let model = ScriptedModel::new(["noted".into()]);
            host.compactor(LocalSummarizer::new(Summarizer::new(ModelSpec::new("cheap"), model)))
        };
        let config = Config::default().compaction(policy).unwrap();
        Engine::builder(host.build().unwrap(), ManualTimer::new()).config(config).build().session().unwrap()
    };
    for local in [true, false] {
        let session = build(local);
        for input in [LONG.repeat(9), LONG.repeat(9)] {
            let (_run, driver) = session.start(input).unwrap();
            block_on(driver);
        }
        assert!(texts(&session.history())[0].ends_with("noted"));
    }
}

/// What had come in while the stream was full is neither lost nor overtaken when a command comes (E13).
// proves: E13, H3
#[test]
fn commands_while_the_stream_is_full_lose_nothing_of_the_model() {
    let long = "x".repeat(3 << 10);
    let attempt = Attempt::new().text(long.as_str()).text("tail");
    let host = Host::shared().model(ModelSpec::new("m"), ScriptedModel::new([attempt, "two".into()]));
    let mut limits = runloom::Limits::default();
    (limits.event_capacity, limits.delta_bytes) = (6, 1 << 10);
    let config = Config::new(limits).unwrap();
    let engine = Engine::builder(host.build().unwrap(), ManualTimer::new()).config(config).build();
    let session = engine.session().unwrap();
    let (run, mut driver) = session.start("hello").unwrap();
    assert!(block_on(poll_once(&mut driver)).is_none());
    // The long text has filled the stream; what stands behind it has come in too.
    assert_eq!(run.handle().events_after(runloom::Seq(0), 99).len(), 6);
    let id = run.steer("never mind").unwrap();
    assert_eq!(run.retract(&id), RetractReply::Retracted);
    run.steer("more").unwrap();
    assert_eq!(run.handle().events_after(runloom::Seq(0), 99).len(), 6, "the stream is as full as before");
    run.detach();
    let outcome = block_on(poll_once(&mut driver)).expect("nothing is waited for");
    assert_eq!(texts(&outcome.history), ["hello", &format!("{long}tail"), "more", "two"]);
}
