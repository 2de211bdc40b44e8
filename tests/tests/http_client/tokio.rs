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
use runloom::http::{HttpClient, HttpError};
use runloom::tokio::http::{TokioHttpBody as Body, TokioHttpClient as Client};
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
