//! Agents as tools: their answers, their logs, and what becomes of them when the calling run is cut off anywhere.

use futures_lite::future::{block_on, poll_once};
use runloom::testing::{Attempt, ScriptedModel, ScriptedTool};
use runloom::{
    Access, CancelCause, CancellationToken, Engine, Envelope, Event, EventKind, Host, Limits, ManualTimer,
    ModelSpec, Outcome, Part, RunHandle, RunOptions, RunResult, Shared, SubAgent, SubAgentCall,
    SubAgentUpdate, Text, Timer, ToolStatus,
};
use runloom_core::verify::Verifier;
use runloom_tests::runs::{assert_ended, events, seconds, with_capacity};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

type TestEngine = Engine<Shared, ManualTimer>;
type Ended = (Arc<Outcome>, Vec<Envelope>);

/// A run as it was told: whose, its events, its end.
type Told = (SubAgentCall, Vec<Envelope>, Option<Ended>);

/// What an observer has seen of all runs.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<Told>>>);

impl Seen {
    fn note(&self, call: &SubAgentCall, update: SubAgentUpdate) {
        let mut runs = self.0.lock().expect("no panic under the lock");
        match update {
            SubAgentUpdate::Started => runs.push((call.clone(), Vec::new(), None)),
            SubAgentUpdate::Event(envelope) => {
                let run = runs.iter_mut().find(|run| run.0 == *call).expect("a start");
                assert!(run.2.is_none(), "an event after the end");
                run.1.push(envelope);
            }
            SubAgentUpdate::Ended { outcome, log } => {
                let run = runs.iter_mut().find(|run| run.0 == *call).expect("a start");
                assert!(run.2.replace((outcome, log)).is_none(), "a second end");
            }
            other => panic!("{other:?}"),
        }
    }

    /// Checks every run and gives their results: the log is in order and closed, the events that were told are its
    /// beginning, the history is whole.
    fn check(&self) -> Vec<RunResult> {
        let runs = self.0.lock().expect("no panic under the lock");
        let check = |(call, told, ended): &Told| {
            let (outcome, log) = ended.as_ref().unwrap_or_else(|| panic!("{call:?} has no end"));
            let mut verifier = Verifier::new();
            let verified = log.iter().try_for_each(|envelope| verifier.observe(envelope));
            verified.and_then(|()| verifier.finish()).expect("a log in order");
            assert_eq!(told[..], log[..told.len()]);
            assert_eq!((outcome.history.open_calls(), outcome.revision.0), (0, 1));
            assert_eq!(outcome.last_seq, log.last().expect("an event").seq);
            outcome.result.clone()
        };
        runs.iter().map(check).collect()
    }
}

/// An agent that calls a tool, waits a second for it, and answers.
struct Agent {
    engine: TestEngine,
    model: ScriptedModel<ManualTimer>,
    tool: ScriptedTool<ManualTimer>,
    seen: Seen,
}

fn agent(timer: &ManualTimer, attempts: impl IntoIterator<Item = Attempt>, capacity: usize) -> Agent {
    let model = ScriptedModel::timed(timer.clone(), attempts);
    let tool = ScriptedTool::timed(timer.clone(), "look").progress("here").wait(seconds(1)).progress("there");
    let tool = tool.output("found").declared(|spec| spec.access(Access::Shared));
    let host = Host::shared().model(ModelSpec::new("small"), model.clone()).tool(tool.clone());
    let engine =
        Engine::builder(host.build().expect("a host"), timer.clone()).config(with_capacity(capacity));
    Agent { engine: engine.build(), model, tool, seen: Seen::default() }
}

fn script() -> [Attempt; 2] {
    let first = Attempt::new().text("Let me see.").wait(seconds(1)).call("look", "{}");
    [first, Attempt::new().wait(seconds(1)).text("It is there.")]
}

fn tool(agent: &Agent) -> SubAgent<Shared, ManualTimer> {
    let seen = agent.seen.clone();
    let tool = SubAgent::new("ask", "Asks.", agent.engine.clone()).expect("a name");
    tool.observe(move |call, update| seen.note(call, update))
        .declared(|spec| spec.access(Access::Shared).deadline(seconds(60)))
}

/// An engine whose model calls `ask` with each of these arguments, and then ends.
fn caller(
    tool: SubAgent<Shared, ManualTimer>,
    arguments: &[&str],
    timer: &ManualTimer,
    capacity: usize,
) -> TestEngine {
    let calls = arguments.iter().fold(Attempt::new(), |attempt, arguments| attempt.call("ask", *arguments));
    let model = ScriptedModel::timed(timer.clone(), [calls, "end".into()]);
    let host = Host::shared().model(ModelSpec::new("large"), model).tool(tool);
    Engine::builder(host.build().expect("a host"), timer.clone()).config(with_capacity(capacity)).build()
}

