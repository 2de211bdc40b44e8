//! The calls of a response: overlap, limits, approval, failures, output bounds (T1-T5, E7, E9, E10, R9).

use crate::hand::*;
use runloom_core::Input;
use runloom_core::config::Config;
use runloom_core::error::{Misuse, RunError};
use runloom_core::event::Event;
use runloom_core::message::{Image, ImageData, Part, ToolCall, ToolResult};
use runloom_core::model::Finish;
use runloom_core::tool::{
    Access, Binding, Resource, ToolEnd, ToolFault, ToolItem, ToolOutput, ToolSpec, Verdict,
};
use std::sync::Arc;

fn tool(name: &str, access: Access) -> ToolSpec {
    ToolSpec::new(name, "", "{}").unwrap().access(access)
}

fn running(hand: &Hand) -> Vec<u32> {
    hand.tools().into_iter().map(|(ordinal, _)| ordinal).collect()
}

/// Ends the call of this ordinal.
#[track_caller]
fn end(hand: &mut Hand, ordinal: u32) {
    let (_, op) = *hand.tools().iter().find(|(own, _)| *own == ordinal).expect("it was begun");
    hand.runs(op, "done");
}

fn result(hand: &Hand, ordinal: u32) -> Arc<ToolResult> {
    let own = |event: &Event| match event {
        Event::ToolFinished(result) if result.call.ordinal == ordinal => Some(Arc::clone(result)),
        _ => None,
    };
    hand.events.iter().find_map(|envelope| own(&envelope.event)).expect("a result")
}

fn text(result: &ToolResult) -> &str {
    match &result.content[0] {
        Part::Text(text) => text,
        other => panic!("{other:?}"),
    }
}

// proves: T1
#[test]
fn at_most_four_calls_run_and_they_begin_in_model_order() {
    let mut hand = Hand::begun(Config::default(), [shared("t")]);
    hand.calls(["t"; 7]);
    assert_eq!(running(&hand), [0, 1, 2, 3]);
    end(&mut hand, 2);
    assert_eq!(running(&hand), [0, 1, 2, 3, 4]);
    end(&mut hand, 0);
    end(&mut hand, 1);
    assert_eq!(running(&hand), [0, 1, 2, 3, 4, 5, 6]);
}

// proves: T1
// bounds: active executions
#[test]
fn the_limit_holds_at_its_border() {
    for (limit, begun) in [(1, 1), (2, 2), (3, 3), (4, 3), (usize::MAX, 3)] {
        let mut hand =
            Hand::begun(limits(|limits| (limits.parallel_tools, limits.calls) = (limit, 3)), [shared("t")]);
        hand.calls(["t"; 3]);
        assert_eq!(running(&hand).len(), begun);
    }
}

// proves: T1
#[test]
fn a_tool_that_says_nothing_is_a_barrier_in_model_order() {
    let exclusive = ToolSpec::new("x", "", "{}").unwrap();
    let mut hand = Hand::begun(Config::default(), [shared("t"), exclusive]);
    hand.calls(["t", "t", "x", "t", "x"]);
    assert_eq!(running(&hand), [0, 1]);
    end(&mut hand, 0);
    assert_eq!(running(&hand), [0, 1], "the barrier waits for the second, the fourth for the barrier");
    end(&mut hand, 1);
    assert_eq!(running(&hand), [0, 1, 2]);
    end(&mut hand, 2);
    assert_eq!(running(&hand), [0, 1, 2, 3]);
    end(&mut hand, 3);
    assert_eq!(running(&hand), [0, 1, 2, 3, 4]);
}

