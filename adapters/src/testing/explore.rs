//! Every interleaving of a small case.

use super::cast::Cast;
use super::player::SUSPEND;
use super::world::{Reading, World};
use crate::core::event::Event;
use crate::core::id::{OpId, Seq};
use crate::core::input::Input;
use crate::core::laws::{Broken, Checked};
use crate::core::outcome::RunResult;
use crate::core::output::Output;
use crate::core::time::Time;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Runs every order in which the pending things of `world` can happen, and calls `check` at each end.
///
/// Scripts say what comes, not when: their waits are left out. What can happen next is, at any time: the next item of
/// each operation that is under way, each planned input (such as a cancel), the reader's turn, and the time for which
/// the run asked to be woken. After each step the laws are checked, at each end also that the inputs replay to the
/// same log (W8).
///
/// # Errors
///
/// [`ExploreError`] if a law is broken, `check` refuses an end, or there are more than 1,000,000 orders.
pub fn explore(
    world: &World,
    check: impl FnMut(&Checked) -> Result<(), String>,
) -> Result<Explored, ExploreError> {
    Explore::new(world).run(check)
}

/// An exploration with its bounds.
#[derive(Clone, Debug)]
pub struct Explore<'a> {
    world: &'a World,
    limit: u64,
    wakes: bool,
    replay: bool,
    suspensions: usize,
}

/// What an exploration has seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explored {
    /// Different orders, each to its end.
    pub sequences: u64,
    /// Steps over all of them, common beginnings counted once.
    pub steps: u64,
    /// The longest sequence.
    pub longest: usize,
    /// How the runs ended, and how often; a run that nothing can move any more counts as `stalled`.
    pub endings: BTreeMap<String, u64>,
}

/// Why an exploration ended early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExploreError {
    /// There are too many orders.
    #[error(
        "there are more than {limit} sequences (the longest so far has {longest} steps): make the case smaller"
    )]
    Limit {
        /// The bound.
        limit: u64,
        /// Length of the longest sequence so far.
        longest: usize,
    },
    /// An order in which a law is broken.
    #[error("{broken}\nafter:\n{}", .sequence.join("\n"))]
    Broken {
        /// The law.
        broken: Broken,
        /// The inputs up to it.
        sequence: Vec<String>,
    },
    /// An order whose end the caller's check refuses.
    #[error("{what}\nafter:\n{}", .sequence.join("\n"))]
    Refused {
        /// What the check said.
        what: String,
        /// The inputs up to it.
        sequence: Vec<String>,
    },
}

impl<'a> Explore<'a> {
    /// All orders of `world`, up to 1,000,000.
    pub fn new(world: &'a World) -> Self {
        Self { world, limit: 1_000_000, wakes: true, replay: true, suspensions: 0 }
    }

    /// Most sequences.
    #[must_use]
    pub fn limit(mut self, sequences: u64) -> Self {
        self.limit = sequences;
        self
    }

    /// Whether time may pass while something else is pending; without, it passes only when nothing else can happen.
    #[must_use]
    pub fn wakes(mut self, wakes: bool) -> Self {
        self.wakes = wakes;
        self
    }

    /// Whether each sequence is replayed at its end (W8).
    #[must_use]
    pub fn replay(mut self, replay: bool) -> Self {
        self.replay = replay;
        self
    }

    /// In each order also suspends the run, at any point at which it can be, and up to so many times; it goes on at once
    /// in another machine, whose log the caller's check gets to see (H6).
    #[must_use]
    pub fn suspensions(mut self, most: usize) -> Self {
        self.suspensions = most;
        self
    }

    /// Runs them all.
    ///
    /// # Errors
    ///
    /// As [`explore()`], with the bound of this exploration.
    pub fn run(self, check: impl FnMut(&Checked) -> Result<(), String>) -> Result<Explored, ExploreError> {
        let mut explorer = Explorer { explore: self, seen: Explored::default(), check };
        let world = explorer.explore.world;
        let mut node = Node {
            checked: if explorer.explore.replay { world.checked() } else { world.checked().unrecorded() },
            cast: world.cast(),
            streams: Vec::new(),
            planned: world.planned.iter().map(|(_, input)| input.clone()).collect(),
            now: Time::ZERO,
            taken: Seq(0),
            trail: Vec::new(),
            suspensions: 0,
        };
        explorer.take(&mut node, Choice::Given(world.first()))?;
        explorer.visit(node)?;
        Ok(explorer.seen)
    }
}

