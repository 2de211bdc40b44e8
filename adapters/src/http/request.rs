//! What is sent.

use super::{HttpHeaders, HttpUrl};
use std::fmt;

/// One request, with its whole body in memory.
///
/// `Debug` shows method, redacted URL, redacted headers and the body's length.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// The method.
    pub method: HttpMethod,
    /// The absolute URL.
    pub url: HttpUrl,
    /// Fields besides those that the client owns: `host`, `content-length`, `connection` and their like are its
    /// own, and it may refuse a request that sets them.
    pub headers: HttpHeaders,
    /// The body in bytes; empty for none. The client announces its length.
    pub body: Vec<u8>,
}

impl HttpRequest {
    /// A request without headers and body.
    pub fn new(method: HttpMethod, url: impl Into<HttpUrl>) -> Self {
        Self { method, url: url.into(), headers: HttpHeaders::new(), body: Vec::new() }
    }
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpRequest")
            .field("method", &self.method)
            .field("url", &self.url)
            .field("headers", &self.headers)
            .field("body_bytes", &self.body.len())
            .finish()
    }
}

/// A request's method.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum HttpMethod {
    /// `GET`
    Get,
    /// `HEAD`, which takes no body and gets none.
    Head,
    /// `POST`
    Post,
    /// `PUT`
    Put,
    /// `PATCH`
    Patch,
    /// `DELETE`
    Delete,
}

impl HttpMethod {
    /// The method as it stands on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}
