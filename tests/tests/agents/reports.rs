//! Public reports of bugs in producers, by their ids, and defects that other servers have, each with what happens here.

use crate::kit::{agent, agent_with, code, events, events_of, inner, input, input_of, outcome, poll, words};
use runloom::agui::consume::Consumer;
use runloom::agui::server::{Error, Result, RunContext, Runner};
use runloom::agui::{Event, Message, RunAgentInput, RunOutcome, TextRole};
use std::task::Poll;

/// AGUI-01: a tool throws, the producer sends its error, and then its unconditional end.
#[test]
fn agui_01_a_run_that_failed_has_no_second_end() {
    let throws = agent(async |cx| {
        cx.tool_call_with_id("c1", "f")?.end()?;
        cx.emit(Event::run_error("tool failed", None))?;
        for late in
            [Event::run_finished("t", "r", None), Event::run_error("again", None), Event::custom("x", 1)]
        {
            assert_eq!(cx.emit(late).unwrap_err().code(), "PROTOCOL_VIOLATION");
        }
        Ok(RunOutcome::Success)
    });
    let all = events(Runner::new(throws).run_local(input()));
    assert_eq!(words(&all), "run_started; tool_call_start c1; tool_call_end c1; run_error");
}

async fn halts(cx: &mut RunContext<()>) -> Result<RunOutcome> {
    for id in ["a", "b", "c"] {
        cx.emit(Event::tool_call_start(id, "f"))?;
    }
    cx.emit(Event::tool_call_end("a"))?;
    cx.emit(Event::tool_call_result("m", "a", "halt"))?;
    Ok(RunOutcome::Success)
}

/// AGUI-02: a run halts after the first of three parallel results, and finishes with two calls open.
///
/// The report wants them closed; V4 wants the finish to be an error, because a call that is closed looks complete. Here the
/// host chooses, and without a choice V4 holds. A stop closes them in any case (V8).
#[test]
fn agui_02_calls_that_were_left_open_never_stand_before_a_finish() {
    let opened =
        "tool_call_start a; tool_call_start b; tool_call_start c; tool_call_end a; tool_call_result a";
    let all = events(Runner::new(agent(halts)).run_local(input()));
    assert_eq!(words(&all), format!("run_started; {opened}; run_error PROTOCOL_VIOLATION"));
    let all = events(Runner::new(agent(halts)).close_open(true).run_local(input()));
    assert_eq!(inner(&all), format!("{opened}; tool_call_end b; tool_call_end c"));
    assert_eq!(*outcome(&all), RunOutcome::SuccessWithPendingToolCalls(vec!["b".into(), "c".into()]));
    let stops = agent(async |cx| {
        halts(cx).await?;
        Err(Error::Cancelled)
    });
    let all = events(Runner::new(stops).run_local(input_of("1.1")));
    assert_eq!(inner(&all), format!("{opened}; tool_call_end b; tool_call_end c"));
}

/// AGUI-08: a stop by a person cannot be told from a provider's failure.
#[test]
fn agui_08_a_stop_is_not_a_failure() {
    let stops = || {
        agent(async |cx| {
            let mut step = cx.step("s1")?;
            let mut message = step.message_with_id("m1", TextRole::Assistant)?;
            message.delta("half")?;
            message.cancel_token().cancel();
            message.delta("other half")?;
            Ok(RunOutcome::Success)
        })
    };
    let opened = "step_started s1; text_message_start m1; text_message_content m1; text_message_end m1; step_finished s1";
    let all = events(Runner::new(stops()).run_local(input_of("1.1")));
    assert_eq!(words(&all), format!("run_started; {opened}; run_finished cancelled"));
    assert!(!all.last().unwrap().encode().contains("\"result\""));
    let all = events(Runner::new(stops()).run_local(input()));
    assert_eq!(words(&all), format!("run_started; {opened}; run_error CANCELLED"));
}

/// AGUI-10: a tool's result has one id in the stream and another in the snapshot.
#[test]
fn agui_10_a_result_has_one_id_for_its_whole_life() {
    let restates = agent(async |cx| {
        let call = cx.tool_call("f")?.end()?;
        let result = cx.tool_result(&call, "ok")?;
        let said = cx.say("done")?;
        let messages = vec![Message::tool(result, call, "ok"), Message::assistant(said, "done")];
        cx.messages_snapshot(messages)?;
        Ok(RunOutcome::Success)
    });
    let all = events(Runner::new(restates).run_local(input()));
    let read = |events: &[Event]| {
        let mut consumer = Consumer::new();
        events.iter().for_each(|event| consumer.event(event.clone(), &mut |_| {}).unwrap());
        consumer.thread().messages().iter().map(Message::text).collect::<Vec<_>>()
    };
    let at = all.iter().position(|event| matches!(event, Event::MessagesSnapshot(_))).unwrap();
    let (streamed, restated) = (read(&all[..at]), read(&all));
    assert_eq!(
        streamed.iter().filter(|text| !text.is_empty()).collect::<Vec<_>>(),
        restated.iter().collect::<Vec<_>>()
    );
}

