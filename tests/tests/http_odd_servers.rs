//! Whole runs against servers that do odd things.
#![allow(clippy::unwrap_used)]

use futures_lite::future::{block_on, or};
use runloom::core::provider::anthropic::Anthropic;
use runloom::core::provider::dialect::Dialect;
use runloom::core::provider::openai_chat::OpenAiChat;
use runloom::http::{Endpoint, HttpModel};
use runloom::smol::SmolTimer;
use runloom::smol::http::SmolHttpClient;
use runloom::{
    Config, Deadlines, Engine, Event, Host, Limits, ModelSpec, Outcome, RetryPolicy, RunResult, Shared,
};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

const CANARY: &str = "sesame-canary-value";
const ANSWER: &str = "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"yes\"}}\n\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\ndata: {\"type\":\"message_stop\"}\n\n";

/// What a server does with a connection and the request that it read from it.
type Script = Box<dyn Fn(&mut TcpStream, &str) + Send>;

/// A server that answers each connection with the next of these, after it has read the request; its root URL.
fn server(answers: Vec<Script>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
    std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            let request = read_request(&mut stream);
            answer(&mut stream, &request);
        }
    });
    url
}

fn read_request(stream: &mut TcpStream) -> String {
    let (mut request, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            if body.len() >= length.parse().unwrap() {
                return text;
            }
        }
        match stream.read(&mut piece) {
            Ok(read) if read > 0 => request.extend_from_slice(&piece[..read]),
            _ => return text,
        }
    }
}

fn says(text: impl Into<Vec<u8>>) -> Script {
    let bytes = text.into();
    Box::new(move |stream, _| {
        // A client that has seen enough may be gone.
        let _ = stream.write_all(&bytes);
    })
}

fn ok(body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn engine_over(host: Host<Shared>, deadlines: Deadlines) -> Engine<Shared, SmolTimer> {
    let mut retry = RetryPolicy::default();
    retry.first_wait = Duration::from_millis(1);
    retry.hint_cap = Duration::from_millis(10);
    let config = Config::new(Limits::default()).unwrap().deadlines(deadlines).unwrap().retry(retry).unwrap();
    Engine::builder(host, SmolTimer::new()).config(config).build()
}

/// One run; its outcome and all of its log.
fn run(engine: &Engine<Shared, SmolTimer>) -> (Arc<Outcome>, String, Vec<Event>) {
    let session = engine.session().unwrap();
    let (run, driver) = session.start("is it so?").unwrap();
    let outcome = block_on(or(
        async {
            let (outcome, _) = futures_lite::future::zip(driver, run.outcome()).await;
            Some(outcome)
        },
        async {
            runloom::sleep(SmolTimer::new(), Duration::from_secs(20)).await;
            None
        },
    ));
    let events = run.handle().events_after(runloom::Seq(0), usize::MAX);
    let log = run.handle().log_json();
    (outcome.expect("the run ends in time"), log, events.into_iter().map(|envelope| envelope.event).collect())
}

fn anthropic(url: &str) -> Host<Shared> {
    let endpoint = Endpoint::new(url).key("sk-key");
    let model = HttpModel::new(Anthropic::new(), SmolHttpClient::new().unwrap(), endpoint);
    Host::shared().model(ModelSpec::new("m"), model).build().unwrap()
}

fn openai(url: &str) -> Host<Shared> {
    let model = HttpModel::new(
        OpenAiChat::new(Dialect::compatible()),
        SmolHttpClient::new().unwrap(),
        Endpoint::new(url),
    );
    Host::shared().model(ModelSpec::new("m"), model).build().unwrap()
}

fn failures(events: &[Event]) -> Vec<String> {
    let kind = |event: &Event| match event {
        Event::ModelFailed(failed) => Some(failed.problem.kind.as_str().to_owned()),
        _ => None,
    };
    events.iter().filter_map(kind).collect()
}

/// What goes wrong on the way to a complete answer is tried again, and the second answer counts.
// proves: M8, R2
#[test]
fn a_broken_answer_is_tried_again() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let half = &ANSWER[..ANSWER.len() / 2];
    let odd: Vec<(&str, Vec<u8>)> = vec![
        ("nothing", Vec::new()),
        ("half a head", b"HTTP/1.1 200 OK\r\ncontent-".to_vec()),
        ("an empty body", ok("")),
        ("half a body", format!("HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n{half}").into_bytes()),
        ("half an answer", ok(half)),
        ("half a chunk", format!("{chunked}ff\r\n").into_bytes()),
        ("no last chunk", format!("{chunked}{:x}\r\n{half}\r\n", half.len()).into_bytes()),
        ("interim only", b"HTTP/1.1 100 Continue\r\n\r\n".to_vec()),
        ("garbage", b"\x16\x03\x01 this is not HTTP\r\n\r\n".to_vec()),
    ];
    for (what, bytes) in odd {
        let url = server(vec![says(bytes), says(ok(ANSWER))]);
        let (outcome, log, events) = run(&engine_over(anthropic(&url), Deadlines::default()));
        assert_eq!(outcome.answer().map(|answer| answer.text.as_str()), Some("yes"), "{what}: {log}");
        assert_eq!(failures(&events).len(), 1, "{what}: {log}");
    }
}

