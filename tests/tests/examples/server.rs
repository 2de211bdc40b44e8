//! A server with answers of a test's own, which keeps the requests.

use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

/// What a client sent.
#[derive(Debug)]
pub(crate) struct Request {
    /// The first line.
    pub(crate) line: String,
    /// All header lines, in lower case.
    pub(crate) headers: String,
    pub(crate) body: Value,
}

/// A server that gives its answers in order, one a connection, and then is gone.
pub(crate) struct Server {
    pub(crate) url: String,
    thread: JoinHandle<Vec<Request>>,
}

impl Server {
    pub(crate) fn start(answers: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let serve = move |answer: String| {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            let request = read(&mut stream);
            let _ = stream.write_all(answer.as_bytes());
            request
        };
        let thread = std::thread::spawn(move || answers.into_iter().map(serve).collect());
        Self { url, thread }
    }

    /// The requests, once each answer was given.
    pub(crate) fn requests(self) -> Vec<Request> {
        self.thread.join().unwrap()
    }
}

fn read(stream: &mut TcpStream) -> Request {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    let head = String::from_utf8(head).unwrap();
    let (line, headers) = head.split_once("\r\n").unwrap();
    let headers = headers.to_lowercase();
    let length = headers.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    Request { line: line.to_owned(), headers, body: serde_json::from_slice(&body).unwrap() }
}

/// A failed answer with a JSON body.
pub(crate) fn failure(status: u16, body: &Value) -> String {
    let body = body.to_string();
    let length = body.len();
    format!(
        "HTTP/1.1 {status} No\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// A streamed answer that ends with the connection.
pub(crate) fn stream(events: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{events}")
}

/// A call of a tool: its name and arguments.
pub(crate) type Call<'a> = (&'a str, Value);

/// Anthropic's stream of a text and calls.
pub(crate) fn anthropic(text: &str, calls: &[Call<'_>]) -> String {
    let mut events = vec![
        json!({"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "content": [],
            "usage": {"input_tokens": 10, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
        json!({"type": "content_block_stop", "index": 0}),
    ];
    for (n, (name, arguments)) in calls.iter().enumerate() {
        let (index, id, arguments) = (n + 1, format!("toolu_{n}"), arguments.to_string());
        let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
        let delta = json!({"type": "input_json_delta", "partial_json": arguments});
        events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let reason = if calls.is_empty() { "end_turn" } else { "tool_use" };
    events.push(
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}}),
    );
    events.push(json!({"type": "message_stop"}));
    let event = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    stream(&events.iter().map(event).collect::<String>())
}

/// OpenAI's stream of a text and calls.
pub(crate) fn openai(text: &str, calls: &[Call<'_>]) -> String {
    let chunk = |delta: Value, finish: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    let mut chunks = vec![chunk(json!({"role": "assistant", "content": text}), Value::Null)];
    for (n, (name, arguments)) in calls.iter().enumerate() {
        let function = json!({"name": name, "arguments": arguments.to_string()});
        let call = json!({"index": n, "id": format!("call_{n}"), "type": "function", "function": function});
        chunks.push(chunk(json!({"tool_calls": [call]}), Value::Null));
    }
    chunks.push(chunk(json!({}), json!(if calls.is_empty() { "stop" } else { "tool_calls" })));
    chunks.push(json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}));
    stream(
        &(chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect::<String>() + "data: [DONE]\n\n"),
    )
}
