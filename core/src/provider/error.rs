//! What a provider's failed answer means: status, headers and body become a [`Problem`] by two tables (M6, R3, R7).
//!
//! The tables know the words that OpenAI, Anthropic, Google and the compatible servers use. A word that says exactly
//! what is wrong wins over the status; a general one (`server_error`, `invalid_request_error`) counts only where there
//! is no status: some servers send it beside any.

use crate::problem::{Problem, ProblemKind};
use crate::provider::retry_after::{from_body, retry_after};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde_json::Value;

use ProblemKind::{
    Authentication, ContextOverflow, InvalidRequest, InvalidResponse, NotFound, Other, Overloaded,
    Permission, QuotaExhausted, RateLimited, RequestTooLarge, Server, Timeout,
};

/// Words in an error's `code`, `type` or `status` that say exactly what is wrong. Compared in lower case with `_`
/// between words.
const EXACT: &[(&str, ProblemKind)] = &[
    ("insufficient_quota", QuotaExhausted),
    ("credit_balance_exhausted", QuotaExhausted),
    ("enforced_spend_limit_reached", QuotaExhausted),
    ("billing_error", QuotaExhausted),
    ("billing_hard_limit_reached", QuotaExhausted),
    ("billing_not_active", QuotaExhausted),
    ("insufficient_balance", QuotaExhausted),
    ("payment_required", QuotaExhausted),
    ("context_length_exceeded", ContextOverflow),
    ("exceed_context_size_error", ContextOverflow),
    ("context_window_exceeded", ContextOverflow),
    ("model_context_window_exceeded", ContextOverflow),
    ("rate_limit_exceeded", RateLimited),
    ("rate_limit_error", RateLimited),
    ("rate_limited", RateLimited),
    ("ratelimitreached", RateLimited),
    ("slow_down", RateLimited),
    ("too_many_requests", RateLimited),
    ("resource_exhausted", RateLimited),
    ("overloaded_error", Overloaded),
    ("overloaded", Overloaded),
    ("engine_overloaded", Overloaded),
    ("unavailable_error", Overloaded),
    ("unavailable", Overloaded),
    ("service_unavailable", Overloaded),
    ("timeout_error", Timeout),
    ("deadline_exceeded", Timeout),
    ("authentication_error", Authentication),
    ("invalid_api_key", Authentication),
    ("api_key_invalid", Authentication),
    ("unauthenticated", Authentication),
    ("permission_error", Permission),
    ("permission_denied", Permission),
    ("unsupported_country_region_territory", Permission),
    ("not_found_error", NotFound),
    ("model_not_found", NotFound),
    ("invalid_model", NotFound),
    ("deploymentnotfound", NotFound),
    ("request_too_large", RequestTooLarge),
    // The model wrote a call that its own server could not read: another try writes another one.
    ("tool_use_failed", InvalidResponse),
];

/// Ends of such words.
const ENDS: &[(&str, ProblemKind)] =
    &[("_spend_limit_exceeded", QuotaExhausted), ("_usage_limit_exceeded", QuotaExhausted)];

/// Words that count only without a status.
const GENERAL: &[(&str, ProblemKind)] = &[
    ("server_error", Server),
    ("api_error", Server),
    ("internal_server_error", Server),
    ("internal_error", Server),
    ("internal", Server),
    ("invalid_request_error", InvalidRequest),
    ("invalid_argument", InvalidRequest),
    ("bad_request", InvalidRequest),
    ("content_policy_violation", InvalidRequest),
    ("invalid_prompt", InvalidRequest),
];

/// Statuses; what is not listed goes by its class.
const STATUSES: &[(u16, ProblemKind)] = &[
    (401, Authentication),
    (402, QuotaExhausted),
    (403, Permission),
    (404, NotFound),
    (408, Timeout),
    (410, NotFound),
    (413, RequestTooLarge),
    (429, RateLimited),
    (498, Overloaded),
    (499, Other),
    (501, InvalidRequest),
    (503, Overloaded),
    (504, Timeout),
    (524, Timeout),
    (529, Overloaded),
];

/// Statuses that are safe to retry though their kind says nothing about it: Conflict (a lock timeout), Too Early.
const RETRYABLE_STATUSES: &[u16] = &[409, 425];

/// Phrases in the text of a refused request, in lower case: several servers tell these cases in no other way.
const PHRASES: &[(&str, ProblemKind)] = &[
    ("credit balance is too low", QuotaExhausted),
    ("insufficient balance", QuotaExhausted),
    ("insufficient credits", QuotaExhausted),
    ("context length", ContextOverflow),
    ("context window", ContextOverflow),
    ("context size", ContextOverflow),
    ("exceed context limit", ContextOverflow),
    ("prompt is too long", ContextOverflow),
    ("input is too long", ContextOverflow),
    ("incorrect api key", Authentication),
    ("invalid api key", Authentication),
    ("api key not valid", Authentication),
    ("model not found", NotFound),
    ("not a valid model id", NotFound),
];

