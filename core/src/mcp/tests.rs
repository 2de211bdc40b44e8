//! The connection as a whole, against servers good and bad.

use super::*;
use crate::message::Part;
use crate::text::Text;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"9"}}}"#;

fn say(connection: &mut McpConnection, line: &str) {
    connection.receive(McpLine::Text(line.into()));
}

fn lines(connection: &mut McpConnection) -> Vec<String> {
    core::iter::from_fn(|| connection.next_line()).collect()
}

fn events(connection: &mut McpConnection) -> Vec<McpEvent> {
    core::iter::from_fn(|| connection.next_event()).collect()
}

fn limited(limits: McpLimits) -> McpConnection {
    let mut connection = McpConnection::new(McpClientInfo::default(), limits);
    assert_eq!(lines(&mut connection).len(), 1);
    say(&mut connection, HELLO);
    assert_eq!(events(&mut connection), [McpEvent::Ready]);
    assert_eq!(lines(&mut connection), [r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#]);
    connection
}

fn ready() -> McpConnection {
    limited(McpLimits::default())
}

/// The numbers of the requests among these lines.
fn ids(lines: &[String]) -> Vec<u64> {
    let id = |line: &String| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].as_u64();
    lines.iter().filter_map(id).collect()
}

fn call(connection: &mut McpConnection) -> (McpRequest, u64) {
    let request = connection.call_tool("t", "{}", true).unwrap();
    let sent = lines(connection);
    (request, *ids(&sent).last().unwrap())
}

fn result(id: u64, text: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#)
}

fn text(event: &McpEvent) -> (McpRequest, String) {
    let McpEvent::Called(request, Ok(output)) = event else { panic!("{event:?}") };
    let [Part::Text(text)] = &*output.content else { panic!("{event:?}") };
    (*request, text.as_str().into())
}

#[test]
fn the_handshake_comes_first() {
    let mut connection = McpConnection::new(McpClientInfo::default(), McpLimits::default());
    assert_eq!(connection.list_tools(), Err(McpError::NotReady));
    let sent = lines(&mut connection);
    let expected = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{{"name":"runloom","version":"{}"}}}}}}"#,
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(sent, [expected]);
    say(&mut connection, HELLO);
    let server = connection.server().unwrap();
    assert_eq!((&*server.name, &*server.version, server.tools), ("s", "9", true));
    assert_eq!(server.protocol.as_str(), "2025-11-25");
}

#[test]
fn every_version_with_a_handshake_is_taken_and_no_other() {
    for (version, known) in [
        ("2024-11-05", true),
        ("2025-03-26", true),
        ("2025-06-18", true),
        ("2025-11-25", true),
        ("2026-07-28", false),
        ("1.0", false),
        ("", false),
    ] {
        let mut connection = McpConnection::new(McpClientInfo::default(), McpLimits::default());
        let hello = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"@","capabilities":{}}}"#;
        say(&mut connection, &hello.replace('@', version));
        let expected =
            if known { McpEvent::Ready } else { McpEvent::Closed(McpError::Version(Text::new(version))) };
        assert_eq!(events(&mut connection), [expected], "{version}");
        assert_eq!(connection.server().is_some_and(|server| !server.tools), known);
    }
}

