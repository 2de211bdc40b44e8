//! `agent`: the main job, against the embedded server and against others.

use crate::events::{Event, log, only, places};
use crate::program::{Ended, run};
use crate::server::{Request, Server, anthropic, openai};
use serde_json::{Value, json};

fn completed(args: &[&str]) -> Vec<Event> {
    let Ended { code, out, err, .. } = run("agent", args);
    assert_eq!((code, &*err), (Some(0), ""), "{out}");
    let log = log(&out);
    assert_eq!(log.last().unwrap().kind, "run.completed");
    log
}

#[test]
fn the_main_job() {
    for provider in ["anthropic", "openai"] {
        let log = completed(&["--json", "--provider", provider]);
        let reset = only(&log, "provider.stream_reset");
        assert_eq!(reset.payload["retry_after_us"], 1_000_000);
        let attempts = places(&log, "model.started");
        assert_eq!(attempts.len(), 3);
        assert!(log[attempts[1]].at - log[attempts[0]].at >= 1_000_000, "the wait was too short");
        let failed = only(&log, "model.failed");
        assert_eq!(
            (&failed.payload["problem"]["status"], &failed.payload["position"]),
            (&json!(529), &json!("pristine"))
        );

        let (started, finished) = (places(&log, "tool.started"), places(&log, "tool.finished"));
        assert_eq!((started.len(), finished.len()), (2, 2));
        assert!(started[1] < finished[0], "the calls do not overlap");
        let results: Vec<_> = finished.iter().map(|at| &log[*at].payload["content"][0]["text"]).collect();
        assert!(results.contains(&&json!("42")) && results.contains(&&json!("152")), "{results:?}");

        assert!(places(&log, "text.delta").len() > 5);
        let answer = only(&log, "run.completed");
        let text = answer.payload["answer"].as_str().unwrap();
        assert!(text.contains("17 + 25 is 42") && text.contains("58 + 94 is 152"), "{text}");
        assert_eq!(
            (&answer.payload["stop_reason"], &answer.payload["revision"]),
            (&json!("end_turn"), &json!(1))
        );
        assert_eq!(only(&log, "run.started").payload["revision"], 0);
    }
}

#[test]
fn cancelled_in_time() {
    let Ended { code, out, err, took } = run("agent", &["--json", "--cancel-after", "300"]);
    let log = log(&out);
    let last = log.last().unwrap();
    assert_eq!((code, &*last.kind, &*err), (Some(130), "run.cancelled", ""));
    assert!(last.at < 1_300_000 && took.as_millis() < 1_300, "{took:?}");
    assert_eq!((&last.payload["cause"], &last.payload["revision"]), (&json!("requested"), &json!(1)));
    assert_eq!(places(&log, "model.started").len(), 1);
}

#[test]
fn a_timeline_for_pipes() {
    let Ended { code, out, err, .. } = run("agent", &["--prompt", "add up"]);
    assert_eq!((code, &*err), (Some(0), ""));
    assert!(!out.contains(['\u{1b}', '\r']), "{out}");
    let (timeline, report) = out.split_once("\n\n").unwrap();
    for line in timeline.lines() {
        let seconds = line.trim_start().split_once("s  ").map(|(seconds, _)| seconds);
        assert!(seconds.is_some_and(|seconds| seconds.parse::<f64>().is_ok()), "{line}");
    }
    for part in [
        "overloaded (529)",
        "reset",
        "call 1.0    started",
        "success: 42",
        "attempt 2",
        "completed: end_turn",
    ] {
        assert!(timeline.contains(part), "{part}: {timeline}");
    }
    let usage = report.lines().filter(|line| line.starts_with("usage")).count();
    assert_eq!(usage, 3, "one line for each physical request: {report}");
    assert!(report.contains("outcome   completed: end_turn") && report.contains("revision  1"), "{report}");
    assert!(
        report.contains("step 1, attempt 1: nothing reported") && report.contains("642 in, 118 out"),
        "{report}"
    );
}

/// Prompt, answers and what is called differ from those of the embedded server.
fn other_answers(answer: fn(&str, &[(&str, Value)]) -> String) -> (Server, [String; 2]) {
    let calls = [("add", json!({"a": 1000, "b": 0.5})), ("subtract", json!({"a": 1}))];
    let server = Server::start(vec![answer("Let me see.", &calls), answer("So it is.", &[])]);
    let prompt = "What is a thousand and a half?".to_owned();
    let url = server.url.clone();
    (server, [prompt, url])
}