/// The problem behind a failed HTTP answer.
///
/// `headers` are the answer's, in any case and order; `body` may be cut, empty, HTML or anything; `now_unix` is the wall
/// time in seconds since 1970, if the caller knows it, for `retry-after` dates. The header `x-should-retry` wins over
/// the kind. The text is the provider's, cleaned and bounded as [`Problem::new`] does it.
pub fn http_error(status: u16, headers: &[(&str, &str)], body: &[u8], now_unix: Option<u64>) -> Problem {
    let json = body_of(body);
    let facts = json.as_ref().map(Facts::of).unwrap_or_default();
    let wait = retry_after(headers, body, now_unix);
    let mut kind = facts.kind(Some(status));
    if status == 402 && kind == QuotaExhausted && wait.is_some() {
        // A provider that says when to come back does not mean an empty account.
        kind = RateLimited;
    }
    let said = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("x-should-retry"));
    let said = said.and_then(|(_, value)| match value.trim() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    });
    let retryable = said.or(RETRYABLE_STATUSES.contains(&status).then_some(true));
    let message = match facts.message {
        Some(message) => message,
        None => unread_body(status, body, json.is_some()),
    };
    Problem::new(kind, &message).status(status).retryable(retryable).retry_after(wait)
}

/// The problem that a stream reports inside an answer of status 200; `data` is the event's.
pub(crate) fn stream_error(data: &str) -> Problem {
    let json = serde_json::from_str::<Value>(data).ok();
    let facts = json.as_ref().map(Facts::of).unwrap_or_default();
    let kind = facts.kind(None);
    let message = facts.message.as_deref().unwrap_or("the provider reported an error inside the stream");
    Problem::new(kind, message).retry_after(json.as_ref().and_then(from_body))
}

/// A body as JSON, if it is an object or a list.
pub(crate) fn body_of(body: &[u8]) -> Option<Value> {
    serde_json::from_slice(body).ok().filter(|value: &Value| value.is_object() || value.is_array())
}

fn unread_body(status: u16, body: &[u8], json: bool) -> String {
    // A body that was cut may end inside a character: what is whole before it still tells something.
    let whole = core::str::from_utf8(body).map_or_else(|error| error.valid_up_to(), str::len);
    let text = core::str::from_utf8(body.get(..whole).unwrap_or_default()).unwrap_or_default().trim();
    if text.is_empty() || json || text.starts_with('<') {
        return format!("the provider answered with HTTP status {status}");
    }
    format!("the provider answered with HTTP status {status}: {}", crate::text::prefix(text, 512))
}

/// What an error body says, whatever its shape.
#[derive(Debug, Default)]
struct Facts {
    message: Option<String>,
    /// Code, type and status, as [`EXACT`] writes them.
    words: Vec<String>,
    /// A numeric code that is an HTTP status.
    status: Option<u16>,
}

impl Facts {
    fn of(body: &Value) -> Self {
        let body = body.get(0).unwrap_or(body);
        let error = body.get("error").filter(|error| !error.is_null()).unwrap_or(body);
        let mut facts = Self::default();
        // `{"error":"text","code":…}` keeps its words beside the text.
        for object in [error, body] {
            for name in ["code", "type", "status", "status_code"] {
                facts.word(object.get(name));
            }
            if object.is_object() && !core::ptr::eq(object, body) {
                break;
            }
        }
        let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(String::from);
        facts.message = error
            .as_str()
            .map(String::from)
            .or_else(|| text(error, "message"))
            .or_else(|| text(body, "message"))
            .or_else(|| text(body, "detail"))
            .or_else(|| text(body.get("detail")?.get(0)?, "msg"));
        facts
    }

    fn word(&mut self, value: Option<&Value>) {
        let number = value.and_then(Value::as_u64).and_then(|n| u16::try_from(n).ok());
        self.status = self.status.or(number.filter(|n| (400..600).contains(n)));
        if let Some(word) = value.and_then(Value::as_str).filter(|word| word.len() <= 64) {
            self.words.push(word.to_lowercase().replace(['-', ' ', '.'], "_"));
        }
    }

    fn find(&self, table: &[(&str, ProblemKind)]) -> Option<ProblemKind> {
        self.words.iter().find_map(|word| table.iter().find(|(name, _)| name == word).map(|(_, kind)| *kind))
    }

    fn kind(&self, status: Option<u16>) -> ProblemKind {
        if let Some(kind) = self.find(EXACT) {
            return kind;
        }
        let end = |word: &String| ENDS.iter().find(|(end, _)| word.ends_with(end)).map(|(_, kind)| *kind);
        if let Some(kind) = self.words.iter().find_map(end) {
            return kind;
        }
        let kind = status.or(self.status).map(by_status).or_else(|| self.find(GENERAL));
        match kind {
            // Only a refused request is read more closely: elsewhere the phrases would be guesses.
            None | Some(InvalidRequest | RequestTooLarge) => self.phrase().or(kind).unwrap_or(Server),
            Some(kind) => kind,
        }
    }

