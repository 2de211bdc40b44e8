//! A compaction under way (K1-K5, E11): between steps, or within a model call whose context was too large.

use super::model::ModelCall;
use super::{Ending, Flow};
use crate::compaction::{
    Compaction, CompactionError, CompactionFault, CompactionRequest, Trigger, cut, replaced,
};
use crate::error::RunError;
use crate::event::{CompactionCompleted, CompactionFailed, Event};
use crate::history::History;
use crate::id::{MessageId, OpId};
use crate::machine::{Machine, OpKind};
use crate::message::MessageBounds;
use crate::model::Problem;
use crate::output::{Outbox, WakeReason, Work};
use crate::time::Time;
use crate::usage::Usage;
use alloc::boxed::Box;
use alloc::sync::Arc;

/// A compaction that the run waits for.
#[derive(Clone, Debug)]
pub(crate) struct Compacting {
    op: OpId,
    trigger: Trigger,
    cut: usize,
    deadline: Option<Time>,
    /// The model call that goes on with the result, and why it could not before.
    pub(crate) call: Option<(Box<ModelCall>, Box<Problem>)>,
}

/// Where a compaction would cut, for want of which there is none.
fn place(m: &Machine, trigger: Trigger) -> Option<usize> {
    let policy = &m.config.compaction;
    if !m.compacts || policy.failures == 0 {
        return None;
    }
    let kept = policy.kept_tokens(m.history.estimated_tokens(), trigger);
    cut(&m.history, policy, m.fresh.unwrap_or(usize::MAX), kept)
}

/// Begins a compaction if the policy asks for one (K1, K3, K4).
pub(crate) fn begin_due(m: &mut Machine, out: &mut Outbox) -> Option<Compacting> {
    let (policy, local) = (m.config.compaction, m.plain_estimate());
    if !m.compacts || !m.context.is_over(&policy, m.history.len(), local) {
        return None;
    }
    tell_stop(m);
    if !m.context.is_due(&policy, m.history.len(), local) {
        return None;
    }
    let cut = place(m, Trigger::Threshold)?;
    Some(begin(m, Trigger::Threshold, cut, None, out))
}

/// Says that no compaction is tried any more, once in a run (K4).
fn tell_stop(m: &mut Machine) {
    let policy = m.config.compaction;
    if policy.failures > 0
        && let Some(failures) = m.context.tell_stop(&policy)
    {
        let estimated_context_tokens = m.context.tokens(m.plain_estimate());
        m.emit(Event::CompactionStopped { failures, estimated_context_tokens });
    }
}

/// Whether a context that was too large can be made smaller (K5).
pub(crate) fn can_recover(m: &Machine) -> bool {
    !m.context.gave_up(&m.config.compaction) && place(m, Trigger::Overflow).is_some()
}

/// Begins the compaction after which `call` tries again (K5).
pub(crate) fn recover(
    m: &mut Machine,
    call: Box<ModelCall>,
    problem: Box<Problem>,
    out: &mut Outbox,
) -> Compacting {
    let cut = place(m, Trigger::Overflow).unwrap_or_default();
    begin(m, Trigger::Overflow, cut, Some((call, problem)), out)
}

fn begin(
    m: &mut Machine,
    trigger: Trigger,
    cut: usize,
    call: Option<(Box<ModelCall>, Box<Problem>)>,
    out: &mut Outbox,
) -> Compacting {
    m.emit(Event::CompactionStarted {
        messages: u32::try_from(cut).unwrap_or(u32::MAX),
        estimated_context_tokens: m.context.tokens(m.plain_estimate()),
        trigger,
    });
    let mut compacting = Compacting { op: m.ops.next_id(), trigger, cut, deadline: None, call };
    compacting.ask(m, out);
    compacting
}

