//! `ToolContext::ask`: questions of a tool that waits (H1, H2).

use crate::stage::{Kept, asking, begun, calling, heard, host, open, question, results, session, tool};
use futures_lite::future::{poll_once, zip};
use runloom::{AskError, HostAnswer, RespondError, ToolOutput, ToolStatus};
use runloom_tests::bare::Task;
use runloom_tests::runs::{assert_ended, count, kinds};
use std::pin::pin;

/// Two questions stand open at once beside progress, and are answered in the other order.
// proves: H1, H2, E9
#[test]
fn questions_stand_open_together_and_beside_progress() {
    let asks = tool("asks", |cx| async move {
        let (first, second) = (cx.ask(question("first")), cx.ask(question("second")));
        let told = async {
            cx.progress("between").await;
            cx.progress("after").await;
        };
        let ((first, second), ()) = zip(zip(first, second), told).await;
        let (first, second) = (heard(first), heard(second));
        Ok(ToolOutput::parts([first.content, second.content].concat()))
    });
    let session = session(host(calling(["asks"])).tool(asks));
    let (run, mut driver) = begun(&session);
    let requests = run.requests();
    assert_eq!(open(run.handle()), ["question asks", "question asks"]);
    assert_eq!(requests[0].call.call, requests[1].call.call);
    run.respond(&requests[1].id, HostAnswer::value("2")).unwrap_err();
    run.respond(&requests[1].id, HostAnswer::value("\"two\"")).unwrap();
    assert!(!driver.run());
    assert_eq!(open(run.handle()).len(), 1);
    run.respond(&requests[0].id, HostAnswer::value("\"one\"")).unwrap();
    assert!(driver.run());
    assert_eq!(results(&session), [(ToolStatus::Success, "\"one\"\"two\"".to_owned())]);
    let about = kinds(run.handle()).into_iter();
    let about = about.filter(|kind| kind.starts_with("host") || *kind == "tool.updated");
    let (requested, answered, updated) = ("host_input.requested", "host_input.answered", "tool.updated");
    let expected = [requested, requested, updated, updated, answered, answered];
    assert_eq!(about.collect::<Vec<_>>(), expected);
    assert_ended(run.handle());
}

/// E9: what a call says is recorded in the order in which it says it, whatever it is.
// proves: E9
#[test]
fn questions_and_progress_keep_their_order() {
    let mixes = tool("mixes", |cx| async move {
        for n in 0..3 {
            cx.progress(format!("before {n}")).await;
            let mut asked = pin!(cx.ask(question("?")));
            assert!(poll_once(&mut asked).await.is_none());
            cx.progress(format!("after {n}")).await;
            asked.await.unwrap();
        }
        Ok(ToolOutput::text(""))
    });
    let session = session(host(calling(["mixes"])).tool(mixes));
    let (run, mut driver) = begun(&session);
    for _ in 0..3 {
        let request = run.requests().pop().unwrap();
        run.respond(&request.id, HostAnswer::value("\"go on\"")).unwrap();
        driver.run();
    }
    let kinds: Vec<_> = kinds(run.handle())
        .into_iter()
        .filter_map(|kind| match kind {
            "host_input.requested" => Some('?'),
            "host_input.answered" => Some('!'),
            "tool.updated" => Some('.'),
            _ => None,
        })
        .collect();
    assert_eq!(kinds.into_iter().collect::<String>(), ".?.!".repeat(3));
}

/// A question that is not waited for any more is taken back: nobody can answer it.
// proves: H1, H2, E3
#[test]
fn a_dropped_question_is_withdrawn() {
    let gives_up = tool("gives_up", |cx| async move {
        let mut asked = Box::pin(cx.ask(question("?")));
        assert!(poll_once(&mut asked).await.is_none());
        cx.progress("asked").await;
        cx.progress("taken over").await;
        drop(asked);
        heard(cx.ask(question("another")).await);
        Ok(ToolOutput::text("went on"))
    });
    let session = session(host(calling(["gives_up"])).tool(gives_up));
    let (run, mut driver) = begun(&session);
    let requests = run.requests();
    assert_eq!(requests.len(), 1, "the second one only");
    assert_eq!(count(run.handle(), "host_input.cancelled"), 1);
    let first = runloom::RequestId::new("1.0/1").unwrap();
    assert_eq!(
        run.respond(&first, HostAnswer::value("\"x\"")),
        Err(RespondError::RequesterGone(first.clone()))
    );
    run.respond(&requests[0].id, HostAnswer::value("\"x\"")).unwrap();
    assert!(driver.run());
    assert_eq!(results(&session), [(ToolStatus::Success, "went on".to_owned())]);
    assert_ended(run.handle());
}

