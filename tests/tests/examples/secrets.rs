//! A key that a server repeats shows nowhere.

use crate::program::{Ended, command, start};
use crate::server::{Server, failure, stream};
use serde_json::json;

/// Runs a program with this key against a server that repeats it; nothing of it may show.
fn repeated(program: &str, args: &[&str], key: &str, answer: String) {
    let server = Server::start(vec![answer]);
    let is_openai = args.contains(&"openai");
    let url = server.url.clone() + if is_openai { "/v1" } else { "" };
    let mut command = command(program, &[args, &["--base-url", &url]].concat());
    command.env(if is_openai { "OPENAI_API_KEY" } else { "ANTHROPIC_API_KEY" }, key);
    let Ended { code, out, err, .. } = start(&mut command).end();
    assert_eq!(code, Some(1));
    let header = if is_openai { "authorization: bearer " } else { "x-api-key: " };
    let sent = server.requests()[0].headers.contains(&(header.to_owned() + &key.to_lowercase()));
    assert!(sent, "{program} {args:?} did not send the key");
    // Neither output is printed: it could hold the key.
    assert!(!out.contains(key) && !err.contains(key), "{program} {args:?} shows its key");
    assert!(out.contains("refused by the door"), "{program} {args:?} does not tell what went wrong");
}

#[test]
fn a_key_shows_nowhere() {
    // One looks like a key, the other like a word.
    for key in ["sk-ant-canary-0123456789", "ThisIsNoWordButAKey"] {
        let message = format!("{key} was refused by the door; key={key}");
        let error = json!({"type": "authentication_error", "message": message});
        let said = json!({"type": "error", "error": error});
        let in_stream = [
            (&["--json"][..], format!("event: error\ndata: {said}\n\n")),
            (&["--json", "--provider", "openai"], format!("data: {said}\n\n")),
        ];
        for program in ["agent", "blocking"] {
            for args in [&["--json"][..], &[], &["--provider", "openai"]] {
                repeated(program, args, key, failure(401, &said));
            }
            for (args, events) in &in_stream {
                repeated(program, args, key, stream(events));
            }
        }
    }
}
