//! That runs keep the laws is shown elsewhere; here is shown that a run that breaks them would be found.

use super::*;
use crate::history::History;
use crate::id::{CommandId, OpId, Revision, SessionId};
use crate::input::{AbortCause, Start};
use crate::message::Part;
use crate::model::{CallDelta, Completion, Finish, ModelItem, ModelSpec};
use crate::output::Work;
use crate::text::Text;
use crate::tool::{ToolEnd, ToolItem, ToolOutput, ToolSpec};
use crate::usage::Usage;
use alloc::boxed::Box;

fn checked() -> Checked {
    Checked::new(RunId::new("r").unwrap(), Arc::new(Config::default())).depth(Depth::Whole)
}

fn start() -> Start {
    let input = alloc::vec![Part::Text("hello".into())];
    let model = Arc::new(ModelSpec::new("m"));
    let tool = Arc::new(ToolSpec::new("t", "", "{}").unwrap());
    Start::new(SessionId::new("s").unwrap(), Revision(3), History::default(), input, model).tools([tool])
}

fn step(run: &mut Checked, input: Input) -> Stepped {
    let stepped = run.step(Time::from_millis(1), input).unwrap();
    run.survives_panic().unwrap();
    stepped
}

fn model(op: u64, item: ModelItem) -> Input {
    Input::Model { op: OpId(op), item }
}

fn done(op: u64, finish: Finish) -> Input {
    model(op, ModelItem::Done(Box::new(Completion::new(Some(finish), ""))))
}

/// A run of two steps and one call, up to before its last input.
fn nearly_done() -> Checked {
    let mut run = checked();
    step(&mut run, Input::Start(Box::new(start())));
    step(&mut run, model(1, ModelItem::Text("a".into())));
    let delta = CallDelta { name: Some("t".into()), arguments: "{}".into(), ..CallDelta::default() };
    step(&mut run, model(1, ModelItem::CallDelta(Box::new(delta))));
    step(&mut run, model(1, ModelItem::Usage(Box::new(Usage::new(5, 2)))));
    let begun = step(&mut run, done(1, Finish::ToolCalls));
    assert!(matches!(begun.outputs[..], [Output::Begin { op: OpId(2), work: Work::Tool(_) }]));
    step(&mut run, Input::Tool { op: OpId(2), item: ToolItem::Started });
    let end = ToolEnd::Output(ToolOutput::text("42"));
    step(&mut run, Input::Tool { op: OpId(2), item: ToolItem::Done(end) });
    step(&mut run, model(3, ModelItem::Text("b".into())));
    run
}

// proves: W8
#[test]
fn a_whole_run_keeps_the_laws_and_replays() {
    let mut run = nearly_done();
    let last = step(&mut run, done(3, Finish::Stop));
    assert!(!last.answer.unwrap().live);
    let late = step(&mut run, model(3, ModelItem::Alive));
    assert!(late.answer.is_ok() && run.run().ignored() == 1);
    assert_eq!(step(&mut run, Input::Start(Box::new(start()))).answer, Err(Misuse::AlreadyStarted));
    run.replay_journal().unwrap();
    assert_eq!(run.inputs().len(), 11);
}

// proves: W1, W2, W3, W4, W5, W6, W7, W9, W10
#[test]
fn every_end_keeps_the_laws() {
    let ends = [
        Input::Cancel { command: CommandId(1) },
        Input::Abort(AbortCause::DriverPanicked),
        model(
            3,
            ModelItem::Failed(Box::new(crate::model::Problem::new(crate::model::ProblemKind::Other, ""))),
        ),
    ];
    for end in ends {
        let mut run = nearly_done();
        let last = step(&mut run, end);
        assert!(!last.answer.unwrap().live);
        run.replay_journal().unwrap();
    }
    let mut run = nearly_done();
    step(&mut run, Input::ConsumerGone { awaited: false });
    step(&mut run, model(3, ModelItem::Text("c".into())));
    assert!(run.run().outcome().is_some());
}

#[test]
fn a_panic_is_found_by_the_next_step_only_once() {
    let mut run = nearly_done();
    run.plant_panic(1);
    step(&mut run, model(3, ModelItem::Alive));
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = run.step(Time::ZERO, model(3, ModelItem::Alive));
    }));
    assert!(caught.is_err());
    run.survives_panic().unwrap();
}

/// What the account says to `outcome` after all events of a good run, once `change` has been applied to it.
fn judged(change: impl FnOnce(&mut Outcome)) -> Option<&'static str> {
    let mut run = nearly_done();
    step(&mut run, done(3, Finish::Stop));
    let mut account = Account::default();
    account.started(start());
    for envelope in run.run().log().iter() {
        account.event(&envelope.event, None).unwrap();
    }
    let mut outcome = (**run.run().outcome().unwrap()).clone();
    change(&mut outcome);
    account.ended(&outcome, true).err().map(|(law, _)| law)
}

