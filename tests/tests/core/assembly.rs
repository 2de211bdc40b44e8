//! What makes a response: pieces, calls, violations, finishes (M3, M6-M9).

use crate::hand::*;
use runloom_core::config::Config;
use runloom_core::event::{Event, Position};
use runloom_core::message::{Part, ProviderContext};
use runloom_core::model::{Activity, Completion, Finish, ModelItem, ProblemKind};
use runloom_core::outcome::StopReason;
use runloom_core::usage::Usage;
use std::sync::Arc;
use std::time::Duration;

fn hand() -> Hand {
    Hand::begun(Config::default(), [shared("t"), shared("u")])
}

/// The first failed attempt's kind and position.
fn failed(hand: &Hand) -> Option<(ProblemKind, Position)> {
    hand.events.iter().find_map(|envelope| match &envelope.event {
        Event::ModelFailed(failed) => Some((failed.problem.kind, failed.position)),
        _ => None,
    })
}

fn proposed(hand: &Hand) -> Vec<(u32, String, String, String)> {
    let call = |event: &Event| match event {
        Event::ToolProposed(call) => {
            Some((call.call.ordinal, call.id.to_string(), call.name.to_string(), call.arguments.to_string()))
        }
        _ => None,
    };
    hand.events.iter().filter_map(|envelope| call(&envelope.event)).collect()
}

fn call(ordinal: u32, id: &str, name: &str, arguments: &str) -> (u32, String, String, String) {
    (ordinal, id.into(), name.into(), arguments.into())
}

fn context(payload: &str) -> ModelItem {
    let context = ProviderContext { model: "m".into(), kind: "x.thinking".into(), payload: payload.into() };
    ModelItem::Context(Arc::new(context))
}

// proves: M3, M6
#[test]
fn malformed_responses_are_found_and_nothing_of_them_counts() {
    let pristine = Some((ProblemKind::InvalidResponse, Position::Pristine));
    let partial = Some((ProblemKind::InvalidResponse, Position::Partial));
    let mut empty = hand();
    empty.done(Finish::Stop);
    assert_eq!(failed(&empty), pristine);
    let mut no_calls = hand();
    no_calls.text("a");
    no_calls.done(Finish::ToolCalls);
    assert_eq!(failed(&no_calls), partial);
    let mut nameless = hand();
    nameless.delta(Some(0), "c", "", "{}");
    nameless.done(Finish::ToolCalls);
    assert_eq!(failed(&nameless), partial);
    let mut repeated = hand();
    repeated.delta(Some(0), "c", "t", "{}");
    repeated.delta(Some(1), "c", "u", "{}");
    repeated.done(Finish::ToolCalls);
    assert_eq!(failed(&repeated), partial);
    let mut whole = hand();
    whole.call("c", "t", "{}");
    whole.call("c", "t", "{\"a\":1}");
    assert_eq!(failed(&whole), partial, "at once");
    let mut reopened = hand();
    reopened.delta(Some(0), "c", "t", "{}");
    reopened.item(ModelItem::CallEnd(0));
    reopened.delta(Some(0), "c", "", " ");
    assert_eq!(failed(&reopened), partial);
    for hand in [empty, no_calls, nameless, repeated, whole, reopened] {
        assert!(hand.tools().is_empty() && hand.kinds().last() == Some(&"model.started"));
    }
}

// proves: M3
#[test]
fn a_call_with_two_names_contradicts_itself() {
    let mut hand = hand();
    hand.delta(Some(0), "c", "t", "");
    hand.delta(Some(0), "c", "t", "{}");
    assert_eq!(failed(&hand), None);
    hand.delta(Some(0), "c", "u", "");
    assert_eq!(failed(&hand), Some((ProblemKind::InvalidResponse, Position::Partial)));
}

