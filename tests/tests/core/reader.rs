//! The loss of the reader (C9), runs without one, misuse and what comes late (W1, W2, W4, W5).

use crate::hand::*;
use runloom_core::Input;
use runloom_core::config::Config;
use runloom_core::error::{Misuse, RunError};
use runloom_core::id::{CommandId, OpId, Seq};
use runloom_core::input::AbortCause;
use runloom_core::message::Part;
use runloom_core::model::{Finish, ModelItem, ProblemKind};
use runloom_core::outcome::RunResult;
use runloom_core::tool::{ToolItem, Verdict};

fn config() -> Config {
    deadlines(|d| {
        (d.first_item, d.idle, d.tool) = (Some(seconds(2)), Some(seconds(2)), Some(seconds(2)));
        (d.attempt, d.model_call, d.run) = (Some(seconds(3)), Some(seconds(4)), Some(seconds(5)));
    })
}

/// A run in each of its phases, with the name of the phase.
fn phases() -> Vec<(&'static str, Hand)> {
    let tools = || [shared("t"), shared("asks").needs_approval()];
    let model = Hand::begun(config(), tools());
    let mut shown = model.clone();
    shown.text("a");
    shown.delta(Some(0), "c", "t", "{}");
    let mut backoff = model.clone();
    backoff.fail(ProblemKind::Server);
    let mut asking = model.clone();
    asking.calls(["asks"]);
    let mut begun = model.clone();
    begun.calls(["t", "t"]);
    let mut running = begun.clone();
    let op = running.tools()[0].1;
    running.enter(op);
    let mut second = running.clone();
    second.finish(op, "x");
    let op = second.tools()[1].1;
    second.runs(op, "y");
    vec![
        ("fresh", model),
        ("shown", shown),
        ("backoff", backoff),
        ("asking", asking),
        ("begun", begun),
        ("running", running),
        ("second step", second),
    ]
}

/// Everything that may happen to a run in that phase.
fn inputs(hand: &Hand) -> Vec<Input> {
    let mut inputs = vec![
        Input::Cancel { command: CommandId(1) },
        Input::Abort(AbortCause::HandleDropped),
        Input::Abort(AbortCause::DriverPanicked),
        Input::Wake { quiet: false },
        Input::Wake { quiet: true },
        Input::Taken { through: Seq(1) },
        Input::ConsumerGone { awaited: true },
        Input::ConsumerGone { awaited: false },
    ];
    for op in hand.checked.open_ops() {
        let model = [
            ModelItem::Text("b".into()),
            ModelItem::Alive,
            done(Some(Finish::Stop)),
            done(Some(Finish::ToolCalls)),
            done(None),
        ];
        inputs.extend(model.map(|item| Input::Model { op, item }));
        let tool = [ToolItem::Started, ToolItem::Progress("p".into()), output("z")];
        inputs.extend(tool.map(|item| Input::Tool { op, item }));
        inputs.push(Input::Authorized { op, verdict: Verdict::Deny { reason: "".into() } });
    }
    inputs
}

// proves: C9, E3, W7
#[test]
fn after_the_loss_of_the_reader_the_next_event_interrupts_whatever_the_phase() {
    let mut ends = 0;
    for (phase, mut hand) in phases() {
        hand.give(Input::ConsumerGone { awaited: false });
        assert!(hand.is_live(), "{phase}: the loss alone is no event");
        for input in inputs(&hand) {
            for millis in [0, 1_000, 2_000, 3_000, 4_000, 5_000] {
                let mut twin = hand.clone();
                twin.reads = false;
                twin.at(millis);
                let before = twin.events.len();
                let stepped = twin.checked.step(twin.now, input.clone());
                let stepped = stepped.unwrap_or_else(|broken| panic!("{phase}, {input:?}: {broken}"));
                if stepped.answer.is_err() {
                    continue;
                }
                let log = twin.checked.run().log();
                let recorded = log.last_seq().0 as usize - before;
                assert_eq!(recorded == 0, twin.is_live(), "{phase}, {input:?}: an event, and so the end");
                let Some(outcome) = twin.checked.run().outcome() else { continue };
                ends += 1;
                let lost =
                    matches!(&outcome.result, RunResult::Failed(error) if **error == RunError::Interrupted);
                let history = if lost { 0 } else { outcome.history.len() };
                assert_eq!((outcome.revision.0 == 7, history == 0), (lost, lost), "{phase}, {input:?}");
                let chosen = matches!(input, Input::Cancel { .. } | Input::Abort(_)) || millis >= 4_000;
                assert!(lost || chosen, "{phase}, {input:?}");
            }
        }
    }
    assert!(ends > 100, "{ends}");
}

