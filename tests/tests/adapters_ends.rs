//! Every way in which a run ends, on three ways of driving it: exactly one terminal, a closed log, a committed
//! session, and nothing left behind (E2, E3, C8).

use futures_core::Stream;
use futures_lite::future::poll_once;
use runloom::testing::{Attempt, ScriptedModel, ScriptedTool};
use runloom::{
    CancelCause, Driver, Engine, EventStream, Host, HostTransport, ManualTimer, Model, ModelContext,
    ModelItem, ModelRequest, ModelSpec, OpId, Problem, ProblemKind, RunError, RunHandle, RunOptions,
    RunResult, Session, SessionState, Shared, Time, Timer, ToolFault, ToolStatus, Transport, Work,
};
use runloom_core::Input;
use runloom_core::output::Credit;
use runloom_tests::bare::{Task, run_all};
use runloom_tests::runs::{assert_ended, count, engine};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

/// How the futures of a case are driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    Bare,
    Blocking,
    Smol,
}

const ALL: [On; 3] = [On::Bare, On::Blocking, On::Smol];

/// Runs the driver to its end while the stream is read.
fn drive<F: Future + Send + 'static>(on: On, timer: &ManualTimer, driver: F, mut stream: EventStream)
where
    F::Output: Send,
{
    let read = async move {
        while stream.fill().await {
            while stream.take().is_some() {}
        }
    };
    // The manual clock is moved as soon as everyone sleeps; where other threads poll, by a task that does little else.
    match on {
        On::Bare => {
            let driver = async move { drop(driver.await) };
            assert!(run_all(timer, vec![Box::pin(driver), Box::pin(read)]));
        }
        On::Blocking => {
            let clock = ticking(timer);
            futures_lite::future::block_on(futures_lite::future::or(
                async { drop(futures_lite::future::zip(driver, read).await) },
                clock,
            ));
        }
        On::Smol => {
            let (driver, read) = (smol::spawn(driver), smol::spawn(read));
            let clock = ticking(timer);
            smol::block_on(smol::future::or(
                async {
                    driver.await;
                    read.await;
                },
                clock,
            ));
        }
    }
}

async fn ticking(timer: &ManualTimer) {
    loop {
        timer.advance_to_alarm();
        futures_lite::future::yield_now().await;
    }
}

struct Case {
    session: Session<Shared, ManualTimer>,
    handle: RunHandle,
    stream: EventStream,
    driver: Driver<ManualTimer, HostTransport<Shared>>,
}

fn case<M: Model>(
    timer: &ManualTimer,
    model: M,
    tools: impl IntoIterator<Item = ScriptedTool<ManualTimer>>,
) -> Case {
    let mut host = Host::shared().model(ModelSpec::new("m"), model);
    for tool in tools {
        host = host.tool(tool);
    }
    let host = host.build().expect("a host");
    let session = Engine::new(host, timer.clone()).session().expect("a session");
    let (run, driver) = session.start("go").expect("a run");
    let (handle, stream) = run.split();
    Case { session, handle, stream, driver }
}

fn ended(session: &Session<Shared, ManualTimer>, handle: &RunHandle) -> RunResult {
    assert_ended(handle);
    let outcome = handle.try_outcome().expect("an outcome");
    assert_eq!(session.revision(), outcome.revision);
    assert_eq!(session.history(), outcome.history);
    assert_eq!(session.history().open_calls(), 0);
    outcome.result.clone()
}

fn wait() -> Duration {
    Duration::from_millis(1)
}