// proves: T1
#[test]
fn calls_overlap_as_their_resources_allow() {
    let resources = |items: &[(&str, bool)]| {
        let items = items
            .iter()
            .map(|(name, writes)| if *writes { Resource::write(*name) } else { Resource::read(*name) });
        Access::Resources(items.collect::<Vec<_>>().into())
    };
    let tools = [
        tool("read", resources(&[("db", false)])),
        tool("write", resources(&[("db", true)])),
        tool("net", resources(&[("net", true)])),
        shared("t"),
    ];
    let mut hand = Hand::begun(limits(|limits| limits.parallel_tools = 10), tools);
    hand.calls(["read", "read", "write", "net", "read", "t", "write"]);
    assert_eq!(running(&hand), [0, 1, 3, 5], "a reader does not pass the writer before it");
    end(&mut hand, 0);
    end(&mut hand, 1);
    assert_eq!(running(&hand), [0, 1, 3, 5, 2]);
    end(&mut hand, 2);
    assert_eq!(running(&hand), [0, 1, 3, 5, 2, 4]);
    end(&mut hand, 4);
    assert_eq!(running(&hand), [0, 1, 3, 5, 2, 4, 6]);
}

// proves: T1, T2
#[test]
fn a_call_that_waits_for_approval_takes_no_place_but_bars_what_it_would_bar() {
    let exclusive = ToolSpec::new("x", "", "{}").unwrap().needs_approval();
    let config = limits(|limits| limits.parallel_tools = 1);
    let mut hand = Hand::begun(config, [shared("asks").needs_approval(), shared("t"), exclusive]);
    hand.calls(["asks", "t", "x", "t"]);
    assert_eq!((hand.questions().len(), running(&hand)), (2, vec![1]));
    assert!(hand.checked.run().awaits_people());
    end(&mut hand, 1);
    let questions = hand.questions();
    let (op, request) = &questions[1];
    hand.verdict(*op, Verdict::Allow(request.binding));
    assert_eq!(running(&hand), [1], "the exclusive call waits for the one before it that is undecided");
    let (op, request) = &questions[0];
    hand.verdict(*op, Verdict::Allow(request.binding));
    assert_eq!(running(&hand), [1, 0]);
    assert!(!hand.checked.run().awaits_people());
}

// proves: T2, E7
#[test]
fn an_approval_holds_for_exactly_its_call_name_and_arguments() {
    let call = |step, ordinal, name: &str, arguments: &str| ToolCall {
        call: runloom_core::id::CallRef { step, ordinal },
        id: "c".into(),
        name: name.into(),
        arguments: arguments.into(),
    };
    let of = |call: &ToolCall| Binding::of(call);
    let right = call(1, 0, "asks", "{}");
    let wrong = [
        call(1, 1, "asks", "{}"),
        call(2, 0, "asks", "{}"),
        call(1, 0, "ask", "s{}"),
        call(1, 0, "asks", "{ }"),
        call(1, 0, "asks", ""),
    ];
    for other in wrong {
        let mut hand = Hand::begun(Config::default(), [shared("asks").needs_approval()]);
        hand.calls(["asks"]);
        let (op, request) = hand.questions().remove(0);
        assert_eq!(request.binding, of(&right));
        hand.verdict(op, Verdict::Allow(of(&other)));
        assert_eq!(hand.statuses(), [(0, "denied")]);
        assert!(running(&hand).is_empty() && hand.kinds().last() == Some(&"model.started"));
    }
    let mut hand = Hand::begun(Config::default(), [shared("asks").needs_approval()]);
    hand.calls(["asks"]);
    let op = hand.questions()[0].0;
    hand.verdict(op, Verdict::Allow(of(&right)));
    assert_eq!(running(&hand), [0]);
    // A second word on it is late.
    hand.verdict(op, Verdict::Deny { reason: "changed my mind".into() });
    assert_eq!((hand.statuses(), hand.checked.run().ignored()), (vec![], 1));
}

