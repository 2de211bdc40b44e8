//! The client on tokio's sockets.

#[path = "calls.rs"]
mod calls;
#[path = "framing.rs"]
mod framing;
#[path = "proxy.rs"]
mod proxy;
#[path = "request.rs"]
mod request;
#[path = "secrets.rs"]
mod secrets;
#[path = "tls.rs"]
mod tls;

use ::tokio::runtime::{Builder, Runtime};
use calls::{fetch, get, plain, post, read, send};
use runloom::core::provider::anthropic::Anthropic;
use runloom::http::{Endpoint, HttpClient, HttpError, HttpModel};
use runloom::tokio::http::{TokioHttpBody as Body, TokioHttpClient as Client};
use runloom::tokio::{TokioTimer, spawn};
use runloom::{Engine, Host, ModelSpec};
use std::future::Future;
use std::sync::OnceLock;

const NAME: &str = "tokio";

fn block_on<F: Future>(future: F) -> F::Output {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let build = || Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    RUNTIME.get_or_init(build).block_on(future)
}

#[test]
fn without_a_runtime_it_is_an_error() {
    let sent = futures_lite::future::block_on(plain().send(get("http://127.0.0.1:1/")));
    assert!(matches!(sent, Err(HttpError::InvalidConfiguration(_))), "{sent:?}");
}

const STREAM: &str = concat!(
    "event: message_start\n",
    r#"data: {"type":"message_start","message":{"id":"m","usage":{"input_tokens":3,"output_tokens":1}}}"#,
    "\n\nevent: content_block_start\n",
    r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
    "\n\nevent: content_block_delta\n",
    r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hello"}}"#,
    "\n\nevent: content_block_stop\n",
    r#"data: {"type":"content_block_stop","index":0}"#,
    "\n\nevent: message_delta\n",
    r#"data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}"#,
    "\n\nevent: message_stop\n",
    r#"data: {"type":"message_stop"}"#,
    "\n\n",
);

/// A whole run over HTTP, all of it on tokio: client, timer and driver.
// proves: X2, X3
#[test]
fn a_run_over_http() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    let server = crate::server::answer(format!("{head}{STREAM}"));
    let outcome = block_on(async {
        let endpoint = Endpoint::new(&server.url("")).key("sk-canary-tokio");
        let model = HttpModel::new(Anthropic::new(), plain(), endpoint);
        let host = Host::shared().model(ModelSpec::new("some-model"), model).build().unwrap();
        let session = Engine::new(host, TokioTimer::current().unwrap()).session().unwrap();
        let (run, driver) = session.start("hi").unwrap();
        let task = spawn(driver).unwrap();
        assert!(run.outcome().await.answer().is_some());
        task.await.unwrap()
    });
    assert_eq!(outcome.answer().unwrap().text, "hello");
    let seen = server.end();
    assert!(seen.starts_with("POST /v1/messages HTTP/1.1\r\n") && seen.contains("sk-canary-tokio"), "no key");
}
