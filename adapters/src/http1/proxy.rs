//! Which way a request takes.

use super::no_proxy::NoProxy;
use super::target::{Place, Target};
use crate::http::{HttpError, HttpErrorText};
use std::fmt;

/// An HTTP proxy.
pub(super) struct Proxy {
    /// A name or an address, without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    /// The value of `proxy-authorization`.
    pub(super) authorization: Option<String>,
}

impl Proxy {
    /// Reads `http://user:password@host:port`, where all but the host may be missing.
    pub(super) fn parse(url: &str) -> Result<Self, HttpError> {
        let refused = |text: &str| HttpError::InvalidConfiguration(HttpErrorText::new(text));
        let rest = match url.trim().split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some(_) => return Err(refused("a proxy must be an http:// URL")),
            None => url.trim(),
        };
        let (authority, _) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let place =
            Place::parse(authority).ok_or_else(|| refused("a proxy's host or port cannot be read"))?;
        Ok(Self { host: place.host, port: place.port.unwrap_or(80), authorization: place.authorization })
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// The proxies of a client, by the scheme of the request.
#[derive(Default, Debug)]
pub(super) struct Proxies {
    pub(super) http: Option<Proxy>,
    pub(super) https: Option<Proxy>,
    pub(super) none_for: NoProxy,
}

/// The way of one request.
#[derive(Clone, Copy)]
pub(super) enum Route<'a> {
    /// To the origin.
    Direct,
    /// To a proxy that sends the request on.
    Forward(&'a Proxy),
    /// Through a proxy that passes bytes to the origin.
    Tunnel(&'a Proxy),
}

impl Proxies {
    pub(super) fn route(&self, target: &Target) -> Route<'_> {
        if self.none_for.covers(&target.host, target.port) {
            return Route::Direct;
        }
        match (target.secure, &self.http, &self.https) {
            (false, Some(proxy), _) => Route::Forward(proxy),
            (true, _, Some(proxy)) => Route::Tunnel(proxy),
            _ => Route::Direct,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn reads_the_usual_shapes() {
        for (url, shown, authorization) in [
            ("http://proxy.local:3128", "proxy.local:3128", None),
            ("http://proxy.local/", "proxy.local:80", None),
            ("proxy.local:3128", "proxy.local:3128", None),
            ("http://u:p@[::1]:1", "::1:1", Some("Basic dTpw")),
        ] {
            let proxy = Proxy::parse(url).unwrap();
            assert_eq!(format!("{proxy:?}"), shown);
            assert_eq!(proxy.authorization.as_deref(), authorization);
        }
        for url in ["", "https://p:1", "socks5://p:1", "http://", "http://p:x", "http://u:c@nary@"] {
            assert!(matches!(Proxy::parse(url), Err(HttpError::InvalidConfiguration(_))), "{url}");
        }
    }
}
