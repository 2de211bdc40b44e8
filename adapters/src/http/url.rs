//! A URL that shows itself without its secrets.

use std::fmt;

/// The absolute URL of a request, as text.
///
/// `Debug` and `Display` show scheme, host, port and path, and leave out user, password, query and fragment, where
/// keys travel. It is checked when the request is sent, not here.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpUrl(Box<str>);

impl HttpUrl {
    /// The whole text, secrets included.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Scheme, host with port, and path; nothing if the text has another shape, since it is then unknown where in
    /// it a secret stands.
    fn shown(&self) -> Option<(&str, &str, &str)> {
        let (scheme, rest) = self.0.split_once("://")?;
        let (rest, _) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
        let (authority, path) = rest.split_at(rest.find(['/', '\\']).unwrap_or(rest.len()));
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let known = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
        let readable = known && is_host_and_port(host) && !path.contains(char::is_control);
        readable.then_some((scheme, host, path))
    }
}

/// Whether the text is a host with at most a numeric port: a password with an unescaped `/` is not.
fn is_host_and_port(text: &str) -> bool {
    let (host, port) = match text.rfind(':') {
        Some(colon) if !text.ends_with(']') => (&text[..colon], &text[colon + 1..]),
        _ => (text, ""),
    };
    let in_brackets = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host_fits = match in_brackets {
        Some(address) => address.bytes().all(|b| b.is_ascii_hexdigit() || b == b':' || b == b'.'),
        None => !host.is_empty() && host.chars().all(|c| c.is_alphanumeric() || "-._".contains(c)),
    };
    host_fits && port.len() <= 5 && port.bytes().all(|b| b.is_ascii_digit())
}

impl From<&str> for HttpUrl {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for HttpUrl {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shown() {
            Some((scheme, host, path)) => write!(f, "{scheme}://{host}{path}"),
            None => f.write_str("[unreadable URL]"),
        }
    }
}

impl fmt::Debug for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_scheme_host_port_and_path() {
        for (url, shown) in [
            ("https://api.example.com/v1/messages", "https://api.example.com/v1/messages"),
            ("http://user:canary@h:8080/p?key=canary#canary", "http://h:8080/p"),
            ("http://h?key=canary/x@y", "http://h"),
            ("http://canary:c@nary@[::1]:80/a", "http://[::1]:80/a"),
            ("https://h/model@20240601:rawPredict", "https://h/model@20240601:rawPredict"),
        ] {
            assert_eq!(HttpUrl::from(url).to_string(), shown);
            assert_eq!(format!("{:?}", HttpUrl::from(url)), shown);
        }
    }

    #[test]
    fn shows_nothing_of_what_it_cannot_read() {
        for url in [
            "canary",
            "canary:x@h/p",
            "http:/u:canary@h",
            "http://u:can/ary@h/",
            "ftp://canary/",
            "http:///x",
            "http://h/\r\n",
        ] {
            assert_eq!(HttpUrl::from(url).to_string(), "[unreadable URL]");
        }
    }
}