// proves: E2, M6
#[test]
fn providers_that_panic_or_stop_fail_their_attempt() {
    let scripts: [(&str, Attempt, ProblemKind); 5] = [
        ("opening", Attempt::new().open_panic(), ProblemKind::Panicked),
        ("late opening", Attempt::new().open_after(wait()).open_panic(), ProblemKind::Panicked),
        ("stream", Attempt::new().text("a").wait(wait()).panic(), ProblemKind::Panicked),
        ("refused", Attempt::new().refuse(Problem::new(ProblemKind::NotFound, "")), ProblemKind::NotFound),
        (
            "failed",
            Attempt::new().text("a").fail(Problem::new(ProblemKind::Permission, "")),
            ProblemKind::Permission,
        ),
    ];
    for (name, attempt, kind) in scripts {
        for on in ALL {
            let timer = ManualTimer::new();
            let model = ScriptedModel::timed(timer.clone(), [attempt.clone()]);
            let Case { session, handle, stream, driver } = case(&timer, model.clone(), []);
            drive(on, &timer, driver, stream);
            let RunResult::Failed(error) = ended(&session, &handle) else { panic!("{name}") };
            assert!(
                matches!(&*error, RunError::Model { problem, .. } if problem.kind == kind),
                "{name} {on:?}"
            );
            assert_eq!((model.requests(), session.state()), (1, SessionState::Failed));
        }
    }
}

/// A stream without an end is truncated, which is tried again, after waits of the engine's clock.
// proves: M8, R2
#[test]
fn truncated_streams_are_tried_again() {
    for on in ALL {
        let timer = ManualTimer::new();
        let attempts = [Attempt::new().text("a").cut(), Attempt::new().cut(), Attempt::answer("b")];
        let model = ScriptedModel::timed(timer.clone(), attempts);
        let Case { session, handle, stream, driver } = case(&timer, model, []);
        drive(on, &timer, driver, stream);
        let RunResult::Completed(answer) = ended(&session, &handle) else { panic!("{on:?}") };
        assert_eq!((answer.text.as_str(), count(&handle, "provider.stream_reset")), ("b", 2));
        assert_eq!(timer.now(), Time::from_secs(3));
    }
}

struct DropPanics;

impl Model for DropPanics {
    type Stream = Bomb;
    async fn open(&self, _: Arc<ModelRequest>, _: ModelContext) -> Result<Bomb, Problem> {
        Ok(Bomb(AtomicBool::new(true)))
    }
}

/// Never yields, and panics when dropped.
struct Bomb(AtomicBool);

impl Stream for Bomb {
    type Item = ModelItem;
    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<ModelItem>> {
        Poll::Pending
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!self.0.swap(false, Ordering::SeqCst), "dropped");
    }
}

// proves: E2, X5
#[test]
fn a_provider_that_panics_when_it_is_dropped_harms_nobody() {
    for on in ALL {
        // The first-item deadline drops one stream after the other.
        let timer = ManualTimer::new();
        let Case { session, handle, stream, driver } = case(&timer, DropPanics, []);
        drive(on, &timer, driver, stream);
        assert!(matches!(ended(&session, &handle), RunResult::Failed(_)));
        assert_eq!(count(&handle, "model.failed"), 4);
        let Case { session, handle, mut driver, .. } = case(&timer, DropPanics, []);
        assert!(futures_lite::future::block_on(poll_once(&mut driver)).is_none());
        drop(driver);
        assert_eq!(ended(&session, &handle), RunResult::Cancelled(CancelCause::DriverDropped));
    }
}

