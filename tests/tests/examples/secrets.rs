//! A key that a server repeats shows nowhere.

use crate::program::{Ended, command, start};
use crate::server::{Server, failure, stream};
use serde_json::json;

/// Runs a program with this key against a server that repeats it; nothing of it may show.
fn repeated(program: &str, args: &[&str], key: &str, answer: String) {
    let server = Server::start(vec![answer]);
    let url = server.url.clone();
    let mut command = command(program, &[args, &["--base-url", &url]].concat());
    let Ended { code, out, err, .. } = start(command.env("ANTHROPIC_API_KEY", key)).end();
    assert_eq!(code, Some(1));
    let headers = &server.requests()[0].headers;
    assert!(headers.contains(&format!("x-api-key: {}", key.to_lowercase())), "the key was not sent");
    // Neither is printed: it could hold the key.
    assert!(!out.contains(key) && !err.contains(key), "{program} {args:?} shows its key");
    assert!(out.contains("refused by the door"), "{program} {args:?} does not tell what went wrong");
}

#[test]
fn a_key_shows_nowhere() {
    // One looks like a key, the other like a word.
    for key in ["sk-ant-canary-0123456789", "ThisIsNoWordButAKey"] {
        let said = json!({"type": "error", "error": {"type": "authentication_error",
            "message": format!("{key} was refused by the door; key={key}")}});
        for program in ["agent", "blocking"] {
            for args in [&["--json"][..], &[]] {
                repeated(program, args, key, failure(401, &said));
                repeated(program, args, key, stream(&format!("event: error\ndata: {said}\n\n")));
            }
        }
    }
}
