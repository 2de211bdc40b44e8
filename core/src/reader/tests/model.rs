//! Logs and readers beside a model that keeps everything and counts by walking.

use super::*;
use crate::reader::Page;

/// A generator of numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// The sizes of all events after `base`, and what a log of these bounds keeps of them.
struct Model {
    base: u64,
    sizes: Vec<u64>,
    events: usize,
    bytes: u64,
}

impl Model {
    fn latest(&self) -> u64 {
        self.base + self.sizes.len() as u64
    }

    fn evicted(&self) -> u64 {
        let too_many = |from: &usize| {
            let kept = &self.sizes[*from..];
            kept.len() > self.events || kept.iter().sum::<u64>() > self.bytes
        };
        (0..).take_while(too_many).count() as u64
    }

    fn earliest(&self) -> u64 {
        self.base + self.evicted() + 1
    }

    fn after(&self, seq: u64) -> &[u64] {
        &self.sizes[usize::try_from(seq - self.base).unwrap()..]
    }

    fn admits(&self, seq: u64) -> Option<ReadFault> {
        if seq > self.latest() {
            Some(ReadFault::CursorAhead)
        } else if seq + 1 < self.earliest() {
            Some(ReadFault::CursorBehind)
        } else {
            None
        }
    }

    /// How many of the events after `seq` fit.
    fn fitting(&self, seq: u64, bounds: ReadBounds) -> u64 {
        let mut bytes = 0;
        let fits = |(n, size): &(usize, &u64)| {
            bytes += **size;
            *n < usize::try_from(bounds.events).unwrap() && bytes <= bounds.bytes
        };
        self.after(seq).iter().enumerate().take_while(fits).count() as u64
    }
}

fn compare(log: &EventLog, model: &Model) {
    assert_eq!((log.first_seq().0, log.last_seq().0), (model.earliest(), model.latest()));
    assert_eq!(log.bytes(), model.after(model.earliest() - 1).iter().sum::<u64>());
    assert_eq!(model.evicted() + log.len() as u64 + model.base, log.last_seq().0);
    let seqs: Vec<u64> = log.iter().map(|envelope| envelope.seq.0).collect();
    assert_eq!(seqs, (model.earliest()..=model.latest()).collect::<Vec<_>>());
}

fn check_page(log: &EventLog, model: &Model, after: u64, bounds: ReadBounds) {
    let page = log.page(Seq(after), bounds);
    let expected = model.admits(after);
    let error = match page {
        Ok(Page { events, last, has_more, earliest, latest, .. }) => {
            assert_eq!(expected, None);
            let fitting = model.fitting(after, bounds);
            let seqs: Vec<u64> = events.iter().map(|envelope| envelope.seq.0).collect();
            assert_eq!(seqs, (after + 1..=after + fitting).collect::<Vec<_>>());
            assert_eq!((last.0, has_more), (after + fitting, last.0 < model.latest()));
            assert_eq!((earliest.0, latest.0), (model.earliest(), model.latest()));
            assert!(fitting > 0 || after == model.latest(), "an empty page means that nothing follows");
            return;
        }
        Err(error) => error,
    };
    assert_eq!(
        [error.requested.0, error.earliest.0, error.latest.0],
        [after, model.earliest(), model.latest()]
    );
    match expected {
        Some(reason) => assert_eq!(error.reason, reason),
        None => {
            assert_eq!(error.reason, ReadFault::ReplayTooLarge { last_fit: Seq(after) });
            assert_eq!(model.fitting(after, bounds), 0);
        }
    }
    assert!(log.page(error.recovery, WIDE).is_ok(), "the recovery is good for a cursor");
}

/// A reader, and the model's account of it.
struct Subscribed {
    reader: Reader,
    delivered: u64,
    verdict: Option<ReadError>,
}

impl Subscribed {
    fn new(log: &EventLog, model: &Model, after: u64, bounds: ReadBounds) -> Option<Self> {
        let reader = Reader::new(log, Seq(after), bounds);
        let fits = model.admits(after).is_none()
            && model.fitting(after, bounds) == model.latest().saturating_sub(after);
        assert_eq!(reader.is_ok(), fits, "{reader:?}");
        Some(Self { reader: reader.ok()?, delivered: after, verdict: None })
    }

