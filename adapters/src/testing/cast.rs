//! Who plays in a world: models, tools and approvers by their scripts.

use super::model::Attempt;
use crate::core::boundary::BoundaryAnswer;
use crate::core::compaction::{Compaction, CompactionFault};
use crate::core::id::CommandId;
use crate::core::input::Input;
use crate::core::model::{ModelItem, Problem, ProblemKind};
use crate::core::output::{Output, Work};
use crate::core::text::Text;
use crate::core::tool::{AuthorizeRequest, Binding, ToolItem, ToolSpec, Verdict};
use std::sync::Arc;
use std::time::Duration;

/// What an approver does when it is asked about a tool.
#[derive(Clone, Debug)]
pub(super) enum Ruling {
    Allow,
    Deny(Text),
    /// Allows another call than the one that was asked about.
    Mistaken,
    Never,
}

#[derive(Clone, Debug)]
pub(super) struct PlayedTool {
    pub(super) spec: Arc<ToolSpec>,
    pub(super) items: Vec<(Duration, ToolItem)>,
}

/// Everybody's script.
#[derive(Clone, Debug, Default)]
pub(super) struct Scripts {
    pub(super) attempts: Vec<Attempt>,
    pub(super) tools: Vec<PlayedTool>,
    pub(super) rulings: Vec<(Text, Duration, Ruling)>,
    /// What the source of boundary inputs answers, question after question; then it has nothing.
    pub(super) boundaries: Vec<(Duration, BoundaryAnswer)>,
    /// What the compactor makes, request after request; then it fails.
    pub(super) compactions: Vec<(Duration, Result<Compaction, CompactionFault>)>,
    /// How long a tool's code is not entered after the call was handed over.
    pub(super) entry: Duration,
}

/// Plays the scripts: says what comes of what the run asks for.
#[derive(Clone, Debug)]
pub(super) struct Cast {
    scripts: Arc<Scripts>,
    attempts: usize,
    boundaries: usize,
    compactions: usize,
}

impl Cast {
    pub(super) fn new(scripts: Arc<Scripts>) -> Self {
        Self { scripts, attempts: 0, boundaries: 0, compactions: 0 }
    }

    /// What comes of `output`: inputs, each after a wait that counts from the one before.
    pub(super) fn plays(&mut self, output: &Output) -> Vec<(Duration, Input)> {
        let Output::Begin { op, work } = output else { return Vec::new() };
        let op = *op;
        match work {
            Work::Model(_) => {
                let model = |(wait, item)| (wait, Input::Model { op, item });
                self.attempt().into_iter().map(model).collect()
            }
            Work::Tool(invocation) => {
                let tool = |(wait, item)| (wait, Input::Tool { op, item });
                self.invocation(&invocation.call.name).into_iter().map(tool).collect()
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

    fn invocation(&self, name: &Text) -> Vec<(Duration, ToolItem)> {
        let tool = self.scripts.tools.iter().find(|tool| tool.spec.name == *name);
        let entered = (self.scripts.entry, ToolItem::Started);
        tool.map_or_else(Vec::new, |tool| {
            std::iter::once(entered).chain(tool.items.iter().cloned()).collect()
        })
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
            Ruling::Never => return None,
        };
        Some((*wait, verdict))
    }
}
