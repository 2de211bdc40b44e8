//! An HTTP/1.1 client over the sockets of whatever runtime there is, with TLS by rustls.
//!
//! [`Http1Client`] implements [`HttpClient`](crate::http::HttpClient). Two runtimes have the sockets for it: see
//! `smol::http::SmolHttpClient` and `tokio::http::TokioHttpClient`, behind the features of those names. What it sends,
//! what it accepts and which errors it gives is the same on both.
//!
//! # What it does
//!
//! - One connection for each request, closed when the response's body is complete or dropped. A model's answer takes
//!   seconds; a pool would save one handshake, which TLS session tickets already shorten, and bring stale connections.
//! - Response bodies by `content-length`, in chunks, or up to the end of the connection; without the announced end it is
//!   [`HttpError::Closed`](crate::http::HttpError::Closed). Bodies are not decompressed, and no encoding is asked for.
//! - A final response that comes while the request is still being sent ends the sending and is given back.
//! - A user and password in a URL are sent as basic authentication, unless the request has an `authorization` header.
//! - All addresses of a name are tried, one after the other.
//!
//! # What it does not do
//!
//! - Follow redirects, keep cookies, speak HTTP/2.
//! - Time out. Connecting, waiting and reading last as long as the engine's deadlines let them; a caller without an engine
//!   races the future against a timer and drops it.
//! - Read the environment by itself: see [`Http1ClientBuilder::environment`].
//!
//! # What it logs
//!
//! Nothing. The codec beneath writes the responses it decodes to the `log` crate's trace level, in hexadecimal; a host
//! that records that level and must not record answers filters out the target `ureq_proto`. Of requests it sees only
//! method, host and length.
//!
//! # Bounds
//!
//! | what | bound |
//! | --- | --- |
//! | head of a response, interim ones included | 64 KiB, 128 fields |
//! | one piece of a body | 16 KiB |
//! | chunk framing and trailers between two bytes of a body | 64 KiB |

mod body;
mod builder;
mod client;
mod connect;
mod connection;
mod encode;
mod environment;
mod exchange;
pub(crate) mod network;
mod no_proxy;
mod proxy;
mod read_buffer;
mod target;
mod tls;

pub use body::Http1Body;
pub use builder::Http1ClientBuilder;
pub use client::Http1Client;
pub use network::Network;
