//! The codecs against recorded streams, errors and requests of real providers (M2, M3, M7, M8, R5, R11).
//!
//! The recordings are not part of the project: without them the test passes and says that it was skipped.

// Helpers of tests fail like tests do.
#![allow(clippy::unwrap_used)]

use runloom_core::problem::ProblemKind;
use runloom_core::provider::summary::Summary;
use runloom_core::usage::Usage;
use runloom_tests::corpora;
use runloom_tests::providers::{Splits, Wire};
use serde_json::Value;
use std::path::Path;

mod requests;

type Holds = fn(&Summary) -> bool;

/// Files whose expectation is not ours, with the reason and what holds instead.
const EXCEPTIONS: [(&str, &str, Holds); 1] = [(
    "anthropic/spliced-message-start.sse",
    "two messages in one stream are a broken stream, not a longer message",
    |summary| {
        let kind = summary.error.as_ref().map(|problem| problem.kind);
        kind == Some(ProblemKind::InvalidResponse)
            && summary.unreadable_at.is_none()
            && summary.text.is_empty()
            && summary.calls.iter().all(|call| !call.complete)
    },
)];

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Provider and name of a stream of ours: `openai-compat/x.sse`, `synthetic/openai-compat__x.sse`.
fn wire_of(file: &str) -> Option<Wire> {
    let (folder, name) = file.split_once('/')?;
    let (provider, name) = if folder == "synthetic" { name.split_once("__")? } else { (folder, name) };
    // Snowflake's own dialect shows more than the expectation does: reasoning that comes in `reasoning_details` only.
    // Read as any compatible server, which is what a base URL alone selects, it must agree.
    Wire::of(provider, if name.starts_with("snowflake-") { "compatible" } else { name })
}

#[test]
fn recorded_answers() {
    let Some(folder) = corpora::root().map(|root| root.join("providers")).filter(|folder| folder.is_dir())
    else {
        return corpora::skipped("providers");
    };
    let (streams, splits) = check_streams(&folder);
    let errors = check_errors(&folder);
    let requests = requests::check(&folder);
    println!(
        "corpora providers: {streams} streams, {splits} splits, {errors} http errors, {requests} requests"
    );
    corpora::used("providers", streams + errors + requests, splits);
}

fn check_streams(folder: &Path) -> (usize, usize) {
    let Value::Object(expectations) = json(&folder.join("EXPECT.json")) else { panic!() };
    let ours: Vec<_> =
        expectations.iter().filter_map(|(file, expected)| Some((file, wire_of(file)?, expected))).collect();
    assert!(ours.len() >= 80, "{} streams", ours.len());
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        let mut splits = 0;
        while let Some((file, wire, expected)) =
            ours.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
        {
            let body = std::fs::read(folder.join(file)).unwrap();
            let summary = wire.summary(&[&body]);
            match EXCEPTIONS.iter().find(|(name, ..)| name == file) {
                Some((_, reason, holds)) => assert!(holds(&summary), "{file} ({reason}): {summary:#?}"),
                None => compare(file, &summary, expected),
            }
            let found = wire.with(Splits { body: &body, all_up_to: 4 << 10, seed: 7 });
            splits += found.unwrap_or_else(|what| panic!("{file}: {what}"));
        }
        splits
    };
    let splits = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    (ours.len(), splits)
}

fn compare(file: &str, summary: &Summary, expected: &Value) {
    let text = |name: &str| expected.get(name).and_then(Value::as_str).unwrap_or_default();
    assert_eq!(summary.text, text("text"), "text of {file}");
    assert_eq!(summary.reasoning, text("reasoning"), "reasoning of {file}");
    assert_eq!(summary.refusal, text("refusal"), "refusal of {file}");
    let reason = expected.get("finish_reason").and_then(Value::as_str);
    assert_eq!(summary.finish_reason.as_deref(), reason, "finish of {file}");
    let failed = expected.get("error").is_some_and(|error| !error.is_null());
    assert_eq!(summary.error.is_some(), failed, "error of {file}: {:?}", summary.error);
    let (usage, message) = (usage_of(expected), format!("usage of {file}"));
    assert_eq!(summary.usage, usage, "{message}");
    assert_eq!(summary.unreadable_at, None, "{file}");

    let calls = expected.get("tool_calls").and_then(Value::as_array).unwrap();
    assert_eq!(summary.calls.len(), calls.len(), "calls of {file}: {:?}", summary.calls);
    let json: Value = serde_json::from_str(&summary.to_json()).unwrap();
    for (n, (call, expected)) in summary.calls.iter().zip(calls).enumerate() {
        assert_eq!(call.call.id, expected["id"].as_str().unwrap(), "{file}");
        assert_eq!(call.call.name, expected["name"].as_str().unwrap(), "{file}");
        assert_eq!(call.call.arguments, expected["arguments_raw"].as_str().unwrap(), "{file}");
        assert_eq!(call.complete, expected["complete"].as_bool().unwrap(), "call {n} of {file}");
        let arguments = match expected["arguments_raw"].as_str() {
            // A server's spelling of `{}`.
            Some("null") => &Value::Object(serde_json::Map::new()),
            _ => &expected["arguments"],
        };
        assert_eq!(&json["tool_calls"][n]["arguments"], arguments, "call {n} of {file}");
    }
}

