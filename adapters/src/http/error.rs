//! Why a request gave no complete response.

use std::fmt;

/// Upper bound of an error's text in bytes, its kind included.
const MAX_TEXT: usize = 4096;
/// What the longest kind in front of the text may take of that bound.
const KIND_RESERVE: usize = 64;

/// A request that gave no response, or a body that broke off, by kind.
///
/// The text is for people, holds no secret and is at most 4 KiB long. Clients put into it hosts, ports, the system's
/// and the TLS library's words; never header values, bodies, credentials, or the query of a URL.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The URL is not an absolute `http` or `https` URL that the client can use.
    #[error("invalid URL: {0}")]
    InvalidUrl(HttpErrorText),
    /// A header or the combination of method and body is not allowed.
    #[error("invalid request: {0}")]
    InvalidRequest(HttpErrorText),
    /// The client was configured with something unusable: a certificate, a proxy, an environment variable.
    #[error("invalid configuration: {0}")]
    InvalidConfiguration(HttpErrorText),
    /// The host's name gave no address.
    #[error("name not resolved: {0}")]
    Resolve(HttpErrorText),
    /// No address of the host took the connection.
    #[error("not connected: {0}")]
    Connect(HttpErrorText),
    /// The secure connection could not be set up, or broke its rules later.
    #[error("TLS failure: {0}")]
    Tls(HttpErrorText),
    /// The proxy could not be reached or refused the connection.
    #[error("proxy failure: {0}")]
    Proxy(HttpErrorText),
    /// The peer sent something that is not HTTP/1.1.
    #[error("protocol violation: {0}")]
    Protocol(HttpErrorText),
    /// The head of the response is larger than the client takes.
    #[error("response head too large: {0}")]
    HeadTooLarge(HttpErrorText),
    /// The connection ended before the response was complete.
    #[error("connection closed early: {0}")]
    Closed(HttpErrorText),
}

/// The words of an [`HttpError`]: bounded, on one line.
///
/// Who makes one sees to it that no secret goes in.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpErrorText(Box<str>);

impl HttpErrorText {
    /// Keeps the words of `text`, control characters replaced by spaces, cut at a character boundary to the bound.
    pub fn new(text: impl fmt::Display) -> Self {
        let mut bounded = Bounded { text: String::new(), full: false };
        // Writing ends early once the bound is reached; that is no failure.
        let _ = fmt::write(&mut bounded, format_args!("{text}"));
        Self(bounded.text.into_boxed_str())
    }

    /// The words.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for HttpErrorText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for HttpErrorText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Takes text until the bound, so that a hostile `Display` cannot make a large string first.
struct Bounded {
    text: String,
    full: bool,
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        for character in part.chars() {
            if self.full || self.text.len() + character.len_utf8() > MAX_TEXT - KIND_RESERVE {
                self.full = true;
                return Err(fmt::Error);
            }
            self.text.push(if character.is_control() { ' ' } else { character });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_at_a_character_boundary() {
        let error = HttpError::InvalidConfiguration(HttpErrorText::new("\u{e9}".repeat(5000)));
        let text = error.to_string();
        assert!(text.len() <= MAX_TEXT && text.len() > MAX_TEXT - 2 * KIND_RESERVE, "{}", text.len());
        assert!(text.ends_with('\u{e9}'));
    }

    #[test]
    fn text_is_on_one_line() {
        assert_eq!(HttpErrorText::new("a\r\nb\x1b[1m").as_str(), "a  b [1m");
    }
}
