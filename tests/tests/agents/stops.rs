//! Stops: what they look like to which peer, and that they do stop.

use crate::kit::{Notes, agent, code, events, input, input_of, outcome, poll, words};
use futures_lite::future::{pending, yield_now};
use runloom::agui::server::{CancellationToken, Error, Result, RunContext, Runner, StopPolicy};
use runloom::agui::{Event, RunOutcome, TextRole};

/// Opens a step, a message and a call raw, then is stopped.
async fn stopped(cx: &mut RunContext<()>) -> Result<RunOutcome> {
    cx.emit(Event::step_started("s1"))?;
    cx.emit(Event::text_message_start("m1", TextRole::Assistant))?;
    cx.emit(Event::text_message_content("m1", "half"))?;
    cx.emit(Event::tool_call_start("c1", "f"))?;
    cx.cancel_token().cancel();
    cx.check_cancelled()?;
    Ok(RunOutcome::Success)
}

const OPENED: &str =
    "run_started; step_started s1; text_message_start m1; text_message_content m1; tool_call_start c1";
const CLOSED: &str = "tool_call_end c1; text_message_end m1; step_finished s1; run_finished cancelled";

// proves: V8
#[test]
fn a_stop_looks_as_the_peers_version_demands() {
    for (version, policy, finishes) in [
        (None, StopPolicy::ByVersion, false),
        (Some("0.0.57"), StopPolicy::ByVersion, false),
        (Some("nonsense"), StopPolicy::ByVersion, true),
        (Some("1.0"), StopPolicy::ByVersion, true),
        (Some("1.1"), StopPolicy::ByVersion, true),
        (Some("1.10"), StopPolicy::ByVersion, true),
        (None, StopPolicy::Finish, true),
        (Some("1.1"), StopPolicy::Fail, false),
    ] {
        let asked = version.map_or_else(input, input_of);
        let all = events(Runner::new(agent(stopped)).stop_policy(policy).run_local(asked));
        let end = if finishes { CLOSED } else { "run_error CANCELLED" };
        assert_eq!(words(&all), format!("{OPENED}; {end}"), "{version:?} {policy:?}");
    }
}

// proves: V6
#[test]
fn a_stop_is_a_stop_whatever_the_agent_makes_of_it() {
    type End = fn() -> Result<RunOutcome>;
    let ends: [End; 3] = [
        || Ok(RunOutcome::Success),
        || Err(Error::agent("the model was cut off")),
        || Err(Error::Disconnected),
    ];
    for end in ends {
        let stops = agent(async move |cx| {
            cx.cancel_token().cancel();
            assert!(cx.say("swallowed").unwrap_err().is_cancelled());
            end()
        });
        let all = events(Runner::new(stops).run_local(input_of("1.1")));
        assert_eq!(words(&all), "run_started; run_finished cancelled");
        assert_eq!(*outcome(&all), RunOutcome::Cancelled);
    }
}

// proves: V6
#[test]
fn a_run_that_was_stopped_before_it_began_has_its_end() {
    let notes = Notes::default();
    let seen = notes.clone();
    let runner = Runner::new(agent(async move |cx| {
        seen.push(cx.is_cancelled());
        cx.cancelled().await;
        seen.push("heard");
        cx.say("no")?;
        Ok(RunOutcome::Success)
    }));
    runner.cancellation_token().cancel();
    assert_eq!(words(&events(runner.run_local(input()))), "run_started; run_error CANCELLED");
    assert_eq!(notes.take(), ["true", "heard"]);
}

// proves: V6, V8
#[test]
fn a_stop_wakes_an_agent_that_waits_and_drops_one_that_goes_on_waiting() {
    let token = CancellationToken::new();
    let hangs = agent(async |cx| {
        cx.say("one moment")?;
        pending::<()>().await;
        Ok(RunOutcome::Success)
    });
    let stream = Runner::new(hangs).cancellation(token.clone()).run_local(input_of("1.1"));
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        token.cancel();
    });
    let all = events(stream);
    stopper.join().unwrap();
    assert!(words(&all).ends_with("text_message_end r-msg-1; run_finished cancelled"), "{}", words(&all));
}

// proves: V6
#[test]
fn an_agent_may_be_waited_for() {
    let notes = Notes::default();
    let cleans = |waits: bool| {
        let seen = notes.clone();
        let runner = Runner::new(agent(async move |cx| {
            cx.cancelled().await;
            yield_now().await;
            seen.push("saved");
            Err(Error::Cancelled)
        }));
        runner.cancellation_token().cancel();
        let all = events(runner.wait_for_agent(waits).run_local(input()));
        assert_eq!(code(&all), "CANCELLED");
        notes.take()
    };
    assert_eq!(cleans(true), ["saved"]);
    assert!(cleans(false).is_empty());
}

// proves: V6
#[test]
fn a_tripped_token_starts_nothing() {
    let (cx, _events) = RunContext::<()>::new(input()).unwrap();
    cx.cancel_token().cancel();
    let notes = Notes::default();
    let never = async { notes.push("polled") };
    assert_eq!(futures_lite::future::block_on(cx.until_cancelled(never)), None);
    assert!(notes.take().is_empty());
    assert!(futures_lite::future::block_on(cx.ready()).unwrap_err().is_cancelled());
}

// proves: V6
#[test]
fn a_stop_after_the_end_changes_nothing() {
    let runner = Runner::new(agent(async |_| Ok(RunOutcome::Success)));
    let token = runner.cancellation_token();
    let mut stream = runner.run_local(input_of("1.1"));
    assert!(poll(&mut stream).is_ready());
    let end = poll(&mut stream);
    token.cancel();
    assert!(
        matches!(&end, std::task::Poll::Ready(Some(Event::RunFinished(end))) if end.outcome == Some(RunOutcome::Success))
    );
    assert_eq!(poll(&mut stream), std::task::Poll::Ready(None));
}
