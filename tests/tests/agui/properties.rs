//! Properties over random streams, patches and bytes. Seeds are fixed, so that a failure can be repeated.

use crate::streams::{event, events};
use runloom_core::agui::consume::{Consumer, End, Expander};
use runloom_core::agui::patch::{Act, Budget, apply};
use runloom_core::agui::{Event, Mode, Operation, Rule, RunOutcome, Verifier, compact};
use serde_json::{Value, json};

/// Repeatable numbers.
struct Random(runloom::testing::Random);

impl Random {
    fn new(seed: u64) -> Self {
        Self(runloom::testing::Random::new(seed))
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.0.below(n as u64)).unwrap()
    }

    fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }
}

/// Lines with places for an id, a tag and an extra.
const LINES: [&str; 34] = [
    "text {id}{tag}{role}",
    "say {id}{tag}{text}",
    "say {id}{tag}{text}",
    "/text {id}{tag}",
    "/text {id}{tag}",
    "text~ {id}{tag}{text}",
    "text~{tag}{text}",
    "text~ {id}{tag}{role}",
    "call {id}{tag}{in}",
    "args {id}{tag}{text}",
    "/call {id}{tag}",
    "/call {id}{tag}",
    "call~ {id}{tag}{in} tool=f",
    "call~{tag}{text}",
    "result {id} as=n{id}{tag}",
    "step {id}{tag}",
    "/step {id}{tag}",
    "span {id}{tag}",
    "/span {id}{tag}",
    "/span {id}{tag}",
    "reason {id}{tag}",
    "think {id}{tag}{text}",
    "/reason {id}{tag}",
    "/reason {id}{tag}",
    "reason~ {id}{tag}{text}",
    "sub {id}",
    "/sub {id}",
    "sub! {id}",
    "custom{tag}",
    "raw{tag}",
    "activity {id}{tag}",
    "amend {id}{tag} patch=[{\"op\":\"add\",\"path\":\"/n\",\"value\":1}]",
    "patch delta=[{\"op\":\"add\",\"path\":\"/n\",\"value\":1}]{tag}",
    "messages messages=[{\"id\":\"{id}\",\"role\":\"assistant\",\"content\":\"s\"},{\"id\":\"b\",\"role\":\"reasoning\",\"content\":\"s\"}]",
];

fn line(random: &mut Random) -> String {
    let (id, tag) = (random.pick(&["a", "b"]), random.pick(&["", "", "", " by=a", " by=b"]));
    let text = random.pick(&[" delta=x", " delta=", " delta=\u{e9}\\"]);
    let parent = random.pick(&["", "", " in=a", " in=n"]);
    let role = random.pick(&["", " role=user", " name=Ann", " metadata={\"k\":1}"]);
    let line = random.pick(&LINES);
    line.replace("{id}", id)
        .replace("{tag}", tag)
        .replace("{text}", text)
        .replace("{in}", parent)
        .replace("{role}", role)
}

/// Events that a verifier mostly accepts: those that it rejects are mostly left out.
fn stream(random: &mut Random, mode: Mode) -> Vec<Event> {
    let mut verifier = Verifier::new(mode);
    let mut stream = Vec::new();
    let wrong = random.below(4) == 0;
    for n in 0..random.below(60) {
        let line = match random.below(40) {
            0 => "error".into(),
            1 => "finish".into(),
            _ if n == 0 => "start".into(),
            2 => "start".into(),
            _ => line(random),
        };
        let event = Event::decode(&event(&line).to_string()).unwrap().value.unwrap();
        if verifier.observe(&event).is_ok() || (wrong && random.below(20) == 0) {
            stream.push(event);
        }
    }
    stream
}

/// The first event that is rejected, and the rule; the end counts as an event.
fn verdict(events: &[Event], mode: Mode) -> Option<(usize, Rule)> {
    let mut verifier = Verifier::new(mode);
    for (n, event) in events.iter().enumerate() {
        if let Err(error) = verifier.observe(event) {
            return Some((n, error.rule));
        }
    }
    verifier.finish().err().map(|error| (events.len(), error.rule))
}

fn fold(events: &[Event]) -> (String, Option<Rule>) {
    let mut consumer = Consumer::new();
    let read = events.iter().try_for_each(|event| consumer.event(event.clone(), &mut |_| {}));
    // Warnings count events, and a compacted stream has fewer.
    let mut told: Value = serde_json::from_str(&consumer.finish().to_json()).unwrap();
    told["warnings"] = Value::Null;
    (told.to_string(), read.err().map(|rejected| rejected.rule))
}

