//! The log of a run beside a model that keeps every event and walks: append, evict, read.
//!
//! A script has one thing to do on a line: `text BYTES`, `call BYTES` (a call, and a result of so many bytes), `page AFTER
//! EVENTS BYTES`, `end`. What cannot be read as one of these is left out.

use crate::hand::*;
use crate::{assert_reached, play};
use runloom_core::config::{Config, Limits};
use runloom_core::id::Seq;
use runloom_core::model::Finish;
use runloom_core::reader::{ReadBounds, ReadFault};
use std::cell::Cell;

/// Small limits with the least log that they allow.
fn config() -> Config {
    let mut limits = Limits::default();
    (limits.calls, limits.parts, limits.response_bytes) = (1, 3, 1_000);
    (limits.argument_bytes, limits.delta_bytes) = (100, 300);
    (limits.tool_output_bytes, limits.progress_bytes, limits.error_bytes) = (256, 256, 256);
    (limits.open_questions, limits.question_bytes, limits.answer_bytes) = (1, 256, 256);
    (limits.fact_bytes, limits.payload_bytes) = (64, 6 << 10);
    (limits.steers, limits.event_capacity, limits.event_capacity_bytes) = (1, 1, 1);
    (limits.log_events, limits.log_bytes) = (usize::MAX, u64::MAX);
    limits.steps = 1_000;
    let free = Config::new(limits.clone()).unwrap();
    (limits.log_events, limits.log_bytes) = (free.min_log_events(), free.min_log_bytes());
    Config::new(limits).unwrap()
}

struct Play {
    hand: Hand,
    /// Bytes of the response so far.
    said: usize,
    /// The oldest event that the model keeps, as a place among all events.
    first: usize,
    /// How many events the model has seen.
    seen: usize,
}

impl Play {
    fn size(&self, at: usize) -> u64 {
        let before = at.checked_sub(1).map_or(0, |before| self.hand.events[before].end);
        let size = self.hand.events[at].end - before;
        assert_eq!(size, self.hand.json(at).len() as u64);
        size
    }

    fn text(&mut self, len: usize) {
        if self.said + len > 900 {
            self.call(0);
        }
        self.said += len;
        self.hand.text(&"x".repeat(len));
    }

    fn call(&mut self, len: usize) {
        self.said = 0;
        self.hand.calls(["t"]);
        let (_, op) = *self.hand.tools().last().unwrap();
        self.hand.runs(op, &"y".repeat(len));
    }

    /// Evicts one by one, and compares.
    fn compare(&mut self) {
        let (limits, log) = (config().limits().clone(), self.hand.checked.run().log().clone());
        for last in self.seen..self.hand.events.len() {
            let held = |first: usize| (first..=last).map(|at| self.size(at)).sum::<u64>();
            let mut first = self.first;
            while last - first + 1 > limits.log_events || held(first) > limits.log_bytes {
                first += 1;
            }
            self.first = first;
        }
        self.seen = self.hand.events.len();
        assert_eq!(log.first_seq(), Seq(self.first as u64 + 1));
        assert_eq!(log.len(), self.seen - self.first);
        assert_eq!(log.bytes(), (self.first..self.seen).map(|at| self.size(at)).sum::<u64>());
        assert!(log.iter().eq(&self.hand.events[self.first..]), "evicted and kept are all there was");
    }

    fn page(&self, after: u64, bounds: ReadBounds) {
        let (log, latest) = (self.hand.checked.run().log(), self.seen as u64);
        let found = log.page(Seq(after), bounds);
        if after > latest || after < self.first as u64 {
            let (reason, recovery) = match after > latest {
                true => (ReadFault::CursorAhead, latest),
                false => (ReadFault::CursorBehind, self.first as u64),
            };
            let error = found.unwrap_err();
            assert_eq!((error.reason, error.recovery.0, error.requested.0), (reason, recovery, after));
            assert_eq!((error.earliest.0, error.latest.0), (self.first as u64 + 1, latest));
            return;
        }
        let start = usize::try_from(after).unwrap();
        let (mut end, mut bytes) = (start, 0);
        while end < self.seen
            && ((end - start) as u64) < bounds.events
            && bytes + self.size(end) <= bounds.bytes
        {
            bytes += self.size(end);
            end += 1;
        }
        match found {
            Ok(page) => {
                assert_eq!(page.events[..], self.hand.events[start..end]);
                assert_eq!((page.last.0, page.has_more), (end as u64, end < self.seen));
            }
            Err(error) => {
                assert!(matches!(error.reason, ReadFault::ReplayTooLarge { .. }), "{error}");
                assert!(end == start && start < self.seen);
            }
        }
    }
}

fn one(script: &[u8], most: &Cell<usize>) -> &'static str {
    let mut play = Play { hand: Hand::begun(config(), [shared("t")]).quick(), said: 0, first: 0, seen: 0 };
    let script = String::from_utf8_lossy(script);
    for line in script.lines().take(200) {
        let mut words = line.split_whitespace();
        let what = words.next().unwrap_or_default();
        let mut number = || words.next().and_then(|word| word.parse::<u64>().ok()).unwrap_or(1);
        let live = play.hand.is_live();
        match what {
            "text" if live => play.text(usize::try_from(number() % 301).unwrap()),
            "call" if live => play.call(usize::try_from(number() % 257).unwrap()),
            "end" if live => {
                play.text(1);
                play.hand.done(Finish::Stop);
            }
            "page" => {
                play.compare();
                play.page(number(), ReadBounds::new(number(), number()));
            }
            _ => {}
        }
    }
    play.compare();
    most.set(most.get().max(play.seen));
    match (play.first > 0, play.hand.is_live()) {
        (true, true) => "evicted, open",
        (true, false) => "evicted, closed",
        (false, true) => "whole, open",
        (false, false) => "whole, closed",
    }
}

// proves: L1, L2, L4
#[test]
fn damaged_scripts() {
    let most = Cell::new(0);
    let words = ["text 300\n", "call 256\n", "page 0 9 900\n", "page 70 3 300\n", "end\n", "9", "0"];
    let reached = play("log", &words, 8, |script| one(script, &most));
    println!("the longest log had {} events", most.get());
    assert_reached(&reached, &["evicted, open", "whole, closed"]);
}
