//! One driver on any executor, `Send` or not (X2).

use futures_lite::future::{block_on, poll_once, zip};
use runloom::smol::SmolTimer;
use runloom::testing::{Attempt, ScriptedModel, ScriptedTool};
use runloom::{
    Access, Approval, CancellationToken, Completion, Driver, Engine, EngineBuilder, EventStream, Events,
    FinalCall, Finish, Host, HostBuilder, HostTransport, LocalModel, ManualTimer, ModelItem, ModelSpec, Run,
    RunHandle, Session, Shared, Time, Timer, ToolOutput, ToolSpec, ToolStatus, WaitForCancellation,
    WaitForOutcome, local_approver_fn, local_model_fn, local_tool_fn, sleep,
};
use runloom_tests::bare::{Flag, Task, run_all};
use runloom_tests::runs::{TestEngine, assert_ended, engine};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

fn is_send<T: Send>() {}
fn is_sync<T: Sync>() {}

/// What is `Send` and `Sync` where the host's parts are.
// proves: X2
#[test]
fn shared_hosts_make_everything_send() {
    is_send::<Driver<ManualTimer, HostTransport<Shared>>>();
    is_send::<Driver<SmolTimer, HostTransport<Shared>>>();
    is_send::<Engine<Shared, SmolTimer>>();
    is_sync::<Engine<Shared, SmolTimer>>();
    is_send::<EngineBuilder<Shared, SmolTimer>>();
    is_send::<Session<Shared, ManualTimer>>();
    is_sync::<Session<Shared, ManualTimer>>();
    is_send::<Host<Shared>>();
    is_sync::<Host<Shared>>();
    is_send::<HostBuilder<Shared>>();
    is_send::<Run>();
    is_sync::<Run>();
    is_send::<RunHandle>();
    is_sync::<RunHandle>();
    is_send::<EventStream>();
    is_send::<Events<'_>>();
    is_send::<WaitForOutcome<'_>>();
    is_send::<CancellationToken>();
    is_sync::<CancellationToken>();
    is_send::<WaitForCancellation>();
}

fn scenario(timer: &ManualTimer) -> TestEngine {
    let text = "a longer piece of text, which needs an allocation of its own";
    let script = [
        Attempt::new().text("void").cut(),
        Attempt::new().texts("x", 300).text(text).call("t", "{}").call("u", "{\"a\":1}").usage(10, 20),
        Attempt::new().call("t", "not json"),
        Attempt::new().texts("end", 100),
    ];
    let shared =
        |name: &str| ScriptedTool::timed(timer.clone(), name).declared(|spec| spec.access(Access::Shared));
    let tools = [shared("t").progress("one").output("t"), shared("u").panic()];
    engine(script, tools, timer, 16)
}

async fn read(run: &mut Run) -> String {
    while run.fill().await {
        while run.take().is_some() {}
    }
    run.handle().log_json()
}

/// The same scenario gives the same log, byte for byte, wherever it is driven.
// proves: X2, W8
#[test]
fn logs_are_equal_on_every_executor() {
    let mut logs = Vec::new();

    let timer = ManualTimer::new();
    let (mut run, driver) = scenario(&timer).session().unwrap().start("go").unwrap();
    let log = RefCell::new(String::new());
    let read_all = async { *log.borrow_mut() = read(&mut run).await };
    assert!(run_all(&timer, vec![Box::pin(async { drop(driver.await) }), Box::pin(read_all)]));
    logs.push(log.into_inner());

    // Elsewhere the clock moves when the one wait of the scenario is due.
    let tick = |timer: ManualTimer| async move {
        while timer.advance_to_alarm().is_none() || timer.now() == runloom::Time::ZERO {
            futures_lite::future::yield_now().await;
        }
    };
    let timer = ManualTimer::new();
    let (mut run, driver) = scenario(&timer).session().unwrap().start("go").unwrap();
    let backoff = async {
        while timer.next_alarm() != Some(runloom::Time::from_secs(1)) {
            futures_lite::future::yield_now().await;
        }
        tick(timer.clone()).await;
    };
    logs.push(block_on(zip(driver, zip(read(&mut run), backoff))).1.0);

    for threads in [false, true] {
        let timer = ManualTimer::new();
        let (mut run, driver) = scenario(&timer).session().unwrap().start("go").unwrap();
        let clock = timer.clone();
        let backoff = async move {
            while clock.next_alarm() != Some(runloom::Time::from_secs(1)) {
                futures_lite::future::yield_now().await;
            }
            clock.advance_to_alarm();
        };
        logs.push(if threads {
            let (driver, backoff) = (smol::spawn(driver), smol::spawn(backoff));
            smol::block_on(async {
                let log = read(&mut run).await;
                driver.await;
                backoff.await;
                log
            })
        } else {
            let executor = smol::LocalExecutor::new();
            let (driver, backoff) = (executor.spawn(driver), executor.spawn(backoff));
            block_on(executor.run(async {
                let log = read(&mut run).await;
                driver.await;
                backoff.await;
                log
            }))
        });
        assert_ended(run.handle());
    }
    assert!(logs[0].lines().count() > 420);
    for (n, log) in logs.iter().enumerate().skip(1) {
        let difference = logs[0].lines().zip(log.lines()).find(|(a, b)| a != b);
        assert_eq!(difference, None, "{n}");
        assert_eq!(logs[0].len(), log.len(), "{n}");
    }
}

