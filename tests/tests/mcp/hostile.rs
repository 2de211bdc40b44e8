//! Servers that break the protocol: each call has its end, and nothing panics.

use crate::wire::{Server, said, text};
use futures_lite::future::{block_on, poll_once};
use runloom::mcp::{McpClient, McpError, McpLimits, McpLine, McpOptions};
use runloom::testing::Random;
use runloom_core::mcp::{LineBuffer, McpClientInfo, McpConnection, McpEvent};
use serde_json::{Value, json};
use std::collections::BTreeSet;

#[test]
fn garbage_between_answers_harms_nobody() {
    let server = Server::silent();
    let client = server.client();
    let mut call = client.call("t", "{}").unwrap();
    assert!(block_on(poll_once(&mut call)).is_none());
    let request = server.got("tools/call").remove(0);
    for line in [
        "npm WARN deprecated",
        "\u{1b}[31mstarting\u{1b}[0m",
        "{\"jsonrpc\":\"2.0\",\"id\":",
        "[]",
        "null",
        &"[".repeat(100_000),
        r#"{"jsonrpc":"2.0","id":999,"result":{"content":[]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#,
    ] {
        server.say_line(line);
    }
    server.push(Ok(McpLine::TooLong { bytes: 1 << 33, id: None }));
    server.say(text(&request, "fine"));
    server.say(text(&request, "twice"));
    assert_eq!(said(&block_on(&mut call).unwrap()), "fine");
    assert!(block_on(poll_once(client.attend())).is_none());
    let ignored = client.ignored();
    assert_eq!((ignored.malformed, ignored.unknown, ignored.late), (7, 1, 2));
}

#[test]
fn an_answer_over_the_bound_fails_its_own_call() {
    let server = Server::silent();
    let client = server.client_with(McpOptions::new().limits(McpLimits::default()));
    let (mut long, mut good) = (client.call("t", "{}").unwrap(), client.call("t", "{}").unwrap());
    assert!(block_on(poll_once(&mut long)).is_none() && block_on(poll_once(&mut good)).is_none());
    let calls = server.got("tools/call");
    server.push(Ok(McpLine::TooLong { bytes: 1 << 33, id: calls[0]["id"].as_u64() }));
    server.say(text(&calls[1], "fine"));
    assert!(matches!(block_on(long), Err(McpError::LineTooLong { observed, .. }) if observed == 1 << 33));
    assert_eq!(said(&block_on(good).unwrap()), "fine");
}

#[test]
fn an_end_in_the_middle_ends_every_call() {
    let server = Server::silent();
    let client = server.client();
    let mut calls: Vec<_> = (0..3).map(|_| client.call("t", "{}").unwrap()).collect();
    for call in &mut calls {
        assert!(block_on(poll_once(call)).is_none());
    }
    let first = server.got("tools/call").remove(0);
    server.say(text(&first, "just in time"));
    server.close();
    let ends: Vec<_> = calls.into_iter().map(block_on).collect();
    assert_eq!(said(ends[0].as_ref().unwrap()), "just in time");
    assert!(ends[1..].iter().all(|end| *end == Err(McpError::Closed("gone".into()))), "{ends:?}");
    assert!(server.is_dropped());
    assert_eq!(block_on(client.list()).unwrap_err(), McpError::Closed("gone".into()));
}

#[test]
fn a_transport_that_panics_ends_the_connection_and_nothing_else() {
    let server = Server::silent();
    let client = server.client();
    let mut call = client.call("t", "{}").unwrap();
    server.panics();
    let end = block_on(poll_once(&mut call));
    assert_eq!(end, Some(Err(McpError::Closed("the transport panicked".into()))));
    assert_eq!(client.open_requests(), 0);
}

#[test]
fn a_handshake_that_comes_to_nothing_is_an_error() {
    let connect = |line: Option<Value>| {
        let server = Server::default();
        match line {
            Some(line) => server.say(line),
            None => server.close(),
        }
        let end = block_on(McpClient::connect(server.pipe(), McpOptions::new()));
        assert!(server.is_dropped());
        end.unwrap_err()
    };
    let result = |result: Value| Some(json!({"jsonrpc": "2.0", "id": 1, "result": result}));
    assert_eq!(connect(None), McpError::Closed("gone".into()));
    assert_eq!(
        connect(result(json!({"protocolVersion": "1999-01-01"}))),
        McpError::Version("1999-01-01".into())
    );
    assert!(matches!(connect(result(json!([]))), McpError::Malformed(_)));
}

/// Lines that were good once, with bytes changed, taken out and doubled: whatever they say then, each call has at most
/// one end, and what is held stays within its bounds.
#[test]
fn damaged_lines_do_no_damage() {
    const LINES: [&str; 6] = [
        r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"hé"},{"type":"image","data":"Zm9v","mimeType":"image/png"}],"structuredContent":{"a":[1.5]}}}"#,
        r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"no","data":{"x":null}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":3,"progress":1,"total":2,"message":"m"}}"#,
        r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a.b","inputSchema":{"type":"object"}}],"nextCursor":"c"}}"#,
        r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#,
        r#"[{"jsonrpc":"2.0","id":5,"result":{}},{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}]"#,
    ];
    let mut random = Random::new(7);
    let (mut ended, mut ignored) = (0, 0);
    for _ in 0..4_000 {
        let mut connection = McpConnection::new(McpClientInfo::default(), McpLimits::default());
        let welcome =
            r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}"#;
        connection.receive(McpLine::Text(welcome.into()));
        connection.list_tools().expect("a list");
        for _ in 0..3 {
            connection.call_tool("t", "{}", true).expect("a call");
        }
        let (mut buffer, mut lines) = (LineBuffer::new(300), Vec::new());
        for line in LINES {
            let mut bytes = line.as_bytes().to_vec();
            for _ in 0..random.below(4) {
                let at = random.below(bytes.len() as u64) as usize;
                match random.below(4) {
                    0 => bytes[at] = random.below(256) as u8,
                    1 if bytes.len() > 1 => drop(bytes.remove(at)),
                    3 => bytes.truncate(at.max(1)),
                    _ => bytes.insert(at, bytes[at]),
                }
            }
            buffer.feed(&bytes, &mut lines);
            buffer.feed(b"\n", &mut lines);
        }
        buffer.finish(&mut lines);
        lines.into_iter().for_each(|line| connection.receive(line));
        let mut ends = BTreeSet::new();
        while let Some(event) = connection.next_event() {
            if let McpEvent::Called(request, _) | McpEvent::Listed(request, _) = event {
                assert!(ends.insert(request), "{request:?} ended twice");
                ended += 1;
            }
        }
        assert_eq!(ends.len() + connection.open_requests(), 4);
        ignored += connection.ignored().malformed;
        assert!(std::iter::from_fn(|| connection.next_line()).count() < 20);
    }
    assert!(ended > 4_000 && ignored > 4_000, "{ended}, {ignored}");
}

#[test]
fn a_flood_does_not_keep_its_reader_from_other_work() {
    let server = Server::silent();
    let client = server.client();
    let mut call = client.call("t", "{}").unwrap();
    assert!(block_on(poll_once(&mut call)).is_none());
    let request = server.got("tools/call").remove(0);
    (0..1000).for_each(|_| server.say_line("noise"));
    server.say(text(&request, "end"));
    let mut polls = 1;
    let end = block_on(async {
        loop {
            match poll_once(&mut call).await {
                Some(end) => break end,
                None => polls += 1,
            }
        }
    });
    assert_eq!(said(&end.unwrap()), "end");
    assert!((3..20).contains(&polls), "{polls}");
}
