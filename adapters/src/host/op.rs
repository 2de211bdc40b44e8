//! One operation of a host: a model's attempt, a tool's call, an approval.

use super::ready::OpWaker;
use super::{Approval, Flavour, Opened, PANICKED, ToolReturn};
use crate::core::Input;
use crate::core::compaction::{Compaction, CompactionFault};
use crate::core::host_input::HostAnswer;
use crate::core::id::{OpId, Seq};
use crate::core::model::{Activity, ModelItem, Problem, ProblemKind};
use crate::core::observe::ObserverFault;
use crate::core::output::Credit;
use crate::core::text::Text;
use crate::core::tool::{Binding, Preparation, ToolEnd, ToolFault, ToolItem, Verdict};
use crate::panics::{caught, drop_caught};
use futures_core::Stream;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Most items that one look at a model brings.
const MOST_ITEMS: usize = 64;

/// Work that is under way.
pub(super) enum Job<F: Flavour> {
    Opening(F::Future<Opened<F>>),
    Streaming(F::Stream),
    Tool(ToolJob<F>),
    Preparing(F::Future<Result<Preparation, ToolFault>>),
    Approval(F::Future<Approval>, Binding),
    /// There is no approver: people decide.
    Unapproved,
    Responding(F::Future<Option<HostAnswer>>),
    Compacting(F::Future<Result<Compaction, CompactionFault>>),
    /// An observer, with the last event that it has accepted before.
    Observing(F::Future<Result<(), ObserverFault>>, Seq),
}

pub(super) struct ToolJob<F: Flavour> {
    /// Whether its start is recorded.
    pub(super) started: bool,
    /// Whether its code was entered; not before observers have accepted its start (L5).
    pub(super) entered: bool,
    /// `None`: the host has no such tool.
    pub(super) future: Option<F::Future<Result<ToolReturn, ToolFault>>>,
    pub(super) state: Arc<OpWaker>,
    pub(super) end: Option<ToolEnd>,
}

/// What a look at an operation left behind.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// It will wake.
    Waits,
    /// Look again.
    Again,
    /// It is over.
    Ended,
}

impl<F: Flavour> Job<F> {
    /// Whether the job may be polled while the run's reader has fallen behind.
    pub(super) fn goes_on_while_full(&self) -> bool {
        match self {
            Self::Opening(_) | Self::Streaming(_) => false,
            Self::Tool(tool) => tool.started,
            Self::Preparing(_)
            | Self::Approval(..)
            | Self::Unapproved
            | Self::Responding(_)
            | Self::Compacting(_)
            | Self::Observing(..) => true,
        }
    }

    /// Whether the next look enters the code of a tool.
    pub(super) fn is_about_to_enter(&self) -> bool {
        matches!(self, Self::Tool(tool) if tool.started && !tool.entered)
    }

    /// Polls the job; what it yields is appended to `into`. Panics end it as what they are (M6, T4).
    pub(super) fn look(
        &mut self,
        op: OpId,
        cx: &mut Context<'_>,
        room: Credit,
        into: &mut Vec<Input>,
    ) -> Look {
        match self {
            Self::Tool(tool) => tool.look(op, cx, into),
            Self::Preparing(future) => {
                let result = match caught(|| Pin::new(future).poll(cx)) {
                    Some(Poll::Pending) => return Look::Waits,
                    Some(Poll::Ready(result)) => result,
                    None => Err(ToolFault::new("the tool panicked before it was started").definitive()),
                };
                into.push(Input::Prepared { op, result: result.map(Box::new).map_err(Box::new) });
                Look::Ended
            }
            Self::Responding(future) => {
                let answer = match caught(|| Pin::new(future).poll(cx)) {
                    Some(Poll::Pending) => return Look::Waits,
                    Some(Poll::Ready(answer)) => answer,
                    None => None,
                };
                into.push(Input::Responded { op, answer: answer.map(Box::new) });
                Look::Ended
            }
            Self::Compacting(future) => {
                let result = match caught(|| Pin::new(future).poll(cx)) {
                    Some(Poll::Pending) => return Look::Waits,
                    Some(Poll::Ready(result)) => result,
                    None => Err(CompactionFault::new(PANICKED)),
                };
                into.push(Input::Compacted { op, result: result.map(Box::new).map_err(Box::new) });
                Look::Ended
            }
            Self::Observing(future, after) => {
                let result = match caught(|| Pin::new(future).poll(cx)) {
                    Some(Poll::Pending) => return Look::Waits,
                    Some(Poll::Ready(result)) => result,
                    None => Err(ObserverFault::new(*after, "the observer panicked")),
                };
                into.push(Input::Observed { op, result: result.map_err(Box::new) });
                Look::Ended
            }
            Self::Approval(future, binding) => {
                let decided = caught(|| Pin::new(future).poll(cx));
                let verdict = match decided {
                    Some(Poll::Pending) => return Look::Waits,
                    Some(Poll::Ready(Approval::Allow)) => Verdict::Allow(*binding),
                    Some(Poll::Ready(Approval::Deny { reason })) => Verdict::Deny { reason },
                    Some(Poll::Ready(Approval::Ask { reason, timeout })) => Verdict::Ask { reason, timeout },
                    None => Verdict::Deny { reason: "the approver panicked".into() },
                };
                into.push(Input::Authorized { op, verdict });
                Look::Ended
            }
            Self::Unapproved => {
                let verdict = Verdict::Ask { reason: Text::EMPTY, timeout: None };
                into.push(Input::Authorized { op, verdict });
                Look::Ended
            }
            Self::Opening(_) | Self::Streaming(_) => caught(|| self.gather(op, cx, room, into))
                .unwrap_or_else(|| {
                    into.push(failed(op, ProblemKind::Panicked, "the model panicked"));
                    Look::Ended
                }),
        }
    }

