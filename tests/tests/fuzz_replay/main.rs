//! Damaged replays of a small corpus: the log beside a model that walks, canonical JSON, and recorded logs.
//!
//! `tests/fixtures/fuzz/` holds the starting points. Each is played as it is and `RUNLOOM_DAMAGE` times damaged (default
//! 150), drawn from a seed, so that a failure repeats itself. Executions are printed, and what was reached: which verdicts
//! came, how often. `RUNLOOM_SEED` plays one seed alone.

// Helpers of tests fail like tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(unused_must_use, reason = "a test moves the clock itself and knows when it is due")]

mod canonical;
#[path = "../core/hand.rs"]
#[allow(dead_code, reason = "the whole of it is used where it stands")]
mod hand;
mod log;
mod record;

use runloom::testing::Random;
use std::collections::BTreeMap;
use std::path::Path;

/// How often each verdict came.
pub(crate) type Reached = BTreeMap<String, u64>;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// The files of a folder of the corpus.
fn corpus(folder: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/fuzz").join(folder);
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Plays the corpus and damaged copies of it; one in `share` of the usual number. `play` gives its verdict's name.
fn play(folder: &str, words: &[&str], share: u64, play: impl Fn(&[u8]) -> &'static str) -> Reached {
    let corpus = corpus(folder);
    let rounds = number("RUNLOOM_DAMAGE").unwrap_or(150).div_ceil(share);
    let only = number("RUNLOOM_SEED");
    let (mut reached, mut executions) = (Reached::new(), 0_u64);
    for (at, start) in corpus.iter().enumerate() {
        for round in 0..=rounds {
            let seed = round * 1_000 + at as u64;
            if only.is_some_and(|only| only != seed) {
                continue;
            }
            let mut input = start.clone();
            if round > 0 {
                damage(&corpus, words, &mut input, &mut Random::new(seed));
            }
            let verdict = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| play(&input)));
            let Ok(verdict) = verdict else {
                panic!("{folder}: again with RUNLOOM_SEED={seed}: {}", String::from_utf8_lossy(&input));
            };
            *reached.entry(verdict.to_owned()).or_default() += 1;
            executions += 1;
        }
    }
    println!("replays of {folder}: {} files, {executions} executions, {reached:?}", corpus.len());
    reached
}

/// Changes a few bytes, lines or words.
fn damage(corpus: &[Vec<u8>], words: &[&str], bytes: &mut Vec<u8>, random: &mut Random) {
    fn below(random: &mut Random, len: usize) -> usize {
        usize::try_from(random.below(len as u64 + 1)).unwrap()
    }
    for _ in 0..=random.below(3) {
        let at = below(random, bytes.len());
        let to = (at + below(random, 12)).min(bytes.len());
        match random.below(8) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..to)),
            2 | 3 => drop(bytes.splice(at..at, random.pick::<&str>(words).bytes())),
            4 => {
                let copy = bytes[at..to].to_vec();
                drop(bytes.splice(at..at, copy));
            }
            5 => {
                // A line goes, or stands twice.
                let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
                let line = below(random, lines.len());
                let times = usize::from(random.chance(50)) * 2;
                let repeat = |n: usize| if n == line { times } else { 1 };
                let lines = lines.iter().enumerate().flat_map(|(n, line)| vec![*line; repeat(n)]);
                *bytes = lines.collect::<Vec<_>>().concat();
            }
            6 => {
                let other = random.pick(corpus);
                let from = below(random, other.len());
                let until = (from + 60).min(other.len());
                drop(bytes.splice(at..at, other[from..until].iter().copied()));
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
        }
    }
}

fn assert_reached(reached: &Reached, wanted: &[&str]) {
    if number("RUNLOOM_SEED").is_none() {
        let missing: Vec<_> = wanted.iter().filter(|verdict| !reached.contains_key(**verdict)).collect();
        assert!(missing.is_empty(), "never reached: {missing:?}");
    }
}
