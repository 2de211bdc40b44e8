//! Whether an input can come at all: nothing is changed here (W1).

use super::Run;
use crate::error::Misuse;
use crate::id::{MessageId, OpId, Revision};
use crate::input::{Input, Start};
use crate::json::encoded_prefix;
use crate::machine::OpKind;
use crate::message::{Message, Role};
use crate::observe::MAX_OBSERVERS;
use crate::phase::Phase;
use crate::suspend::Resume;
use crate::text::Text;
use crate::time::MAX_EXACT;
use crate::tool::ToolSpec;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

const TOO_MANY_OBSERVERS: &str = "there are more than 64 required observers";

impl Run {
    pub(super) fn check(&self, input: &Input) -> Result<Option<Message>, Misuse> {
        let new = matches!(self.phase, Phase::New);
        match input {
            Input::Start(_) if !new => Err(Misuse::AlreadyStarted),
            Input::Start(start) => self.check_start(start).map(Some),
            Input::Resume(_) if !new => Err(Misuse::AlreadyStarted),
            Input::Resume(resume) => self.check_resume(resume).map(|()| None),
            Input::Cancel { .. } | Input::Wake { .. } => Ok(None),
            Input::Abort(_)
            | Input::Taken { .. }
            | Input::ConsumerGone { .. }
            | Input::Respond(_)
            | Input::HandleGone
            | Input::Steer(_)
            | Input::Retract(_)
            | Input::Suspend { .. }
            | Input::Recover(_)
            | Input::Visibility(_)
                if new =>
            {
                Err(Misuse::NotStarted { input: input.name() })
            }
            Input::Recover(recover) if recover.observers > MAX_OBSERVERS => {
                Err(Misuse::InvalidStart(Text::new(TOO_MANY_OBSERVERS)))
            }
            Input::Abort(_)
            | Input::ConsumerGone { .. }
            | Input::Respond(_)
            | Input::HandleGone
            | Input::Steer(_)
            | Input::Retract(_)
            | Input::Suspend { .. }
            | Input::Recover(_)
            | Input::Visibility(_) => Ok(None),
            Input::Taken { through } if *through > self.m.log.last_seq() => {
                Err(Misuse::TakenAhead { claimed: *through, last: self.m.log.last_seq() })
            }
            Input::Taken { .. } => Ok(None),
            Input::Model { op, .. } => self.check_op(input, *op, |kind| kind == OpKind::Model).map(|_| None),
            Input::Prepared { op, .. } => {
                self.check_op(input, *op, |kind| matches!(kind, OpKind::Prepare(_))).map(|_| None)
            }
            Input::Responded { op, .. } => {
                self.check_op(input, *op, |kind| matches!(kind, OpKind::Respond(_)))?;
                Ok(None)
            }
            Input::Boundary { op, .. } => {
                self.check_op(input, *op, |kind| kind == OpKind::Boundary).map(|_| None)
            }
            Input::Compacted { op, .. } => {
                self.check_op(input, *op, |kind| kind == OpKind::Compact).map(|_| None)
            }
            Input::Observed { op, .. } => self.check_observed(input, *op).map(|()| None),
            Input::Authorized { op, .. } => {
                self.check_op(input, *op, |kind| matches!(kind, OpKind::Authorize(_)))?;
                Ok(None)
            }
            Input::Tool { op, item } => {
                let kind = self.check_op(input, *op, |kind| matches!(kind, OpKind::Tool(_)))?;
                match (kind, &self.phase) {
                    (Some(OpKind::Tool(at)), Phase::Batch(batch)) if !batch.accepts(at, item) => {
                        Err(Misuse::OutOfOrder { op: *op })
                    }
                    _ => Ok(None),
                }
            }
        }
    }

    /// The operation's kind if it is under way, `None` if it has ended.
    fn check_op(
        &self,
        input: &Input,
        op: OpId,
        is: impl Fn(OpKind) -> bool,
    ) -> Result<Option<OpKind>, Misuse> {
        let observers = &self.m.observers;
        if observers.is_asked(op) {
            return Err(Misuse::WrongKind { input: input.name(), op });
        }
        match self.m.ops.find(op).filter(|_| !observers.holds(op)) {
            Some(kind) if is(kind) => Ok(Some(kind)),
            Some(_) => Err(Misuse::WrongKind { input: input.name(), op }),
            None if !observers.holds(op) && self.was_issued(op) => Ok(None),
            None => Err(Misuse::UnknownOp { input: input.name(), op }),
        }
    }

    /// Whether the operation was begun, or was to be and was given up before.
    fn was_issued(&self, op: OpId) -> bool {
        self.m.ops.was_issued(op) || self.m.observers.was_issued(op)
    }

    fn check_observed(&self, input: &Input, op: OpId) -> Result<(), Misuse> {
        if self.m.observers.is_asked(op) {
            return Ok(());
        }
        self.check_op(input, op, |_| false).map(|_| ())
    }

    fn check_start(&self, start: &Start) -> Result<Message, Misuse> {
        let refuse = |text: &str| Misuse::InvalidStart(Text::new(encoded_prefix(text, 512)));
        self.check_revision(start.revision)?;
        check_observers(start.observers)?;
        unique(&start.tools).map_err(|text| refuse(&text))?;
        let id = MessageId::of_run(self.m.log.run_id(), 1);
        let bounds = self.m.config.input_bounds();
        let input =
            Message::new(id, Role::User, start.input.clone(), &bounds).map_err(|e| refuse(&e.to_string()))?;
        start.history.accepts(&input).map_err(|e| refuse(&e.to_string()))?;
        Ok(input)
    }

    /// Whether every commit that the run may make gives a revision that JSON can carry: at each step two compactions and
    /// two boundary inputs at most, and the terminal commit.
    fn check_revision(&self, revision: Revision) -> Result<(), Misuse> {
        let commits = u64::from(self.m.config.limits.steps).saturating_mul(4).saturating_add(1);
        if revision.0.saturating_add(commits) > MAX_EXACT {
            return Err(Misuse::InvalidStart(Text::new("the session's revision cannot grow any more")));
        }
        Ok(())
    }

    fn check_resume(&self, resume: &Resume) -> Result<(), Misuse> {
        self.check_revision(resume.revision)?;
        check_observers(resume.observers)?;
        resume.check(self.m.log.run_id()).map_err(Misuse::InvalidResume)?;
        resume.suspended.fits(&self.m.config.limits).map_err(Misuse::InvalidResume)?;
        unique(&resume.tools).map_err(|text| Misuse::InvalidStart(Text::new(encoded_prefix(&text, 512))))
    }
}

fn check_observers(observers: u32) -> Result<(), Misuse> {
    if observers > MAX_OBSERVERS {
        return Err(Misuse::InvalidStart(Text::new(TOO_MANY_OBSERVERS)));
    }
    Ok(())
}

/// Whether the tools' names are unique.
fn unique(tools: &[Arc<ToolSpec>]) -> Result<(), String> {
    let mut names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair.first() == pair.last()) {
        Some(pair) => Err(format!("two tools are named {:?}", pair.first().unwrap_or(&""))),
        None => Ok(()),
    }
}
