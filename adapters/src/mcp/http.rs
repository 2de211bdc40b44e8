//! A transport over HTTP: each message is a request of its own.

use super::McpTransport;
use crate::core::mcp::{McpError, McpHttpAnswer, McpLimits, McpLine};
use crate::core::provider::Secret;
use crate::core::text::Text;
use crate::host::{Flavour, Local, Shared};
use crate::http::{
    HttpClient, HttpError, HttpHeaders, HttpMethod, HttpRequest, HttpResponse, HttpUrl, LocalHttpClient,
};
use futures_core::Stream;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Most pieces of one body in one poll.
const PIECES: usize = 64;
/// Most calls that are being taken back.
const ASIDES: usize = 64;
/// Longest session id that is taken.
const LONGEST_SESSION: usize = 1024;

type Answered<B> = Result<HttpResponse<B>, HttpError>;
type Send<F, B> = <F as Flavour>::Function<HttpRequest, <F as Flavour>::Future<Answered<B>>>;

/// A server behind HTTP ("Streamable HTTP" of the versions 2025-03-26 to 2025-11-25), over any client.
///
/// Each message is posted; what answers a request is one JSON object or a stream of events, and its connection is closed
/// with its answer or when the call is taken back. An exchange that fails is the failure of its own call, and the
/// connection goes on. The server's session is kept for as long as the transport lives. What a server would send by
/// itself, outside of any answer, is not asked for, and an answer that broke off is not resumed.
///
/// No deadline is set here: calls have those of their tools. `Debug` shows no header, and secrets of the address and the
/// headers are masked in what the server says.
pub struct McpHttp<F: Flavour, B: 'static> {
    send: Send<F, B>,
    url: HttpUrl,
    headers: HttpHeaders,
    limits: McpLimits,
    secrets: Vec<Secret>,
    version: Option<String>,
    session: Option<String>,
    exchanges: VecDeque<Exchange<F, B>>,
    /// A message without an answer, until the server has taken it: what comes after it must not overtake it.
    note: Option<F::Future<Answered<B>>>,
    /// Calls that are taken back, until the server has taken it: nothing waits for them, and the oldest is given up.
    asides: VecDeque<F::Future<Answered<B>>>,
    lines: VecDeque<McpLine>,
}

struct Exchange<F: Flavour, B: 'static> {
    id: u64,
    /// It is the handshake.
    greets: bool,
    state: State<F, B>,
}

enum State<F: Flavour, B: 'static> {
    Opening(F::Future<Answered<B>>),
    Reading(Pin<Box<B>>, McpHttpAnswer),
}

/// What is to be known of a line that goes out.
#[derive(Deserialize)]
struct Outgoing<'a> {
    #[serde(default)]
    id: serde_json::Value,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(default)]
    params: Option<Cancelled>,
}

#[derive(Deserialize)]
struct Cancelled {
    #[serde(default, rename = "requestId")]
    request: Option<u64>,
}

/// What the answer to the handshake says about the version.
#[derive(Deserialize)]
struct Greeting {
    result: Agreed,
}

#[derive(Deserialize)]
struct Agreed {
    #[serde(rename = "protocolVersion")]
    version: String,
}

impl<B> McpHttp<Shared, B> {
    /// The server at this address, over a client whose futures may move between threads.
    pub fn new<C>(client: C, url: &str) -> Self
    where
        C: HttpClient<Body = B> + std::marker::Send + Sync + 'static,
        B: Stream<Item = Result<Vec<u8>, HttpError>> + std::marker::Send + 'static,
    {
        let client = Arc::new(client);
        Self::over(
            Arc::new(move |request| {
                let client = Arc::clone(&client);
                Box::pin(async move { HttpClient::send(&*client, request).await })
            }),
            url,
        )
    }
}