// proves: M3, M7
#[test]
fn the_same_call_twice_is_one_call_and_keeps_its_place() {
    let mut hand = hand();
    hand.delta(Some(0), "a", "t", "{}");
    hand.delta(Some(1), "a", "t", "{}");
    hand.delta(Some(2), "b", "u", "[1]");
    hand.call("b", "u", "[1]");
    hand.done(Finish::ToolCalls);
    // The pieces of the third draft were shown as those of call 2.
    assert_eq!(proposed(&hand), [call(0, "a", "t", "{}"), call(2, "b", "u", "[1]")]);
    assert_eq!(hand.tools().iter().map(|(ordinal, _)| *ordinal).collect::<Vec<_>>(), [0]);
}

// proves: M7
#[test]
fn pieces_find_their_call_by_index_and_id() {
    let mut hand = hand();
    hand.delta(Some(0), "a", "t", "{\"x\":");
    hand.delta(Some(0), "b", "u", "{");
    hand.delta(Some(0), "", "", "}");
    hand.delta(None, "a", "", "1}");
    hand.delta(None, "c", "t", "");
    hand.delta(None, "", "", "{}");
    hand.done(Finish::ToolCalls);
    let calls = [call(0, "a", "t", "{\"x\":1}"), call(1, "b", "u", "{}"), call(2, "c", "t", "{}")];
    assert_eq!(proposed(&hand), calls);
}

// proves: M7
#[test]
fn calls_without_ids_get_one_that_nothing_else_has() {
    let mut hand = hand();
    hand.delta(Some(0), "", "t", "{}");
    hand.delta(Some(1), "call_1_0", "t", "{}");
    hand.delta(Some(2), "call_1_0_", "t", "{}");
    hand.done(Finish::ToolCalls);
    let ids: Vec<_> = proposed(&hand).into_iter().map(|(_, id, ..)| id).collect();
    assert_eq!(ids, ["call_1_0__", "call_1_0", "call_1_0_"]);
}

// proves: M7, M9
#[test]
fn no_arguments_mean_an_empty_object_and_the_text_stays() {
    for arguments in ["", " ", "null", " {} "] {
        let mut hand = hand();
        hand.call("c", "t", arguments);
        hand.done(Finish::ToolCalls);
        assert_eq!(proposed(&hand), [call(0, "c", "t", arguments)]);
        let begun = hand.begun_last().1;
        let runloom_core::output::Work::Tool(invocation) = begun else { panic!("{begun:?}") };
        assert_eq!(invocation.call.arguments_json(), "{}");
    }
}

// proves: M7, E7
#[test]
fn arguments_that_do_not_parse_are_never_run() {
    let mut hand = hand();
    hand.call("a", "t", "{\"x\":");
    hand.call("b", "t", "[]");
    hand.call("c", "t", "{} {}");
    hand.call("d", "t", "{}");
    hand.done(Finish::ToolCalls);
    let invalid = "invalid_arguments";
    assert_eq!(hand.statuses(), [(0, invalid), (1, invalid), (2, invalid)]);
    assert_eq!(hand.tools().len(), 1);
}

// proves: M7
#[test]
fn three_unreadable_turns_in_a_row_end_the_run_and_a_good_one_breaks_the_row() {
    let turn = |hand: &mut Hand, arguments: &str| {
        hand.call("c", "t", arguments);
        hand.done(Finish::ToolCalls);
        if arguments == "{}" {
            let (_, op) = *hand.tools().last().unwrap();
            hand.runs(op, "");
        }
    };
    let mut hand = hand();
    for arguments in ["{", "{", "{}", "{", "{"] {
        turn(&mut hand, arguments);
        assert!(hand.is_live());
    }
    turn(&mut hand, "{");
    assert!(matches!(hand.error(), runloom_core::error::RunError::InvalidArguments { turns: 3 }));
    assert_eq!(hand.roles().len(), 13, "every turn and its results are committed");
}

// proves: M8
#[test]
fn a_stream_that_just_ends_is_truncated_and_tried_again_with_a_wait() {
    let mut hand = hand();
    hand.text("half an ans");
    hand.delta(Some(0), "c", "t", "{\"x\":");
    let next = hand.item(done(None));
    assert_eq!(failed(&hand), Some((ProblemKind::Truncated, Position::Partial)));
    assert_eq!(next.wake.unwrap().why, runloom_core::output::WakeReason::Backoff);
}

