//! Damaged journals: a typed error at its line, or the first event that differs; never a panic.

use super::super::line::{Entry, What};
use super::super::{Divergence, JournalBounds, JournalError, JournalProblem, ReplayError, recover, replay};
use super::{every, line_of, started};
use crate::id::{CommandId, OpId, Seq};
use crate::input::Input;
use crate::model::{Completion, Finish, ModelItem};
use crate::saved::ImportBounds;
use crate::saved::ImportProblem;
use crate::time::Time;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

fn bounds() -> JournalBounds {
    JournalBounds::default()
}

/// A run with an answer, ten lines.
fn journal() -> String {
    let (mut run, mut recorder, mut out) = started();
    let op = OpId(1);
    let done = Completion::new(Some(Finish::Stop), "stop");
    for item in [ModelItem::Text("Hi".into()), ModelItem::Done(Box::new(done))] {
        let at = Time::from_secs(1);
        let _ = recorder.step(&mut run, at, Input::Model { op, item }, &mut out).unwrap();
    }
    recorder.take()
}

fn lines() -> Vec<String> {
    journal().lines().map(ToString::to_string).collect()
}

fn joined(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn fails(journal: &str) -> ReplayError {
    replay(journal.as_bytes(), &bounds()).expect_err("it is damaged")
}

fn problem(journal: &str) -> (u64, JournalProblem) {
    let found = fails(journal);
    let ReplayError::Journal(JournalError { line, problem }) = found else { panic!("{found:?}") };
    (line, problem)
}

fn diverged(journal: &str) -> Divergence {
    let found = fails(journal);
    let ReplayError::Diverged(divergence) = found else { panic!("{found:?}") };
    *divergence
}

// proves: L7
#[test]
fn the_first_event_that_differs_is_named_with_both_sides() {
    let own = lines();
    let at = own.iter().position(|line| line.contains("text.delta")).unwrap();
    let seq: u64 = 4;
    let mut other = own.clone();
    other[at] = own[at].replace("Hi", "Ho");
    let found = diverged(&joined(&other));
    assert_eq!((found.line, found.seq), (at as u64 + 1, Seq(seq)));
    assert_eq!((found.recorded.as_ref(), found.replayed.as_ref()), (Some(&other[at]), Some(&own[at])));
    assert!(!format!("{found:?} {found}").contains("Ho"), "content does not belong into logs");

    let mut missing = own.clone();
    missing.remove(at);
    let found = diverged(&joined(&missing));
    assert_eq!((found.line, found.seq), (at as u64 + 1, Seq(seq)));
    assert_eq!((found.recorded, found.replayed.as_ref()), (None, Some(&own[at])));

    let mut twice = own.clone();
    twice.insert(at, own[at].clone());
    let found = diverged(&joined(&twice));
    assert_eq!((found.line, found.seq), (at as u64 + 2, Seq(seq + 1)));
    assert_eq!((found.recorded.as_ref(), found.replayed), (Some(&own[at]), None));

    let found = diverged(&joined(&own[..own.len() - 1]));
    assert_eq!((found.line, found.recorded), (own.len() as u64, None));
}

// proves: L7
#[test]
fn an_input_that_was_changed_shows_in_its_events() {
    let own = lines();
    let at = own.iter().position(|line| line.contains("\"input\":{\"item\":{\"text\"")).unwrap();
    let mut other = own.clone();
    other[at] = own[at].replace("Hi", "Ho");
    assert_eq!(diverged(&joined(&other)).line, at as u64 + 2);
    other[at] = own[at].replace("\"op\":1", "\"op\":9");
    let refused = fails(&joined(&other));
    assert!(matches!(refused, ReplayError::Refused { line, .. } if line == at as u64 + 1), "{refused:?}");
    // A configuration that was changed shows as well, where it matters.
    other = own.clone();
    other[0] = own[0].replace("\"event_capacity\":64", "\"event_capacity\":0");
    let (line, found) = problem(&joined(&other));
    assert!(line == 1 && format!("{found}").contains("event capacity"), "{found}");
}

// proves: L7
#[test]
fn strange_lines_are_refused_with_their_place() {
    let own = lines();
    let with = |at: usize, from: &str, to: &str| {
        let mut lines = own.clone();
        assert!(lines[at].contains(from), "{}", lines[at]);
        lines[at] = lines[at].replacen(from, to, 1);
        problem(&joined(&lines))
    };
    let import = |(line, found): (u64, JournalProblem)| {
        let JournalProblem::Import(error) = found else { panic!("{found:?}") };
        (line, error.at.to_string(), error.problem)
    };
    let last = own.iter().rposition(|line| line.contains("\"input\"")).unwrap();
    let unknown = ImportProblem::Unknown { what: "input" };
    assert_eq!(
        import(with(last, "\"model\"", "\"modem\"")),
        (last as u64 + 1, "/input/type".into(), unknown)
    );
    let member = ImportProblem::Unknown { what: "member" };
    assert_eq!(
        import(with(last, "\"op\":1", "\"op\":1,\"oq\":1")),
        (last as u64 + 1, "/input/oq".into(), member)
    );
    assert_eq!(import(with(0, "runloom.journal", "runloom.log")).1, "/format");
    let version = ImportProblem::Version { found: 2, known: 1 };
    assert_eq!(import(with(0, "\"version\":1", "\"version\":2")), (1, "/version".into(), version));
    assert_eq!(with(last, "\"op\":1", "\"op\": 1"), (last as u64 + 1, JournalProblem::NotCanonical));
    assert_eq!(with(last, "\"at\":1000000", "\"at\":0").0, last as u64 + 1);
    assert_eq!(import(with(last, "\"op\":1", "\"op\":1,\"op\":1")).2, ImportProblem::Duplicate);
    assert_eq!(import(with(last, "\"op\":1,", "")).2, ImportProblem::Missing);
    assert_eq!(import(with(last, "\"op\":1", "\"op\":\"1\"")).1, "/input/op");
}

// proves: L7
#[test]
fn a_journal_is_bounded() {
    let journal = journal();
    let least = journal.len() as u64;
    let within = |bytes| replay(journal.as_bytes(), &JournalBounds { bytes, ..bounds() });
    assert!(within(least).is_ok());
    assert!(matches!(within(least - 1), Err(ReplayError::Journal(JournalError {
        problem: JournalProblem::TooLarge { observed, .. }, .. })) if observed == least));
    let line = ImportBounds { bytes: 100, ..ImportBounds::default() };
    assert!(replay(journal.as_bytes(), &JournalBounds { line, ..bounds() }).is_err());
    for empty in ["", "\n", "{}"] {
        assert!(replay(empty.as_bytes(), &bounds()).is_err());
        assert!(recover(empty.as_bytes(), &bounds()).is_err());
    }
    let not = [journal.as_bytes(), b"\xff\n"].concat();
    assert!(matches!(recover(&not, &bounds()), Err(ReplayError::Journal(JournalError {
        problem: JournalProblem::NotUtf8, line })) if line == journal.lines().count() as u64 + 1));
}

/// Numbers without a pattern that matters (SplitMix64).
fn below(state: &mut u64, n: usize) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    usize::try_from((z ^ (z >> 31)) % n as u64).unwrap()
}

