//! The configuration of a client.

use super::client::{Http1Client, Shared};
use super::environment;
use super::network::Network;
use super::no_proxy::NoProxy;
use super::proxy::{Proxies, Proxy};
use super::tls::Authorities;
use crate::http::HttpError;
use std::fmt;
use std::marker::PhantomData;

/// Collects what differs from the defaults: built-in certificate authorities, no proxy.
#[must_use]
pub struct Http1ClientBuilder<N: Network> {
    authorities: Authorities,
    proxies: Proxies,
    network: PhantomData<fn() -> N>,
}

impl<N: Network> Http1ClientBuilder<N> {
    pub(super) fn new() -> Self {
        Self { authorities: Authorities::built_in(), proxies: Proxies::default(), network: PhantomData }
    }

    /// Trusts these certificate authorities too.
    ///
    /// # Errors
    ///
    /// [`HttpError::InvalidConfiguration`] if the text holds no certificate in PEM form, or one that cannot be read.
    pub fn trust_also(mut self, pem: &[u8]) -> Result<Self, HttpError> {
        self.authorities.add(pem)?;
        Ok(self)
    }

    /// Trusts these certificate authorities alone, in place of all that were trusted before.
    ///
    /// # Errors
    ///
    /// As for [`trust_also`](Self::trust_also).
    pub fn trust_only(mut self, pem: &[u8]) -> Result<Self, HttpError> {
        let mut authorities = Authorities::none();
        authorities.add(pem)?;
        self.authorities = authorities;
        Ok(self)
    }

    /// Sends all requests through an HTTP proxy: `http` ones for it to forward, `https` ones through a tunnel.
    ///
    /// The proxy is `http://user:password@host:port`, of which only the host is needed; the port is 80 by default.
    /// User and password, percent-encoded, are sent to the proxy as basic authentication.
    ///
    /// # Errors
    ///
    /// [`HttpError::InvalidConfiguration`] if the URL cannot be read or has another scheme than `http`.
    pub fn proxy(self, url: &str) -> Result<Self, HttpError> {
        self.proxy_for_http(url)?.proxy_for_https(url)
    }

    /// Sends requests with the scheme `http` through an HTTP proxy; see [`proxy`](Self::proxy).
    ///
    /// # Errors
    ///
    /// As for [`proxy`](Self::proxy).
    pub fn proxy_for_http(mut self, url: &str) -> Result<Self, HttpError> {
        self.proxies.http = Some(Proxy::parse(url)?);
        Ok(self)
    }

    /// Sends requests with the scheme `https` through an HTTP proxy; see [`proxy`](Self::proxy).
    ///
    /// # Errors
    ///
    /// As for [`proxy`](Self::proxy).
    pub fn proxy_for_https(mut self, url: &str) -> Result<Self, HttpError> {
        self.proxies.https = Some(Proxy::parse(url)?);
        Ok(self)
    }

    /// Names the hosts that are reached without a proxy, in place of those named before.
    ///
    /// Entries are separated by commas or white space: `*` for all; a name, which stands for itself and all names
    /// below it, with or without a leading dot; an IP address; a network such as `10.0.0.0/8`. Names and addresses
    /// may be followed by `:port`. Entries that cannot be read match nothing.
    pub fn no_proxy(mut self, list: &str) -> Self {
        self.proxies.none_for = NoProxy::parse(list);
        self
    }

    /// Takes over what the conventional environment variables say; those that are not set,
    /// empty or not Unicode change nothing.
    ///
    /// - `https_proxy`, `http_proxy`, and for either that is missing `all_proxy`: see [`proxy`](Self::proxy).
    /// - `no_proxy`: see [`no_proxy`](Self::no_proxy).
    /// - `SSL_CERT_FILE`: a file of certificate authorities that takes the place of the built-in ones. It is read at
    ///   once, blocking. Certificates in it that cannot be used are skipped, as long as one can.
    ///
    /// Of each proxy variable the lower-case spelling is tried first and the upper-case one then. `HTTP_PROXY` in
    /// upper case is left out where `REQUEST_METHOD` is set: under CGI it holds a header of whoever sent the request.
    ///
    /// # Errors
    ///
    /// [`HttpError::InvalidConfiguration`] naming the variable that cannot be used, without its value.
    pub fn environment(self) -> Result<Self, HttpError> {
        self.environment_from(|name| std::env::var(name).ok())
    }

    /// As [`environment`](Self::environment), with the variables looked up by `variable`.
    ///
    /// # Errors
    ///
    /// As for [`environment`](Self::environment).
    pub fn environment_from(mut self, variable: impl Fn(&str) -> Option<String>) -> Result<Self, HttpError> {
        environment::apply(&variable, &mut self.proxies, &mut self.authorities)?;
        Ok(self)
    }

    /// The client.
    ///
    /// # Errors
    ///
    /// [`HttpError::InvalidConfiguration`] if the TLS library refuses the configuration.
    pub fn build(self) -> Result<Http1Client<N>, HttpError> {
        let tls = self.authorities.config()?;
        Ok(Http1Client::from_shared(Shared { tls, proxies: self.proxies }))
    }
}

impl<N: Network> fmt::Debug for Http1ClientBuilder<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http1ClientBuilder").field("proxies", &self.proxies).finish_non_exhaustive()
    }
}
