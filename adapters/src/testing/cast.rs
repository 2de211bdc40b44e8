//! Who plays in a world: models, tools and approvers by their scripts.

use super::model::Attempt;
use super::tool::PlayedTool;
use crate::core::boundary::BoundaryAnswer;
use crate::core::compaction::{Compaction, CompactionFault};
use crate::core::host_input::{HostAnswer, HostRequest, RequestKind};
use crate::core::id::{CommandId, OpId, Seq};
use crate::core::input::{Input, Respond};
use crate::core::model::{ModelItem, Problem, ProblemKind};
use crate::core::observe::ObserverFault;
use crate::core::output::{Output, Work};
use crate::core::text::Text;
use crate::core::tool::{AuthorizeRequest, Binding, ToolInvocation, ToolItem, Verdict};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What an approver does when it is asked about a tool.
#[derive(Clone, Debug)]
pub(super) enum Ruling {
    Allow,
    Deny(Text),
    /// Allows another call than the one that was asked about.
    Mistaken,
    /// Has people asked, for so long at most.
    Refer(Option<Duration>),
    Never,
}

/// Everybody's script.
#[derive(Clone, Debug, Default)]
pub(super) struct Scripts {
    pub(super) attempts: Vec<Attempt>,
    pub(super) tools: Vec<PlayedTool>,
    pub(super) rulings: Vec<(Text, Duration, Ruling)>,
    /// What people answer about the calls of a tool, and after how long.
    pub(super) answers: Vec<(Text, Duration, HostAnswer)>,
    /// The same of the host's responder.
    pub(super) responses: Vec<(Text, Duration, Option<HostAnswer>)>,
    /// What the source of boundary inputs answers, question after question; then it has nothing.
    pub(super) boundaries: Vec<(Duration, BoundaryAnswer)>,
    /// What the compactor makes, request after request; then it fails.
    pub(super) compactions: Vec<(Duration, Result<Compaction, CompactionFault>)>,
    /// What required observers do: how long they take, and the event that they refuse.
    pub(super) observers: Vec<(Duration, Option<Seq>)>,
    /// How long a tool's code is not entered after the call was handed over.
    pub(super) entry: Duration,
}

/// Plays the scripts: says what comes of what the run asks for.
#[derive(Clone, Debug)]
pub(super) struct Cast {
    scripts: Arc<Scripts>,
    attempts: usize,
    /// Tools that wait for an answer: which tool, and its piece.
    playing: BTreeMap<OpId, (usize, usize)>,
    commands: u64,
    boundaries: usize,
    compactions: usize,
}

/// Commands of people are numbered from here on; those that a world plans have small numbers.
const FIRST_COMMAND: u64 = 1_000;

impl Cast {
    pub(super) fn new(scripts: Arc<Scripts>) -> Self {
        let (playing, commands) = (BTreeMap::new(), FIRST_COMMAND);
        Self { scripts, attempts: 0, playing, commands, boundaries: 0, compactions: 0 }
    }

    /// What comes of `output`: inputs, each after a wait that counts from the one before.
    pub(super) fn plays(&mut self, output: &Output) -> Vec<(Duration, Input)> {
        let (op, work) = match output {
            Output::Begin { op, work } => (*op, work),
            Output::Deliver { op, .. } => return self.goes_on(*op),
            _ => return Vec::new(),
        };
        match work {
            Work::Model(_) => {
                let model = |(wait, item)| (wait, Input::Model { op, item });
                self.attempt().into_iter().map(model).collect()
            }
            Work::Tool(invocation) => self.invocation(op, invocation),
            Work::Prepare(invocation) => {
                let (wait, says) = match self.tool(&invocation.call.name) {
                    Some((_, tool)) => tool.preparation.clone(),
                    None => return Vec::new(),
                };
                vec![(wait, Input::Prepared { op, result: says.map(Box::new).map_err(Box::new) })]
            }
            Work::Respond(request) => {
                let known = self.scripts.responses.iter();
                let mut known = known.filter(|(name, _, answer)| {
                    *name == request.call.name && answer.as_ref().is_none_or(|answer| fits(answer, request))
                });
                let answer = known.next().map(|(_, wait, answer)| {
                    (*wait, Input::Responded { op, answer: answer.clone().map(Box::new) })
                });
                answer.into_iter().collect()
            }
            Work::Authorize(request) => {
                let verdict = |(wait, verdict)| (wait, Input::Authorized { op, verdict });
                self.verdict(request).into_iter().map(verdict).collect()
            }
            Work::Boundary(_) => {
                let nothing = (Duration::ZERO, BoundaryAnswer::Input(Vec::new()));
                let (wait, answer) = self.scripts.boundaries.get(self.boundaries).cloned().unwrap_or(nothing);
                self.boundaries += 1;
                // Commands of the plan have small numbers.
                let command = CommandId(1_000_000 + op.0);
                vec![(wait, Input::Boundary { op, command, answer })]
            }
            Work::Compact(_) => {
                let fault =
                    (Duration::ZERO, Err(CompactionFault::new("the script has no further compaction")));
                let (wait, result) = self.scripts.compactions.get(self.compactions).cloned().unwrap_or(fault);
                self.compactions += 1;
                vec![(wait, Input::Compacted { op, result: result.map(Box::new).map_err(Box::new) })]
            }
            Work::Observe(request) => {
                let script = self.scripts.observers.get(request.observer as usize);
                let (wait, refused) =
                    script.map_or((Duration::ZERO, None), |(wait, refused)| (*wait, *refused));
                let result = match refused {
                    Some(seq) if request.events.iter().any(|envelope| envelope.seq == seq) => {
                        Err(Box::new(ObserverFault::new(Seq(seq.0 - 1), "refused")))
                    }
                    Some(_) | None => Ok(()),
                };
                vec![(wait, Input::Observed { op, result })]
            }
            _ => Vec::new(),
        }
    }

