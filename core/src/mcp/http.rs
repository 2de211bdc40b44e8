//! What a server answers to one message over HTTP, from its head to its end, without IO.

use super::error::{MAX_ERROR_TEXT, McpError};
use super::limits::McpLimits;
use super::line::McpLine;
use super::message::{Message, decode};
use crate::problem::clean;
use crate::provider::read::Members;
use crate::provider::sse::{SseDecoder, SseLimits};
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::ControlFlow;

/// Most bytes of a refusal that are read.
const MAX_REFUSAL: usize = 64 * 1024;

/// The answer to one message that was posted: its body, cut anywhere, becomes the lines that a stream would bring.
///
/// A request has its answer among them, or [`McpLine::Failed`] at the end: for a status that is no success, a body that
/// broke off, or one that did not answer.
#[derive(Debug)]
pub struct McpHttpAnswer {
    /// The request, until it is answered; `None` for a notification or an answer to the server.
    request: Option<u64>,
    limit: usize,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Events(SseDecoder),
    Json(Vec<u8>),
    /// A JSON body that is too long, and its length until now.
    TooLong(u64),
    Refusal(u16, Vec<u8>),
    Ended,
}

impl McpHttpAnswer {
    /// The answer to the request with this number, or to a message that is none, with this head.
    pub fn new(request: Option<u64>, status: u16, content_type: Option<&str>, limits: &McpLimits) -> Self {
        let kind = content_type.unwrap_or_default();
        let is_events = kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream");
        let limit = limits.line_bytes;
        let body = match status {
            200..=299 if is_events => Body::Events(SseDecoder::new(SseLimits { line: limit, event: limit })),
            200..=299 => Body::Json(Vec::new()),
            _ => Body::Refusal(status, Vec::new()),
        };
        Self { request, limit, body }
    }

    /// Whether nothing that follows would be read: the connection may be closed.
    pub fn is_ended(&self) -> bool {
        matches!(self.body, Body::Ended)
    }

    /// Takes in a piece of the body.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<McpLine>) {
        match &mut self.body {
            Body::Events(decoder) => {
                let from = out.len();
                let fed = decoder.feed(bytes, &mut |event| {
                    out.push(McpLine::Text(String::from(event.data)));
                    ControlFlow::Continue(())
                });
                self.look(from, out);
                if fed.is_err() {
                    let bytes = self.limit as u64 + 1;
                    out.push(McpLine::TooLong { bytes, id: self.request.take() });
                    self.body = Body::Ended;
                }
            }
            Body::Json(body) if body.len() + bytes.len() > self.limit => {
                self.body = Body::TooLong((body.len() + bytes.len()) as u64);
            }
            Body::Json(body) => body.extend_from_slice(bytes),
            Body::TooLong(length) => *length += bytes.len() as u64,
            Body::Refusal(_, body) => {
                let room = MAX_REFUSAL.saturating_sub(body.len());
                body.extend(bytes.iter().take(room));
            }
            Body::Ended => {}
        }
    }

    /// The body ended cleanly.
    pub fn finish(&mut self, out: &mut Vec<McpLine>) {
        let from = out.len();
        match core::mem::replace(&mut self.body, Body::Ended) {
            Body::Events(mut decoder) => {
                decoder.finish(&mut |event| {
                    out.push(McpLine::Text(String::from(event.data)));
                    ControlFlow::Continue(())
                });
                self.look(from, out);
            }
            Body::Json(body) if body.iter().all(u8::is_ascii_whitespace) => {}
            Body::Json(body) => {
                out.push(McpLine::Text(String::from_utf8_lossy(&body).into_owned()));
                self.look(from, out);
            }
            Body::TooLong(bytes) => out.push(McpLine::TooLong { bytes, id: self.request.take() }),
            Body::Refusal(status, body) => self.refuse(status, &String::from_utf8_lossy(&body), out),
            Body::Ended => {}
        }
        self.fail("it ended before the answer did", out);
    }

    /// The exchange broke off. What a refusal has told until then counts more.
    pub fn fail(&mut self, why: &str, out: &mut Vec<McpLine>) {
        if let Body::Refusal(status, body) = core::mem::replace(&mut self.body, Body::Ended) {
            self.refuse(status, &String::from_utf8_lossy(&body), out);
        }
        if let Some(id) = self.request.take() {
            out.push(McpLine::Failed { id, error: McpError::Lost(clean(why, MAX_ERROR_TEXT)) });
        }
    }

    /// Notes whether the request has its answer: nothing after that is of use.
    fn look(&mut self, from: usize, out: &[McpLine]) {
        for line in out.iter().skip(from) {
            if let McpLine::Text(text) = line
                && self.request.is_some_and(|request| answers(text, request))
            {
                (self.request, self.body) = (None, Body::Ended);
            }
        }
    }

    fn refuse(&mut self, status: u16, body: &str, out: &mut Vec<McpLine>) {
        let Some(id) = self.request.take() else { return };
        if answers(body, id) {
            return out.push(McpLine::Text(String::from(body)));
        }
        let told = Members::read(body).and_then(|members| members.get("error").and_then(Members::read));
        let told = told.and_then(|error| error.text("message"));
        let message = clean(told.as_deref().unwrap_or(body.trim()), MAX_ERROR_TEXT);
        out.push(McpLine::Failed { id, error: McpError::Http { status, message } });
    }
}

