//! Typed problems of models and their providers (M6, R2, R3, R7), and the cleaning of texts that strangers wrote (M5).

use crate::json::{encoded_len, encoded_prefix};
use crate::text::Text;
use alloc::format;
use alloc::string::String;
use core::time::Duration;

/// Longest problem text, in bytes of its canonical encoding.
pub const MAX_PROBLEM_TEXT: u64 = 4 * 1024;

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ProblemKind {
    /// Too many requests for now.
    RateLimited,
    /// A quota, balance or spending limit is used up.
    QuotaExhausted,
    /// The provider has no capacity for now.
    Overloaded,
    /// The provider failed.
    Server,
    /// No answer in time.
    Timeout,
    /// The connection failed.
    Connection,
    /// The stream ended before the response did.
    Truncated,
    /// The response breaks the stream union (M3).
    InvalidResponse,
    /// The key is missing or wrong.
    Authentication,
    /// The key may not do this.
    Permission,
    /// There is no such model or address.
    NotFound,
    /// The provider refuses the request as it is.
    InvalidRequest,
    /// The conversation does not fit into the model's context.
    ContextOverflow,
    /// The request body is too large.
    RequestTooLarge,
    /// The model or its adapter panicked.
    Panicked,
    /// Anything else.
    Other,
}

impl ProblemKind {
    /// Every kind.
    pub const ALL: [Self; 16] = [
        Self::RateLimited,
        Self::QuotaExhausted,
        Self::Overloaded,
        Self::Server,
        Self::Timeout,
        Self::Connection,
        Self::Truncated,
        Self::InvalidResponse,
        Self::Authentication,
        Self::Permission,
        Self::NotFound,
        Self::InvalidRequest,
        Self::ContextOverflow,
        Self::RequestTooLarge,
        Self::Panicked,
        Self::Other,
    ];

    /// The kind's stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::QuotaExhausted => "quota_exhausted",
            Self::Overloaded => "overloaded",
            Self::Server => "server",
            Self::Timeout => "timeout",
            Self::Connection => "connection",
            Self::Truncated => "truncated",
            Self::InvalidResponse => "invalid_response",
            Self::Authentication => "authentication",
            Self::Permission => "permission",
            Self::NotFound => "not_found",
            Self::InvalidRequest => "invalid_request",
            Self::ContextOverflow => "context_overflow",
            Self::RequestTooLarge => "request_too_large",
            Self::Panicked => "panicked",
            Self::Other => "other",
        }
    }

    /// Whether the same request may succeed later.
    pub const fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::RateLimited
                | Self::Overloaded
                | Self::Server
                | Self::Timeout
                | Self::Connection
                | Self::Truncated
        )
    }
}

/// A typed problem with a bounded, cleaned text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// What went wrong.
    pub kind: ProblemKind,
    /// Text for people: cleaned, at most [`MAX_PROBLEM_TEXT`] encoded bytes.
    pub message: Text,
    /// HTTP status, if there was one.
    pub status: Option<u16>,
    /// The provider's wish for a wait; never zero.
    pub retry_after: Option<Duration>,
    /// The provider's own word on retrying, which wins over the kind's.
    pub retryable: Option<bool>,
}

impl Problem {
    /// A problem; the text is cleaned and cut.
    pub fn new(kind: ProblemKind, message: &str) -> Self {
        Self {
            kind,
            message: clean(message, MAX_PROBLEM_TEXT),
            status: None,
            retry_after: None,
            retryable: None,
        }
    }

    /// With this HTTP status.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// With the provider's wish for a wait; zero counts as none.
    #[must_use]
    pub fn retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait.filter(|wait| !wait.is_zero());
        self
    }

    /// With the provider's own word on retrying.
    #[must_use]
    pub fn retryable(mut self, retryable: Option<bool>) -> Self {
        self.retryable = retryable;
        self
    }

    /// Within its bounds, whoever put it together: cleaned, its text at most `max` encoded bytes, no wish for a wait of
    /// zero.
    pub(crate) fn bounded(mut self, max: u64) -> Self {
        self.message = clean(&self.message, max.min(MAX_PROBLEM_TEXT));
        self.retry_after = self.retry_after.filter(|wait| !wait.is_zero());
        self
    }

    /// Whether the same request may succeed later. A quota never is, whatever the provider says (R7).
    pub fn is_retryable(&self) -> bool {
        self.kind != ProblemKind::QuotaExhausted && self.retryable.unwrap_or(self.kind.is_retryable())
    }
}

/// What stands at the end of an error text that was cut.
pub(crate) const CUT: &str = " [cut]";

/// Cuts an error text to `max` encoded bytes, with a mark where the bound leaves room for one.
pub(crate) fn bounded(text: &str, max: u64) -> Text {
    if encoded_len(text) <= max { Text::new(text) } else { marked(text, max) }
}

