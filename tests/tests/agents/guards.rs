//! What is opened closes itself.

use crate::kit::{Notes, agent, events, inner, input, input_of, poll, run_words, words};
use futures_lite::future::pending;
use runloom::agui::event::{SubagentStarted, ToolCallStart};
use runloom::agui::server::{Error, EventReceiver, Result, RunContext, Runner};
use runloom::agui::{Event, RunOutcome, TextRole};

fn context() -> (RunContext<()>, EventReceiver) {
    RunContext::new(input()).unwrap()
}

// proves: V1
#[test]
fn what_is_said_at_once_is_whole() {
    let (mut cx, mut events) = context();
    assert_eq!(cx.say("hello").unwrap(), "r-msg-1");
    assert_eq!(cx.say("").unwrap(), "r-msg-2");
    assert_eq!(cx.think("hm").unwrap(), "r-msg-3");
    assert_eq!(
        words(&events.drain()),
        "text_message_start r-msg-1; text_message_content r-msg-1; text_message_end r-msg-1; \
         text_message_start r-msg-2; text_message_end r-msg-2; \
         reasoning_start r-msg-3; reasoning_message_start r-msg-3; reasoning_message_content r-msg-3; \
         reasoning_message_end r-msg-3; reasoning_end r-msg-3"
    );
}

// proves: V1
#[test]
fn calls_are_opened_filled_closed_and_answered() {
    let (mut cx, mut events) = context();
    let mut call = cx.tool_call("add").unwrap();
    call.args("{\"a\":1,").unwrap();
    call.args("").unwrap();
    call.args("\"b\":2}").unwrap();
    let parsed: serde_json::Value = call.parse_args().unwrap();
    assert_eq!((call.raw_args(), parsed["b"].as_u64()), ("{\"a\":1,\"b\":2}", Some(2)));
    assert_eq!(call.result("3").unwrap(), "r-msg-1");
    let mut call = cx.tool_call_with_id("c", "look").unwrap();
    call.args_json(&serde_json::json!({"x": 1})).unwrap();
    call.encrypted_value("sealed").unwrap();
    let id = call.end().unwrap();
    cx.tool_result_json(id, &[1, 2]).unwrap();
    let start = ToolCallStart {
        tool_call_id: "d".into(),
        tool_call_name: "ask".into(),
        parent_message_id: Some("r-msg-9".into()),
        ..ToolCallStart::default()
    };
    drop(cx.tool_call_with(start).unwrap());
    assert_eq!(
        words(&events.drain()),
        "tool_call_start r-call-1; tool_call_args r-call-1; tool_call_args r-call-1; tool_call_end r-call-1; \
         tool_call_result r-call-1; tool_call_start c; tool_call_args c; reasoning_encrypted_value; tool_call_end c; \
         tool_call_result c; tool_call_start d; tool_call_end d"
    );
    assert_eq!(cx.pending_tool_calls(), ["d"]);
}

