//! Every interleaving of small cases about people: questions, approvals, client calls, suspension; and suspension after
//! each step of a run, which must change nothing but two events.
#![allow(clippy::unwrap_used)]

use runloom::testing::{Attempt, Explore, Explored, Report, ScriptedTool, World};
use runloom::{
    Access, ApprovalPolicy, Config, Deadlines, Event, HostAnswer, Preparation, Question, Resource, Shape,
    ToolOutput, ToolSpec,
};
use runloom_core::event::Envelope;
use runloom_core::laws::{Checked, Depth};
use runloom_core::outcome::RunResult;
use std::collections::BTreeSet;
use std::time::Duration;

const AT_ONCE: Duration = Duration::ZERO;

/// A world without deadlines, so that time passes only where a case is about it.
fn world(depth: Depth) -> World {
    let mut deadlines = Deadlines::default();
    (deadlines.first_item, deadlines.idle) = (None, None);
    World::new().config(Config::default().deadlines(deadlines).unwrap()).depth(depth)
}

fn calls<const N: usize>(names: [&str; N]) -> Attempt {
    names.into_iter().fold(Attempt::new(), |attempt, name| attempt.call(name, "{}"))
}

fn question() -> Question {
    Question::value("?", Shape::Text)
}

fn value(text: &str) -> HostAnswer {
    HostAnswer::value(format!("{text:?}"))
}

/// A tool that overlaps with others.
fn tool(name: &str) -> ScriptedTool {
    ScriptedTool::new(name).declared(|spec| spec.access(Access::Shared))
}

fn gated(name: &str) -> ScriptedTool {
    tool(name).declared(|spec| spec.approval(ApprovalPolicy::Ask))
}

/// Each call of the history has one result, and of each request of the log what it says: asked once, ended once.
fn settled(run: &Checked) -> Result<(), String> {
    let outcome = run.run().outcome().ok_or("the run stalled")?;
    let calls: usize = outcome.history.iter().map(|message| message.calls().count()).sum();
    let results: usize = outcome.history.iter().map(|message| message.results().count()).sum();
    if calls != results {
        return Err(format!("{calls} calls have {results} results"));
    }
    let (mut asked, mut ended) = (BTreeSet::new(), BTreeSet::new());
    for envelope in run.run().log().iter() {
        let fresh = match &envelope.event {
            Event::HostInputRequested(request) => asked.insert(request.id.clone()),
            Event::HostInputAnswered(answered) => ended.insert(answered.request.id.clone()),
            Event::HostInputFailed(failed) => ended.insert(failed.request.id.clone()),
            Event::HostInputCancelled(request) => ended.insert(request.id.clone()),
            _ => true,
        };
        if !fresh {
            return Err(format!("twice: {envelope:?}"));
        }
    }
    if asked.is_subset(&ended) { Ok(()) } else { Err(format!("{asked:?} were asked, {ended:?} ended")) }
}

#[track_caller]
fn explored(
    name: &str,
    explore: Explore<'_>,
    mut check: impl FnMut(&Checked) -> Result<(), String>,
) -> Explored {
    let seen = explore.run(|run| settled(run).and_then(|()| check(run)));
    let seen = seen.unwrap_or_else(|error| panic!("{name}: {error}"));
    println!(
        "{name}: {} sequences, {} steps, longest {}: {:?}",
        seen.sequences, seen.steps, seen.longest, seen.endings
    );
    seen
}

#[track_caller]
fn ends_as(seen: &Explored, endings: &[&str]) {
    assert_eq!(seen.endings.keys().map(String::as_str).collect::<Vec<_>>(), endings);
}

/// Two tools ask at once; both are answered in any order, with a cancel anywhere.
// proves: H1, H2, W5, W7, C5
#[test]
fn two_questions_and_a_cancel() {
    let case = world(Depth::Probed)
        .model(calls(["a", "b"]))
        .model("done")
        .tool(&tool("a").ask(question()))
        .tool(&tool("b").ask(question()))
        .answers("a", AT_ONCE, value("one"))
        .answers("b", AT_ONCE, value("two"))
        .cancel_at(AT_ONCE);
    let seen = explored("two questions", Explore::new(&case), |_| Ok(()));
    ends_as(&seen, &["cancelled requested", "completed end_turn"]);
}