// proves: M8
#[test]
fn usage_or_a_complete_call_makes_up_for_a_missing_finish() {
    let mut usage = hand();
    usage.text("whole");
    usage.usage(1, 1);
    usage.item(done(None));
    assert_eq!(usage.answer(), "whole");
    let mut calls = hand();
    calls.delta(Some(0), "c", "t", "{}");
    calls.item(done(None));
    assert_eq!(calls.tools().len(), 1);
}

// proves: M8, R8
#[test]
fn usage_of_an_earlier_physical_request_does_not_vouch_for_the_last() {
    let mut hand = hand();
    hand.usage(5, 1);
    let retry = Activity::RequestRetry { kind: ProblemKind::Connection, delay: Duration::ZERO };
    hand.item(ModelItem::Activity(Box::new(retry)));
    hand.text("half an ans");
    hand.item(done(None));
    assert_eq!(failed(&hand), Some((ProblemKind::Truncated, Position::Partial)));
}

// proves: M8, E7, C5
#[test]
fn calls_of_a_response_that_must_not_act_are_interrupted() {
    for (finish, arguments, stop) in [
        (Finish::Length, "{\"x\":", StopReason::MaxTokens),
        (Finish::Refusal, "{}", StopReason::Refusal),
        (Finish::ContentFilter, "{}", StopReason::Refusal),
    ] {
        let mut hand = hand();
        hand.text("so far");
        hand.delta(Some(0), "a", "t", "{}");
        hand.delta(Some(1), "b", "missing", arguments);
        hand.done(finish);
        let not_started = "interrupted(not_started)";
        assert_eq!(hand.statuses(), [(0, not_started), (1, not_started)], "{finish:?}");
        assert_eq!(hand.outcome().answer().unwrap().stop_reason, stop);
        assert_eq!(hand.answer(), "so far");
        assert_eq!(hand.roles(), ["user", "assistant", "tool"]);
    }
}

// proves: M8
#[test]
fn what_follows_depends_on_the_calls_and_not_on_the_finish() {
    for finish in [Finish::Stop, Finish::StopSequence, Finish::Other, Finish::Pause, Finish::Length] {
        let mut hand = hand();
        hand.call("c", "t", "{}");
        hand.done(finish);
        assert_eq!(hand.tools().len(), 1, "{finish:?}");
    }
}

// proves: M8
#[test]
fn an_error_inside_the_stream_runs_no_call() {
    let mut hand = hand();
    hand.call("c", "t", "{}");
    hand.done(Finish::Error);
    assert_eq!(failed(&hand), Some((ProblemKind::Server, Position::Partial)));
    assert!(hand.tools().is_empty());
}

// proves: M6
#[test]
fn what_was_refused_does_not_count_as_arrived() {
    let config = limits(|limits| limits.response_bytes = 200 << 10);
    let mut hand = Hand::begun(config, []).quick();
    let events = hand.events.len();
    hand.item(context(&"x".repeat(201 << 10)));
    assert_eq!(hand.kinds_from(events), ["model.failed", "provider.stream_reset", "model.started"]);
    assert_eq!(failed(&hand), Some((ProblemKind::InvalidResponse, Position::Pristine)));
}

// proves: M6
#[test]
fn signs_of_life_and_usage_leave_an_attempt_pristine() {
    let mut hand = hand();
    hand.item(ModelItem::Alive);
    hand.item(ModelItem::Usage(Box::new(Usage::new(1, 0))));
    hand.text("");
    hand.fail(ProblemKind::Server);
    assert_eq!(failed(&hand), Some((ProblemKind::Server, Position::Pristine)));
}

// proves: M9, M4
#[test]
fn context_is_kept_byte_for_byte_in_history_and_never_shown() {
    let payload = "{\"signature\": \"s\\u00e9\\n\"} ";
    let mut hand = hand();
    hand.item(ModelItem::Reasoning("thinking".into()));
    hand.item(context(payload));
    hand.text("answer");
    hand.done(Finish::Stop);
    let last = hand.outcome().history.last().unwrap();
    let Part::Context(kept) = &last.parts()[0] else { panic!("{last:?}") };
    assert_eq!(&*kept.payload, payload);
    assert_eq!(last.parts().len(), 2, "display reasoning is not stored");
    assert!((0..hand.events.len()).all(|at| !hand.json(at).contains("signature")));
    assert!(!format!("{:?}", hand.checked.run()).contains("signature"));
}

