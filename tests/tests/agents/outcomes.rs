//! What a finished run says: pending calls, result, usage, answers to interrupts; and where its ids come from.

use crate::kit::{agent, events, inner, input, outcome, words};
use runloom::agui::server::{EntityKind, RunContext, Runner};
use runloom::agui::{Event, Message, ResumeEntry, ResumeStatus, RunOutcome, TokenUsage};
use serde_json::json;

// proves: V4
#[test]
fn calls_that_nobody_answered_are_the_applications() {
    let leaves = agent(async |cx| {
        let first = cx.tool_call_with_id("b", "f")?.end()?;
        cx.tool_call_with_id("a", "f")?.end()?;
        cx.tool_call_with_id("c", "f")?.result("ok")?;
        assert_eq!(first, "b");
        Ok(RunOutcome::Success)
    });
    let all = events(Runner::new(leaves).run_local(input()));
    assert_eq!(*outcome(&all), RunOutcome::SuccessWithPendingToolCalls(vec!["b".into(), "a".into()]));
}

// proves: V4
#[test]
fn result_and_usage_go_out_with_the_end() {
    let of = |model: &str, tokens: u64, reasoning: Option<u64>| TokenUsage {
        model: Some(model.into()),
        input_tokens: Some(tokens),
        reasoning_tokens: reasoning,
        ..TokenUsage::default()
    };
    let counts = |end: fn() -> runloom::agui::server::Result<RunOutcome>| {
        agent(async move |cx| {
            cx.add_usage(of("m", 3, None));
            cx.add_usage(of("n", u64::MAX, Some(1)));
            cx.add_usage(of("m", 4, Some(2)));
            cx.add_usage(of("n", 1, None));
            cx.set_result(json!({"answer": 42}));
            end()
        })
    };
    let usage = r#""usage":[{"model":"m","inputTokens":7,"reasoningTokens":2},{"model":"n","inputTokens":9007199254740991,"reasoningTokens":1}]"#;
    let all = events(Runner::new(counts(|| Ok(RunOutcome::Success))).run_local(input()));
    let line = all[1].encode();
    assert!(line.contains(r#""result":{"answer":42}"#) && line.contains(usage), "{line}");
    let stopped: fn() -> _ = || Err(runloom::agui::server::Error::Cancelled);
    let finish = runloom::agui::server::StopPolicy::Finish;
    let line = events(Runner::new(counts(stopped)).stop_policy(finish).run_local(input()))[1].encode();
    assert!(!line.contains("result") && line.contains(usage), "{line}");
    let failed: fn() -> _ = || Err(runloom::agui::server::Error::agent("no"));
    let line = events(Runner::new(counts(failed)).run_local(input()))[1].encode();
    assert!(!line.contains("result") && line.contains(usage), "{line}");
}

// proves: V10
#[test]
fn answers_to_interrupts_are_found_and_absence_is_no_consent() {
    let mut asked = input();
    asked.resume = vec![ResumeEntry {
        interrupt_id: "i".into(),
        status: ResumeStatus::Resolved,
        payload: Some(json!({"approved": true})),
        ..ResumeEntry::default()
    }];
    let (cx, _events) = RunContext::<()>::new(asked).unwrap();
    assert!(cx.is_resume());
    assert_eq!(cx.resume_for("i").unwrap().status, ResumeStatus::Resolved);
    assert_eq!(cx.resume_for("j"), None);
    assert_eq!(ResumeStatus::default(), ResumeStatus::Cancelled);
}

// proves: X3
#[test]
fn ids_are_the_same_each_time_and_the_hosts_if_it_wants() {
    let speaks = || {
        agent(async |cx| {
            cx.say("a")?;
            cx.tool_call("f")?.result("b")?;
            cx.subagent("s")?.finish()?;
            Ok(RunOutcome::Success)
        })
    };
    let once = events(Runner::new(speaks()).run_local(input()));
    assert_eq!(once, events(Runner::new(speaks()).run_local(input())));
    let mut last = 0;
    let mine = move |kind: EntityKind| {
        last += 1;
        format!("{kind:?}{last}")
    };
    let all = events(Runner::new(speaks()).ids(mine).run_local(input()));
    assert_eq!(
        inner(&all),
        "text_message_start Message1; text_message_content Message1; text_message_end Message1; \
         tool_call_start ToolCall2; tool_call_end ToolCall2; tool_call_result ToolCall2; \
         subagent_started Subagent4; subagent_finished Subagent4"
    );
    // A run that is made again does not append to the messages of the first time.
    let mut again = input();
    again.messages = vec![Message::assistant("r-msg-1", "a"), Message::assistant("r-msg-3", "b")];
    let (mut cx, _events) = RunContext::<()>::new(again).unwrap();
    assert_eq!([cx.new_message_id(), cx.new_message_id()], ["r-msg-2", "r-msg-4"]);
    let mut nameless = input();
    nameless.run_id.clear();
    let (mut cx, _events) = RunContext::<()>::new(nameless).unwrap();
    assert_eq!((cx.new_tool_call_id(), cx.new_subagent_run_id()), ("run-call-1".into(), "run-sub-1".into()));
}

// proves: V3
#[test]
fn refused_events_are_remembered() {
    let passes_over = || {
        agent(async |cx| {
            let _ = cx.emit(Event::text_message_end("nothing"));
            assert_eq!(cx.violation().unwrap().id.as_deref(), Some("nothing"));
            cx.say("all is well")?;
            Ok(RunOutcome::Success)
        })
    };
    let all = events(Runner::new(passes_over()).run_local(input()));
    assert!(words(&all).ends_with("run_finished success"));
    let all = events(Runner::new(passes_over()).strict(true).run_local(input()));
    assert!(words(&all).ends_with("run_error PROTOCOL_VIOLATION"));
}