// proves: V3, V11
#[test]
fn random_streams_keep_the_properties() {
    let mut accepted = 0;
    for seed in 0..1_000 {
        let mut random = Random::new(seed);
        let mode = if seed % 2 == 0 { Mode::Stream } else { Mode::SingleRun };
        let events = stream(&mut random, mode);
        let found = verdict(&events, mode);
        accepted += usize::from(found.is_none());
        producers_are_a_part_of_consumers(&events, seed);
        expanding_keeps_the_verdict(&events, mode, found, seed);
        compacting_keeps_the_verdict(&events, mode, found, seed);
        open_items_can_be_closed(&events, mode, seed);
        consuming_agrees(&events, seed);
    }
    assert!(accepted > 100, "only {accepted} streams are whole");
}

fn producers_are_a_part_of_consumers(events: &[Event], seed: u64) {
    if verdict(events, Mode::SingleRun).is_none() {
        assert_eq!(verdict(events, Mode::Stream), None, "seed {seed}");
    }
}

fn expanding_keeps_the_verdict(events: &[Event], mode: Mode, found: Option<(usize, Rule)>, seed: u64) {
    let mut expander = Expander::new();
    let (mut expanded, mut at) = (Vec::new(), Vec::new());
    for (n, event) in events.iter().enumerate() {
        if expander.expand(event.clone(), &mut expanded).is_err() {
            let rejected = found.map(|(at, _)| at);
            assert!(
                rejected.is_some_and(|at| at <= n),
                "seed {seed}: event {n} does not expand, but {found:?}"
            );
            return;
        }
        at.resize(expanded.len(), n);
    }
    assert!(expanded.iter().all(|event| !event.event_type().as_str().ends_with("CHUNK")));
    let rule = |found: Option<(usize, Rule)>| found.map(|(_, rule)| rule);
    let again = verdict(&expanded, mode);
    assert_eq!(rule(again), rule(found), "seed {seed}");
    if let (Some((again, _)), Some((found, _))) = (again, found) {
        assert_eq!(at.get(again).copied().unwrap_or(events.len()), found, "seed {seed}");
    }
}

// Report AGUI-04: a log that was compacted verifies exactly if it did before.
fn compacting_keeps_the_verdict(events: &[Event], mode: Mode, found: Option<(usize, Rule)>, seed: u64) {
    let compacted = compact(events.iter().cloned());
    assert!(compacted.len() <= events.len());
    let again = verdict(&compacted, mode);
    assert_eq!(again.map(|(_, rule)| rule), found.map(|(_, rule)| rule), "seed {seed}");
    assert_eq!(fold(&compacted), fold(events), "seed {seed}");
}

// Report AGUI-02: what is open can always be closed before the end.
fn open_items_can_be_closed(events: &[Event], mode: Mode, seed: u64) {
    let mut verifier = Verifier::new(mode);
    let Some(Event::RunStarted(started)) = events.first() else { return };
    for event in events {
        if verifier.observe(event).is_err() || event.is_terminal() {
            return;
        }
    }
    let items = verifier.open_items();
    for item in items {
        let event = item.closing_event("stopped", "CANCELLED");
        assert_eq!(verifier.observe(&event), Ok(()), "seed {seed}");
    }
    assert!(verifier.open_items().is_empty(), "seed {seed}");
    let outcome = Some(RunOutcome::Cancelled);
    let finish = Event::run_finished(&*started.thread_id, &*started.run_id, outcome);
    assert_eq!(verifier.observe(&finish), Ok(()), "seed {seed}");
}

fn consuming_agrees(events: &[Event], seed: u64) {
    let found = verdict(events, Mode::Stream);
    let mut consumer = Consumer::new();
    let mut at = 0;
    let rejected = events.iter().find_map(|event| {
        let rejected = consumer.event(event.clone(), &mut |_| {}).err();
        at += usize::from(rejected.is_none());
        rejected
    });
    let folded = consumer.finish();
    match (rejected, found) {
        (Some(rejected), found) => assert_eq!(Some((rejected.at, rejected.rule)), found, "seed {seed}"),
        (None, Some((_, rule))) => {
            assert_eq!((rule, folded.end), (Rule::Truncated, End::Truncated), "seed {seed}")
        }
        (None, None) => assert_ne!(folded.end, End::Truncated, "seed {seed}"),
    }
    assert_eq!(at, folded.events);
}