impl<B> McpHttp<Local, B> {
    /// The server at this address, over a client that stays on one thread.
    pub fn local<C>(client: C, url: &str) -> Self
    where
        C: LocalHttpClient<Body = B> + 'static,
        B: Stream<Item = Result<Vec<u8>, HttpError>> + 'static,
    {
        let client = Rc::new(client);
        Self::over(
            Rc::new(move |request| {
                let client = Rc::clone(&client);
                Box::pin(async move { LocalHttpClient::send(&*client, request).await })
            }),
            url,
        )
    }
}

impl<F: Flavour, B: 'static> McpHttp<F, B> {
    fn over(send: Send<F, B>, url: &str) -> Self {
        Self {
            send,
            url: HttpUrl::from(url),
            headers: HttpHeaders::new(),
            limits: McpLimits::default(),
            secrets: Secret::in_url(url),
            version: None,
            session: None,
            exchanges: VecDeque::new(),
            note: None,
            asides: VecDeque::new(),
            lines: VecDeque::new(),
        }
    }

    /// With a further header on each request, such as an authorization.
    ///
    /// # Errors
    ///
    /// [`HttpError::InvalidRequest`] if name or value cannot be a header's.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, HttpError> {
        self.headers.set(name, value)?;
        self.secrets.extend(Secret::in_header(value));
        Ok(self)
    }

    /// With the bound of lines of these limits, for what answers one request in one piece.
    #[must_use]
    pub fn limits(mut self, limits: McpLimits) -> Self {
        self.limits = limits;
        self
    }

    fn post(&self, line: &str) -> Result<F::Future<Answered<B>>, HttpError> {
        let mut request = HttpRequest::new(HttpMethod::Post, self.url.as_str());
        request.headers = self.headers.clone();
        request.headers.set("content-type", "application/json")?;
        request.headers.set("accept", "application/json, text/event-stream")?;
        if let Some(version) = &self.version {
            request.headers.set("mcp-protocol-version", version)?;
        }
        if let Some(session) = &self.session {
            request.headers.set("mcp-session-id", session)?;
        }
        request.body = line.as_bytes().to_vec();
        Ok(F::call(&self.send, request))
    }

    fn masked(&self, text: &str) -> Text {
        self.secrets.iter().fold(Text::new(text), |text, secret| secret.mask(&text))
    }

    /// Without secrets that the server repeats.
    fn clean(&self, line: McpLine) -> McpLine {
        match line {
            McpLine::Failed { id, error: McpError::Http { status, message } } => {
                McpLine::Failed { id, error: McpError::Http { status, message: self.masked(&message) } }
            }
            McpLine::Failed { id, error: McpError::Lost(why) } => {
                McpLine::Failed { id, error: McpError::Lost(self.masked(&why)) }
            }
            other => other,
        }
    }

    /// Keeps what the handshake has agreed on.
    fn greeted(&mut self, line: &McpLine) {
        if let McpLine::Text(text) = line
            && let Ok(greeting) = serde_json::from_str::<Greeting>(text)
        {
            self.version = Some(greeting.result.version);
        }
    }

    fn begin(&mut self, response: &HttpResponse<B>) {
        let session = response.headers.get("mcp-session-id");
        let shown = |session: &&str| session.bytes().all(|byte| (0x21..0x7f).contains(&byte));
        if let Some(session) = session.filter(shown).filter(|session| session.len() <= LONGEST_SESSION) {
            self.secrets.push(Secret::new(session));
            self.session = Some(session.to_owned());
        }
    }
}