// proves: T2, E7
#[test]
fn a_denial_is_a_result_that_says_why() {
    let mut hand = Hand::begun(Config::default(), [shared("asks").needs_approval()]);
    hand.calls(["asks", "asks"]);
    let questions = hand.questions();
    hand.verdict(questions[1].0, Verdict::Deny { reason: "not on fridays".into() });
    hand.verdict(questions[0].0, Verdict::Deny { reason: "".into() });
    assert_eq!(text(&result(&hand, 1)), "denied: not on fridays");
    assert_eq!(text(&result(&hand, 0)), "denied");
    hand.text("ok");
    hand.done(Finish::Stop);
    let results: Vec<_> = hand.outcome().history.get(2).unwrap().results().map(|r| r.call.ordinal).collect();
    assert_eq!(results, [0, 1], "in model order, however they were decided (E10)");
}

// proves: E7
#[test]
fn a_call_to_no_tool_does_not_start() {
    let mut hand = Hand::begun(Config::default(), [shared("b"), shared("a")]);
    hand.calls(["nope", "b"]);
    assert_eq!((hand.statuses(), running(&hand)), (vec![(0, "unavailable")], vec![1]));
    assert!(text(&result(&hand, 0)).ends_with("available: b, a"));
    let mut none = Hand::plain();
    none.calls(["nope"]);
    assert!(text(&result(&none, 0)).ends_with("available: none"));
}

// proves: E7, E9, E10
#[test]
fn calls_interleave_and_their_results_enter_in_model_order() {
    let mut hand = Hand::begun(Config::default(), [shared("t")]);
    hand.calls(["t", "t"]);
    let events = hand.events.len();
    let tools = hand.tools();
    hand.enter(tools[1].1);
    hand.enter(tools[0].1);
    hand.tool(tools[1].1, ToolItem::Progress("half".into()));
    hand.tool(tools[0].1, ToolItem::Progress("".into()));
    hand.finish(tools[1].1, "second");
    hand.finish(tools[0].1, "first");
    let kinds = ["tool.started", "tool.started", "tool.updated", "tool.finished", "tool.finished"];
    assert_eq!(hand.kinds_from(events)[..5], kinds);
    let ids: Vec<_> = (events..events + 5).map(|at| hand.json(at).contains("\"call_id\":\"c1\"")).collect();
    assert_eq!(ids, [true, false, true, true, false]);
    hand.text("ok");
    hand.done(Finish::Stop);
    let message = hand.outcome().history.get(2).unwrap().clone();
    let texts: Vec<_> = message.results().map(|result| text(result)).collect();
    assert_eq!(texts, ["first", "second"]);
}

// proves: E7, W1
#[test]
fn a_tool_says_first_that_it_starts_and_says_so_once() {
    let mut hand = Hand::begun(Config::default(), [shared("t")]);
    hand.calls(["t"]);
    let (_, op) = hand.tools()[0];
    for early in [output("x"), ToolItem::Progress("p".into())] {
        assert_eq!(hand.misuse(Input::Tool { op, item: early }), Misuse::OutOfOrder { op });
    }
    hand.enter(op);
    assert_eq!(hand.misuse(Input::Tool { op, item: ToolItem::Started }), Misuse::OutOfOrder { op });
    hand.finish(op, "x");
    hand.finish(op, "twice");
    assert_eq!((hand.statuses(), hand.checked.run().ignored()), (vec![(0, "success")], 1));
}

// proves: T3, T4, R9
#[test]
fn failures_and_panics_are_results_and_the_batch_goes_on() {
    let mut hand = Hand::begun(Config::default(), [shared("t")]);
    hand.calls(["t", "t", "t"]);
    let tools = hand.tools();
    tools.iter().for_each(|(_, op)| {
        hand.enter(*op);
    });
    let fault = ToolFault::new("no route to sk-canary-1234567\n").definitive().retryable();
    hand.tool(tools[0].1, ToolItem::Done(ToolEnd::Failed(Box::new(fault))));
    hand.tool(tools[1].1, ToolItem::Done(ToolEnd::Panicked));
    hand.tool(tools[2].1, ToolItem::Done(ToolEnd::Output(ToolOutput::error("bad city"))));
    assert_eq!(hand.statuses(), [(0, "failure"), (1, "panicked"), (2, "failure")]);
    let expected =
        "the tool failed (it had no further effect; it may be tried again): no route to [redacted] ";
    assert_eq!(text(&result(&hand, 0)), expected);
    assert_eq!(hand.kinds().last(), Some(&"model.started"));
}

