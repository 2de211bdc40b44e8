//! Mistakes that drivers of state machines make. Each was made once; each test shows that it is not made here.
//! (Number 6 is a matter of the token and stands with its tests, 8 and 10 are the machine's.)

use futures_lite::future::block_on;
use runloom::testing::{Attempt, CheckedTimer, NoWaiting, ScriptedModel, ScriptedTool};
use runloom::{
    Access, Completion, Driver, Engine, EventStream, Finish, Host, HostTransport, ManualTimer, ModelItem,
    ModelSpec, OpId, Run, RunError, RunHandle, RunOptions, RunResult, Seq, Shared, Time, Timer, ToolOutput,
    ToolSpec, ToolStatus, Transport, model_fn, tool_fn,
};
use runloom_core::Input;
use runloom_core::output::{Credit, Work};
use runloom_tests::bare::{Flag, Task, run_all};
use runloom_tests::runs::{assert_ended, count, engine, events};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

type SharedDriver<T> = Driver<T, HostTransport<Shared>>;

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "", "{}").unwrap().access(Access::Shared)
}

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// 1: a waker that owns what it wakes. Waking it drops the stream, whose drop takes the run's lock.
#[test]
fn trap_01_a_waker_may_drop_the_stream_that_it_wakes() {
    struct Owner(Mutex<Option<EventStream>>, Arc<Flag>);
    impl Wake for Owner {
        fn wake(self: Arc<Self>) {
            let stream = self.0.lock().unwrap().take();
            drop(stream);
            Arc::clone(&self.1).wake();
        }
    }
    let timer = ManualTimer::new();
    let engine = engine([Attempt::new().wait(seconds(1)).text("a").wait(seconds(1))], [], &timer, 64);
    let (run, driver) = engine.session().unwrap().start("go").unwrap();
    let (handle, mut stream) = run.split();
    let mut driver = Task::new(driver);
    driver.run();
    while stream.take().is_some() || block_on(futures_lite::future::poll_once(stream.fill())).is_some() {}
    let (flag, _) = Flag::new();
    let owner = Arc::new(Owner(Mutex::default(), Arc::clone(&flag)));
    let waker = Waker::from(Arc::clone(&owner));
    {
        let mut fill = std::pin::pin!(stream.fill());
        assert!(fill.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    *owner.0.lock().unwrap() = Some(stream);
    drop((owner, waker));
    timer.advance(seconds(1));
    driver.run();
    assert_eq!(flag.wakes(), 1);
    timer.advance(seconds(1));
    assert!(driver.run());
    assert_ended(&handle);
    assert!(
        matches!(&handle.try_outcome().unwrap().result, RunResult::Failed(e) if **e == RunError::ConsumerGone)
    );
}

/// 1: a waker that reads from within `wake`.
#[test]
fn trap_01_a_waker_may_read_and_cancel() {
    struct Reader(Weak<Mutex<Option<RunHandle>>>, AtomicUsize);
    impl Wake for Reader {
        fn wake(self: Arc<Self>) {
            if let Some(handle) = self.0.upgrade() {
                let guard = handle.lock().unwrap();
                let handle = guard.as_ref().unwrap();
                self.1.fetch_add(handle.events_after(Seq(0), usize::MAX).len(), Ordering::SeqCst);
                handle.cancel();
            }
        }
    }
    let timer = ManualTimer::new();
    let engine = engine([Attempt::new().wait(seconds(1)).text("a").hang()], [], &timer, 64);
    let (run, driver) = engine.session().unwrap().start("go").unwrap();
    let (handle, mut stream) = run.split();
    let mut driver = Task::new(driver);
    driver.run();
    block_on(stream.fill());
    while stream.take().is_some() {}
    let handle = Arc::new(Mutex::new(Some(handle)));
    let reader = Arc::new(Reader(Arc::downgrade(&handle), AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&reader));
    let mut fill = Box::pin(stream.fill());
    assert!(fill.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    timer.advance(seconds(1));
    assert!(driver.run());
    assert_eq!(reader.1.load(Ordering::SeqCst), 4);
    let guard = handle.lock().unwrap();
    assert_ended(guard.as_ref().unwrap());
}

/// What a tool may do to its own run from within its poll.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Cancel,
    Outcome,
    Read,
    DropHandle,
    DropStream,
    DropBoth,
    Shutdown,
}

/// 2: a handle that is used within a tool's poll.
#[test]
fn trap_02_a_tool_may_use_and_drop_its_own_run() {
    let deeds = [
        Deed::Cancel,
        Deed::Outcome,
        Deed::Read,
        Deed::DropHandle,
        Deed::DropStream,
        Deed::DropBoth,
        Deed::Shutdown,
    ];
    for deed in deeds {
        let slot: Arc<Mutex<Option<(Engine<Shared, NoWaiting>, RunHandle, EventStream)>>> = Arc::default();
        let inner = Arc::clone(&slot);
        let tool = tool_fn(spec("deed"), move |_, _| {
            let slot = Arc::clone(&inner);
            async move {
                let (engine, handle, mut stream) = slot.lock().unwrap().take().unwrap();
                match deed {
                    Deed::Cancel => drop(handle.cancel()),
                    Deed::Outcome => {
                        let waits = futures_lite::future::poll_once(handle.outcome()).await;
                        assert!(waits.is_none());
                    }
                    Deed::Read => {
                        assert!(stream.fill().await);
                        assert!(stream.take().is_some());
                    }
                    Deed::DropHandle => {
                        drop(handle);
                        return done();
                    }
                    Deed::DropStream => {
                        drop(stream);
                        std::mem::forget(handle);
                        return done();
                    }
                    Deed::DropBoth => drop((stream.next().await, stream, handle.cancel(), handle)),
                    Deed::Shutdown => assert_eq!(engine.shutdown(), 1),
                }
                done()
            }
        });
        fn done() -> Result<ToolOutput, runloom::ToolFault> {
            Ok(ToolOutput::text("done"))
        }
        let model = ScriptedModel::new([Attempt::new().call("deed", "{}"), "end".into()]);
        let host = Host::shared().model(ModelSpec::new("m"), model).tool(tool).build().unwrap();
        let engine = Engine::new(host, NoWaiting);
        let session = engine.session().unwrap();
        let (run, driver) = session.start("go").unwrap();
        let (handle, stream) = run.split();
        *slot.lock().unwrap() = Some((engine, handle, stream));
        let mut driver = Task::new(driver);
        assert!(driver.run(), "{deed:?}");
        let outcome = driver.output().unwrap();
        let ends_well = matches!(outcome.result, RunResult::Cancelled(_))
            || matches!(&outcome.result, RunResult::Failed(e) if **e == RunError::ConsumerGone);
        assert!(ends_well, "{deed:?}: {:?}", outcome.result);
    }
}

/// Something that calls back when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// 3: the driver is dropped in any phase, with futures whose drop calls back.
#[test]
fn trap_03_the_driver_may_be_dropped_at_any_time() {
    for polls in 0..8 {
        let slot: Arc<Mutex<Option<Arc<RunHandle>>>> = Arc::default();
        let inner = Arc::clone(&slot);
        let dropped = Arc::new(AtomicUsize::new(0));
        let drops = Arc::clone(&dropped);
        let timer = ManualTimer::new();
        let tool = tool_fn(spec("slow"), {
            let timer = timer.clone();
            move |_, _| {
                let (slot, drops, timer) = (Arc::clone(&inner), Arc::clone(&drops), timer.clone());
                async move {
                    let _guard = OnDrop(move || {
                        let handle = slot.lock().unwrap().clone();
                        if let Some(handle) = handle {
                            assert!(handle.try_outcome().is_some() || count(&handle, "tool.finished") == 0);
                            handle.cancel();
                            drops.fetch_add(1, Ordering::SeqCst);
                        }
                    });
                    runloom::sleep(timer, seconds(1)).await;
                    Ok(ToolOutput::text("done"))
                }
            }
        });
        let script = Attempt::new()
            .open_after(seconds(1))
            .wait(seconds(1))
            .text("a")
            .wait(seconds(1))
            .call("slow", "{}");
        let failing = Attempt::new().cut();
        let model = ScriptedModel::timed(timer.clone(), [failing, script, Attempt::new().hang()]);
        let host = Host::shared().model(ModelSpec::new("m"), model).tool(tool).build().unwrap();
        let session = Engine::new(host, timer.clone()).session().unwrap();
        let (run, driver) = session.start("go").unwrap();
        let (handle, _stream) = run.split();
        let handle = Arc::new(handle);
        *slot.lock().unwrap() = Some(Arc::clone(&handle));
        let mut driver = Task::new(driver);
        for _ in 0..polls {
            driver.run();
            timer.advance(seconds(1));
        }
        driver.kill();
        assert_ended(&handle);
        let outcome = handle.try_outcome().unwrap();
        assert!(matches!(outcome.result, RunResult::Cancelled(_)), "{polls}: {:?}", outcome.result);
        assert_eq!(session.revision(), outcome.revision);
        slot.lock().unwrap().take();
    }
}

/// 4: a panic in a machine step, with the lock held, at each step of the run.
#[test]
fn trap_04_a_panic_in_a_step_closes_the_run() {
    let timer = ManualTimer::new();
    for at in 0..40 {
        let tool = ScriptedTool::timed(timer.clone(), "t").progress("p").output("o");
        let script = [Attempt::new().text("a").text("b").call("t", "{}"), "end".into()];
        let engine = engine(script, [tool], &timer, 64);
        let session = engine.session().unwrap();
        let (run, driver) = session.start("go").unwrap();
        run.handle().plant_panic(at);
        let outcome = block_on(driver);
        assert_ended(run.handle());
        match &outcome.result {
            RunResult::Failed(error) => {
                assert_eq!(**error, RunError::Internal);
                assert_eq!((session.revision().0, session.history().len()), (0, 0));
            }
            result => {
                // Nine items come in after the start.
                assert!(at >= 9, "{at}: {result:?}");
                assert_eq!(session.revision().0, 1);
            }
        }
        assert_eq!(engine.shutdown(), 0);
    }
}

/// 4: the same when it is a handle that steps the machine.
#[test]
fn trap_04_a_panic_in_a_step_of_the_handle_closes_the_run() {
    let timer = ManualTimer::new();
    let engine = engine([Attempt::new().hang(), Attempt::new().hang()], [], &timer, 64);
    let session = engine.session().unwrap();
    let (run, driver) = session.start("go").unwrap();
    let mut driver = Task::new(driver);
    driver.run();
    run.handle().plant_panic(0);
    run.cancel();
    assert!(driver.run());
    assert_ended(run.handle());
    assert!(matches!(&driver.output().unwrap().result, RunResult::Failed(e) if **e == RunError::Internal));
    let (run, driver) = session.start("go").unwrap();
    run.handle().plant_panic(0);
    drop(run);
    block_on(driver);
}

/// 5: futures that panic when they are dropped, while the run ends.
#[test]
fn trap_05_a_panic_in_a_drop_keeps_nothing_from_being_dropped() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let timer = ManualTimer::new();
    let drops = Arc::clone(&dropped);
    let bad = tool_fn(spec("bad"), move |_, _| {
        let drops = Arc::clone(&drops);
        async move {
            let _guard = OnDrop(move || {
                drops.fetch_add(1, Ordering::SeqCst);
                panic!("in drop");
            });
            std::future::pending().await
        }
    });
    let good = ScriptedTool::new("good").hang().declared(|spec| spec.access(Access::Shared));
    for way in 0..3 {
        dropped.store(0, Ordering::SeqCst);
        let calls = Attempt::new().call("bad", "{}").call("good", "{}").call("bad", "{}");
        let model = ScriptedModel::new([calls]);
        let tool = bad.clone();
        let host = Host::shared().model(ModelSpec::new("m"), model).tool(tool).tool(good.clone());
        let session = Engine::new(host.build().unwrap(), timer.clone()).session().unwrap();
        let (run, driver) = session.start("go").unwrap();
        let mut driver = Task::new(driver);
        driver.run();
        let before = good.dropped();
        match way {
            0 => drop(run.cancel()),
            1 => driver.kill(),
            _ => {
                // Also while a panic unwinds already.
                let unwinding = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    let _driver = std::mem::replace(&mut driver, Task::new(never()));
                    panic!("outer");
                }));
                assert!(unwinding.is_err());
            }
        }
        if way == 0 {
            assert!(driver.run());
        }
        assert_eq!((dropped.load(Ordering::SeqCst), good.dropped()), (2, before + 1), "{way}");
        assert_ended(run.handle());
    }
}

