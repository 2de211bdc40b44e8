//! Mistakes that drivers of state machines make with pace, order and time. Each was made once; each test shows that it
//! is not made here. (Numbers 8 and 10 are the machine's.)

use futures_lite::future::block_on;
use runloom::testing::{Attempt, CheckedTimer, NoWaiting, ScriptedModel, ScriptedTool};
use runloom::{
    Access, Completion, Driver, Engine, Event, Finish, Host, HostTransport, ManualTimer, ModelItem,
    ModelSpec, OpId, Run, RunError, RunHandle, RunOptions, RunResult, Shared, Time, Timer, ToolOutput,
    ToolStatus, Transport, model_fn, tool_fn,
};
use runloom_core::Input;
use runloom_core::output::{Credit, Work};
use runloom_tests::bare::{Flag, Task, run_all};
use runloom_tests::runs::{assert_ended, count, engine, events, seconds, spec};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

type SharedDriver<T> = Driver<T, HostTransport<Shared>>;

/// 7: an answer whose end lies behind the pause. An hour passes, because the reader sleeps; the provider is not to
/// blame.
// proves: R10
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
// proves: E13, W8
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
// proves: L1
#[test]
fn trap_12_a_result_is_recorded_before_the_next_tool_is_polled() {
    let handle: Arc<Mutex<Option<Arc<RunHandle>>>> = Arc::default();
    let (flag, waker) = Flag::new();
    let seen: Arc<Mutex<Vec<(usize, usize)>>> = Arc::default();
    let (inner, sight) = (Arc::clone(&handle), Arc::clone(&seen));
    let woken = Arc::clone(&flag);
    let tool = tool_fn(spec("look"), move |_, cx| {
        let (handle, seen, flag) = (Arc::clone(&inner), Arc::clone(&sight), Arc::clone(&woken));
        async move {
            let handle = handle.lock().unwrap().clone().unwrap();
            let started = events(&handle)
                .iter()
                .any(|e| matches!(&e.event, Event::ToolStarted(c) if c.call == cx.call_ref()));
            assert!(started, "the tool's code is entered before that is recorded");
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
// proves: E13
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
// proves: C5
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
// proves: E14
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
// proves: C5
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
// proves: X3
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
    limits.log_bytes = 128 << 20;
    let config = runloom::Config::new(limits).unwrap();
    let engine = Engine::builder(host, timer.clone()).config(config).build();
    let options = RunOptions::new().unattended();
    let (run, driver) = engine.session().unwrap().start_with("go", options).unwrap();
    let finished = run_all(&timer, vec![Box::pin(async move { drop(driver.await) })]);
    assert!(finished);
    assert_eq!(count(run.handle(), "tool.finished"), 256);
    assert_eq!(polls.load(Ordering::SeqCst), 512);
}

/// 18: a tool that is woken many times is polled once for all of them.
#[test]
fn trap_18_many_wakes_are_one_poll() {
    let polls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&polls);
    let tool = tool_fn(spec("t"), move |_, _| {
        let polls = Arc::clone(&counted);
        poll_fn(move |cx| {
            (0..9).for_each(|_| cx.waker().wake_by_ref());
            match polls.fetch_add(1, Ordering::SeqCst) {
                5 => Poll::Ready(Ok(ToolOutput::text(""))),
                _ => Poll::Pending,
            }
        })
    });
    let other = ScriptedTool::new("u").hang().declared(|spec| spec.access(Access::Shared));
    let model = ScriptedModel::new([Attempt::new().call("t", "{}").call("u", "{}")]);
    let host = Host::shared().model(ModelSpec::new("m"), model).tool(tool).tool(other).build().unwrap();
    let (_run, driver) = Engine::new(host, NoWaiting).session().unwrap().start("go").unwrap();
    let mut driver = Task::new(driver);
    for expected in 1..=6 {
        driver.poll();
        assert_eq!(polls.load(Ordering::SeqCst), expected);
    }
    driver.run();
    assert_eq!(polls.load(Ordering::SeqCst), 6);
}

/// 19: a model's stream is not read after its end, and an end that is malformed is one end.
// proves: M3
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
// proves: W5
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
