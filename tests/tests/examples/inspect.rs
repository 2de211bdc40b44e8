//! `inspect decode`, `inspect verify`, `inspect fold`.

use crate::program::{Ended, command, recording, run, run_with, start};
use serde_json::{Value, json};

fn decode(provider: &str, stream: &[u8]) -> Ended {
    run_with("inspect", &["decode", "--provider", provider], stream)
}

/// What a stream that can be read decodes to: one object and nothing else.
fn decoded(provider: &str, stream: &[u8]) -> Value {
    let Ended { code, out, err, .. } = decode(provider, stream);
    assert_eq!((code, &*err), (Some(0), ""));
    let object: Value = serde_json::from_str(&out).unwrap();
    let members = ["error", "finish_reason", "reasoning", "refusal", "text", "tool_calls", "usage"];
    assert!(object.as_object().unwrap().keys().eq(members), "{out}");
    object
}

#[test]
fn recordings_decode() {
    let text = "Two sums, and neither needs the other: I will ask for both at the same time.";
    for (provider, file, ids, finish, tokens) in [
        (
            "anthropic",
            "anthropic-tools.sse",
            ["toolu_01RunloomAdd0001", "toolu_01RunloomAdd0002"],
            "tool_use",
            (642, 118),
        ),
        (
            "openai-chat",
            "openai-tools.sse",
            ["call_RunloomAdd1", "call_RunloomAdd2"],
            "tool_calls",
            (171, 64),
        ),
    ] {
        let object = decoded(provider, &recording(file));
        let call = |id: &str, a: u32, b: u32| json!({"id": id, "name": "add", "arguments": {"a": a, "b": b}, "complete": true});
        assert_eq!(object["text"], text);
        assert_eq!(object["tool_calls"], json!([call(ids[0], 17, 25), call(ids[1], 58, 94)]));
        assert_eq!((&object["finish_reason"], &object["error"]), (&json!(finish), &Value::Null));
        assert_eq!(
            (&object["usage"]["input_tokens"], &object["usage"]["output_tokens"]),
            (&json!(tokens.0), &json!(tokens.1))
        );
        assert_eq!((&object["reasoning"], &object["refusal"]), (&json!(""), &json!("")));
    }
}

#[test]
fn a_stream_may_hold_an_error() {
    let object = decoded("anthropic", &recording("anthropic-error.sse"));
    assert_eq!(object["error"], json!({"kind": "overloaded", "message": "Overloaded"}));
    assert_eq!(
        (&object["text"], &object["reasoning"]),
        (&json!("One moment"), &json!("The user wants a sum."))
    );
    let call = json!({"id": "toolu_01RunloomAdd0003", "name": "add", "arguments": null, "complete": false});
    assert_eq!(object["tool_calls"], json!([call]));
    let object = decoded("openai-chat", &recording("openai-error.sse"));
    assert_eq!((&object["error"]["kind"], &object["text"]), (&json!("server"), &json!("One moment")));
    let object = decoded("openai-chat", b"");
    assert_eq!(object["error"]["kind"], "truncated");
}

#[test]
fn an_unreadable_stream_tells_where() {
    for provider in ["anthropic", "openai-chat"] {
        let mut stream = b": fine\n\n".to_vec();
        stream.extend(b"data: \xff\xfe\n\n");
        let Ended { code, out, err, .. } = decode(provider, &stream);
        assert_eq!((code, &*out), (Some(1), ""));
        assert!(err.contains("unreadable at byte "), "{err}");
        let offset: usize = err.split("at byte ").nth(1).unwrap().split(':').next().unwrap().parse().unwrap();
        assert!((8..stream.len()).contains(&offset), "{err}");
    }
}

/// A command's answer to events, one on a line: its status and its one object.
fn answer(args: &[&str], events: &[&str]) -> (Option<i32>, Value) {
    let Ended { code, out, err, .. } = run_with("inspect", args, events.join("\n").as_bytes());
    assert_eq!((&*err, out.lines().count()), ("", 1), "{out}");
    (code, serde_json::from_str(&out).unwrap())
}

const START: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#;
const FINISH: &str = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#;
const ERROR: &str = r#"{"type":"RUN_ERROR","message":"boom","code":"E"}"#;
const TEXT: &str = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"Hi"}"#;
const STRAY: &str = r#"{"type":"TEXT_MESSAGE_END","messageId":"n"}"#;

