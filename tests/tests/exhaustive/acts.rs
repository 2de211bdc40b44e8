//! What can be done to a run: the inputs that the search chooses from, made to fit the state that they meet.

use crate::node::{Ended, Node, Work};
use runloom_core::id::{CommandId, OpId, Seq};
use runloom_core::input::{AbortCause, Answerers, Input, Reader, Recover};
use runloom_core::model::{CallDelta, Completion, FinalCall, Finish, ModelItem, Problem, ProblemKind};
use runloom_core::time::Time;
use runloom_core::tool::{ToolEnd, ToolFault, ToolItem, ToolOutput, Verdict};
use std::time::Duration;

/// How far the search follows an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Follow {
    /// Whatever can come after it is tried.
    On,
    /// It is tried in every state, and nothing after it: it must change nothing, or it ends the run.
    Leaf,
}

macro_rules! acts {
    ($($follow:ident: $($name:ident)*;)*) => {
        /// Something to do to a run.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Act {
            $($($name,)*)*
        }

        impl Act {
            pub(crate) const ALL: &'static [(Self, Follow)] = &[$($((Self::$name, Follow::$follow),)*)*];
        }
    };
}

acts! {
    On: Start Text CallShared CallApproval CallFatal CallBroken PieceOpen PieceClose Usage;
    On: DoneStop DoneCalls DoneLength DoneRefusal DonePause DoneNothing;
    On: FailServer FailPermanent TooLarge Overshoot;
    On: ToolStarted ToolProgress ToolDone ToolFault Allow Deny;
    On: WakeQuiet Wake Later TakeOne TakeAll Gone GoneAwaited CancelEarly;
    Leaf: Cancel AbortHandle AbortDriver AbortPanic AbortShutdown AbortLost Recover RecoverAlone;
    Leaf: LateModel LateTool LateVerdict AgainModel AgainTool AgainVerdict;
    Leaf: Spurious SpuriousQuiet TakeAgain EarlierTime;
    Leaf: UnknownModel UnknownTool UnknownVerdict WrongModel WrongTool WrongVerdict;
    Leaf: StartAgain StartEmpty TakeAhead ToolUnstarted ToolTwice EndedCancel;
}

fn recover(reader: Reader, handle: bool) -> Input {
    Input::Recover(Box::new(Recover::new(reader, Answerers { handle, responder: false })))
}

fn text(text: &str) -> ModelItem {
    ModelItem::Text(text.into())
}

fn call(name: &str, arguments: &str) -> ModelItem {
    ModelItem::Call(Box::new(FinalCall { id: None, name: name.into(), arguments: arguments.into() }))
}

fn piece(name: Option<&str>, arguments: &str) -> ModelItem {
    let name = name.map(Into::into);
    let delta = CallDelta { index: Some(7), id: None, name, arguments: arguments.into() };
    ModelItem::CallDelta(Box::new(delta))
}

fn done(finish: Option<Finish>) -> ModelItem {
    ModelItem::Done(Box::new(Completion::new(finish, "")))
}

fn fail(kind: ProblemKind) -> ModelItem {
    ModelItem::Failed(Box::new(Problem::new(kind, "no")))
}

fn output() -> ToolItem {
    ToolItem::Done(ToolEnd::Output(ToolOutput::text("42")))
}

impl Act {
    /// The item that this act has the model yield.
    fn model_item(self) -> Option<ModelItem> {
        Some(match self {
            // An item that was taken in before the stream was full.
            Self::Text | Self::Overshoot => text("a"),
            Self::CallShared => call("shared", "{}"),
            Self::CallApproval => call("approval", "{}"),
            Self::CallFatal => call("fatal", ""),
            Self::CallBroken => call("shared", "["),
            Self::PieceOpen => piece(Some("shared"), "{"),
            Self::PieceClose => piece(None, "}"),
            Self::Usage => ModelItem::Usage(Box::new(runloom_core::usage::Usage::new(3, 1))),
            Self::DoneStop => done(Some(Finish::Stop)),
            Self::DoneCalls => done(Some(Finish::ToolCalls)),
            Self::DoneLength => done(Some(Finish::Length)),
            Self::DoneRefusal => done(Some(Finish::Refusal)),
            Self::DonePause => done(Some(Finish::Pause)),
            Self::DoneNothing => done(None),
            Self::FailServer => fail(ProblemKind::Server),
            Self::FailPermanent => fail(ProblemKind::Authentication),
            Self::TooLarge => text(&"x".repeat(5_000)),
            _ => return None,
        })
    }

    /// The item that this act has a tool yield, and whether that tool must run already.
    fn tool_item(self) -> Option<(ToolItem, bool)> {
        Some(match self {
            Self::ToolStarted => (ToolItem::Started, false),
            Self::ToolProgress => (ToolItem::Progress("half".into()), true),
            Self::ToolDone => (output(), true),
            Self::ToolFault => (ToolItem::Done(ToolEnd::Failed(Box::new(ToolFault::new("no")))), true),
            Self::ToolUnstarted => (output(), false),
            Self::ToolTwice => (ToolItem::Started, true),
            _ => return None,
        })
    }