// proves: V1, V3
#[test]
fn steps_and_subagents_are_contexts() {
    let (mut cx, mut events) = context();
    let mut step = cx.step("plan").unwrap();
    let mut outer = step.subagent("outer").unwrap();
    outer.say("hi").unwrap();
    let mut inner_step = outer.step("plan").unwrap();
    let mut nested = inner_step.subagent("nested").unwrap();
    assert_eq!(nested.subagent_run_id(), Some("r-sub-2"));
    nested.emit(Event::custom("acme.x", 1)).unwrap();
    nested.finish_with(serde_json::json!({"done": true})).unwrap();
    inner_step.finish().unwrap();
    outer.suspend(["i".to_owned()]).unwrap();
    step.say("after").unwrap();
    drop(step);
    let all = events.drain();
    assert_eq!(
        words(&all),
        "step_started plan; subagent_started r-sub-1; text_message_start r-msg-1; text_message_content r-msg-1; \
         text_message_end r-msg-1; step_started plan; subagent_started r-sub-2; custom r-sub-2; \
         subagent_finished r-sub-2; step_finished plan; subagent_finished r-sub-1; text_message_start r-msg-2; \
         text_message_content r-msg-2; text_message_end r-msg-2; step_finished plan"
    );
    let owners: Vec<Option<&str>> = all.iter().map(Event::subagent_run_id).collect();
    assert_eq!(
        owners[2..8],
        [Some("r-sub-1"), Some("r-sub-1"), Some("r-sub-1"), Some("r-sub-1"), None, Some("r-sub-2")]
    );
    assert_eq!((owners[9], owners[11], owners[14]), (Some("r-sub-1"), None, None));
    let Event::SubagentStarted(started) = &all[6] else { panic!() };
    assert_eq!(started.parent_subagent_run_id.as_deref(), Some("r-sub-1"));
    assert!(
        all[10].encode().contains(r#""outcome":{"type":"suspended","interruptIds":["i"]}"#),
        "{}",
        all[10].encode()
    );
}

// proves: V1
#[test]
fn an_invocation_that_nobody_finished_has_failed() {
    let (mut cx, mut events) = context();
    drop(cx.subagent("a").unwrap());
    cx.subagent("b").unwrap().fail_with_code("no", "NO").unwrap();
    cx.subagent("c").unwrap().fail("no").unwrap();
    let started =
        SubagentStarted { subagent_run_id: "d".into(), name: "d".into(), ..SubagentStarted::default() };
    cx.subagent_with(started).unwrap().finish().unwrap();
    assert_eq!(cx.subagent_run_id(), None);
    let all = events.drain();
    assert_eq!(
        words(&all),
        "subagent_started r-sub-1; subagent_error r-sub-1; subagent_started r-sub-2; subagent_error r-sub-2; \
         subagent_started r-sub-3; subagent_error r-sub-3; subagent_started d; subagent_finished d"
    );
    assert!(all[1].encode().contains("was left before it finished"));
    assert!(all[3].encode().contains(r#""code":"NO""#));
}

/// Opens one of each, from the outside in, and then does something.
async fn all_open(
    cx: &mut RunContext<()>,
    then: impl AsyncFn(&RunContext<()>) -> Result<()>,
) -> Result<RunOutcome> {
    let mut step = cx.step("s")?;
    let mut subagent = step.subagent("a")?;
    then(&subagent).await?;
    let mut call = subagent.tool_call("f")?;
    call.args("{")?;
    Ok(RunOutcome::Success)
}

const CLOSED: &str = "step_started s; subagent_started r-sub-1; subagent_error r-sub-1; step_finished s";

// proves: V1, V6
#[test]
fn guards_close_on_an_early_return_and_on_a_cancellation() {
    let fails = agent(async |cx| all_open(cx, async |_| Err(Error::agent("no"))).await);
    assert_eq!(inner(&events(Runner::new(fails).run_local(input()))), CLOSED);
    for version in [None, Some("1.1")] {
        let asked = version.map_or_else(input, input_of);
        let stops = agent(async |cx| {
            all_open(cx, async |cx| {
                cx.cancel_token().cancel();
                cx.check_cancelled()
            })
            .await
        });
        assert_eq!(inner(&events(Runner::new(stops).run_local(asked.clone()))), CLOSED);
        // One that never learns of it is dropped.
        let hangs = agent(async |cx| {
            all_open(cx, async |cx| {
                cx.cancel_token().cancel();
                pending().await
            })
            .await
        });
        assert_eq!(inner(&events(Runner::new(hangs).run_local(asked))), CLOSED);
    }
    assert_eq!(
        run_words(async |cx| all_open(cx, async |_| Ok(())).await),
        "run_started; step_started s; subagent_started r-sub-1; tool_call_start r-call-1; tool_call_args r-call-1; \
         tool_call_end r-call-1; subagent_error r-sub-1; step_finished s; run_finished success"
    );
}

// proves: V6
#[test]
fn ending_after_a_cancellation_fails_and_closes() {
    let (mut cx, mut events) = context();
    let token = cx.cancel_token();
    let message = cx.message_with_id("m", TextRole::User).unwrap();
    token.cancel();
    assert!(message.end().unwrap_err().is_cancelled());
    assert!(cx.emit(Event::custom("acme.x", 1)).unwrap_err().is_cancelled());
    assert!(cx.message(TextRole::Assistant).unwrap_err().is_cancelled());
    assert_eq!(words(&events.drain()), "text_message_start m; text_message_end m");
}

// proves: V1
#[test]
fn a_dropped_stream_drops_its_agent() {
    struct Note(Notes);
    impl Drop for Note {
        fn drop(&mut self) {
            self.0.push("dropped");
        }
    }
    for cancels in [false, true] {
        let (notes, seen) = (Notes::default(), Notes::default());
        let held = notes.clone();
        let runner = Runner::new(agent(async move |cx| {
            let _note = Note(held.clone());
            let _message = cx.assistant_message()?;
            pending::<Result<RunOutcome>>().await
        }));
        let token = runner.cancellation_token();
        let mut stream = runner.run_local(input());
        if cancels {
            stream = stream.cancel_on_drop();
        }
        assert!(poll(&mut stream).is_ready());
        drop(stream);
        assert_eq!((notes.take(), seen.take()), (vec!["dropped".to_owned()], Vec::new()));
        assert_eq!(token.is_cancelled(), cancels);
    }
    // A run that has finished leaves the token alone (V7).
    let runner = Runner::new(agent(async |_| Ok(RunOutcome::Success)));
    let token = runner.cancellation_token();
    drop(events(runner.run_local(input()).cancel_on_drop()));
    assert!(!token.is_cancelled());
}

// proves: V3
#[test]
fn guards_survive_being_forgotten() {
    let forgets = agent(async |cx| {
        std::mem::forget(cx.subagent("lost")?);
        Ok(RunOutcome::Cancelled)
    });
    let all = events(Runner::new(forgets).run_local(input_of("1.0")));
    assert_eq!(
        words(&all),
        "run_started; subagent_started r-sub-1; subagent_error r-sub-1; run_finished cancelled"
    );
}

// proves: V1
#[test]
fn chunks_and_activities_pass() {
    let (mut cx, mut events) = context();
    cx.text_chunk(Some("m"), "Hel").unwrap();
    cx.text_chunk(None, "lo").unwrap();
    cx.reasoning_chunk(Some("x"), "hm").unwrap();
    cx.tool_call_chunk(Some("c"), Some("f"), "{").unwrap();
    cx.tool_call_chunk(None, None, "}").unwrap();
    assert_eq!(cx.text_chunk(None, "lost").unwrap_err().code(), "PROTOCOL_VIOLATION");
    let mut plan =
        cx.activity("plan", &serde_json::json!({"title": "A rather long title", "done": 0})).unwrap();
    cx.update_activity(&mut plan, &serde_json::json!({"title": "A rather long title", "done": 1})).unwrap();
    cx.update_activity(&mut plan, &serde_json::json!({"title": "A rather long title", "done": 1})).unwrap();
    let mut subagent = cx.subagent("a").unwrap();
    // It stays the run's own, whoever is at work.
    subagent.update_activity(&mut plan, &serde_json::json!({})).unwrap();
    subagent.finish().unwrap();
    assert_eq!(cx.activity("plan", &1).unwrap_err().code(), "PROTOCOL");
    let all = events.drain();
    let kinds: Vec<&str> = all.iter().map(|event| event.event_type().as_str()).collect();
    assert_eq!(kinds[5..8], ["ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "SUBAGENT_STARTED"]);
    assert_eq!(all[6].encode().matches("\"path\":\"/done\"").count(), 1, "{}", all[6].encode());
    assert_eq!((kinds[8], all[8].subagent_run_id()), ("ACTIVITY_SNAPSHOT", None));
}