/// An approval that expires, people who answer, a tool with a deadline, and a cancel.
// proves: T2, H2, R10, C3
#[test]
fn an_approval_a_deadline_and_a_cancel() {
    let limit = Duration::from_secs(5);
    let case = world(Depth::Probed)
        .model(calls(["act"]))
        .model("done")
        .tool(&tool("act").declared(|spec| spec.needs_approval().deadline(limit)).progress("half"))
        .refers("act", AT_ONCE, Some(limit))
        .answers("act", AT_ONCE, HostAnswer::allow())
        .cancel_at(AT_ONCE);
    let mut fates = BTreeSet::new();
    let seen = explored("approval", Explore::new(&case), |run| {
        let finished = run.run().log().iter().find_map(|envelope| match &envelope.event {
            Event::ToolFinished(result) => Some(result.status.as_str()),
            _ => None,
        });
        fates.insert(finished.unwrap_or("none"));
        Ok(())
    });
    ends_as(&seen, &["cancelled requested", "completed end_turn"]);
    let expected = [
        "denied",
        "interrupted(not_started)",
        "interrupted(outcome_unknown)",
        "none",
        "success",
        "timed_out",
    ];
    assert_eq!(fates.into_iter().collect::<Vec<_>>(), expected);
}

/// The responder and people answer the same request, in any order.
// proves: H2, W5
#[test]
fn a_responder_and_people_race() {
    let case = world(Depth::Probed)
        .model(calls(["a", "gated"]))
        .model("done")
        .tool(&tool("a").ask(question()))
        .tool(&gated("gated"))
        .responds("a", AT_ONCE, Some(value("program")))
        .answers("a", AT_ONCE, value("person"))
        .responds("gated", AT_ONCE, None)
        .answers("gated", AT_ONCE, HostAnswer::deny("no"));
    let seen = explored("responder", Explore::new(&case), |_| Ok(()));
    ends_as(&seen, &["completed end_turn"]);
}

/// Preparations of two calls that touch the same, and a cancel.
// proves: T1, W5
#[test]
fn preparations_and_a_cancel() {
    let touches = || Preparation::new().access(Access::to([Resource::write("a")]));
    let case = world(Depth::Probed)
        .model(calls(["x", "y"]))
        .model("done")
        .tool(&tool("x").prepares(AT_ONCE, Ok(touches())))
        .tool(&tool("y").prepares(AT_ONCE, Ok(touches())))
        .cancel_at(AT_ONCE);
    let seen = explored("preparations", Explore::new(&case), |run| {
        let mut running = 0;
        for envelope in run.run().log().iter() {
            match &envelope.event {
                Event::ToolStarted(_) => running += 1,
                Event::ToolFinished(_) => running = 0,
                _ => {}
            }
            if running > 1 {
                return Err("they overlap".into());
            }
        }
        Ok(())
    });
    ends_as(&seen, &["cancelled requested", "completed end_turn"]);
}

/// A batch of three tools, each of which lets the run be put aside: consent, the client, a question it returns with.
fn three_tools(depth: Depth, waits: [u64; 3]) -> World {
    let wait = |at: usize| Duration::from_secs(waits[at]);
    let client = ScriptedTool::new("page").declared(|spec: ToolSpec| spec.access(Access::Shared).client());
    world(depth)
        .model(calls(["gated", "page", "asks"]))
        .model("done")
        .tool(&gated("gated").progress("on the way").output("acted"))
        .tool(&client)
        .tool(&tool("asks").progress("hm").returns_asking(question()).progress("ah").output("asked"))
        .answers("gated", wait(0), HostAnswer::allow())
        .answers("page", wait(1), HostAnswer::Result(ToolOutput::text("shown")))
        .answers("asks", wait(2), value("yes"))
}

fn history(run: &Checked) -> Option<String> {
    let outcome = run.run().outcome()?;
    Some(outcome.history.iter().map(|message| format!("{message:?}\n")).collect())
}

