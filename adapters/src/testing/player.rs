//! Plays a world: what is due, one thing after the other, in virtual time.

use super::cast::Cast;
use super::world::{Reading, Report, World, WorldError};
use crate::core::event::Event;
use crate::core::id::{CommandId, OpId, Seq};
use crate::core::input::Input;
use crate::core::outcome::RunResult;
use crate::core::output::Output;
use crate::core::time::Time;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The command by which a world puts its run aside.
pub(super) const SUSPEND: CommandId = CommandId(999);

/// Something that is to happen.
#[derive(Clone, Debug)]
enum Due {
    /// A command or the like; it always passes.
    Given(Input),
    /// An item of work; it waits while the run takes nothing in.
    Item(OpId, Input),
    /// The reader's turn.
    Read,
}

pub(super) struct Player {
    world: World,
    cast: Cast,
    due: BTreeMap<(Time, u64), Due>,
    held: VecDeque<(OpId, Input)>,
    order: u64,
    taken: Seq,
    reads: bool,
    steps: u64,
    report: Report,
}

impl Player {
    pub(super) fn new(world: World) -> Self {
        let report = Report {
            checked: world.checked(),
            events: Vec::new(),
            outputs: Vec::new(),
            now: Time::ZERO,
            suspensions: 0,
            steps: 0,
        };
        let mut player = Self {
            cast: world.cast(),
            due: BTreeMap::new(),
            held: VecDeque::new(),
            order: 0,
            taken: Seq(0),
            reads: false,
            steps: 0,
            report,
            world,
        };
        player.plan(Time::ZERO, Due::Given(player.world.first()));
        for (at, input) in player.world.planned.clone() {
            player.plan(at, Due::Given(input));
        }
        player
    }

    pub(super) fn into_report(mut self) -> Report {
        self.report.steps = self.steps;
        self.report
    }

    fn plan(&mut self, at: Time, due: Due) {
        self.order += 1;
        self.due.insert((at, self.order), due);
    }

    pub(super) fn play(&mut self) -> Result<(), WorldError> {
        loop {
            let next = self.report.checked.next();
            let live = next.is_none_or(|next| next.live);
            let open = next.is_none_or(|next| !next.credit.is_zero()) || !live;
            if open && let Some((_, input)) = self.held.pop_front() {
                self.step(input)?;
                continue;
            }
            let first = self.due.first_key_value().map(|((at, _), _)| *at);
            let wake = next.and_then(|next| next.wake).map(|wake| wake.at);
            match (first, wake) {
                (None, None) => return Ok(()),
                (Some(at), wake) if wake.is_none_or(|wake| at <= wake) => self.happens(at, open)?,
                (_, Some(wake)) => {
                    self.report.now = self.report.now.max(wake);
                    self.step(Input::Wake { quiet: self.held.is_empty() })?;
                }
                (Some(_), None) => {}
            }
        }
    }

    fn happens(&mut self, at: Time, open: bool) -> Result<(), WorldError> {
        let Some((_, due)) = self.due.pop_first() else { return Ok(()) };
        self.report.now = self.report.now.max(at);
        match due {
            Due::Given(input) => self.step(input),
            Due::Item(_, input) if open => self.step(input),
            Due::Item(op, input) => {
                self.held.push_back((op, input));
                Ok(())
            }
            Due::Read => {
                self.reads = false;
                self.read()
            }
        }
    }

    fn step(&mut self, input: Input) -> Result<(), WorldError> {
        self.steps += 1;
        if self.steps > self.world.limit {
            return Err(WorldError::Limit(self.world.limit));
        }
        self.take(input)?;
        if self.world.suspensions.contains(&self.steps) {
            self.suspend()?;
        }
        match self.world.reading {
            Reading::AtOnce => self.read(),
            Reading::Lagging { every, .. } if !self.reads && self.unread() > 0 => {
                self.reads = true;
                self.plan(self.report.now.after(every), Due::Read);
                Ok(())
            }
            Reading::Lagging { .. } | Reading::Never | Reading::Unattended => Ok(()),
        }
    }

    /// Puts the run aside, if it can be, and goes on with it. What is due stays due.
    fn suspend(&mut self) -> Result<(), WorldError> {
        self.take(Input::Suspend { command: SUSPEND })?;
        let value = match self.report.checked.run().outcome().map(|outcome| &outcome.result) {
            Some(RunResult::Suspended(value)) => Arc::clone(value),
            _ => return Ok(()),
        };
        self.report.suspensions += 1;
        self.taken = value.last_seq();
        self.report.checked = self.world.checked();
        self.take(self.world.resumed(value))
    }

    fn take(&mut self, input: Input) -> Result<(), WorldError> {
        let now = self.report.now;
        let stepped = self.report.checked.step(now, input)?;
        let events: Vec<_> = self.report.checked.run().log().after(stepped.since).cloned().collect();
        for envelope in &events {
            if let Event::HostInputRequested(request) = &envelope.event
                && let Some((wait, input)) = self.cast.answers(request)
            {
                self.plan(now.after(wait), Due::Given(input));
            }
        }
        self.report.events.extend(events);
        for output in &stepped.outputs {
            if let Output::Abandon { op } = output
                && !self.world.late
            {
                self.due.retain(|_, due| !matches!(due, Due::Item(other, _) if other == op));
                self.held.retain(|(other, _)| other != op);
            }
            let mut at = now;
            for (wait, input) in self.cast.plays(output) {
                at = at.after(wait);
                let due = match (&input, op_of(output)) {
                    (Input::Model { .. } | Input::Tool { .. }, Some(op)) => Due::Item(op, input),
                    _ => Due::Given(input),
                };
                self.plan(at, due);
            }
        }
        self.report.outputs.extend(stepped.outputs.into_iter().map(|output| (now, output)));
        Ok(())
    }

    fn unread(&self) -> u64 {
        self.report.log().last_seq().0 - self.taken.0
    }

    fn read(&mut self) -> Result<(), WorldError> {
        let most = match self.world.reading {
            Reading::Lagging { events, .. } => events.max(1),
            Reading::AtOnce => u64::MAX,
            Reading::Never | Reading::Unattended => 0,
        };
        let count = self.unread().min(most);
        if count == 0 {
            return Ok(());
        }
        self.taken = Seq(self.taken.0 + count);
        self.step(Input::Taken { through: self.taken })
    }
}

fn op_of(output: &Output) -> Option<OpId> {
    match output {
        Output::Begin { op, .. } | Output::Abandon { op } | Output::Deliver { op, .. } => Some(*op),
        _ => None,
    }
}
