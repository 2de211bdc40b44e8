//! Everything that people and tools can do to one another, in every order: complete to a small depth, then in long seeded
//! walks that are suspended and resumed, with the laws after each step.
//!
//! `RUNLOOM_PEOPLE` is the number of walks.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "all of it is tests")]

mod acts;
mod resumed;
mod world;

use acts::acts;
use runloom::testing::{Random, transcript};
use runloom_core::event::Event;
use runloom_core::input::Answerers;
use runloom_core::laws::Depth;
use runloom_core::outcome::RunResult;
use std::collections::BTreeMap;
use world::{TOOLS, World};

/// Walks of a test run that nobody asked more of.
const MODEST: u64 = 3_000;
/// The longest walk.
const WALK: usize = 80;

fn fail(world: &World, what: &str) -> ! {
    let trail: Vec<String> = world.trail.iter().map(|(now, input)| transcript::input(*now, input)).collect();
    panic!("{what}\nafter:\n{}", trail.join("\n"));
}

/// Does whatever can be done in `world`, and what can follow up to `left` further steps.
fn visit(world: &World, left: usize, count: &mut u64) {
    for (now, input) in acts(world) {
        let mut next = world.clone();
        if let Err(broken) = next.step(now, input) {
            fail(&next, &broken);
        }
        *count += 1;
        if count.is_multiple_of(64)
            && let Err(broken) = next.checked.survives_panic()
        {
            fail(&next, &broken.to_string());
        }
        if left > 1 {
            visit(&next, left - 1, count);
        }
    }
}

// proves: H1, H2, T2, W1, W5, W9
#[test]
fn every_short_sequence_keeps_the_laws() {
    let mut count = 0;
    for (at, tool) in TOOLS.iter().enumerate() {
        let other = TOOLS[(at + 1) % TOOLS.len()];
        for answerers in [(true, false), (true, true), (false, false)] {
            let (handle, responder) = answerers;
            let mut world = World::new(Answerers { handle, responder }, at % 2 == 1, 0);
            world.calls(&[tool, other]);
            visit(&world, 3, &mut count);
        }
    }
    println!("{count} steps");
    assert!(count > 20_000, "{count}");
}

#[derive(Default)]
struct Reached(BTreeMap<String, u64>);

impl Reached {
    fn note(&mut self, world: &World) {
        for envelope in &world.events {
            let kind = envelope.event.kind().as_str();
            *self.0.entry(kind.into()).or_default() += 1;
            let detail = match &envelope.event {
                Event::RunFailed(failed) => failed.error.code(),
                Event::ToolFinished(result) => result.status.as_str(),
                Event::HostInputAnswered(answered) => answered.source.as_str(),
                Event::HostInputFailed(failed) => failed.error.as_str(),
                _ => continue,
            };
            *self.0.entry(format!("{kind} {detail}")).or_default() += 1;
        }
        if world.checked.run().outcome().is_some_and(|outcome| outcome.durability.is_some()) {
            *self.0.entry("not durable".into()).or_default() += 1;
        }
        let end = match world.checked.run().outcome().map(|outcome| &outcome.result) {
            None => "live",
            Some(RunResult::Suspended(_)) => "suspended",
            Some(RunResult::Completed(_)) => "completed",
            Some(RunResult::Cancelled(_)) => "cancelled",
            Some(_) => "failed",
        };
        *self.0.entry(format!("end {end}")).or_default() += 1;
    }

    fn missing(&self) -> Vec<&'static str> {
        let wanted = [
            "run.suspended",
            "run.resumed",
            "host_input.requested",
            "host_input.cancelled",
            "host_input.answered handle",
            "host_input.answered responder",
            "host_input.answered fallback",
            "host_input.answered remembered",
            "host_input.failed timed_out",
            "host_input.failed no_responder",
            "tool.finished success",
            "tool.finished failure",
            "tool.finished denied",
            "tool.finished unavailable",
            "tool.finished timed_out",
            "tool.finished panicked",
            "tool.finished interrupted(not_started)",
            "tool.finished interrupted(outcome_unknown)",
            "run.failed observer_failed",
            "not durable",
            "end completed",
            "end cancelled",
            "end failed",
        ];
        wanted.into_iter().filter(|name| !self.0.contains_key(*name)).collect()
    }
}

fn walk(seed: u64) -> World {
    let mut random = Random::new(seed);
    let answerers = Answerers { handle: random.chance(80), responder: random.chance(40) };
    let mut world = World::new(answerers, random.chance(30), [0, 0, 1, 2][(seed % 4) as usize]);
    if random.chance(5) {
        world.checked.set_depth(Depth::Whole);
    }
    for _ in 0..WALK {
        let choices = acts(&world);
        // What ends the run, or takes its answerers away, should be rare.
        let (now, input) = random.pick(&choices).clone();
        if ["cancel", "handle_gone", "abort", "recover"].contains(&input.name()) && !random.chance(10) {
            continue;
        }
        if let Err(broken) = world.step(now, input) {
            fail(&world, &format!("seed {seed}: {broken}"));
        }
        if world.is_over() {
            break;
        }
    }
    if let Err(broken) = world.checked.replay_journal().and_then(|()| world.checked.survives_panic()) {
        fail(&world, &format!("seed {seed}: {broken}"));
    }
    world
}

// proves: H1, H2, H6, L5, T2, W5, W8, W9, W10
#[test]
fn long_walks_keep_the_laws_over_all_their_parts() {
    let asked = std::env::var("RUNLOOM_PEOPLE").ok();
    let count: u64 = asked.map_or(MODEST, |count| count.parse().expect("RUNLOOM_PEOPLE is a number"));
    let mut reached = Reached::default();
    for seed in 0..count {
        let world = walk(seed);
        reached.note(&world);
        if seed.is_multiple_of(16) && format!("{:?}", walk(seed).events) != format!("{:?}", world.events) {
            fail(&world, &format!("seed {seed}: W8: the same walk went differently"));
        }
    }
    reached.0.iter().for_each(|(name, count)| println!("{count:>9} {name}"));
    if count >= MODEST {
        let missing = reached.missing();
        assert!(missing.is_empty(), "never reached: {missing:?}");
    }
}