fn damaged(journal: &[u8], dice: &mut u64) -> Vec<u8> {
    let mut bytes = journal.to_vec();
    for _ in 0..=below(dice, 3) {
        let at = below(dice, bytes.len());
        match below(dice, 6) {
            0 => bytes[at] ^= 1 << below(dice, 8),
            1 => bytes.truncate(at.max(1)),
            2 => _ = bytes.remove(at),
            3 => bytes.insert(at, b"0\"{}[],:\n\\a-"[below(dice, 12)]),
            lines => {
                let mut own: Vec<Vec<u8>> =
                    bytes.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
                let (one, other) = (below(dice, own.len()), below(dice, own.len()));
                if lines == 4 {
                    own.swap(one, other);
                } else {
                    own.insert(one, own[other].clone());
                }
                bytes = own.concat();
            }
        }
        if bytes.len() < 2 {
            break;
        }
    }
    bytes
}

/// How many are damaged: `RUNLOOM_JOURNALS`, else 2,000.
fn rounds() -> u64 {
    std::env::var("RUNLOOM_JOURNALS").ok().and_then(|count| count.parse().ok()).unwrap_or(2_000)
}

/// A line is refused, or is written again as it came: nothing is repaired in silence.
// proves: L7
#[test]
fn damage_in_a_line_of_any_kind_is_refused_or_stays() {
    let line = |input: &Input| line_of(Time::from_secs(1), "input", input);
    let lines: Vec<String> = every::inputs().iter().map(line).collect();
    let (mut dice, mut refused, mut read) = (11, 0_u64, 0_u64);
    for round in 0..rounds() {
        let whole = &lines[usize::try_from(round).unwrap() % lines.len()];
        let bytes = damaged(whole.as_bytes(), &mut dice);
        let Ok(text) = core::str::from_utf8(&bytes) else { continue };
        match Entry::read(text, &ImportBounds::default()) {
            Err(error) => {
                assert!(error.to_string().len() < 2_000, "{error}");
                refused += 1;
            }
            Ok(Entry { at, what: What::Input(input) }) => {
                assert_eq!(line_of(at, "input", &input), text, "{whole}");
                read += 1;
            }
            Ok(Entry { what: What::Panicked(_), .. }) => panic!("{text}"),
        }
    }
    std::println!("{refused} damaged lines refused, {read} read");
    assert!(refused > read && read > 0, "{refused} {read}");
}

// proves: L7, H7
#[test]
fn damage_is_found_and_never_a_panic() {
    let journal = journal();
    let (mut dice, mut errors, mut diverged, mut same) = (7, 0_u64, 0_u64, 0_u64);
    for _ in 0..rounds() {
        let bytes = damaged(journal.as_bytes(), &mut dice);
        let strict = replay(&bytes, &bounds());
        match &strict {
            Err(ReplayError::Diverged(_)) => diverged += 1,
            Err(error) => {
                assert!(!format!("{error:?}").contains("hello"), "{error:?}");
                errors += 1;
            }
            // Only what means the same to the machine: another name of the version, another word in a message that
            // nobody was shown.
            Ok(_) => same += 1,
        }
        if let Ok(mut recovered) = recover(&bytes, &bounds()) {
            let mut out = crate::output::Outbox::new();
            let cancel = Input::Cancel { command: CommandId(1) };
            let now = recovered.run.now();
            let _ = recovered.recorder.step(&mut recovered.run, now, cancel, &mut out);
        }
    }
    std::println!("{errors} damaged journals with an error, {diverged} that diverged, {same} that replayed");
    assert!(errors > diverged && diverged > 0);
}
