//! Whatever escapes an agent becomes the one end of its stream.

use crate::kit::{agent, agent_with, code, events, input, outcome, quietly, run_words, words};
use runloom::agui::server::{Agent, Error, Result, RunContext, Runner, run};
use runloom::agui::{Event, Interrupt, RunAgentInput, RunOutcome, TextRole};
use serde_json::json;
use std::pin::Pin;
use std::task::{Context, Poll};

// proves: V1
#[test]
fn a_run_begins_and_ends_once() {
    assert_eq!(run_words(async |_| Ok(RunOutcome::Success)), "run_started; run_finished success");
    let all = events(Runner::new(agent(async |_| Ok(RunOutcome::Success))).run_local(input()));
    let Event::RunStarted(started) = &all[0] else { panic!() };
    assert_eq!((&*started.thread_id, &*started.run_id), ("t", "r"));
    // The producer's own version, never an echo; the input only if the host wants that.
    assert_eq!(started.protocol_version.as_deref(), Some("1.1"));
    assert_eq!(started.input, None);
    let runner = Runner::new(agent(async |_| Ok(RunOutcome::Success))).echo_input(true);
    let mut asked = input();
    asked.parent_run_id = Some("outer".into());
    let Event::RunStarted(started) = events(runner.run_local(asked.clone())).swap_remove(0) else { panic!() };
    assert_eq!((started.input.as_deref(), started.parent_run_id.as_deref()), (Some(&asked), Some("outer")));
}

// proves: V2
#[test]
fn every_error_has_its_code() {
    type Make = fn() -> Error;
    let cases: [(Make, &str); 6] = [
        (|| RunOutcome::interrupt([]).unwrap_err().into(), "PROTOCOL"),
        (|| serde_json::from_str::<u8>("x").unwrap_err().into(), "SERIALIZATION"),
        (|| Error::Cancelled, "CANCELLED"),
        (|| Error::Disconnected, "DISCONNECTED"),
        (|| Error::agent(String::from("no")), "AGENT_ERROR"),
        (|| Error::agent(std::io::Error::other("no")), "AGENT_ERROR"),
    ];
    for (error, expected) in cases {
        assert_eq!(error().code(), expected);
        assert_eq!(error().is_cancelled(), expected == "CANCELLED");
        assert_eq!(error().is_disconnected(), expected == "DISCONNECTED");
        let all = events(Runner::new(agent(async move |_| Err(error()))).run_local(input()));
        assert_eq!(code(&all), expected);
    }
    let all = events(
        Runner::new(agent(async |cx| cx.emit(Event::step_finished("s")).map(|()| RunOutcome::Success)))
            .run_local(input()),
    );
    assert_eq!(code(&all), "PROTOCOL_VIOLATION");
}

// proves: V1
#[test]
fn a_panic_is_a_failure_wherever_it_happens() {
    let panics = agent(async |cx| {
        let mut step = cx.step("s")?;
        let mut subagent = step.subagent("helper")?;
        let _message = subagent.assistant_message()?;
        panic!("on purpose: secret");
    });
    let all = quietly(|| events(Runner::new(panics).run_local(input())));
    // What was open was closed from the inside out while the panic passed.
    assert_eq!(
        words(&all),
        "run_started; step_started s; subagent_started r-sub-1; text_message_start r-msg-1; \
         text_message_end r-msg-1; subagent_error r-sub-1; step_finished s; run_error AGENT_ERROR"
    );
    let Some(Event::RunError(error)) = all.last() else { panic!() };
    // The payload may hold anything, so that it stays out of the stream.
    assert_eq!(error.message, "agent error: it panicked");
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("on purpose: in a drop");
    }
}

