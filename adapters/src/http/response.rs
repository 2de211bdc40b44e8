//! What comes back.

use super::HttpHeaders;
use std::fmt;

/// The head of a response and the stream of its body.
///
/// `Debug` shows the status and the redacted headers, and nothing of the body.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpResponse<B> {
    /// The status code, 100 to 999, whatever it means: errors and redirects are responses too.
    pub status: u16,
    /// The header fields, with their bytes read as characters up to U+00FF.
    pub headers: HttpHeaders,
    /// The body.
    pub body: B,
}

impl<B> HttpResponse<B> {
    /// A response of the three parts.
    pub fn new(status: u16, headers: HttpHeaders, body: B) -> Self {
        Self { status, headers, body }
    }
}

impl<B> fmt::Debug for HttpResponse<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpResponse")
            .field("status", &self.status)
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}
