//! The full stream, and a log at its least bounds that nobody reads (E13, L1, W6).

use crate::hand::*;
use runloom_core::Input;
use runloom_core::config::{Config, Deadlines, Limits};
use runloom_core::input::AbortCause;
use runloom_core::model::{Activity, Finish, ModelItem, Problem, ProblemKind};
use runloom_core::output::{Output, Work};
use runloom_core::time::Time;
use runloom_core::tool::{ToolEnd, ToolFault, ToolItem, ToolOutput, Verdict};
use runloom_core::usage::Usage;

// proves: E13
// bounds: event capacity, count
#[test]
fn the_stream_is_full_at_its_capacity_and_open_below() {
    for (capacity, full) in [(3, true), (4, false), (2, true), (1, true)] {
        let hand = Hand::begun_unread(limits(|limits| limits.event_capacity = capacity), []);
        assert_eq!(hand.is_full(), full, "{capacity}: three events are unread");
    }
    let mut hand = Hand::begun_unread(limits(|limits| limits.event_capacity = 64), []);
    for unread in 4..=64 {
        hand.text("x");
        assert_eq!(hand.checked.next().unwrap().credit.items, 64 - unread);
    }
    assert!(hand.is_full());
    hand.give(Input::Taken { through: runloom_core::id::Seq(1) });
    assert!(!hand.is_full());
}

// proves: E13
// bounds: event capacity, bytes
#[test]
fn the_stream_is_full_at_its_capacity_in_bytes() {
    let opened = {
        let hand = Hand::begun_unread(Config::default(), []);
        hand.checked.run().log().end()
    };
    for (more, full) in [(1, false), (0, true)] {
        let config = limits(|limits| limits.event_capacity_bytes = opened + more);
        let mut hand = Hand::begun_unread(config, []);
        assert_eq!(hand.is_full(), full);
        hand.take();
        assert_eq!(hand.checked.next().unwrap().credit.bytes, opened + more);
    }
}

// proves: E13, C3
#[test]
fn commands_time_and_closing_pass_a_full_stream() {
    let mut hand =
        Hand::begun_unread(limits(|limits| limits.event_capacity = 1), [shared("asks").needs_approval()]);
    assert!(hand.is_full());
    let mut failing = hand.clone();
    hand.call("c", "asks", "{}");
    hand.done(Finish::ToolCalls);
    let (op, request) = hand.questions().remove(0);
    hand.verdict(op, Verdict::Allow(request.binding));
    assert_eq!(hand.tools().len(), 1);
    hand.cancel();
    assert_eq!(hand.events.len() as u64, hand.checked.run().log().len() as u64, "nothing is dropped");
    failing.fail(ProblemKind::Server);
    failing.at(1_000).wake(false);
    assert_eq!(failing.kinds().last(), Some(&"model.started"));
}

/// A small generator of equal sequences.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// The least log for limits that are small and of uneven sizes.
fn tightest(draw: &mut Draw) -> Config {
    let mut limits = Limits::default();
    limits.event_capacity = [1, 2, 64][draw.below(3) as usize];
    limits.event_capacity_bytes = [1, 700, 20_000][draw.below(3) as usize];
    limits.calls = [1, 2, 5][draw.below(3) as usize];
    limits.parts = limits.calls + 2;
    limits.delta_bytes = [16, 21, 300][draw.below(3) as usize];
    limits.response_bytes = [1, 300, 3_000][draw.below(3) as usize];
    limits.argument_bytes = [1, 200, 2_000][draw.below(3) as usize];
    (limits.tool_output_bytes, limits.progress_bytes) = (256, 256);
    (limits.error_bytes, limits.fact_bytes) = (256, 64);
    limits.payload_bytes = (4 << 10) + 1_024;
    (limits.open_questions, limits.question_bytes, limits.answer_bytes) = (1, 256, 256);
    limits.parallel_tools = 1 + draw.below(3) as usize;
    limits.steps = 4;
    (limits.log_events, limits.log_bytes) = (usize::MAX, u64::MAX);
    let policy = policy(|policy| policy.attempts = [1, 4, 12][draw.below(3) as usize]);
    let free = Config::new(limits.clone()).unwrap().retry(policy).unwrap();
    (limits.log_events, limits.log_bytes) =
        (free.min_log_events().max(200), free.min_log_bytes().max(200_000));
    // The default policy needs less room than some that are drawn, never more than is given here.
    if policy.attempts <= 4 {
        let default = Config::new({
            let mut free = limits.clone();
            (free.log_events, free.log_bytes) = (usize::MAX, u64::MAX);
            free
        })
        .unwrap();
        (limits.log_events, limits.log_bytes) = (default.min_log_events(), default.min_log_bytes());
    }
    let mut deadlines = Deadlines::default();
    deadlines.attempt = Some(seconds(10));
    Config::new(limits).unwrap().retry(policy).unwrap().deadlines(deadlines).unwrap()
}

