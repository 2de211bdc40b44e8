//! Best-effort observers: bounds, counts, filters, ends.

use crate::stage::*;
use futures_lite::future::block_on;
use runloom::testing::{Attempt, ScriptedModel};
use runloom::{BestEffort, BestEffortError, BestEffortOptions, EventKind, MAX_BEST_EFFORT};

fn numbers(observer: &mut BestEffort) -> Vec<u64> {
    std::iter::from_fn(|| observer.try_next()).map(|event| event.envelope.seq.0).collect()
}

fn models(count: usize) -> ScriptedModel {
    ScriptedModel::new((0..count).map(|_| Attempt::new().text("one")))
}

// proves: L5
#[test]
fn o06_a_queue_that_is_full_drops_and_counts_and_holds_nobody_up() {
    let engine = engine(host(models(2)));
    let mut x = engine.best_effort(BestEffortOptions::new(1)).unwrap();
    let session = engine.session().unwrap();
    let (outcome, _) = played(&session);
    assert_eq!(outcome.last_seq.0, 7);
    assert_eq!((x.counts().dropped, x.counts().waiting, x.counts().filtered), (6, 1, 0));
    assert_eq!(numbers(&mut x), [1]);
    // The next one says how many are missing before it.
    let (run, driver) = session.start("more").unwrap();
    let second = run.id().clone();
    let first = x.try_next().expect("it has place");
    assert_eq!((first.run, first.envelope.seq.0, first.dropped), (second, 1, 6));
    drop((run, driver));
}

// proves: L5
#[test]
fn slow_02_a_best_effort_observer_tells_the_next_event_what_was_dropped() {
    let text = (0..20).fold(Attempt::new(), |attempt, _| attempt.text("x"));
    let engine = engine(host(ScriptedModel::new([text, "two".into()])));
    let mut x = engine.best_effort(BestEffortOptions::new(16)).unwrap();
    let session = engine.session().unwrap();
    let (outcome, _) = played(&session);
    assert_eq!(numbers(&mut x), (1..=16).collect::<Vec<_>>());
    let missing = outcome.last_seq.0 - 16;
    assert_eq!(x.counts().dropped, missing);
    played(&session);
    let told: Vec<u64> = std::iter::from_fn(|| x.try_next()).map(|event| event.dropped).collect();
    assert_eq!((told[0], told[1..].iter().sum::<u64>()), (missing, 0));
}

// proves: L5
#[test]
fn o10_what_was_refused_is_a_gap_and_no_drop() {
    let seen = Seen::default();
    let engine = engine(host(models(1)).observer(noting("a", &seen, Some(2))));
    let mut x = engine.best_effort(BestEffortOptions::new(64)).unwrap();
    played(&engine.session().unwrap());
    assert_eq!(numbers(&mut x), [1, 3, 4, 5, 6]);
    assert_eq!(x.counts().dropped, 0);
}

// proves: L5
#[test]
fn unwanted_kinds_are_counted_and_take_no_place() {
    let engine = engine(host(models(1)));
    let wanted = [EventKind::ModelStarted, EventKind::RunCompleted];
    let mut x = engine.best_effort(BestEffortOptions::new(2).only(wanted)).unwrap();
    played(&engine.session().unwrap());
    assert_eq!(numbers(&mut x), [3, 7]);
    assert_eq!((x.counts().filtered, x.counts().dropped), (5, 0));
}

// proves: L5
// bounds: best-effort observer
#[test]
fn the_capacity_has_bounds() {
    let engine = engine(host(models(1)));
    for (capacity, valid) in [(0, false), (1, true), (MAX_BEST_EFFORT, true), (MAX_BEST_EFFORT + 1, false)] {
        let made = engine.best_effort(BestEffortOptions::new(capacity)).map(|_| ());
        assert_eq!(made, if valid { Ok(()) } else { Err(BestEffortError::Capacity(capacity)) });
    }
    for (capacity, dropped) in [(6, 1), (7, 0), (8, 0)] {
        let engine = crate::stage::engine(host(models(1)));
        let x = engine.best_effort(BestEffortOptions::new(capacity)).unwrap();
        played(&engine.session().unwrap());
        assert_eq!(x.counts().dropped, dropped, "{capacity}");
    }
}

// proves: L5
#[test]
fn what_comes_after_a_close_is_counted_and_what_waits_can_be_taken() {
    let engine = engine(host(models(2)));
    let mut x = engine.best_effort(BestEffortOptions::new(64)).unwrap();
    let session = engine.session().unwrap();
    played(&session);
    x.close();
    played(&session);
    assert_eq!((x.counts().dropped, x.counts().waiting), (7, 7));
    for seq in 1..=7 {
        assert_eq!(block_on(x.next()).map(|event| event.envelope.seq.0), Some(seq));
    }
    assert!(block_on(x.next()).is_none());
}

// proves: L5, C10
#[test]
fn it_sees_all_runs_of_the_engine_from_now_on_and_ends_with_it() {
    let engine = engine(host(models(4)));
    let [one, other] = [(); 2].map(|()| engine.session().unwrap());
    played(&one);
    let mut x = engine.best_effort(BestEffortOptions::new(64)).unwrap();
    let gone = engine.best_effort(BestEffortOptions::new(64)).unwrap();
    drop(gone);
    played(&one);
    played(&other);
    let runs: Vec<String> =
        std::iter::from_fn(|| x.try_next()).map(|event| event.run.as_str().to_owned()).collect();
    assert_eq!(runs.len(), 14);
    assert!(
        runs[..7].iter().all(|run| run == "run-2") && runs[7..].iter().all(|run| run == "run-3"),
        "{runs:?}"
    );
    // A run that is shut down is offered to its end.
    let (run, driver) = other.start("more").unwrap();
    assert_eq!(engine.shutdown(), 1);
    let last = std::iter::from_fn(|| x.try_next()).last().expect("the end");
    assert_eq!(last.envelope.event.kind(), EventKind::RunCancelled);
    assert!(block_on(x.next()).is_none());
    let refused = engine.best_effort(BestEffortOptions::new(1)).map(|_| ());
    assert!(matches!(refused, Err(BestEffortError::EngineShutdown(_))));
    drop((run, driver));
    // An engine that goes without a shutdown ends it too.
    let engine = crate::stage::engine(host(models(1)));
    let mut x = engine.best_effort(BestEffortOptions::new(1)).unwrap();
    drop(engine);
    assert!(block_on(x.next()).is_none());
}

// proves: L5, X5
#[test]
fn it_wakes_who_waits_for_an_event() {
    let engine = engine(host(models(1)));
    let mut x = engine.best_effort(BestEffortOptions::new(64)).unwrap();
    let session = engine.session().unwrap();
    let reading = std::thread::spawn(move || {
        let mut seen = Vec::new();
        while let Some(event) = block_on(x.next()) {
            seen.push(event.envelope.seq.0);
        }
        seen
    });
    played(&session);
    engine.shutdown();
    assert_eq!(reading.join().unwrap(), (1..=7).collect::<Vec<_>>());
}
