//! A transport that stays on one thread, in a local host.

use futures_lite::future::block_on;
use runloom::mcp::{McpClient, McpError, McpLine, McpOptions, McpTransport};
use runloom::testing::{Attempt, NoWaiting, ScriptedModel};
use runloom::{Engine, Host, ModelSpec};
use runloom_tests::runs::assert_ended;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Context, Poll};

/// Answers each line at once, on the spot.
struct Parrot(Rc<RefCell<VecDeque<String>>>);

impl McpTransport for Parrot {
    fn poll_send(&mut self, _: &mut Context<'_>, line: &str) -> Poll<Result<(), McpError>> {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let result = match line["method"].as_str().expect("a method") {
            "initialize" => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}),
            "tools/list" => json!({"tools": [{"name": "say", "inputSchema": {"type": "object"}}]}),
            "tools/call" => {
                json!({"content": [{"type": "text", "text": line["params"]["arguments"]["text"]}]})
            }
            _ => return Poll::Ready(Ok(())),
        };
        let answer = json!({"jsonrpc": "2.0", "id": line["id"], "result": result});
        self.0.borrow_mut().push_back(answer.to_string());
        Poll::Ready(Ok(()))
    }

    fn poll_receive(&mut self, _: &mut Context<'_>) -> Poll<Result<McpLine, McpError>> {
        match self.0.borrow_mut().pop_front() {
            Some(line) => Poll::Ready(Ok(McpLine::Text(line))),
            None => Poll::Pending,
        }
    }
}

#[test]
fn a_transport_need_not_be_send() {
    let client = block_on(McpClient::connect(Parrot(Rc::default()), McpOptions::new())).unwrap();
    let model =
        ScriptedModel::new([Attempt::new().call("say", r#"{"text":"pieces of eight"}"#), "end".into()]);
    let mut host = Host::local().model(ModelSpec::new("m"), model);
    for tool in block_on(client.tools()).unwrap() {
        host = host.tool(tool.local());
    }
    let session = Engine::new(host.build().unwrap(), NoWaiting).session().unwrap();
    let (run, driver) = session.start("go").unwrap();
    block_on(driver);
    assert_ended(run.handle());
    assert!(run.handle().log_json().contains("pieces of eight"));
}
