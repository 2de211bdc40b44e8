//! A server in memory: what the client sends lies in one place, what it gets in another.

use runloom::mcp::{McpClient, McpError, McpLine, McpOptions, McpTransport};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

type Answer = Box<dyn Fn(&Value) -> Vec<Value> + Send>;

/// The server's end. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Server(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    sent: Vec<Value>,
    inbox: VecDeque<Result<McpLine, McpError>>,
    answer: Option<Answer>,
    /// What the transport was polled with.
    waker: Option<Waker>,
    blocked: bool,
    panics: bool,
    dropped: bool,
    meanwhile: Option<Box<dyn FnOnce() + Send>>,
    polls: usize,
}

/// The client's end.
pub(crate) struct Pipe(Server);

impl Server {
    /// A server that answers the handshake, and all else with what `answer` makes of it.
    pub(crate) fn new(answer: impl Fn(&Value) -> Vec<Value> + Send + 'static) -> Self {
        let server = Self::default();
        server.0.lock().expect("no panic under the lock").answer =
            Some(Box::new(move |line| match line["method"].as_str() {
                Some("initialize") => vec![welcome(line)],
                _ => answer(line),
            }));
        server
    }

    /// A server with the tool `t` that answers nothing else by itself.
    pub(crate) fn silent() -> Self {
        Self::new(|line| match line["method"].as_str() {
            Some("tools/list") => vec![result(line, json!({"tools": [declaration("t")]}))],
            _ => Vec::new(),
        })
    }

    pub(crate) fn pipe(&self) -> Pipe {
        Pipe(self.clone())
    }

    /// A client that has shaken hands.
    pub(crate) fn client(&self) -> McpClient<Pipe> {
        self.client_with(McpOptions::new())
    }

    pub(crate) fn client_with(&self, options: McpOptions) -> McpClient<Pipe> {
        let connecting = McpClient::connect(self.pipe(), options);
        futures_lite::future::block_on(connecting).expect("a handshake")
    }

    /// Sends a message to the client.
    pub(crate) fn say(&self, message: Value) {
        self.say_line(&message.to_string());
    }

    pub(crate) fn say_line(&self, line: &str) {
        self.push(Ok(McpLine::Text(line.into())));
    }

    pub(crate) fn push(&self, line: Result<McpLine, McpError>) {
        let waker = {
            let mut state = self.0.lock().expect("no panic under the lock");
            state.inbox.push_back(line);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(crate) fn close(&self) {
        self.push(Err(McpError::closed("gone")));
    }

    /// Whether nothing may be sent to it.
    pub(crate) fn block(&self, blocked: bool) {
        let waker = {
            let mut state = self.0.lock().expect("no panic under the lock");
            state.blocked = blocked;
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(crate) fn panics(&self) {
        self.0.lock().expect("no panic under the lock").panics = true;
    }

    /// Has this happen while the client has nothing more to read and is not done looking.
    pub(crate) fn meanwhile(&self, happens: impl FnOnce() + Send + 'static) {
        self.0.lock().expect("no panic under the lock").meanwhile = Some(Box::new(happens));
    }

    /// How often the client has asked for a line.
    pub(crate) fn polls(&self) -> usize {
        self.0.lock().expect("no panic under the lock").polls
    }

    pub(crate) fn is_dropped(&self) -> bool {
        self.0.lock().expect("no panic under the lock").dropped
    }

    /// All messages from the client with this method.
    pub(crate) fn got(&self, method: &str) -> Vec<Value> {
        let state = self.0.lock().expect("no panic under the lock");
        state.sent.iter().filter(|line| line["method"] == method).cloned().collect()
    }

    /// How many messages the client has sent.
    pub(crate) fn sent(&self) -> usize {
        self.0.lock().expect("no panic under the lock").sent.len()
    }
}

impl McpTransport for Pipe {
    fn poll_send(&mut self, cx: &mut Context<'_>, line: &str) -> Poll<Result<(), McpError>> {
        let mut state = self.0.0.lock().expect("no panic under the lock");
        if state.blocked {
            state.waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        assert!(!line.contains('\n'), "{line}");
        let message: Value = serde_json::from_str(line).expect("the client sends JSON");
        let answers = state.answer.as_ref().map(|answer| answer(&message)).unwrap_or_default();
        state.inbox.extend(answers.into_iter().map(|answer| Ok(McpLine::Text(answer.to_string()))));
        state.sent.push(message);
        Poll::Ready(Ok(()))
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<McpLine, McpError>> {
        let mut state = self.0.0.lock().expect("no panic under the lock");
        assert!(!state.panics, "a scripted panic");
        state.polls += 1;
        if let Some(line) = state.inbox.pop_front() {
            return Poll::Ready(line);
        }
        state.waker = Some(cx.waker().clone());
        let happens = state.meanwhile.take();
        drop(state);
        if let Some(happens) = happens {
            happens();
        }
        Poll::Pending
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.0.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).dropped = true;
    }
}

pub(crate) fn welcome(request: &Value) -> Value {
    let info =
        json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s"}});
    result(request, info)
}

pub(crate) fn declaration(name: &str) -> Value {
    json!({"name": name, "description": format!("does {name}"), "inputSchema": {"type": "object"}})
}

pub(crate) fn result(request: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": request["id"], "result": result})
}

pub(crate) fn text(request: &Value, text: &str) -> Value {
    result(request, json!({"content": [{"type": "text", "text": text}]}))
}

pub(crate) fn progress(request: &Value, done: u64) -> Value {
    let token = &request["params"]["_meta"]["progressToken"];
    json!({"jsonrpc": "2.0", "method": "notifications/progress",
           "params": {"progressToken": token, "progress": done, "total": 9}})
}

/// Counts its wakes.
#[derive(Default)]
pub(crate) struct Counter(AtomicUsize);

impl Counter {
    pub(crate) fn new() -> (Arc<Self>, Waker) {
        let counter = Arc::<Self>::default();
        (Arc::clone(&counter), Waker::from(counter))
    }

    /// How often it was woken since this was asked last.
    pub(crate) fn take(&self) -> usize {
        self.0.swap(0, Ordering::SeqCst)
    }
}

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// The one text of an output.
pub(crate) fn said(output: &runloom::ToolOutput) -> String {
    match &*output.content {
        [runloom::Part::Text(text)] => text.to_string(),
        other => panic!("{other:?}"),
    }
}