/// Suspended at any point of any order, and once more: the history is that of the run that was never put aside.
// proves: H6, C5, E10, W7
#[test]
fn suspension_at_any_point_of_any_order() {
    let plain = three_tools(Depth::Seen, [0; 3]).run();
    let expected = history(plain.checked()).unwrap();
    let case = three_tools(Depth::Seen, [0; 3]);
    let mut suspended = 0;
    let seen = explored("suspension", Explore::new(&case).suspensions(1).wakes(false), |run| {
        suspended += u64::from(run.run().log().first_seq().0 > 1);
        match history(run) {
            Some(found) if found == expected => Ok(()),
            found => Err(format!("{found:?}\nis not\n{expected}")),
        }
    });
    ends_as(&seen, &["completed end_turn"]);
    assert!(suspended > 1_000, "{suspended} of {} were put aside", seen.sequences);
}

/// A cancel too, before or after: no result is lost and none is there twice.
// proves: H6, C5, W7
#[test]
fn suspension_and_a_cancel() {
    let case = world(Depth::Seen)
        .model(calls(["gated", "asks"]))
        .model("done")
        .tool(&gated("gated").output("acted"))
        .tool(&tool("asks").returns_asking(question()).output("asked"))
        .answers("gated", AT_ONCE, HostAnswer::allow())
        .answers("asks", AT_ONCE, value("yes"))
        .cancel_at(AT_ONCE);
    let seen = explored("suspension, cancel", Explore::new(&case).suspensions(2).wakes(false), |_| Ok(()));
    ends_as(&seen, &["cancelled requested", "completed end_turn"]);
}

/// All events with their times and without the two of a suspension; where they stand is shifted by these.
fn facts(events: &[Envelope]) -> Vec<String> {
    let two =
        |envelope: &&Envelope| !matches!(envelope.event, Event::RunSuspended { .. } | Event::RunResumed(_));
    events.iter().filter(two).map(|envelope| format!("{} {:?}", envelope.at, envelope.event)).collect()
}

#[track_caller]
fn assert_equal(plain: &Report, suspended: &Report, name: &str) {
    assert_eq!(facts(&suspended.events), facts(&plain.events), "{name}");
    assert_eq!(history(suspended.checked()), history(plain.checked()), "{name}");
    let seqs: Vec<_> = suspended.events.iter().map(|envelope| envelope.seq.0).collect();
    assert!(seqs.iter().copied().eq(1..=seqs.len() as u64), "{name}: {seqs:?}");
    let added = suspended.events.len() - plain.events.len();
    assert_eq!(added, 2 * suspended.suspensions, "{name}");
    let (plain, suspended) = (plain.outcome().unwrap(), suspended.outcome().unwrap());
    assert!(matches!(suspended.result, RunResult::Completed(_)), "{name}: {:?}", suspended.result);
    assert_eq!((plain.usage, plain.revision), (suspended.usage, suspended.revision), "{name}");
}

/// After each step of a run, and after each two steps: equal to the run that was not put aside, but for the two events
/// of each suspension.
// proves: H6, E1, E2, E3, E10, C5
#[test]
fn suspension_after_each_step_changes_two_events_only() {
    let mut suspensions = 0;
    for waits in [[1, 2, 3], [3, 2, 1], [2, 3, 1], [1, 1, 1], [0, 0, 9]] {
        let plain = three_tools(Depth::Probed, waits).run();
        assert!(plain.answer().is_some() && plain.suspensions == 0);
        for first in 1..=plain.steps {
            let once = three_tools(Depth::Probed, waits).suspend_after(first).run();
            assert_equal(&plain, &once, &format!("{waits:?} after {first}"));
            suspensions += once.suspensions;
            // Two suspensions in the first of these cases only: they are many.
            for second in (first + 1..=plain.steps).filter(|_| waits == [1, 2, 3]) {
                let twice = three_tools(Depth::Seen, waits).suspend_after(first).suspend_after(second).run();
                assert_equal(&plain, &twice, &format!("{waits:?} after {first} and {second}"));
                suspensions += twice.suspensions;
            }
        }
    }
    assert!(suspensions > 100, "{suspensions}");
}