/// One way to go on.
#[derive(Clone, Debug)]
enum Choice {
    Given(Input),
    Stream(usize),
    Planned(usize),
    Read,
    Wake,
    Suspend,
}

/// A state and what may still happen.
#[derive(Clone)]
struct Node {
    checked: Checked,
    cast: Cast,
    streams: Vec<(OpId, VecDeque<Input>)>,
    planned: Vec<Input>,
    now: Time,
    taken: Seq,
    trail: Vec<String>,
    suspensions: usize,
}

struct Explorer<'a, C> {
    explore: Explore<'a>,
    seen: Explored,
    check: C,
}

impl<C: FnMut(&Checked) -> Result<(), String>> Explorer<'_, C> {
    fn visit(&mut self, node: Node) -> Result<(), ExploreError> {
        let mut choices = self.choices(&node);
        let Some(last) = choices.pop() else { return self.end(node) };
        for choice in choices {
            let mut branch = node.clone();
            self.take(&mut branch, choice)?;
            self.visit(branch)?;
        }
        let mut branch = node;
        self.take(&mut branch, last)?;
        self.visit(branch)
    }

    fn choices(&self, node: &Node) -> Vec<Choice> {
        let mut choices = Vec::new();
        let next = node.checked.next();
        let live = next.is_none_or(|next| next.live);
        let open = !live || next.is_none_or(|next| !next.credit.is_zero());
        for (at, (_, stream)) in node.streams.iter().enumerate() {
            let passes = |input: &Input| {
                let always = matches!(
                    input,
                    Input::Authorized { .. }
                        | Input::Prepared { .. }
                        | Input::Responded { .. }
                        | Input::Boundary { .. }
                        | Input::Compacted { .. }
                        | Input::Observed { .. }
                );
                open || always
            };
            if stream.front().is_some_and(passes) {
                choices.push(Choice::Stream(at));
            }
        }
        if !live {
            return choices;
        }
        choices.extend((0..node.planned.len()).map(Choice::Planned));
        let lags = matches!(self.explore.world.reading, Reading::Lagging { .. });
        if lags && node.checked.run().log().last_seq() > node.taken {
            choices.push(Choice::Read);
        }
        if node.suspensions < self.explore.suspensions && suspends(node) {
            choices.push(Choice::Suspend);
        }
        let may_wait = self.explore.wakes || choices.is_empty();
        if may_wait && next.and_then(|next| next.wake).is_some() {
            choices.push(Choice::Wake);
        }
        choices
    }

    fn take(&mut self, node: &mut Node, choice: Choice) -> Result<(), ExploreError> {
        let input = match choice {
            Choice::Given(input) => Some(input),
            Choice::Stream(at) => node.streams.get_mut(at).and_then(|(_, stream)| stream.pop_front()),
            Choice::Planned(at) => Some(node.planned.remove(at)),
            Choice::Wake => {
                if let Some(wake) = node.checked.next().and_then(|next| next.wake) {
                    node.now = node.now.max(wake.at);
                }
                Some(Input::Wake { quiet: true })
            }
            Choice::Read => return self.read(node),
            Choice::Suspend => return self.suspend(node),
        };
        if let Some(input) = input {
            self.step(node, input)?;
        }
        match self.explore.world.reading {
            Reading::AtOnce if node.checked.run().log().last_seq() > node.taken => self.read(node),
            Reading::AtOnce | Reading::Lagging { .. } | Reading::Never | Reading::Unattended => Ok(()),
        }
    }

    /// Puts the run aside and goes on with it in another machine.
    fn suspend(&mut self, node: &mut Node) -> Result<(), ExploreError> {
        node.suspensions += 1;
        self.step(node, Input::Suspend { command: SUSPEND })?;
        let value = match node.checked.run().outcome().map(|outcome| &outcome.result) {
            Some(RunResult::Suspended(value)) => Arc::clone(value),
            _ => return Ok(()),
        };
        node.taken = value.last_seq();
        let world = self.explore.world;
        node.checked = if self.explore.replay { world.checked() } else { world.checked().unrecorded() };
        self.take(node, Choice::Given(world.resumed(value)))
    }

    fn read(&mut self, node: &mut Node) -> Result<(), ExploreError> {
        let last = node.checked.run().log().last_seq();
        let most = match self.explore.world.reading {
            Reading::Lagging { events, .. } => events.max(1),
            Reading::AtOnce | Reading::Never | Reading::Unattended => u64::MAX,
        };
        node.taken = Seq(last.0.min(node.taken.0.saturating_add(most)));
        self.step(node, Input::Taken { through: node.taken })
    }

    fn step(&mut self, node: &mut Node, input: Input) -> Result<(), ExploreError> {
        self.seen.steps += 1;
        node.trail.push(super::transcript::input(node.now, &input));
        let stepped = node.checked.step(node.now, input);
        let stepped = stepped
            .map_err(|broken| ExploreError::Broken { broken, sequence: std::mem::take(&mut node.trail) })?;
        let events = node.checked.run().log().after(stepped.since);
        let asked = events.filter_map(|envelope| match &envelope.event {
            Event::HostInputRequested(request) => Some(Arc::clone(request)),
            _ => None,
        });
        for request in asked.collect::<Vec<_>>() {
            node.planned.extend(node.cast.answers(&request).map(|(_, input)| input));
        }
        for output in &stepped.outputs {
            if let Output::Abandon { op } = output
                && !self.explore.world.late
            {
                node.streams.retain(|(other, _)| other != op);
            }
            let stream: VecDeque<Input> =
                node.cast.plays(output).into_iter().map(|(_, input)| input).collect();
            let (Output::Begin { op, .. } | Output::Deliver { op, .. }) = output else { continue };
            if !stream.is_empty() {
                node.streams.push((*op, stream));
            }
        }
        node.streams.retain(|(_, stream)| !stream.is_empty());
        Ok(())
    }

    fn end(&mut self, node: Node) -> Result<(), ExploreError> {
        self.seen.sequences += 1;
        self.seen.longest = self.seen.longest.max(node.trail.len());
        if self.seen.sequences > self.explore.limit {
            return Err(ExploreError::Limit { limit: self.explore.limit, longest: self.seen.longest });
        }
        *self.seen.endings.entry(ending(&node.checked)).or_default() += 1;
        let sequence = node.trail;
        // A journal costs several times as much as a replay, and small cases differ little.
        let written = self.seen.sequences <= 128 || self.seen.sequences.is_multiple_of(256);
        let replayed = if written { node.checked.replay_journal() } else { node.checked.replay() };
        if let Err(broken) = replayed {
            return Err(ExploreError::Broken { broken, sequence });
        }
        (self.check)(&node.checked).map_err(|what| ExploreError::Refused { what, sequence })
    }
}

/// Whether the run can be put aside now.
fn suspends(node: &Node) -> bool {
    let mut twin = node.checked.clone().unrecorded();
    let stepped = twin.step(node.now, Input::Suspend { command: SUSPEND });
    let suspended = twin.run().outcome().map(|outcome| matches!(outcome.result, RunResult::Suspended(_)));
    stepped.is_err() || suspended == Some(true)
}

/// How a run ended, in two words.
fn ending(checked: &Checked) -> String {
    let Some(outcome) = checked.run().outcome() else { return String::from("stalled") };
    match &outcome.result {
        RunResult::Completed(answer) => format!("completed {}", answer.stop_reason.as_str()),
        RunResult::Cancelled(cause) => format!("cancelled {}", cause.as_str()),
        RunResult::Failed(error) => format!("failed {}", error.code()),
        _ => String::from("ended"),
    }
}
