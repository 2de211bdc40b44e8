//! What required observers have accepted, whom they are asked about next, and the work that waits for it (L5).
//!
//! ```text
//! recorded -> asked of observer 0 -> 1 -> ... -> the last: acknowledged, and work that was held back begins
//!                          \-> refused: passed over by the later ones; the run fails, its close is asked of all
//! ```
//!
//! One request is under way at a time. Its events are those that were recorded when its round began, so that an
//! observer can make many events durable at the price of one.

use crate::error::RunError;
use crate::event::Envelope;
use crate::id::{OpId, Seq};
use crate::log::EventLog;
use crate::machine::Machine;
use crate::observe::{DurabilityError, DurabilityReason, MAX_OBSERVERS, ObserveRequest, ObserverFault};
use crate::outcome::Outcome;
use crate::output::{Outbox, Output, Work};
use crate::problem::clean;
use crate::text::Text;
use crate::time::Time;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The required observers of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observers {
    /// How far each has come, in the order of construction.
    seen: Vec<Seq>,
    /// How far all of them have come.
    acknowledged: Seq,
    /// How far this round goes.
    target: Seq,
    asked: Option<Asked>,
    /// The number of the last request.
    ops: u64,
    /// Events that an observer refused, oldest first: those behind it pass them over.
    refused: Vec<Seq>,
    /// Work that begins with the last acknowledgement, in order.
    held: Vec<(OpId, Work)>,
    /// When the time for the end of the record is up.
    deadline: Option<Time>,
    /// What was first refused after the run's end.
    loss: Option<DurabilityError>,
}

/// A request that is under way.
#[derive(Clone, Debug)]
struct Asked {
    op: OpId,
    observer: usize,
    events: Arc<[Envelope]>,
}

/// An observer did not accept an event.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    observer: u32,
    seq: Seq,
    message: Text,
}

impl Refusal {
    /// How a run that is under way ends for it.
    pub(crate) fn into_error(self) -> RunError {
        RunError::Observer { observer: self.observer, seq: self.seq, message: self.message }
    }
}

impl Observers {
    /// So many observers of a record that goes on behind `seq`. An event is asked about at most once for each observer, so
    /// that the numbers of requests do not come again in a run's next part.
    pub(crate) fn new(count: u32, seq: Seq) -> Self {
        let seen = (0..count).map(|_| seq).collect();
        let ops = seq.0.saturating_mul(u64::from(MAX_OBSERVERS));
        Self { seen, acknowledged: seq, target: seq, ops, ..Self::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Events that were refused, oldest first.
    pub(crate) fn refused(&self) -> &[Seq] {
        &self.refused
    }

    /// Whether `op` is the request that is under way.
    pub(crate) fn is_asked(&self, op: OpId) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.op == op)
    }

    /// Whether `op` is a request of this run, under way or over.
    pub(crate) fn was_issued(&self, op: OpId) -> bool {
        op.observation().is_some_and(|number| (1..=self.ops).contains(&number))
    }

    /// Whether the work of `op` waits, so that nobody outside knows of it.
    pub(crate) fn holds(&self, op: OpId) -> bool {
        self.place(op).is_some()
    }

    /// Operations are numbered upwards, and so they wait.
    fn place(&self, op: OpId) -> Option<usize> {
        self.held.binary_search_by_key(&op, |(held, _)| *held).ok()
    }

    /// Keeps work back until what was recorded before it is acknowledged.
    pub(crate) fn hold(&mut self, op: OpId, work: Work) {
        self.held.push((op, work));
    }

    /// Gives up work that waits; whether it was there.
    pub(crate) fn give_up(&mut self, op: OpId) -> bool {
        self.place(op).map(|at| self.held.remove(at)).is_some()
    }

    /// Gives up all work that waits, oldest first.
    pub(crate) fn give_up_all(&mut self) -> Vec<(OpId, Work)> {
        core::mem::take(&mut self.held)
    }