    /// Gathers consecutive items of a model, as far as the credit goes.
    fn gather(&mut self, op: OpId, cx: &mut Context<'_>, room: Credit, into: &mut Vec<Input>) -> Look {
        if let Self::Opening(future) = self {
            match Pin::new(future).poll(cx) {
                Poll::Pending => return Look::Waits,
                Poll::Ready(Ok(stream)) => *self = Self::Streaming(stream),
                Poll::Ready(Err(problem)) => {
                    into.push(Input::Model { op, item: ModelItem::Failed(Box::new(problem)) });
                    return Look::Ended;
                }
            }
        }
        let Self::Streaming(stream) = self else { return Look::Ended };
        let most = room.items.min(MOST_ITEMS);
        let mut bytes = 0_u64;
        while into.len() < most && bytes < room.bytes {
            match Pin::new(&mut *stream).poll_next(cx) {
                Poll::Pending => return Look::Waits,
                Poll::Ready(None) => {
                    let text = "the stream ended before the response did";
                    into.push(failed(op, ProblemKind::Truncated, text));
                    return Look::Ended;
                }
                Poll::Ready(Some(item)) => {
                    bytes = bytes.saturating_add(most_encoded(&item));
                    let last = matches!(item, ModelItem::Done(_) | ModelItem::Failed(_));
                    into.push(Input::Model { op, item });
                    if last {
                        return Look::Ended;
                    }
                }
            }
        }
        Look::Again
    }

    /// Ends the job: drops what it holds, whatever its drop does.
    pub(super) fn end(self) {
        if let Self::Tool(tool) = &self {
            tool.state.progress.close();
            tool.state.asks.close();
        }
        drop_caught(self);
    }
}

impl<F: Flavour> ToolJob<F> {
    fn look(&mut self, op: OpId, cx: &mut Context<'_>, into: &mut Vec<Input>) -> Look {
        if !self.started {
            // Its code is entered at the next look, when this is recorded (E7).
            self.started = true;
            into.push(Input::Tool { op, item: ToolItem::Started });
            return Look::Again;
        }
        self.entered = true;
        if let (None, Some(future)) = (&self.end, &mut self.future) {
            self.end = match caught(|| Pin::new(future).poll(cx)) {
                Some(Poll::Pending) => None,
                Some(Poll::Ready(Ok(ToolReturn::Output(output)))) => Some(ToolEnd::Output(output)),
                Some(Poll::Ready(Ok(ToolReturn::Ask(ask)))) => Some(ToolEnd::Ask(Box::new(ask))),
                Some(Poll::Ready(Err(fault))) => Some(ToolEnd::Failed(Box::new(fault))),
                None => Some(ToolEnd::Panicked),
            };
        }
        if let Some(item) = self.report() {
            into.push(Input::Tool { op, item });
            return Look::Again;
        }
        match self.end.take() {
            Some(end) => {
                into.push(Input::Tool { op, item: ToolItem::Done(end) });
                Look::Ended
            }
            None => Look::Waits,
        }
    }

    /// What the tool has left first.
    fn report(&self) -> Option<ToolItem> {
        let OpWaker { progress, asks, .. } = &*self.state;
        match (progress.place(), asks.place()) {
            (Some(told), Some(asked)) if asked < told => asks.take(),
            (Some(_), _) => progress.take().map(ToolItem::Progress),
            (None, _) => asks.take(),
        }
    }
}

fn failed(op: OpId, kind: ProblemKind, text: &str) -> Input {
    Input::Model { op, item: ModelItem::Failed(Box::new(Problem::new(kind, text))) }
}

/// An upper bound on the encoded text of an item: counting exactly would read each text once more.
fn most_encoded(item: &ModelItem) -> u64 {
    let bytes = match item {
        ModelItem::Text(text)
        | ModelItem::Refusal(text)
        | ModelItem::Reasoning(text)
        | ModelItem::ReasoningSummary(text) => text.len(),
        ModelItem::CallDelta(delta) => {
            delta.arguments.len() + delta.name.as_ref().map_or(0, |name| name.len())
        }
        ModelItem::Call(call) => call.arguments.len() + call.name.len(),
        ModelItem::Activity(activity) => match &**activity {
            Activity::WebSearch { detail } => detail.len(),
            Activity::HostedTool { name, detail } => name.len() + detail.len(),
            Activity::Diagnostic { name, value } => name.len() + value.len(),
            _ => 0,
        },
        _ => 0,
    };
    // A byte takes at most six: `\u00XX`.
    (bytes as u64).saturating_mul(6)
}
