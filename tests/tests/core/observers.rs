//! Required observers (L5): what is asked of whom, what waits for it, and how a run ends for them.

use crate::hand::*;
use runloom_core::Input;
use runloom_core::config::{Config, ConfigError, Deadlines};
use runloom_core::error::{Misuse, RunError};
use runloom_core::event::EventKind;
use runloom_core::id::{OpId, Seq};
use runloom_core::input::AbortCause;
use runloom_core::model::{Finish, ModelItem, ProblemKind};
use runloom_core::observe::{DurabilityReason, MAX_OBSERVERS, ObserverFault};
use runloom_core::outcome::{CancelCause, RunResult};
use runloom_core::output::{CancelReply, Next, Output, WakeReason, Work};
use runloom_core::time::Time;
use runloom_core::tool::ToolSpec;
use std::time::Duration;

fn observed(count: u32, config: Config, tools: impl IntoIterator<Item = ToolSpec>) -> Hand {
    let mut hand = Hand::new(config, tools);
    hand.start = hand.start.clone().observers(count);
    hand.begin();
    hand
}

impl Hand {
    /// The request that is under way: its operation, observer, first and last event.
    fn observing(&self) -> Option<(OpId, u32, u64, u64)> {
        let open: Vec<OpId> = self.checked.open_ops().collect();
        self.outputs.iter().rev().find_map(|output| match output {
            Output::Begin { op, work: Work::Observe(request) } if open.contains(op) => {
                Some((*op, request.observer, request.after().0 + 1, request.through().0))
            }
            _ => None,
        })
    }

    /// All requests so far: observer, first and last event.
    fn observations(&self) -> Vec<(u32, u64, u64)> {
        let request = |output: &Output| match output {
            Output::Begin { work: Work::Observe(request), .. } => {
                Some((request.observer, request.after().0 + 1, request.through().0))
            }
            _ => None,
        };
        self.outputs.iter().filter_map(request).collect()
    }

    #[track_caller]
    fn accepts(&mut self) -> Next {
        let (op, ..) = self.observing().expect("an observer is asked");
        self.give(Input::Observed { op, result: Ok(()) })
    }

    /// Every observer accepts until nobody is asked.
    #[track_caller]
    fn all_accept(&mut self) -> Next {
        while self.observing().is_some() {
            self.accepts();
        }
        self.checked.next().expect("a step")
    }

    #[track_caller]
    fn refuses(&mut self, seq: u64, message: &str) -> Next {
        let (op, ..) = self.observing().expect("an observer is asked");
        self.give(Input::Observed { op, result: Err(Box::new(ObserverFault::new(Seq(seq - 1), message))) })
    }

    /// The model's operation that was begun last.
    fn asks_model(&self) -> Option<OpId> {
        self.outputs.iter().rev().find_map(|output| match output {
            Output::Begin { op, work: Work::Model(_) } => Some(*op),
            _ => None,
        })
    }

    #[track_caller]
    fn model_says(&mut self, item: ModelItem) -> Next {
        let op = self.asks_model().expect("the model is asked");
        self.give(Input::Model { op, item })
    }
}

// proves: L5, W5
#[test]
fn o01_a_batch_is_asked_of_one_after_the_other_and_work_begins_after_the_last() {
    let mut hand = observed(3, Config::default(), []);
    assert_eq!(hand.observing().map(|(op, ..)| op), Some(OpId::observing(1)));
    for observer in 0..3 {
        assert_eq!(hand.observations().len(), observer as usize + 1);
        assert_eq!(hand.asks_model(), None);
        assert_eq!(hand.checked.run().acknowledged(), Seq(0));
        hand.accepts();
    }
    assert_eq!(hand.observations(), [(0, 1, 3), (1, 1, 3), (2, 1, 3)]);
    assert_eq!(hand.asks_model(), Some(OpId(1)));
    assert_eq!(hand.checked.run().acknowledged(), Seq(3));
    // What is recorded while observers are asked is the next batch: all of it at once.
    hand.model_says(ModelItem::Text("a".into()));
    hand.model_says(ModelItem::Text("b".into()));
    hand.model_says(ModelItem::Text("c".into()));
    hand.all_accept();
    assert_eq!(hand.observations()[3..], [(0, 4, 4), (1, 4, 4), (2, 4, 4), (0, 5, 6), (1, 5, 6), (2, 5, 6)]);
    hand.model_says(done(Some(Finish::Stop)));
    hand.all_accept();
    assert_eq!(hand.answer(), "abc");
    assert_eq!(hand.outcome().durability, None);
    hand.replays();
}

