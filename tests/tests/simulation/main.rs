//! Seeded simulation: many worlds, each drawn from its seed, each run twice.
//!
//! `RUNLOOM_SEEDS` is the number of seeds, `RUNLOOM_SEED` runs one alone. A failure prints the command that repeats it.

mod profile;

use profile::Profile;
use runloom::testing::{Random, Report, World, transcript};
use runloom_core::event::{Envelope, Event};
use runloom_core::id::Seq;
use runloom_core::laws::Depth;
use runloom_core::log::EventLog;
use runloom_core::outcome::RunResult;
use runloom_tests::records::round_trip;
use std::collections::BTreeMap;

/// Seeds of a test run that nobody asked more of.
const MODEST: u64 = 2_000;

/// Runs of one conversation.
const RUNS: u64 = 3;

#[derive(Debug, Default)]
struct Reached {
    runs: u64,
    events: u64,
    stalled: u64,
    counts: BTreeMap<String, u64>,
}

impl Reached {
    fn count(&mut self, what: &str, name: &str) {
        *self.counts.entry(format!("{what} {name}")).or_default() += 1;
    }

    fn note(&mut self, report: &Report) {
        self.runs += 1;
        self.events += report.events.len() as u64;
        for envelope in &report.events {
            self.count("event", envelope.event.kind().as_str());
            match &envelope.event {
                Event::ToolFinished(result) => self.count("tool", result.status.as_str()),
                Event::StreamReset(reset) => self.count("reset", reset.position.as_str()),
                _ => {}
            }
        }
        match report.outcome().map(|outcome| &outcome.result) {
            None => self.stalled += 1,
            Some(RunResult::Completed(answer)) => self.count("completed", answer.stop_reason.as_str()),
            Some(RunResult::Cancelled(cause)) => self.count("cancelled", cause.as_str()),
            Some(RunResult::Failed(error)) => self.count("failed", error.code()),
            Some(other) => self.count("ended", &format!("{other:?}")),
        }
        if report.log().first_seq().0 > 1 {
            self.count("log", "evicted events");
        }
        if report.outcome().is_some_and(|outcome| !outcome.late.is_empty()) {
            self.count("outcome", "late completions");
        }
    }

    /// What a simulation of some size must have met.
    fn missing(&self) -> Vec<&'static str> {
        let wanted = [
            "event provider.stream_reset",
            "event provider.request_retry",
            "event provider.context_updated",
            "event tool.updated",
            "reset pristine",
            "reset partial",
            "tool success",
            "tool failure",
            "tool denied",
            "tool unavailable",
            "tool invalid_arguments",
            "tool timed_out",
            "tool panicked",
            "tool interrupted(not_started)",
            "tool interrupted(outcome_unknown)",
            "completed end_turn",
            "completed max_steps",
            "completed max_tokens",
            "completed refusal",
            "cancelled requested",
            "cancelled handle_dropped",
            "cancelled driver_dropped",
            "cancelled shutdown",
            "failed invalid_response",
            "failed model_call_deadline",
            "failed run_deadline",
            "failed tool_failed",
            "failed consumer_gone",
            "failed driver_panicked",
            "outcome late completions",
            "log evicted events",
        ];
        wanted.into_iter().filter(|name| !self.counts.contains_key(*name)).collect()
    }
}

/// One seed: a conversation of a few runs, each simulated twice.
fn simulate(seed: u64, reached: &mut Reached) -> Result<(), String> {
    let mut random = Random::new(seed);
    let profile = Profile::draw(&mut random);
    let mut before: Option<Report> = None;
    for run in 0..RUNS {
        let drawn = profile.world(&mut random);
        let depth = if random.chance(3) { Depth::Whole } else { Depth::Probed };
        let world = match &before {
            Some(report) => drawn.after(report, "and then?"),
            None => drawn,
        };
        // Writing and reading texts costs as much as all the rest.
        let written = seed.is_multiple_of(4);
        let report =
            one(world.depth(depth), written).map_err(|error| format!("run {run} of {profile:?}: {error}"))?;
        if written {
            recorded(report.log())?;
        }
        reached.note(&report);
        if report.outcome().is_none() {
            return Ok(());
        }
        before = Some(report);
    }
    Ok(())
}

fn one(world: World, written: bool) -> Result<Report, String> {
    let again = world.clone();
    let report = world.try_run().map_err(|error| error.to_string())?;
    let twin = again.try_run().map_err(|error| error.to_string())?;
    if let Some(difference) = transcript::difference(&transcript::report(&report), &transcript::report(&twin))
    {
        return Err(format!("W8: the same world ran differently: {difference}"));
    }
    let checked = report.checked();
    let replayed = if written { checked.replay_journal() } else { checked.replay() };
    replayed.map_err(|broken| broken.to_string())?;
    report.checked().survives_panic().map_err(|broken| broken.to_string())?;
    runloom_core::verify::verify_log(report.log()).map_err(|violation| violation.to_string())?;
    Ok(report)
}

/// The log and each quarter less of it come back from text as they were (L6).
fn recorded(log: &EventLog) -> Result<(), String> {
    let len = log.len() as u64;
    for part in 0..4 {
        let from = Seq(log.first_seq().0 - 1 + len * part / 4);
        let events: Vec<&Envelope> = log.after(from).collect();
        let read = round_trip(log.run_id(), events)?;
        if read.is_closed() != log.is_closed() {
            return Err(format!("L6: from {from}, it is {} that the log is closed", read.is_closed()));
        }
    }
    Ok(())
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")))
}

// proves: L1, L6
#[test]
fn seeds() {
    let mut reached = Reached::default();
    let one = number("RUNLOOM_SEED");
    let seeds = one.map_or(0..number("RUNLOOM_SEEDS").unwrap_or(MODEST), |seed| seed..seed + 1);
    let count = seeds.end - seeds.start;
    for seed in seeds {
        if let Err(error) = simulate(seed, &mut reached) {
            panic!(
                "seed {seed}: {error}\nagain with: RUNLOOM_SEED={seed} cargo test -p runloom-tests --test simulation"
            );
        }
    }
    let Reached { runs, events, stalled, counts } = &reached;
    println!("{count} seeds, {runs} runs, {events} events, {stalled} stalled");
    let (name, value) = one.map_or(("RUNLOOM_SEEDS", count), |seed| ("RUNLOOM_SEED", seed));
    println!("again with: {name}={value} cargo test -p runloom-tests --test simulation -- --nocapture");
    counts.iter().for_each(|(name, count)| println!("{count:>9} {name}"));
    if count >= MODEST {
        let missing = reached.missing();
        assert!(missing.is_empty(), "never reached: {missing:?}");
    }
}
