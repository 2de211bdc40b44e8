//! The client by itself: lists, names, calls, what is taken back.

use crate::wire::{Server, declaration, progress, result, said, text};
use futures_lite::future::{block_on, poll_once, zip};
use runloom::Access;
use runloom::mcp::{McpClient, McpError, McpOptions, McpUpdate};
use serde_json::json;

#[test]
fn tools_are_listed_under_names_that_every_provider_takes() {
    let server = Server::new(|line| match line["method"].as_str() {
        Some("tools/list") if line["params"]["cursor"].is_null() => {
            let mut read = declaration("files.read");
            read["annotations"] = json!({"readOnlyHint": true});
            vec![result(line, json!({"tools": [declaration("echo"), read], "nextCursor": "2"}))]
        }
        Some("tools/list") => vec![result(line, json!({"tools": [declaration("x"), {"name": "bad"}]}))],
        Some("tools/call") => vec![text(line, line["params"]["name"].as_str().unwrap())],
        _ => Vec::new(),
    });
    let client = server.client_with(McpOptions::new().prefix("s_").trust_annotations());
    let list = block_on(client.list()).unwrap();
    assert_eq!((list.tools.len(), list.refused.len()), (3, 1));
    let tools = block_on(client.tools()).unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.spec().name).collect();
    assert_eq!((names[0], names[2]), ("s_echo", "s_x"));
    assert!(names[1].starts_with("s_files_read_"), "{names:?}");
    assert_eq!(tools[1].declaration().name, "files.read");
    let access: Vec<&Access> = tools.iter().map(|tool| &tool.spec().access).collect();
    assert_eq!(access, [&Access::Exclusive, &Access::Shared, &Access::Exclusive]);
    assert_eq!(&*tools[0].spec().schema, r#"{"type":"object"}"#);
    assert_eq!(tools[0].spec().description, "does echo");
    let called = block_on(client.call("files.read", "{}").unwrap()).unwrap();
    assert_eq!(said(&called), "files.read");
}

#[test]
fn annotations_mean_nothing_unless_they_are_trusted() {
    let server = Server::new(|line| {
        let mut tool = declaration("a");
        tool["annotations"] = json!({"readOnlyHint": true});
        vec![result(line, json!({"tools": [tool]}))]
    });
    let tools = block_on(server.client().tools()).unwrap();
    assert_eq!(tools[0].spec().access, Access::Exclusive);
    assert_eq!(tools[0].declaration().annotations.read_only, Some(true));
}

#[test]
fn a_server_without_tools_is_not_asked_for_them() {
    let server = Server::default();
    let connecting = async {
        let options = McpOptions::new().client_info("host", "7");
        let client = McpClient::connect(server.pipe(), options).await.unwrap();
        client.tools().await.unwrap().len()
    };
    let serving = async {
        let hello = json!({"protocolVersion": "2024-11-05", "capabilities": {}});
        server.say(json!({"jsonrpc": "2.0", "id": 1, "result": hello}));
    };
    assert_eq!(block_on(zip(connecting, serving)), (0, ()));
    assert!(server.got("tools/list").is_empty());
    assert_eq!(server.got("initialize")[0]["params"]["clientInfo"], json!({"name": "host", "version": "7"}));
    assert_eq!(server.got("notifications/initialized").len(), 1);
}

