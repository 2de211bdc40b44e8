//! Every way in which a run ends: innermost first, one terminal, one commit (E2, E3, E6, C4-C9).

use super::batch::Batch;
use super::{Ending, Phase, result};
use crate::error::RunError;
use crate::event::{Event, RunFailed};
use crate::history::History;
use crate::id::{Revision, Seq};
use crate::log::Ledger;
use crate::machine::Machine;
use crate::message::{Part, Role, ToolCall};
use crate::observe::DurabilityReason;
use crate::outcome::{Answer, Outcome, RunResult};
use crate::output::Outbox;
use crate::saved::Additions;
use crate::suspend::Suspended;
use crate::text::Text;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Ends the run: drops what is under way, closes what is open, commits, and records the terminal event.
pub(crate) fn close(m: &mut Machine, phase: Phase, ending: Ending, out: &mut Outbox) {
    m.abandon_all(out);
    let ending = if m.interrupted { Ending::Interrupted } else { ending };
    if matches!(ending, Ending::Interrupted) {
        close_open(m, &ending);
        return finish(m, Ending::Interrupted, false);
    }
    match phase {
        Phase::Model(call) | Phase::Backoff(call, _) => {
            let partial = call.close();
            close_attempt(m);
            let calls: Vec<Arc<ToolCall>> = partial.calls.into_iter().map(|call| call.call).collect();
            let results = interrupt_proposed(m, &calls);
            m.add(Role::AbortedAssistant, partial.parts);
            m.add(Role::Tool, results);
        }
        Phase::Batch(batch) => {
            let results = batch.close(m);
            m.add(Role::Tool, results);
        }
        // A response that was held back stands in the history already (B6); a model call that waits for a compaction is
        // between two attempts, and nothing of it is kept.
        Phase::Boundary(_) | Phase::Compact(_) | Phase::New | Phase::Closed => {}
    }
    close_open(m, &ending);
    apply_delivered(m);
    finish(m, ending, true);
}

/// What the model has seen belongs into the history (H5).
fn apply_delivered(m: &mut Machine) {
    for steer in m.steers.take_delivered() {
        m.add(Role::User, steer.parts.to_vec());
        m.emit_closing(Event::SteeringApplied(steer.id.clone()));
    }
}

fn close_attempt(m: &mut Machine) {
    if let Some(open) = m.log.open().attempt {
        let (op, attempt, position) = (open.op, open.attempt, open.position);
        m.emit_closing(Event::ModelCancelled { op, attempt, position });
    }
}

/// Proposes and at once interrupts the complete calls of an aborted attempt (E6).
fn interrupt_proposed(m: &mut Machine, calls: &[Arc<ToolCall>]) -> Vec<Part> {
    for call in calls {
        m.emit_closing(Event::ToolProposed(Arc::clone(call)));
    }
    let mut results = Vec::with_capacity(calls.len());
    for call in calls {
        let result = result::interrupted(call, false);
        m.emit_closing(Event::ToolFinished(Arc::clone(&result)));
        results.push(Part::ToolResult(result));
    }
    results
}

/// Closes from the ledger whatever the phase has left open, the run excepted.
fn close_open(m: &mut Machine, ending: &Ending) {
    let Ledger { calls, step, requests, compaction, .. } = m.log.open().clone();
    if compaction {
        m.emit_closing(Event::CompactionCancelled);
    }
    for open in calls {
        for request in requests.iter().filter(|request| request.call.call == open.call.call) {
            m.emit_closing(Event::HostInputCancelled(Arc::clone(request)));
        }
        m.emit_closing(Event::ToolFinished(result::interrupted(&open.call, open.started)));
    }
    close_attempt(m);
    if let Some(step) = step {
        m.emit_closing(match ending {
            Ending::Completed(..) => Event::StepCompleted { step },
            Ending::Cancelled(_) => Event::StepCancelled { step },
            Ending::Failed(_) | Ending::Interrupted => Event::StepFailed { step },
        });
    }
}