/// Checks what both formats have in common, and returns the messages of the second request.
fn check(requests: &[Request], path: &str) -> Vec<Value> {
    assert_eq!(requests.len(), 2);
    for request in requests {
        assert_eq!(request.line, format!("POST {path} HTTP/1.1"));
        assert_eq!((&request.body["stream"], &request.body["model"]), (&json!(true), &json!("some-model")));
        assert!(!request.headers.contains("api-key") && !request.headers.contains("authorization"));
        assert_eq!(request.body["tools"].as_array().unwrap().len(), 1);
        assert!(request.body["tools"][0].to_string().contains(r#""name":"add""#));
    }
    let messages = |request: &Request| request.body["messages"].as_array().unwrap().clone();
    let (first, second) = (messages(&requests[0]), messages(&requests[1]));
    assert!(second.starts_with(&first), "history was rewritten");
    second
}

#[test]
fn another_server_that_speaks_anthropic() {
    let (server, [prompt, url]) = other_answers(anthropic);
    let log = completed(&["--json", "--prompt", &prompt, "--base-url", &url, "--model", "some-model"]);
    assert_eq!(log.last().unwrap().payload["answer"], "So it is.");
    let statuses: Vec<_> =
        places(&log, "tool.finished").iter().map(|at| &log[*at].payload["status"]).collect();
    assert!(statuses.contains(&&json!("success")) && statuses.contains(&&json!("unavailable")));
    let requests = server.requests();
    assert!(requests[0].headers.contains("anthropic-version: "));
    let messages = check(&requests, "/v1/messages");
    assert!(messages[0].to_string().contains(&prompt));
    assert_eq!(messages[1]["content"][1]["input"], json!({"a": 1000, "b": 0.5}));
    let results = messages[2]["content"].as_array().unwrap();
    assert_eq!(
        (&results[0]["tool_use_id"], &results[1]["tool_use_id"]),
        (&json!("toolu_0"), &json!("toolu_1"))
    );
    assert!(
        results[0]["content"].to_string().contains("1000.5") && results[1]["is_error"] == true,
        "{results:?}"
    );
}

#[test]
fn another_server_that_speaks_openai() {
    let (server, [prompt, url]) = other_answers(openai);
    let url = url + "/v1/";
    let args =
        ["--json", "--provider", "openai", "--prompt", &prompt, "--base-url", &url, "--model", "some-model"];
    assert_eq!(completed(&args).last().unwrap().payload["answer"], "So it is.");
    let messages = check(&server.requests(), "/v1/chat/completions");
    let roles: Vec<_> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool"]);
    assert!(messages[1].to_string().contains(&prompt));
    assert_eq!(
        (&messages[3]["tool_call_id"], &messages[4]["tool_call_id"]),
        (&json!("call_0"), &json!("call_1"))
    );
    assert!(messages[3]["content"].to_string().contains("1000.5"));
}

#[test]
fn files_below_a_folder_and_no_others() {
    let below = std::env::temp_dir().join(format!("runloom-agent-{}/below", std::process::id()));
    std::fs::create_dir_all(&below).unwrap();
    std::fs::write(below.join("note.txt"), "what the note says").unwrap();
    std::fs::write(below.join("../outside.txt"), "not for models").unwrap();
    let outside = below.join("../outside.txt").canonicalize().unwrap().display().to_string();
    let path = |path: &str| json!({"path": path});
    let mut calls = vec![("list_dir", path(".")), ("read_file", path("note.txt"))];
    calls.extend(["../outside.txt", &outside].map(|leading_out| ("read_file", path(leading_out))));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&outside, below.join("link")).unwrap();
        calls.push(("read_file", path("link")));
    }
    let server = Server::start(vec![anthropic("", &calls), anthropic("done", &[])]);
    let (url, folder) = (server.url.clone(), below.display().to_string());
    let _ = completed(&["--json", "--base-url", &url, "--dir", &folder]);
    std::fs::remove_dir_all(below.parent().unwrap()).unwrap();

    let requests = server.requests();
    assert_eq!(requests[0].body["tools"].as_array().unwrap().len(), 3);
    let results = requests[1].body["messages"][2]["content"].as_array().unwrap();
    assert!(results[0]["content"].to_string().contains("note.txt (18 bytes)"), "{results:?}");
    assert!(results[1]["content"].to_string().contains("what the note says"), "{results:?}");
    for refused in &results[2..] {
        assert!(
            refused["content"].to_string().contains("refused") && refused["is_error"] == true,
            "{refused}"
        );
    }
    assert!(!requests[1].body.to_string().contains("not for models"));
}

#[cfg(unix)]
#[test]
fn ctrl_c_cancels() {
    use crate::program::{Running, command};
    let running = Running::at_first_line(&mut command("agent", &["--json"]), true);
    running.interrupt();
    let Ended { code, out, .. } = running.end();
    assert_eq!((code, &*log(&out).last().unwrap().kind), (Some(130), "run.cancelled"));
}