const TASK: &str = r#"{"task":"Where is it?"}"#;

/// Runs a calling run to its end.
fn run(engine: &TestEngine, timer: &ManualTimer) -> Vec<(ToolStatus, String)> {
    let session = engine.session().expect("a session");
    let started = session.start_with("go", RunOptions::new().unattended());
    let (run, mut driver) = started.expect("a run");
    while block_on(poll_once(&mut driver)).is_none() {
        timer.advance_to_alarm().expect("something to wait for");
    }
    assert_ended(run.handle());
    assert_eq!(engine.runs(), 0);
    finished(run.handle())
}

fn finished(run: &RunHandle) -> Vec<(ToolStatus, String)> {
    let finished = events(run).into_iter().filter_map(|envelope| match envelope.event {
        Event::ToolFinished(result) => match &*result.content {
            [Part::Text(text)] => Some((result.status, text.to_string())),
            other => panic!("{other:?}"),
        },
        _ => None,
    });
    finished.collect()
}

#[test]
fn an_answer_is_the_output_and_the_agent_has_a_log_of_its_own() {
    let timer = ManualTimer::new();
    let agent = agent(&timer, script(), 64);
    let engine = caller(tool(&agent), &[TASK], &timer, 64);
    assert_eq!(run(&engine, &timer), [(ToolStatus::Success, "It is there.".into())]);
    assert!(matches!(&agent.seen.check()[..], [RunResult::Completed(_)]));
    let seen = agent.seen.0.lock().unwrap();
    let (call, told, Some((outcome, log))) = &seen[0] else { panic!("no end") };
    assert_eq!(
        (call.parent.as_str(), call.run.as_str(), call.session.as_str()),
        ("run-1", "run-1", "session-1")
    );
    assert_eq!((call.depth, call.call.to_string().as_str()), (1, "1.0"));
    assert_eq!(told, log);
    assert_eq!(outcome.history.len(), 4);
    assert_eq!((agent.engine.runs(), agent.model.requests(), agent.tool.calls()), (0, 2, 1));
}

