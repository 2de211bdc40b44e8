//! `inspect replay`: a recorded journal, and journals that are damaged.

use crate::program::{Ended, root, run};
use runloom::testing::{Attempt, ScriptedTool, World};
use runloom_core::id::{CommandId, SteerId};
use runloom_core::input::{Answerers, Input, Reader, Recover, Retract, SteerInput};
use runloom_core::message::Part;
use runloom_core::model::{Problem, ProblemKind};
use std::path::PathBuf;
use std::time::Duration;

fn path() -> PathBuf {
    root().join("examples/recordings/recovered.journal.jsonl")
}

/// A run with a retry, tools, added input and a crash: `REWRITE=1` writes its journal.
fn journal() -> String {
    if std::env::var_os("REWRITE").is_some() {
        std::fs::write(path(), recorded()).unwrap();
    }
    std::fs::read_to_string(path()).unwrap()
}

fn recorded() -> String {
    let at = Duration::from_millis;
    let slow = ScriptedTool::new("slow").wait(at(5_000)).output("never heard");
    let steer = SteerInput {
        command: CommandId(1),
        id: Some(SteerId::new("note").unwrap()),
        parts: vec![Part::Text("and be brief".into())],
    };
    let retract = Retract { command: CommandId(2), id: SteerId::new("other").unwrap() };
    let world = World::new()
        .model(
            Attempt::new().wait(at(10)).text("Let me lo").fail(Problem::new(ProblemKind::Overloaded, "busy")),
        )
        .model(Attempt::new().wait(at(10)).text("Let me look.").call("slow", "{\"what\":\"it\"}"))
        .model(Attempt::new().wait(at(10)).text("I could not see what came of it."))
        .tool(&slow)
        .at(at(20), Input::Steer(Box::new(steer)))
        .at(at(30), Input::Retract(Box::new(retract)))
        .at(at(2_000), Input::Recover(Box::new(Recover::new(Reader::Primary, Answerers::default()))));
    let report = world.run();
    assert_eq!(report.answer(), Some("I could not see what came of it."));
    report.checked().journal()
}

fn replay(journal: &str, name: &str) -> Ended {
    let path = std::env::temp_dir().join(format!("runloom-replay-{}-{name}", std::process::id()));
    std::fs::write(&path, journal).unwrap();
    let ended = run("inspect", &["replay", path.to_str().unwrap()]);
    std::fs::remove_file(&path).unwrap();
    ended
}

fn events(journal: &str) -> String {
    let events = journal.lines().filter(|line| line.contains(",\"kind\":\"") && line.contains("\"seq\":"));
    events.map(|line| format!("{line}\n")).collect()
}

// proves: L7, H7
#[test]
fn a_journal_prints_the_log_that_it_proves() {
    let journal = journal();
    let Ended { code, out, err, .. } = replay(&journal, "whole");
    assert_eq!((code, &*err), (Some(0), ""));
    assert_eq!(out, events(&journal));
    assert!(out.contains("run.recovered") && out.contains("interrupted(outcome_unknown)"), "{out}");
}

// proves: L7
#[test]
fn the_first_difference_is_shown_with_both_sides() {
    let journal = journal();
    let changed =
        journal.replacen("{\"text\":\"Let me lo\"},\"run_id\"", "{\"text\":\"Let me so\"},\"run_id\"", 1);
    assert_ne!(changed, journal);
    let Ended { code, out, err, .. } = replay(&changed, "changed");
    assert_eq!(code, Some(1));
    assert_eq!(out.lines().count(), 3, "{out}");
    let lines: Vec<&str> = err.lines().collect();
    assert!(lines[0].starts_with("inspect: line 8: event 4 is not the one that was recorded"), "{err}");
    assert!(lines[1].starts_with("recorded: ") && lines[1].contains("Let me so"), "{err}");
    assert!(lines[2].starts_with("replayed: ") && lines[2].contains("Let me lo"), "{err}");
}

#[test]
fn what_is_no_journal_is_refused() {
    let torn = &journal()[..700];
    let Ended { code, err, .. } = replay(torn, "torn");
    assert!(code == Some(1) && err.contains("cut off"), "{err}");
    let Ended { code, err, .. } = replay("{}\n", "empty");
    assert!(code == Some(1) && err.contains("line 1"), "{err}");
    let Ended { code, err, .. } = run("inspect", &["replay", "/nowhere/at/all"]);
    assert!(code == Some(1) && !err.is_empty(), "{err}");
    let Ended { code, err, .. } = run("inspect", &["replay"]);
    assert!(code == Some(2) && err.contains("replay JOURNAL"), "{err}");
}