// proves: T3, T4, R9
#[test]
fn tools_that_panic_or_fail_are_results() {
    let tool = |timer: &ManualTimer| ScriptedTool::timed(timer.clone(), "t");
    let fault = ToolFault::new("no disk");
    type Make<'a> = Box<dyn Fn(&ManualTimer) -> ScriptedTool<ManualTimer> + 'a>;
    let tools: [(ToolStatus, Make<'_>); 4] = [
        (ToolStatus::Panicked, Box::new(move |timer| tool(timer).panic())),
        (ToolStatus::Panicked, Box::new(move |timer| tool(timer).progress("p").wait(wait()).panic())),
        (ToolStatus::Failure, Box::new(move |timer| tool(timer).wait(wait()).fault(fault.clone()))),
        (
            ToolStatus::TimedOut,
            Box::new(move |timer| tool(timer).hang().declared(|spec| spec.deadline(Duration::from_secs(9)))),
        ),
    ];
    for (status, make) in tools {
        for on in ALL {
            let timer = ManualTimer::new();
            let attempts = [Attempt::new().call("t", "{}"), "end".into()];
            let model = ScriptedModel::timed(timer.clone(), attempts);
            let Case { session, handle, stream, driver } = case(&timer, model, [make(&timer)]);
            drive(on, &timer, driver, stream);
            assert!(matches!(ended(&session, &handle), RunResult::Completed(_)));
            let history = session.history();
            let result = history.iter().find_map(|message| message.results().next().cloned()).unwrap();
            assert_eq!(result.status, status, "{on:?}");
        }
    }
}

/// A script with every phase in it, each reached by polling and moving the clock.
fn long(timer: &ManualTimer) -> (ScriptedModel<ManualTimer>, ScriptedTool<ManualTimer>) {
    let attempts = [
        Attempt::new().open_after(wait()).text("void").wait(wait()).cut(),
        Attempt::new().wait(wait()).text("a").call("t", "{}").call("none", "{}").wait(wait()),
        Attempt::new().text("b").wait(wait()),
    ];
    let tool = ScriptedTool::timed(timer.clone(), "t").wait(wait()).progress("p").wait(wait()).output("o");
    (ScriptedModel::timed(timer.clone(), attempts), tool)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    DropHandle,
    DropDriver,
    DropStream,
    DropAll,
    Cancel,
    Token,
    Panic,
}

/// Ends the run in every phase in every way from outside.
// proves: E2, E3, W7, C8
#[test]
fn every_end_in_every_phase_gives_one_terminal() {
    let ends = [
        End::DropHandle,
        End::DropDriver,
        End::DropStream,
        End::DropAll,
        End::Cancel,
        End::Token,
        End::Panic,
    ];
    for end in ends {
        for moves in 0..12 {
            let timer = ManualTimer::new();
            let (model, tool) = long(&timer);
            let Case { session, handle, stream, driver } = case(&timer, model.clone(), [tool.clone()]);
            let token = handle.cancellation_token();
            let mut driver = Task::new(driver);
            for _ in 0..moves {
                driver.run();
                timer.advance_to_alarm();
            }
            let requests = model.requests();
            match end {
                End::DropHandle => drop((handle, stream)),
                End::DropDriver => driver.kill(),
                End::DropStream => drop(stream),
                End::DropAll => {
                    driver.kill();
                    drop(stream);
                    drop(handle);
                }
                End::Cancel => drop(handle.cancel()),
                End::Token => token.cancel(),
                End::Panic => handle.plant_panic(0),
            }
            let at_once = !matches!(end, End::DropStream | End::Token | End::Panic);
            if at_once {
                assert!(!matches!(session.state(), SessionState::Running), "{end:?} {moves}");
                assert_eq!(session.history().open_calls(), 0);
                let again = session.start("again");
                assert!(again.is_ok());
                drop(again);
            }
            while !driver.run() && timer.advance_to_alarm().is_some() {}
            if !matches!(end, End::DropDriver | End::DropAll) {
                assert!(driver.output().is_some(), "{end:?} {moves}");
            }
            if at_once || end == End::Token {
                assert_eq!(model.requests(), requests, "{end:?} {moves}");
            }
            assert_eq!(tool.calls(), tool.finished() + tool.dropped(), "{end:?} {moves}");
            assert_eq!(timer.next_alarm(), None, "{end:?} {moves}");
        }
    }
}

/// A panic in each machine step, on each executor.
// proves: E2, X5
#[test]
fn a_planted_panic_in_any_step_gives_one_terminal() {
    for on in ALL {
        for steps in 0..24 {
            let timer = ManualTimer::new();
            let (model, tool) = long(&timer);
            let Case { session, handle, stream, driver } = case(&timer, model, [tool]);
            handle.plant_panic(steps);
            drive(on, &timer, driver, stream);
            match ended(&session, &handle) {
                RunResult::Failed(error) => {
                    assert_eq!((&*error, session.revision().0), (&RunError::Internal, 0))
                }
                result => assert!(matches!(result, RunResult::Completed(_)), "{on:?} {steps}: {result:?}"),
            }
        }
    }
}

/// Ends from other threads, at any moment.
// proves: E2, C7, C8
#[test]
fn ends_from_other_threads_give_one_terminal() {
    for n in 0..300_u64 {
        let timer = ManualTimer::new();
        let script = [Attempt::new().texts("x", 2_000).call("t", "{}"), Attempt::new().texts("y", 2_000)];
        let tool = ScriptedTool::timed(timer.clone(), "t").output("o");
        let engine = engine(script, [tool], &timer, 64);
        let session = engine.session().unwrap();
        let (run, driver) = session.start("go").unwrap();
        let (handle, mut stream) = run.split();
        let task = smol::spawn(driver);
        let reader = smol::spawn(async move {
            let mut last = None;
            while stream.fill().await {
                while let Some(envelope) = stream.take() {
                    last = Some(envelope.clone());
                }
            }
            last
        });
        let other = std::thread::spawn(move || {
            for _ in 0..n * 40 {
                std::hint::spin_loop();
            }
            match n % 3 {
                0 => drop(handle.cancel()),
                1 => handle.cancellation_token().cancel(),
                _ => {
                    assert!(engine.shutdown() <= 1);
                }
            }
            handle
        });
        let outcome = smol::block_on(task);
        let handle = other.join().unwrap();
        let last = smol::block_on(reader).unwrap();
        assert!(last.event.is_terminal());
        assert_eq!(last.seq, outcome.last_seq);
        assert_eq!(ended(&session, &handle), outcome.result);
        assert_eq!(session.history().open_calls(), 0);
    }
}

/// A transport that breaks its contract or panics fails the run, not the program.
// proves: E2, X5
#[test]
fn broken_transports_fail_the_run() {
    #[derive(Clone, Copy, Debug)]
    enum Way {
        Begin,
        Poll,
        Abandon,
        UnknownOp,
    }
    struct Broken(Way, Option<OpId>);
    impl Transport for Broken {
        fn begin(&mut self, op: OpId, _: Work) {
            assert!(!matches!(self.0, Way::Begin));
            self.1 = Some(op);
        }
        fn abandon(&mut self, _: OpId) {
            assert!(!matches!(self.0, Way::Abandon));
        }
        fn poll_items(&mut self, _: &mut Context<'_>, _: Credit, into: &mut Vec<Input>) -> Poll<()> {
            assert!(!matches!(self.0, Way::Poll));
            if !matches!(self.0, Way::UnknownOp) {
                return Poll::Pending;
            }
            into.push(Input::Model { op: OpId(77), item: ModelItem::Alive });
            Poll::Ready(())
        }
    }
    for way in [Way::Begin, Way::Poll, Way::Abandon, Way::UnknownOp] {
        let timer = ManualTimer::new();
        let engine = engine([], [], &timer, 64);
        let session = engine.session().unwrap();
        let (run, driver) = session.start_on("go", RunOptions::new(), |_| Broken(way, None)).unwrap();
        let mut driver = Task::new(driver);
        driver.run();
        if matches!(way, Way::Abandon) {
            run.cancel();
            assert!(driver.run());
            assert!(matches!(ended(&session, run.handle()), RunResult::Cancelled(_)));
            continue;
        }
        assert!(driver.output().is_some(), "{way:?}");
        let RunResult::Failed(error) = ended(&session, run.handle()) else { panic!("{way:?}") };
        assert_eq!(*error, RunError::DriverPanicked);
    }
}

/// So does a timer that panics.
// proves: E2, X3
#[test]
fn panicking_timers_fail_the_run() {
    #[derive(Clone)]
    struct Broken(ManualTimer);
    impl Timer for Broken {
        fn now(&self) -> Time {
            self.0.now()
        }
        fn poll_at(&mut self, _: Time, _: &mut Context<'_>) -> Poll<()> {
            panic!("no alarms")
        }
    }
    let timer = ManualTimer::new();
    let model = ScriptedModel::timed(timer.clone(), [Attempt::new().text("a").hang()]);
    let host = Host::shared().model(ModelSpec::new("m"), model).build().unwrap();
    let session = Engine::new(host, Broken(timer)).session().unwrap();
    let (run, driver) = session.start("go").unwrap();
    futures_lite::future::block_on(driver);
    assert_ended(run.handle());
    let outcome = run.handle().try_outcome().unwrap();
    assert!(matches!(&outcome.result, RunResult::Failed(e) if **e == RunError::DriverPanicked));
    // What had come in is committed.
    assert_eq!((session.revision().0, session.history().len()), (1, 2));
}
