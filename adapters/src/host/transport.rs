//! Carries out a run's work with a host's model, tools and approver.

use super::op::{Job, Look, ToolJob};
use super::ready::{OpWaker, ReadyList};
use super::{
    ApprovalContext, CompactionContext, Flavour, Host, ModelContext, ResponderContext, Steering, ToolContext,
    Watch,
};
use crate::CancellationToken;
use crate::boundary::BoundaryPort;
use crate::core::Input;
use crate::core::compaction::CompactionFault;
use crate::core::host_input::{AskError, HostAnswer};
use crate::core::id::{OpId, RunId};
use crate::core::observe::ObserverFault;
use crate::core::output::{Credit, Work};
use crate::core::steer::Steer;
use crate::core::tool::{ToolEnd, ToolFault, ToolInvocation};
use crate::start::RunSeed;
use crate::store::Tail;
use crate::transport::Transport;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// The transport of a host: polls what was woken, one after the other, and lets no panic through.
pub struct HostTransport<F: Flavour> {
    host: Host<F>,
    run: RunId,
    token: CancellationToken,
    boundary: Option<BoundaryPort>,
    /// What of the run its keeper has not stored yet.
    tail: Option<Arc<Tail>>,
    ready: Arc<ReadyList>,
    ops: BTreeMap<OpId, Op<F>>,
    /// To be polled, in the order of their wakes.
    queue: VecDeque<OpId>,
    /// To be polled when there is room again.
    parked: Vec<OpId>,
    /// Tools whose start is recorded and not accepted by observers.
    starting: Vec<OpId>,
    /// Whether observers are asked.
    unobserved: bool,
    /// Counts the times that there was room. An operation that has yielded an item while there was none is not
    /// polled before this changes.
    rooms: u64,
}

struct Op<F: Flavour> {
    job: Job<F>,
    waker: Waker,
    state: Arc<OpWaker>,
    held: Option<u64>,
    /// Where a model's attempt receives inputs.
    steering: Option<Steering>,
}

impl<F: Flavour> HostTransport<F> {
    /// The transport of one run, whose models, tools and approver see `token`.
    pub fn new(host: Host<F>, run: RunId, token: CancellationToken) -> Self {
        Self {
            host,
            run,
            token,
            boundary: None,
            tail: None,
            ready: Arc::default(),
            ops: BTreeMap::new(),
            queue: VecDeque::new(),
            parked: Vec::new(),
            starting: Vec::new(),
            unobserved: false,
            rooms: 0,
        }
    }

    /// The transport of a run that is being made, which reaches the run's source of boundary inputs too.
    pub(crate) fn for_run(host: Host<F>, seed: &RunSeed) -> Self {
        let mut transport = Self::new(host, seed.id.clone(), seed.token.clone());
        transport.boundary.clone_from(&seed.boundary);
        transport.tail.clone_from(&seed.tail);
        transport
    }

    fn job(&self, work: Work, state: &Arc<OpWaker>, steering: Option<&Steering>) -> Option<Job<F>> {
        let token = self.token.clone();
        match work {
            Work::Model(request) => {
                let cx = ModelContext::new(token).with_steering(steering.cloned().unwrap_or_default());
                let argument = (request, cx);
                Some(Job::Opening(F::call(&self.host.parts.open, argument)))
            }
            Work::Tool(invocation) => Some(self.tool(invocation, state)),
            Work::Authorize(request) => Some(match &self.host.parts.decide {
                Some(decide) => {
                    let binding = request.binding;
                    let cx = ApprovalContext { token, run: self.run.clone() };
                    Job::Approval(F::call(decide, (request, cx)), binding)
                }
                None => Job::Unapproved,
            }),
            Work::Prepare(invocation) => Some(self.preparation(invocation, state)),
            Work::Respond(request) => Some(match &self.host.parts.respond {
                Some(respond) => {
                    let cx = ResponderContext { token, run: self.run.clone() };
                    Job::Responding(F::call(respond, (request, cx)))
                }
                None => Job::Responding(F::ready(None)),
            }),
            Work::Compact(request) => Some(Job::Compacting(match self.host.compactor() {
                Some(compact) => F::call(&compact, (request, CompactionContext { token })),
                None => F::ready(Err(CompactionFault::new("the host has no compactor"))),
            })),
            Work::Observe(request) => {
                let after = request.after();
                Some(match self.host.parts.observers.get(request.observer as usize) {
                    Some(Watch::Observe(observe)) => Job::Observing(F::call(observe, request), after),
                    Some(Watch::Keep(keep)) => match &self.tail {
                        Some(tail) => Job::Observing(F::call(keep, (Arc::clone(tail), request)), after),
                        None => {
                            let fault = ObserverFault::new(after, "the run is not kept");
                            Job::Observing(F::ready(Err(fault)), after)
                        }
                    },
                    None => {
                        let fault = ObserverFault::new(after, "the host has no such observer");
                        Job::Observing(F::ready(Err(fault)), after)
                    }
                })
            }
            _ => None,
        }
    }