#[test]
fn a_server_without_a_handshake_is_asked_for_its_version() {
    let refusal = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}"#;
    let told = |versions: &str| {
        let mut connection = McpConnection::new(McpClientInfo::default(), McpLimits::default());
        lines(&mut connection);
        say(&mut connection, refusal);
        let asked = lines(&mut connection).remove(0);
        assert!(asked.contains(r#""method":"server/discover""#) && asked.contains("2026-07-28"), "{asked}");
        say(
            &mut connection,
            &format!(
                r#"{{"jsonrpc":"2.0","id":2,"result":{{"resultType":"complete","supportedVersions":{versions},"capabilities":{{"tools":{{}}}},"_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"modern"}}}}}}}}"#
            ),
        );
        connection
    };
    let mut connection = told(r#"["2027-01-01","2026-07-28"]"#);
    assert_eq!(events(&mut connection), [McpEvent::Ready]);
    assert_eq!(connection.server().unwrap().name, "modern");
    assert!(lines(&mut connection).is_empty());
    connection.call_tool("t", "{}", true).unwrap();
    let sent = lines(&mut connection).remove(0);
    for part in ["protocolVersion\":\"2026-07-28\"", "clientCapabilities\":{}", "\"progressToken\":3"] {
        assert!(sent.contains(part), "{sent}");
    }
    let question = r#"{"jsonrpc":"2.0","id":3,"result":{"resultType":"input_required","inputRequests":{}}}"#;
    say(&mut connection, question);
    let found = events(&mut connection);
    assert!(matches!(&found[..], [McpEvent::Called(_, Err(McpError::InputRequired))]), "{found:?}");

    let closed = events(&mut told(r#"["2027-01-01"]"#));
    assert_eq!(closed, [McpEvent::Closed(McpError::Version("2027-01-01".into()))]);
    let mut connection = McpConnection::new(McpClientInfo::default(), McpLimits::default());
    say(&mut connection, refusal);
    say(&mut connection, &refusal.replace("\"id\":1", "\"id\":2").replace("such", "other"));
    let first = McpError::Server { code: -32601, message: "no such method".into() };
    assert_eq!(events(&mut connection), [McpEvent::Closed(first)]);
}

#[test]
fn pages_become_one_list() {
    let mut connection = ready();
    let request = connection.list_tools().unwrap();
    assert_eq!(lines(&mut connection), [r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#]);
    say(
        &mut connection,
        r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a","inputSchema":{}}],"nextCursor":"c\n"}}"#,
    );
    assert!(events(&mut connection).is_empty());
    assert_eq!(
        lines(&mut connection),
        [r#"{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"c\n"}}"#]
    );
    say(&mut connection, r#"{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"b","inputSchema":{}}]}}"#);
    let found = events(&mut connection);
    let [McpEvent::Listed(listed, Ok(list))] = &found[..] else { panic!("{found:?}") };
    assert_eq!(*listed, request);
    assert_eq!(list.tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn a_list_without_end_ends_at_its_bounds() {
    let limits = McpLimits { pages: 3, tools: 5, ..McpLimits::default() };
    for (each, expected) in [(1, 3), (2, 3), (3, 2)] {
        let mut connection = limited(limits);
        connection.list_tools().unwrap();
        let mut pages = 0;
        while let Some(id) = ids(&lines(&mut connection)).pop() {
            let tools: Vec<String> =
                (0..each).map(|n| format!(r#"{{"name":"t{pages}-{n}","inputSchema":{{}}}}"#)).collect();
            let tools = tools.join(",");
            say(
                &mut connection,
                &format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{tools}],"nextCursor":"again"}}}}"#
                ),
            );
            pages += 1;
        }
        assert_eq!(pages, expected, "{each}");
        let found = events(&mut connection);
        assert!(
            matches!(&found[..], [McpEvent::Listed(_, Err(McpError::TooManyTools { tools: 5, pages: 3 }))]),
            "{found:?}"
        );
    }
}

// proves: M9
#[test]
fn arguments_go_out_as_they_are_written() {
    let mut connection = ready();
    connection.call_tool("t\"", " {\"a\": 1.50,\n\"é\":\"\\n\"}\r\n", false).unwrap();
    assert_eq!(
        lines(&mut connection),
        [
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t\"","arguments":{"a": 1.50, "é":"\n"}}}"#
        ]
    );
    for arguments in ["", "[]", "{", "{}{}", "{\"a\":1e999}", "7"] {
        assert_eq!(connection.call_tool("t", arguments, true), Err(McpError::Arguments), "{arguments}");
    }
    assert!(lines(&mut connection).is_empty() && connection.open_requests() == 1);
}

#[test]
fn calls_end_in_any_order_and_reports_keep_theirs() {
    let mut connection = ready();
    let ((a, id_a), (b, id_b)) = (call(&mut connection), call(&mut connection));
    for (id, done) in [(id_a, 1), (id_b, 1), (id_a, 2)] {
        let line = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":@,"progress":#}}"#;
        say(&mut connection, &line.replace('@', &format!("{id}")).replace('#', &format!("{done}")));
    }
    say(&mut connection, &result(id_b, "second"));
    say(&mut connection, &result(id_a, "first"));
    let found = events(&mut connection);
    let report = |event: &McpEvent| {
        let McpEvent::Progress(request, report) = event else { panic!("{event:?}") };
        (*request, format!("{report}"))
    };
    let reports: Vec<_> = found[..3].iter().map(report).collect();
    assert_eq!(reports, [(a, "1".into()), (b, "1".into()), (a, "2".into())]);
    assert_eq!(text(&found[3]), (b, "second".into()));
    assert_eq!(text(&found[4]), (a, "first".into()));
    assert_eq!(connection.ignored(), &McpIgnored::default());
}

#[test]
fn what_nobody_waits_for_is_counted_and_harms_nothing() {
    let mut connection = ready();
    let (_, id) = call(&mut connection);
    for line in ["starting up ...", "{\"jsonrpc\":\"2.0\"", "[1,2]", "{}"] {
        say(&mut connection, line);
    }
    connection.receive(McpLine::TooLong { bytes: 1 << 40, id: None });
    for unknown in [0, 77, u64::MAX] {
        say(&mut connection, &result(unknown, "x"));
    }
    say(&mut connection, &result(1, "a second welcome"));
    say(
        &mut connection,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":77,"progress":1}}"#,
    );
    say(&mut connection, r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"hi"}}"#);
    say(&mut connection, &result(id, "there"));
    say(&mut connection, &result(id, "again"));
    let found = events(&mut connection);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(text(&found[0]).1, "there");
    let ignored = connection.ignored();
    assert_eq!((ignored.malformed, ignored.unknown, ignored.late, ignored.progress), (6, 3, 2, 1));
    assert!(lines(&mut connection).is_empty());
}

#[test]
fn an_answer_that_cannot_be_read_fails_its_own_call_only() {
    for (answer, expected) in [
        (r#""result":7"#, "Malformed"),
        (r#""result":{}"#, "Malformed"),
        (r#""result":{"resultType":"strange","content":[]}"#, "Malformed"),
        (r#""error":7"#, "Malformed"),
        (r#""error":{"code":-5,"message":"no"}"#, "Server"),
        (r#""result":{"content":[]},"error":{"code":1}"#, "Malformed"),
    ] {
        let mut connection = ready();
        let ((bad, id_bad), (good, id_good)) = (call(&mut connection), call(&mut connection));
        say(&mut connection, &format!(r#"{{"jsonrpc":"2.0","id":{id_bad},{answer}}}"#));
        say(&mut connection, &result(id_good, "fine"));
        let found = events(&mut connection);
        let McpEvent::Called(request, Err(error)) = &found[0] else { panic!("{found:?}") };
        assert_eq!(*request, bad);
        assert!(format!("{error:?}").starts_with(expected), "{answer}: {error:?}");
        assert_eq!(text(&found[1]), (good, "fine".into()));
    }
}

#[test]
fn an_answer_that_is_too_long_fails_its_own_call_only() {
    let mut connection = ready();
    let ((bad, id_bad), (good, id_good)) = (call(&mut connection), call(&mut connection));
    connection.receive(McpLine::TooLong { bytes: 99, id: Some(id_bad) });
    say(&mut connection, &result(id_good, "fine"));
    let found = events(&mut connection);
    let limit = McpLimits::default().line_bytes;
    assert_eq!(found[0], McpEvent::Called(bad, Err(McpError::LineTooLong { limit, observed: 99 })));
    assert_eq!(text(&found[1]), (good, "fine".into()));
}

#[test]
fn a_cancelled_request_is_told_unless_it_was_never_sent() {
    let mut connection = ready();
    let (sent, id) = call(&mut connection);
    let unsent = connection.call_tool("t", "{}", true).unwrap();
    assert!(connection.cancel(unsent, "gone") && connection.cancel(sent, "gone"));
    assert!(!connection.cancel(sent, "gone"));
    let expected = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"gone"}}}}"#
    );
    assert_eq!(lines(&mut connection), [expected]);
    say(&mut connection, &result(id, "too late"));
    assert!(events(&mut connection).is_empty());
    assert_eq!((connection.ignored().late, connection.open_requests()), (1, 0));

    let list = connection.list_tools().unwrap();
    let id = ids(&lines(&mut connection))[0];
    say(
        &mut connection,
        &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[],"nextCursor":"x"}}}}"#),
    );
    assert!(connection.cancel(list, "gone") && lines(&mut connection).is_empty());
}

#[test]
fn requests_of_the_server_are_answered() {
    let mut connection = ready();
    say(&mut connection, r#"{"jsonrpc":"2.0","id":"p\u0031","method":"ping"}"#);
    say(&mut connection, r#"{"jsonrpc":"2.0","id":-3,"method":"sampling/createMessage","params":{}}"#);
    assert_eq!(
        lines(&mut connection),
        [
            r#"{"jsonrpc":"2.0","id":"p\u0031","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":-3,"error":{"code":-32601,"message":"method not found"}}"#,
        ]
    );
}

#[test]
fn a_flood_of_requests_is_not_held() {
    let mut connection = limited(McpLimits { answers: 3, ..McpLimits::default() });
    for round in 0..2 {
        for id in 0..10 {
            say(&mut connection, &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
        }
        assert_eq!((lines(&mut connection).len(), connection.ignored().unanswered), (3, 7 * (round + 1)));
    }
}

#[test]
fn open_requests_are_bounded() {
    let mut connection = limited(McpLimits { requests: 2, ..McpLimits::default() });
    let (first, id) = call(&mut connection);
    call(&mut connection);
    assert_eq!(connection.call_tool("t", "{}", true), Err(McpError::TooManyRequests { limit: 2 }));
    assert_eq!(connection.list_tools(), Err(McpError::TooManyRequests { limit: 2 }));
    say(&mut connection, &result(id, "x"));
    assert_eq!(text(&events(&mut connection)[0]).0, first);
    assert!(connection.list_tools().is_ok());
}

#[test]
fn the_end_of_a_connection_ends_every_request_once() {
    let mut connection = ready();
    let (a, _) = call(&mut connection);
    let b = connection.list_tools().unwrap();
    let error = McpError::closed("lost\nsk-canary-123456");
    assert_eq!(error, McpError::Closed("lost [redacted]".into()));
    connection.close(error.clone());
    connection.close(McpError::closed("again"));
    say(&mut connection, &result(2, "x"));
    let expected = [
        McpEvent::Called(a, Err(error.clone())),
        McpEvent::Listed(b, Err(error.clone())),
        McpEvent::Closed(error.clone()),
    ];
    assert_eq!(events(&mut connection), expected);
    assert!(lines(&mut connection).is_empty());
    assert_eq!(connection.call_tool("t", "{}", true), Err(error));
}

#[test]
fn a_changed_list_is_told() {
    let mut connection = ready();
    say(&mut connection, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    assert_eq!(events(&mut connection), [McpEvent::ToolsChanged]);
}

// proves: T3
#[test]
fn errors_say_what_they_mean_for_a_run() {
    use crate::tool::Certainty::{Definitive, Uncertain};
    let server = |code| McpError::Server { code, message: "no".into() };
    assert!(server(-32602).into_tool_result().unwrap().is_error);
    for (error, certainty, retryable) in [
        (server(-32601), Definitive, false),
        (server(-32603), Uncertain, false),
        (McpError::TooManyRequests { limit: 1 }, Definitive, true),
        (McpError::closed("x"), Uncertain, false),
        (McpError::LineTooLong { limit: 1, observed: 2 }, Uncertain, false),
    ] {
        let fault = error.clone().into_tool_result().unwrap_err();
        assert_eq!((fault.certainty, fault.retryable), (certainty, retryable), "{error:?}");
        assert_eq!(fault.message.as_str(), format!("{error}"));
    }
}
