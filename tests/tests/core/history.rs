//! Histories that are valid, bounded and shared (M1, M2, M4, C5).

use crate::hand::*;
use runloom_core::config::Config;
use runloom_core::error::{Misuse, RunError};
use runloom_core::history::{History, HistoryBounds, HistoryError};
use runloom_core::id::{CallRef, MessageId};
use runloom_core::message::{
    Message, MessageBounds, MessageError, Part, Role, ToolCall, ToolResult, ToolStatus,
};
use runloom_core::model::Finish;
use runloom_core::output::Work;
use runloom_core::{Input, Output};
use std::sync::Arc;

const BOUNDS: MessageBounds = MessageBounds { parts: 256, text: 1 << 20, image: 1 << 20 };

fn message(role: Role, parts: Vec<Part>) -> Message {
    Message::new(MessageId::new("m").unwrap(), role, parts, &BOUNDS).unwrap()
}

fn call(ordinal: u32, id: &str) -> Part {
    Part::ToolCall(Arc::new(ToolCall {
        call: CallRef { step: 1, ordinal },
        id: id.into(),
        name: "t".into(),
        arguments: "{}".into(),
    }))
}

fn result(ordinal: u32, id: &str) -> Part {
    Part::ToolResult(Arc::new(ToolResult {
        call: CallRef { step: 1, ordinal },
        id: id.into(),
        name: "t".into(),
        status: ToolStatus::Success,
        content: [Part::Text("ok".into())].into(),
    }))
}

fn text(text: &str) -> Part {
    Part::Text(text.into())
}

// proves: M4
#[test]
fn each_call_has_exactly_one_result_directly_after_its_message() {
    let asked =
        || History::from_messages(HistoryBounds::default(), [message(Role::User, vec![text("q")])]).unwrap();
    let mut history = asked();
    history.push(message(Role::Assistant, vec![call(0, "a"), call(1, "b")])).unwrap();
    let open = history.clone();
    let refused = |parts: Vec<Part>, role: Role| open.clone().push(message(role, parts)).unwrap_err();
    let expected = HistoryError::ResultsExpected { at: 2, calls: 2 };
    assert_eq!(refused(vec![text("no")], Role::User), expected);
    assert_eq!(refused(vec![text("no")], Role::Assistant), expected);
    assert_eq!(refused(vec![result(0, "a")], Role::Tool), expected);
    let unexpected = |ordinal| HistoryError::UnexpectedResult { at: 2, ordinal };
    assert_eq!(refused(vec![result(1, "b"), result(0, "a")], Role::Tool), unexpected(0));
    assert_eq!(refused(vec![result(0, "a"), result(0, "a")], Role::Tool), unexpected(1));
    assert_eq!(refused(vec![result(0, "a"), result(1, "c")], Role::Tool), unexpected(1));
    let three = vec![result(0, "a"), result(1, "b"), result(2, "c")];
    assert_eq!(refused(three, Role::Tool), unexpected(2));
    history.push(message(Role::Tool, vec![result(0, "a"), result(1, "b")])).unwrap();
    assert_eq!((history.len(), history.open_calls()), (3, 0));
    let again = message(Role::Tool, vec![result(0, "a")]);
    assert_eq!(history.push(again), Err(HistoryError::UnexpectedResult { at: 3, ordinal: 0 }));
    let twice = message(Role::Assistant, vec![call(0, "a"), call(1, "a")]);
    assert!(matches!(history.push(twice), Err(HistoryError::DuplicateCall { at: 3, .. })));
}

// proves: M4, W1
#[test]
fn a_run_does_not_start_on_a_history_that_is_not_at_rest() {
    let messages = [message(Role::User, vec![text("q")]), message(Role::Assistant, vec![call(0, "a")])];
    let mut hand = Hand::new(Config::default(), []);
    hand.start.history = History::from_messages(HistoryBounds::default(), messages).unwrap();
    let start = Input::Start(Box::new(hand.start.clone()));
    assert!(matches!(hand.misuse(start), Misuse::InvalidStart(_)));
}

// proves: M1
#[test]
fn a_message_holds_what_its_role_may_and_within_bounds() {
    let made = |role, parts: Vec<Part>| Message::new(MessageId::new("m").unwrap(), role, parts, &BOUNDS);
    assert_eq!(made(Role::User, vec![]), Err(MessageError::Empty));
    for (role, part) in [
        (Role::User, call(0, "a")),
        (Role::User, result(0, "a")),
        (Role::Assistant, result(0, "a")),
        (Role::Tool, text("a")),
        (Role::Tool, call(0, "a")),
    ] {
        assert_eq!(made(role, vec![part]), Err(MessageError::Misplaced { at: 0, role }));
    }
    assert!(made(Role::User, vec![text("x"); 256]).is_ok());
    let many = made(Role::User, vec![text("x"); 257]);
    assert_eq!(many, Err(MessageError::Parts { limit: 256, observed: 257 }));
}