// proves: L5, E1
#[test]
fn o02_what_an_observer_refuses_later_ones_never_see_and_the_close_is_asked_of_all() {
    let mut hand = observed(2, Config::default(), []);
    hand.refuses(2, "disk full");
    assert_eq!(hand.kinds_from(3), ["model.cancelled", "step.failed", "run.failed"]);
    assert_eq!(hand.checked.run().refused(), [Seq(2)]);
    hand.all_accept();
    assert_eq!(hand.observations(), [(0, 1, 3), (1, 1, 1), (0, 3, 6), (1, 3, 6)]);
    let RunError::Observer { observer, seq, message } = hand.error() else { panic!("{:?}", hand.error()) };
    assert_eq!((*observer, *seq, message.as_str()), (0, Seq(2), "disk full"));
    assert_eq!(hand.error().code(), "observer_failed");
    assert_eq!(hand.outcome().durability, None, "the close was accepted");
    assert_eq!(hand.checked.run().acknowledged(), Seq(6));
    hand.replays();
}

// proves: L5
#[test]
fn o03_what_earlier_observers_have_accepted_is_not_shown_to_them_again() {
    let mut hand = observed(3, Config::default(), []);
    hand.accepts();
    hand.refuses(2, "half of it is written");
    hand.all_accept();
    assert_eq!(hand.observations(), [(0, 1, 3), (1, 1, 3), (2, 1, 1), (0, 4, 6), (1, 3, 6), (2, 3, 6)]);
    hand.replays();
}

// proves: L5, C3, C7
#[test]
fn o05_a_cancel_while_an_acknowledgement_is_outstanding_closes_at_once_and_waits_for_it_within_the_budget() {
    let mut hand = observed(1, Config::default(), []);
    assert_eq!(hand.cancel(), CancelReply::Cancelled);
    assert_eq!(hand.kinds_from(3), ["model.cancelled", "step.cancelled", "run.cancelled"]);
    assert_eq!((hand.asks_model(), hand.abandoned()), (None, vec![]), "what nobody began nobody gives up");
    assert!(hand.is_live());
    assert_eq!(hand.cancel(), CancelReply::Cancelled);
    hand.at(1_999).all_accept();
    assert_eq!(hand.observations(), [(0, 1, 3), (0, 4, 6)]);
    assert_eq!(hand.outcome().result, RunResult::Cancelled(CancelCause::Requested));
    assert_eq!(hand.outcome().durability, None);
    assert_eq!(hand.abandoned(), []);
    hand.replays();
}

fn completed(count: u32) -> Hand {
    ended(count, Config::default())
}

fn ended(count: u32, config: Config) -> Hand {
    let mut hand = observed(count, config, []);
    hand.all_accept();
    hand.model_says(ModelItem::Text("hi".into()));
    hand.all_accept();
    hand.model_says(done(Some(Finish::Stop)));
    assert!(hand.is_live() && hand.checked.run().log().is_closed());
    hand
}

// proves: L5, W7
#[test]
fn o08_an_observer_that_refuses_the_terminal_event_changes_nothing_but_the_durability() {
    let mut hand = completed(2);
    hand.refuses(7, "no space; key sk-abcdefghijklmnopqrstuvwxyz0123456789");
    hand.all_accept();
    assert_eq!(hand.answer(), "hi");
    let lost = hand.outcome().durability.clone().expect("it was refused");
    assert_eq!((lost.observer, lost.seq, lost.kind), (0, Seq(7), EventKind::RunCompleted));
    let DurabilityReason::Refused(message) = &lost.reason else { panic!("{lost:?}") };
    assert_eq!(message.as_str(), "no space; key [redacted]");
    assert_eq!(hand.kinds().iter().filter(|kind| kind.starts_with("run.")).count(), 2);
    assert_eq!(hand.observations().last(), Some(&(1, 5, 6)));
    hand.replays();
}

// proves: L5
#[test]
fn of_several_refusals_after_the_end_the_first_is_told_and_each_event_is_offered_once() {
    let mut hand = completed(2);
    hand.refuses(5, "one");
    hand.refuses(6, "two");
    hand.refuses(7, "three");
    // The second observer has nothing left that it might be asked about.
    assert_eq!(hand.observations()[4..], [(0, 5, 7), (0, 6, 7), (0, 7, 7)]);
    let lost = hand.outcome().durability.clone().expect("it was refused");
    assert_eq!((lost.seq, lost.reason), (Seq(5), DurabilityReason::Refused("one".into())));
    assert_eq!(hand.checked.run().refused(), [Seq(5), Seq(6), Seq(7)]);
    hand.replays();
}

