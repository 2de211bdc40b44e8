//! What the server answers to which request.

use super::conversation::Conversation;
use super::request::Request;
use crate::endpoint::Provider;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};

/// Most characters of a text that a mark in a recording is replaced by.
const MAX_MARK: usize = 200;

/// What goes back.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    /// Seconds to wait before the next request.
    pub(super) retry_after: Option<u32>,
    pub(super) body: Body,
}

#[derive(Debug)]
pub(super) enum Body {
    Json(Value),
    /// A recording, ready to be played.
    Events(String),
}

impl Reply {
    /// A refusal of something that has not even a provider's path.
    pub(super) fn refused(status: u16, message: &str) -> Self {
        Self { status, retry_after: None, body: Body::Json(json!({"error": {"message": message}})) }
    }

    fn error(provider: Provider, status: u16, kind: &str, message: &str) -> Self {
        let body = match provider {
            Provider::Anthropic => json!({
                "type": "error",
                "error": {"type": kind, "message": message},
                "request_id": "req_01RunloomRecording",
            }),
            Provider::OpenAi => {
                json!({"error": {"message": message, "type": kind, "param": null, "code": null}})
            }
        };
        Self { status, retry_after: None, body: Body::Json(body) }
    }
}

/// Remembers that it has refused a request once.
#[derive(Debug, Default)]
pub(super) struct Script {
    overloaded: AtomicBool,
}

impl Script {
    /// What the request gets.
    pub(super) fn reply(&self, request: &Request) -> Reply {
        let provider = match &*request.path {
            "/v1/messages" => Provider::Anthropic,
            "/v1/chat/completions" => Provider::OpenAi,
            _ => return Reply::refused(404, "there is nothing here"),
        };
        if request.method != "POST" {
            return Reply::error(provider, 405, "invalid_request_error", "only POST is answered");
        }
        let invalid = |message: &str| Reply::error(provider, 400, "invalid_request_error", message);
        let Ok(request) = serde_json::from_slice::<Value>(&request.body) else {
            return invalid("the body is not JSON");
        };
        if request.get("stream") != Some(&Value::Bool(true)) {
            return invalid("only streams are recorded: stream must be true");
        }
        let conversation = Conversation::read(provider, &request).filter(|c| !c.user.is_empty());
        let Some(conversation) = conversation else {
            return invalid("messages must hold what a user said");
        };
        if !self.overloaded.swap(true, Ordering::SeqCst) {
            let (kind, message) = match provider {
                Provider::Anthropic => ("overloaded_error", "Overloaded"),
                Provider::OpenAi => ("server_error", "The server is overloaded. Please try again later."),
            };
            return Reply { retry_after: Some(1), ..Reply::error(provider, 529, kind, message) };
        }
        let events = fill(recording(provider, &conversation), &conversation);
        Reply { status: 200, retry_after: None, body: Body::Events(events) }
    }
}

fn recording(provider: Provider, conversation: &Conversation) -> &'static str {
    let (tools, answer, follow_up) = match provider {
        Provider::Anthropic => (
            include_str!("../../recordings/anthropic-tools.sse"),
            include_str!("../../recordings/anthropic-answer.sse"),
            include_str!("../../recordings/anthropic-follow-up.sse"),
        ),
        Provider::OpenAi => (
            include_str!("../../recordings/openai-tools.sse"),
            include_str!("../../recordings/openai-answer.sse"),
            include_str!("../../recordings/openai-follow-up.sse"),
        ),
    };
    match (conversation.results.is_empty(), conversation.user.len()) {
        (false, _) => answer,
        (true, 1) => tools,
        (true, _) => follow_up,
    }
}

/// Replaces the marks `{{…}}` of a recording. Each stands inside of a JSON string, and so does what replaces it.
fn fill(recording: &str, conversation: &Conversation) -> String {
    let text = |text: Option<&String>| -> String {
        let cut: String = text.map_or("nothing", String::as_str).chars().take(MAX_MARK).collect();
        let quoted = Value::from(cut).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let mut pieces = recording.split("{{");
    let mut filled = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (mark, rest) = piece.split_once("}}").unwrap_or((piece, ""));
        let number = mark.strip_prefix("result ").and_then(|n| n.parse::<usize>().ok());
        filled += &match (mark, number) {
            (_, Some(n)) => text(conversation.results.get(n.saturating_sub(1))),
            ("first", _) => text(conversation.user.first()),
            ("last", _) => text(conversation.user.last()),
            ("turn", _) => conversation.user.len().to_string(),
            _ => format!("{{{{{mark}}}}}"),
        };
        filled += rest;
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(path: &str, body: &Value) -> Request {
        Request { method: "POST".into(), path: path.into(), body: body.to_string().into_bytes() }
    }

    #[test]
    fn the_answer_is_built_from_the_results() {
        let script = Script::default();
        let result = |text: &str| json!({"role": "tool", "tool_call_id": "x", "content": text});
        let messages = json!([
            {"role": "user", "content": "a"},
            {"role": "assistant", "tool_calls": []},
            result("4\"2"),
            result("152"),
        ]);
        let asked = request("/v1/chat/completions", &json!({"stream": true, "messages": messages}));
        let refused = script.reply(&asked);
        assert_eq!((refused.status, refused.retry_after), (529, Some(1)));
        let Body::Events(events) = script.reply(&asked).body else { panic!() };
        assert!(events.contains(r#""content":" 4\"2, and""#) && events.contains("152."), "{events}");
        assert!(!events.contains("{{"));
    }

    #[test]
    fn later_turns_are_about_the_conversation() {
        let script = Script { overloaded: true.into() };
        let said = |text: &str| json!({"role": "user", "content": text});
        let body = json!({"stream": true, "messages": [said("one\n"), {"role": "assistant", "content": "x"}, said("two")]});
        let Body::Events(events) = script.reply(&request("/v1/messages", &body)).body else { panic!() };
        assert!(
            events.contains(r#""text":" 2 of our""#) && events.contains(r"one\n") && events.contains("two")
        );
    }

    #[test]
    fn requests_are_checked_before_they_count() {
        let script = Script::default();
        let status = |path: &str, body: Value| script.reply(&request(path, &body)).status;
        assert_eq!(status("/v1/models", json!({})), 404);
        assert_eq!(status("/v1/messages", json!({"messages": []})), 400);
        assert_eq!(status("/v1/messages", json!({"stream": true, "messages": []})), 400);
        let get = Request { method: "GET".into(), ..request("/v1/messages", &json!({})) };
        assert_eq!(script.reply(&get).status, 405);
        let whole = json!({"stream": true, "messages": [{"role": "user", "content": "a"}]});
        assert_eq!(status("/v1/messages", whole.clone()), 529);
        assert_eq!(status("/v1/messages", whole), 200);
    }
}
