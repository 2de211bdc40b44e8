//! The cases of `cases.jsonl`, read once, and what is checked of each.

use runloom_core::agui::Mode;
use runloom_core::agui::verify::verify_lines;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

fn cases(folder: &Path) -> &'static BTreeMap<String, Value> {
    static CASES: OnceLock<BTreeMap<String, Value>> = OnceLock::new();
    CASES.get_or_init(|| {
        let text = std::fs::read_to_string(folder.join("cases.jsonl")).unwrap();
        let cases = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        cases.map(|case| (case["id"].as_str().unwrap().to_owned(), case)).collect()
    })
}

/// The ids of all cases, sorted.
pub(crate) fn ids(folder: &Path) -> Vec<&'static str> {
    cases(folder).keys().map(String::as_str).collect()
}

/// Checks a case in both modes.
pub(crate) fn check(folder: &Path, id: &str) {
    let case = cases(folder).get(id).unwrap_or_else(|| panic!("there is no case {id}"));
    let stream = &case["expect"];
    let single = case.get("expect_single_run").unwrap_or(stream);
    for (mode, expected) in [(Mode::Stream, stream), (Mode::SingleRun, single)] {
        assert_eq!(verdict(case, mode), *expected, "{id} as {mode:?}");
    }
}

/// Checks each case in both modes, and counts cases and verdicts.
pub(crate) fn check_all(folder: &Path) -> (usize, usize) {
    let ids = ids(folder);
    ids.iter().for_each(|id| check(folder, id));
    (ids.len(), ids.len() * 2)
}

fn verdict(case: &Value, mode: Mode) -> Value {
    let events: Vec<String> = case["events"].as_array().unwrap().iter().map(Value::to_string).collect();
    match verify_lines(events.iter().map(String::as_bytes), mode) {
        Ok(_) => "ok".into(),
        Err(rejected) => serde_json::json!({ "rule": rejected.rule.as_str(), "at": rejected.at }),
    }
}
