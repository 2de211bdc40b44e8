//! `chat`: several turns in one session.

use crate::events::{logs, only};
use crate::program::{Ended, run, run_with};
use crate::server::{Server, anthropic, failure};
use serde_json::json;

#[test]
fn each_turn_carries_those_before() {
    let server = Server::start(vec![anthropic("Hello!", &[]), anthropic("You said hi.", &[])]);
    let url = server.url.clone();
    let Ended { code, out, err, .. } =
        run_with("chat", &["--json", "--base-url", &url], b"hi there\n\n  \nwhat did I say?\n");
    assert_eq!((code, &*err), (Some(0), ""));
    let runs = logs(&out);
    let revisions: Vec<_> = runs.iter().map(|run| &only(run, "run.completed").payload["revision"]).collect();
    assert_eq!(revisions, [&json!(1), &json!(2)]);
    let requests = server.requests();
    let messages = requests[1].body["messages"].as_array().unwrap();
    let roles: Vec<_> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    for (message, text) in messages.iter().zip(["hi there", "Hello!", "what did I say?"]) {
        assert!(message.to_string().contains(text), "{message}");
    }
}

#[test]
fn the_prompt_is_the_first_turn() {
    let Ended { code, out, err, .. } = run_with("chat", &["--prompt", "two sums"], b"and then?");
    assert_eq!((code, &*err), (Some(0), ""));
    assert!(out.contains("17 + 25 is 42") && out.contains("turn 2") && out.contains("two sums"), "{out}");
    assert!(out.contains("revision  2"), "{out}");
}

#[test]
fn nothing_said_is_nothing_asked() {
    let Ended { code, out, err, .. } = run("chat", &["--json"]);
    assert_eq!((code, &*out, &*err), (Some(0), "", ""));
}

#[test]
fn a_turn_may_fail_without_ending_the_conversation() {
    let refused =
        failure(400, &json!({"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}));
    let server = Server::start(vec![refused, anthropic("Here I am.", &[])]);
    let url = server.url.clone();
    let Ended { code, out, err, .. } = run_with("chat", &["--json", "--base-url", &url], b"one\ntwo\n");
    let ends: Vec<_> = logs(&out).iter().map(|run| run.last().unwrap().kind.clone()).collect();
    assert_eq!((code, ends), (Some(0), vec!["run.failed".to_owned(), "run.completed".to_owned()]));
    assert!(err.contains("failed"), "{err}");
}
