//! `blocking`: the same run without async.

use crate::events::{log, only, places};
use crate::program::{Ended, run};
use crate::server::{Server, anthropic, openai};
use serde_json::json;

#[test]
fn a_run_by_hand() {
    for provider in ["anthropic", "openai"] {
        let Ended { code, out, err, .. } = run("blocking", &["--json", "--provider", provider]);
        assert_eq!((code, &*err), (Some(0), ""));
        let log = log(&out);
        assert_eq!(log.last().unwrap().kind, "run.completed");
        let _ = only(&log, "provider.stream_reset");
        let attempts = places(&log, "model.started");
        assert!(log[attempts[1]].at - log[attempts[0]].at >= 1_000_000);
        assert_eq!(places(&log, "tool.finished").len(), 2);
        let answer = only(&log, "run.completed").payload["answer"].as_str().unwrap().to_owned();
        assert!(answer.contains("42") && answer.contains("152"), "{answer}");
    }
}

#[test]
fn cancelled_in_time() {
    let Ended { code, out, took, .. } = run("blocking", &["--json", "--cancel-after", "300"]);
    assert_eq!((code, &*log(&out).last().unwrap().kind), (Some(130), "run.cancelled"));
    assert!(took.as_millis() < 1_300, "{took:?}");
}

#[test]
fn another_server() {
    let calls = [("add", json!({"a": 1, "b": 2}))];
    for (provider, path, answers) in [
        ("anthropic", "", vec![anthropic("", &calls), anthropic("three", &[])]),
        ("openai", "/v1", vec![openai("", &calls), openai("three", &[])]),
    ] {
        let server = Server::start(answers);
        let url = server.url.clone() + path;
        let Ended { code, out, .. } =
            run("blocking", &["--json", "--provider", provider, "--base-url", &url]);
        assert_eq!((code, &log(&out).last().unwrap().payload["answer"]), (Some(0), &json!("three")));
        assert!(server.requests()[1].body["messages"].to_string().contains("\"3\""));
    }
}

#[test]
fn it_knows_no_tls() {
    let Ended { code, err, .. } = run("blocking", &["--base-url", "https://localhost"]);
    assert!(code == Some(2) && err.contains("http only"), "{err}");
}
