//! What is taken from outside: I*.

use crate::Rows;
use crate::hand::*;
use runloom_core::event::Event;
use runloom_core::history::History;
use runloom_core::id::{CommandId, Revision, RunId, SessionId};
use runloom_core::laws::Checked;
use runloom_core::model::{Finish, ModelSpec};
use runloom_core::outcome::RunResult;
use runloom_core::record::{RecordBounds, RecordError, RecordProblem, RecordedLog};
use runloom_core::suspend::{Resume, Suspended};
use runloom_core::tool::ApprovalPolicy;
use runloom_core::{Input, config::Config};
use std::sync::Arc;

pub(crate) const OWN: Rows = &[
    ("I04", a_kind_that_is_not_known_is_an_error),
    ("I05", what_a_payload_holds_beyond_is_kept),
    ("I06", a_number_is_an_integer_from_1_below_2_53),
    ("I07", numbers_have_no_gap),
    ("I08", a_step_is_opened_once),
    ("I09", an_end_has_a_beginning),
    ("I12", a_resumed_run_goes_on_with_the_next_number),
    ("I14", an_export_is_what_was_imported),
];

fn read(text: &str) -> Result<RecordedLog, RecordError> {
    RecordedLog::read(text.as_bytes(), &RecordBounds::default())
}

#[track_caller]
fn refused(text: &str) -> RecordProblem {
    read(text).unwrap_err().problem
}

/// The lines of a run that has completed.
fn lines() -> Vec<String> {
    let mut hand = Hand::plain();
    hand.text("hi");
    hand.done(Finish::Stop);
    (0..hand.events.len()).map(|at| hand.json(at)).collect()
}

fn a_kind_that_is_not_known_is_an_error() {
    let text = lines().join("\n").replace("step.completed", "tool.paused");
    assert_eq!(refused(&text), RecordProblem::UnknownKind("tool.paused".into()));
}

fn what_a_payload_holds_beyond_is_kept() {
    let text = lines().join("\n").replacen("\"step\":1}", "\"step\":1,\"x\":true}", 1);
    assert!(text.contains("\"x\":true"));
    assert_eq!(read(&text).unwrap().to_jsonl(), text + "\n");
}

fn a_number_is_an_integer_from_1_below_2_53() {
    for seq in ["0", "-1", "1.0", "1.5", "9007199254740992"] {
        let line = lines()[0].replace("\"seq\":1", &format!("\"seq\":{seq}"));
        let problem = refused(&line);
        let wrong =
            matches!(problem, RecordProblem::Kind { member: "seq", .. } | RecordProblem::NotCanonical { .. });
        assert!(wrong, "{seq}: {problem}");
    }
}

fn numbers_have_no_gap() {
    let mut lines = lines();
    lines.remove(2);
    assert_eq!(refused(&lines.join("\n")), RecordProblem::Sequence { expected: 3, observed: 4 });
}

fn a_step_is_opened_once() {
    let mut lines = lines();
    let again = lines[1].replace("\"seq\":2", "\"seq\":3");
    lines.truncate(2);
    lines.push(again);
    assert_eq!(refused(&lines.join("\n")), RecordProblem::UnmatchedLifecycle("a step is open"));
}

fn an_end_has_a_beginning() {
    let lines = lines();
    let completed = lines[4].replace("\"seq\":5", "\"seq\":3");
    let text = [&lines[0], &lines[1], &completed].map(String::as_str).join("\n");
    assert_eq!(refused(&text), RecordProblem::UnmatchedLifecycle("no such attempt is open"));
}

/// A run that waits for an approval, put aside.
fn suspended() -> (Hand, String) {
    let mut hand = Hand::begun(Config::default(), [shared("t").approval(ApprovalPolicy::Ask)]);
    hand.calls(["t"]);
    hand.give(Input::Suspend { command: CommandId(50) });
    let RunResult::Suspended(value) = &hand.outcome().result else { panic!() };
    let json = value.to_json();
    (hand, json)
}

fn a_resumed_run_goes_on_with_the_next_number() {
    let (first, json) = suspended();
    let value = Arc::new(Suspended::from_json(&json).unwrap());
    let last = first.events.last().unwrap().seq;
    assert!(matches!(first.last(), Event::RunSuspended { .. }));
    let session = SessionId::new("s").unwrap();
    let model = Arc::new(ModelSpec::new("m"));
    let mut resume = Resume::new(value, session, Revision(7), History::default(), model);
    resume.tools = first.start.tools.clone();
    let mut second = Hand::new(Config::default(), []);
    second.checked = Checked::new(RunId::new("r").unwrap(), Arc::new(Config::default()));
    second.give(Input::Resume(Box::new(resume)));
    assert_eq!((second.events[0].seq.0, second.kinds()[0]), (last.0 + 1, "run.resumed"));
    second.cancel();
    assert!(!second.kinds().contains(&"run.started"));
    let both = (0..first.events.len()).map(|at| first.json(at));
    let both: Vec<String> = both.chain((0..second.events.len()).map(|at| second.json(at))).collect();
    assert!(read(&both.join("\n")).unwrap().is_closed(), "both parts are one record");
}

fn an_export_is_what_was_imported() {
    let text = lines().join("\n") + "\n";
    let log = read(&text).unwrap();
    assert_eq!(log.to_jsonl(), text);
    assert_eq!(read(&log.to_jsonl()).unwrap(), log);
    let (_, json) = suspended();
    assert_eq!(Suspended::from_json(&json).unwrap().to_json(), json);
}