fn never() -> SharedDriver<ManualTimer> {
    let timer = ManualTimer::new();
    let engine = engine([], [], &timer, 64);
    let (run, driver) = engine.session().unwrap().start("never").unwrap();
    run.cancel();
    driver
}

/// 7: an answer whose end lies behind the pause. An hour passes, because the reader sleeps; the provider is not to
/// blame.
#[test]
fn trap_07_a_slow_reader_does_not_time_the_provider_out() {
    let timer = ManualTimer::new();
    let engine = engine([Attempt::new().texts("x", 61)], [], &timer, 64);
    let (mut run, driver) = engine.session().unwrap().start("go").unwrap();
    let mut driver = Task::new(driver);
    driver.run();
    assert_eq!(count(run.handle(), "text.delta"), 61);
    for _ in 0..60 {
        timer.advance(seconds(60));
        driver.run();
    }
    assert_eq!(count(run.handle(), "provider.stream_reset"), 0);
    let mut reader = Task::new(async move {
        while run.events().next().await.is_some() {}
        run
    });
    while !reader.run() {
        driver.run();
    }
    assert_eq!(driver.output().unwrap().answer().unwrap().text.len(), 61);
    assert_eq!(count(reader.output().unwrap().handle(), "provider.stream_reset"), 0);
}