#[test]
fn outcomes_that_do_not_follow_from_the_events_are_found() {
    assert_eq!(judged(|_| {}), None);
    assert_eq!(judged(|outcome| outcome.revision = Revision(3)), Some("C4"));
    assert_eq!(judged(|outcome| outcome.usage = Usage::new(5, 3)), Some("R5"));
    assert_eq!(judged(|outcome| outcome.billed = Usage::default()), Some("R5"));
    assert_eq!(judged(|outcome| outcome.history = History::default()), Some("C2"));
    let without_last = |outcome: &mut Outcome| {
        let most = outcome.history.len() - 1;
        let kept = outcome.history.iter().take(most).map(|message| (**message).clone());
        outcome.history = History::from_messages(outcome.history.bounds(), kept).unwrap();
    };
    assert_eq!(judged(without_last), Some("C4"));
    let one_more = |outcome: &mut Outcome| {
        let last = (**outcome.history.last().unwrap()).clone();
        outcome.history.push(last).unwrap();
    };
    assert_eq!(judged(one_more), Some("C4"));
    let other_text = |outcome: &mut Outcome| {
        if let RunResult::Completed(answer) = &mut outcome.result {
            Arc::make_mut(answer).text = Text::EMPTY;
        }
    };
    assert_eq!(judged(other_text), Some("E12"));
}

#[test]
fn operations_that_do_not_end_once_are_found() {
    let judged = |end: Option<u64>, outputs: &[Output]| {
        let mut run = nearly_done();
        let end = end.map(|op| {
            model(
                op,
                ModelItem::Failed(Box::new(crate::model::Problem::new(crate::model::ProblemKind::Other, ""))),
            )
        });
        run.ops.stepped(&run.run, end.as_ref().and_then(End::of), false, outputs).err().map(|(law, _)| law)
    };
    let abandon = |op| Output::Abandon { op: OpId(op) };
    assert_eq!(judged(None, &[]), None);
    assert_eq!(judged(None, &[abandon(2)]), Some("W5"), "it has ended");
    assert_eq!(judged(None, &[abandon(9)]), Some("W5"), "it was not begun");
    assert_eq!(judged(Some(3), &[abandon(3)]), Some("W5"), "it ended twice");
    assert_eq!(judged(Some(3), &[]), Some("W5"), "the attempt is open without its work");
    let mut first = checked();
    let begun = step(&mut first, Input::Start(Box::new(start()))).outputs;
    assert_eq!(judged(None, &begun), Some("W5"), "its number was used");
}

#[test]
fn what_a_step_must_not_do_is_found() {
    let run = nearly_done();
    let mark = Mark::of(&run.run);
    let next = run.next().unwrap();
    assert!(run.waits(next, false).is_ok() && run.ends(mark, next, &[]).is_ok());
    let law = |result: Result<(), Found>| result.err().map(|(law, _)| law);
    let mut wrong = next;
    wrong.wake = Some(crate::output::Wake { at: run.run.now(), why: crate::output::WakeReason::Run });
    assert_eq!(law(run.waits(wrong, false)), Some("W3"));
    let mut quiet = next;
    quiet.wake = Some(crate::output::Wake { at: run.run.now(), why: crate::output::WakeReason::Idle });
    assert_eq!((law(run.waits(quiet, false)), law(run.waits(quiet, true))), (None, Some("W3")));
    assert_eq!(law(run.waits(Next { credit: Credit::ZERO, ..next }, false)), Some("E13"));
    assert_eq!(law(run.waits(Next { live: false, ..next }, false)), Some("W4"));
    assert_eq!(law(run.ends(mark, Next { live: false, ..next }, &[])), Some("W7"));
    let before = Mark { live: false, seq: Seq(1), ..mark };
    assert_eq!(law(run.ends(before, next, &[])), Some("W4"));
    let abandon = [Output::Abandon { op: OpId(3) }];
    assert_eq!(law(run.ends(before, next, &abandon)), Some("W4"));
    assert_eq!(law(run.nothing_changed(mark, None, &abandon)), Some("W1"));
    assert_eq!(law(run.nothing_changed(before, None, &[])), Some("W1"));
    assert_eq!(law(run.nothing_changed(mark, Some(""), &[])), Some("W1"));
    let many: Vec<Output> = (0..1_000).map(|op| Output::Abandon { op: OpId(op) }).collect();
    assert_eq!(law(run.bounded(mark, &many)), Some("W6"));
    let other = Next { credit: Credit::ZERO, ..next };
    assert_eq!(law(run.spurious_wake(other)), Some("W2"));
}

#[test]
fn a_log_that_differs_on_replay_is_found() {
    let mut run = nearly_done();
    if let Some(journal) = &mut run.journal {
        journal.pop();
        journal.push((Time::from_millis(1), model(3, ModelItem::Text("c".into()))));
    }
    assert_eq!(run.replay().unwrap_err().law, "W8");
}
