//! Joining late: the conversation as it stands, and from there on everything (S2).

use super::*;
use futures_lite::future::{block_on, poll_once};
use runloom::{Access, Event, History, Part, Problem, ProblemKind, Role, Seq};
use runloom_tests::runs::{events, seconds};
use std::pin::pin;

/// The text of the model that the events bring and nothing made void.
fn shown(events: &[Envelope]) -> String {
    let mut whole = String::new();
    let mut attempt = String::new();
    for envelope in events {
        match &envelope.event {
            Event::TextDelta(text) => attempt.push_str(text),
            Event::ModelStarted(_) => attempt.clear(),
            Event::ModelCompleted(_) => whole.push_str(&std::mem::take(&mut attempt)),
            _ => {}
        }
    }
    whole
}

fn said(history: &History) -> String {
    let messages = history.iter().filter(|message| message.role() == Role::Assistant);
    let parts = messages.flat_map(|message| message.parts().to_vec());
    parts.filter_map(|part| if let Part::Text(text) = part { Some(text.to_string()) } else { None }).collect()
}

/// Wherever somebody joins: history and tail together are the whole, nothing is missing and nothing comes twice.
// proves: S2, L2
#[test]
fn history_and_tail_are_the_whole_wherever_one_joins() {
    let tool = |name: &str| ScriptedTool::new(name).declared(|spec| spec.access(Access::Shared)).output("1");
    let (mut joined, mut depth) = (0, 0);
    for at in 0..400 {
        let attempts = [
            Attempt::new().texts("a", 5).fail(Problem::new(ProblemKind::Server, "")),
            Attempt::new().texts("b", 9).call("t", "{}").call("u", "{}"),
            Attempt::new().texts("c", 9).call("t", "{}"),
            Attempt::new().texts("d", 9),
        ];
        let (session, timer) =
            session(config(|limits| limits.event_capacity = 1), attempts, [tool("t"), tool("u")]);
        let (mut run, driver) = session.start("go").unwrap();
        let mut driver = pin!(driver);
        // With room for one event, each read lets the run go on by as little as it can.
        for _ in 0..at {
            if block_on(poll_once(&mut driver)).is_some() {
                break;
            }
            let read = block_on(poll_once(run.events().next()));
            if read.is_none() && timer.advance_to_alarm().is_none() {
                timer.advance(seconds(1));
            }
        }
        if run.handle().try_outcome().is_some() {
            depth = at;
            break;
        }
        let before = run.handle().try_outcome();
        assert!(before.is_none());
        let reader = session.reader().expect("a run is going on");
        let (live, tail) = reader.join().unwrap();
        assert!(live.complete && live.cursor == tail.cursor());
        let shown_already = said(&live.history);
        let drives = async { while timer_runs(&timer, &mut driver).await {} };
        let (_, (after, error)) = block_on(futures_lite::future::zip(
            futures_lite::future::zip(drives, run.outcome()),
            collect(tail),
        ));
        assert_eq!(error, None);
        assert_eq!(after, events(run.handle())[usize::try_from(live.cursor.seq.0).unwrap()..]);
        let outcome = run.handle().try_outcome().unwrap();
        assert_eq!(shown_already + &shown(&after), said(&outcome.history), "joined after {at} reads");
        joined += 1;
    }
    assert!(depth > 40 && joined > 40, "{joined} of {depth}");
}

/// Lets the driver go on, and the clock when nothing else does; whether there is more to do.
async fn timer_runs(timer: &ManualTimer, driver: &mut (impl Future + Unpin)) -> bool {
    if poll_once(driver).await.is_some() {
        return false;
    }
    timer.advance_to_alarm();
    futures_lite::future::yield_now().await;
    true
}

/// What was evicted cannot follow: it is said, and what is left follows.
// proves: S2, L1
#[test]
fn a_response_that_is_longer_than_the_log_is_joined_where_the_log_begins() {
    let (run, driver) = unattended(tiny(4_000), [pieces(4_000)]);
    let mut driver = pin!(driver);
    while run.reader().live_history().complete {
        assert!(block_on(poll_once(&mut driver)).is_none());
    }
    let (live, mut tail) = run.reader().join().unwrap();
    assert!(!live.complete && live.cursor.seq > Seq(0) && live.history.len() == 1);
    let first = tail.try_next().unwrap().expect("an event");
    assert_eq!(first.seq.0, live.cursor.seq.0 + 1);
    assert!(matches!(first.event, Event::TextDelta(_)), "the beginning of the response is gone");
}

/// Between runs there is nothing to read, and after a run its reader shows what it left.
// proves: S2
#[test]
fn a_run_that_has_ended_shows_what_it_left() {
    let (session, _) = session(Config::default(), [Attempt::answer("done")], []);
    assert!(session.reader().is_none());
    let (run, driver) = session.start_with("go", RunOptions::new().unattended()).unwrap();
    let reader = session.reader().unwrap();
    assert_eq!(reader.id(), run.id());
    let outcome = block_on(driver);
    assert!(session.reader().is_none());
    let live = reader.live_history();
    assert_eq!((live.history.len(), live.cursor.seq, live.complete), (2, outcome.last_seq, true));
}