    fn context(&self, invocation: &ToolInvocation, state: &Arc<OpWaker>) -> ToolContext {
        ToolContext {
            token: self.token.clone(),
            run: self.run.clone(),
            call: Arc::clone(&invocation.call),
            resumed: invocation.resumed.clone(),
            tools: Arc::clone(&self.host.parts.tools),
            state: Arc::clone(state),
        }
    }

    fn preparation(&self, invocation: ToolInvocation, state: &Arc<OpWaker>) -> Job<F> {
        // It has not started: nobody would take what it reports or asks.
        state.progress.close();
        state.asks.close();
        let cx = self.context(&invocation, state);
        match self.host.parts.calls.get(&invocation.spec.name) {
            Some(calls) => Job::Preparing(F::call(&calls.prepare, (invocation, cx))),
            None => {
                let fault = ToolFault::new("the host has no such tool").definitive();
                Job::Preparing(F::ready(Err(fault)))
            }
        }
    }

    fn tool(&self, invocation: ToolInvocation, state: &Arc<OpWaker>) -> Job<F> {
        let state = Arc::clone(state);
        let cx = self.context(&invocation, &state);
        match self.host.parts.calls.get(&invocation.spec.name) {
            Some(calls) => {
                let future = F::call(&calls.call, (invocation, cx));
                Job::Tool(ToolJob { started: false, entered: false, future: Some(future), state, end: None })
            }
            None => {
                let fault = ToolFault::new("the host has no such tool").definitive();
                Job::Tool(ToolJob {
                    started: false,
                    entered: false,
                    future: None,
                    state,
                    end: Some(ToolEnd::Failed(Box::new(fault))),
                })
            }
        }
    }

    /// Polls one operation and finds it its next place.
    fn look(&mut self, id: OpId, room: Credit, into: &mut Vec<Input>) {
        // An abandoned operation may still stand in the queue.
        let Some(op) = self.ops.get_mut(&id) else { return };
        if self.unobserved && op.job.is_about_to_enter() {
            self.starting.push(id);
            return;
        }
        let full = room.is_zero();
        if full && (op.held == Some(self.rooms) || !op.job.goes_on_while_full()) {
            self.parked.push(id);
            return;
        }
        op.state.rearm();
        let mut cx = Context::from_waker(&op.waker);
        let look = op.job.look(id, &mut cx, room, into);
        if full && !into.is_empty() {
            op.held = Some(self.rooms);
        }
        match look {
            Look::Waits => {}
            Look::Again => {
                if op.state.claim() {
                    self.queue.push_back(id);
                }
            }
            Look::Ended => self.abandon(id),
        }
    }
}

impl<F: Flavour> Transport for HostTransport<F> {
    fn begin(&mut self, op: OpId, work: Work) {
        if let Work::Boundary(request) = work {
            if let Some(port) = &self.boundary {
                port.ask(op, request);
            }
            return;
        }
        let steering = matches!(work, Work::Model(_)).then(Steering::default);
        let state = OpWaker::queued(op, &self.ready);
        let waker = Waker::from(Arc::clone(&state));
        if let Some(job) = self.job(work, &state, steering.as_ref()) {
            self.ops.insert(op, Op { job, waker, state, held: None, steering });
            self.queue.push_back(op);
        }
    }

    fn abandon(&mut self, op: OpId) {
        if let Some(op) = self.ops.remove(&op) {
            op.job.end();
        } else if let Some(port) = &self.boundary {
            port.withdraw(&self.run, op);
        }
    }

    fn steer(&mut self, op: OpId, steer: Arc<Steer>) {
        if let Some(steering) = self.ops.get(&op).and_then(|op| op.steering.as_ref()) {
            steering.push(steer);
        }
    }

    fn deliver(&mut self, op: OpId, ticket: u64, answer: Box<Result<HostAnswer, AskError>>) {
        if let Some(op) = self.ops.get(&op) {
            op.state.asks.deliver(ticket, answer);
        }
    }

    fn unobserved(&mut self, waits: bool) {
        self.unobserved = waits;
        if !waits {
            self.queue.extend(self.starting.drain(..));
        }
    }

    fn poll_items(&mut self, cx: &mut Context<'_>, room: Credit, into: &mut Vec<Input>) -> Poll<()> {
        if !room.is_zero() {
            self.rooms += 1;
            self.queue.extend(self.parked.drain(..));
        }
        self.ready.attend(cx.waker(), &mut self.queue);
        // What is woken by these looks comes next time: an operation that wakes itself does not hold up the rest.
        for _ in 0..self.queue.len() {
            let Some(id) = self.queue.pop_front() else { break };
            self.look(id, room, into);
            if !into.is_empty() {
                return Poll::Ready(());
            }
        }
        Poll::Pending
    }
}

impl<F: Flavour> Drop for HostTransport<F> {
    fn drop(&mut self) {
        self.ready.leave();
        for (_, op) in std::mem::take(&mut self.ops) {
            op.job.end();
        }
    }
}

impl<F: Flavour> fmt::Debug for HostTransport<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostTransport").field("run", &self.run).field("ops", &self.ops.len()).finish()
    }
}
