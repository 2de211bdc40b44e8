//! The state of a run behind its lock: the machine, what it has put out, what was taken in and not stepped yet, and
//! where its reader stands. Nothing here calls foreign code (X5).

mod intake;

use crate::core::boundary::{BoundaryAnswer, BoundaryError};
use crate::core::event::Envelope;
use crate::core::history::History;
use crate::core::host_input::{HostAnswer, RespondError};
use crate::core::id::{CommandId, OpId, RequestId, Revision, Seq, SteerId};
use crate::core::input::{AbortCause, Respond, Retract, SteerInput};
use crate::core::log::EventLog;
use crate::core::message::Part;
use crate::core::outcome::Outcome;
use crate::core::output::{CancelReply, Credit, Reply};
use crate::core::steer::{RetractReply, SteerError};
use crate::core::suspend::{NotSuspendable, Suspended};
use crate::core::time::Time;
use crate::core::tool::ToolVisibility;
use crate::core::{Input, Next, Outbox, Run as Machine};
use crate::journal::{Tape, step_with};
use crate::panics::caught;
use crate::reading::Readers;
use crate::sync::Arc;
use crate::wakers::{WakerSet, Woken};
use std::collections::VecDeque;
use std::task::Waker;

mod clock;
mod round;

pub(crate) use clock::Clock;
pub(crate) use round::{Nap, Read, Rest, Round};

/// Most events that a reader takes out at once.
const MOST_READ: usize = 64;

/// The part behind the lock.
pub(crate) struct RunState {
    machine: Machine,
    out: Outbox,
    now: Time,
    next: Next,
    commands: u64,
    /// Items that were taken in while the stream was full. A cancel or abort steps them first, so that no finished
    /// result is lost.
    held: VecDeque<Input>,
    /// Whether a primary stream exists whose pace the run keeps.
    pub(crate) primary: bool,
    /// The stream was split off from its handle.
    pub(crate) split: bool,
    /// The run goes on without a handle.
    pub(crate) unattended: bool,
    /// The last event that the stream has handed out, and the last one that the machine knows of.
    taken: Seq,
    told: Seq,
    /// The last event in the stream's buffer.
    read: Seq,
    /// The last event that was offered to best-effort observers.
    pub(crate) offered: Seq,
    reader: Option<Waker>,
    /// Everyone who reads beside the primary stream.
    readers: Readers,
    /// Who waits for the outcome, and how many of them let the handle's own stream go unread.
    pub(crate) waiters: WakerSet,
    pub(crate) waiting: usize,
    discarding: usize,
    driver: Option<Waker>,
    asleep: bool,
    poked: bool,
    ended: bool,
    /// Who can answer requests: the handle and its controls.
    answerers: usize,
    /// The last commit of the run that its session knows.
    committed: Revision,
    /// Where its journal is written.
    pub(crate) tape: Option<Tape>,
    clock: Clock,
}

impl RunState {
    /// A run whose machine was just started.
    pub(crate) fn new(machine: Machine, out: Outbox, now: Time, next: Next, primary: bool) -> Self {
        let offered = Seq(machine.log().first_seq().0.saturating_sub(1));
        let committed = machine.committed().map_or(Revision(0), |(_, revision)| revision);
        Self {
            committed,
            tape: None,
            machine,
            out,
            now,
            next,
            commands: 0,
            held: VecDeque::new(),
            primary,
            split: false,
            unattended: !primary,
            taken: Seq(0),
            told: Seq(0),
            read: Seq(0),
            offered,
            reader: None,
            readers: Readers::default(),
            waiters: WakerSet::default(),
            waiting: 0,
            discarding: 0,
            driver: None,
            asleep: false,
            poked: false,
            ended: false,
            answerers: 1,
            clock: Clock::default(),
        }
    }

    /// Goes on behind this event, by this clock.
    pub(crate) fn behind(self, seq: Seq, clock: Clock) -> Self {
        Self { taken: seq, told: seq, read: seq, offered: seq, clock, ..self }
    }

    pub(crate) fn outcome(&self) -> Option<Arc<Outcome>> {
        self.machine.outcome().cloned()
    }

    pub(crate) fn is_live(&self) -> bool {
        self.next.live
    }

    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    #[cfg(feature = "verify")]
    pub(crate) fn plant_panic(&mut self, steps: u64) {
        self.machine.plant_panic(steps);
    }

    /// Has the driver look again.
    pub(crate) fn poke(&mut self) {
        self.poked = true;
    }

    /// Whether the run has ended since this was asked last.
    pub(crate) fn has_just_ended(&mut self) -> bool {
        !self.next.live && !std::mem::replace(&mut self.ended, true)
    }

    /// What the run has committed since this was asked last.
    pub(crate) fn just_committed(&mut self) -> Option<(History, Revision)> {
        let (history, revision) = self.machine.committed().filter(|(_, new)| *new != self.committed)?;
        self.committed = revision;
        Some((history.clone(), revision))
    }