    /// The time and the input of this act in `node`; none where it has no meaning.
    pub(crate) fn input(self, node: &Node) -> Option<(Time, Input)> {
        if let Some(item) = self.model_item() {
            let op = node.open(|work| *work == Work::Model)?;
            return Some((node.now, Input::Model { op, item }));
        }
        if let Some((item, runs)) = self.tool_item() {
            let fits = |work: &Work| matches!(work, Work::Tool { started } if *started == runs);
            // The newest ends first, so that results come in another order than calls.
            let op = if runs { node.newest(fits) } else { node.open(fits) }?;
            return Some((node.now, Input::Tool { op, item }));
        }
        let (now, due) = (node.now, node.due());
        let at = |input: Input| Some((now, input));
        match self {
            Self::Start => node.start().filter(|_| !node.started).map(|start| (now, start)),
            Self::StartAgain => node.start().filter(|_| node.started).map(|start| (now, start)),
            Self::StartEmpty => node.start().filter(|_| !node.started).map(|start| (now, emptied(start))),
            Self::Allow => {
                let (op, binding) = node.approval()?;
                at(Input::Authorized { op, verdict: Verdict::Allow(binding) })
            }
            Self::Deny => at(denied(node.approval()?.0)),
            Self::WakeQuiet => due.map(|due| (due.max(now), Input::Wake { quiet: true })),
            Self::Wake => due.map(|due| (due.max(now), Input::Wake { quiet: false })),
            Self::Later => {
                let later = now.after(Duration::from_millis(500));
                due.filter(|due| *due > later).map(|_| (later, Input::Wake { quiet: false }))
            }
            Self::Spurious => at(Input::Wake { quiet: false }),
            Self::SpuriousQuiet => due.filter(|due| *due > now).and_then(|_| at(Input::Wake { quiet: true })),
            Self::EarlierTime => Some((Time::ZERO, Input::Wake { quiet: false })),
            Self::TakeOne => (node.unread() > 1).then(|| take(node, 1)),
            Self::TakeAll => (node.unread() > 0).then(|| take(node, node.unread())),
            Self::TakeAgain => node.started.then(|| take(node, 0)),
            Self::TakeAhead => at(Input::Taken { through: Seq(node.taken.0 + node.unread() + 1) }),
            Self::Gone => at(Input::ConsumerGone { awaited: false }),
            Self::GoneAwaited => at(Input::ConsumerGone { awaited: true }),
            Self::CancelEarly => (!node.started).then_some(()).and_then(|()| at(cancel())),
            Self::Cancel => (node.started && node.live()).then_some(()).and_then(|()| at(cancel())),
            Self::EndedCancel => (!node.live()).then_some(()).and_then(|()| at(cancel())),
            Self::AbortHandle => at(Input::Abort(AbortCause::HandleDropped)),
            Self::AbortDriver => at(Input::Abort(AbortCause::DriverDropped)),
            Self::AbortPanic => at(Input::Abort(AbortCause::DriverPanicked)),
            Self::AbortLost => at(Input::Abort(AbortCause::ProcessLost)),
            Self::Recover => at(recover(Reader::Primary, true)),
            Self::RecoverAlone => at(recover(Reader::Unattended, false)),
            Self::AbortShutdown => at(Input::Abort(AbortCause::Shutdown)),
            _ => self.misplaced(node).map(|input| (now, input)),
        }
    }

    /// Inputs about operations that have ended, were never begun, or are of another kind.
    fn misplaced(self, node: &Node) -> Option<Input> {
        let never = OpId(99);
        let model = |op| Input::Model { op, item: text("late") };
        let tool = |op| Input::Tool { op, item: output() };
        let another = |kind: fn(&Work) -> bool| node.open(|work| !kind(work));
        match self {
            Self::LateModel => node.ended(Ended::Abandoned, Work::is_model).map(model),
            Self::LateTool => node.ended(Ended::Abandoned, Work::is_tool).map(tool),
            Self::LateVerdict => {
                // A recovery abandons approvals too: their batch and the run's end are where they come late.
                let fits = node.phase().starts_with("batch") || !node.live();
                node.ended(Ended::Abandoned, Work::is_approval).filter(|_| fits).map(denied)
            }
            Self::AgainModel => node.ended(Ended::Completed, Work::is_model).map(model),
            Self::AgainTool => node.ended(Ended::Completed, Work::is_tool).map(tool),
            Self::AgainVerdict => node.ended(Ended::Completed, Work::is_approval).map(denied),
            Self::UnknownModel => Some(model(never)),
            Self::UnknownTool => Some(tool(never)),
            Self::UnknownVerdict => Some(denied(never)),
            Self::WrongModel => another(Work::is_model).map(model),
            Self::WrongTool => another(Work::is_tool).map(tool),
            Self::WrongVerdict => another(Work::is_approval).map(denied),
            _ => None,
        }
    }
}

fn cancel() -> Input {
    Input::Cancel { command: CommandId(1) }
}

fn denied(op: OpId) -> Input {
    Input::Authorized { op, verdict: Verdict::Deny { reason: "no".into() } }
}

fn take(node: &Node, count: u64) -> (Time, Input) {
    (node.now, Input::Taken { through: Seq(node.taken.0 + count) })
}

fn emptied(start: Input) -> Input {
    match start {
        Input::Start(mut start) => {
            start.input.clear();
            Input::Start(start)
        }
        other => other,
    }
}