/// The expected usage in the project's terms.
fn usage_of(expected: &Value) -> Option<Usage> {
    let raw = expected.get("usage").filter(|usage| !usage.is_null())?;
    let at = |path: &str| raw.pointer(path).and_then(Value::as_u64);
    let mut usage = Usage::default();
    if expected["api"] == "anthropic" {
        usage.cache_read_tokens = at("/cache_read_input_tokens");
        usage.cache_write_tokens = at("/cache_creation_input_tokens");
        let cached = usage.cache_read_tokens.unwrap_or(0) + usage.cache_write_tokens.unwrap_or(0);
        usage.input_tokens = at("/input_tokens").map(|input| input + cached);
        usage.output_tokens = at("/output_tokens");
        usage.reasoning_tokens = at("/output_tokens_details/thinking_tokens");
    } else {
        usage.input_tokens = at("/prompt_tokens");
        usage.output_tokens = at("/completion_tokens");
        usage.cache_read_tokens =
            at("/prompt_tokens_details/cached_tokens").or(at("/prompt_cache_hit_tokens"));
        usage.cache_write_tokens = at("/prompt_tokens_details/cache_write_tokens");
        usage.reasoning_tokens =
            at("/completion_tokens_details/reasoning_tokens").or(at("/reasoning_tokens"));
    }
    Some(usage)
}

/// Every recorded refusal: file, kind, whether to try again, wait in milliseconds.
const ERRORS: [(&str, ProblemKind, bool, Option<u64>); 29] = {
    use ProblemKind::*;
    [
        ("anthropic__400-validation", InvalidRequest, false, None),
        ("anthropic__401-auth-null-request-id", Authentication, false, None),
        ("anthropic__401-auth-should-retry-false", Authentication, false, None),
        ("anthropic__404-model-streaming", NotFound, false, None),
        ("anthropic__llamacpp-live-400-context", ContextOverflow, false, None),
        ("openai-chat__400-validation", InvalidRequest, false, None),
        ("openai-chat__401-auth", Authentication, false, None),
        ("openai-compat__azure-429-retry-after-ms", RateLimited, true, Some(1_000)),
        ("openai-compat__deepseek-400-image", InvalidRequest, false, None),
        ("openai-compat__deepseek-401", Authentication, false, None),
        ("openai-compat__doubleword-400-bare", InvalidRequest, false, None),
        ("openai-compat__groq-401", Authentication, false, None),
        ("openai-compat__groq-404", NotFound, false, None),
        ("openai-compat__llamacpp-400-context", ContextOverflow, false, None),
        ("openai-compat__llamacpp-401", Authentication, false, None),
        ("openai-compat__llamacpp-500-no-jinja", Server, true, None),
        ("openai-compat__llamacpp-live-400-badjson", InvalidRequest, false, None),
        ("openai-compat__llamacpp-live-400-context", ContextOverflow, false, None),
        ("openai-compat__llamacpp-live-400-toolchoice", InvalidRequest, false, None),
        ("openai-compat__llamacpp-live-404", NotFound, false, None),
        ("openai-compat__llamacpp-live-500-image", Server, true, None),
        ("openai-compat__llamacpp-live-503-loading", Overloaded, true, None),
        ("openai-compat__mistral-400-model", NotFound, false, None),
        ("openai-compat__mistral-401-detail", Authentication, false, None),
        ("openai-compat__ollama-cloud-401", Authentication, false, None),
        ("openai-compat__openrouter-400", NotFound, false, None),
        ("openai-compat__openrouter-401", Authentication, false, None),
        ("openai-compat__venice-404-error-is-string", NotFound, false, None),
        ("openai-compat__xai-400-error-is-string", NotFound, false, None),
    ]
};

fn check_errors(folder: &Path) -> usize {
    let mut count = 0;
    for entry in std::fs::read_dir(folder.join("http-errors")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let (provider, what) = name.split_once("__").unwrap();
        let Some(wire) = Wire::of(provider, what) else { continue };
        let row = ERRORS.iter().find(|(file, ..)| *file == name);
        let (_, kind, retry, wait) = row.unwrap_or_else(|| panic!("{name} is not in the table"));
        let recorded = json(&path);
        let headers: Vec<(&str, &str)> = recorded["headers"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str().unwrap_or_default()))
            .collect();
        let status = u16::try_from(recorded["status"].as_u64().unwrap()).unwrap();
        let body = recorded["body"].as_str().unwrap();
        let problem = wire.error(status, &headers, body.as_bytes());
        let found = (problem.kind, problem.is_retryable(), problem.retry_after.map(|wait| wait.as_millis()));
        assert_eq!(found, (*kind, *retry, wait.map(u128::from)), "{name}: {problem:?}");
        assert_eq!(problem.status, Some(status), "{name}");
        assert!(!problem.message.contains("HTTP status"), "{name} has a text: {problem:?}");
        count += 1;
    }
    assert_eq!(count, ERRORS.len());
    count
}
