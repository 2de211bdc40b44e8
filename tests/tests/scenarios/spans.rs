//! The telemetry of every scenario: the same live and from the log, and every span closed exactly once.

use crate::setup::Setup;
use runloom_core::event::{Envelope, Event};
use runloom_core::id::Seq;
use runloom_core::record::{RecordBounds, RecordedLog};
use runloom_core::telemetry::{SpanKind, Spans, Telemetry};
use runloom_core::time::Time;
use runloom_tests::records::to_jsonl;
use std::collections::BTreeMap;

/// What telemetry learned of a run while it went on.
pub(crate) struct Spanned {
    spans: Spans,
    live: Vec<Telemetry>,
    events: Vec<Envelope>,
}

fn spans() -> Spans {
    Spans::new(Setup::run_id()).provider("scripted")
}

impl Spanned {
    pub(crate) fn new() -> Self {
        Self { spans: spans(), live: Vec::new(), events: Vec::new() }
    }

    pub(crate) fn follow<'a>(&mut self, events: impl Iterator<Item = &'a Envelope>) {
        for envelope in events {
            self.spans.take(envelope, &mut |telemetry| self.live.push(telemetry));
            self.events.push(envelope.clone());
        }
    }

    pub(crate) fn check(mut self) {
        let (mut replayed, mut again) = (Vec::new(), spans());
        self.events
            .iter()
            .for_each(|envelope| again.take(envelope, &mut |telemetry| replayed.push(telemetry)));
        assert_eq!(replayed, self.live, "live and replayed");

        let over = self.events.last().is_some_and(|envelope| {
            envelope.event.is_terminal() || matches!(envelope.event, Event::RunSuspended { .. })
        });
        assert!(!over || self.spans.open() == 0, "the end of a run leaves no span open");
        self.spans.stop(Time::MAX, &mut |telemetry| self.live.push(telemetry));
        assert_eq!(self.spans.open(), 0);
        well_formed(&self.live, over && self.events.first().is_some_and(|first| first.seq == Seq(1)));
        if self.events.len() <= MOST {
            self.gaps();
            self.tails();
        }
    }

    /// A reader that was too slow goes on after a gap: what began before it ends once all the same.
    fn gaps(&self) {
        for from in 1..self.events.len() {
            for to in from + 1..self.events.len() {
                let (mut telemetry, mut spans, mut open) = (Vec::new(), spans(), Vec::new());
                let there = self.events[..from].iter().chain(&self.events[to..]);
                there.for_each(|envelope| spans.take(envelope, &mut |item| telemetry.push(item)));
                spans.stop(Time::MAX, &mut |item| telemetry.push(item));
                for item in telemetry {
                    match item {
                        Telemetry::Start(start) => {
                            let same = open.iter().filter(|(_, kind)| *kind == start.kind).count();
                            let one = !matches!(start.kind, SpanKind::Tool | SpanKind::HostInput);
                            assert!(!one || same == 0, "without {from}..{to}: {start:?} beside another");
                            open.push((start.id, start.kind));
                        }
                        Telemetry::End(end) => {
                            let at = open.iter().position(|(id, _)| *id == end.id);
                            open.remove(at.unwrap_or_else(|| panic!("without {from}..{to}: {end:?}")));
                        }
                        _ => {}
                    }
                }
                assert!(open.is_empty(), "without {from}..{to} there stay {open:?}");
            }
        }
    }

    /// Whatever was evicted, the rest is a recorded log (L6).
    fn tails(&self) {
        for first in 0..self.events.len() {
            let text = to_jsonl(&Setup::run_id(), &self.events[first..]);
            if let Err(error) = RecordedLog::read(text.as_bytes(), &RecordBounds::default()) {
                panic!("from {} on: {error}\n{text}", first + 1);
            }
        }
    }
}

/// Longest log of which all gaps and tails are tried.
const MOST: usize = 40;

/// Every span starts once, within one that is open, and ends once; nothing happens in one that is not open.
fn well_formed(telemetry: &[Telemetry], whole: bool) {
    let mut open: BTreeMap<_, SpanKind> = BTreeMap::new();
    let mut started = std::collections::BTreeSet::new();
    for item in telemetry {
        match item {
            Telemetry::Start(start) => {
                assert!(started.insert(start.id), "{start:?} starts once");
                assert!(start.parent.is_none_or(|parent| open.contains_key(&parent)), "{start:?}");
                assert_eq!(start.parent.is_none(), start.kind == SpanKind::Run, "{start:?}");
                open.insert(start.id, start.kind);
            }
            Telemetry::End(end) => {
                assert_eq!(open.remove(&end.id), Some(end.kind), "{end:?}");
                let incomplete = format!("{:?}", end.attributes).contains("incomplete");
                assert!(!(whole && incomplete), "the log closes what it opened: {end:?}");
                let code = end.attributes.iter().any(|fact| fact.key == "error.type");
                assert!(!code || end.failed, "{end:?}");
            }
            Telemetry::Event(event) => {
                assert!(event.span.is_some_and(|span| open.contains_key(&span)), "{event:?}");
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(open.is_empty(), "{open:?}");
}