// proves: C9
#[test]
fn an_interrupted_run_leaves_the_history_that_there_was() {
    let mut before = Hand::plain();
    before.text("old");
    before.done(Finish::Stop);
    let mut hand = Hand::new(Config::default(), [shared("t")]);
    hand.start.history = before.outcome().history.clone();
    hand.begin();
    hand.calls(["t"]);
    hand.give(Input::ConsumerGone { awaited: false });
    let (_, op) = hand.tools()[0];
    hand.enter(op);
    assert!(matches!(hand.error(), RunError::Interrupted));
    assert_eq!(hand.outcome().history, before.outcome().history);
    assert_eq!(hand.outcome().revision, hand.start.revision);
    assert_eq!(hand.statuses(), [(0, "interrupted(not_started)")], "what was not recorded did not happen");
}

// proves: C9, E13
#[test]
fn a_run_that_is_awaited_or_unattended_outlives_its_reader() {
    let mut awaited = Hand::begun_unread(limits(|limits| limits.event_capacity = 3), []);
    assert!(awaited.is_full());
    awaited.give(Input::ConsumerGone { awaited: true });
    assert!(!awaited.is_full());
    let mut unattended = Hand::new(limits(|limits| limits.event_capacity = 3), []).unattended();
    unattended.begin();
    unattended.give(Input::ConsumerGone { awaited: false });
    for mut hand in [awaited, unattended] {
        for _ in 0..100 {
            hand.text("x");
        }
        assert!(!hand.is_full());
        hand.give(Input::ConsumerGone { awaited: false });
        hand.done(Finish::Stop);
        assert_eq!(hand.answer().len(), 100);
    }
}

// proves: W4, C7, W5
#[test]
fn an_ended_run_only_replies() {
    for (phase, hand) in phases() {
        let late = inputs(&hand);
        let mut ended = hand.clone();
        ended.abort(AbortCause::HandleDropped);
        let (events, outcome) = (ended.events.len(), ended.outcome().clone());
        for input in late {
            ended.at(60_000);
            ended.reads = false;
            let stepped = ended.checked.step(ended.now, input.clone()).unwrap();
            let replies = usize::from(matches!(input, Input::Cancel { .. }));
            assert_eq!(stepped.outputs.len(), replies, "{phase}, {input:?}");
            let next = stepped.answer.unwrap_or_else(|misuse| panic!("{phase}, {input:?}: {misuse}"));
            assert!(!next.live && next.wake.is_none() && next.credit.is_zero());
        }
        assert_eq!(ended.checked.run().log().last_seq().0 as usize, events);
        assert_eq!(format!("{:?}", ended.outcome()), format!("{outcome:?}"));
    }
}

