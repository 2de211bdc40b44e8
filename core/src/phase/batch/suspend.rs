//! A batch that waits for answers only can be put aside, and goes on from what was put aside (H6).

use super::requests::Asker;
use super::{Batch, Slot, State, result};
use crate::machine::Machine;
use crate::message::ToolCall;
use crate::output::Outbox;
use crate::suspend::{NotSuspendable, Suspended, SuspendedCall, SuspendedState};
use crate::text::Text;
use crate::tool::{ApprovalPolicy, Resumption, ToolSpec};
use alloc::sync::Arc;

impl Batch {
    /// Whether the batch waits for answers only: nothing is under way, and a call waits. A secret answer whose tool has not
    /// had its turn keeps it from being put aside.
    pub(crate) fn is_suspendable(&self) -> bool {
        self.preparing + self.authorizing + self.running + self.secrets == 0 && self.waiting > 0
    }

    /// What keeps the batch from being put aside.
    pub(crate) fn busy(&self) -> NotSuspendable {
        let busy = |slot: &&Slot| match slot.state {
            State::Unprepared
            | State::Preparing(_)
            | State::Authorizing(..)
            | State::Begun(_)
            | State::Running(_) => true,
            State::Queued => slot.secret,
            State::Waiting | State::Done(_) => false,
        };
        NotSuspendable { calls: self.slots.iter().filter(busy).map(|slot| slot.call.call).collect() }
    }

    /// How many requests stand open.
    pub(crate) fn open_requests(&self) -> u32 {
        u32::try_from(self.waiting).unwrap_or(u32::MAX)
    }

    /// Puts the calls into `value`.
    pub(crate) fn put_aside(&self, m: &Machine, value: &mut Suspended) {
        value.answer = self.answer.clone();
        value.used = self.requests.used();
        value.asked = self.requests.asked();
        value.calls = self.slots.iter().map(|slot| self.put_slot_aside(m, slot)).collect();
    }

    fn put_slot_aside(&self, m: &Machine, slot: &Slot) -> SuspendedCall {
        let first = slot.asking.first().copied();
        let waiting = first.and_then(|index| self.requests.waiting_on(index));
        let state = match (&slot.state, waiting, &slot.resumed) {
            (State::Done(result), ..) => SuspendedState::Done(Arc::clone(result)),
            (State::Waiting, Some((request, due, asker)), _) => SuspendedState::Waiting {
                request: Arc::clone(request),
                left: due.map(|due| due.since(m.now)),
                state: match asker {
                    Asker::Kept(state) => Some(state.clone()),
                    Asker::Consent | Asker::Client | Asker::Running(..) => None,
                },
                order: self.requests.order(first.unwrap_or_default()),
            },
            (_, _, Some(resumed)) => {
                SuspendedState::Answered { state: resumed.state.clone(), answer: resumed.answer.clone() }
            }
            (_, _, None) => SuspendedState::Queued,
        };
        SuspendedCall {
            call: Arc::clone(&slot.call),
            edited: slot.edited.as_ref().map(|call| call.arguments.clone()),
            access: slot.access.clone(),
            started: slot.started,
            state,
        }
    }
}

/// The batch of a run that goes on. Requests stand open as before; calls whose tool is not there any more end.
///
/// `cancelled`: the run ends at once, so that nothing is begun.
pub(crate) fn resume(
    m: &mut Machine,
    value: &Suspended,
    tools: &[Arc<ToolSpec>],
    cancelled: bool,
    out: &mut Outbox,
) -> Batch {
    let default = m.config.deadlines.tool;
    let slots = value.calls.iter().map(|call| {
        let spec = tools.iter().find(|spec| spec.name == call.call.name).cloned();
        let mut slot = Slot::new(Arc::clone(&call.call), spec, default);
        let edit =
            |arguments: &Text| Arc::new(ToolCall { arguments: arguments.clone(), ..(*call.call).clone() });
        slot.edited = call.edited.as_ref().map(edit);
        slot.access = call.access.clone();
        slot.started = call.started;
        slot
    });
    let mut batch = Batch::of(slots.collect(), value.answer.clone());
    let waiting = u32::try_from(value.requests().count()).unwrap_or(u32::MAX);
    batch.requests.before = value.asked.saturating_sub(waiting);
    batch.requests.use_up(value.used.iter().cloned());
    for (at, call) in value.calls.iter().enumerate() {
        if !matches!(call.state, SuspendedState::Waiting { .. }) {
            batch.take_up(m, at, call, cancelled, out);
        }
    }
    // In the order in which they were asked, on which the order of what falls due together depends.
    for (_, at, _) in value.waiting() {
        if let Some(call) = value.calls.get(at) {
            batch.take_up(m, at, call, cancelled, out);
        }
    }
    if !cancelled {
        batch.advance(m, out);
    }
    batch
}