// proves: T3, T4, C5
#[test]
fn only_an_infrastructure_failure_of_a_fatal_tool_ends_the_run() {
    let tools = || [shared("fatal").fatal(), shared("t")];
    let mut hand = Hand::begun(Config::default(), tools());
    hand.calls(["t", "fatal", "t"]);
    let ops = hand.tools();
    hand.runs(ops[0].1, "kept");
    hand.enter(ops[1].1);
    hand.breaks(ops[1].1, "the disk is gone");
    assert!(
        matches!(hand.error(), RunError::Tool { tool, message } if *tool == "fatal" && *message == "the disk is gone")
    );
    assert_eq!(hand.statuses(), [(0, "success"), (1, "failure"), (2, "interrupted(not_started)")]);
    assert_eq!(hand.roles(), ["user", "assistant", "tool"]);
    for end in [ToolEnd::Panicked, ToolEnd::Output(ToolOutput::error("no"))] {
        let mut hand = Hand::begun(Config::default(), tools());
        hand.calls(["fatal"]);
        let (_, op) = hand.tools()[0];
        hand.enter(op);
        hand.tool(op, ToolItem::Done(end));
        assert!(hand.is_live());
    }
}

fn parts(hand: &mut Hand, content: impl Into<Arc<[Part]>>) -> Arc<ToolResult> {
    hand.calls(["t"]);
    let (_, op) = *hand.tools().last().unwrap();
    hand.enter(op);
    hand.tool(op, ToolItem::Done(ToolEnd::Output(ToolOutput::parts(content.into()))));
    result(hand, 0)
}

fn image(len: usize) -> Part {
    Part::Image(Arc::new(Image {
        media_type: "image/png".into(),
        data: ImageData::Bytes(vec![7; len].into()),
    }))
}

// proves: T5
// bounds: tool output
#[test]
fn text_output_is_whole_up_to_the_bound_and_cut_with_a_mark_beyond() {
    for (len, whole) in [(299, true), (300, true), (301, false)] {
        let mut hand = Hand::begun(limits(|limits| limits.tool_output_bytes = 300), [shared("t")]);
        // A quotation mark takes two encoded bytes.
        let long = format!("\"{}", "x".repeat(len - 2));
        let result = parts(&mut hand, [Part::Text(long.as_str().into())]);
        assert_eq!(text(&result) == long, whole);
        let encoded = serde_json::to_string(text(&result)).unwrap().len() as u64 - 2;
        assert!(encoded <= 300);
        if !whole {
            assert!(text(&result).ends_with("\n[cut: the whole output has 301 bytes]"));
        }
    }
}