/// Texts of the most encoded bytes for their length.
fn heavy(draw: &mut Draw) -> String {
    let piece = ["\u{1}", "\"", "é", "x"][draw.below(4) as usize];
    piece.repeat(draw.below(600) as usize)
}

fn model_item(draw: &mut Draw, calls: u64) -> ModelItem {
    let text = heavy(draw);
    match draw.below(11) {
        0 | 1 => ModelItem::Text(text.as_str().into()),
        2 => ModelItem::Reasoning(text.as_str().into()),
        3 | 4 => {
            // Ids as long as they may be, full of escapes.
            let id = format!("{}{}", "\"".repeat(127), draw.below(calls));
            delta(Some(draw.below(calls) as u32), &id, &"\\".repeat(128), "")
        }
        5 => delta(Some(draw.below(calls) as u32), "", "asks", "{}"),
        6 => ModelItem::Usage(Box::new(Usage::new(u64::MAX, u64::MAX))),
        7 => ModelItem::Activity(Box::new(Activity::HostedTool {
            name: text.as_str().into(),
            detail: "\"".repeat(5_000).as_str().into(),
        })),
        8 => ModelItem::Failed(Box::new(
            Problem::new(ProblemKind::Server, &text).status(u16::MAX).retry_after(Some(seconds(1))),
        )),
        9 => done(Some(Finish::ToolCalls)),
        _ => done(
            [None, Some(Finish::Stop), Some(Finish::Length), Some(Finish::Pause)][draw.below(4) as usize],
        ),
    }
}

fn tool_item(draw: &mut Draw) -> ToolItem {
    let text = heavy(draw);
    match draw.below(5) {
        0 | 1 => ToolItem::Started,
        2 => ToolItem::Progress(text.as_str().into()),
        3 => ToolItem::Done(ToolEnd::Output(ToolOutput::text(text.as_str()))),
        _ => ToolItem::Done(ToolEnd::Failed(Box::new(ToolFault::new(&text)))),
    }
}

/// One input of what a host and a driver that keeps to the credit may do.
fn drawn(draw: &mut Draw, hand: &mut Hand, open: &[(runloom_core::id::OpId, Work)]) -> Input {
    // What was taken in before an event may still be stepped while observers are asked about it.
    let full = !hand.checked.run().has_room();
    let calls = hand.checked.run().config().limits().calls as u64 + 1;
    let (op, work) = &open[draw.below(open.len().max(1) as u64) as usize % open.len().max(1)];
    match (draw.below(24), work) {
        (0, _) => {
            let wake = hand.checked.next().unwrap().wake.map_or(hand.now, |wake| wake.at);
            hand.now = hand.now.max(wake).max(hand.now.after(seconds(1)));
            Input::Wake { quiet: true }
        }
        (1, _) if draw.below(20) == 0 => Input::Abort(AbortCause::HandleDropped),
        (_, Work::Authorize(request)) if draw.below(3) > 0 => {
            let deny = Verdict::Deny { reason: heavy(draw).as_str().into() };
            let verdict = if draw.below(2) == 0 { deny } else { Verdict::Allow(request.binding) };
            Input::Authorized { op: *op, verdict }
        }
        (_, Work::Observe(request)) if draw.below(3) == 0 => {
            let refused = (draw.below(40) == 0).then(|| Box::new(request.refuse(heavy(draw))));
            Input::Observed { op: *op, result: refused.map_or(Ok(()), Err) }
        }
        (_, Work::Model(_)) if !full => Input::Model { op: *op, item: model_item(draw, calls) },
        (_, Work::Tool(_)) if !full => Input::Tool { op: *op, item: tool_item(draw) },
        _ => Input::Wake { quiet: false },
    }
}

