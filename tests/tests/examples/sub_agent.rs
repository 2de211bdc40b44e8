//! `sub_agent`: an agent as a tool, and its log.

use crate::program::{Ended, run};

#[test]
fn the_agent_is_asked_and_has_a_log_of_its_own() {
    let Ended { code, out, err, .. } = run("sub_agent", &[]);
    assert_eq!((code, &*err), (Some(0), ""));
    let (outer, inner) = out.split_once("logs of agents that were asked").unwrap();
    for part in [
        "calls find",
        "find: walking along the shelves",
        "success: It stands on shelf 7.",
        "completed: end_turn",
    ] {
        assert!(outer.contains(part), "{part}: {out}");
    }
    assert!(inner.starts_with(" (runs that still go on: 0)"), "{inner}");
    assert!(inner.contains("run-1 of session-1, asked by call 1.0 of run-1\n  1 run.started\n"), "{inner}");
    assert!(inner.trim_end().ends_with("run.completed"), "{inner}");
}
