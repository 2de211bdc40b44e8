//! What opens and closes in a run: T*. The rows' turn is a step here.

use crate::Rows;
use crate::hand::*;
use runloom_core::Input;
use runloom_core::config::Config;
use runloom_core::event::Event;
use runloom_core::host_input::{HostAnswer, Question, Shape};
use runloom_core::id::{CommandId, OpId, RequestId};
use runloom_core::input::{AbortCause, Respond};
use runloom_core::message::Part;
use runloom_core::model::Finish;
use runloom_core::output::CancelReply;
use runloom_core::tool::{Ask, Certainty, ToolFault, ToolItem};
use std::sync::Arc;

pub(crate) const OWN: Rows = &[
    ("T01", one_step),
    ("T02", two_steps_with_a_call),
    ("T03", a_cancel_closes_from_the_inside_and_changes_nothing_before),
    ("T04", a_cancel_after_the_end_of_a_response_finds_one_terminal),
    ("T06", an_error_text_is_bounded_and_its_end_recorded),
    ("T07", what_is_known_of_a_failure_is_a_type),
    ("T09", a_tool_that_is_not_there_ends_no_run),
    ("T10", the_step_limit_completes),
    ("T11", a_shutdown_closes_tool_step_and_run),
    ("T12", a_request_has_one_id_for_ever),
];

fn one_step() {
    let mut hand = Hand::plain();
    hand.text("hi");
    hand.done(Finish::Stop);
    let kinds = [
        "run.started",
        "step.started",
        "model.started",
        "text.delta",
        "model.completed",
        "step.completed",
        "run.completed",
    ];
    assert_eq!(hand.kinds(), kinds);
}

/// Two events more than in the row: a call is shown while it is written, and proposed before it starts (E5, E6).
fn two_steps_with_a_call() {
    let mut hand = Hand::begun(Config::default(), [shared("read")]);
    hand.calls(["read"]);
    hand.runs(hand.op(), "ok");
    hand.text("hi");
    hand.done(Finish::Stop);
    let kinds = [
        "run.started",
        "step.started",
        "model.started",
        "tool_call.delta",
        "model.completed",
        "tool.proposed",
        "tool.started",
        "tool.finished",
        "step.completed",
        "step.started",
        "model.started",
        "text.delta",
        "model.completed",
        "step.completed",
        "run.completed",
    ];
    assert_eq!(hand.kinds(), kinds);
    assert!(hand.events.iter().zip(1..).all(|(envelope, seq)| envelope.seq.0 == seq));
}

fn a_cancel_closes_from_the_inside_and_changes_nothing_before() {
    let mut hand = Hand::plain();
    hand.text("hi");
    let before: Vec<String> = (0..4).map(|at| hand.json(at)).collect();
    assert_eq!(hand.cancel(), CancelReply::Cancelled);
    assert_eq!(hand.kinds_from(4), ["model.cancelled", "step.cancelled", "run.cancelled"]);
    assert!(before.into_iter().enumerate().all(|(at, line)| hand.json(at) == line));
}

fn a_cancel_after_the_end_of_a_response_finds_one_terminal() {
    for call in [false, true] {
        let mut hand = Hand::begun(Config::default(), [shared("t")]);
        if call {
            hand.call("c", "t", "{}");
        } else {
            hand.text("hi");
        }
        hand.done(if call { Finish::ToolCalls } else { Finish::Stop });
        hand.cancel();
        let count = |family: &str| {
            let ends = ["completed", "cancelled", "failed"].map(|end| format!("{family}.{end}"));
            hand.kinds().iter().filter(|kind| ends.iter().any(|end| end == **kind)).count()
        };
        assert_eq!((count("model"), count("step"), count("run")), (1, 1, 1), "{:?}", hand.kinds());
    }
}

fn text_of(hand: &Hand) -> &str {
    let result = hand.events.iter().rev().find_map(|envelope| match &envelope.event {
        Event::ToolFinished(result) => Some(result),
        _ => None,
    });
    let [Part::Text(text)] = &*result.unwrap().content else { panic!() };
    text
}