/// Calls `tell` once, then says how many messages it was sent. It holds what is not `Send` in all of its parts.
fn local_model(turns: &Rc<Cell<u32>>) -> impl LocalModel + use<> {
    let turns = Rc::clone(turns);
    local_model_fn(move |request, cx| {
        let turns = Rc::clone(&turns);
        async move {
            turns.set(turns.get() + 1);
            assert!(!cx.token().is_cancelled());
            let (name, arguments) = ("tell".into(), r#"{"what":"hello"}"#.into());
            let first = match turns.get() {
                1 => ModelItem::Call(Box::new(FinalCall { id: None, name, arguments })),
                _ => ModelItem::Text(format!("{} messages", request.history.len()).into()),
            };
            let done = ModelItem::Done(Box::new(Completion::new(Some(Finish::Stop), "stop")));
            Ok(futures_lite::stream::iter([first, done].into_iter().inspect(move |_| turns.set(turns.get()))))
        }
    })
}

/// Models, tools and approvers that stay on one thread, and a session over two runs.
// proves: X2, X3
#[test]
fn local_hosts_may_hold_what_is_not_send() {
    let told = Rc::new(RefCell::new(Vec::<String>::new()));
    let turns = Rc::new(Cell::new(0));
    let model = local_model(&turns);
    let spec = ToolSpec::new("tell", "", "{}").unwrap().needs_approval();
    let tool = local_tool_fn(spec, {
        let told = Rc::clone(&told);
        move |arguments, cx| {
            let told = Rc::clone(&told);
            async move {
                cx.progress("telling").await;
                told.borrow_mut().push(arguments["what"].to_string());
                Ok(ToolOutput::text("told"))
            }
        }
    });
    let asked = Rc::new(Cell::new(0));
    let approver = local_approver_fn({
        let asked = Rc::clone(&asked);
        move |_, _| {
            let asked = Rc::clone(&asked);
            async move {
                asked.set(asked.get() + 1);
                Approval::Allow
            }
        }
    });
    // Parts that are `Send` go in as well.
    let other = ScriptedTool::new("other");
    let host = Host::local().model(ModelSpec::new("m"), model).tool(tool).tool(other).approver(approver);
    let ids = Rc::new(Cell::new(0));
    let engine = Engine::builder(host.build().unwrap(), ManualTimer::new())
        .ids(move |_, _| {
            ids.set(ids.get() + 1);
            format!("id-{}", ids.get())
        })
        .build();
    let session = engine.session().unwrap();
    let executor = smol::LocalExecutor::new();
    for expected in ["3 messages", "5 messages"] {
        let (run, driver) = session.start("go").unwrap();
        let task = executor.spawn(driver);
        let outcome = block_on(executor.run(run.outcome()));
        assert_eq!(outcome.answer().unwrap().text, expected);
        block_on(executor.run(task));
        assert_ended(run.handle());
    }
    assert_eq!((told.borrow().as_slice(), asked.get()), (["\"hello\"".to_owned()].as_slice(), 1));
    assert_eq!(engine.shutdown(), 0);
}

/// A cancellation from another thread reaches a driver that sleeps, and needs none that is polled.
// proves: C3, C7
#[test]
fn cancel_from_another_thread() {
    for polled in [false, true] {
        let timer = ManualTimer::new();
        let engine = engine([Attempt::new().text("a").hang()], [], &timer, 64);
        let session = engine.session().unwrap();
        let (run, driver) = session.start("go").unwrap();
        let driver = if polled { Ok(smol::spawn(driver)) } else { Err(driver) };
        let (handle, mut stream) = run.split();
        if polled {
            let text = |e: &runloom::Envelope| matches!(e.event, runloom::Event::TextDelta(_));
            smol::block_on(async { while !stream.next().await.is_some_and(|e| text(&e)) {} });
        }
        let handle = std::thread::spawn(move || {
            assert_eq!(handle.cancel(), runloom::CancelReply::Cancelled);
            assert!(handle.try_outcome().is_some());
            handle
        })
        .join()
        .unwrap();
        assert_ended(&handle);
        assert_eq!(session.history().len(), if polled { 2 } else { 1 });
        match driver {
            Ok(task) => drop(smol::block_on(task)),
            Err(driver) => drop(block_on(driver)),
        }
    }
}

/// Real time: waits take as long as they should, on async-io's reactor and under any executor.
// proves: X2, X3
#[test]
fn real_time_passes() {
    let timer = SmolTimer::new();
    let tool = ScriptedTool::timed(timer.clone(), "nap").wait(Duration::from_millis(20)).output("slept");
    let model = ScriptedModel::timed(
        timer.clone(),
        [Attempt::new().open_after(Duration::from_millis(10)).call("nap", "{}"), "end".into()],
    );
    let host = Host::shared().model(ModelSpec::new("m"), model).tool(tool).build().unwrap();
    let session = Engine::new(host, timer.clone()).session().unwrap();
    let (run, driver) = session.start("go").unwrap();
    let (outcome, _) = block_on(zip(run.outcome(), driver));
    assert_eq!(outcome.answer().unwrap().text, "end");
    assert!(timer.now().as_micros() >= 30_000);
    let before = timer.now();
    block_on(sleep(timer.clone(), Duration::from_millis(5)));
    assert!(timer.now() >= before.after(Duration::from_millis(5)));
}

/// An idle deadline on real time: a provider that says nothing is given up, and another attempt is made.
// proves: R10
#[test]
fn real_deadlines_fall_due() {
    let timer = SmolTimer::new();
    let model = ScriptedModel::timed(timer.clone(), [Attempt::new().text("a").hang(), "b".into()]);
    let host = Host::shared().model(ModelSpec::new("m"), model.clone()).build().unwrap();
    let mut deadlines = runloom::Deadlines::default();
    deadlines.idle = Some(Duration::from_millis(20));
    let mut retry = runloom::RetryPolicy::default();
    retry.first_wait = Duration::from_millis(10);
    let config = runloom::Config::default().deadlines(deadlines).unwrap().retry(retry).unwrap();
    let engine = Engine::builder(host, timer.clone()).config(config).build();
    let (run, driver) = engine.session().unwrap().start("go").unwrap();
    let task = smol::spawn(driver);
    let outcome = smol::block_on(run.outcome());
    assert_eq!((outcome.answer().unwrap().text.as_str(), model.requests()), ("b", 2));
    assert!(timer.now().as_micros() >= 30_000);
    smol::block_on(task);
}

/// A driver may move from task to task: the task that polled it last is the one that is woken.
#[test]
fn the_last_waker_is_the_one_that_counts() {
    for end in 0..5 {
        let timer = ManualTimer::new();
        let text = Attempt::new().text("a");
        // Without the wait there is no alarm but the driver's own, for the idle deadline.
        let script = if end == 4 { text.hang() } else { text.wait(Duration::from_secs(1)).hang() };
        // Either the model sleeps, or the run pauses for its reader.
        let engine = engine([script], [], &timer, if end == 2 { 1 } else { 64 });
        let (mut run, mut driver) = engine.session().unwrap().start("go").unwrap();
        let (before, first) = Flag::new();
        let (after, second) = Flag::new();
        for waker in [&first, &second, &first, &second] {
            assert!(Pin::new(&mut driver).poll(&mut Context::from_waker(waker)).is_pending());
        }
        let wakes = before.wakes();
        match end {
            0 => timer.advance(Duration::from_secs(1)),
            1 => run.cancellation_token().cancel(),
            2 => {
                let _ = block_on(poll_once(run.fill()));
                while run.take().is_some() {}
                let _ = block_on(poll_once(run.fill()));
            }
            3 => drop(run.cancel()),
            _ => timer.advance(Duration::from_secs(120)),
        }
        assert!(after.take(), "{end}");
        assert_eq!(before.wakes(), wakes, "{end}");
    }
}

/// A clock that moves by itself when it is read the second time.
#[derive(Clone)]
struct Creeping(ManualTimer, Arc<AtomicUsize>);

impl Timer for Creeping {
    fn now(&self) -> Time {
        if self.1.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.advance(Duration::from_secs(1));
        }
        self.0.now()
    }
    fn poll_at(&mut self, at: Time, cx: &mut Context<'_>) -> Poll<()> {
        self.0.poll_at(at, cx)
    }
}