    /// When the time for the end of the record is up.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// Whom to ask next, and about which events: those after the first and up to the second.
    fn next(&mut self, last: Seq) -> Option<(usize, Seq, Seq)> {
        loop {
            let behind = self.seen.iter().position(|seen| *seen < self.target);
            if let Some((observer, after)) = behind.and_then(|at| Some((at, *self.seen.get(at)?))) {
                let refused = self.refused.partition_point(|seq| *seq <= after);
                let refused = self.refused.get(refused).map(|seq| Seq(seq.0 - 1));
                return Some((observer, after, refused.unwrap_or(self.target).min(self.target)));
            }
            if self.target >= last {
                return None;
            }
            self.target = last;
        }
    }

    /// The request that is under way, if it is `op`: it is over.
    fn answered(&mut self, op: OpId) -> Option<Asked> {
        if self.is_asked(op) { self.asked.take() } else { None }
    }

    fn accept(&mut self, observer: usize, through: Seq) {
        if let Some(seen) = self.seen.get_mut(observer) {
            *seen = through;
        }
        self.advance();
    }

    /// An observer did not accept `seq`: nobody else is asked about it, and the round ends with it.
    fn refuse(&mut self, observer: usize, seq: Seq) {
        let at = self.refused.partition_point(|known| *known < seq);
        self.refused.insert(at, seq);
        self.target = seq;
        self.accept(observer, seq);
    }

    fn advance(&mut self) {
        for seen in &mut self.seen {
            while self.refused.binary_search(&Seq(seen.0 + 1)).is_ok() {
                seen.0 += 1;
            }
        }
        self.acknowledged = self.seen.iter().min().copied().unwrap_or_default();
    }

    /// The first observer that is furthest behind.
    fn last_one(&self) -> u32 {
        let at = self.seen.iter().position(|seen| *seen == self.acknowledged).unwrap_or_default();
        u32::try_from(at).unwrap_or(u32::MAX)
    }
}

impl Machine {
    /// Through which event all required observers have come; without observers the last one.
    pub(crate) fn acknowledged(&self) -> Seq {
        if self.observers.is_empty() { self.log.last_seq() } else { self.observers.acknowledged }
    }

    /// Whether something is recorded that is not acknowledged.
    pub(crate) fn awaits_observers(&self) -> bool {
        !self.observers.is_empty() && self.observers.acknowledged < self.log.last_seq()
    }

    /// Whether as much is unacknowledged as a primary stream may leave unread.
    pub(crate) fn is_backlogged(&self) -> bool {
        let limits = &self.config.limits;
        let events = self.log.last_seq().0 - self.acknowledged().0;
        self.awaits_observers()
            && (events >= limits.event_capacity as u64
                || self.log.bytes_after(self.acknowledged()) >= limits.event_capacity_bytes)
    }

    /// An observer answers; what it refused, if it did.
    pub(crate) fn observed(&mut self, op: OpId, result: Result<(), Box<ObserverFault>>) -> Option<Refusal> {
        let Some(asked) = self.observers.answered(op) else {
            self.ignored += 1;
            return None;
        };
        let (first, through) = range(&asked.events);
        match result {
            Ok(()) => {
                self.observers.accept(asked.observer, through);
                None
            }
            Err(fault) => {
                let seq = Seq(fault.accepted.0.saturating_add(1)).clamp(first, through);
                self.observers.refuse(asked.observer, seq);
                let message = clean(&fault.message, self.config.limits.error_bytes);
                let observer = u32::try_from(asked.observer).unwrap_or(u32::MAX);
                Some(Refusal { observer, seq, message })
            }
        }
    }

    /// Notes what was refused after the run's end.
    pub(crate) fn note_loss(&mut self, refusal: Refusal) {
        let reason = DurabilityReason::Refused(refusal.message);
        self.lose(refusal.observer, refusal.seq, reason);
    }

    fn lose(&mut self, observer: u32, seq: Seq, reason: DurabilityReason) {
        if let (None, Some(envelope)) = (&self.observers.loss, self.log.get(seq)) {
            let kind = envelope.event.kind();
            self.observers.loss = Some(DurabilityError { observer, seq, kind, reason });
        }
    }

    /// Whether the terminal event is recorded and the result fixed; observers may still be asked about it.
    pub(crate) fn is_over(&self) -> bool {
        self.outcome.is_some() || self.pending.is_some()
    }

