//! Agents made of closures, and short ways to look at what they emit.

use futures_lite::StreamExt;
use futures_lite::future::block_on;
use runloom::agui::server::{AgentState, LocalAgent, Result, RunContext, RunStream, Runner};
use runloom::agui::{Event, Mode, RunAgentInput, RunOutcome, Verifier};
use runloom::{Flavour, Local};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex};

/// An agent that stays on its thread, made of an async closure.
pub(crate) struct Of<S, F>(F, PhantomData<S>);

impl<S, F> LocalAgent for Of<S, F>
where
    S: AgentState,
    F: AsyncFn(&mut RunContext<S>) -> Result<RunOutcome> + 'static,
{
    type State = S;

    async fn run(&self, cx: &mut RunContext<S>) -> Result<RunOutcome> {
        (self.0)(cx).await
    }
}

pub(crate) fn agent<F>(run: F) -> Of<(), F>
where
    F: AsyncFn(&mut RunContext<()>) -> Result<RunOutcome> + 'static,
{
    Of(run, PhantomData)
}

pub(crate) fn agent_with<S: AgentState, F>(run: F) -> Of<S, F>
where
    F: AsyncFn(&mut RunContext<S>) -> Result<RunOutcome> + 'static,
{
    Of(run, PhantomData)
}

/// An input without a version.
pub(crate) fn input() -> RunAgentInput {
    RunAgentInput::new("t", "r")
}

/// An input of a peer of this protocol version.
pub(crate) fn input_of(version: &str) -> RunAgentInput {
    RunAgentInput { protocol_version: Some(version.into()), ..input() }
}

/// All events of a run; every item is `Ok`, both verifiers take them, and the run has one end.
pub(crate) fn events<K: Flavour>(stream: RunStream<K>) -> Vec<Event> {
    events_of(stream, &RunAgentInput::new("t", "r"))
}

/// As [`events`], where the input holds what the stream refers to.
pub(crate) fn events_of<K: Flavour>(stream: RunStream<K>, input: &RunAgentInput) -> Vec<Event> {
    let all: Vec<Event> = block_on(stream.map(|event| event.unwrap()).collect());
    well_formed(&all, input);
    all
}

pub(crate) fn well_formed(all: &[Event], input: &RunAgentInput) {
    for mode in [Mode::SingleRun, Mode::Stream] {
        let mut verifier = Verifier::new(mode);
        verifier.know(input);
        for event in all {
            verifier.observe(event).unwrap_or_else(|error| panic!("{mode:?}: {error}\n{}", lines(all)));
            assert_eq!(verifier.warning(), None, "{}", lines(all));
        }
        verifier.finish().unwrap_or_else(|error| panic!("{mode:?}: {error}\n{}", lines(all)));
    }
    assert_eq!(all.iter().filter(|event| event.is_terminal()).count(), 1, "{}", lines(all));
    assert!(all.last().is_some_and(Event::is_terminal), "{}", lines(all));
    // What goes out is what a reader takes in.
    for event in all {
        let decoded = Event::decode(&event.encode()).unwrap();
        assert_eq!((decoded.value.as_ref(), decoded.notices.len()), (Some(event), 0), "{}", event.encode());
    }
}

pub(crate) fn lines(events: &[Event]) -> String {
    events.iter().map(Event::encode).collect::<Vec<_>>().join("\n")
}

/// Events as short words: the type without its underscores in lower case, and the id.
pub(crate) fn words(events: &[Event]) -> String {
    let word = |event: &Event| {
        let json: serde_json::Value = serde_json::from_str(&event.encode()).unwrap();
        let ids = ["toolCallId", "messageId", "stepName", "subagentRunId", "code"];
        let id = ids.iter().find_map(|name| json.get(name)?.as_str());
        let outcome = json.get("outcome").and_then(|outcome| outcome["type"].as_str());
        let name = event.event_type().as_str().to_lowercase();
        match id.or(outcome) {
            Some(id) => format!("{name} {id}"),
            None => name,
        }
    };
    events.iter().map(word).collect::<Vec<_>>().join("; ")
}

/// What lies between `RUN_STARTED` and the end.
pub(crate) fn inner(events: &[Event]) -> String {
    words(&events[1..events.len() - 1])
}

pub(crate) fn run_words<F>(run: F) -> String
where
    F: AsyncFn(&mut RunContext<()>) -> Result<RunOutcome> + 'static,
{
    words(&events(Runner::new(agent(run)).run_local(input())))
}

/// The code of the `RUN_ERROR` at the end.
pub(crate) fn code(events: &[Event]) -> &str {
    match events.last() {
        Some(Event::RunError(error)) => error.code.as_deref().unwrap(),
        other => panic!("a failed run ends in RUN_ERROR: {other:?}"),
    }
}

pub(crate) fn outcome(events: &[Event]) -> &RunOutcome {
    match events.last() {
        Some(Event::RunFinished(finished)) => finished.outcome.as_ref().unwrap(),
        other => panic!("the run ends in RUN_FINISHED: {other:?}"),
    }
}

/// A place for what agents saw.
#[derive(Clone, Default)]
pub(crate) struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    pub(crate) fn push(&self, note: impl std::fmt::Display) {
        self.0.lock().unwrap().push(note.to_string());
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// A stream that tests poll by hand.
pub(crate) fn poll(stream: &mut RunStream<Local>) -> std::task::Poll<Option<Event>> {
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    stream.poll_next(&mut cx).map(|event| event.map(|event| event.unwrap()))
}

/// Silences the report of panics that a test makes on purpose.
pub(crate) fn quietly<R>(run: impl FnOnce() -> R) -> R {
    use std::sync::Once;
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let payload = info.payload();
            let text = payload.downcast_ref::<&str>().copied().unwrap_or_default();
            if !text.starts_with("on purpose") {
                report(info);
            }
        }));
    });
    run()
}