/// Plays one run; how many events it recorded.
fn played(seed: u64, observers: u32) -> u64 {
    let mut draw = Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let config = tightest(&mut draw);
    let run = "\"".repeat(128);
    let slow = shared("asks").needs_approval();
    let mut hand = Hand::named(&run, config, [slow, shared(&"n".repeat(64))]).quick().unread();
    hand.start = hand.start.clone().observers(observers);
    if observers > 0 && seed.is_multiple_of(2) {
        hand = hand.unattended();
    }
    hand.begin();
    for _ in 0..300 {
        if !hand.is_live() {
            break;
        }
        let open: Vec<_> = hand
            .outputs
            .iter()
            .filter_map(|output| match output {
                Output::Begin { op, work } => Some((*op, work.clone())),
                _ => None,
            })
            .filter(|(op, _)| hand.checked.open_ops().any(|open| open == *op))
            .collect();
        let input = if open.is_empty() {
            hand.now = hand.checked.next().unwrap().wake.map_or(Time::MAX, |wake| wake.at);
            Input::Wake { quiet: true }
        } else {
            drawn(&mut draw, &mut hand, &open)
        };
        // The laws say whether an event was evicted unread or unaccepted, and whether a step recorded more than it may.
        let now = hand.now;
        let stepped = hand.checked.step(now, input).unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
        hand.checked.survives_panic().unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
        hand.outputs.extend(stepped.outputs);
        if draw.below(9) == 0 && hand.is_live() {
            hand.take();
        }
    }
    if hand.is_live() {
        hand.abort(AbortCause::Shutdown);
    }
    hand.checked.run().log().last_seq().0
}

// proves: L1, E13, W6
#[test]
fn at_the_least_log_no_unread_event_is_evicted_and_every_close_has_room() {
    let events: u64 = (1..=600).map(|seed| played(seed, 0)).sum();
    assert!(events > 600 * 10, "{events}");
}

// proves: L1, L5, W6
#[test]
fn at_the_least_log_no_event_is_evicted_that_an_observer_has_not_accepted() {
    let events: u64 = (1..=600).map(|seed| played(seed, 1 + (seed % 3) as u32)).sum();
    assert!(events > 600 * 10, "{events}");
}

// proves: L1, E13, R1
#[test]
fn attempts_that_fail_by_time_alone_evict_nothing_unread() {
    let mut deadlines = Deadlines::default();
    deadlines.attempt = Some(seconds(1));
    let attempts = 300;
    let policy = policy(|policy| {
        policy.attempts = attempts;
        policy.first_wait = std::time::Duration::from_millis(1);
    });
    let room = Config::default().retry(policy).unwrap().min_log_events();
    let config = limits(|limits| limits.log_events = room).retry(policy).unwrap();
    let mut hand = Hand::begun_unread(config.deadlines(deadlines).unwrap(), []).quick();
    while let Some(wake) = hand.checked.next().unwrap().wake {
        hand.now = wake.at;
        hand.wake(true);
    }
    assert_eq!(hand.kinds().iter().filter(|kind| **kind == "model.failed").count(), attempts as usize);
    assert_eq!(hand.checked.run().log().len(), hand.events.len());
}

// proves: L1
// bounds: log, count
#[test]
fn the_oldest_events_go_first_and_the_rest_stays_as_it_was() {
    let least = Config::default().min_log_events();
    let mut hand = Hand::begun(limits(|limits| limits.log_events = least), []).quick();
    let mut kept = Vec::new();
    for n in 1..=2 * least {
        hand.text("x");
        let log = hand.checked.run().log();
        assert_eq!(log.len(), (n + 3).min(least));
        kept = log.iter().map(|envelope| envelope.seq.0).collect();
    }
    let last = hand.checked.run().log().last_seq().0;
    assert!(kept.into_iter().eq(last - least as u64 + 1..=last));
    let log = hand.checked.run().log();
    assert!(log.get(runloom_core::id::Seq(1)).is_none());
    assert_eq!(log.after(runloom_core::id::Seq(u64::MAX)).len(), 0);
    assert!(log.iter().eq(&hand.events[hand.events.len() - least..]), "none is changed by eviction");
}
