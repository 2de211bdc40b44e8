//! Operations as seen from the outside: each ends once (W5), and tools overlap as they declare (T1).

use super::{Found, found};
use crate::id::{CallRef, OpId};
use crate::input::{Input, Start};
use crate::log::OpenCall;
use crate::model::ModelItem;
use crate::output::{Output, Reply, Work};
use crate::run::Run;
use crate::suspend::Resume;
use crate::text::Text;
use crate::tool::{Access, ToolItem, ToolSpec};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

#[derive(Clone, Debug, Default)]
pub(super) struct Ops {
    last: OpId,
    /// Requests to observers have numbers of their own.
    last_observation: OpId,
    open: Vec<(OpId, Kind)>,
    tools: Vec<Arc<ToolSpec>>,
    /// What calls touch, where their preparation has said so.
    accesses: BTreeMap<CallRef, Access>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Model,
    Tool(CallRef),
    Prepare(CallRef),
    Authorize,
    Respond,
    Boundary,
    Compact,
    Observe,
}

/// An input that ends its operation if it is accepted.
#[derive(Clone, Copy, Debug)]
pub(super) struct End(OpId);

impl End {
    pub(super) fn of(input: &Input) -> Option<Self> {
        match input {
            Input::Model { op, item: ModelItem::Done(_) | ModelItem::Failed(_) }
            | Input::Tool { op, item: ToolItem::Done(_) }
            | Input::Prepared { op, .. }
            | Input::Responded { op, .. }
            | Input::Boundary { op, .. }
            | Input::Compacted { op, .. }
            | Input::Observed { op, .. }
            | Input::Authorized { op, .. } => Some(Self(*op)),
            Input::Start(_)
            | Input::Cancel { .. }
            | Input::Abort(_)
            | Input::Wake { .. }
            | Input::Model { .. }
            | Input::Tool { .. }
            | Input::Taken { .. }
            | Input::ConsumerGone { .. }
            | Input::Respond(_)
            | Input::HandleGone
            | Input::Steer(_)
            | Input::Retract(_)
            | Input::Suspend { .. }
            | Input::Resume(_)
            | Input::Recover(_)
            | Input::Visibility(_) => None,
        }
    }
}

impl Ops {
    pub(super) fn started(&mut self, start: &Start) {
        self.tools = start.tools.to_vec();
    }

    /// The next part of a run that was suspended.
    pub(super) fn resumed(&mut self, resume: &Resume) {
        self.tools = resume.tools.to_vec();
        self.last = OpId(resume.suspended.ops);
        for call in &resume.suspended.calls {
            self.accesses.extend(call.access.clone().map(|access| (call.call.call, access)));
        }
    }

    /// What a preparation says about its call.
    pub(super) fn prepared(&mut self, input: &Input) {
        let Input::Prepared { op, result: Ok(preparation) } = input else { return };
        let kind = self.open.iter().find(|(open, _)| open == op).map(|(_, kind)| *kind);
        if let (Some(Kind::Prepare(call)), Some(access)) = (kind, &preparation.access) {
            self.accesses.insert(call, access.clone());
        }
    }