// proves: M9, C4, M4
#[test]
fn context_and_reasoning_go_with_an_aborted_turn() {
    let mut hand = hand();
    hand.item(context("{}"));
    hand.item(ModelItem::Reasoning("thinking".into()));
    hand.cancel();
    assert_eq!(hand.roles(), ["user"]);
}

// proves: M3
#[test]
fn an_answer_may_be_empty_only_where_its_finish_says_why() {
    for finish in [Finish::StopSequence, Finish::Length, Finish::ContentFilter, Finish::Refusal] {
        let mut hand = hand();
        hand.done(finish);
        assert_eq!(hand.answer(), "", "{finish:?}");
        assert_eq!(hand.roles(), ["user"]);
    }
    for finish in [Finish::Stop, Finish::ToolCalls, Finish::Other] {
        let mut hand = hand();
        hand.usage(1, 1);
        hand.done(finish);
        assert_eq!(failed(&hand).unwrap().0, ProblemKind::InvalidResponse, "{finish:?}");
    }
    let mut silent = hand();
    silent.usage(1, 1);
    silent.item(ModelItem::Done(Box::new(Completion::new(None, ""))));
    assert_eq!(failed(&silent).unwrap().0, ProblemKind::InvalidResponse);
}

// proves: M3, C4
#[test]
fn ids_and_names_are_judged_when_they_come() {
    let long = "x".repeat(257);
    for (id, name) in [(&*long, "t"), ("c", &*long), ("a\u{1}b", "t"), ("c", "t\n")] {
        let mut hand = hand();
        hand.text("shown");
        hand.delta(Some(0), id, name, "{}");
        assert_eq!(failed(&hand), Some((ProblemKind::InvalidResponse, Position::Partial)), "{id:?} {name:?}");
    }
    let fits = "x".repeat(256);
    let quoted = format!("{}\"", "x".repeat(254));
    for (id, name) in [(&*fits, "t"), ("c", &*fits), (&*quoted, "t")] {
        let mut hand = hand();
        hand.delta(Some(0), id, name, "{}");
        hand.done(Finish::ToolCalls);
        assert_eq!(proposed(&hand), [call(0, id, name, "{}")]);
    }
}

// proves: C4
#[test]
fn what_was_shown_is_kept_though_an_unfinished_response_has_one_id_twice() {
    let mut hand = hand();
    hand.text("shown");
    hand.delta(Some(0), "c", "t", "{}");
    hand.delta(Some(1), "c", "t", "{\"more\":1}");
    hand.delta(Some(2), "d", "t", "{}");
    hand.cancel();
    assert_eq!(hand.roles(), ["user", "aborted_assistant", "tool"]);
    let ids: Vec<_> = proposed(&hand).into_iter().map(|(ordinal, id, ..)| (ordinal, id)).collect();
    assert_eq!(ids, [(0, "c".to_owned()), (2, "d".to_owned())]);
}

// proves: M7, M8
#[test]
fn a_pause_makes_another_step_and_breaks_the_row_of_unreadable_turns() {
    let mut hand = hand();
    for _ in 0..2 {
        hand.call("c", "t", "{");
        hand.done(Finish::ToolCalls);
    }
    hand.text("wait");
    hand.done(Finish::Pause);
    for _ in 0..2 {
        hand.call("c", "t", "{");
        hand.done(Finish::ToolCalls);
        assert!(hand.is_live(), "the pause broke the row");
    }
    hand.call("c", "t", "{");
    hand.done(Finish::ToolCalls);
    assert!(!hand.is_live());
}

// proves: M3
#[test]
fn an_empty_pause_is_malformed_for_it_would_repeat_itself() {
    let mut hand = hand();
    hand.done(Finish::Pause);
    assert_eq!(failed(&hand), Some((ProblemKind::InvalidResponse, Position::Pristine)));
}