/// Whatever surrounds a good answer, it is read.
// proves: M8
#[test]
fn a_good_answer_in_odd_clothes_is_read() {
    let length = ANSWER.len();
    let odd = [
        format!(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\nHTTP/1.1 200 OK\r\n\r\n{ANSWER}"
        ),
        format!(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n{length:X};a=b\r\n{ANSWER}\r\n0\r\nx-trailer: y\r\n\r\n"
        ),
        format!(
            "HTTP/1.1 200 OK\r\nx-much: {}\r\ncontent-length: {length}\r\n\r\n{ANSWER}and more",
            "v".repeat(40_000)
        ),
        format!("HTTP/1.0 200 OK\r\n\r\n\u{feff}: a comment\n\n{}", ANSWER.replace("\n\n", "\r\n\r\n")),
        format!("HTTP/1.1 201\r\ncontent-length: {length}\r\n\r\n{ANSWER}"),
    ];
    for bytes in odd {
        let head: String = bytes.chars().take(40).collect();
        let (outcome, log, _) =
            run(&engine_over(anthropic(&server(vec![says(bytes)])), Deadlines::default()));
        assert_eq!(outcome.answer().map(|answer| answer.text.as_str()), Some("yes"), "{head}: {log}");
    }
}

/// A body that comes byte by byte is read, and each byte counts as life.
// proves: R10
#[test]
fn slow_bytes_are_life() {
    let slow: Script = Box::new(|stream, _| {
        stream.set_nodelay(true).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n: ").unwrap();
        for _ in 0..20 {
            std::thread::sleep(Duration::from_millis(30));
            stream.write_all(b".").unwrap();
        }
        stream.write_all(b"\n\n").unwrap();
        stream.write_all(ANSWER.as_bytes()).unwrap();
    });
    let mut deadlines = Deadlines::default();
    deadlines.idle = Some(Duration::from_millis(300));
    let (outcome, log, events) = run(&engine_over(anthropic(&server(vec![slow])), deadlines));
    assert!(outcome.answer().is_some() && failures(&events).is_empty(), "{log}");
}

/// A server that accepts and says nothing is given up, and tried again.
// proves: R10
#[test]
fn silence_is_given_up() {
    let silent: fn() -> Script = || {
        Box::new(|stream, _| {
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest);
        })
    };
    let mut deadlines = Deadlines::default();
    deadlines.first_item = Some(Duration::from_millis(100));
    let url = server(vec![silent(), says(ok(ANSWER))]);
    let (outcome, log, events) = run(&engine_over(anthropic(&url), deadlines));
    assert!(outcome.answer().is_some(), "{log}");
    assert_eq!(failures(&events).len(), 1, "{log}");
}

/// What a server refuses for good ends the run at once.
// proves: R3
#[test]
fn a_refusal_is_final() {
    let refusals = [
        "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 404 Not Found\r\ncontent-length: 9\r\n\r\n<html>no!",
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
    ];
    for refusal in refusals {
        for host in [anthropic, openai] {
            let (outcome, log, events) =
                run(&engine_over(host(&server(vec![says(refusal)])), Deadlines::default()));
            assert!(matches!(outcome.result, RunResult::Failed(_)), "{refusal}: {log}");
            assert_eq!(failures(&events).len(), 1, "{refusal}: {log}");
        }
    }
}

/// Some servers answer 200 and put their error into the body, as JSON and not as a stream.
// proves: M3, M8
#[test]
fn an_error_under_a_good_status_is_an_error() {
    for (host, body) in [
        (
            anthropic as fn(&str) -> Host<Shared>,
            r#"{"type":"error","error":{"type":"authentication_error","message":"bad key"}}"#,
        ),
        (
            openai,
            r#"{"error":{"message":"bad key","type":"invalid_request_error","code":"invalid_api_key"}}"#,
        ),
    ] {
        let bytes = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let again = || says(bytes.clone());
        let url = server(vec![again(), again(), again(), again()]);
        let (outcome, log, events) = run(&engine_over(host(&url), Deadlines::default()));
        assert!(matches!(outcome.result, RunResult::Failed(_)), "{log}");
        assert!(log.contains("bad key"), "{:?} {log}", failures(&events));
    }
}

/// A server that repeats what it was sent gives away no credential, wherever that was configured.
// proves: M5
#[test]
fn an_echo_gives_nothing_away() {
    let echo: Script = Box::new(|stream, request| {
        let heads = request.split_once("\r\n\r\n").map_or("", |(head, _)| head);
        let message = heads.replace("\r\n", " ").replace('"', "'");
        let body = format!(
            "{{\"type\":\"error\",\"error\":{{\"type\":\"invalid_request_error\",\"message\":\"{message}\"}}}}"
        );
        let head = format!("HTTP/1.1 400 Bad Request\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all((head + &body).as_bytes()).unwrap();
    });
    let url = server(vec![echo]).replace("http://", "http://user:url%2dcanary%2dvalue@");
    let endpoint = Endpoint::new(&url)
        .key("key-canary-value")
        .header("x-gateway-token", CANARY)
        .header("proxy-auth", "Bearer bearer-canary-value");
    let model = HttpModel::new(Anthropic::new(), SmolHttpClient::new().unwrap(), endpoint);
    let host = Host::shared().model(ModelSpec::new("m"), model).build().unwrap();
    let (outcome, log, _) = run(&engine_over(host, Deadlines::default()));
    let shown = format!("{log} {outcome:?}");
    assert!(shown.contains("anthropic-version"), "the server's words are shown: {shown}");
    // The last one is `user:url-canary-value` as it stands in the header.
    for secret in ["canary-value", "dXNlcjp1cmwtY2FuYXJ5LXZhbHVl"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

/// A connection that breaks off while TLS is set up is a connection that broke off, and is tried again.
// proves: R2
#[test]
fn a_handshake_that_breaks_off_is_tried_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    let connections = std::thread::spawn(move || {
        for _ in 0..4 {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 64]);
        }
    });
    let (outcome, log, events) = run(&engine_over(anthropic(&url), Deadlines::default()));
    assert!(matches!(outcome.result, RunResult::Failed(_)));
    assert_eq!(failures(&events), ["connection"; 4], "{log}");
    connections.join().unwrap();
}