/// Whether a line answers the request of this number.
fn answers(line: &str, request: u64) -> bool {
    let is_answer = |message: &Message<'_>| match message {
        Message::Response { id, .. } => *id == request,
        Message::Complaint(_) | Message::Request { .. } | Message::Notification { .. } => false,
    };
    decode(line).is_ok_and(|messages| messages.iter().flatten().any(is_answer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    const ANSWER: &str = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;

    fn read(request: Option<u64>, status: u16, kind: &str, body: &str, size: usize) -> Vec<McpLine> {
        let limits = McpLimits { line_bytes: 200, ..McpLimits::default() };
        let (mut answer, mut out) = (McpHttpAnswer::new(request, status, Some(kind), &limits), Vec::new());
        body.as_bytes().chunks(size).for_each(|piece| answer.feed(piece, &mut out));
        answer.finish(&mut out);
        assert!(answer.is_ended());
        out
    }

    #[test]
    fn one_object_and_a_stream_of_events_are_the_same() {
        let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#;
        let events =
            alloc::format!("id: 1\ndata:\n\n: alive\nevent: message\ndata: {progress}\n\ndata: {ANSWER}\n\n");
        let text = |text: &str| McpLine::Text(text.into());
        for size in [1, 7, 1000] {
            assert_eq!(read(Some(7), 200, "application/json", ANSWER, size), [text(ANSWER)]);
            let found = read(Some(7), 200, "Text/Event-Stream; charset=utf-8", &events, size);
            assert_eq!(found, [text(progress), text(ANSWER)]);
        }
        assert!(read(None, 202, "", "", 1).is_empty());
    }

    #[test]
    fn a_request_without_an_answer_fails() {
        let lost =
            |id| McpLine::Failed { id, error: McpError::Lost("it ended before the answer did".into()) };
        assert_eq!(read(Some(7), 200, "text/event-stream", "", 9), [lost(7)]);
        assert_eq!(read(Some(7), 202, "", "", 9), [lost(7)]);
        let other = ANSWER.replace('7', "8");
        let found = read(Some(7), 200, "application/json", &other, 9);
        assert_eq!(found, [McpLine::Text(other), lost(7)]);
        let mut out = Vec::new();
        let mut answer = McpHttpAnswer::new(Some(7), 200, Some("text/event-stream"), &McpLimits::default());
        answer.fail("cut, sk-canary-123456", &mut out);
        assert_eq!(out, [McpLine::Failed { id: 7, error: McpError::Lost("cut, [redacted]".into()) }]);
        assert!(read(None, 200, "text/event-stream", "", 9).is_empty());
    }

    #[test]
    fn a_refusal_says_why() {
        let http = |status, message: &str| {
            vec![McpLine::Failed { id: 7, error: McpError::Http { status, message: message.into() } }]
        };
        assert_eq!(read(Some(7), 503, "text/html", "come\nback later", 3), http(503, "come back later"));
        let told = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no session"}}"#;
        assert_eq!(read(Some(7), 400, "application/json", told, 99), http(400, "no session"));
        let own = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"what?"}}"#;
        assert_eq!(read(Some(7), 404, "application/json", own, 99), [McpLine::Text(own.into())]);
        assert!(read(None, 400, "application/json", told, 99).is_empty());
        let long = read(Some(7), 500, "", &"x".repeat(200_000), 1000);
        assert!(
            matches!(&long[..], [McpLine::Failed { error: McpError::Http { message, .. }, .. }] if message.len() <= 1024)
        );
    }

    #[test]
    fn a_body_over_the_bound_fails_its_request() {
        let long = ANSWER.replace("{}", &alloc::format!("{{\"a\":\"{}\"}}", "x".repeat(300)));
        let found = read(Some(7), 200, "application/json", &long, 50);
        assert_eq!(found, [McpLine::TooLong { bytes: long.len() as u64, id: Some(7) }]);
        let found = read(Some(7), 200, "text/event-stream", &alloc::format!("data: {long}\n\n"), 50);
        assert_eq!(found, [McpLine::TooLong { bytes: 201, id: Some(7) }]);
    }
}