    /// Finds out who is to be woken.
    pub(crate) fn publish(&mut self, woken: &mut Woken) {
        if !self.next.live {
            woken.append(self.waiters.take());
        }
        woken.push(self.tape.as_ref().and_then(Tape::reader));
        if self.reader.is_some() && (self.machine.log().last_seq() > self.read || !self.next.live) {
            woken.push(self.reader.take());
        }
        self.readers.publish(self.machine.log(), woken);
        if self.asleep && (self.poked || !self.next.live) {
            self.asleep = false;
            woken.push(self.driver.take());
        }
    }

    pub(crate) fn forget_driver(&mut self) -> Option<Waker> {
        self.driver.take()
    }

    /// Has the driver sleep until something happens, unless it has happened already.
    pub(crate) fn sleep(&mut self, waker: &Waker, spare: &mut Option<Waker>) -> Nap {
        if self.poked || !self.next.live {
            return Nap::Awake;
        }
        if !self.driver.as_ref().is_some_and(|known| known.will_wake(waker)) {
            let Some(waker) = spare.take() else { return Nap::NeedsWaker };
            *spare = self.driver.replace(waker);
        }
        self.asleep = true;
        Nap::Asleep
    }

    /// Steps the machine. A panic in it closes the run from its ledger (X5). Whether the input was proper.
    fn step(&mut self, input: Input) -> bool {
        let (machine, tape, out, now) = (&mut self.machine, &mut self.tape, &mut self.out, self.now);
        let proper = match caught(|| step_with(machine, tape, now, input, out)) {
            Some(Ok(next)) => {
                self.next = next;
                true
            }
            Some(Err(_)) => false,
            None => {
                match tape {
                    Some(tape) => tape.close_after_panic(machine, out),
                    None => machine.close_after_panic(out),
                }
                self.next = Next { wake: None, hard: None, credit: Credit::ZERO, live: false };
                true
            }
        };
        self.readers.judge(self.machine.log());
        proper
    }

    /// The subscriptions, and the log that they read.
    pub(crate) fn readers(&mut self) -> (&mut Readers, &EventLog) {
        (&mut self.readers, self.machine.log())
    }

    /// Tells the machine how far the primary stream has been read. While it goes unread, that is all of it, also what
    /// is recorded in here.
    fn tell_taken(&mut self) {
        while self.primary && self.next.live {
            if self.discarding > 0 {
                self.pass_over();
            }
            if self.taken <= self.told {
                return;
            }
            self.told = self.taken;
            self.step(Input::Taken { through: self.taken });
        }
    }

    pub(crate) fn cancel(&mut self) -> CancelReply {
        self.settle();
        self.commands += 1;
        let command = CommandId(self.commands);
        self.step(Input::Cancel { command });
        match self.out.take_reply(command) {
            Some(Reply::Cancel(reply)) => reply,
            // Only a run that was closed after a panic gives no answer.
            _ => CancelReply::AlreadyFinished,
        }
    }

    /// Answers a request. What is held stays held: the run goes on.
    pub(crate) fn respond(&mut self, request: RequestId, answer: HostAnswer) -> Result<(), RespondError> {
        self.tell_taken();
        self.commands += 1;
        let command = CommandId(self.commands);
        self.step(Input::Respond(Box::new(Respond { command, request, answer })));
        self.poked = true;
        match self.out.take_reply(command) {
            Some(Reply::Respond(reply)) => reply,
            // Only a run that was closed after a panic gives no answer.
            _ => Err(RespondError::NotAccepting),
        }
    }

    fn command(&mut self, input: impl FnOnce(CommandId) -> Input) -> Option<Reply> {
        self.catch_up();
        self.commands += 1;
        let command = CommandId(self.commands);
        self.step(input(command));
        self.poked = true;
        self.out.take_reply(command)
    }

    /// People add an input.
    pub(crate) fn steer(&mut self, id: Option<SteerId>, parts: Vec<Part>) -> Result<SteerId, SteerError> {
        match self.command(|command| Input::Steer(Box::new(SteerInput { command, id, parts }))) {
            Some(Reply::Steer(reply)) => reply,
            // Only a run that was closed after a panic gives no answer.
            _ => Err(SteerError::NotAccepting),
        }
    }

    /// An input is taken back.
    pub(crate) fn retract(&mut self, id: SteerId) -> RetractReply {
        match self.command(|command| Input::Retract(Box::new(Retract { command, id }))) {
            Some(Reply::Retract(reply)) => reply,
            _ => RetractReply::NotFound,
        }
    }

    /// The source of boundary inputs answers.
    pub(crate) fn boundary(&mut self, op: OpId, answer: BoundaryAnswer) -> Result<bool, BoundaryError> {
        match self.command(|command| Input::Boundary { op, command, answer }) {
            Some(Reply::Boundary(reply)) => reply,
            _ => Ok(false),
        }
    }