/// Puts the run aside as a value; what stands open stays open, and nothing is committed (H6).
pub(crate) fn suspend(m: &mut Machine, batch: &Batch, out: &mut Outbox) {
    let Some(origin) = m.origin.clone() else { return };
    m.abandon_all(out);
    let (revision, requests) = (m.revision, batch.open_requests());
    let base = m.committed.len();
    let tail: Vec<_> = (base..m.history.len()).filter_map(|at| m.history.get(at).cloned()).collect();
    let applied = m.steers.put_aside(&tail);
    let mut value = Suspended {
        run: m.log.run_id().clone(),
        session: origin.session.clone(),
        revision,
        model: origin.model.name.clone(),
        seq: Seq(0),
        end: 0,
        step: m.step,
        ops: m.ops.last(),
        messages: m.messages,
        invalid_turns: m.invalid_turns,
        usage: m.usage,
        billed: m.billed,
        left: m.run_deadline.map(|at| at.since(m.now)),
        base: base as u64,
        tail,
        answer: Text::EMPTY,
        calls: Vec::new(),
        used: Vec::new(),
        asked: 0,
        visibility: m.visibility.iter().map(|(name, shown)| (name.clone(), *shown)).collect(),
        steers: m.steers.made(),
        applied,
        collected: m.collected,
        additions: Additions::default(),
    };
    batch.put_aside(m, &mut value);
    m.emit_closing(Event::RunSuspended { revision, requests });
    (value.seq, value.end) = (m.log.last_seq(), m.log.end());
    let result = RunResult::Suspended(Arc::new(value));
    // What was applied goes on in the value; what waits is returned.
    let unapplied = m.steers.take_unapplied(true);
    let history = m.committed.clone();
    let outcome = Outcome { unapplied, ..outcome(m, result, revision, history) };
    m.conclude(outcome);
}

fn outcome(m: &Machine, result: RunResult, revision: Revision, history: History) -> Outcome {
    Outcome {
        unapplied: Vec::new(),
        context: m.context,
        result,
        usage: m.usage,
        billed: m.billed,
        approvals: m.approvals.clone(),
        late: m.late.clone(),
        durability: None,
        revision,
        last_seq: m.log.last_seq(),
        history,
    }
}

/// Commits, records the terminal event and fixes the outcome.
fn finish(m: &mut Machine, ending: Ending, commit: bool) {
    if m.origin.is_none() {
        return;
    }
    m.settle_request();
    let unapplied = m.steers.take_unapplied(commit);
    let revision = if commit { m.commit() } else { m.revision };
    let history = m.committed.clone();
    let result = match ending {
        Ending::Completed(stop_reason, text) => {
            let answer = Arc::new(Answer { text, stop_reason, usage: m.usage, revision });
            m.emit_closing(Event::RunCompleted(Arc::clone(&answer)));
            RunResult::Completed(answer)
        }
        Ending::Cancelled(cause) => {
            m.emit_closing(Event::RunCancelled { revision, cause });
            RunResult::Cancelled(cause)
        }
        Ending::Failed(error) => fail(m, error, revision),
        Ending::Interrupted => fail(m, RunError::Interrupted, revision),
    };
    let outcome = Outcome { unapplied, ..outcome(m, result, revision, history) };
    m.conclude(outcome);
}

fn fail(m: &mut Machine, error: RunError, revision: Revision) -> RunResult {
    let error = Arc::new(error);
    m.emit_closing(Event::RunFailed(Arc::new(RunFailed { error: Arc::clone(&error), revision })));
    RunResult::Failed(error)
}

/// Closes a run whose machine has panicked, from the log's ledger alone; nothing is committed (X5).
pub(crate) fn close_after_panic(m: &mut Machine, out: &mut Outbox) {
    if m.is_over() {
        return m.stop_observing(DurabilityReason::Abandoned, out);
    }
    if m.log.is_closed() {
        return;
    }
    m.abandon_all(out);
    if let (Some(origin), false) = (&m.origin, m.log.open().started) {
        let started = origin.started();
        m.emit_closing(started);
    }
    let ending = Ending::Failed(RunError::Internal);
    close_open(m, &ending);
    finish(m, ending, false);
    m.stop_observing(DurabilityReason::Abandoned, out);
}