#[test]
fn what_is_written_is_read_as_it_was() {
    for seed in 0..500 {
        let mut random = Random::new(seed);
        for event in stream(&mut random, Mode::Stream) {
            let json = event.encode();
            let decoded = Event::decode(&json).unwrap();
            assert_eq!(decoded.value.as_ref(), Some(&event), "{json}");
            assert_eq!(decoded.value.unwrap().encode(), json);
        }
    }
}

/// A place in a small document, also ones that do not exist.
fn place(random: &mut Random) -> String {
    let tokens = ["a", "b", "0", "1", "-", "~0", "~1", "01", ""];
    (0..random.below(4)).map(|_| format!("/{}", random.pick(&tokens))).collect()
}

fn value(random: &mut Random) -> Value {
    match random.below(6) {
        0 => json!(null),
        1 => json!(1),
        2 => json!([1, [2]]),
        3 => json!({"a": {"b": []}, "~": 0}),
        4 => json!("text"),
        _ => json!([{"a": 1}, {"b": 2}]),
    }
}

fn operation(random: &mut Random) -> Operation {
    let (path, value, from) = (place(random), value(random), place(random));
    match random.below(6) {
        0 | 1 => Act::Add { path, value },
        2 => Act::Remove { path },
        3 => Act::Replace { path, value },
        4 => Act::Move { from, path },
        _ if random.below(3) == 0 => Act::Test { path, value },
        _ => Act::Copy { from, path },
    }
    .into()
}

// proves: V11
#[test]
fn random_patches_apply_whole_or_not_at_all() {
    let (mut whole, mut none) = (0, 0);
    for seed in 0..20_000 {
        let mut random = Random::new(seed);
        let document = value(&mut random);
        let patch: Vec<Operation> = (0..=random.below(4)).map(|_| operation(&mut random)).collect();
        let (mut once, mut budget) = (document.clone(), Budget::default());
        let result = apply(&mut once, &patch, &mut budget);
        // The same, one operation at a time.
        let (mut each, mut left) = (document.clone(), Budget::default());
        let failed =
            patch.iter().position(|one| apply(&mut each, std::slice::from_ref(one), &mut left).is_err());
        assert_eq!(result.as_ref().err().map(|error| error.index), failed, "seed {seed}");
        if result.is_ok() {
            whole += 1;
            assert_eq!((once, budget), (each, left), "seed {seed}");
        } else {
            none += 1;
            assert_eq!((once, budget), (document, Budget::default()), "seed {seed}");
        }
    }
    assert!(whole > 1_000 && none > 1_000, "{whole} whole, {none} not");
}

/// Bytes that were an event: some are changed, taken out, doubled or cut.
fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..=random.below(3) {
        if bytes.is_empty() {
            return;
        }
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes[at] = random.below(256) as u8,
            1 => drop(bytes.remove(at)),
            2 => bytes.truncate(at),
            3 => bytes.insert(at, *random.pick(&[&b'"', &b'{', &b']', &b'\\', &b',', &0xff])),
            4 => {
                let end = (at + random.below(20)).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            _ => {
                let words: [&[u8]; 5] = [b"null", b"1e999", b"\"type\"", b"[[", b"-0"];
                let word = words[random.below(words.len())].to_vec();
                bytes.splice(at..at, word);
            }
        }
    }
}

#[test]
fn no_bytes_make_it_panic() {
    let seeds: Vec<Vec<u8>> =
        crate::wire::full().iter().map(|event| event.to_string().into_bytes()).collect();
    let (mut read, mut refused) = (0, 0);
    let rounds = if cfg!(debug_assertions) { 10_000 } else { 400_000 };
    let mut consumer = Consumer::new();
    for seed in 0..rounds {
        let mut random = Random::new(seed);
        let mut bytes = seeds[random.below(seeds.len())].clone();
        damage(&mut random, &mut bytes);
        match Event::decode_bytes(&bytes) {
            Err(_) => refused += 1,
            Ok(decoded) => {
                read += 1;
                let Some(event) = decoded.value else { continue };
                let json = event.encode();
                let again = Event::decode(&json).unwrap();
                assert_eq!(again.value.as_ref(), Some(&event), "{json}");
            }
        }
        if consumer.line(&bytes, &mut |_| {}).is_err() {
            consumer = Consumer::new();
            consumer.event(events("start").remove(0), &mut |_| {}).unwrap();
        }
    }
    assert!(read > rounds / 20 && refused > rounds / 20, "{read} read, {refused} refused");
}
