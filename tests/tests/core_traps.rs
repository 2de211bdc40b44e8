//! Traps of machines like this one that concern the core alone: deadlines while paused, credit, room in the log.
#![allow(clippy::unwrap_used)]

use runloom_core::config::{Config, Deadlines};
use runloom_core::history::History;
use runloom_core::id::{OpId, Revision, RunId, Seq, SessionId};
use runloom_core::input::Start;
use runloom_core::message::Part;
use runloom_core::model::{CallDelta, Completion, Finish, ModelItem, ModelSpec, Problem, ProblemKind};
use runloom_core::output::{Credit, WakeReason, Work};
use runloom_core::time::Time;
use runloom_core::{Input, Next, Outbox, Output, Run};
use std::sync::Arc;

struct Bench {
    run: Run,
    out: Outbox,
}

impl Bench {
    fn new(config: Config) -> (Self, Next) {
        let run = Run::new(RunId::new("r").unwrap(), Arc::new(config));
        let mut bench = Self { run, out: Outbox::new() };
        let input = vec![Part::Text("go".into())];
        let start = Start::new(
            SessionId::new("s").unwrap(),
            Revision(0),
            History::default(),
            input,
            Arc::new(ModelSpec::new("m")),
        );
        let next = bench.step(0, Input::Start(Box::new(start)));
        (bench, next)
    }

    fn step(&mut self, secs: u64, input: Input) -> Next {
        self.run.step(Time::from_secs(secs), input, &mut self.out).unwrap()
    }

    fn model(&mut self, secs: u64, item: ModelItem) -> Next {
        let op = self.begun();
        self.step(secs, Input::Model { op, item })
    }

    /// The last model operation that was begun.
    fn begun(&self) -> OpId {
        let model = |output: &Output| match output {
            Output::Begin { op, work: Work::Model(_) } => Some(*op),
            _ => None,
        };
        self.out.iter().filter_map(model).last().unwrap()
    }

    fn take_all(&mut self, secs: u64) -> Next {
        let through = self.run.log().last_seq();
        self.step(secs, Input::Taken { through })
    }
}

fn limits(event_capacity: usize) -> Config {
    Config::with(|limits| limits.event_capacity = event_capacity).unwrap()
}

// proves: W2, W3, R10
#[test]
fn trap_08_an_attempt_begun_while_paused_keeps_no_armed_clock() {
    let (mut bench, next) = Bench::new(limits(1));
    assert_eq!(next.credit, Credit { items: 0, bytes: next.credit.bytes });
    assert_eq!(next.wake, None, "the clock of the first item is held");
    // An item from before the pause fails the attempt; the wait is no quiet clock and goes on.
    let next = bench.model(1, ModelItem::Failed(Box::new(Problem::new(ProblemKind::Server, "busy"))));
    let wake = next.wake.unwrap();
    assert_eq!((wake.at, wake.why), (Time::from_secs(2), WakeReason::Backoff));
    // The wake begins an attempt in the middle of the pause: its clock is held from the start,
    let begun = bench.step(2, Input::Wake { quiet: false });
    assert_eq!(begun.wake, None);
    // so that a spurious wake has nothing to take away, even hours later.
    let events = bench.run.log().last_seq();
    assert_eq!(bench.step(2, Input::Wake { quiet: false }), begun);
    assert_eq!(bench.step(9_000, Input::Wake { quiet: true }), begun);
    assert_eq!(bench.run.log().last_seq(), events);
    // Once the reader has caught up, the whole first-item deadline is left.
    let wake = bench.take_all(10_000).wake.unwrap();
    assert_eq!((wake.at, wake.why), (Time::from_secs(10_300), WakeReason::FirstItem));
}

// proves: R10
#[test]
fn trap_08_a_clock_keeps_what_was_left_of_it() {
    let deadlines = Deadlines::default();
    let (mut bench, _) = Bench::new(limits(4).deadlines(deadlines).unwrap());
    let _ = bench.take_all(0);
    let next = bench.model(100, ModelItem::Text("a".into()));
    assert_eq!(next.wake.unwrap().at, Time::from_secs(220));
    for _ in 0..3 {
        let _ = bench.model(150, ModelItem::Text("b".into()));
    }
    // Full since 150; 120 seconds were left then, and are left whenever the reader comes back.
    assert_eq!(bench.take_all(5_000).wake.unwrap().at, Time::from_secs(5_120));
}

// proves: E13
#[test]
fn trap_10_credit_counts_items_and_bytes() {
    let config = Config::with(|limits| (limits.event_capacity, limits.event_capacity_bytes) = (8, 2_000));
    let (mut bench, next) = Bench::new(config.unwrap());
    let spent = bench.run.log().end();
    assert_eq!(next.credit, Credit { items: 5, bytes: 2_000 - spent });
    let next = bench.model(1, ModelItem::Text("x".repeat(900).into()));
    assert_eq!(next.credit, Credit { items: 4, bytes: 2_000 - bench.run.log().end() });
    let next = bench.model(1, ModelItem::Text("x".repeat(900).into()));
    assert_eq!(next.credit, Credit { items: 3, bytes: 0 });
    assert!(next.credit.is_zero(), "full by bytes alone");
    let next = bench.take_all(2);
    assert_eq!(next.credit, Credit { items: 8, bytes: 2_000 });
}

// proves: L1, E13
// bounds: log, count
#[test]
fn trap_11_a_step_may_overshoot_the_capacity_but_never_the_log() {
    let with_log = |events| {
        Config::with(|limits| (limits.event_capacity, limits.calls, limits.log_events) = (1, 128, events))
    };
    // The least log that the builder takes.
    let least = with_log(8_192).unwrap().min_log_events();
    assert!(with_log(least - 1).is_err());
    let (mut bench, _) = Bench::new(with_log(least).unwrap());
    for index in 0..128 {
        let delta = CallDelta { index: Some(index), name: Some("none".into()), ..CallDelta::default() };
        let _ = bench.model(0, ModelItem::CallDelta(Box::new(delta)));
        let _ = bench.take_all(0);
    }
    let read = bench.run.log().last_seq();
    let done = ModelItem::Done(Box::new(Completion::new(Some(Finish::ToolCalls), "tool_calls")));
    let _ = bench.model(0, done);
    // 128 proposals and as many results in one step, at a capacity of one; then the close on top.
    let _ = bench.step(0, Input::Abort(runloom_core::input::AbortCause::HandleDropped));
    let log = bench.run.log();
    assert!(log.last_seq().0 - read.0 > 260);
    assert!(log.first_seq() <= Seq(read.0 + 1), "an unread event was evicted");
    assert!(log.is_closed());
    let spans: Vec<u64> = log.after(read).map(|envelope| envelope.seq.0).collect();
    assert_eq!(spans, (read.0 + 1..=log.last_seq().0).collect::<Vec<_>>());
}