// proves: T5
#[test]
fn all_texts_of_an_output_share_its_bound_and_images_stay() {
    let mut hand = Hand::begun(limits(|limits| limits.tool_output_bytes = 300), [shared("t")]);
    let long = || Part::Text("x".repeat(200).as_str().into());
    let result = parts(&mut hand, [long(), image(3), long(), long(), image(4)]);
    let lens: Vec<_> = result
        .content
        .iter()
        .map(|part| match part {
            Part::Text(text) => text.len(),
            Part::Image(image) => image.data.len(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!((lens.len(), lens[0], lens[1], lens[3]), (4, 200, 3, 4));
    assert!(lens[2] < 100);
}

// proves: T5
#[test]
fn an_image_is_in_history_and_its_type_length_and_hash_in_the_event() {
    let mut hand = Hand::begun(limits(|limits| limits.image_bytes = 10), [shared("t")]);
    let result = parts(&mut hand, [image(10)]);
    assert_eq!(result.content[..], [image(10)]);
    let at = hand.events.iter().position(|e| matches!(e.event, Event::ToolFinished(_))).unwrap();
    let hash = "6a7fa9749d55a3e1a7ff5aeb1db1caf1f5d3a3fb0a7dc19a93d8e41a6b94d9f5";
    let line = hand.json(at);
    assert!(line.contains(r#"{"image":{"bytes":10,"media_type":"image/png","sha256":""#), "{line}");
    assert_eq!(line.split("sha256\":\"").nth(1).unwrap().find('"'), Some(hash.len()));
    let mut large = Hand::begun(limits(|limits| limits.image_bytes = 10), [shared("t")]);
    let refused = parts(&mut large, [Part::Text("a".into()), image(11)]);
    assert_eq!((refused.status.as_str(), refused.content.len()), ("failure", 1));
    assert!(text(&refused).contains("11 bytes, more than 10"));
}

// proves: T5
#[test]
fn parts_that_no_result_has_and_too_many_parts_are_refused() {
    let mut hand = Hand::begun(Config::default(), [shared("t")]);
    let call = Arc::new(ToolCall {
        call: runloom_core::id::CallRef { step: 1, ordinal: 0 },
        id: "c".into(),
        name: "t".into(),
        arguments: "{}".into(),
    });
    assert_eq!(parts(&mut hand, [Part::ToolCall(call)]).status.as_str(), "failure");
    for (count, status) in [(255, "success"), (256, "success"), (257, "failure")] {
        let mut hand = Hand::begun(Config::default(), [shared("t")]);
        let many: Vec<_> = (0..count).map(|_| Part::Text("x".into())).collect();
        assert_eq!(parts(&mut hand, many).status.as_str(), status, "{count}");
    }
    let mut hand = Hand::begun(Config::default(), [shared("t")]);
    let nothing: [Part; 0] = [];
    assert_eq!(text(&parts(&mut hand, nothing)), "");
}

// proves: T5
// bounds: progress
#[test]
fn progress_is_cut_with_a_mark() {
    for (len, whole) in [(256, true), (257, false)] {
        let mut hand = Hand::begun(limits(|limits| limits.progress_bytes = 256), [shared("t")]);
        hand.calls(["t"]);
        let (_, op) = hand.tools()[0];
        hand.enter(op);
        hand.tool(op, ToolItem::Progress("x".repeat(len).as_str().into()));
        let Event::ToolUpdated(update) = hand.last() else { panic!() };
        assert!(update.progress.len() <= 256);
        assert_eq!(!update.progress.contains("[cut"), whole);
    }
}

// proves: T3
#[test]
fn error_results_are_bounded_with_a_mark() {
    let long = "x".repeat(5_000);
    let config = || limits(|limits| limits.error_bytes = 512);
    let mut fault = Hand::begun(config(), [shared("t")]);
    fault.calls(["t"]);
    let (_, op) = fault.tools()[0];
    fault.enter(op);
    fault.breaks(op, &long);
    let mut denied = Hand::begun(config(), [shared("t").needs_approval()]);
    denied.calls(["t"]);
    let op = denied.questions()[0].0;
    denied.verdict(op, Verdict::Deny { reason: long.as_str().into() });
    for hand in [fault, denied] {
        let result = result(&hand, 0);
        assert_eq!(text(&result).len(), 512);
        assert!(text(&result).ends_with("[cut]"));
    }
}

// proves: R9, C5
#[test]
fn at_the_step_limit_the_progress_is_committed_and_the_run_completes() {
    let mut hand = Hand::begun(limits(|limits| limits.steps = 2), [shared("t")]);
    for step in 0..2 {
        hand.text(&format!("step {step}"));
        hand.calls(["t"]);
        let (_, op) = *hand.tools().last().unwrap();
        hand.runs(op, "");
    }
    let answer = hand.outcome().answer().unwrap();
    assert_eq!((answer.stop_reason.as_str(), answer.text.as_str()), ("max_steps", "step 1"));
    assert_eq!(hand.roles(), ["user", "assistant", "tool", "assistant", "tool"]);
    assert_eq!(hand.kinds().iter().filter(|kind| **kind == "step.completed").count(), 2);
}