    /// What the model says right after an event was appended.
    fn appended(&mut self, log: &EventLog, model: &Model) {
        let bounds = self.reader.bounds();
        let behind = model.latest() - self.delivered;
        let bytes = model.after(self.delivered).iter().sum::<u64>();
        let slow = behind > bounds.events || bytes > bounds.bytes;
        let lost = self.delivered + 1 < model.earliest();
        let ended = self.reader.judge(log);
        assert_eq!(ended, self.verdict.is_some() || slow || lost);
        if let (true, None) = (ended, &self.verdict) {
            let error = self.reader.error().cloned().unwrap();
            assert_eq!(error.reason, if slow { ReadFault::Slow } else { ReadFault::CursorBehind });
            let recovery = self.delivered.max(model.earliest() - 1);
            let (earliest, latest) = (model.earliest(), model.latest());
            assert_eq!(facts(&error)[1..], [earliest, latest, recovery, self.delivered]);
            self.verdict = Some(error);
        }
    }

    fn read(&mut self, log: &EventLog, model: &Model) {
        let next = self.reader.next(log);
        match (&self.verdict, next) {
            (Some(verdict), Err(error)) => assert_eq!(*verdict, error),
            (None, Ok(Some(envelope))) => {
                self.delivered += 1;
                assert_eq!(envelope.seq.0, self.delivered, "no gap and no duplicate");
            }
            (None, Ok(None)) => assert_eq!(self.delivered, model.latest()),
            (verdict, next) => panic!("{verdict:?} beside {next:?}"),
        }
    }
}

fn play(seed: u64) -> [u64; 3] {
    let mut numbers = Numbers(seed);
    let (events, bytes) = (1 + numbers.below(12), 100 + numbers.below(1_500));
    let base = [0, 0, 7, 1 << 52][usize::try_from(numbers.below(4)).unwrap()];
    let settings = config(usize::try_from(events).unwrap(), bytes);
    let mut log = match base {
        0 => EventLog::new(run(), &settings),
        _ => EventLog::resumed(run(), &settings, Seq(base), 0, Ledger::default()),
    };
    let mut model = Model { base, sizes: Vec::new(), events: usize::try_from(events).unwrap(), bytes };
    let mut readers: Vec<Subscribed> = Vec::new();
    let mut counts = [0; 3];
    for _ in 0..120 {
        let bounds = ReadBounds::new(numbers.below(9), 100 + numbers.below(900));
        let after = (base + numbers.below(model.sizes.len() as u64 + 3)).saturating_sub(numbers.below(2));
        match numbers.below(6) {
            0 | 1 => {
                let size = 120 + numbers.below(bytes.min(300));
                append(&mut log, size);
                model.sizes.push(size);
                readers.iter_mut().for_each(|reader| reader.appended(&log, &model));
                compare(&log, &model);
                counts[0] += 1;
            }
            2 => check_page(&log, &model, after, bounds),
            3 if readers.len() < 6 => readers.extend(Subscribed::new(&log, &model, after, bounds)),
            _ => {
                let at = numbers.below(readers.len().max(1) as u64);
                if let Some(reader) = readers.get_mut(usize::try_from(at).unwrap()) {
                    reader.read(&log, &model);
                    counts[1] += 1;
                }
            }
        }
    }
    counts[2] += readers.iter().filter(|reader| reader.verdict.is_some()).count() as u64;
    counts
}

// proves: L1, L2, L3, L4
#[test]
fn logs_pages_and_readers_agree_with_a_model_that_keeps_everything() {
    let mut sums = [0; 3];
    for seed in 0..2_000 {
        let counts = play(seed);
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    let [appended, read, ended] = sums;
    std::println!("{appended} events, {read} reads, {ended} readers ended");
    assert!(appended > 50_000 && read > 20_000 && ended > 1_000);
}