// proves: L5, C4
// bounds: deadline: finalization
#[test]
fn the_budget_ends_at_its_time_and_not_before() {
    for (millis, ends) in [(1_999, false), (2_000, true), (2_001, true)] {
        let mut hand = completed(1);
        let wake = hand.checked.next().unwrap().wake.expect("a deadline");
        assert_eq!((wake.at, wake.why), (Time::from_millis(2_000), WakeReason::Finalization));
        hand.at(millis).wake(false);
        assert_eq!(hand.is_live(), !ends, "{millis}");
        if ends {
            let lost = hand.outcome().durability.clone().expect("nobody has answered");
            assert_eq!((lost.observer, lost.seq), (0, Seq(5)));
            assert_eq!(lost.reason, DurabilityReason::TimedOut);
            assert_eq!(hand.abandoned(), [OpId::observing(3)]);
            // It comes too late, and is ignored.
            hand.give(Input::Observed { op: OpId::observing(3), result: Ok(()) });
            assert_eq!(hand.checked.run().ignored(), 1);
        }
        hand.replays();
    }
    // An answer that comes at the very time counts.
    let mut hand = completed(1);
    hand.at(2_000).accepts();
    assert_eq!(hand.outcome().durability, None);
}

// proves: L5
#[test]
fn without_a_budget_the_run_waits_as_long_as_it_takes() {
    let mut deadlines = Deadlines::default();
    deadlines.finalization = None;
    let mut hand = ended(1, Config::default().deadlines(deadlines).unwrap());
    assert_eq!(hand.checked.next().unwrap().wake, None);
    hand.now = Time::MAX;
    hand.wake(true);
    assert!(hand.is_live());
    hand.accepts();
    assert_eq!(hand.outcome().durability, None);
    deadlines.finalization = Some(Duration::ZERO);
    let refused = Config::default().deadlines(deadlines);
    assert_eq!(refused, Err(ConfigError::Zero("deadline of the finalization")));
}

// proves: L5, C8, C10
#[test]
fn whoever_drops_the_run_does_not_wait() {
    let causes = [
        AbortCause::HandleDropped,
        AbortCause::DriverDropped,
        AbortCause::Shutdown,
        AbortCause::DriverPanicked,
    ];
    for cause in causes {
        let mut hand = observed(2, Config::default(), []);
        hand.accepts();
        hand.abort(cause);
        let lost = hand.outcome().durability.clone().expect("nobody was waited for");
        assert_eq!((lost.observer, lost.seq), (1, Seq(1)), "{cause:?}");
        assert_eq!(lost.reason, DurabilityReason::Abandoned);
        assert_eq!(hand.checked.open_ops().count(), 0);
        hand.replays();
        let mut hand = completed(1);
        hand.abort(cause);
        assert_eq!(hand.answer(), "hi", "the result was fixed before");
        assert_eq!(hand.outcome().durability.clone().map(|lost| lost.seq), Some(Seq(5)));
        hand.replays();
    }
}

// proves: L5, W8
#[test]
fn observers_that_accept_at_once_leave_no_trace_in_the_record() {
    let play = |count: u32| {
        let mut hand = observed(count, Config::default(), [shared("t")]);
        hand.all_accept();
        hand.model_says(ModelItem::Text("a".into()));
        hand.all_accept();
        hand.call_and_run();
        hand.model_says(done(Some(Finish::Stop)));
        hand.all_accept();
        let id = hand.checked.run().log().run_id().clone();
        hand.events.iter().map(|envelope| envelope.to_json(&id)).collect::<Vec<_>>()
    };
    assert_eq!(play(0), play(1));
    assert_eq!(play(0), play(5));
}

impl Hand {
    /// The model asks for `t`, which runs; the next step's model says something.
    fn call_and_run(&mut self) {
        self.model_says(delta(Some(0), "c", "t", "{}"));
        self.all_accept();
        self.model_says(done(Some(Finish::ToolCalls)));
        self.all_accept();
        let op = self.tools()[0].1;
        self.enter(op);
        self.all_accept();
        self.finish(op, "x");
        self.all_accept();
        self.model_says(ModelItem::Text("b".into()));
        self.all_accept();
    }
}

// proves: L5, W1, W5
#[test]
fn what_nobody_was_asked_to_begin_nobody_can_report_about() {
    let mut hand = observed(1, Config::default(), []);
    let item = || ModelItem::Text("x".into());
    let unknown = hand.misuse(Input::Model { op: OpId(1), item: item() });
    assert_eq!(unknown, Misuse::UnknownOp { input: "model", op: OpId(1) });
    let never = OpId::observing(2);
    let unknown = hand.misuse(Input::Observed { op: never, result: Ok(()) });
    assert_eq!(unknown, Misuse::UnknownOp { input: "observed", op: never });
    let asked = OpId::observing(1);
    let wrong = hand.misuse(Input::Model { op: asked, item: item() });
    assert_eq!(wrong, Misuse::WrongKind { input: "model", op: asked });
    hand.accepts();
    let wrong = hand.misuse(Input::Observed { op: OpId(1), result: Ok(()) });
    assert_eq!(wrong, Misuse::WrongKind { input: "observed", op: OpId(1) });
    // What has ended is ignored and counted.
    hand.give(Input::Observed { op: asked, result: Ok(()) });
    hand.give(Input::Model { op: asked, item: item() });
    assert_eq!(hand.checked.run().ignored(), 2);
    hand.replays();
}

