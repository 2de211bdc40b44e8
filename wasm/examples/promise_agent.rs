//! An agent that awaits a promise of JavaScript: such a future cannot move between threads, and need not. And a journal
//! that another machine has written, replayed here.
#![cfg(target_arch = "wasm32")]

use futures_lite::StreamExt;
use js_sys::{Function, Promise};
use runloom::agui::server::{Error, LocalAgent, Result, RunContext, Runner};
use runloom::agui::{RunAgentInput, RunOutcome};
use runloom::core::journal::{JournalBounds, replay};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen_futures::{JsFuture, spawn_local};

/// Asks a function of JavaScript and says what its promise comes to.
struct Asks(Function);

/// A value of JavaScript as an error of the agent's.
fn failed(value: &JsValue) -> Error {
    Error::agent(value.as_string().unwrap_or_else(|| "JavaScript failed".to_owned()))
}

impl LocalAgent for Asks {
    type State = ();

    async fn run(&self, cx: &mut RunContext<()>) -> Result<RunOutcome> {
        let question = cx.last_user_text().unwrap_or_default();
        let mut message = cx.assistant_message()?;
        message.delta("I shall ask. ")?;
        let promise = self.0.call1(&JsValue::NULL, &question.into()).map_err(|error| failed(&error))?;
        let answer = JsFuture::from(Promise::from(promise)).await.map_err(|error| failed(&error))?;
        message.delta(answer.as_string().unwrap_or_default())?;
        message.end()?;
        Ok(RunOutcome::Success)
    }
}

/// Runs the agent until it has finished, or until the promise `stop` is kept. Returns its events, one JSON text a line.
#[wasm_bindgen]
pub async fn run(input: String, ask: Function, stop: Promise) -> std::result::Result<String, JsValue> {
    let decoded = runloom::agui::wire::decode::<RunAgentInput>(&input).map_err(|error| error.to_string())?;
    let input = decoded.value.ok_or("no input")?;
    let runner = Runner::new(Asks(ask));
    let token = runner.cancellation_token();
    spawn_local(async move {
        if JsFuture::from(stop).await.is_ok() {
            token.cancel();
        }
    });
    let mut lines = String::new();
    let mut events = runner.run_local(input);
    while let Some(event) = events.next().await {
        lines.push_str(&event.map_err(|error| error.to_string())?.encode());
        lines.push('\n');
    }
    Ok(lines)
}

/// Replays a journal and returns the log, one event a line (L7).
#[wasm_bindgen]
pub fn replayed(journal: &str) -> std::result::Result<String, JsValue> {
    let replayed =
        replay(journal.as_bytes(), &JournalBounds::default()).map_err(|error| error.to_string())?;
    let log = replayed.run.log();
    Ok(log.iter().map(|envelope| envelope.to_json(log.run_id()) + "\n").collect())
}
