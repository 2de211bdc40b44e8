//! A log that was printed as JSON Lines.

use serde_json::Value;

/// An event of a log.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) run_id: String,
    pub(crate) at: u64,
    pub(crate) kind: String,
    pub(crate) payload: Value,
}

/// The events of the one run on standard output, which holds nothing else; checks what holds for every log.
pub(crate) fn log(out: &str) -> Vec<Event> {
    let mut runs = logs(out);
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

/// The events of each run.
pub(crate) fn logs(out: &str) -> Vec<Vec<Event>> {
    let mut runs: Vec<Vec<Event>> = Vec::new();
    for line in out.lines() {
        let mut members: serde_json::Map<String, Value> = serde_json::from_str(line).expect(line);
        assert!(members.keys().eq(["at", "kind", "payload", "run_id", "seq"]), "{line}");
        let event = Event {
            run_id: members["run_id"].as_str().unwrap().to_owned(),
            at: members["at"].as_u64().unwrap(),
            kind: members["kind"].as_str().unwrap().to_owned(),
            payload: members.remove("payload").unwrap(),
        };
        if runs.last().is_none_or(|run| run[0].run_id != event.run_id) {
            assert_eq!(event.kind, "run.started");
            runs.push(Vec::new());
        }
        let run = runs.last_mut().unwrap();
        assert_eq!(members["seq"].as_u64(), Some(run.len() as u64 + 1), "a gap before {line}");
        assert!(run.last().is_none_or(|last| last.at <= event.at), "time goes back at {line}");
        assert!(run.last().is_none_or(|last| !is_terminal(&last.kind)), "after the end: {line}");
        run.push(event);
    }
    assert!(runs.iter().all(|run| is_terminal(&run.last().unwrap().kind)), "no end: {out}");
    runs
}

fn is_terminal(kind: &str) -> bool {
    ["run.completed", "run.cancelled", "run.failed"].contains(&kind)
}

/// Where events of this kind stand.
pub(crate) fn places(log: &[Event], kind: &str) -> Vec<usize> {
    (0..log.len()).filter(|at| log[*at].kind == kind).collect()
}

/// The one event of this kind.
pub(crate) fn only<'a>(log: &'a [Event], kind: &str) -> &'a Event {
    match places(log, kind)[..] {
        [at] => &log[at],
        ref places => panic!("{} events {kind}", places.len()),
    }
}