impl Compacting {
    /// Hands the history to the compactor, which has its whole time.
    fn ask(&mut self, m: &mut Machine, out: &mut Outbox) {
        self.deadline = m.config.deadlines.compaction.map(|span| m.now.after(span));
        self.op = m.ops.next_id();
        if let Some(origin) = m.origin.clone() {
            let (session, model) = (origin.session.clone(), Arc::clone(&origin.model));
            let request = CompactionRequest::new(session, self.trigger, model, m.history.clone(), self.cut)
                .tools(Arc::clone(&m.offered))
                .most_bytes(m.config.limits.response_bytes);
            m.begin_op(OpKind::Compact, Work::Compact(Arc::new(request)), out);
        }
    }

    /// The compactor is gone with its process: it begins again (H7).
    pub(crate) fn again(&mut self, m: &mut Machine, out: &mut Outbox) {
        m.abandon(self.op, out);
        self.ask(m, out);
    }

    /// The compactor has ended; whether the history was replaced.
    pub(crate) fn on_result(
        &self,
        m: &mut Machine,
        result: Result<Box<Compaction>, Box<CompactionFault>>,
    ) -> bool {
        m.ops.close(self.op);
        if m.stops_here() {
            return false;
        }
        match result {
            Ok(compaction) => match self.replacement(m, &compaction) {
                Ok(history) => {
                    self.install(m, history, compaction.usage);
                    true
                }
                Err(error) => self.fail(m, error, compaction.usage),
            },
            Err(fault) => {
                let error = CompactionError::of(&fault, m.config.limits.error_bytes);
                self.fail(m, error, fault.usage)
            }
        }
    }

    fn replacement(&self, m: &mut Machine, compaction: &Compaction) -> Result<History, CompactionError> {
        let limits = m.config.limits();
        let bounds =
            MessageBounds { parts: limits.parts, text: limits.response_bytes, image: limits.image_bytes };
        let (run, mut last) = (m.log.run_id().clone(), m.messages);
        let history = replaced(&m.history, self.cut, compaction, &bounds, || {
            last += 1;
            MessageId::of_run(&run, last)
        })?;
        m.messages = last;
        Ok(history)
    }

    /// Commits the replacement; what follows in this step cannot suppress it (E11).
    fn install(&self, m: &mut Machine, history: History, usage: Usage) {
        m.billed.add(&usage);
        let replaced = m.history.len() - history.len().min(m.history.len());
        m.fresh = m.fresh.map(|at| (at + history.len()).saturating_sub(m.history.len()));
        m.history = history;
        let revision = m.commit();
        let local = m.plain_estimate();
        m.context.compacted(local, &m.config.compaction);
        m.emit(Event::CompactionCompleted(Arc::new(CompactionCompleted {
            revision,
            messages: u32::try_from(m.history.len()).unwrap_or(u32::MAX),
            removed: u32::try_from(replaced).unwrap_or(u32::MAX),
            estimated_context_tokens: m.context.tokens(local),
            usage,
        })));
    }

    fn fail(&self, m: &mut Machine, error: CompactionError, usage: Usage) -> bool {
        m.billed.add(&usage);
        let local = m.plain_estimate();
        m.context.failed(local);
        m.emit(Event::CompactionFailed(Arc::new(CompactionFailed { error, usage })));
        tell_stop(m);
        false
    }

    /// When its own time or that of its model call is up.
    pub(crate) fn deadlines(&self) -> [(Option<Time>, WakeReason); 2] {
        let call = self.call.as_ref().map(|(call, _)| call.hard_deadline());
        let [(model, _), _] = call.unwrap_or([(None, WakeReason::ModelCall), (None, WakeReason::Attempt)]);
        [(model, WakeReason::ModelCall), (self.deadline, WakeReason::Compaction)]
    }

    /// Lets due deadlines fall: the model call's ends the run, its own counts as a failure (K4).
    pub(crate) fn on_time(&self, m: &mut Machine, out: &mut Outbox) -> Flow {
        let due = |at: Option<Time>| at.is_some_and(|at| at <= m.now);
        let [(model, _), (own, _)] = self.deadlines();
        if due(model) {
            return Flow::End(Ending::Failed(RunError::ModelCallDeadline));
        }
        if !due(own) {
            return Flow::Stay;
        }
        m.abandon(self.op, out);
        self.fail(m, CompactionError::TimedOut, Usage::default());
        Flow::Compacted(false)
    }
}