/// AGUI-11: calls are not shown because the history happens to end with a tool's message.
#[test]
fn agui_11_calls_are_shown_whatever_the_history_ends_with() {
    let mut asked = input();
    asked.messages = vec![Message::user("u", "go"), Message::tool("a", "c1", "approved")];
    let calls = agent(async |cx| {
        for id in ["c2", "c3"] {
            let mut call = cx.tool_call_with_id(id, "f")?;
            call.args("{}")?;
            call.result("ok")?;
        }
        Ok(RunOutcome::Success)
    });
    assert_eq!(
        inner(&events(Runner::new(calls).run_local(asked))),
        "tool_call_start c2; tool_call_args c2; tool_call_end c2; tool_call_result c2; \
         tool_call_start c3; tool_call_args c3; tool_call_end c3; tool_call_result c3"
    );
}

/// Elsewhere an answer to a call of the interrupted run is an unknown id.
#[test]
fn a_resumed_run_answers_the_calls_of_the_one_before() {
    let call = r#"{"threadId":"t","runId":"r","messages":[{"id":"a","role":"assistant","toolCalls":
        [{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}]}"#;
    let asked: RunAgentInput = runloom::agui::wire::decode(call).unwrap().value.unwrap();
    let answers = agent(async |cx| {
        cx.tool_result("c1", "approved")?;
        assert_eq!(cx.tool_result("c9", "?").unwrap_err().code(), "PROTOCOL_VIOLATION");
        Ok(RunOutcome::Success)
    });
    assert_eq!(
        inner(&events_of(Runner::new(answers).run_local(asked.clone()), &asked)),
        "tool_call_result c1"
    );
}

/// Elsewhere a refused chunk closes the message that it names, and a first chunk may lack its id.
#[test]
fn a_refused_chunk_changes_nothing() {
    let chunks = agent(async |cx| {
        let mut message = cx.message_with_id("m", TextRole::Assistant)?;
        let chunk = Event::text_message_chunk(Some("m".into()), "x");
        assert_eq!(message.emit(chunk).unwrap_err().code(), "PROTOCOL_VIOLATION");
        message.delta("still open")?;
        message.end()?;
        for first in
            [Event::text_message_chunk(None, "x"), Event::tool_call_chunk(Some("c".into()), None, "x")]
        {
            assert_eq!(cx.emit(first).unwrap_err().code(), "PROTOCOL_VIOLATION");
        }
        Ok(RunOutcome::Success)
    });
    let all = events(Runner::new(chunks).run_local(input()));
    assert_eq!(
        words(&all),
        "run_started; text_message_start m; text_message_content m; text_message_end m; run_finished success"
    );
}

/// Elsewhere queued events wait for the agent's next wake-up, so that a reader who looks once sees nothing.
#[test]
fn a_reader_who_looks_once_sees_what_is_there() {
    let waits = agent(async |cx| {
        cx.say("hello")?;
        futures_lite::future::pending().await
    });
    let mut stream = Runner::new(waits).run_local(input());
    let seen: Vec<Event> = std::iter::from_fn(|| match poll(&mut stream) {
        Poll::Ready(event) => event,
        Poll::Pending => None,
    })
    .collect();
    assert_eq!(seen.len(), 4);
}

/// Elsewhere a hundred thousand events of an agent that never awaits stay in memory, or the run is killed.
#[test]
fn an_agent_keeps_the_pace_of_its_reader() {
    let streams = agent(async |cx| {
        let mut message = cx.message_with_id("m", TextRole::Assistant)?;
        for _ in 0..100_000 {
            message.ready().await?;
            message.delta("x")?;
        }
        Ok(RunOutcome::Success)
    });
    let all = events(Runner::new(streams).most_unread(256, 1).run_local(input()));
    assert_eq!(all.len(), 100_004);
}

/// Elsewhere an agent that stays on its thread cannot be run.
#[test]
fn an_agent_may_hold_what_is_not_send() {
    let held = std::rc::Rc::new(std::cell::Cell::new(0));
    let counts = held.clone();
    let local = agent_with::<(), _>(async move |cx: &mut RunContext<()>| {
        counts.set(counts.get() + 1);
        futures_lite::future::yield_now().await;
        cx.say(counts.get().to_string())?;
        Err(Error::agent("no"))
    });
    assert_eq!(code(&events(Runner::new(local).run_local(input()))), "AGENT_ERROR");
    assert_eq!(held.get(), 1);
}
