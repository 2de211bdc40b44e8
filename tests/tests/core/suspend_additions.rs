//! What was added to a run goes on with it when it is put aside: its ids, its messages, and who gets it back (H3, H5, H6).

use crate::hand::*;
use crate::suspend::{Story, tools};
use runloom_core::Input;
use runloom_core::compaction::{Compaction, CompactionPolicy};
use runloom_core::config::Config;
use runloom_core::host_input::HostAnswer;
use runloom_core::id::RequestId;
use runloom_core::input::Reader;
use runloom_core::message::Role;
use runloom_core::model::Finish;
use runloom_core::saved::ImportProblem;
use runloom_core::steer::{RetractReply, SteerError};
use runloom_core::suspend::{Resume, Suspended};

fn duplicate(id: &str) -> Result<String, SteerError> {
    Err(SteerError::Duplicate(runloom_core::id::SteerId::new(id).unwrap()))
}

/// A run that has applied `own` and an input whose id the engine made, and waits for consent in its second step.
fn steered() -> Story {
    let mut story = Story::new(Config::default(), tools());
    story.hand.steer("own", "faster").unwrap();
    story.hand.steer_parts(None, vec![runloom_core::message::Part::Text("shorter".into())]).unwrap();
    story.hand.calls(["plain"]);
    let (_, op) = story.hand.tools()[0];
    story.hand.runs(op, "ran");
    story.hand.calls(["asked"]);
    story
}

/// Ends the second step of a [`steered`] run, and the run.
fn ends(story: &mut Story) {
    story.respond("2.0/1", HostAnswer::allow()).unwrap();
    let (_, op) = story.hand.tools()[0];
    story.hand.runs(op, "ran too");
    story.hand.text("done");
    story.hand.done(Finish::Stop);
}

// proves: H3, H6
#[test]
fn an_id_that_was_applied_before_a_suspension_is_accepted_no_more_after_it() {
    let mut story = steered();
    for part in 0..3 {
        let value = story.suspend().unwrap();
        assert_eq!(Suspended::from_json(&value.to_json()).unwrap(), *value);
        let resume = story.resume_of(&value.to_json());
        story.go_on(resume);
        for id in ["own", "steer-1"] {
            assert_eq!(story.hand.steer(id, "again"), duplicate(id), "part {part}");
            assert_eq!(story.hand.retract(id), RetractReply::AlreadyApplied);
        }
        // What waited was returned: its id is free.
        assert_eq!(story.hand.steer("waits", "x"), Ok("waits".into()));
    }
    assert_eq!(story.hand.retract("waits"), RetractReply::Retracted);
    assert_eq!(story.hand.retract("unknown"), RetractReply::NotFound);
    ends(&mut story);
    let said = ["u hello", "a ", "t 0 ran with {}", "u faster", "u shorter", "a ", "t ran too", "a done"];
    assert_eq!(story.hand.said().len(), said.len());
    assert_eq!(story.hand.said()[3..6], said[3..6]);
    assert!(story.hand.unapplied().is_empty());
}

/// Goes on with the value without a reader that could be lost, and loses it.
fn interrupted(story: &mut Story) {
    let json = story.suspend().unwrap().to_json();
    let mut resume: Resume = story.resume_of(&json);
    resume.reader = Reader::Primary;
    story.go_on(resume);
    story.hand.give(Input::ConsumerGone { awaited: false });
    story.respond("2.0/1", HostAnswer::allow());
}

// proves: H5, C9, H6
#[test]
fn an_interruption_after_a_suspension_returns_what_was_applied_before_it() {
    let mut story = steered();
    let json = story.suspend().unwrap().to_json();
    story.go_on(story.resume_of(&json));
    interrupted(&mut story);
    assert_eq!(story.hand.outcome().history.len(), 0);
    assert_eq!(story.hand.unapplied(), ["own", "steer-1"]);
    let parts = &story.hand.outcome().unapplied[0].parts;
    assert!(matches!(&parts[..], [runloom_core::message::Part::Text(text)] if text == "faster"));
    // A cancel commits it with the rest.
    let mut story = steered();
    let json = story.suspend().unwrap().to_json();
    story.go_on(story.resume_of(&json));
    story.hand.cancel();
    assert!(story.hand.unapplied().is_empty());
    assert_eq!(story.hand.said()[3..5], ["u faster", "u shorter"]);
}

/// A run with a source, a compactor or both, whose second step waits for consent.
fn collecting(config: Config) -> Story {
    let mut story = Story::new(config.clone(), tools());
    let mut hand = Hand::new(config, tools()).quick();
    hand.start = hand.start.clone().boundaries(true).compacts(true);
    hand.begin();
    story.hand = hand;
    story
}

