//! Streams that were damaged at random: the codecs never panic, end once, and say nothing after the end.

use crate::{Fixture, fixtures};
use runloom::testing::Random;
use runloom_core::model::ModelItem;
use runloom_core::provider::Decode;
use runloom_tests::providers::{WithDecoder, below};

/// Damaged copies of each body.
const ROUNDS: u64 = 150;

/// Rounds per fixture; `RUNLOOM_DAMAGE` asks for more of them.
fn rounds() -> u64 {
    std::env::var("RUNLOOM_DAMAGE").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS)
}

// proves: M3
#[test]
fn damaged_streams_end_once() {
    let fixtures = fixtures();
    let (mut done, mut failed, mut unreadable) = (0, 0, 0);
    for (at, fixture) in fixtures.iter().enumerate() {
        for round in 0..rounds() {
            let seed = round * 1_000 + at as u64;
            let mut random = Random::new(seed);
            let body = damage(&fixtures, fixture, &mut random);
            let (item, at) = fixture.wire.with(EndsOnce { body: &body, random, seed });
            match item {
                ModelItem::Done(_) => done += 1,
                _ => failed += 1,
            }
            unreadable += usize::from(at.is_some_and(|at| at <= body.len() as u64));
            // The whole way to calls and JSON must hold as well.
            let summary = fixture.wire.summary(&[&body]);
            let json = summary.to_json();
            let parsed = serde_json::from_str::<serde_json::Value>(&json);
            assert!(parsed.is_ok(), "seed {seed}: {parsed:?}: {json}");
            assert!(
                summary.error.is_none() || summary.calls.iter().all(|call| !call.complete),
                "seed {seed}"
            );
        }
    }
    println!("damaged streams: {done} done, {failed} failed, {unreadable} of them unreadable");
    assert!(
        done > 500 && failed > 500 && unreadable > 100,
        "{done} done, {failed} failed, {unreadable} unreadable"
    );
}

/// A copy of a body with a few bytes, lines or borders changed.
fn damage(all: &[Fixture], fixture: &Fixture, random: &mut Random) -> Vec<u8> {
    let mut body = fixture.body.clone();
    for _ in 0..=below(random, 4) {
        let at = below(random, body.len());
        let to = (at + 1 + below(random, 40)).min(body.len());
        match below(random, 8) {
            0 => body.truncate(at),
            1 => drop(body.drain(at..to)),
            2 => {
                let copy = body[at..to].to_vec();
                let target = below(random, body.len());
                body.splice(target..target, copy);
            }
            3 => {
                let b = *[b'\n', b'\r', b'"', b'{', b'}', b'\\', 0, 0xff, b'0', b'[']
                    .get(below(random, 10))
                    .unwrap();
                body.insert(at, b);
            }
            4 => body[at] ^= 1 << below(random, 8),
            5 => {
                let other = &all[below(random, all.len())].body;
                let from = below(random, other.len());
                let until = (from + 300).min(other.len());
                body.splice(at..at, other[from..until].iter().copied());
            }
            6 => {
                let words: [&[u8]; 6] = [b"null", b"[]", b"{}", b"-1", b"1e999", b"\"\\ud800\""];
                body.splice(at..at, words[below(random, 6)].iter().copied());
            }
            _ => body.splice(at..at, *b"\n\n").for_each(drop),
        }
        if body.is_empty() {
            break;
        }
    }
    body
}

struct EndsOnce<'a> {
    body: &'a [u8],
    random: Random,
    seed: u64,
}

impl WithDecoder for EndsOnce<'_> {
    /// The last item, and where the stream could not be read.
    type Found = (ModelItem, Option<u64>);

    fn run<D: Decode + Clone + PartialEq>(mut self, fresh: impl Fn() -> D) -> Self::Found {
        let mut decoder = fresh();
        let mut items = Vec::new();
        let mut rest = self.body;
        while !rest.is_empty() {
            let (piece, tail) = rest.split_at(1 + below(&mut self.random, rest.len().min(200)));
            let before = items.len();
            let ended = items.last().is_some_and(is_terminal);
            decoder.feed(piece, &mut items);
            assert_eq!(items.len() > before, !ended, "seed {}: every piece shows until the end", self.seed);
            rest = tail;
        }
        decoder.finish(&mut items);
        decoder.feed(b"data: [DONE]\n\n", &mut items);
        decoder.finish(&mut items);
        let ends = items.iter().filter(|item| is_terminal(item)).count();
        assert_eq!(ends, 1, "seed {}: {items:?}", self.seed);
        // No item is empty, and there are never more of them than the bytes could mean.
        assert!(items.len() <= self.body.len() + 2, "seed {}", self.seed);
        let empty = |item: &ModelItem| matches!(item, ModelItem::Text(text) | ModelItem::Reasoning(text) | ModelItem::Refusal(text) if text.is_empty());
        assert!(!items.iter().any(empty), "seed {}", self.seed);
        (items.pop().unwrap(), decoder.unreadable_at())
    }
}

fn is_terminal(item: &ModelItem) -> bool {
    matches!(item, ModelItem::Done(_) | ModelItem::Failed(_))
}