    /// Puts the run aside. What tools, approvers and responders have said before counts; while a model's items are
    /// held, the run cannot be put aside anyway, and they stay held.
    pub(crate) fn suspend(&mut self) -> Result<Arc<Suspended>, NotSuspendable> {
        self.tell_taken();
        while let Some(item) = self.held.pop_front() {
            if matches!(item, Input::Model { .. }) {
                self.held.push_front(item);
                break;
            }
            self.feed(item);
        }
        self.commands += 1;
        let command = CommandId(self.commands);
        self.step(Input::Suspend { command });
        self.poked = true;
        match (self.out.take_reply(command), self.machine.suspended()) {
            (Some(Reply::Suspend(Ok(()))), Some(value)) => Ok(Arc::clone(value)),
            (Some(Reply::Suspend(Err(busy))), _) => Err(busy),
            _ => Err(NotSuspendable::default()),
        }
    }

    /// Has other tools offered from the next step on.
    pub(crate) fn show(&mut self, change: ToolVisibility) {
        self.tell_taken();
        self.step(Input::Visibility(Box::new(change)));
    }

    pub(crate) fn answerer_comes(&mut self) {
        self.answerers += 1;
    }

    /// One less who can answer. With the last one, what nobody else works on fails.
    pub(crate) fn answerer_goes(&mut self) {
        self.answerers -= 1;
        if self.answerers == 0 && self.next.live {
            self.tell_taken();
            self.step(Input::HandleGone);
            self.poked = true;
        }
    }

    pub(crate) fn abort(&mut self, cause: AbortCause) {
        if self.next.live {
            self.settle();
            self.step(Input::Abort(cause));
        }
    }

    /// Whether waiting for the outcome lets the stream go unread: only the handle's own (E14).
    pub(crate) fn discards(&self) -> bool {
        self.primary && !self.split
    }

    /// Lets the primary stream go unread, until it is told to stop.
    pub(crate) fn discard(&mut self) {
        self.discarding += 1;
        self.pass_over();
        self.poked = true;
    }

    pub(crate) fn stop_discarding(&mut self) {
        self.discarding -= 1;
        self.pass_over();
        self.poked = true;
    }

    fn pass_over(&mut self) {
        self.read = self.machine.log().last_seq();
        self.taken = self.read;
    }

    /// The primary stream is gone and no other takes its place.
    pub(crate) fn reader_gone(&mut self) -> Option<Waker> {
        if self.primary && self.next.live {
            let awaited = self.waiting > 0 || self.unattended;
            self.step(Input::ConsumerGone { awaited });
            self.poked = true;
        }
        self.primary = false;
        self.reader.take()
    }

    /// One round of the driver: what came in, then what is due, then what is to be done.
    pub(crate) fn round(&mut self, round: Round<'_>) -> Rest {
        self.poked = false;
        self.asleep = false;
        self.now = self.now.max(self.clock.of_run(round.now));
        self.take_in(round.items, round.full);
        if round.cancelled && self.next.live {
            self.cancel();
        }
        self.tell_taken();
        if round.quiet {
            self.step(Input::Wake { quiet: true });
        } else if self.next.hard.is_some_and(|wake| wake.at <= self.now) {
            self.step(Input::Wake { quiet: false });
        }
        // What was recorded above may have filled a stream that goes unread.
        self.catch_up();
        if let Some(work) = round.work {
            while let Some(output) = self.out.pop() {
                work.push(output);
            }
        }
        Rest {
            live: self.next.live,
            credit: self.next.credit,
            wake: self.next.wake.map(|wake| self.clock.of_engine(wake)),
            hard: self.next.hard.map(|wake| self.clock.of_engine(wake)),
            last: self.machine.log().last_seq(),
            least: self.readers.least_events(),
            unobserved: self.machine.awaits_observers(),
        }
    }

    /// Acknowledges what `into` held and refills it.
    pub(crate) fn read(
        &mut self,
        into: &mut VecDeque<Envelope>,
        waker: &Waker,
        spare: &mut Option<Waker>,
    ) -> Read {
        self.taken = self.taken.max(self.read);
        if self.next.live && !self.machine.has_room() && self.taken > self.told {
            self.poked = true;
        }
        into.extend(self.machine.log().after(self.read).take(MOST_READ).cloned());
        if let Some(last) = into.back() {
            self.read = last.seq;
            return Read::Some;
        }
        if !self.next.live {
            return Read::Ended;
        }
        if self.reader.as_ref().is_some_and(|known| known.will_wake(waker)) {
            return Read::Waits;
        }
        match spare.take() {
            Some(waker) => {
                *spare = self.reader.replace(waker);
                Read::Waits
            }
            None => Read::NeedsWaker,
        }
    }
}
