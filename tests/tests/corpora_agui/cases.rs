//! `cases.jsonl`: short lists of events with the verdict for a stream and for one run.

use runloom_core::agui::Mode;
use runloom_core::agui::verify::verify_lines;
use serde_json::Value;
use std::path::Path;

/// Checks each case in both modes, reports each that fails by its id, and counts cases and verdicts.
pub(crate) fn check(folder: &Path) -> (usize, usize) {
    let text = std::fs::read_to_string(folder.join("cases.jsonl")).unwrap();
    let cases: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut failed = Vec::new();
    for case in &cases {
        let stream = &case["expect"];
        let single = case.get("expect_single_run").unwrap_or(stream);
        for (mode, expected) in [(Mode::Stream, stream), (Mode::SingleRun, single)] {
            let found = verdict(case, mode);
            if found != *expected {
                failed.push(format!("{} as {mode:?}: {found}, not {expected}", case["id"]));
            }
        }
    }
    assert!(failed.is_empty(), "{} verdicts differ:\n{}", failed.len(), failed.join("\n"));
    assert!(cases.len() >= 150, "{} cases", cases.len());
    (cases.len(), cases.len() * 2)
}

fn verdict(case: &Value, mode: Mode) -> Value {
    let events: Vec<String> = case["events"].as_array().unwrap().iter().map(Value::to_string).collect();
    match verify_lines(events.iter().map(String::as_bytes), mode) {
        Ok(_) => "ok".into(),
        Err(rejected) => serde_json::json!({ "rule": rejected.rule.as_str(), "at": rejected.at }),
    }
}
