//! HTTP as models need it: one request with a body in memory, one response whose body is a stream.
//!
//! This module holds values, traits and [`HttpModel`], which joins a codec and a client. It opens no socket and
//! builds for every target; clients live beside
//! their runtime (`smol::http` behind the feature of that name) or with the host.
//!
//! A host that brings its own client implements one of two traits:
//!
//! - [`HttpClient`], whose futures and bodies are `Send`, so that a run may move between threads;
//! - [`LocalHttpClient`], for a client bound to its thread, as in a browser.
//!
//! Every [`HttpClient`] is a [`LocalHttpClient`], so code that does not need `Send` asks for the second.
//!
//! What every client keeps:
//!
//! - A response is given back as it is. Redirects are not followed and an error status is not an `Err`.
//! - No deadline of its own: the engine owns time, and ends a request by dropping its future or its body.
//!   Either drop closes the connection.
//! - The body is pulled: bytes are read when the stream is polled, a bounded piece at a time.
//! - A body that ends before its announced end is [`HttpError::Closed`] and never a short success.
//! - No secret reaches `Debug` or an error: see [`HttpHeaders`], [`HttpUrl`] and [`HttpError`].

mod client;
mod error;
mod headers;
mod model;
mod request;
mod response;
mod url;

pub use client::{HttpClient, LocalHttpClient};
pub use error::{HttpError, HttpErrorText};
pub use headers::HttpHeaders;
pub use model::{Endpoint, HttpModel, HttpModelStream, LocalHttpModel};
pub use request::{HttpMethod, HttpRequest};
pub use response::HttpResponse;
pub use url::HttpUrl;
