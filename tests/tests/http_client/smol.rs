//! The client on smol's sockets, on an executor that only blocks.

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

use calls::{fetch, get, plain, post, read, send};
use futures_lite::future::block_on;
use runloom::smol::http::{SmolHttpBody as Body, SmolHttpClient as Client};

const NAME: &str = "smol";
