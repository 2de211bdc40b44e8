//! A server from a package registry, where it is installed: `npm ci --prefix tests/mcp-server`.

use futures_lite::future::{block_on, poll_once, zip};
use runloom::mcp::{McpClient, McpOptions, McpUpdate, ProtocolVersion};
use runloom::smol::{SmolTimer, StdioServer, StdioTransport};
use runloom::{Part, sleep};
use std::path::Path;
use std::time::Duration;

/// The server, if it is there.
fn client() -> Option<McpClient<StdioTransport>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("mcp-server");
    let program = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
    if !folder.join(program).is_file() {
        assert!(std::env::var_os("CI").is_none(), "CI installs the server first");
        println!("MCP server: skipped, it is not installed");
        return None;
    }
    let server =
        StdioServer::new("node").arg(program).arg("stdio").current_dir(folder).start().expect("node");
    let options = McpOptions::new().prefix("every_").trust_annotations();
    Some(block_on(McpClient::connect(server, options)).expect("a handshake"))
}

#[test]
fn its_tools_are_listed_and_called() {
    let Some(client) = client() else { return };
    assert_eq!(client.server().protocol, ProtocolVersion::V2025_11_25);
    let tools = block_on(client.tools()).unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.spec().name).collect();
    assert!(names.contains(&"every_echo") && names.contains(&"every_get-sum"), "{names:?}");
    let calls = zip(
        client.call("get-sum", r#"{"a":19,"b":23}"#).unwrap(),
        client.call("echo", r#"{"message":"hé\n"}"#).unwrap(),
    );
    let (sum, echo) = block_on(calls);
    assert_eq!(crate::wire::said(&sum.unwrap()), "The sum of 19 and 23 is 42.");
    assert_eq!(crate::wire::said(&echo.unwrap()), "Echo: hé\n");

    let image = block_on(client.call("get-tiny-image", "{}").unwrap()).unwrap();
    assert!(matches!(&*image.content, [Part::Text(_), Part::Image(image), Part::Text(_)]
        if image.media_type == "image/png" && image.data.len() > 100));
    let structured = client.call("get-structured-content", r#"{"location":"Chicago"}"#).unwrap();
    let structured = crate::wire::said(&block_on(structured).unwrap());
    assert!(structured.contains("\"humidity\""), "{structured}");
    let wrong = block_on(client.call("get-sum", r#"{"a":"x"}"#).unwrap());
    assert!(wrong.as_ref().is_ok_and(|output| output.is_error) || wrong.is_err(), "{wrong:?}");
    assert_eq!(client.ignored(), Default::default());
}

#[test]
fn its_progress_comes_and_a_call_is_taken_back() {
    let Some(client) = client() else { return };
    let mut call = client.call("trigger-long-running-operation", r#"{"duration":0.3,"steps":3}"#).unwrap();
    let mut reports = Vec::new();
    let end = block_on(async {
        loop {
            match call.next().await.unwrap() {
                McpUpdate::Progress(report) => reports.push(report.to_string()),
                McpUpdate::Done(end) => break end,
                other => panic!("{other:?}"),
            }
        }
    });
    assert_eq!(reports, ["1/3", "2/3", "3/3"]);
    assert!(crate::wire::said(&end.unwrap()).starts_with("Long running operation completed"));

    let mut long = client.call("trigger-long-running-operation", r#"{"duration":30,"steps":1}"#).unwrap();
    block_on(async {
        assert!(poll_once(&mut long).await.is_none());
        sleep(SmolTimer::new(), Duration::from_millis(100)).await;
    });
    drop(long);
    assert_eq!(client.open_requests(), 0);
    let echo = block_on(client.call("echo", r#"{"message":"still there"}"#).unwrap()).unwrap();
    assert_eq!(crate::wire::said(&echo), "Echo: still there");
}