// proves: H6, B4, B5
#[test]
fn a_boundary_message_of_a_run_that_is_put_aside_goes_on_with_it() {
    let mut story = collecting(Config::default());
    assert!(story.hand.tells("the build has failed"));
    story.hand.steer("own", "look into it").unwrap();
    story.hand.calls(["plain"]);
    let (_, op) = story.hand.tools()[0];
    story.hand.runs(op, "ran");
    assert!(story.hand.tells("it has failed again"));
    story.hand.calls(["asked"]);
    let value = story.suspend().unwrap();
    // What is committed is the session's: the value holds what came since, and its first message is the steer.
    let roles: Vec<Role> = value.messages().iter().map(|message| message.role()).collect();
    assert_eq!((roles.as_slice(), value.revision().0), (&[Role::User, Role::Assistant][..], 9));
    let mut resume = story.resume_of(&value.to_json());
    resume.history = story.hand.checked.run().committed().unwrap().0.clone();
    resume.revision = value.revision();
    resume.boundaries = true;
    story.go_on(resume);
    assert_eq!(story.hand.steer("own", "again"), duplicate("own"));
    story.respond("2.0/1", HostAnswer::allow()).unwrap();
    let (_, op) = story.hand.tools()[0];
    story.hand.runs(op, "ran too");
    story.hand.tells("");
    story.hand.text("done");
    story.hand.done(Finish::Stop);
    story.hand.tells("");
    let said = story.hand.said();
    assert_eq!(said[..3], ["u hello", "b the build has failed", "a "]);
    assert_eq!(said[4..6], ["b it has failed again", "u look into it"]);
    assert_eq!((story.hand.unapplied().len(), story.hand.outcome().revision.0), (0, 10));
}

// proves: H5, C9, K1
#[test]
fn an_interruption_after_a_suspension_keeps_what_a_compaction_has_committed_with_the_steers_in_it() {
    let policy = CompactionPolicy::after_messages(4).keep_messages(1);
    let mut story = collecting(Config::default().compaction(policy).unwrap());
    story.hand.tells("");
    story.hand.steer("old", "first wish").unwrap();
    story.hand.calls(["plain"]);
    let (_, op) = story.hand.tools()[0];
    story.hand.runs(op, "ran");
    story.hand.tells("");
    story.hand.calls(["plain"]);
    let (_, op) = story.hand.tools()[1];
    story.hand.steer("new", "second wish").unwrap();
    story.hand.runs(op, "ran");
    story.hand.compacted(Ok(Compaction::summary("s")));
    story.hand.tells("");
    story.hand.calls(["asked"]);
    let value = story.suspend().unwrap();
    let mut resume = story.resume_of(&value.to_json());
    resume.history = story.hand.checked.run().committed().unwrap().0.clone();
    resume.revision = value.revision();
    story.go_on(resume);
    for id in ["old", "new"] {
        assert_eq!(story.hand.steer(id, "again"), duplicate(id));
    }
    story.hand.give(Input::ConsumerGone { awaited: false });
    story.respond("3.0/1", HostAnswer::allow());
    assert_eq!(story.hand.unapplied(), ["new"]);
}

// proves: H6
#[test]
fn a_value_whose_inputs_do_not_fit_its_messages_is_refused() {
    let value: serde_json::Value = serde_json::from_str(&steered().suspend().unwrap().to_json()).unwrap();
    assert_eq!(
        value["applied"],
        serde_json::json!([{"id": "own", "message": 3}, {"id": "steer-1", "message": 4}])
    );
    let changes: [(&str, serde_json::Value); 6] = [
        ("two inputs have one id", serde_json::json!([{"id": "own"}, {"id": "own", "message": 3}])),
        ("an input that was applied has no message", serde_json::json!([{"id": "own", "message": 9}])),
        ("an input that was applied has no message", serde_json::json!([{"id": "own", "message": 1}])),
        (
            "an input that was applied has no message",
            serde_json::json!([{"id": "own", "message": 3}, {"id": "b", "message": 3}]),
        ),
        (
            "it has applied more inputs than it has added messages",
            (0..7).map(|n| serde_json::json!({ "id": format!("id-{n}") })).collect(),
        ),
        ("", (0..6).map(|n| serde_json::json!({ "id": format!("id-{n}") })).collect()),
    ];
    for (what, applied) in changes {
        let mut changed = value.clone();
        changed["applied"] = applied;
        match (Suspended::from_json(&changed.to_string()), what) {
            (Ok(_), "") => {}
            (Err(error), _) if matches!(&error.problem, ImportProblem::Contradiction(found) if *found == what) =>
                {}
            (other, _) => panic!("{what}: {other:?}"),
        }
    }
    let request = RequestId::new("2.0/1").unwrap();
    assert_eq!(steered().hand.checked.run().requests()[0].id, request);
}