// proves: W1
#[test]
fn misuse_changes_nothing_and_says_what_it_was() {
    let mut new = Hand::new(Config::default(), []);
    let op = OpId(1);
    let not_started = |input| Misuse::NotStarted { input };
    assert_eq!(new.misuse(Input::Abort(AbortCause::Shutdown)), not_started("abort"));
    assert_eq!(new.misuse(Input::Taken { through: Seq(0) }), not_started("taken"));
    assert_eq!(new.misuse(Input::ConsumerGone { awaited: true }), not_started("consumer_gone"));
    let alive = |op| Input::Model { op, item: ModelItem::Alive };
    assert_eq!(new.misuse(alive(op)), Misuse::UnknownOp { input: "model", op });
    assert_eq!(new.now, runloom_core::time::Time::ZERO);
    for (_, mut hand) in phases() {
        hand.at(1_000);
        let start = Input::Start(Box::new(hand.start.clone()));
        assert_eq!(hand.misuse(start), Misuse::AlreadyStarted);
        assert_eq!(hand.misuse(alive(OpId(0))), Misuse::UnknownOp { input: "model", op: OpId(0) });
        let next = OpId(hand.op().0 + 1);
        assert_eq!(hand.misuse(alive(next)), Misuse::UnknownOp { input: "model", op: next });
        let last = hand.checked.run().log().last_seq();
        let ahead = Seq(last.0 + 1);
        let claimed = hand.misuse(Input::Taken { through: ahead });
        assert_eq!(claimed, Misuse::TakenAhead { claimed: ahead, last });
        for op in hand.checked.open_ops().collect::<Vec<_>>() {
            let wrong = [
                alive(op),
                Input::Tool { op, item: ToolItem::Started },
                Input::Authorized { op, verdict: Verdict::Deny { reason: "".into() } },
            ];
            let refused = wrong.into_iter().filter(|input| {
                let mut twin = hand.clone();
                let stepped = twin.checked.step(twin.now, input.clone()).unwrap();
                matches!(stepped.answer, Err(Misuse::WrongKind { .. }))
            });
            assert_eq!(refused.count(), 2);
        }
    }
}

// proves: W1, M1, M4
#[test]
fn a_run_that_cannot_start_has_not_started() {
    let big = "x".repeat((256 << 10) + 1);
    let bad: [(&str, Vec<Part>); 3] = [
        ("no part", vec![]),
        ("too long", vec![Part::Text(big.as_str().into())]),
        ("too many parts", vec![Part::Text("x".into()); 257]),
    ];
    let mut hand = Hand::new(Config::default(), []);
    for (name, input) in bad {
        let mut start = hand.start.clone();
        start.input = input;
        let misuse = hand.misuse(Input::Start(Box::new(start)));
        assert!(matches!(misuse, Misuse::InvalidStart(_)), "{name}");
    }
    let mut twice = hand.start.clone();
    twice = twice.tools([shared("t"), shared("t")].map(std::sync::Arc::new).to_vec());
    assert!(matches!(hand.misuse(Input::Start(Box::new(twice))), Misuse::InvalidStart(_)));
    let mut last = hand.start.clone();
    last.revision = runloom_core::id::Revision(u64::MAX);
    assert!(matches!(hand.misuse(Input::Start(Box::new(last))), Misuse::InvalidStart(_)));
    assert_eq!(hand.checked.run().phase_name(), "new");
    hand.begin();
    hand.text("a");
    hand.done(Finish::Stop);
    assert_eq!(hand.answer(), "a");
}

// proves: W2, W3
#[test]
fn a_wake_that_nobody_asked_for_has_no_effect_in_any_phase() {
    // Every step of a hand is probed with a spurious wake; here a quiet one comes early, too.
    for (phase, mut hand) in phases() {
        let before = format!("{:?}", hand.checked.run());
        for quiet in [false, true] {
            let now = hand.checked.run().now();
            let stepped = hand.checked.step(now, Input::Wake { quiet }).unwrap();
            assert!(stepped.outputs.is_empty());
            assert_eq!(format!("{:?}", hand.checked.run()), before, "{phase}");
        }
    }
}

// proves: W8, L7
#[test]
fn equal_inputs_give_equal_logs() {
    for (phase, mut hand) in phases() {
        hand.at(1_234).abort(AbortCause::Shutdown);
        hand.replays();
        let mut twin = Hand::new(config(), [shared("t"), shared("asks").needs_approval()]).quick();
        for (now, input) in hand.checked.inputs() {
            let _ = twin.checked.step(*now, input.clone()).unwrap();
        }
        let lines = |hand: &Hand| {
            let log = hand.checked.run().log();
            log.iter().map(|envelope| envelope.to_json(log.run_id())).collect::<Vec<_>>()
        };
        assert_eq!(lines(&hand), lines(&twin), "{phase}");
    }
}