    fn phrase(&self) -> Option<ProblemKind> {
        let message = crate::text::prefix(self.message.as_deref()?, 4096).to_lowercase();
        PHRASES.iter().find(|(phrase, _)| message.contains(phrase)).map(|(_, kind)| *kind)
    }
}

fn by_status(status: u16) -> ProblemKind {
    let listed = STATUSES.iter().find(|(known, _)| *known == status).map(|(_, kind)| *kind);
    listed.unwrap_or(match status {
        409 | 425 => Other,
        400..500 => InvalidRequest,
        500..600 => Server,
        _ => Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    #[test]
    fn every_row_of_the_word_table_is_reached_from_code_type_and_status() {
        for (word, kind) in EXACT {
            for name in ["code", "type", "status"] {
                let body = format!("{{\"error\":{{\"message\":\"m\",\"{name}\":\"{word}\"}}}}");
                assert_eq!(http_error(400, &[], body.as_bytes(), None).kind, *kind, "{body}");
                assert_eq!(stream_error(&body).kind, *kind, "{body}");
            }
        }
        let quota =
            "{\"error\":{\"message\":\"m\",\"type\":\"x\",\"code\":\"project_spend_limit_exceeded\"}}";
        let problem = http_error(429, &[("x-should-retry", "true")], quota.as_bytes(), None);
        assert_eq!((problem.kind, problem.is_retryable()), (QuotaExhausted, false));
    }

    #[test]
    fn statuses_decide_without_a_word() {
        for (status, kind, retry) in [
            (400, InvalidRequest, false),
            (401, Authentication, false),
            (402, QuotaExhausted, false),
            (404, NotFound, false),
            (408, Timeout, true),
            (409, Other, true),
            (418, InvalidRequest, false),
            (425, Other, true),
            (429, RateLimited, true),
            (500, Server, true),
            (501, InvalidRequest, false),
            (503, Overloaded, true),
            (522, Server, true),
            (529, Overloaded, true),
            (302, Other, false),
        ] {
            for body in
                ["", "<html><title>x</title>", "{\"error\":{\"type\":\"api_error\",\"message\":\"m\"}}"]
            {
                let problem = http_error(status, &[], body.as_bytes(), None);
                assert_eq!((problem.kind, problem.is_retryable()), (kind, retry), "{status} {body}");
                assert_eq!(problem.status, Some(status));
            }
        }
        let waits = http_error(402, &[("Retry-After", "3")], b"", None);
        assert_eq!((waits.kind, waits.retry_after), (RateLimited, Some(Duration::from_secs(3))));
        assert!(!http_error(500, &[("X-Should-Retry", "false")], b"", None).is_retryable());
    }

    #[test]
    fn messages_come_out_of_every_shape_and_secrets_do_not() {
        for (body, message) in [
            ("{\"error\":{\"message\":\"a\"}}", "a"),
            ("[{\"error\":{\"message\":\"a\"}}]", "a"),
            ("{\"error\":\"a\",\"code\":\"x\"}", "a"),
            ("{\"error\":null,\"message\":\"a\"}", "a"),
            ("{\"object\":\"error\",\"message\":\"a\"}", "a"),
            ("{\"detail\":\"a\"}", "a"),
            ("{\"detail\":[{\"msg\":\"a\"}]}", "a"),
            ("plain", "the provider answered with HTTP status 500: plain"),
            ("<p>", "the provider answered with HTTP status 500"),
            ("[]", "the provider answered with HTTP status 500"),
            ("", "the provider answered with HTTP status 500"),
            ("{\"error\":{\"message\":\"key sk-canary-12345678\"}}", "key [redacted]"),
        ] {
            assert_eq!(http_error(500, &[], body.as_bytes(), None).message, message, "{body}");
        }
        assert_eq!(
            http_error(500, &[], b"cut in an \xc3", None).message,
            "the provider answered with HTTP status 500: cut in an"
        );
        assert_eq!(
            http_error(500, &[], b"\xff\xfe", None).message,
            "the provider answered with HTTP status 500"
        );
    }

    #[test]
    fn errors_in_streams_go_by_word_number_and_phrase() {
        for (data, kind) in [
            ("{\"error\":{\"code\":503,\"message\":\"m\"}}", Overloaded),
            ("{\"error\":{\"code\":400,\"message\":\"maximum context length is 10\"}}", ContextOverflow),
            ("{\"error\":{\"type\":\"server_error\",\"message\":\"m\"}}", Server),
            ("{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"m\"}}", InvalidRequest),
            ("{\"error\":{\"message\":\"Prompt is too long\"}}", ContextOverflow),
            ("not json", Server),
        ] {
            assert_eq!(stream_error(data).kind, kind, "{data}");
        }
    }
}
