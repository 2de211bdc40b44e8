//! Every order of small acts, and many long ones: readers beside eviction, cancel, drops and the end.

use super::*;
use futures_lite::future::{block_on, poll_once};
use runloom::testing::Random;
use runloom::{ReadBounds, ReadFault, RunReader, Seq};
use std::collections::BTreeMap;

const WIDE: ReadBounds = ReadBounds::new(100_000, 1 << 30);

/// A subscription and what it must have been given.
struct Watched {
    live: Subscription,
    at: u64,
    error: Option<ReadError>,
}

/// A run, everyone who reads it, and all of its events as a reader saw them that never lags.
struct Stage {
    run: Option<Run>,
    driver: Option<std::pin::Pin<Box<TestDriver>>>,
    reader: RunReader,
    all: Vec<Envelope>,
    watched: Vec<Watched>,
    /// Never read; it has the driver record little at a time.
    _pace: Subscription,
    seen: BTreeMap<&'static str, u64>,
}

impl Stage {
    fn new(config: Config, pieces: usize) -> Self {
        let (run, driver) = unattended(config, [super::pieces(pieces)]);
        let reader = run.reader();
        let _pace = reader.subscribe_with(Seq(0), ReadBounds::new(16, WIDE.bytes)).unwrap();
        Self {
            _pace,
            run: Some(run),
            driver: Some(Box::pin(driver)),
            reader,
            all: Vec::new(),
            watched: Vec::new(),
            seen: BTreeMap::new(),
        }
    }

    fn count(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    /// Takes over what was recorded.
    fn keep_up(&mut self) {
        let page = self.reader.page(Seq(self.all.len() as u64), WIDE).unwrap();
        self.all.extend(page.events);
    }

    fn drive(&mut self, polls: usize) {
        for _ in 0..polls {
            let Some(driver) = &mut self.driver else { return };
            if block_on(poll_once(driver)).is_some() {
                self.driver = None;
            }
            self.keep_up();
        }
    }

    fn subscribe(&mut self, after: u64, events: u64) {
        let bounds = ReadBounds::new(events, 1 << 20);
        let page = self.reader.page(Seq(0), WIDE);
        let earliest = page.map_or_else(|error| error.earliest, |page| page.earliest);
        match self.reader.subscribe_with(Seq(after), bounds) {
            Ok(live) => self.watched.push(Watched { live, at: after, error: None }),
            Err(error) => {
                let last = self.all.len() as u64;
                let expected = match error.reason {
                    ReadFault::CursorAhead => after > last,
                    ReadFault::CursorBehind => after + 1 < earliest.0,
                    ReadFault::ReplayTooLarge { .. } => last - after > events,
                    _ => false,
                };
                assert!(expected, "{error}");
                self.count(error.reason.as_str());
            }
        }
    }

    fn read(&mut self, which: usize) {
        let Some(watched) = self.watched.get_mut(which) else { return };
        let what = match (watched.live.try_next(), &watched.error) {
            (Ok(Some(envelope)), None) => {
                assert_eq!(
                    envelope,
                    self.all[usize::try_from(watched.at).unwrap()],
                    "no gap and no duplicate"
                );
                watched.at += 1;
                "event"
            }
            (Ok(None), None) => {
                assert_eq!(watched.at, self.all.len() as u64, "nothing is missing");
                "nothing"
            }
            (Err(error), Some(before)) => {
                assert_eq!(error, *before, "sticky");
                "again"
            }
            (Err(error), None) => {
                assert_eq!(
                    (error.last_delivered.0, error.recovery >= error.last_delivered),
                    (watched.at, true)
                );
                if error.reason == ReadFault::Slow {
                    let exceeded = error.exceeded.unwrap();
                    assert_eq!(exceeded.observed, error.latest.0 - watched.at, "as it was at the overflow");
                    assert!(exceeded.observed > exceeded.limit && error.latest.0 <= self.all.len() as u64);
                }
                let reason = error.reason.as_str();
                watched.error = Some(error);
                reason
            }
            (Ok(got), Some(before)) => panic!("{got:?} after {before}"),
        };
        self.count(what);
    }

    /// Ends the run, if nothing has yet, and reads everybody to the end.
    fn finish(mut self) -> BTreeMap<&'static str, u64> {
        self.drive(1_000_000);
        self.keep_up();
        assert!(self.all.last().unwrap().event.is_terminal() && self.reader.outcome().is_some());
        for which in 0..self.watched.len() {
            for _ in 0..=self.all.len() {
                self.read(which);
            }
            let watched = &self.watched[which];
            assert!(watched.error.is_some() || watched.at == self.all.len() as u64);
        }
        self.seen
    }

    fn act(&mut self, act: usize) {
        match act {
            0 => self.drive(1),
            1 => self.subscribe(self.all.len() as u64 / 2, 6),
            2 => self.read(0),
            3 => drop((!self.watched.is_empty()).then(|| self.watched.remove(0))),
            4 => drop(self.run.as_ref().map(Run::cancel)),
            5 => drop(self.run.take()),
            _ => drop(self.driver.take()),
        }
        self.keep_up();
    }
}

fn add(into: &mut BTreeMap<&'static str, u64>, seen: BTreeMap<&'static str, u64>) {
    seen.into_iter().for_each(|(what, n)| *into.entry(what).or_default() += n);
}

// proves: L2, L3, L4
#[test]
fn every_order_of_five_acts() {
    const ACTS: usize = 7;
    let mut seen = BTreeMap::new();
    let orders = ACTS.pow(5);
    for order in 0..orders {
        let mut stage = Stage::new(Config::default(), 12);
        stage.keep_up();
        let mut rest = order;
        for _ in 0..5 {
            stage.act(rest % ACTS);
            rest /= ACTS;
        }
        add(&mut seen, stage.finish());
    }
    println!("{orders} orders: {seen:?}");
    for what in ["event", "nothing", "again", "slow_consumer"] {
        assert!(seen.get(what).is_some_and(|n| *n > 500), "{what}: {seen:?}");
    }
}

// proves: L1, L2, L3, L4
#[test]
fn long_runs_whose_logs_evict() {
    let mut seen = BTreeMap::new();
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let mut below = |n: usize| usize::try_from(random.below(n as u64)).unwrap();
        let mut stage = Stage::new(tiny(16), 1_500);
        stage.keep_up();
        for _ in 0..400 {
            match below(12) {
                0..4 => stage.drive(1 + below(3)),
                4 => {
                    let back = [below(400), below(20)][below(2)] as u64;
                    let after = (stage.all.len() as u64 + 2).saturating_sub(back);
                    stage.subscribe(after, [1, 3, 20, 1_000][below(4)]);
                }
                5 if stage.watched.len() > 8 => {
                    let which = below(stage.watched.len());
                    stage.watched.remove(which);
                }
                6 if below(300) == 0 => stage.act(4 + below(3)),
                _ => {
                    let which = below(stage.watched.len().max(1));
                    (0..below(40)).for_each(|_| stage.read(which));
                }
            }
        }
        add(&mut seen, stage.finish());
    }
    println!("{seen:?}");
    for what in ["event", "again", "slow_consumer", "cursor_behind", "cursor_ahead", "replay_too_large"] {
        assert!(seen.get(what).is_some_and(|n| *n > 15), "{what}: {seen:?}");
    }
}
