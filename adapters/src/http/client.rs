//! The two traits a client implements: with `Send` and without.

use super::{HttpError, HttpRequest, HttpResponse};
use futures_core::Stream;
use std::future::Future;

/// A client whose futures and bodies may stay on one thread.
///
/// Implement it where nothing is `Send`, as around a browser's `fetch`. Elsewhere implement [`HttpClient`], which
/// brings this trait along.
pub trait LocalHttpClient {
    /// The bytes of a response, in order, in pieces of any size above zero.
    ///
    /// After an `Err` or the end the stream yields nothing more. Dropping it closes the connection.
    type Body: Stream<Item = Result<Vec<u8>, HttpError>>;

    /// Sends a request and waits for the head of its response.
    ///
    /// Interim (1xx) responses are skipped and redirects are not followed. Dropping the future closes the
    /// connection; whether the server acted on the request is then unknown.
    ///
    /// # Errors
    ///
    /// An [`HttpError`] by kind, if no response head came. A response with an error status is `Ok`.
    fn send(&self, request: HttpRequest)
    -> impl Future<Output = Result<HttpResponse<Self::Body>, HttpError>>;
}

/// A client whose futures and bodies may move between threads.
///
/// The contract is that of [`LocalHttpClient`], which every implementor is too.
pub trait HttpClient {
    /// The bytes of a response; see [`LocalHttpClient::Body`].
    type Body: Stream<Item = Result<Vec<u8>, HttpError>> + Send;

    /// Sends a request and waits for the head of its response; see [`LocalHttpClient::send`].
    ///
    /// # Errors
    ///
    /// An [`HttpError`] by kind, if no response head came. A response with an error status is `Ok`.
    fn send(
        &self,
        request: HttpRequest,
    ) -> impl Future<Output = Result<HttpResponse<Self::Body>, HttpError>> + Send;
}

impl<C: HttpClient> LocalHttpClient for C {
    type Body = C::Body;

    fn send(
        &self,
        request: HttpRequest,
    ) -> impl Future<Output = Result<HttpResponse<Self::Body>, HttpError>> {
        HttpClient::send(self, request)
    }
}
