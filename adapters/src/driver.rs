//! The future that drives a run: polls transport and timer, and feeds the machine.

use crate::core::id::Seq;
use crate::core::input::AbortCause;
use crate::core::outcome::Outcome;
use crate::core::output::{Credit, Wake};
use crate::core::time::Time;
use crate::core::{Input, Output};
use crate::gate::{GateKeeper, Gates};
use crate::panics::{caught, drop_caught};
use crate::shared::RunShared;
use crate::state::{Rest, Round};
use crate::timer::Timer;
use crate::token::WaitForCancellation;
use crate::transport::Transport;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Events, items and rounds of one poll: a driver that never sleeps would starve the readers on its thread. Where a
/// subscription may be behind by little, a poll brings no more than a quarter of that.
const BUDGET: u64 = 256;

/// Drives one run; poll it on any executor, or block on it. Its output is the run's outcome.
///
/// It is `Send` exactly when timer and transport are. Dropping it ends a run that is not finished: when the drop
/// returns, the run is committed, its log closed and its session idle (C8). Whatever panics in it ends the run as
/// failed, and is not passed on (E2).
#[must_use = "a run makes no progress unless its driver is polled"]
pub struct Driver<T, X> {
    shared: Arc<RunShared>,
    timer: Option<T>,
    transport: Option<X>,
    /// Futures of the session's earlier runs that are not dropped yet (C8).
    before: Gates,
    gate: Option<GateKeeper>,
    ears: Option<Ears>,
    items: Vec<Input>,
    work: Vec<Output>,
    /// The last poll of the transport had no room.
    full: bool,
    /// The transport had nothing when it was polled at this time.
    quiet: Option<Time>,
    /// When the timer will wake this task.
    armed: Option<Time>,
    /// The alarm was looked at in this poll.
    asked: bool,
    outcome: Option<Arc<Outcome>>,
}

impl<T, X> Unpin for Driver<T, X> {}

impl<T, X> Driver<T, X> {
    pub(crate) fn new(
        shared: Arc<RunShared>,
        timer: T,
        transport: X,
        before: Gates,
        gate: GateKeeper,
    ) -> Self {
        let own = shared.token.cancelled();
        let outer = shared.outer.as_ref().map(|token| token.cancelled());
        Self {
            shared,
            timer: Some(timer),
            transport: Some(transport),
            before,
            gate: Some(gate),
            ears: Some(Ears { own, outer, heard_by: None }),
            items: Vec::with_capacity(16),
            work: Vec::new(),
            full: false,
            quiet: None,
            armed: None,
            asked: false,
            outcome: None,
        }
    }

    /// Drops what the run had under way, then lets the session's next run begin work.
    fn let_go(&mut self) {
        drop_caught(self.transport.take());
        drop_caught(self.timer.take());
        drop_caught(self.ears.take());
        drop_caught(std::mem::take(&mut self.before));
        self.shared.forget_driver();
        self.gate = None;
    }

    fn finish(&mut self) -> Poll<Arc<Outcome>> {
        self.let_go();
        self.outcome = self.shared.outcome();
        match &self.outcome {
            Some(outcome) => Poll::Ready(Arc::clone(outcome)),
            None => Poll::Pending,
        }
    }

    /// Ends the run as `cause`, with what has come in so far.
    fn abort(&mut self, cause: AbortCause) {
        self.shared.with(|state| {
            state.take_in(&mut self.items, false);
        });
        self.shared.abort(cause);
    }
}