/// A question that is dropped in the poll that asked it was never asked.
// proves: H1
#[test]
fn a_question_that_is_dropped_at_once_is_never_asked() {
    let shy = tool("shy", |cx| async move {
        for _ in 0..1_000 {
            let mut asked = Box::pin(cx.ask(question("?")));
            assert!(poll_once(&mut asked).await.is_none());
        }
        drop(cx.ask(question("not even polled")));
        Ok(ToolOutput::text(""))
    });
    let session = session(host(calling(["shy"])).tool(shy));
    let (run, driver) = begun(&session);
    assert!(driver.output().is_some());
    assert_eq!(count(run.handle(), "host_input.requested"), 0);
    assert_ended(run.handle());
}

/// After the call's end nothing is asked, and nobody waits in vain.
// proves: H2
#[test]
fn after_the_call_questions_are_gone() {
    let kept = Kept::new();
    let keeps = kept.clone();
    let leaves = tool("leaves", move |cx| {
        let kept = keeps.clone();
        async move {
            let mut open = Box::pin(cx.ask(question("left open")));
            assert!(poll_once(&mut open).await.is_none());
            cx.progress("taken").await;
            cx.progress("over").await;
            kept.put((open, Box::pin(cx.ask(question("not polled"))), cx));
            Ok(ToolOutput::text(""))
        }
    });
    let session = session(host(calling(["leaves"])).tool(leaves));
    let (run, _driver) = begun(&session);
    let (open, unasked, cx) = kept.take().unwrap();
    for asked in [open, unasked, Box::pin(cx.ask(question("late")))] {
        let mut asked = Task::new(asked);
        assert!(asked.run());
        assert_eq!(asked.output(), Some(&Err(AskError::Gone)));
    }
    assert_eq!(count(run.handle(), "host_input.requested"), 1);
    assert_eq!(count(run.handle(), "host_input.cancelled"), 1);
    assert_ended(run.handle());
}

/// The future may be polled by whatever waker: a task of the tool's own, then another one.
// proves: H1, H2
#[test]
fn a_question_may_be_polled_by_other_tasks() {
    let kept = Kept::new();
    let keeps = kept.clone();
    let delegates = tool("delegates", move |cx| {
        let kept = keeps.clone();
        async move {
            kept.put(cx.ask(question("?")));
            std::future::pending::<()>().await;
            Ok(ToolOutput::text(""))
        }
    });
    let session = session(host(calling(["delegates"])).tool(delegates));
    let (run, mut driver) = begun(&session);
    let mut asked = Box::pin(kept.take().unwrap());
    let mut first = Task::new(std::future::poll_fn(|cx| asked.as_mut().poll(cx)));
    first.run();
    assert!(driver.is_woken(), "asking wakes the driver");
    driver.run();
    drop(first);
    let mut second = Task::new(asked);
    second.run();
    run.respond(&run.requests()[0].id, HostAnswer::value("\"here\"")).unwrap();
    assert!(!second.is_woken(), "the answer goes through the driver");
    driver.run();
    assert!(second.is_woken() && second.run());
    assert_eq!(second.output(), Some(&Ok(HostAnswer::value("\"here\""))));
    drop((run, driver));
}

/// An answer that has come is there for whoever polls later.
// proves: H2
#[test]
fn an_answer_waits_for_its_asker() {
    let kept = Kept::new();
    let keeps = kept.clone();
    let slow = tool("slow", move |cx| {
        let kept = keeps.clone();
        async move {
            let mut asked = Box::pin(cx.ask(question("?")));
            assert!(poll_once(&mut asked).await.is_none());
            kept.put(asked);
            std::future::pending::<()>().await;
            Ok(ToolOutput::text(""))
        }
    });
    let session = session(host(calling(["slow"])).tool(slow));
    let (run, mut driver) = begun(&session);
    run.respond(&run.requests()[0].id, HostAnswer::value("\"early\"")).unwrap();
    driver.run();
    let mut asked = Task::new(kept.take().unwrap());
    assert!(asked.run());
    assert_eq!(asked.output(), Some(&Ok(HostAnswer::value("\"early\""))));
}

/// Each tool hears its own answer.
// proves: H1, H2, E10
#[test]
fn tools_that_ask_side_by_side_hear_their_own_answers() {
    let names = ["a", "b", "c"];
    let hosts = names.into_iter().fold(host(calling(names)), |host, name| host.tool(asking(name)));
    let session = session(hosts);
    let (run, mut driver) = begun(&session);
    let requests = run.requests();
    for (request, at) in [(&requests[2], 2), (&requests[0], 0), (&requests[1], 1)] {
        run.respond(&request.id, HostAnswer::value(format!("\"{at}\""))).unwrap();
    }
    assert!(driver.run());
    let heard: Vec<_> = results(&session).into_iter().map(|(_, text)| text).collect();
    assert_eq!(heard, ["\"0\"", "\"1\"", "\"2\""]);
    assert_ended(run.handle());
}