// proves: L5
// bounds: required observers
#[test]
fn a_run_has_a_bounded_number_of_observers() {
    let start = |count: u32| {
        let mut hand = Hand::new(Config::default(), []).quick();
        let start = hand.start.clone().observers(count);
        hand.checked.step(hand.now, Input::Start(Box::new(start))).unwrap().answer
    };
    assert!(start(MAX_OBSERVERS).is_ok());
    assert!(matches!(start(MAX_OBSERVERS + 1), Err(Misuse::InvalidStart(_))));
}

// proves: L5, L1
#[test]
fn what_is_not_accepted_is_bounded_as_what_is_unread() {
    let begun = |config: Config| {
        let mut hand = Hand::new(config, []).unattended();
        hand.start = hand.start.clone().observers(1);
        hand.begin();
        hand.all_accept();
        hand
    };
    let room = |hand: &Hand| hand.checked.run().has_room();
    let mut hand = begun(limits(|limits| limits.event_capacity = 3));
    for (unaccepted, open) in [(1, true), (2, true), (3, false)] {
        hand.model_says(ModelItem::Text("x".into()));
        assert_eq!(room(&hand), open, "{unaccepted}");
        assert!(hand.is_full(), "nothing is taken in");
    }
    hand.accepts();
    assert!(room(&hand), "two are left");
    // The same in bytes: the second delta reaches the bound exactly, or lacks one byte.
    let mut probe = begun(Config::default());
    let before = probe.checked.run().log().end();
    probe.model_says(ModelItem::Text("x".into()));
    probe.model_says(ModelItem::Text("x".into()));
    let two = probe.checked.run().log().end() - before;
    for (bytes, open) in [(two + 1, true), (two, false)] {
        let mut hand = begun(limits(|limits| limits.event_capacity_bytes = bytes));
        hand.model_says(ModelItem::Text("x".into()));
        assert!(room(&hand));
        hand.model_says(ModelItem::Text("x".into()));
        assert_eq!(room(&hand), open, "{bytes}");
    }
}

// proves: L5
#[test]
fn whatever_an_observer_claims_to_have_accepted_stays_within_what_it_was_shown() {
    for (accepted, refused) in [(0, 1), (1, 2), (2, 3), (3, 3), (4, 3), (u64::MAX, 3)] {
        let mut hand = observed(1, Config::default(), []);
        let (op, _, first, through) = hand.observing().unwrap();
        assert_eq!((first, through), (1, 3));
        hand.give(Input::Observed { op, result: Err(Box::new(ObserverFault::new(Seq(accepted), "no"))) });
        assert_eq!(hand.checked.run().refused(), [Seq(refused)], "{accepted}");
        hand.all_accept();
        hand.replays();
    }
    // What lies before the request stands for none of its events.
    let mut hand = observed(1, Config::default(), []);
    hand.all_accept();
    hand.model_says(ModelItem::Text("a".into()));
    hand.refuses(2, "no");
    assert_eq!(hand.checked.run().refused(), [Seq(4)]);
}

// proves: L5, C9
#[test]
fn a_reader_that_goes_interrupts_the_run_whatever_observers_do() {
    let mut hand = observed(1, Config::default(), []);
    hand.reads = false;
    hand.give(Input::ConsumerGone { awaited: false });
    assert!(hand.is_live());
    hand.accepts();
    hand.model_says(ModelItem::Text("x".into()));
    assert!(hand.is_live(), "the end is asked of the observer");
    hand.all_accept();
    assert_eq!(*hand.error(), RunError::Interrupted);
    assert_eq!(hand.outcome().revision.0, 7);
    hand.replays();
}

// proves: L5, R3
#[test]
fn a_wait_passes_while_observers_are_asked_and_the_next_attempt_begins_behind_them() {
    let mut hand = observed(1, Config::default(), []);
    hand.all_accept();
    hand.model_says(ModelItem::Failed(Box::new(runloom_core::model::Problem::new(
        ProblemKind::Server,
        "no",
    ))));
    hand.at(1_000).wake(false);
    assert_eq!(hand.kinds().last(), Some(&"model.started"));
    assert_eq!(hand.asks_model(), Some(OpId(1)));
    hand.all_accept();
    assert_eq!(hand.asks_model(), Some(OpId(2)));
    hand.replays();
}