    pub(super) fn open(&self) -> impl Iterator<Item = OpId> + '_ {
        self.open.iter().map(|(op, _)| *op)
    }

    /// An accepted step of `run`, with the operation that its input ended; `awaited`: observers have not accepted all.
    pub(super) fn stepped(
        &mut self,
        run: &Run,
        end: Option<End>,
        awaited: bool,
        outputs: &[Output],
    ) -> Result<(), Found> {
        // Refused boundary input leaves the question open.
        let refused =
            |output: &Output| matches!(output, Output::Reply { reply: Reply::Boundary(Err(_)), .. });
        if let Some(End(op)) = end
            && !outputs.iter().any(refused)
        {
            self.open.retain(|(open, _)| *open != op);
        }
        for output in outputs {
            self.output(output)?;
        }
        for output in outputs {
            if let Output::Begin { work: Work::Tool(invocation), .. } = output {
                self.overlaps(run, invocation.call.call)?;
            }
        }
        let running = self.open.iter().filter(|(_, kind)| matches!(kind, Kind::Tool(_))).count();
        if running > run.config().limits.parallel_tools {
            return Err(("T1", format!("{running} tools run at the same time")));
        }
        if run.outcome().is_some() {
            return if self.open.is_empty() { Ok(()) } else { Err(found("W5", "the run left work behind")) };
        }
        let asked: Vec<OpId> =
            self.open.iter().filter(|(_, kind)| *kind == Kind::Model).map(|(op, _)| *op).collect();
        let attempt = run.log().open().attempt.map(|attempt| attempt.op);
        if run.log().is_closed() && self.open.iter().any(|(_, kind)| *kind != Kind::Observe) {
            return Err(found("W5", "a run that is over left work behind"));
        }
        let compacts = self.open.iter().any(|(_, kind)| *kind == Kind::Compact);
        if compacts != run.log().open().compaction && (compacts || !awaited) {
            return Err(found("E11", "compactor and compaction events disagree about what is under way"));
        }
        let waits = self.open.iter().filter(|(_, kind)| matches!(kind, Kind::Boundary | Kind::Compact));
        let others = self.open.iter().filter(|(_, kind)| *kind != Kind::Observe).count();
        if waits.count() > 0 && others > 1 {
            return Err(found("B2", "other work goes on beside a question to the source or a compaction"));
        }
        // What observers have not accepted holds back the attempt that it begins.
        let begun = attempt.into_iter().filter(|op| !awaited || self.last >= *op);
        if asked != begun.collect::<Vec<_>>() {
            return Err(("W5", format!("attempt {attempt:?} is open, and {asked:?} are under way")));
        }
        Ok(())
    }

    fn output(&mut self, output: &Output) -> Result<(), Found> {
        match output {
            Output::Begin { op, work } => {
                let observes = matches!(work, Work::Observe(_));
                let last = if observes { &mut self.last_observation } else { &mut self.last };
                if *op <= *last || op.observation().is_some() != observes {
                    return Err(found("W5", "operations are numbered upwards"));
                }
                *last = *op;
                let kind = match work {
                    Work::Model(_) => Kind::Model,
                    Work::Tool(invocation) => Kind::Tool(invocation.call.call),
                    Work::Prepare(invocation) => Kind::Prepare(invocation.call.call),
                    Work::Authorize(_) => Kind::Authorize,
                    Work::Respond(_) => Kind::Respond,
                    Work::Boundary(_) => Kind::Boundary,
                    Work::Compact(_) => Kind::Compact,
                    Work::Observe(_) => Kind::Observe,
                };
                self.open.push((*op, kind));
                Ok(())
            }
            Output::Abandon { op } => match self.open.iter().position(|(open, _)| open == op) {
                Some(at) => {
                    self.open.remove(at);
                    Ok(())
                }
                None => Err(("W5", format!("operation {op} is abandoned, but not under way"))),
            },
            Output::Deliver { op, .. } => {
                let asks = |(open, kind): &(OpId, Kind)| open == op && matches!(kind, Kind::Tool(_));
                if self.open.iter().any(asks) {
                    Ok(())
                } else {
                    Err(("W5", format!("an answer is delivered to {op}, which no tool waits in")))
                }
            }
            Output::Steer { op, .. } => {
                if self.open.contains(&(*op, Kind::Model)) {
                    Ok(())
                } else {
                    Err(("H4", format!("an input is handed to {op}, which is no attempt under way")))
                }
            }
            Output::Reply { .. } => Ok(()),
        }
    }

    fn access(&self, call: CallRef, name: &Text) -> Option<&Access> {
        if let Some(access) = self.accesses.get(&call) {
            return Some(access);
        }
        self.tools.iter().find(|spec| spec.name == *name).map(|spec| &spec.access)
    }

    /// A call begins only if no earlier one that it must not overlap with is open (T1).
    fn overlaps(&self, run: &Run, begun: CallRef) -> Result<(), Found> {
        let calls: &[OpenCall] = &run.log().open().calls;
        let own = calls.iter().find(|open| open.call.call == begun).map(|open| &open.call.name);
        let Some(own) = own.and_then(|name| self.access(begun, name)) else { return Ok(()) };
        let earlier = calls.iter().filter(|open| open.call.call < begun);
        for open in earlier {
            if self.access(open.call.call, &open.call.name).is_some_and(|other| other.conflicts(own)) {
                return Err(("T1", format!("call {begun} begins while {} is open", open.call.call)));
            }
        }
        Ok(())
    }
}
