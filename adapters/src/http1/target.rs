//! Where a request goes, read from its URL.

use crate::http::{HttpError, HttpErrorText, HttpUrl};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::percent_decode_str;
use ureq_proto::http::Uri;

/// A URL in the parts that connecting and encoding need.
pub(super) struct Target {
    pub(super) secure: bool,
    /// A name or an address, without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    /// Host, with brackets where needed, and the port if it is not the scheme's own: what `host` says.
    pub(super) authority: String,
    pub(super) path_and_query: String,
    /// The value of an `authorization` field made from the URL's user and password.
    pub(super) authorization: Option<String>,
}

impl Target {
    pub(super) fn parse(url: &HttpUrl) -> Result<Self, HttpError> {
        let refused = |text: &str| HttpError::InvalidUrl(HttpErrorText::new(text));
        if !url.as_str().is_ascii() {
            return Err(refused("characters outside ASCII must be percent-encoded, or punycode in a host"));
        }
        // The parser's message is one of a fixed set of words and repeats nothing of the URL.
        let uri: Uri =
            url.as_str().parse().map_err(|error| HttpError::InvalidUrl(HttpErrorText::new(error)))?;
        let secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(refused("the scheme is neither http nor https")),
        };
        let authority = uri.authority().ok_or_else(|| refused("there is no host"))?;
        let place = Place::parse(authority.as_str()).ok_or_else(|| refused("host or port cannot be read"))?;
        let default_port = if secure { 443 } else { 80 };
        let port = place.port.unwrap_or(default_port);
        let path_and_query = match uri.path_and_query().map_or("/", |text| text.as_str()) {
            query if query.starts_with('?') => format!("/{query}"),
            path => path.to_owned(),
        };
        Ok(Self {
            secure,
            port,
            authority: if port == default_port { place.bracketed() } else { place.with_port(port) },
            path_and_query,
            authorization: place.authorization,
            host: place.host,
        })
    }

    pub(super) fn scheme(&self) -> &'static str {
        if self.secure { "https" } else { "http" }
    }

    /// Host and port, also where the port is the scheme's own: what a tunnel is asked for.
    pub(super) fn host_and_port(&self) -> String {
        let host = bracketed(&self.host);
        format!("{host}:{}", self.port)
    }
}

/// The authority of a URL: who asks, which host, which port.
pub(super) struct Place {
    pub(super) host: String,
    pub(super) port: Option<u16>,
    pub(super) authorization: Option<String>,
}

impl Place {
    /// Reads `user:password@host:port`; `None` if host or port cannot be what they should.
    pub(super) fn parse(authority: &str) -> Option<Self> {
        let (userinfo, place) = match authority.rsplit_once('@') {
            Some((userinfo, place)) => (Some(userinfo), place),
            None => (None, authority),
        };
        let (host, port) = match place.rfind(':') {
            Some(colon) if !place.ends_with(']') => (&place[..colon], Some(&place[colon + 1..])),
            _ => (place, None),
        };
        let host = match host.strip_prefix('[') {
            Some(address) => address.strip_suffix(']')?.parse::<std::net::Ipv6Addr>().ok()?.to_string(),
            None => Some(host).filter(|host| is_name(host))?.to_ascii_lowercase(),
        };
        // `host:` without digits means the scheme's own port.
        let port = match port.filter(|digits| !digits.is_empty()) {
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => Some(digits.parse().ok()?),
            Some(_) => return None,
            None => None,
        };
        Some(Self { host, port, authorization: userinfo.map(basic) })
    }

    fn bracketed(&self) -> String {
        bracketed(&self.host)
    }

    fn with_port(&self, port: u16) -> String {
        format!("{}:{port}", self.bracketed())
    }
}

fn is_name(host: &str) -> bool {
    !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b))
}

fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

/// The field value that carries a user and a password (RFC 7617).
fn basic(userinfo: &str) -> String {
    let (user, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
    let mut plain: Vec<u8> = percent_decode_str(user).collect();
    plain.push(b':');
    plain.extend(percent_decode_str(password));
    format!("Basic {}", BASE64_STANDARD.encode(plain))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn reads_the_parts() {
        let target = Target::parse(&HttpUrl::from("HTTPS://u%40:p@Example.COM:443?q=1#part")).unwrap();
        assert!(target.secure);
        assert_eq!((target.host.as_str(), target.port), ("example.com", 443));
        assert_eq!(target.authority, "example.com");
        assert_eq!(target.host_and_port(), "example.com:443");
        assert_eq!(target.path_and_query, "/?q=1");
        assert_eq!(target.authorization.unwrap(), "Basic dUA6cA==");

        let target = Target::parse(&HttpUrl::from("http://[0::1]:8080/a//b?")).unwrap();
        assert_eq!((target.host.as_str(), target.authority.as_str()), ("::1", "[::1]:8080"));
        assert_eq!(target.path_and_query, "/a//b?");
    }

    #[test]
    fn refuses_what_is_not_a_web_address() {
        for url in [
            "",
            "/path",
            "example.com/x",
            "ftp://example.com/",
            "http:///x",
            "http://",
            "http://host:99999/",
            "http://host:8a/",
            "http://[::1/",
            "http://[zz]/",
            "http://ho st/",
            "http://b\u{fc}cher.example/",
            "http://h/\u{e9}",
            "http://h/a b",
        ] {
            let error = Target::parse(&HttpUrl::from(url)).err();
            assert!(matches!(error, Some(HttpError::InvalidUrl(_))), "{url:?}: {error:?}");
        }
    }
}