// proves: V11
#[test]
fn verify_tells_whether_and_where() {
    let kept = |events: usize| (Some(0), json!({"ok": true, "events": events}));
    assert_eq!(answer(&["verify"], &[START, TEXT, FINISH]), kept(3));
    assert_eq!(answer(&["verify", "--mode", "single"], &[START, "", TEXT, FINISH, ""]), kept(3));
    assert_eq!(answer(&["verify"], &[START, FINISH, ERROR]), kept(3));
    assert_eq!(answer(&["verify"], &[START, r#"{"type":"HOLOGRAM"}"#, FINISH]), kept(3));
    for (args, events, at, rule, id) in [
        (&["verify"][..], &[START, STRAY, FINISH][..], 1, "not-open", json!("n")),
        (&["verify"], &[START, TEXT], 2, "truncated", json!("r")),
        (&["verify"], &[], 0, "truncated", Value::Null),
        (&["verify", "--mode=single"], &[START, FINISH, ERROR], 2, "run-ended", Value::Null),
        (&["verify", "--mode=stream"], &[START, "{", FINISH], 1, "malformed", Value::Null),
    ] {
        let (code, found) = answer(args, events);
        assert_eq!(code, Some(1), "{found}");
        let told = (&found["ok"], &found["at"], &found["rule"], &found["id"]);
        assert_eq!(told, (&json!(false), &json!(at), &json!(rule), &id), "{found}");
        assert!(found["detail"].as_str().is_some_and(|detail| !detail.is_empty()));
    }
}

// proves: V11
#[test]
fn fold_tells_what_a_client_holds() {
    let message = json!([{"role": "assistant", "id": "m", "content": "Hi"}]);
    let (code, found) = answer(&["fold"], &[START, TEXT, FINISH]);
    let all = json!({"messages": message, "state": {}, "outcome": "completed", "run": {"type": "success"}, "warnings": []});
    assert_eq!((code, found), (Some(0), all));
    let (code, found) = answer(&["fold"], &[START, TEXT, ERROR]);
    assert_eq!((code, &found["messages"]), (Some(0), &message));
    assert_eq!(found["run"], json!({"type": "error", "message": "boom", "code": "E"}));
    let (code, found) = answer(&["fold"], &[START, r#"{"type":"RAW","event":1,"mood":1}"#, FINISH]);
    assert_eq!((code, &found["warnings"][0]), (Some(0), &json!("event 1: unknown member removed at /mood")));
    for (events, at) in [(&[START, STRAY, FINISH][..], 1), (&[START, TEXT], 2), (&[], 0)] {
        let (code, found) = answer(&["fold"], events);
        assert_eq!((code, &found["at"]), (Some(1), &json!(at)));
        assert!(found["error"].as_str().is_some_and(|error| !error.is_empty()));
    }
}

#[test]
fn usage() {
    for (args, named) in [
        (&["decode", "--provider", "gemini"][..], "gemini"),
        (&["decode"], "--provider"),
        (&["encode", "--provider", "anthropic"], "encode"),
        (&[], "decode"),
        (&["verify", "--mode", "both"], "both"),
        (&["fold", "--mode", "single"], "--mode"),
        (&["verify", "fold"], "fold"),
        (&["decode", "--provider", "anthropic", "file.sse"], "file.sse"),
    ] {
        let Ended { code, out, err, .. } = run("inspect", args);
        assert_eq!((code, &*out), (Some(2), ""), "{args:?}");
        assert!(err.contains(named) && err.contains("--help"), "{args:?}: {err}");
    }
    let help = run("inspect", &["--help"]);
    assert!(help.code == Some(0) && help.out.contains("openai-chat") && help.err.is_empty());
}

/// Standard input that is a folder cannot be read.
#[cfg(unix)]
#[test]
fn unreadable_input_is_a_failure() {
    let folder = std::fs::File::open("/").unwrap();
    let mut command = command("inspect", &["decode", "--provider", "anthropic"]);
    let Ended { code, err, .. } = start(command.stdin(folder)).end();
    assert_eq!(code, Some(1), "{err}");
}