#[test]
fn two_calls_at_once_end_in_any_order() {
    let server = Server::silent();
    let client = server.client();
    let (mut a, mut b) = (client.call("t", r#"{"n":1}"#).unwrap(), client.call("t", r#"{"n":2}"#).unwrap());
    block_on(async {
        assert!(poll_once(&mut a).await.is_none() && poll_once(&mut b).await.is_none());
        let calls = server.got("tools/call");
        assert_eq!(calls.len(), 2);
        server.say(text(&calls[1], "second"));
        assert_eq!(said(&b.await.unwrap()), "second");
        assert!(poll_once(&mut a).await.is_none());
        server.say(text(&calls[0], "first"));
        assert_eq!(said(&a.await.unwrap()), "first");
    });
    assert_eq!((client.open_requests(), client.ignored()), (0, Default::default()));
}

#[test]
fn reports_come_in_their_order_and_before_the_end() {
    let server = Server::silent();
    let client = server.client();
    let mut call = client.call("t", "{}").unwrap();
    block_on(async {
        assert!(poll_once(call.next()).await.is_none());
        let request = server.got("tools/call").remove(0);
        (1..=3).for_each(|done| server.say(progress(&request, done)));
        server.say(text(&request, "end"));
        for done in 1..=3 {
            let Some(McpUpdate::Progress(report)) = call.next().await else { panic!("{done}") };
            assert_eq!(report.to_string(), format!("{done}/9"));
        }
        assert!(matches!(call.next().await, Some(McpUpdate::Done(Ok(_)))));
        assert_eq!(call.next().await, None);
    });
}

/// Reports that nobody asks for are held up to a bound; the newest is never the one that is missing.
#[test]
fn reports_that_nobody_takes_are_bounded() {
    for (sent, held) in [(63, 63), (64, 64), (65, 64), (500, 64)] {
        let server = Server::silent();
        let client = server.client();
        let (mut call, mut other) = (client.call("t", "{}").unwrap(), client.call("t", "{}").unwrap());
        let seen = block_on(async {
            assert!(poll_once(call.next()).await.is_none() && poll_once(&mut other).await.is_none());
            let request = server.got("tools/call").remove(0);
            (1..=sent).for_each(|done| server.say(progress(&request, done)));
            // Somebody else drives the connection meanwhile.
            while poll_once(client.list()).await.is_none() {}
            server.say(text(&request, "end"));
            let mut seen = Vec::new();
            while let Some(McpUpdate::Progress(report)) = call.next().await {
                seen.push(report.done.parse::<u64>().unwrap());
            }
            seen
        });
        assert_eq!((seen.len(), seen.last()), (held, Some(&sent)));
        assert!(seen.is_sorted(), "{seen:?}");
    }
}

// proves: C11
#[test]
fn a_call_that_is_dropped_is_taken_back_at_once() {
    let server = Server::silent();
    let client = server.client();
    let mut call = client.call("t", "{}").unwrap();
    assert!(block_on(poll_once(&mut call)).is_none());
    let id = server.got("tools/call")[0]["id"].clone();
    drop(call);
    let told = server.got("notifications/cancelled");
    assert_eq!((told.len(), &told[0]["params"]["requestId"]), (1, &id));
    assert_eq!(client.open_requests(), 0);
    server.say(text(&json!({"id": id}), "too late"));
    assert_eq!(block_on(client.tools()).unwrap().len(), 1);
    assert_eq!(client.ignored().late, 1);
}

#[test]
fn a_call_that_was_never_sent_never_is() {
    let server = Server::silent();
    let client = server.client();
    let before = server.sent();
    drop(client.call("t", "{}").unwrap());
    server.block(true);
    let mut held = client.call("t", "{}").unwrap();
    let mut waits = client.call("t", "{}").unwrap();
    assert!(block_on(poll_once(&mut held)).is_none() && block_on(poll_once(&mut waits)).is_none());
    drop(waits);
    server.block(false);
    assert!(block_on(poll_once(&mut held)).is_none());
    assert_eq!((server.sent(), server.got("tools/call").len()), (before + 1, 1));
    // The line that was given out is finished, and then taken back.
    server.block(true);
    let mut begun = client.call("t", "{}").unwrap();
    assert!(block_on(poll_once(&mut begun)).is_none());
    drop(begun);
    server.block(false);
    assert!(block_on(poll_once(&mut held)).is_none());
    assert_eq!((server.got("tools/call").len(), server.got("notifications/cancelled").len()), (2, 1));
}

#[test]
fn arguments_that_are_no_object_are_refused_before_they_are_sent() {
    let server = Server::silent();
    let client = server.client();
    let before = server.sent();
    assert_eq!(client.call("t", "[]").err(), Some(McpError::Arguments));
    assert_eq!((server.sent(), client.open_requests()), (before, 0));
}

// proves: C11
#[test]
fn the_connection_ends_with_the_last_who_needs_it() {
    let server = Server::silent();
    let client = server.client();
    let tool = block_on(client.tools()).unwrap().remove(0);
    drop(client.clone());
    drop(client);
    assert!(!server.is_dropped());
    drop(tool);
    assert!(server.is_dropped());

    let server = Server::default();
    let mut connecting = Box::pin(McpClient::connect(server.pipe(), McpOptions::new()));
    assert!(block_on(poll_once(&mut connecting)).is_none());
    drop(connecting);
    assert!(server.is_dropped());
}

#[test]
fn a_client_can_be_closed_and_attended() {
    let server = Server::silent();
    let client = server.client();
    let (mut attending, mut call) = (Box::pin(client.attend()), client.call("t", "{}").unwrap());
    assert!(block_on(poll_once(&mut attending)).is_none() && block_on(poll_once(&mut call)).is_none());
    server.say(json!({"jsonrpc": "2.0", "id": 5, "method": "ping"}));
    server.say(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
    assert!(block_on(poll_once(&mut attending)).is_none());
    assert_eq!(client.tool_changes(), 1);
    client.close();
    assert!(server.is_dropped());
    let error = block_on(attending);
    assert!(matches!(&error, McpError::Closed(_)), "{error:?}");
    assert_eq!(block_on(call), Err(error.clone()));
    assert_eq!(client.call("t", "{}").err(), Some(error));
}
