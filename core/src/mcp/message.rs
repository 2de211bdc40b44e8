//! JSON-RPC 2.0: what a line from the server says.

use super::error::{MAX_ERROR_TEXT, McpError};
use crate::problem::clean;
use crate::provider::read::Members;
use crate::text::Text;
use alloc::vec::Vec;
use serde_json::value::RawValue;

/// Longest id of a server's request that is answered, in bytes of its text.
const MAX_RAW_ID: usize = 256;

/// One message; all JSON is borrowed from the line.
#[derive(Debug, PartialEq)]
pub(super) enum Message<'a> {
    /// The answer to one of the client's requests: the text of its result, or the server's error.
    Response { id: u64, result: Result<&'a str, McpError> },
    /// An error that names no request.
    Complaint(McpError),
    /// The server asks for something; the id is the text that its answer repeats.
    Request { id: &'a str, method: Text },
    /// The server tells something.
    Notification { method: Text, params: Option<&'a str> },
}

/// Why a line means nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Nonsense(pub(super) &'static str);

/// Reads a line: one message, or a batch, as the version 2025-03-26 of the protocol allows.
pub(super) fn decode(line: &str) -> Result<Vec<Result<Message<'_>, Nonsense>>, Nonsense> {
    if line.trim_start().starts_with('[') {
        let batch: Vec<&RawValue> = serde_json::from_str(line).map_err(|_| Nonsense("not JSON"))?;
        return Ok(batch.into_iter().map(|one| message(one.get())).collect());
    }
    message(line).map(|one| alloc::vec![Ok(one)])
}

fn message(text: &str) -> Result<Message<'_>, Nonsense> {
    let members = Members::read(text).ok_or(Nonsense("not a JSON object"))?;
    if members.text("jsonrpc").as_deref() != Some("2.0") {
        return Err(Nonsense("not JSON-RPC 2.0"));
    }
    let id = members.get("id").filter(|id| *id != "null");
    if let Some(method) = members.text("method") {
        let method = clean(&method, MAX_ERROR_TEXT);
        return match id {
            None => Ok(Message::Notification { method, params: members.get("params") }),
            Some(id) if is_id(id) => Ok(Message::Request { id, method }),
            Some(_) => Err(Nonsense("a request whose id is no text or number, or too long")),
        };
    }
    let result = match (members.get("result"), members.get("error")) {
        (Some(result), None) => Ok(result),
        (None, Some(error)) => Err(server_error(error)),
        (Some(_), Some(_)) => Err(McpError::malformed("it has both a result and an error")),
        (None, None) => return Err(Nonsense("neither a request nor an answer")),
    };
    match (id.map(serde_json::from_str::<u64>), result) {
        (Some(Ok(id)), result) => Ok(Message::Response { id, result }),
        (None, Err(error)) => Ok(Message::Complaint(error)),
        (None, Ok(_)) => Err(Nonsense("an answer without an id")),
        (Some(Err(_)), _) => Err(Nonsense("an answer to an id that was never given")),
    }
}

fn is_id(id: &str) -> bool {
    id.len() <= MAX_RAW_ID && id.starts_with(|c: char| c == '"' || c == '-' || c.is_ascii_digit())
}

fn server_error(json: &str) -> McpError {
    let Some(members) = Members::read(json) else { return McpError::malformed("its error is no object") };
    let code = members.get("code").and_then(|code| serde_json::from_str(code).ok());
    let message = members.text("message").unwrap_or_default();
    match code {
        Some(code) => McpError::Server { code, message: clean(&message, MAX_ERROR_TEXT) },
        None => McpError::malformed("its error has no code"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Result<Message<'_>, Nonsense> {
        decode(line)?.pop().unwrap()
    }

    #[test]
    fn messages_are_told_apart() {
        let result = one(r#"{"jsonrpc":"2.0","id":7,"result":{ "a":1.50 }}"#);
        assert_eq!(result, Ok(Message::Response { id: 7, result: Ok("{ \"a\":1.50 }") }));
        let error = McpError::Server { code: -32601, message: "no [redacted] here".into() };
        let line =
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no sk-canary-1234567 here"}}"#;
        assert_eq!(one(line), Ok(Message::Response { id: 7, result: Err(error) }));
        let request = one(r#"{"jsonrpc":"2.0","id":"a\n","method":"ping"}"#);
        assert_eq!(request, Ok(Message::Request { id: r#""a\n""#, method: "ping".into() }));
        let told = one(r#"{"jsonrpc":"2.0","method":"x","params":{"y":[1]}}"#);
        assert_eq!(told, Ok(Message::Notification { method: "x".into(), params: Some(r#"{"y":[1]}"#) }));
        let complaint = one(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}"#);
        assert!(matches!(complaint, Ok(Message::Complaint(McpError::Server { code: -32700, .. }))));
        let both = one(r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#);
        assert!(matches!(both, Ok(Message::Response { id: 1, result: Err(McpError::Malformed(_)) })));
    }

    #[test]
    fn a_batch_is_its_messages() {
        let line = r#"[{"jsonrpc":"2.0","method":"a"},5,{"jsonrpc":"2.0","id":1,"result":{}}]"#;
        let batch = decode(line).unwrap();
        assert_eq!(batch.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
        assert!(decode("[]").unwrap().is_empty());
    }

    #[test]
    fn nonsense_is_an_error_and_never_a_panic() {
        let deep = "[".repeat(100_000);
        let deep_result = alloc::format!(r#"{{"jsonrpc":"2.0","id":1,"result":{deep}"#);
        let long = alloc::format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"ping"}}"#, "x".repeat(300));
        for line in [
            "",
            "hello",
            "{",
            "null",
            "{}",
            r#"{"id":1,"result":{}}"#,
            r#"{"jsonrpc":"1.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":"1","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":-1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":{},"method":"a"}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}} {}"#,
            &long,
            &deep,
            &deep_result,
        ] {
            assert!(one(line).is_err(), "{line}");
        }
        let nested = alloc::format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{}{}}}"#,
            "[".repeat(10_000),
            "]".repeat(10_000)
        );
        assert!(one(&nested).is_ok());
    }
}