/// A history of `messages` short messages from users, with these bounds.
fn filled(messages: usize, bounds: HistoryBounds) -> History {
    History::from_messages(bounds, (0..messages).map(|_| message(Role::User, vec![text("0123456789")])))
        .unwrap()
}

// proves: M4
// bounds: history, count
#[test]
fn a_step_begins_only_if_it_fits_into_the_history() {
    let bounds = HistoryBounds { messages: 10, bytes: u64::MAX };
    // The input takes one place; two more must be left.
    for (before, fits) in [(6, true), (7, true), (8, false), (9, false)] {
        let mut hand = Hand::new(Config::default(), []);
        hand.start.history = filled(before, bounds);
        hand.begin();
        assert_eq!(hand.is_live(), fits, "{before}");
        if !fits {
            assert_eq!(hand.kinds(), ["run.started", "run.failed"]);
            assert!(matches!(
                hand.error(),
                RunError::HistoryFull(HistoryError::TooManyMessages { limit: 10 })
            ));
            assert_eq!((hand.outcome().history.len(), hand.outcome().revision.0), (before + 1, 8));
        }
    }
    let mut full = Hand::new(Config::default(), []);
    full.start.history = filled(10, bounds);
    let start = Input::Start(Box::new(full.start.clone()));
    assert!(matches!(full.misuse(start), Misuse::InvalidStart(_)), "not even the input fits");
}

// proves: M4
#[test]
fn a_history_that_fills_up_on_the_way_ends_the_run_with_what_there_is() {
    let response = 1_000;
    let config = || limits(|limits| (limits.response_bytes, limits.delta_bytes) = (response, 1_000));
    // Two bytes are left after the input's five and the largest response.
    let mut hand = Hand::new(config(), [shared("t")]);
    hand.start.history = filled(1, HistoryBounds { messages: 100, bytes: 10 + 5 + response + 2 });
    hand.begin();
    hand.calls(["t"]);
    let (_, op) = hand.tools()[0];
    hand.runs(op, &"x".repeat(5_000));
    assert!(matches!(hand.error(), RunError::HistoryFull(HistoryError::TooManyBytes { .. })));
    assert_eq!(hand.roles(), ["user", "user", "assistant", "tool"]);
    let kinds = hand.kinds();
    assert_eq!(kinds[kinds.len() - 3..], ["tool.finished", "step.completed", "run.failed"]);
}

// proves: M2
#[test]
fn the_history_of_a_step_extends_that_of_the_step_before() {
    let mut hand = Hand::begun(Config::default(), [shared("t")]);
    for _ in 0..3 {
        hand.text("again");
        hand.calls(["t"]);
        let (_, op) = *hand.tools().last().unwrap();
        hand.runs(op, "done");
    }
    let requests: Vec<_> = hand
        .outputs
        .iter()
        .filter_map(|output| match output {
            Output::Begin { work: Work::Model(request), .. } => Some(Arc::clone(request)),
            _ => None,
        })
        .collect();
    assert_eq!(requests.iter().map(|request| request.history.len()).collect::<Vec<_>>(), [1, 3, 5, 7]);
    for pair in requests.windows(2) {
        assert!(pair[1].history.iter().take(pair[0].history.len()).eq(pair[0].history.iter()));
        assert_ne!(pair[0].operation, pair[1].operation);
        assert!(Arc::ptr_eq(&pair[0].tools, &pair[1].tools) && Arc::ptr_eq(&pair[0].model, &pair[1].model));
    }
    // The messages are shared and not copied.
    let shared = Arc::ptr_eq(requests[0].history.get(0).unwrap(), requests[3].history.get(0).unwrap());
    assert!(shared);
}

// proves: M4, C5, M7
#[test]
fn the_next_run_can_go_on_after_every_kind_of_end() {
    let mut history = History::default();
    for round in 0..4 {
        let mut hand = Hand::named(&format!("r{round}"), Config::default(), [shared("t")]);
        hand.start.history = history;
        hand.begin();
        hand.text("hm");
        // A provider may give the same id in each run.
        hand.call("same", "t", "{}");
        match round {
            0 => _ = hand.cancel(),
            1 => {
                hand.done(Finish::ToolCalls);
                hand.cancel();
            }
            2 => _ = hand.done(Finish::ContentFilter),
            _ => _ = hand.fail(runloom_core::model::ProblemKind::Permission),
        }
        history = hand.outcome().history.clone();
        assert_eq!((history.open_calls(), history.len()), (0, 3 * (round + 1)));
    }
    let ids: std::collections::BTreeSet<_> = history.iter().map(|message| message.id().clone()).collect();
    assert_eq!(ids.len(), 12, "each message has an id of its own");
}
