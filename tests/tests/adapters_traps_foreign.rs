//! Mistakes that drivers of state machines make where they meet foreign code. Each was made once; each test shows that
//! it is not made here. (Number 6 is a matter of the token and stands with its tests.)

use futures_lite::future::block_on;
use runloom::testing::{Attempt, NoWaiting, ScriptedModel, ScriptedTool};
use runloom::{
    Access, Driver, Engine, EventStream, Host, HostTransport, ManualTimer, ModelSpec, RunError, RunHandle,
    RunResult, Seq, Shared, ToolOutput, tool_fn,
};
use runloom_tests::bare::{Flag, Task};
use runloom_tests::runs::{assert_ended, count, engine, seconds, spec};
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Wake, Waker};

type SharedDriver<T> = Driver<T, HostTransport<Shared>>;

/// 1: a waker that owns what it wakes. Waking it drops the stream, whose drop takes the run's lock.
// proves: X5
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
        matches!(&handle.try_outcome().unwrap().result, RunResult::Failed(e) if **e == RunError::Interrupted)
    );
}

/// 1: a waker that reads from within `wake`.
// proves: X5
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

/// What there is of a run.
type Parts = (Engine<Shared, NoWaiting>, RunHandle, EventStream);

/// 2: a handle that is used within a tool's poll.
// proves: X5, C8
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
        let slot: Arc<Mutex<Option<Parts>>> = Arc::default();
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
            || matches!(&outcome.result, RunResult::Failed(e) if **e == RunError::Interrupted);
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
// proves: C8
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
// proves: X5
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
// proves: X5, C8
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
            std::future::pending::<Result<runloom::ToolOutput, runloom::ToolFault>>().await
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
    let (run, driver) = engine.session().expect("a session").start("never").expect("a run");
    run.cancel();
    driver
}