#[test]
fn progress_is_what_the_agent_calls_and_what_that_reports() {
    let shown = |change: fn(SubAgent<Shared, ManualTimer>) -> SubAgent<Shared, ManualTimer>| {
        let timer = ManualTimer::new();
        let agent = agent(&timer, script(), 64);
        let engine = caller(change(tool(&agent)), &[TASK], &timer, 64);
        let session = engine.session().unwrap();
        let (run, mut driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
        while block_on(poll_once(&mut driver)).is_none() {
            timer.advance_to_alarm();
        }
        let reports = events(run.handle()).into_iter().filter_map(|envelope| match envelope.event {
            Event::ToolUpdated(update) => Some(update.progress.to_string()),
            _ => None,
        });
        reports.collect::<Vec<_>>()
    };
    assert_eq!(shown(|tool| tool), ["calls look", "look: here", "look: there"]);
    assert!(shown(|tool| tool.progress(|_| None)).is_empty());
    let text = |event: &Event| match event {
        Event::TextDelta(text) => Some(text.clone()),
        _ => None,
    };
    assert_eq!(text(&Event::TextDelta("x".into())), Some(Text::from("x")));
    assert_eq!(
        shown(|tool| tool.progress(|event| match event {
            Event::TextDelta(text) => Some(text.clone()),
            _ => None,
        })),
        ["Let me see.", "It is there."]
    );
}

// proves: T3, R9
#[test]
fn an_agent_without_an_answer_says_what_became_of_it() {
    let problem = |kind| runloom::Problem::new(kind, "no such model");
    let refused = Attempt::new().refuse(problem(runloom::ProblemKind::InvalidRequest));
    let cut = Attempt::new().text("I was").finish(runloom::Finish::Length);
    for (attempts, expected) in [
        (
            vec![refused],
            "the tool failed (it may have had effects; trying again will not help): the agent failed (invalid_request): no such model",
        ),
        (vec![cut], "the agent stopped early (max_tokens); it last said: I was"),
        (vec![Attempt::new().call("look", "{}"); 3], "the agent stopped early (max_steps); it last said: "),
    ] {
        let timer = ManualTimer::new();
        let mut agent = agent(&timer, attempts, 64);
        let mut limits = Limits::default();
        limits.steps = 3;
        let host =
            Host::shared().model(ModelSpec::new("small"), agent.model.clone()).tool(agent.tool.clone());
        let engine = Engine::builder(host.build().unwrap(), timer.clone());
        agent.engine = engine.config(runloom::Config::new(limits).unwrap()).build();
        let engine = caller(tool(&agent), &[TASK], &timer, 64);
        assert_eq!(run(&engine, &timer), [(ToolStatus::Failure, expected.into())]);
        assert_eq!((agent.seen.check().len(), agent.engine.runs()), (1, 0));
    }
}

#[test]
fn a_call_without_a_task_starts_nothing() {
    let timer = ManualTimer::new();
    let agent = agent(&timer, script(), 64);
    let long = format!(r#"{{"task":"{}"}}"#, "x".repeat(190_000));
    let engine = caller(tool(&agent), &["{}", r#"{"task":7}"#], &timer, 64);
    for (status, text) in run(&engine, &timer) {
        assert_eq!((status, &*text), (ToolStatus::Failure, "the arguments hold no task for the agent"));
    }
    // The agent's own bound of its input.
    let mut small = Limits::default();
    small.input_bytes = 1000;
    let host = Host::shared().model(ModelSpec::new("small"), agent.model.clone()).build().unwrap();
    let bounded = Engine::builder(host, timer.clone()).config(runloom::Config::new(small).unwrap()).build();
    let ask = SubAgent::new("ask", "", bounded.clone()).unwrap();
    let found = run(&caller(ask, &[&long], &timer, 64), &timer);
    assert!(found[0].1.starts_with("the agent cannot be given this: "), "{found:?}");
    agent.engine.shutdown();
    let found = run(&caller(tool(&agent), &[TASK], &timer, 64), &timer);
    assert!(found[0].1.contains("it had no further effect"), "{found:?}");
    assert_eq!((agent.seen.check().len(), agent.engine.runs(), bounded.runs()), (0, 0, 0));
}

#[test]
fn two_agents_run_side_by_side() {
    let timer = ManualTimer::new();
    let attempts = [Attempt::new().wait(seconds(5)).text("a"), Attempt::new().wait(seconds(5)).text("b")];
    let agent = agent(&timer, attempts, 64);
    let engine = caller(tool(&agent), &[TASK, TASK], &timer, 64);
    let found = run(&engine, &timer);
    assert_eq!(found, [(ToolStatus::Success, "a".into()), (ToolStatus::Success, "b".into())]);
    assert_eq!((timer.now(), agent.seen.check().len()), (runloom::Time::from_secs(5), 2));
}

/// Each agent of the chain asks the next one; the last one has nobody to ask. How deep that went is the innermost
/// answer.
#[test]
fn nesting_is_bounded() {
    for (most, expected) in [(1, 1), (3, 3), (4, 4), (5, 5), (9, 6)] {
        let timer = ManualTimer::new();
        let seen = Seen::default();
        let innermost = ScriptedModel::timed(timer.clone(), ["done".into()]);
        let host = Host::shared().model(ModelSpec::new("m"), innermost).build().unwrap();
        let mut engines: Vec<TestEngine> = vec![Engine::new(host, timer.clone())];
        for _ in 0..6 {
            let seen = seen.clone();
            let inner = engines.last().unwrap().clone();
            let ask = SubAgent::new("ask", "", inner).unwrap().max_depth(most);
            let ask = ask.observe(move |call, update| seen.note(call, update));
            engines.push(caller(ask, &[TASK], &timer, 64));
        }
        let found = run(engines.last().unwrap(), &timer);
        assert_eq!(found, [(ToolStatus::Success, "end".into())], "{most}");
        let depths: Vec<u32> = seen.0.lock().unwrap().iter().map(|run| run.0.depth).collect();
        assert_eq!(depths, (1..=expected).collect::<Vec<_>>());
        assert_eq!(seen.check().len() as u32, expected);
        assert!(engines.iter().all(|engine| engine.runs() == 0));
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Cut {
    Cancel,
    Token,
    DropRun,
    DropDriver,
    ShutDown,
    ShutDownAgent,
    Deadline,
}

const CUTS: [Cut; 7] = [
    Cut::Cancel,
    Cut::Token,
    Cut::DropRun,
    Cut::DropDriver,
    Cut::ShutDown,
    Cut::ShutDownAgent,
    Cut::Deadline,
];

/// The calling run is cut off after each number of its events, in each way, with the reader at each place: both logs
/// verify, both histories are whole, and neither engine has a run left.
// proves: C3, C5, C8, C10, C11
#[test]
fn a_cut_anywhere_ends_both_runs() {
    let mut reached = 0;
    for cut in CUTS {
        for capacity in [1, 3, 64] {
            let mut steps = 0;
            while cut_after(steps, cut, capacity) {
                steps += 1;
            }
            assert!(steps > 8, "{cut:?}, {capacity}: {steps}");
            reached += steps;
        }
    }
    assert!(reached > 400, "{reached}");
}

/// Polls as long as it asks for it.
fn settle<D: Future + Unpin>(driver: &mut D) -> Option<D::Output> {
    struct Flag(AtomicBool);
    impl Wake for Flag {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let flag = Arc::new(Flag(AtomicBool::new(true)));
    let waker = Waker::from(Arc::clone(&flag));
    while flag.0.swap(false, Ordering::SeqCst) {
        if let Poll::Ready(output) = Pin::new(&mut *driver).poll(&mut Context::from_waker(&waker)) {
            return Some(output);
        }
    }
    None
}

/// Whether the run was still going on after so many steps: one event that is read, or one alarm where there is none.
fn cut_after(steps: usize, cut: Cut, capacity: usize) -> bool {
    let timer = ManualTimer::new();
    let agent = agent(&timer, script(), capacity);
    let engine = caller(tool(&agent), &[TASK], &timer, capacity);
    let session = engine.session().expect("a session");
    let token = CancellationToken::new();
    let options = RunOptions::new().cancellation_token(token.clone());
    let (mut run, mut driver) = session.start_with("go", options).expect("a run");
    for _ in 0..steps {
        if settle(&mut driver).is_some() {
            return false;
        }
        if block_on(poll_once(run.fill())) == Some(true) {
            let _ = run.take();
        } else {
            let _ = timer.advance_to_alarm();
        }
    }
    let mut handle = None;
    match cut {
        Cut::Cancel => drop(run.cancel()),
        Cut::Token => token.cancel(),
        Cut::ShutDown => drop(engine.shutdown()),
        Cut::ShutDownAgent => drop(agent.engine.shutdown()),
        Cut::Deadline => timer.advance(seconds(100)),
        Cut::DropRun => {
            drop(run);
            block_on(driver);
            return check_cut(&agent, &engine, None, cut);
        }
        Cut::DropDriver => {
            drop(driver);
            return check_cut(&agent, &engine, Some(run.handle()), cut);
        }
    }
    // What is unread stays so: the outcome is awaited instead.
    let mut outcome = run.outcome();
    while block_on(poll_once(&mut outcome)).is_none() {
        if settle(&mut driver).is_none() {
            let _ = timer.advance_to_alarm();
        }
    }
    drop((outcome, driver));
    handle = handle.or(Some(run.handle()));
    check_cut(&agent, &engine, handle, cut)
}

fn check_cut(agent: &Agent, engine: &TestEngine, run: Option<&RunHandle>, cut: Cut) -> bool {
    if let Some(run) = run {
        assert_ended(run);
    }
    assert_eq!((engine.runs(), agent.engine.runs()), (0, 0), "{cut:?}");
    for result in agent.seen.check() {
        let expected = match cut {
            Cut::ShutDownAgent => matches!(result, RunResult::Cancelled(CancelCause::Shutdown)),
            _ => matches!(result, RunResult::Cancelled(CancelCause::Requested)),
        };
        assert!(expected || matches!(result, RunResult::Completed(_)), "{cut:?}: {result:?}");
    }
    // Nothing that the agent had under way is left.
    assert_eq!(agent.tool.calls(), agent.tool.finished() + agent.tool.dropped(), "{cut:?}");
    true
}

// proves: T4
#[test]
fn an_observer_that_panics_ends_its_call_and_leaves_nothing() {
    for at in [EventKind::RunStarted, EventKind::ToolUpdated, EventKind::RunCompleted] {
        let timer = ManualTimer::new();
        let agent = agent(&timer, script(), 64);
        let ask = SubAgent::new("ask", "", agent.engine.clone()).unwrap();
        let ask = ask.observe(move |_, update| {
            if let SubAgentUpdate::Event(envelope) = update {
                assert!(envelope.event.kind() != at, "a scripted panic");
            }
        });
        let found = run(&caller(ask, &[TASK], &timer, 64), &timer);
        assert_eq!(found, [(ToolStatus::Panicked, "the tool panicked".into())]);
        assert_eq!(agent.engine.runs(), 0);
    }
}

#[test]
fn an_agent_may_stay_on_one_thread() {
    let timer = ManualTimer::new();
    let seen = std::rc::Rc::new(std::cell::Cell::new(0));
    let counts = std::rc::Rc::clone(&seen);
    let inner = Host::local().model(ModelSpec::new("small"), ScriptedModel::new(["yes".into()]));
    let inner = Engine::new(inner.build().unwrap(), timer.clone());
    let ask =
        SubAgent::new("ask", "", inner.clone()).unwrap().observe(move |_, _| counts.set(counts.get() + 1));
    let model = ScriptedModel::new([Attempt::new().call("ask", TASK), "end".into()]);
    let host = Host::local().model(ModelSpec::new("large"), model).tool(ask).build().unwrap();
    let session = Engine::new(host, timer).session().unwrap();
    let (run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
    block_on(driver);
    assert_eq!(finished(run.handle()), [(ToolStatus::Success, "yes".into())]);
    assert!(seen.get() > 5 && inner.runs() == 0);
}