impl Batch {
    fn take_up(
        &mut self,
        m: &mut Machine,
        at: usize,
        call: &SuspendedCall,
        cancelled: bool,
        out: &mut Outbox,
    ) {
        if let SuspendedState::Done(result) = &call.state {
            self.set(at, State::Done(Arc::clone(result)));
            self.open -= 1;
            return;
        }
        let barred = self.slots.get(at).and_then(|slot| slot.bar(call));
        if let (Some(bar), false) = (barred, cancelled) {
            return self.end_barred(m, at, call, bar, out);
        }
        match &call.state {
            SuspendedState::Done(_) | SuspendedState::Queued => {}
            SuspendedState::Answered { state, answer } => {
                if let Some(slot) = self.slots.get_mut(at) {
                    let resumed = Resumption { state: state.clone(), answer: answer.clone() };
                    slot.resumed = Some(Arc::new(resumed));
                }
            }
            SuspendedState::Waiting { request, left, .. } => {
                let asker = asker(call);
                self.set(at, State::Waiting);
                self.reopen(m, at, (Arc::clone(request), *left), asker, cancelled, out);
            }
        }
    }

    /// Ends a call that cannot go on here; its request is closed first.
    fn end_barred(&mut self, m: &mut Machine, at: usize, call: &SuspendedCall, bar: Bar, out: &mut Outbox) {
        if let SuspendedState::Waiting { request, left, .. } = &call.state {
            self.set(at, State::Waiting);
            self.reopen(m, at, (Arc::clone(request), *left), asker(call), true, out);
        }
        let (offered, config) = (Arc::clone(&m.offered), Arc::clone(&m.config));
        self.finish(m, at, out, |slot| match bar {
            Bar::Missing if slot.started => result::tool_is_gone(&slot.call),
            Bar::Missing => result::unavailable(&slot.call, &offered, &config.limits),
            Bar::Denied(reason) => result::denied(&slot.call, &reason, &config.limits),
        });
    }
}

/// Why a call cannot go on in this engine.
enum Bar {
    /// Its tool is not there, or the client executes it where it had a question of its own.
    Missing,
    /// It has not started, and its tool's policy denies it here: the value holds no policies.
    Denied(Text),
}

impl Slot {
    fn bar(&self, call: &SuspendedCall) -> Option<Bar> {
        let Some(spec) = &self.spec else { return Some(Bar::Missing) };
        let asked = match &call.state {
            SuspendedState::Answered { .. } | SuspendedState::Waiting { state: Some(_), .. } => true,
            SuspendedState::Done(_) | SuspendedState::Queued | SuspendedState::Waiting { .. } => false,
        };
        if spec.client && asked {
            return Some(Bar::Missing);
        }
        match &spec.approval {
            ApprovalPolicy::Deny { reason } if !call.started => Some(Bar::Denied(reason.clone())),
            ApprovalPolicy::Deny { .. }
            | ApprovalPolicy::Allow
            | ApprovalPolicy::Ask
            | ApprovalPolicy::Decide => None,
        }
    }
}

/// Who waits for the answer.
fn asker(call: &SuspendedCall) -> Asker {
    use crate::host_input::RequestKind;
    match &call.state {
        SuspendedState::Waiting { request, state, .. } => match (&request.kind, state) {
            (RequestKind::Call, _) => Asker::Client,
            (RequestKind::Question(_), Some(state)) => Asker::Kept(state.clone()),
            (RequestKind::Approval { .. } | RequestKind::Question(_), _) => Asker::Consent,
        },
        SuspendedState::Done(_) | SuspendedState::Queued | SuspendedState::Answered { .. } => Asker::Consent,
    }
}