impl<F: Flavour, B: Stream<Item = Result<Vec<u8>, HttpError>> + 'static> McpHttp<F, B> {
    /// Goes on with one exchange; whether it is over.
    fn go_on(&mut self, exchange: &mut Exchange<F, B>, cx: &mut Context<'_>, out: &mut Vec<McpLine>) -> bool {
        if let State::Opening(opening) = &mut exchange.state {
            match Pin::new(opening).poll(cx) {
                Poll::Pending => return false,
                Poll::Ready(Ok(response)) => {
                    if exchange.greets {
                        self.begin(&response);
                    }
                    let kind = response.headers.get("content-type");
                    let answer = McpHttpAnswer::new(Some(exchange.id), response.status, kind, &self.limits);
                    exchange.state = State::Reading(Box::pin(response.body), answer);
                }
                Poll::Ready(Err(error)) => {
                    let error = McpError::Lost(Text::from(error.to_string()));
                    out.push(McpLine::Failed { id: exchange.id, error });
                    return true;
                }
            }
        }
        let State::Reading(body, answer) = &mut exchange.state else { return true };
        for _ in 0..PIECES {
            match body.as_mut().poll_next(cx) {
                Poll::Pending => return false,
                Poll::Ready(Some(Ok(piece))) => answer.feed(&piece, out),
                Poll::Ready(Some(Err(error))) => answer.fail(&error.to_string(), out),
                Poll::Ready(None) => answer.finish(out),
            }
            if answer.is_ended() {
                return true;
            }
        }
        cx.waker().wake_by_ref();
        false
    }

    fn poll_note(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), McpError>> {
        let Some(note) = &mut self.note else { return Poll::Ready(Ok(())) };
        match Pin::new(note).poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(_) => {
                // There is nothing to read in what takes a note, and nobody waits for one that was lost.
                self.note = None;
                Poll::Ready(Ok(()))
            }
        }
    }
}

impl<F: Flavour, B: Stream<Item = Result<Vec<u8>, HttpError>> + 'static> McpTransport for McpHttp<F, B> {
    fn secrets(&self) -> Vec<Secret> {
        self.secrets.clone()
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, line: &str) -> Poll<Result<(), McpError>> {
        if self.note.is_some() {
            return self.poll_note(cx);
        }
        let outgoing = serde_json::from_str::<Outgoing<'_>>(line).ok();
        let method = outgoing.as_ref().and_then(|outgoing| outgoing.method.as_deref()).unwrap_or_default();
        let posted = match self.post(line) {
            Ok(posted) => posted,
            Err(error) => return Poll::Ready(Err(McpError::closed(&error.to_string()))),
        };
        let id = outgoing.as_ref().and_then(|outgoing| outgoing.id.as_u64()).filter(|_| !method.is_empty());
        if let Some(id) = id {
            let greets = method == "initialize";
            self.exchanges.push_back(Exchange { id, greets, state: State::Opening(posted) });
            return Poll::Ready(Ok(()));
        }
        if method == "notifications/cancelled" {
            let cancelled = outgoing.as_ref().and_then(|outgoing| outgoing.params.as_ref()?.request);
            self.exchanges.retain(|exchange| Some(exchange.id) != cancelled);
            if self.asides.len() >= ASIDES {
                self.asides.pop_front();
            }
            self.asides.push_back(posted);
            return Poll::Ready(Ok(()));
        }
        self.note = Some(posted);
        self.poll_note(cx)
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<McpLine, McpError>> {
        self.asides.retain_mut(|aside| Pin::new(aside).poll(cx).is_pending());
        for _ in 0..self.exchanges.len() {
            if !self.lines.is_empty() {
                break;
            }
            let Some(mut exchange) = self.exchanges.pop_front() else { break };
            let mut lines = Vec::new();
            let over = self.go_on(&mut exchange, cx, &mut lines);
            if exchange.greets {
                lines.iter().for_each(|line| self.greeted(line));
            }
            if !over {
                self.exchanges.push_back(exchange);
            }
            let clean: Vec<McpLine> = lines.into_iter().map(|line| self.clean(line)).collect();
            self.lines.extend(clean);
        }
        match self.lines.pop_front() {
            Some(line) => Poll::Ready(Ok(line)),
            None => Poll::Pending,
        }
    }
}

impl<F: Flavour, B: 'static> fmt::Debug for McpHttp<F, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpHttp").field("url", &self.url).field("exchanges", &self.exchanges.len()).finish()
    }
}