/// 9: where the reader stands is an input: the same reading gives the same log, however the tasks are interleaved.
#[test]
fn trap_09_the_readers_place_reaches_the_machine() {
    let logs: Vec<String> = [1, 3, 7]
        .into_iter()
        .map(|polls| {
            let timer = ManualTimer::new();
            let engine = engine([Attempt::new().texts("x", 200)], [], &timer, 4);
            let (mut run, driver) = engine.session().unwrap().start("go").unwrap();
            let mut driver = Task::new(driver);
            let mut reader = Task::new(async move {
                while run.events().next().await.is_some() {}
                run
            });
            while !reader.run() {
                for _ in 0..polls {
                    driver.poll();
                }
            }
            reader.output().unwrap().handle().log_json()
        })
        .collect();
    assert!(logs.windows(2).all(|pair| pair[0] == pair[1]));
}

/// 12: what a tool returned is recorded, and its reader woken, before other foreign code runs.
#[test]
fn trap_12_a_result_is_recorded_before_the_next_tool_is_polled() {
    let handle: Arc<Mutex<Option<Arc<RunHandle>>>> = Arc::default();
    let (flag, waker) = Flag::new();
    let seen: Arc<Mutex<Vec<(usize, usize)>>> = Arc::default();
    let (inner, sight) = (Arc::clone(&handle), Arc::clone(&seen));
    let woken = Arc::clone(&flag);
    let tool = tool_fn(spec("look"), move |_, _| {
        let (handle, seen, flag) = (Arc::clone(&inner), Arc::clone(&sight), Arc::clone(&woken));
        async move {
            let handle = handle.lock().unwrap().clone().unwrap();
            seen.lock().unwrap().push((count(&handle, "tool.finished"), flag.wakes()));
            Ok(ToolOutput::text("seen"))
        }
    });
    let calls = Attempt::new().call("look", "{}").call("look", "{}").call("look", "{}");
    let model = ScriptedModel::new([calls, "end".into()]);
    let host = Host::shared().model(ModelSpec::new("m"), model).tool(tool).build().unwrap();
    let (run, driver) = Engine::new(host, NoWaiting).session().unwrap().start("go").unwrap();
    let (one, mut stream) = run.split();
    let one = Arc::new(one);
    *handle.lock().unwrap() = Some(Arc::clone(&one));
    assert!(block_on(stream.fill()));
    while stream.take().is_some() {}
    assert!(Box::pin(stream.fill()).as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    block_on(driver);
    // The reader sleeps once and is woken once, before any tool.
    assert_eq!(*seen.lock().unwrap(), [(0, 1), (1, 1), (2, 1)]);
    assert_ended(&one);
    handle.lock().unwrap().take();
}

/// 13: one poll records a bounded number of events, however much the provider has.
#[test]
fn trap_13_a_poll_has_a_budget_of_events() {
    let timer = ManualTimer::new();
    let engine = engine([Attempt::new().texts("x", 10_000)], [], &timer, 64);
    let session = engine.session().unwrap();
    let (run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
    let mut driver = Task::new(driver);
    let mut last = 0;
    while !driver.poll() {
        let now = events(run.handle()).last().unwrap().seq.0;
        assert!(now - last <= 256 + 64, "{last} {now}");
        assert!(driver.is_woken());
        last = now;
    }
    assert!((30..60).contains(&driver.polls()), "{}", driver.polls());
    // The log keeps the last 8,192 of them.
    assert_eq!(driver.output().unwrap().answer().unwrap().text.len(), 10_000);
}

/// 14: tools go on while the stream is full, each up to its next report; what they report is held and not lost.
#[test]
fn trap_14_a_full_stream_does_not_stall_tools() {
    let timer = ManualTimer::new();
    let tool = ScriptedTool::timed(timer.clone(), "slow").wait(seconds(1)).output("done");
    let tool = tool.declared(|spec| spec.access(Access::Shared));
    let reports = ScriptedTool::timed(timer.clone(), "loud").wait(seconds(1)).progress("1").progress("2");
    let reports = reports.declared(|spec| spec.access(Access::Shared));
    let calls = Attempt::new().call("slow", "{}").call("loud", "{}");
    let engine = engine([calls, "end".into()], [tool.clone(), reports.clone()], &timer, 10);
    let (mut run, driver) = engine.session().unwrap().start("go").unwrap();
    let mut driver = Task::new(driver);
    driver.run();
    // Full as soon as both have started, so that they are entered with no room left.
    assert_eq!((events(run.handle()).len(), tool.calls(), reports.calls()), (10, 1, 1));
    timer.advance(seconds(1));
    driver.run();
    assert_eq!((events(run.handle()).len(), tool.finished(), reports.finished()), (10, 1, 0));
    let mut reader = Task::new(async move {
        while run.events().next().await.is_some() {}
        run
    });
    while !reader.run() {
        driver.run();
        timer.advance(seconds(1));
    }
    let run = reader.output().unwrap();
    assert_eq!((count(run.handle(), "tool.updated"), reports.finished()), (2, 1));
    assert_ended(run.handle());
}

/// 14 and 16: a tool that finishes while the stream is full keeps its result when the run is cancelled then.
#[test]
fn trap_16_a_held_result_is_applied_before_a_cancel() {
    for way in 0..4 {
        let timer = ManualTimer::new();
        let tool = ScriptedTool::timed(timer.clone(), "slow").wait(seconds(1)).output("kept");
        let engine = engine([Attempt::new().call("slow", "{}")], [tool.clone()], &timer, 1);
        let session = engine.session().unwrap();
        let (run, driver) = session.start("go").unwrap();
        let (handle, mut stream) = run.split();
        let mut driver = Task::new(driver);
        while tool.calls() == 0 {
            let _ = block_on(futures_lite::future::poll_once(stream.fill()));
            while stream.take().is_some() {}
            driver.run();
        }
        // `tool.started` is unread: full.
        timer.advance(seconds(1));
        driver.run();
        assert_eq!((tool.finished(), count(&handle, "tool.finished")), (1, 0));
        match way {
            0 => drop(handle.cancel()),
            1 => {
                handle.cancellation_token().cancel();
                driver.run();
            }
            2 => driver.kill(),
            _ => assert_eq!(engine.shutdown(), 1),
        }
        assert_ended(&handle);
        let history = session.history();
        let result = history.last().unwrap().results().next().unwrap().clone();
        assert_eq!(result.status, ToolStatus::Success, "{way}");
    }
}

/// 15: waiting for the outcome alone does not hang at the stream's capacity.
#[test]
fn trap_15_waiting_for_the_outcome_needs_no_reader() {
    let timer = ManualTimer::new();
    let engine = engine([Attempt::new().texts("x", 500)], [], &timer, 2);
    let (run, driver) = engine.session().unwrap().start("go").unwrap();
    let (outcome, _) = block_on(futures_lite::future::zip(run.outcome(), driver));
    assert_eq!(outcome.answer().unwrap().text.len(), 500);
    // Nor does a run that is let go.
    let engine = self::engine([Attempt::new().texts("x", 500)], [], &timer, 2);
    let (run, driver) = engine.session().unwrap().start("go").unwrap();
    run.detach();
    assert_eq!(block_on(driver).answer().unwrap().text.len(), 500);
}

/// 16: what was gathered is applied before the cancellation that was seen after it.
#[test]
fn trap_16_what_was_taken_in_is_applied_before_a_cancel() {
    let timer = ManualTimer::new();
    let token = runloom::CancellationToken::new();
    let inner = token.clone();
    let tool = tool_fn(spec("t"), move |_, _| {
        let token = inner.clone();
        async move {
            token.cancel();
            Ok(ToolOutput::text("kept"))
        }
    });
    let model = ScriptedModel::new([Attempt::new().call("t", "{}"), "never".into()]);
    let host = Host::shared().model(ModelSpec::new("m"), model.clone()).tool(tool).build().unwrap();
    let session = Engine::new(host, timer).session().unwrap();
    let options = RunOptions::new().cancellation_token(token);
    let (run, driver) = session.start_with("go", options).unwrap();
    block_on(driver);
    assert_ended(run.handle());
    assert_eq!(model.requests(), 1);
    assert_eq!(session.history().last().unwrap().results().next().unwrap().status, ToolStatus::Success);
}

/// A timer that breaks its contract: it is ready whenever it is asked.
#[derive(Clone)]
struct Hasty(ManualTimer);

impl Timer for Hasty {
    fn now(&self) -> Time {
        self.0.now()
    }
    fn poll_at(&mut self, _: Time, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

/// 17: a timer that is ready too early costs polls, not the thread; a checked one fails the run.
#[test]
fn trap_17_a_hasty_timer_does_not_hold_the_thread() {
    let clock = ManualTimer::new();
    let host = || {
        let model = ScriptedModel::timed(clock.clone(), [Attempt::new().hang()]);
        Host::shared().model(ModelSpec::new("m"), model).build().unwrap()
    };
    let (run, driver) = Engine::new(host(), Hasty(clock.clone())).session().unwrap().start("go").unwrap();
    let mut driver = Task::new(driver);
    for _ in 0..10 {
        assert!(!driver.poll());
        assert!(driver.is_woken());
    }
    run.cancel();
    assert!(driver.run());

    let checked = CheckedTimer::new(Hasty(clock.clone()));
    let (run, driver) = Engine::new(host(), checked).session().unwrap().start("go").unwrap();
    let outcome = block_on(driver);
    assert!(matches!(&outcome.result, RunResult::Failed(e) if **e == RunError::DriverPanicked));
    assert_ended(run.handle());
    let checked = CheckedTimer::new(clock.clone());
    let (run, driver) = Engine::new(host(), checked).session().unwrap().start("go").unwrap();
    let mut driver = Task::new(driver);
    assert!(!driver.run() && driver.polls() == 1);
    run.cancel();
    assert!(driver.run());
    assert_eq!(clock.next_alarm(), None);
}

/// 18: waking one of many tools polls that one.
#[test]
fn trap_18_waking_one_tool_polls_one_tool() {
    let polls = Arc::new(AtomicUsize::new(0));
    let timer = ManualTimer::new();
    let (counted, clock) = (Arc::clone(&polls), timer.clone());
    let tool = tool_fn(spec("t"), move |arguments, _| {
        let (polls, timer) = (Arc::clone(&counted), clock.clone());
        let mut sleep = runloom::sleep(timer, Duration::from_millis(arguments["ms"].as_u64().unwrap()));
        poll_fn(move |cx| {
            polls.fetch_add(1, Ordering::SeqCst);
            Pin::new(&mut sleep).poll(cx).map(|()| Ok(ToolOutput::text("")))
        })
    });
    let mut attempt = Attempt::new();
    for n in 0..256 {
        attempt = attempt.call("t", format!(r#"{{"ms":{}}}"#, n + 1));
    }
    let model = ScriptedModel::timed(timer.clone(), [attempt, "end".into()]);
    let host = Host::shared().model(ModelSpec::new("m"), model).tool(tool).build().unwrap();
    let mut limits = runloom::Limits::default();
    (limits.calls, limits.parts, limits.parallel_tools) = (256, 258, 256);
    let config = runloom::Config::new(limits).unwrap();
    let engine = Engine::builder(host, timer.clone()).config(config).build();
    let options = RunOptions::new().unattended();
    let (run, driver) = engine.session().unwrap().start_with("go", options).unwrap();
    let finished = run_all(&timer, vec![Box::pin(async move { drop(driver.await) })]);
    assert!(finished);
    assert_eq!(count(run.handle(), "tool.finished"), 256);
    assert_eq!(polls.load(Ordering::SeqCst), 512);
}

/// 19: a model's stream is not read after its end, and an end that is malformed is one end.
#[test]
fn trap_19_nothing_is_read_after_a_models_end() {
    let done = || ModelItem::Done(Box::new(Completion::new(Some(Finish::Stop), "stop")));
    let polled = Arc::new(AtomicUsize::new(0));
    let count_polls = Arc::clone(&polled);
    let model = model_fn(move |_, _| {
        let polled = Arc::clone(&count_polls);
        // An empty response is malformed; two of them end the model call.
        let mut items = vec![done(), ModelItem::Text("late".into()), done()].into_iter();
        let stream = futures_lite::stream::poll_fn(move |_| {
            polled.fetch_add(1, Ordering::SeqCst);
            Poll::Ready(items.next())
        });
        async move { Ok(stream) }
    });
    let host = Host::shared().model(ModelSpec::new("m"), model).build().unwrap();
    let (run, driver) = Engine::new(host, NoWaiting).session().unwrap().start("go").unwrap();
    block_on(driver);
    assert_eq!(polled.load(Ordering::SeqCst), 2);
    assert_eq!((count(run.handle(), "model.failed"), count(run.handle(), "text.delta")), (2, 0));
    assert_ended(run.handle());
}

/// 19: begin and end of each operation, as a transport sees them (W5).
#[test]
fn trap_19_an_operation_that_has_ended_is_not_abandoned() {
    #[derive(Default)]
    struct Booked {
        items: Vec<Input>,
        book: Arc<Mutex<Vec<String>>>,
    }
    impl Transport for Booked {
        fn begin(&mut self, op: OpId, work: Work) {
            self.book.lock().unwrap().push(format!("begin {op}"));
            if matches!(work, Work::Model(_)) {
                let item = ModelItem::Done(Box::new(Completion::new(Some(Finish::Stop), "stop")));
                self.items.push(Input::Model { op, item });
            }
        }
        fn abandon(&mut self, op: OpId) {
            self.book.lock().unwrap().push(format!("abandon {op}"));
        }
        fn poll_items(&mut self, _: &mut Context<'_>, room: Credit, into: &mut Vec<Input>) -> Poll<()> {
            if room.is_zero() || self.items.is_empty() {
                return Poll::Pending;
            }
            into.append(&mut self.items);
            Poll::Ready(())
        }
    }
    let timer = ManualTimer::new();
    let book: Arc<Mutex<Vec<String>>> = Arc::default();
    let engine = engine([], [], &timer, 64);
    let transport = Booked { items: Vec::new(), book: Arc::clone(&book) };
    let (run, driver) = engine.session().unwrap().start_on("go", RunOptions::new(), |_| transport).unwrap();
    block_on(driver);
    assert_ended(run.handle());
    assert_eq!(*book.lock().unwrap(), ["begin 1", "begin 2"]);
}

/// 20: reader and driver on one thread both get their turns.
#[test]
fn trap_20_neither_reader_nor_driver_starves() {
    let timer = ManualTimer::new();
    let engine = engine([Attempt::new().texts("x", 5_000)], [], &timer, 64);
    let (mut run, driver): (Run, SharedDriver<ManualTimer>) = engine.session().unwrap().start("go").unwrap();
    let mut driver = Task::new(driver);
    let mut reader = Task::new(async move {
        let mut seen = 0;
        while run.events().next().await.is_some() {
            seen += 1;
        }
        seen
    });
    let mut turns = 0;
    while !reader.poll() {
        driver.poll();
        turns += 1;
    }
    assert_eq!(*reader.output().unwrap(), 5_006);
    assert!(turns < 200, "{turns}");
}
