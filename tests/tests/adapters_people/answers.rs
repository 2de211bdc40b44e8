//! `respond`: at once, exactly once, from any thread (H2).

use crate::stage::{asking, begun, calling, host, only, question, results, session, timed, tool};
use runloom::testing::{Attempt, ScriptedModel};
use runloom::{HostAnswer, ManualTimer, RequestId, RespondError, RunControl, SessionState, ToolOutput};
use runloom_tests::bare::Task;
use runloom_tests::runs::{assert_ended, count, kinds, with_capacity};
use std::sync::{Arc, Barrier};

fn value(text: &str) -> HostAnswer {
    HostAnswer::value(format!("{text:?}"))
}

/// Every error of `respond`, and that none of them changes anything.
// proves: H2
#[test]
fn errors_leave_the_request_open() {
    let session = session(host(calling(["asks"])).tool(asking("asks")));
    let (run, mut driver) = begun(&session);
    let request = only(&run.control());
    let unknown = RequestId::new("old-9").unwrap();
    let before = kinds(run.handle());
    assert_eq!(run.respond(&unknown, value("x")), Err(RespondError::Unknown(unknown.clone())));
    for wrong in [HostAnswer::value("7"), HostAnswer::value("{"), HostAnswer::allow()] {
        assert!(matches!(run.respond(&request.id, wrong), Err(RespondError::Invalid { .. })));
    }
    assert_eq!(kinds(run.handle()), before);
    assert_eq!(session.state(), SessionState::WaitingForHostInput);
    run.respond(&request.id, value("first")).unwrap();
    assert_eq!(session.state(), SessionState::Running);
    let again = run.respond(&request.id, value("second"));
    assert_eq!(again, Err(RespondError::AlreadyAnswered(request.id.clone())));
    assert!(driver.run());
    assert_eq!(run.respond(&request.id, value("third")), Err(RespondError::NotAccepting));
    assert_eq!(results(&session)[0].1, "\"first\"");
    assert_ended(run.handle());
}

/// HITL-05: an answer is delivered once, however many threads give one. Once the batch is over, its requests are not
/// known any more.
// proves: H2
#[test]
fn of_many_answers_one_is_taken() {
    for round in 0..20 {
        let session = session(host(calling(["asks"])).tool(asking("asks")));
        let (run, mut driver) = begun(&session);
        let request = only(&run.control());
        let start = Arc::new(Barrier::new(4));
        let answers = |name: usize, control: RunControl| {
            let (start, id) = (Arc::clone(&start), request.id.clone());
            std::thread::spawn(move || {
                start.wait();
                (name, control.respond(&id, value(&name.to_string())))
            })
        };
        let threads: Vec<_> = (0..4).map(|name| answers(name, run.control())).collect();
        while !driver.run() {
            std::thread::yield_now();
        }
        let replies: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        let taken: Vec<_> = replies
            .iter()
            .filter(|(_, reply)| reply.is_ok())
            .map(|(name, _)| format!("\"{name}\""))
            .collect();
        assert_eq!(taken.len(), 1, "round {round}: {replies:?}");
        assert_eq!(results(&session)[0].1, taken[0]);
        assert_eq!(count(run.handle(), "host_input.answered"), 1);
        let others = replies.iter().filter_map(|(_, reply)| reply.as_ref().err());
        for error in others {
            assert!(
                !matches!(error, RespondError::Invalid { .. } | RespondError::RequesterGone(_)),
                "{error}"
            );
        }
        assert_ended(run.handle());
    }
}

/// The full stream holds back the tool, never the answer; nobody polls the driver meanwhile.
// proves: H2, E13
#[test]
fn a_full_stream_does_not_block_an_answer() {
    let timer = ManualTimer::new();
    let capacity = |n| timed(host(calling(["asks"])).tool(asking("asks")), &timer, with_capacity(n));
    let needed = {
        let (run, _driver) = begun(&capacity(64));
        kinds(run.handle()).len()
    };
    let session = capacity(needed);
    let (mut run, mut driver) = begun(&session);
    let request = only(&run.control());
    run.respond(&request.id, value("taken")).unwrap();
    assert_eq!(kinds(run.handle()).last(), Some(&"host_input.answered"));
    assert!(run.requests().is_empty());
    assert!(!driver.run(), "nobody has read");
    let mut reading = Task::new(async { while run.events().next().await.is_some() {} });
    for _ in 0..100 {
        reading.run();
        driver.run();
    }
    assert!(driver.output().is_some());
    assert_eq!(results(&session)[0].1, "\"taken\"");
}