/// The mark is `[cut]` and counts. The result says before the text what is known of the failure, within the same bound.
fn an_error_text_is_bounded_and_its_end_recorded() {
    let kept = |text: &str| ToolFault::new(text).message.to_string();
    assert_eq!(kept(&"x".repeat(4_096)), "x".repeat(4_096));
    let cut = kept(&"x".repeat(4_097));
    assert!((4_090..=4_096).contains(&cut.len()) && cut.ends_with("[cut]"), "{}", cut.len());
    assert!(
        kept(&"é".repeat(2_500)).trim_end_matches("[cut]").trim_end().ends_with('é'),
        "no character is split"
    );
    for text in [String::new(), "é".repeat(2_500), "x".repeat(4_096), "x".repeat(2 << 20)] {
        let mut hand = Hand::begun(Config::default(), [shared("t")]).quick();
        hand.calls(["t"]);
        let op = hand.op();
        hand.enter(op);
        hand.breaks(op, &text);
        assert_eq!(hand.statuses(), [(0, "failure")]);
        let shown = text_of(&hand);
        assert!(shown.starts_with("the tool failed") && shown.len() <= 4_096, "{}", shown.len());
        assert_eq!(shown.ends_with("[cut]"), text.len() > 4_000);
    }
}

/// Uncertain and retryable are two facts about a failure; whether to try again is for the model, which sees both in words.
fn what_is_known_of_a_failure_is_a_type() {
    let fault = ToolFault::new("no");
    assert_eq!((fault.certainty, fault.retryable), (Certainty::Uncertain, false));
    let fault = fault.definitive().retryable();
    assert_eq!((fault.certainty, fault.retryable), (Certainty::Definitive, true));
}

/// The contract decides otherwise: an unavailable tool never ends the run by itself (T3, E7).
fn a_tool_that_is_not_there_ends_no_run() {
    let mut hand = Hand::begun(Config::default(), [shared("t")]);
    hand.calls(["nope"]);
    assert_eq!(hand.statuses(), [(0, "unavailable")]);
    assert!(hand.is_live() && !hand.kinds().contains(&"tool.started"));
    hand.text("then not");
    hand.done(Finish::Stop);
    assert!(hand.outcome().answer().is_some());
}

/// The contract decides otherwise: the step limit completes with `MaxSteps` (R9).
fn the_step_limit_completes() {
    let mut hand = Hand::begun(limits(|limits| limits.steps = 1), [shared("t")]);
    hand.calls(["t"]);
    hand.runs(hand.op(), "ok");
    let kinds = hand.kinds();
    assert_eq!(kinds[kinds.len() - 2..], ["step.completed", "run.completed"]);
    assert_eq!(hand.outcome().answer().unwrap().stop_reason.as_str(), "max_steps");
}

fn a_shutdown_closes_tool_step_and_run() {
    let mut hand = Hand::begun(Config::default(), [shared("t")]);
    hand.calls(["t"]);
    hand.enter(hand.op());
    let before = hand.events.len();
    hand.abort(AbortCause::Shutdown);
    assert_eq!(hand.kinds_from(before), ["tool.finished", "step.cancelled", "run.cancelled"]);
    assert_eq!(hand.statuses(), [(0, "interrupted(outcome_unknown)")]);
    assert!(hand.events.iter().zip(1..).all(|(envelope, seq)| envelope.seq.0 == seq));
    let start = hand.start.clone();
    hand.misuse(Input::Start(Box::new(start)));
}

fn a_request_has_one_id_for_ever() {
    let mut hand = Hand::begun(Config::default(), [shared("t")]);
    hand.calls(["t"]);
    hand.enter(OpId(2));
    let id = RequestId::new("i1").unwrap();
    let ask = |hand: &mut Hand, ticket| {
        let question = Arc::new(Question::value("?", Shape::Text).id(id.clone()));
        hand.tool(OpId(2), ToolItem::Ask(Box::new(Ask { ticket, question })));
    };
    ask(&mut hand, 1);
    let (command, request, answer) = (CommandId(60), id.clone(), HostAnswer::value("\"yes\""));
    hand.give(Input::Respond(Box::new(Respond { command, request, answer })));
    let events = hand.events.len();
    ask(&mut hand, 2);
    assert_eq!(hand.events.len(), events, "an error to the tool and no event (H1)");
    let count = |kind| hand.kinds().iter().filter(|found| **found == kind).count();
    assert_eq!((count("host_input.requested"), count("host_input.answered")), (1, 1));
}
