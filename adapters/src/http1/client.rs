//! The client: from a request to the head of its response.

use super::body::Http1Body;
use super::builder::Http1ClientBuilder;
use super::network::Network;
use super::proxy::Proxies;
use super::target::Target;
use super::{connect, encode, exchange};
use crate::http::{HttpClient, HttpError, HttpHeaders, HttpRequest, HttpResponse};
use rustls::ClientConfig;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use ureq_proto::http::HeaderMap;

/// An HTTP/1.1 client on one runtime's sockets; see the [module](super). Clones share their configuration and are cheap.
pub struct Http1Client<N: Network> {
    shared: Arc<Shared>,
    network: PhantomData<fn() -> N>,
}

/// What every request of a client and of its clones needs.
pub(super) struct Shared {
    pub(super) tls: Arc<ClientConfig>,
    pub(super) proxies: Proxies,
}

impl<N: Network> Http1Client<N> {
    /// A client with the built-in certificate authorities and without a proxy.
    ///
    /// # Errors
    ///
    /// [`HttpError::InvalidConfiguration`] if the TLS library refuses its own defaults.
    pub fn new() -> Result<Self, HttpError> {
        Self::builder().build()
    }

    /// A builder for everything else.
    pub fn builder() -> Http1ClientBuilder<N> {
        Http1ClientBuilder::new()
    }

    pub(super) fn from_shared(shared: Shared) -> Self {
        Self { shared: Arc::new(shared), network: PhantomData }
    }
}

impl<N: Network> Clone for Http1Client<N> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), network: PhantomData }
    }
}

impl<N: Network> HttpClient for Http1Client<N> {
    type Body = Http1Body<N>;

    async fn send(&self, request: HttpRequest) -> Result<HttpResponse<Http1Body<N>>, HttpError> {
        let target = Target::parse(&request.url)?;
        let route = self.shared.proxies.route(&target);
        // Encoded first, so that a request that cannot be sent opens no connection.
        let message = encode::request(request, &target, route)?;
        let mut connection = connect::open::<N>(&self.shared, &target, route).await?;
        let reply = exchange::exchange(&mut connection, message).await?;
        let status = reply.response.status().as_u16();
        let headers = received(reply.response.headers())?;
        Ok(HttpResponse::new(status, headers, Http1Body::new(connection, reply)))
    }
}

impl<N: Network> fmt::Debug for Http1Client<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http1Client").field("proxies", &self.shared.proxies).finish_non_exhaustive()
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
