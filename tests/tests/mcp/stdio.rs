//! A server that is a program: small ones made of a shell, for what a good server does not do.
#![cfg(unix)]

use futures_lite::future::{block_on, or};
use runloom::mcp::{McpClient, McpError, McpLimits, McpOptions};
use runloom::sleep;
use runloom::smol::{SmolTimer, StdioServer, StdioTransport};
use std::path::PathBuf;
use std::time::{Duration, Instant};

const WELCOME: &str =
    r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}"#;

/// A shell that reads the handshake, answers it, and then does this. What answers a call has to read it first: an answer
/// that is there before its call is nobody's.
fn shell(then: &str) -> StdioServer {
    StdioServer::new("sh").arg("-c").arg(format!("read -r hello; echo '{WELCOME}'; read -r ready\n{then}"))
}

fn connect(server: &StdioServer) -> Result<McpClient<StdioTransport>, McpError> {
    block_on(McpClient::connect(server.start().expect("a shell"), McpOptions::new()))
}

/// Ends with an error instead of hanging.
fn timely<T>(future: impl Future<Output = T>) -> T {
    let late = async {
        sleep(SmolTimer::new(), Duration::from_secs(60)).await;
        panic!("took too long")
    };
    block_on(or(future, late))
}

#[test]
fn a_program_that_is_not_there_is_an_error() {
    assert!(StdioServer::new("no-such-program-anywhere").start().is_err());
}

// proves: C11
#[test]
fn a_server_is_killed_and_reaped_when_it_is_dropped() {
    let transport = shell("exec sleep 1000").start().unwrap();
    let process = PathBuf::from(format!("/proc/{}", transport.id()));
    let client = block_on(McpClient::connect(transport, McpOptions::new())).unwrap();
    // Where there is no such folder, nothing can be seen.
    assert!(process.exists() || cfg!(not(target_os = "linux")));
    drop(client);
    let start = Instant::now();
    while process.exists() {
        assert!(start.elapsed() < Duration::from_secs(20), "the server is still there");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_end_of_a_server_tells_its_last_words_without_secrets() {
    let server = shell("echo >&2 \"cannot use $TOKEN, sk-other-canary-123456\"; exec >&-; sleep 0.2; exit 3")
        .env("TOKEN", "sesame-canary-words");
    let client = connect(&server).unwrap();
    let McpError::Closed(text) = timely(client.attend()) else { panic!() };
    assert!(text.contains("cannot use [redacted], [redacted]"), "{text}");
    assert!(!text.contains("canary"), "{text}");
    assert!(!format!("{server:?}").contains("canary"));
}

#[test]
fn the_environment_is_what_was_given() {
    let server = shell(
        r#"read -r call; echo "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"$A,$CARGO_MANIFEST_DIR,$HOME,$CARGO\"}]}}"; sleep 9"#,
    );
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let client = connect(&server.env("A", "given").inherit("CARGO")).unwrap();
    let output = timely(client.call("t", "{}").unwrap()).unwrap();
    let expected = format!("given,,,{}", std::env::var("CARGO").unwrap_or_default());
    assert_eq!(crate::wire::said(&output), expected);
}

#[test]
fn a_flood_on_the_standard_error_holds_up_nothing() {
    let then = r#"read -r call; i=0; while [ $i -lt 20000 ]; do echo "this is line $i of noise" >&2; i=$((i+1)); done
        echo '{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"done"}]}}'; sleep 9"#;
    let client = connect(&shell(then)).unwrap();
    let output = timely(client.call("t", "{}").unwrap()).unwrap();
    assert_eq!((crate::wire::said(&output).as_str(), client.ignored().malformed), ("done", 0));
}

#[test]
fn a_line_over_the_bound_is_skipped_and_its_call_told() {
    let then = r#"read -r long; read -r good; printf '{"jsonrpc":"2.0","result":{"x":"'; head -c 300000 /dev/zero | tr '\0' x
        printf '"},"id":2}\n{"jsonrpc":"2.0","id":3,"result":{"content":[]}}\n'; sleep 9"#;
    let mut limits = McpLimits::default();
    limits.line_bytes = 1000;
    let server = shell(then).limits(limits);
    let transport = server.start().unwrap();
    let client = block_on(McpClient::connect(transport, McpOptions::new().limits(limits))).unwrap();
    let (long, good) = (client.call("t", "{}").unwrap(), client.call("t", "{}").unwrap());
    assert_eq!(timely(long), Err(McpError::LineTooLong { limit: 1000, observed: 300_000 + 42 }));
    assert!(timely(good).is_ok());
}

#[test]
fn a_server_that_does_not_read_gets_its_lines_when_it_does() {
    let then = r#"sleep 0.3; n=2; while read -r line; do
        echo "{\"jsonrpc\":\"2.0\",\"id\":$n,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"${#line}\"}]}}"; n=$((n+1)); done"#;
    let client = connect(&shell(then)).unwrap();
    // More than a pipe holds.
    let arguments = format!(r#"{{"text":"{}"}}"#, "y".repeat(300_000));
    let (a, b) = (client.call("t", &arguments).unwrap(), client.call("t", "{}").unwrap());
    let (a, b) = timely(futures_lite::future::zip(a, b));
    assert!(crate::wire::said(&a.unwrap()).parse::<usize>().unwrap() > 300_000);
    assert!(crate::wire::said(&b.unwrap()).parse::<usize>().unwrap() < 200);
}

#[test]
fn a_server_that_ends_before_the_handshake_is_an_error() {
    let server = StdioServer::new("sh").arg("-c").arg("echo 'usage: server FILE' >&2; exit 2");
    let McpError::Closed(text) = connect(&server).unwrap_err() else { panic!() };
    assert!(text.contains("usage: server FILE"), "{text}");
}
