//! `agui_agent`: the events of an agent's run.

use crate::program::{Ended, run};
use runloom_core::agui::Mode;
use runloom_core::agui::verify::verify_lines;
use serde_json::Value;

fn events(lines: &str) -> Vec<Value> {
    verify_lines(lines.lines().map(str::as_bytes), Mode::SingleRun).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_run_is_printed_whole_and_the_program_ends() {
    let Ended { code, out, err, .. } = run("agui_agent", &[]);
    assert_eq!((code, &*err), (Some(0), ""));
    let all = events(&out);
    assert_eq!(all.last().unwrap()["outcome"]["type"], "success");
    assert!(all.iter().any(|event| event["type"] == "STATE_DELTA"), "{out}");
}

#[test]
fn frames_hold_the_same_events() {
    let (lines, frames) = (run("agui_agent", &[]).out, run("agui_agent", &["--sse"]).out);
    let data: Vec<&str> =
        frames.split_terminator("\n\n").map(|frame| frame.strip_prefix("data: ").unwrap()).collect();
    assert_eq!(data, lines.lines().collect::<Vec<_>>());
}

#[test]
fn a_stop_closes_what_was_open() {
    let Ended { code, out, .. } = run("agui_agent", &["--stop"]);
    assert_eq!(code, Some(0));
    let all = events(&out);
    let types: Vec<&str> = all.iter().rev().take(3).map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["RUN_FINISHED", "TEXT_MESSAGE_END", "TEXT_MESSAGE_CONTENT"]);
    assert_eq!(all.last().unwrap()["outcome"]["type"], "cancelled");
    assert_eq!(run("agui_agent", &["--what"]).code, Some(2));
}
