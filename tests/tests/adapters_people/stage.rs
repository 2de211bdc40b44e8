//! What the tests have in common.

use runloom::testing::{Attempt, ScriptedModel};
use runloom::{
    Access, Config, Engine, Host, HostBuilder, HostRequest, ManualTimer, ModelSpec, Part, Question, Run,
    RunControl, RunHandle, Session, Shape, Shared, ToolContext, ToolFault, ToolOutput, ToolSpec, ToolStatus,
    tool_fn,
};
use runloom_tests::bare::Task;
use std::future::Future;
use std::sync::{Arc, Mutex, OnceLock};

pub(crate) type TestSession = Session<Shared, ManualTimer>;
pub(crate) type TestDriver = runloom::Driver<ManualTimer, runloom::HostTransport<Shared>>;

/// A model that calls these tools, each with `{}`, and then says `done`.
pub(crate) fn calling<const N: usize>(tools: [&str; N]) -> ScriptedModel {
    ScriptedModel::new([calls(tools.map(|tool| (tool, "{}"))), "done".into()])
}

pub(crate) fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, &'a str)>) -> Attempt {
    calls.into_iter().fold(Attempt::new(), |attempt, (tool, arguments)| attempt.call(tool, arguments))
}

pub(crate) fn host(model: impl runloom::Model) -> HostBuilder<Shared> {
    Host::shared().model(ModelSpec::new("scripted"), model)
}

pub(crate) fn session(host: HostBuilder<Shared>) -> TestSession {
    timed(host, &ManualTimer::new(), Config::default())
}

pub(crate) fn timed(host: HostBuilder<Shared>, timer: &ManualTimer, config: Config) -> TestSession {
    Engine::builder(host.build().unwrap(), timer.clone()).config(config).build().session().unwrap()
}

/// A tool that overlaps with others.
pub(crate) fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "", "{}").unwrap().access(Access::Shared)
}

pub(crate) fn tool<F, Fut>(name: &str, call: F) -> impl runloom::Tool
where
    F: Fn(ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<ToolOutput, ToolFault>> + Send + 'static,
{
    tool_fn(spec(name), move |_, cx| call(cx))
}

/// A question for a text.
pub(crate) fn question(prompt: &str) -> Question {
    Question::value(prompt, Shape::Text)
}

/// A tool that asks this and returns what it hears.
pub(crate) fn asking(name: &'static str) -> impl runloom::Tool {
    tool(name, move |cx| async move { Ok(heard(cx.ask(question(name)).await)) })
}

/// An answer or its absence as a result.
pub(crate) fn heard(answer: Result<runloom::HostAnswer, runloom::AskError>) -> ToolOutput {
    match answer {
        Ok(runloom::HostAnswer::Value(text)) => ToolOutput::text(text),
        Ok(other) => ToolOutput::text(other.kind()),
        Err(error) => ToolOutput::error(error.as_str()),
    }
}

/// A run and the task of its driver, polled until it sleeps.
pub(crate) fn begun(session: &TestSession) -> (Run, Task<TestDriver>) {
    let (run, driver) = session.start("go").unwrap();
    let mut driver = Task::new(driver);
    driver.run();
    (run, driver)
}

/// The only request that stands open.
#[track_caller]
pub(crate) fn only(control: &RunControl) -> Arc<HostRequest> {
    let requests = control.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    Arc::clone(&requests[0])
}

/// The requests that stand open, as `kind call`.
pub(crate) fn open(run: &RunHandle) -> Vec<String> {
    run.requests().iter().map(|request| format!("{} {}", request.kind.as_str(), request.call.name)).collect()
}

/// The results in the session's history, in order: status and text.
pub(crate) fn results(session: &TestSession) -> Vec<(ToolStatus, String)> {
    let text = |part: &Part| match part {
        Part::Text(text) => text.to_string(),
        other => format!("{other:?}"),
    };
    let history = session.history();
    let results = history.iter().flat_map(|message| message.results());
    results.map(|result| (result.status, result.content.iter().map(text).collect::<String>())).collect()
}

/// Something that a tool puts where the test finds it.
pub(crate) struct Kept<T>(Arc<Mutex<Option<T>>>);

impl<T> Clone for Kept<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Kept<T> {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    pub(crate) fn put(&self, value: T) {
        let before = self.0.lock().unwrap().replace(value);
        drop(before);
    }

    pub(crate) fn take(&self) -> Option<T> {
        self.0.lock().unwrap().take()
    }
}

/// A handle that foreign code reaches.
pub(crate) type Reached<T> = Arc<OnceLock<T>>;