fn marked(text: &str, max: u64) -> Text {
    if max < 64 {
        return Text::new(encoded_prefix(text, max));
    }
    let kept = encoded_prefix(text, max - CUT.len() as u64);
    Text::from(format!("{kept}{CUT}"))
}

/// Cleans text that a provider, tool or peer wrote before it enters an event or error: control characters become
/// spaces, words that look like credentials are masked, and the rest is cut to `max` encoded bytes, with a mark (M5).
pub fn clean(text: &str, max: u64) -> Text {
    // Cleaning never lengthens a word by more than the mask, so that work stays bounded by the bound.
    let head = encoded_prefix(text, max.saturating_mul(2));
    let mut out = String::with_capacity(head.len());
    let mut masked_before = false;
    for word in head.split_inclusive(is_border) {
        let bare = word.trim_end_matches(is_border);
        if !bare.is_empty() {
            if masked_before || looks_secret(bare) {
                out.push_str("[redacted]");
            } else {
                out.push_str(bare);
            }
            masked_before = is_scheme(bare);
        }
        let border = word.get(bare.len()..).unwrap_or_default();
        out.extend(border.chars().map(|c| if c.is_control() { ' ' } else { c }));
    }
    if head.len() < text.len() { marked(&out, max) } else { bounded(&out, max) }
}

fn is_border(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '"' | '\'' | ',' | ';')
}

/// Whether the word after this one is a credential, whatever it looks like.
fn is_scheme(word: &str) -> bool {
    let word = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
    let last = word.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    last.eq_ignore_ascii_case("bearer")
}

const SECRET_PREFIXES: [&str; 12] =
    ["sk-", "sk_", "pk-", "rk-", "gsk_", "xai-", "AIza", "ghp_", "hf_", "eyJ", "AKIA", "key-"];

/// Whether a credential stands anywhere in the word: where it begins, or behind anything that no name holds.
fn looks_secret(word: &str) -> bool {
    let start =
        |rest: &str| SECRET_PREFIXES.iter().any(|prefix| rest.starts_with(prefix)) && rest.len() >= 10;
    start(word)
        || word.char_indices().any(|(at, c)| {
            let inside = c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            !inside && word.get(at + c.len_utf8()..).is_some_and(start)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: M5
    #[test]
    fn secrets_are_masked_and_controls_removed() {
        let text = clean(
            "Incorrect API key: sk-ant-canary-123456, see\nAuthorization: Bearer abcdef. url?key=AIzaSyCanary99",
            4096,
        );
        assert_eq!(text, "Incorrect API key: [redacted], see Authorization: Bearer [redacted] [redacted]");
        assert_eq!(clean("a sk- b task-force", 99), "a sk- b task-force");
    }

    #[test]
    fn no_border_hides_a_secret() {
        for border in
            ["(", "{", "|", "&", "*", "\u{0}", "\u{7f}", "\u{201c}", ">", "?", "!", "é", "键", "\\", "\u{a0}"]
        {
            let text = clean(&format!("key {border}sk-canary-123456{border} end"), 4096);
            assert!(!text.contains("canary") && text.contains("end"), "{border:?}: {text}");
        }
        for scheme in ["Bearer  ", "(Bearer ", "Authorization:Bearer ", "bearer: ", "Bearer\t\n", "`Bearer, "]
        {
            let text = clean(&format!("{scheme}canary123 end"), 4096);
            assert!(!text.contains("canary") && text.ends_with(" end"), "{scheme:?}: {text}");
        }
        assert_eq!(clean("the api-key-header is missing", 99), "the api-key-header is missing");
    }

    #[test]
    fn what_was_cut_says_so() {
        let long = "x".repeat(200);
        assert_eq!(clean(&long, 200), *long);
        assert_eq!(clean(&long, 100).as_str(), format!("{} [cut]", "x".repeat(94)));
        assert_eq!(bounded(&long, 199).as_str(), format!("{} [cut]", "x".repeat(193)));
        assert_eq!(clean(&format!("sk-{long}"), 100), "[redacted] [cut]");
    }

    #[test]
    fn the_bound_counts_encoded_bytes() {
        assert_eq!(clean("\"\"\"\"", 6), "\"\"\"");
        assert_eq!(clean("éé", 3), "é");
    }

    // proves: R7
    #[test]
    fn a_quota_is_never_retryable() {
        assert!(!Problem::new(ProblemKind::QuotaExhausted, "").retryable(Some(true)).is_retryable());
        assert!(Problem::new(ProblemKind::Other, "").retryable(Some(true)).is_retryable());
        assert!(!Problem::new(ProblemKind::Server, "").retryable(Some(false)).is_retryable());
        assert_eq!(Problem::new(ProblemKind::Server, "").retry_after(Some(Duration::ZERO)).retry_after, None);
    }
}