// proves: V1
#[test]
fn a_panic_in_a_drop_or_before_the_first_poll_changes_no_end() {
    struct Eager(&'static str);
    impl Agent for Eager {
        type State = ();
        fn run(&self, cx: &mut RunContext<()>) -> impl Future<Output = Result<RunOutcome>> + Send {
            assert!(cx.emit(Event::custom("acme.begun", 1)).is_ok());
            if self.0 == "call" {
                panic!("on purpose: before the future");
            }
            Holding((self.0 == "future").then(|| Bomb))
        }
    }
    impl Drop for Eager {
        fn drop(&mut self) {
            if self.0 == "agent" {
                panic!("on purpose: in the agent's drop");
            }
        }
    }
    /// Is done at once, and holds something until it is dropped.
    struct Holding(#[allow(dead_code, reason = "it is there to be dropped")] Option<Bomb>);
    impl Future for Holding {
        type Output = Result<RunOutcome>;
        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<RunOutcome>> {
            Poll::Ready(Ok(RunOutcome::Success))
        }
    }
    for (place, end) in [
        ("call", "run_error AGENT_ERROR"),
        ("future", "run_finished success"),
        ("agent", "run_finished success"),
    ] {
        let all = quietly(|| events(run(Eager(place), input())));
        assert_eq!(words(&all), format!("run_started; custom; {end}"));
    }
}

// proves: V4
#[test]
fn a_rejected_finish_is_an_error() {
    let leaves = || {
        agent(async |cx| {
            cx.emit(Event::text_message_start("m", TextRole::Assistant))?;
            Ok(RunOutcome::Success)
        })
    };
    let all = events(Runner::new(leaves()).run_local(input()));
    assert_eq!(words(&all), "run_started; text_message_start m; run_error PROTOCOL_VIOLATION");
    let Some(Event::RunError(error)) = all.last() else { panic!() };
    assert!(error.message.starts_with("RUN_FINISHED breaks rule `open-at-finish`"), "{}", error.message);
    // A host may have it closed instead.
    let all = events(Runner::new(leaves()).close_open(true).run_local(input()));
    assert_eq!(words(&all), "run_started; text_message_start m; text_message_end m; run_finished success");
    // The agent's own finish is refused, and the run goes on.
    let tries = agent(async |cx| {
        cx.emit(Event::text_message_start("m", TextRole::Assistant))?;
        let refused = cx.emit(Event::run_finished("t", "r", None)).unwrap_err();
        assert_eq!(refused.code(), "PROTOCOL_VIOLATION");
        cx.emit(Event::text_message_end("m"))?;
        Ok(RunOutcome::Success)
    });
    let all = events(Runner::new(tries).run_local(input()));
    assert_eq!(words(&all), "run_started; text_message_start m; text_message_end m; run_finished success");
}

// proves: V3, V4
#[test]
fn an_end_of_the_agents_own_is_the_end() {
    let ends = agent(async |cx| {
        cx.emit(Event::run_finished("t", "r", None))?;
        let late = cx.say("too late").unwrap_err();
        assert_eq!(late.code(), "PROTOCOL_VIOLATION");
        Err(late)
    });
    assert_eq!(words(&events(Runner::new(ends).run_local(input()))), "run_started; run_finished");
    let foreign = agent(async |cx| {
        cx.emit(Event::run_finished("t", "another", None))?;
        Ok(RunOutcome::Success)
    });
    assert_eq!(code(&events(Runner::new(foreign).run_local(input()))), "PROTOCOL_VIOLATION");
}

// proves: V4
#[test]
fn outcomes_are_checked() {
    let of = |outcome: RunOutcome| {
        events(Runner::new(agent(async move |_| Ok(outcome.clone()))).run_local(input()))
    };
    assert_eq!(code(&of(RunOutcome::Interrupt(Vec::new()))), "PROTOCOL");
    let twice = vec![Interrupt::new("i", "a"), Interrupt::new("i", "b")];
    assert_eq!(code(&of(RunOutcome::Interrupt(twice))), "PROTOCOL_VIOLATION");
    let asked = RunOutcome::interrupt([Interrupt::new("i", "approval")]).unwrap();
    assert_eq!(*outcome(&of(asked.clone())), asked);
    assert_eq!(code(&of(RunOutcome::SuccessWithPendingToolCalls(vec!["c".into()]))), "PROTOCOL_VIOLATION");
    // An agent that says it was stopped was stopped.
    assert_eq!(code(&of(RunOutcome::Cancelled)), "CANCELLED");
}

// proves: V1, V2
#[test]
fn an_input_that_is_not_the_agents_state_fails_the_run() {
    #[derive(Default, serde::Serialize, serde::Deserialize)]
    struct Counter {
        count: u32,
    }
    let state = |state: serde_json::Value| RunAgentInput { state: Some(state), ..input() };
    let counts = || {
        agent_with::<Counter, _>(async |cx: &mut RunContext<Counter>| {
            cx.state_mut().count += 1;
            Ok(RunOutcome::Success)
        })
    };
    let all = events(Runner::new(counts()).run_local(state(json!({"count": "many"}))));
    assert_eq!(words(&all), "run_started; run_error SERIALIZATION");
    let all = events(Runner::new(counts()).run_local(state(json!({"count": 2}))));
    assert!(all[1].encode().ends_with("\"snapshot\":{\"count\":3}}"), "{}", all[1].encode());
    // An agent without state leaves the application's alone.
    let none = agent(async |cx| {
        let () = cx.state();
        cx.publish_state()?;
        Ok(RunOutcome::Success)
    });
    let all = events(Runner::new(none).run_local(state(json!({"count": "many"}))));
    assert_eq!(words(&all), "run_started; run_finished success");
}

// proves: V1
#[test]
fn state_that_panics_is_a_failure() {
    #[derive(Default)]
    struct Odd(bool);
    impl serde::Serialize for Odd {
        fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
            assert!(!self.0, "on purpose");
            to.serialize_unit()
        }
    }
    impl<'de> serde::Deserialize<'de> for Odd {
        fn deserialize<D: serde::Deserializer<'de>>(_: D) -> std::result::Result<Self, D::Error> {
            panic!("on purpose: cannot be read");
        }
    }
    let odd = || {
        agent_with::<Odd, _>(async |cx: &mut RunContext<Odd>| {
            cx.state_mut().0 = true;
            Ok(RunOutcome::Success)
        })
    };
    let asked = RunAgentInput { state: Some(json!(1)), ..input() };
    for asked in [asked, input()] {
        let all = quietly(|| events(Runner::new(odd()).run_local(asked)));
        assert_eq!(words(&all), "run_started; run_error AGENT_ERROR");
    }
}

// proves: V1, X2
#[test]
fn runs_of_shared_agents_move_between_threads() {
    struct Says;
    impl Agent for Says {
        type State = ();
        async fn run(&self, cx: &mut RunContext<()>) -> Result<RunOutcome> {
            futures_lite::future::yield_now().await;
            cx.send(Event::custom("acme.x", 1)).await?;
            Ok(RunOutcome::Success)
        }
    }
    let stream = run(std::sync::Arc::new(Says), input());
    let all = std::thread::spawn(move || events(stream)).join().unwrap();
    assert_eq!(words(&all), "run_started; custom; run_finished success");
}
