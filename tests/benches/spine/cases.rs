//! Whole runs, from the scripted model to the reader.

use crate::Case;
use futures_lite::future::{block_on, zip};
use runloom::testing::{Attempt, ScriptedModel, ScriptedTool};
use runloom::{
    Access, Engine, Finish, History, HistoryBounds, Host, ManualTimer, Message, MessageBounds, MessageId,
    ModelSpec, Part, Role, Session, Shared,
};

type TestEngine = Engine<Shared, ManualTimer>;

fn engine(model: &ScriptedModel, tools: Vec<ScriptedTool>) -> TestEngine {
    let mut host = Host::shared().model(ModelSpec::new("scripted"), model.clone());
    for tool in tools {
        host = host.tool(tool);
    }
    Engine::new(host.build().unwrap(), ManualTimer::new())
}

/// One run that is read event by event; how many events it had.
fn read_each(session: &Session<Shared, ManualTimer>) -> u64 {
    let (mut run, driver) = session.start("go").unwrap();
    let reader = async {
        let mut seen = 0;
        let mut events = run.events();
        while events.next().await.is_some() {
            seen += 1;
        }
        seen
    };
    let (seen, outcome) = block_on(zip(reader, driver));
    assert!(outcome.answer().is_some());
    seen
}

/// One run that is read by reference, batch by batch.
fn read_batches(session: &Session<Shared, ManualTimer>) -> u64 {
    let (mut run, driver) = session.start("go").unwrap();
    let reader = async {
        let mut seen = 0;
        while run.fill().await {
            while run.take().is_some() {
                seen += 1;
            }
        }
        seen
    };
    let (seen, outcome) = block_on(zip(reader, driver));
    assert!(outcome.answer().is_some());
    seen
}

fn deltas(count: usize) -> Attempt {
    Attempt::new().texts("abcdef", count).finish(Finish::Stop)
}

fn long_history(messages: usize) -> History {
    let bounds = MessageBounds { parts: 1, text: 1_000, image: 0 };
    let message = |n: usize| {
        let role = if n.is_multiple_of(2) { Role::User } else { Role::Assistant };
        let id = MessageId::new(format!("m{n}")).unwrap();
        Message::new(id, role, vec![Part::Text("some words".into())], &bounds).unwrap()
    };
    History::from_messages(HistoryBounds { messages: 2_000_000, bytes: 1 << 30 }, (0..messages).map(message))
        .unwrap()
}

fn streaming(name: &'static str, read: fn(&Session<Shared, ManualTimer>) -> u64) -> Case {
    let run = move || {
        let model = ScriptedModel::new([deltas(100_000)]);
        read(&engine(&model, Vec::new()).session().unwrap())
    };
    Case { name, per: "event", run: Box::new(run) }
}

/// `runs` runs of ten deltas; each in a session of its own, or all in one.
fn short_runs(name: &'static str, runs: u64, fresh: bool) -> Case {
    let run = move || {
        let model = ScriptedModel::new((0..runs).map(|_| deltas(10)));
        let engine = engine(&model, Vec::new());
        let session = engine.session().unwrap();
        for _ in 0..runs {
            if fresh {
                read_each(&engine.session().unwrap());
            } else {
                read_each(&session);
            }
        }
        runs
    };
    Case { name, per: "run", run: Box::new(run) }
}

fn on_history(name: &'static str, messages: usize) -> Case {
    let history = long_history(messages);
    let run = move || {
        let model = ScriptedModel::new((0..100).map(|_| deltas(10)));
        let session = engine(&model, Vec::new()).session_with(history.clone()).unwrap();
        for _ in 0..100 {
            read_each(&session);
        }
        100
    };
    Case { name, per: "run", run: Box::new(run) }
}

/// Ten steps of twenty calls, then an answer.
fn script() -> ScriptedModel {
    let step = || (0..20).fold(Attempt::new(), |attempt, _| attempt.call("tool", "{\"a\":1}"));
    ScriptedModel::new((0..10).map(|_| step().finish(Finish::ToolCalls)).chain([Attempt::answer("done")]))
}

/// What the script itself costs, to be taken off the two cases after it.
fn script_alone() -> Case {
    let run = || {
        std::hint::black_box(script());
        200
    };
    Case { name: "the script of the next two cases, alone", per: "call", run: Box::new(run) }
}

fn tools(name: &'static str, access: Access) -> Case {
    let run = move || {
        let model = script();
        let access = access.clone();
        let tool = ScriptedTool::new("tool").declared(|spec| spec.access(access)).output("ok");
        read_each(&engine(&model, vec![tool]).session().unwrap());
        200
    };
    Case { name, per: "call", run: Box::new(run) }
}

pub(crate) fn cases() -> Vec<Case> {
    vec![
        streaming("100,000 deltas at capacity 64, one by one", read_each),
        streaming("100,000 deltas at capacity 64, in batches", read_batches),
        short_runs("1,000 runs of 10 deltas, fresh sessions", 1_000, true),
        short_runs("1,000 runs of 10 deltas, one session", 1_000, false),
        short_runs("10,000 runs of 10 deltas, one session", 10_000, false),
        on_history("10 deltas on 10,000 messages", 10_000),
        on_history("10 deltas on 1,000,000 messages", 1_000_000),
        script_alone(),
        tools("10 steps of 20 calls, exclusive", Access::Exclusive),
        tools("10 steps of 20 calls, shared, 4 at once", Access::Shared),
    ]
}