/// Reads an event, if there is one.
fn reads(run: &mut runloom::Run) -> bool {
    let mut events = run.events();
    let mut next = Task::new(events.next());
    next.run() && matches!(next.output(), Some(Some(_)))
}

/// Commands that do not end a run lose nothing of what was taken in while the stream was full.
// proves: H2, E13
#[test]
fn commands_lose_nothing_that_waits_for_the_reader() {
    let long = "x".repeat(70 * 1024);
    let commands: [fn(&RunControl); 5] = [
        |control| drop(control.respond(&RequestId::new("none").unwrap(), HostAnswer::allow())),
        |control| control.hide_tools(["asks"]).unwrap(),
        |control| control.show_tools(["asks"]).unwrap(),
        |control| drop(control.suspend().unwrap_err()),
        |control| drop(control.clone()),
    ];
    for (at, command) in commands.into_iter().enumerate() {
        let timer = ManualTimer::new();
        let wait = std::time::Duration::from_secs(1);
        let answer = Attempt::new().wait(wait).texts(long.as_str(), 2).text("b").text("c");
        let model = ScriptedModel::timed(timer.clone(), [answer]);
        let session = timed(host(model).tool(asking("asks")), &timer, with_capacity(4));
        let (mut run, driver) = session.start("go").unwrap();
        let control = run.control();
        let mut driver = Task::new(driver);
        driver.run();
        while reads(&mut run) {}
        // The first two of the model's items fill the stream with two events each; those behind them are held.
        timer.advance(wait);
        driver.run();
        command(&control);
        for _ in 0..1_000 {
            reads(&mut run);
            driver.run();
            command(&control);
        }
        let outcome = driver.output().unwrap();
        let answer = outcome.answer().map(|answer| answer.text.len());
        assert_eq!(answer, Some(2 * long.len() + 2), "command {at}: {:?}", outcome.result);
    }
}

/// A tool that is called again asks under another id; one that takes an id again is told, and only it.
// proves: H1
#[test]
fn an_id_is_used_once_in_a_batch() {
    let id = || RequestId::new("mine").unwrap();
    let twice = tool("twice", move |cx| async move {
        let first = cx.ask(question("first").id(id())).await.unwrap();
        let second = cx.ask(question("second").id(id())).await.unwrap_err();
        Ok(ToolOutput::text(format!("{} {}", first.kind(), second.as_str())))
    });
    let session = session(host(calling(["twice"])).tool(twice));
    let (run, mut driver) = begun(&session);
    run.respond(&id(), value("x")).unwrap();
    assert!(driver.run());
    assert_eq!(results(&session)[0].1, "value duplicate_id");
    assert_ended(run.handle());
}

/// The time of a question is up: its fallback holds, or the tool is told.
// proves: H2
#[test]
fn time_runs_out_with_and_without_a_fallback() {
    let timer = ManualTimer::new();
    for fallback in [true, false] {
        let asks = tool("asks", move |cx| async move {
            let mut asked = question("?").timeout(std::time::Duration::from_secs(5));
            if fallback {
                asked = asked.fallback(value("nobody"));
            }
            Ok(crate::stage::heard(cx.ask(asked).await))
        });
        let session = timed(host(calling(["asks"])).tool(asks), &timer, runloom::Config::default());
        let (run, mut driver) = begun(&session);
        timer.advance(std::time::Duration::from_micros(4_999_999));
        assert!(!driver.run() && count(run.handle(), "host_input.requested") == 1);
        assert_eq!(run.requests().len(), 1);
        timer.advance(std::time::Duration::from_micros(1));
        assert!(driver.run());
        let expected = if fallback { "\"nobody\"" } else { "timed_out" };
        assert_eq!(results(&session)[0].1, expected);
        assert_ended(run.handle());
    }
}