    /// The result of a run that is over.
    pub(crate) fn result(&self) -> Option<&Outcome> {
        self.outcome.as_deref().or(self.pending.as_deref())
    }

    /// Fixes the result. It is the outcome when the observers have accepted the end of the record, or have had their
    /// time.
    pub(crate) fn conclude(&mut self, outcome: Outcome) {
        if self.observers.is_empty() {
            self.outcome = Some(Arc::new(outcome));
        } else {
            self.observers.deadline = self.config.deadlines.finalization.map(|span| self.now.after(span));
            self.pending = Some(Box::new(outcome));
        }
    }

    fn publish_outcome(&mut self) {
        if let Some(outcome) = self.pending.take() {
            let (late, durability) = (self.late.clone(), self.observers.loss.take());
            self.outcome = Some(Arc::new(Outcome { late, durability, ..*outcome }));
        }
    }

    /// The observer that is asked is waited for no longer.
    fn leave_observer(&mut self, out: &mut Outbox) {
        if let Some(asked) = self.observers.asked.take() {
            out.push(Output::Abandon { op: asked.op });
        }
    }

    /// Other observers take the places of those that are gone with their process: they are asked about what was not
    /// accepted, as far as the machine knows (H7).
    pub(crate) fn observers_changed(&mut self, count: u32, out: &mut Outbox) {
        let (base, ops) = (self.acknowledged(), self.observers.ops);
        self.leave_observer(out);
        let before = core::mem::replace(&mut self.observers, Observers::new(count, base));
        for (seen, known) in self.observers.seen.iter_mut().zip(before.seen) {
            *seen = known;
        }
        let deadline = self.config.deadlines.finalization.map(|span| self.now.after(span));
        self.observers.deadline = before.deadline.and(deadline);
        (self.observers.ops, self.observers.refused) = (ops, before.refused);
        (self.observers.held, self.observers.loss) = (before.held, before.loss);
        self.observers.advance();
        if count == 0 {
            self.publish_outcome();
        }
    }

    /// Nobody is asked any more about a run that is over: the rest of its record is only in the log.
    pub(crate) fn stop_observing(&mut self, reason: DurabilityReason, out: &mut Outbox) {
        if self.pending.is_none() {
            return;
        }
        self.leave_observer(out);
        if self.awaits_observers() {
            let first = Seq(self.observers.acknowledged.0 + 1);
            self.lose(self.observers.last_one(), first, reason);
        }
        self.publish_outcome();
    }

    /// The last act of a step: asks the next observer, or lets begin what waited for the last one.
    pub(crate) fn settle_observers(&mut self, out: &mut Outbox) {
        if self.observers.is_empty() || self.outcome.is_some() {
            return;
        }
        if !self.awaits_observers() {
            for (op, work) in self.observers.give_up_all() {
                out.push(Output::Begin { op, work });
            }
            return self.publish_outcome();
        }
        if self.pending.is_some() && self.observers.deadline.is_some_and(|at| at <= self.now) {
            return self.stop_observing(DurabilityReason::TimedOut, out);
        }
        if self.observers.asked.is_none() {
            self.ask_next(out);
        }
    }

    fn ask_next(&mut self, out: &mut Outbox) {
        let Some((observer, after, through)) = self.observers.next(self.log.last_seq()) else { return };
        self.observers.ops += 1;
        let op = OpId::observing(self.observers.ops);
        let events = events(&self.log, after, through);
        self.observers.asked = Some(Asked { op, observer, events: Arc::clone(&events) });
        let (run, observer) = (self.log.run_id().clone(), u32::try_from(observer).unwrap_or(u32::MAX));
        let work = Work::Observe(Arc::new(ObserveRequest { run, observer, events }));
        out.push(Output::Begin { op, work });
    }
}

fn events(log: &EventLog, after: Seq, through: Seq) -> Arc<[Envelope]> {
    log.after(after).take_while(|envelope| envelope.seq <= through).cloned().collect()
}

fn range(events: &[Envelope]) -> (Seq, Seq) {
    let first = events.first().map_or(Seq(0), |first| first.seq);
    (first, events.last().map_or(first, |last| last.seq))
}
