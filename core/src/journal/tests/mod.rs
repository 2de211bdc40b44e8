//! Inputs of every kind come back as they were; what is damaged is found, and never more than that.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod damage;
mod every;

use super::line::{Entry, What, append};
use super::{JournalBounds, Recorder, input, replay};
use crate::config::Config;
use crate::history::History;
use crate::id::{Revision, RunId, SessionId};
use crate::input::{Input, Start};
use crate::message::Part;
use crate::model::ModelSpec;
use crate::output::Outbox;
use crate::run::Run;
use crate::saved::ImportBounds;
use crate::time::Time;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use std::collections::BTreeSet;

fn line_of(at: Time, name: &str, input: &Input) -> String {
    let mut line = String::new();
    append(&mut line, at, name, &input::write(input));
    assert_eq!(line.pop(), Some('\n'));
    line
}

fn read(line: &str) -> Input {
    let entry = Entry::read(line, &ImportBounds::default()).unwrap_or_else(|error| panic!("{error}: {line}"));
    match entry.what {
        What::Input(input) => input,
        What::Panicked(_) => panic!("not an input"),
    }
}

fn started() -> (Run, Recorder, Outbox) {
    let mut run = Run::new(RunId::new("run").unwrap(), Arc::new(Config::default()));
    let (mut recorder, mut out) = (Recorder::new(&run), Outbox::new());
    let model = Arc::new(ModelSpec::new("model"));
    let session = SessionId::new("session").unwrap();
    let start = Start::new(session, Revision(0), History::default(), vec![Part::Text("hello".into())], model);
    let _ = recorder.step(&mut run, Time::ZERO, Input::Start(Box::new(start)), &mut out).unwrap();
    (run, recorder, out)
}

// proves: L7
#[test]
fn every_input_comes_back_as_it_was() {
    let mut names = BTreeSet::new();
    for input in every::inputs() {
        let line = line_of(Time::from_micros(7), "input", &input);
        let again = read(&line);
        assert_eq!(format!("{again:?}"), format!("{input:?}"));
        assert_eq!(line_of(Time::from_micros(7), "input", &again), line);
        names.insert(input.name());
    }
    assert_eq!(names.len(), 22, "{names:?}");
}

// proves: L7
#[test]
fn every_configuration_comes_back_as_it_was() {
    for config in every::configs() {
        let run = Run::new(RunId::new("r\u{e9}\"").unwrap(), Arc::new(config));
        let head = Recorder::new(&run).take();
        let again = replay(head.as_bytes(), &JournalBounds::default()).unwrap();
        assert_eq!(again.run.config(), run.config());
        assert_eq!(again.run.log().run_id(), run.log().run_id());
        assert_eq!(Recorder::new(&again.run).take(), head);
    }
}

// proves: W1, L7
#[test]
fn misuse_is_not_written() {
    let (mut run, mut recorder, mut out) = started();
    recorder.take();
    let claimed = Input::Taken { through: crate::id::Seq(99) };
    assert!(recorder.step(&mut run, Time::from_secs(1), claimed, &mut out).is_err());
    assert!(recorder.is_empty());
    let debug = format!("{recorder:?}");
    assert!(!debug.contains("hello"), "{debug}");
}

// proves: L7
#[test]
fn a_time_that_goes_back_is_written_as_the_machine_took_it() {
    let (mut run, mut recorder, mut out) = started();
    for at in [5, 3] {
        let wake = Input::Wake { quiet: false };
        let _ = recorder.step(&mut run, Time::from_secs(at), wake, &mut out).unwrap();
    }
    let journal = recorder.take();
    let again = replay(journal.as_bytes(), &JournalBounds::default()).unwrap();
    assert_eq!(again.run.now(), Time::from_secs(5));
    assert_eq!(journal.matches("{\"at\":5000000,\"input\"").count(), 2);
}

// proves: X5, L7
#[cfg(feature = "verify")]
#[test]
fn a_panic_of_the_machine_is_replayed_as_its_close() {
    let (mut run, mut recorder, mut out) = started();
    run.plant_panic(0);
    let wake = Input::Wake { quiet: false };
    let stepped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        recorder.step(&mut run, Time::from_secs(2), wake, &mut out).map(|_| ())
    }));
    assert!(stepped.is_err());
    recorder.close_after_panic(&mut run, &mut out);
    let journal = recorder.take();
    assert!(
        journal.contains("{\"at\":2000000,\"panicked\":{\"quiet\":false,\"type\":\"wake\"}}\n"),
        "{journal}"
    );
    let again = replay(journal.as_bytes(), &JournalBounds::default()).unwrap();
    assert!(again.run.log().iter().eq(run.log().iter()));
    assert_eq!(format!("{:?}", again.run.outcome()), format!("{:?}", run.outcome()));
}