/// R10: a quiet deadline falls due at a time at which the transport was polled and had nothing, not a moment later.
#[test]
fn a_deadline_is_decided_at_the_time_of_the_poll() {
    let timer = ManualTimer::new();
    let reads = Arc::new(AtomicUsize::new(1_000_000));
    let tool = |name: &str, wait: u64, deadline: u64| {
        let deadline = Duration::from_secs(deadline);
        ScriptedTool::timed(timer.clone(), name)
            .wait(Duration::from_secs(wait))
            .declared(|spec| spec.access(Access::Shared).deadline(deadline))
    };
    let model = ScriptedModel::new([Attempt::new().call("late", "{}").call("just", "{}"), "end".into()]);
    let host = Host::shared().model(ModelSpec::new("m"), model);
    let host = host.tool(tool("late", 99, 10)).tool(tool("just", 11, 11)).build().unwrap();
    let engine = Engine::new(host, Creeping(timer.clone(), Arc::clone(&reads)));
    let session = engine.session().unwrap();
    let (_run, driver) = session.start("go").unwrap();
    let mut driver = Task::new(driver);
    driver.run();
    timer.advance(Duration::from_secs(10));
    reads.store(2, Ordering::SeqCst);
    while !driver.run() {
        assert!(timer.advance_to_alarm().is_some());
    }
    let history = session.history();
    let statuses: Vec<_> = history.iter().flat_map(|m| m.results().map(|r| r.status)).collect();
    assert_eq!(statuses, [ToolStatus::TimedOut, ToolStatus::Success]);
}