    fn attempt(&mut self) -> Vec<(Duration, ModelItem)> {
        let attempt = self.scripts.attempts.get(self.attempts);
        self.attempts += 1;
        attempt.map_or_else(
            || {
                let problem = Problem::new(ProblemKind::InvalidRequest, "the script has no further attempt");
                vec![(Duration::ZERO, ModelItem::Failed(Box::new(problem)))]
            },
            Attempt::schedule,
        )
    }

    fn tool(&self, name: &Text) -> Option<(usize, &PlayedTool)> {
        self.scripts.tools.iter().enumerate().find(|(_, tool)| tool.spec.name == *name)
    }

    /// A call begins, or goes on with the answer to the question with which it returned.
    fn invocation(&mut self, op: OpId, invocation: &ToolInvocation) -> Vec<(Duration, Input)> {
        let Some((at, tool)) = self.tool(&invocation.call.name) else { return Vec::new() };
        let from = invocation.resumed.as_ref().and_then(|resumed| resumed.state.parse().ok()).unwrap_or(0);
        let piece = tool.pieces.iter().position(|piece| piece.from == from).unwrap_or(0);
        let entered = (self.scripts.entry, Input::Tool { op, item: ToolItem::Started });
        self.playing.insert(op, (at, piece));
        std::iter::once(entered).chain(self.piece(op)).collect()
    }

    /// An answer has come.
    fn goes_on(&mut self, op: OpId) -> Vec<(Duration, Input)> {
        if let Some((_, piece)) = self.playing.get_mut(&op) {
            *piece += 1;
        }
        self.piece(op)
    }

    fn piece(&self, op: OpId) -> Vec<(Duration, Input)> {
        let piece =
            self.playing.get(&op).and_then(|(tool, piece)| self.scripts.tools.get(*tool)?.pieces.get(*piece));
        let items = piece.map(|piece| piece.items.clone()).unwrap_or_default();
        items.into_iter().map(|(wait, item)| (wait, Input::Tool { op, item })).collect()
    }

    /// What people do about a request, and after how long.
    pub(super) fn answers(&mut self, request: &HostRequest) -> Option<(Duration, Input)> {
        let mut known = self.scripts.answers.iter();
        let (_, wait, answer) =
            known.find(|(name, _, answer)| *name == request.call.name && fits(answer, request))?;
        self.commands += 1;
        let (command, request) = (CommandId(self.commands), request.id.clone());
        Some((*wait, Input::Respond(Box::new(Respond { command, request, answer: answer.clone() }))))
    }

    /// An approver without a script allows at once.
    fn verdict(&self, request: &AuthorizeRequest) -> Option<(Duration, Verdict)> {
        let ruling = self.scripts.rulings.iter().find(|(name, ..)| *name == request.spec.name);
        let Some((_, wait, ruling)) = ruling else {
            return Some((Duration::ZERO, Verdict::Allow(request.binding)));
        };
        let verdict = match ruling {
            Ruling::Allow => Verdict::Allow(request.binding),
            Ruling::Deny(reason) => Verdict::Deny { reason: reason.clone() },
            Ruling::Mistaken => {
                let mut other = (*request.call).clone();
                other.arguments = Text::from(format!("{} ", other.arguments));
                Verdict::Allow(Binding::of(&other))
            }
            Ruling::Refer(timeout) => Verdict::Ask { reason: Text::default(), timeout: *timeout },
            Ruling::Never => return None,
        };
        Some((*wait, verdict))
    }
}

/// Whether the answer is of the request's kind.
fn fits(answer: &HostAnswer, request: &HostRequest) -> bool {
    matches!(
        (answer, &request.kind),
        (HostAnswer::Refused(_), _)
            | (HostAnswer::Allow { .. } | HostAnswer::Deny { .. }, RequestKind::Approval { .. })
            | (HostAnswer::Choices(_) | HostAnswer::Value(_), RequestKind::Question(_))
            | (HostAnswer::Result(_), RequestKind::Call)
    )
}
