//! The client: from a request to the head of its response.

use super::body::SmolHttpBody;
use super::builder::SmolHttpClientBuilder;
use super::proxy::Proxies;
use super::target::Target;
use super::{connect, encode, exchange};
use crate::http::{HttpClient, HttpError, HttpHeaders, HttpRequest, HttpResponse};
use futures_rustls::TlsConnector;
use std::fmt;
use std::sync::Arc;
use ureq_proto::http::HeaderMap;

/// An HTTP/1.1 client that needs no runtime. Clones share their configuration and are cheap.
#[derive(Clone)]
pub struct SmolHttpClient {
    shared: Arc<Shared>,
}

/// What every request of a client and of its clones needs.
pub(super) struct Shared {
    pub(super) tls: TlsConnector,
    pub(super) proxies: Proxies,
}

impl SmolHttpClient {
    /// A client with the built-in certificate authorities and without a proxy.
    ///
    /// # Errors
    ///
    /// [`HttpError::InvalidConfiguration`] if the TLS library refuses its own defaults.
    pub fn new() -> Result<Self, HttpError> {
        Self::builder().build()
    }

    /// A builder for everything else.
    pub fn builder() -> SmolHttpClientBuilder {
        SmolHttpClientBuilder::new()
    }

    pub(super) fn from_shared(shared: Shared) -> Self {
        Self { shared: Arc::new(shared) }
    }
}

impl HttpClient for SmolHttpClient {
    type Body = SmolHttpBody;

    async fn send(&self, request: HttpRequest) -> Result<HttpResponse<SmolHttpBody>, HttpError> {
        let target = Target::parse(&request.url)?;
        let route = self.shared.proxies.route(&target);
        // Encoded first, so that a request that cannot be sent opens no connection.
        let message = encode::request(request, &target, route)?;
        let mut connection = connect::open(&self.shared, &target, route).await?;
        let reply = exchange::exchange(&mut connection, message).await?;
        let status = reply.response.status().as_u16();
        let headers = received(reply.response.headers())?;
        Ok(HttpResponse::new(status, headers, SmolHttpBody::new(connection, reply)))
    }
}

impl fmt::Debug for SmolHttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SmolHttpClient").field("proxies", &self.shared.proxies).finish_non_exhaustive()
    }
}

fn received(fields: &HeaderMap) -> Result<HttpHeaders, HttpError> {
    let mut headers = HttpHeaders::new();
    for (name, value) in fields {
        let value: String = value.as_bytes().iter().copied().map(char::from).collect();
        headers.append(name.as_str(), &value)?;
    }
    Ok(headers)
}