impl<T: Timer, X: Transport> Driver<T, X> {
    /// Goes on until the run has ended (`Ready`) or nothing is left to do for now.
    fn run(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(ears) = &mut self.ears {
            ears.listen(cx);
        }
        self.asked = false;
        let mut budget = Budget::default();
        loop {
            let blocked = !self.before.poll_open(cx);
            let Some(timer) = &self.timer else { return Poll::Ready(()) };
            let quiet = self.quiet.take();
            let now = quiet.unwrap_or_else(|| timer.now());
            let rest = self.round(now, quiet.is_some(), blocked);
            if !self.carry_out() {
                self.shared.abort(AbortCause::DriverPanicked);
                return Poll::Ready(());
            }
            if !rest.live {
                return Poll::Ready(());
            }
            if budget.is_spent(&rest) {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            if !blocked && self.poll_items(cx, &rest, &mut budget) {
                continue;
            }
            let wake = rest.wake;
            if !blocked && wake.is_some_and(|wake| wake.why.is_quiet() && wake.at <= now) {
                self.quiet = Some(now);
                continue;
            }
            // While earlier work is in the way the transport cannot be asked, so that nothing quiet can be decided.
            if self.sleeps(cx, if blocked { rest.hard } else { wake }) {
                return Poll::Pending;
            }
        }
    }

    fn round(&mut self, now: Time, quiet: bool, blocked: bool) -> Rest {
        let cancelled = self.shared.is_cancelled();
        let (items, full) = (&mut self.items, self.full);
        let work = if blocked { None } else { Some(&mut self.work) };
        let rest = self.shared.with(|state| state.round(Round { now, items, full, cancelled, quiet, work }));
        if cancelled {
            self.shared.token.cancel();
        }
        if self.armed.is_some_and(|at| at <= now) {
            self.armed = None;
        }
        rest
    }

    /// Begins and abandons work; false if some of it panicked. That does not keep the rest from being abandoned.
    fn carry_out(&mut self) -> bool {
        let Some(transport) = &mut self.transport else { return true };
        let mut well = true;
        for output in self.work.drain(..) {
            let done = caught(|| match output {
                Output::Begin { op, work } => transport.begin(op, work),
                Output::Abandon { op } => transport.abandon(op),
                Output::Deliver { op, ticket, answer } => transport.deliver(op, ticket, answer),
                Output::Steer { op, steer } => transport.steer(op, steer),
                _ => {}
            });
            well &= done.is_some();
        }
        well
    }

    /// Whether the transport had something.
    fn poll_items(&mut self, cx: &mut Context<'_>, rest: &Rest, budget: &mut Budget) -> bool {
        let Some(transport) = &mut self.transport else { return false };
        self.full = rest.credit.is_zero();
        transport.unobserved(rest.unobserved);
        let credit = Credit { items: rest.credit.items.min(most(rest)), ..rest.credit };
        let ready = transport.poll_items(cx, credit, &mut self.items).is_ready();
        budget.items += self.items.len() as u64;
        ready
    }

    /// Arms the timer and goes to sleep, unless the time has come or something has happened.
    fn sleeps(&mut self, cx: &mut Context<'_>, wake: Option<Wake>) -> bool {
        if let Some(wake) = wake
            && self.arm(wake.at, cx)
        {
            return false;
        }
        self.shared.sleep(cx.waker())
    }

    /// Whether an alarm has gone off, at `at` at the latest. One that goes off earlier anyway is left as it is:
    /// deadlines move with each item. It is asked again in each poll: it may have woken this task too early, or another
    /// task that polled the driver before.
    fn arm(&mut self, at: Time, cx: &mut Context<'_>) -> bool {
        let Some(timer) = &mut self.timer else { return false };
        let armed = self.armed.filter(|armed| *armed <= at);
        if armed.is_some() && self.asked {
            return false;
        }
        self.asked = true;
        let until = armed.unwrap_or(at);
        let due = timer.poll_at(until, cx).is_ready();
        self.armed = if due { None } else { Some(until) };
        due
    }
}

impl<T: Timer, X: Transport> Future for Driver<T, X> {
    type Output = Arc<Outcome>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Arc<Outcome>> {
        let this = self.get_mut();
        if let Some(outcome) = &this.outcome {
            return Poll::Ready(Arc::clone(outcome));
        }
        match caught(|| this.run(cx)) {
            Some(Poll::Pending) => Poll::Pending,
            Some(Poll::Ready(())) => this.finish(),
            None => {
                this.abort(AbortCause::DriverPanicked);
                this.finish()
            }
        }
    }
}

impl<T, X> Drop for Driver<T, X> {
    fn drop(&mut self) {
        if self.outcome.is_none() {
            self.abort(AbortCause::DriverDropped);
            self.let_go();
        }
    }
}

impl<T, X> fmt::Debug for Driver<T, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("run", &self.shared.id).finish_non_exhaustive()
    }
}

/// Waits for the run's tokens on behalf of the driver's task.
struct Ears {
    own: WaitForCancellation,
    outer: Option<WaitForCancellation>,
    heard_by: Option<Waker>,
}

impl Ears {
    /// Has a cancellation wake this task. The flags themselves are looked at in each round.
    fn listen(&mut self, cx: &mut Context<'_>) {
        if self.heard_by.as_ref().is_some_and(|known| known.will_wake(cx.waker())) {
            return;
        }
        let _ = Pin::new(&mut self.own).poll(cx);
        if let Some(outer) = &mut self.outer {
            let _ = Pin::new(outer).poll(cx);
        }
        self.heard_by = Some(cx.waker().clone());
    }
}

#[derive(Default)]
struct Budget {
    first: Option<Seq>,
    rounds: u64,
    items: u64,
}

impl Budget {
    fn is_spent(&mut self, rest: &Rest) -> bool {
        let first = *self.first.get_or_insert(rest.last);
        self.rounds += 1;
        let most = most(rest) as u64;
        self.rounds > BUDGET || self.items >= most || rest.last.0 - first.0 >= most
    }
}

/// The most items that a poll brings, at least one.
fn most(rest: &Rest) -> usize {
    let most = rest.least.map_or(BUDGET, |least| BUDGET.min(least.div_ceil(4)));
    usize::try_from(most).unwrap_or(usize::MAX).max(1)
}
