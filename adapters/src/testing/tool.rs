//! A tool that follows a script.

use super::NoWaiting;
use super::model::scripted_panic;
use crate::core::host_input::{AskError, HostAnswer, Question};
#[cfg(feature = "verify")]
use crate::core::tool::{Ask, ToolAsk, ToolEnd, ToolItem};
use crate::core::tool::{Preparation, ToolFault, ToolInvocation, ToolOutput, ToolSpec};
use crate::host::{Tool, ToolContext, ToolReturn};
use crate::sync::{Mutex, lock};
use crate::timer::{Timer, sleep};
use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

/// A tool that does the same thing at every call. Clones share its accounts.
///
/// ```
/// use runloom::testing::ScriptedTool;
///
/// let tool = ScriptedTool::new("search").progress("looking").output("nothing found");
/// assert_eq!(tool.calls(), 0);
/// ```
#[derive(Clone)]
pub struct ScriptedTool<T = NoWaiting> {
    spec: ToolSpec,
    timer: T,
    acts: Vec<Act>,
    preparation: (Duration, Result<Preparation, ToolFault>),
    account: Arc<Mutex<Account>>,
}

#[derive(Clone, Debug)]
enum Act {
    Progress(String),
    Wait(Duration),
    Output(ToolOutput),
    Fault(ToolFault),
    Panic,
    Hang,
    Ask(Arc<Question>),
    ReturnAsking(Arc<Question>),
}

#[cfg(feature = "verify")]
/// What comes of a call in a world.
#[derive(Clone, Debug)]
pub(super) struct PlayedTool {
    pub(super) spec: Arc<ToolSpec>,
    pub(super) preparation: (Duration, Result<Preparation, ToolFault>),
    /// Each but the last ends where the tool waits for an answer.
    pub(super) pieces: Vec<Piece>,
}

#[cfg(feature = "verify")]
/// What comes of a call up to the next answer: each item after a wait that counts from the one before.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// The act with which it begins.
    pub(super) from: usize,
    pub(super) items: Vec<(Duration, ToolItem)>,
}

#[derive(Debug, Default)]
struct Account {
    seen: Vec<ToolInvocation>,
    heard: Vec<Result<HostAnswer, AskError>>,
    finished: usize,
    dropped: usize,
}

impl ScriptedTool {
    /// A tool of this name that returns an empty text, and whose waits are over at once.
    ///
    /// # Panics
    ///
    /// If the name is not one that a tool may have.
    pub fn new(name: &str) -> Self {
        Self::timed(NoWaiting, name)
    }
}

impl<T> ScriptedTool<T> {
    /// A tool of this name that returns an empty text, and whose waits are by `timer`.
    ///
    /// # Panics
    ///
    /// If the name is not one that a tool may have.
    #[allow(clippy::expect_used, reason = "a script with a bad name is a mistake in the test")]
    pub fn timed(timer: T, name: &str) -> Self {
        let spec = ToolSpec::new(name, "", r#"{"type":"object"}"#).expect("a valid tool name");
        let preparation = (Duration::ZERO, Ok(Preparation::new()));
        Self { spec, timer, acts: Vec::new(), preparation, account: Arc::default() }
    }

    /// With another declaration.
    #[must_use]
    pub fn declared(mut self, change: impl FnOnce(ToolSpec) -> ToolSpec) -> Self {
        self.spec = change(self.spec);
        self
    }

    fn act(mut self, act: Act) -> Self {
        self.acts.push(act);
        self
    }

    /// Reports progress.
    #[must_use]
    pub fn progress(self, text: &str) -> Self {
        self.act(Act::Progress(text.to_owned()))
    }

    /// Waits, by the script's timer.
    #[must_use]
    pub fn wait(self, span: Duration) -> Self {
        self.act(Act::Wait(span))
    }

    /// Returns this text.
    #[must_use]
    pub fn output(self, text: &str) -> Self {
        self.act(Act::Output(ToolOutput::text(text)))
    }

    /// Returns this.
    #[must_use]
    pub fn returns(self, output: ToolOutput) -> Self {
        self.act(Act::Output(output))
    }

    /// Fails in its infrastructure.
    #[must_use]
    pub fn fault(self, fault: ToolFault) -> Self {
        self.act(Act::Fault(fault))
    }

    /// Panics.
    #[must_use]
    pub fn panic(self) -> Self {
        self.act(Act::Panic)
    }

    /// Never returns.
    #[must_use]
    pub fn hang(self) -> Self {
        self.act(Act::Hang)
    }

    /// Asks and waits; whatever the answer is, it goes on afterwards. See [`ScriptedTool::heard`].
    #[must_use]
    pub fn ask(self, question: Question) -> Self {
        self.act(Act::Ask(Arc::new(question)))
    }

    /// Returns with a question; called again with the answer, it goes on behind it.
    #[must_use]
    pub fn returns_asking(self, question: Question) -> Self {
        self.act(Act::ReturnAsking(Arc::new(question)))
    }

    /// Looks at each call before, takes so long for it, and says this.
    #[must_use]
    pub fn prepares(mut self, span: Duration, says: Result<Preparation, ToolFault>) -> Self {
        self.spec = self.spec.prepares();
        self.preparation = (span, says);
        self
    }

    /// The answers to its questions, in the order in which they came.
    pub fn heard(&self) -> Vec<Result<HostAnswer, AskError>> {
        lock(&self.account).heard.clone()
    }

    /// What comes of a call in a world.
    #[cfg(feature = "verify")]
    pub(super) fn played(&self) -> PlayedTool {
        PlayedTool {
            spec: Arc::new(self.spec.clone()),
            preparation: self.preparation.clone(),
            pieces: self.pieces(),
        }
    }

    #[cfg(feature = "verify")]
    fn pieces(&self) -> Vec<Piece> {
        let done = |end| ToolItem::Done(end);
        let (mut pieces, mut piece) = (Vec::new(), Piece { from: 0, items: Vec::new() });
        let mut wait = Duration::ZERO;
        for (at, act) in self.acts.iter().enumerate() {
            let (item, last) = match act {
                Act::Wait(span) => {
                    wait += *span;
                    continue;
                }
                Act::Hang => {
                    pieces.push(piece);
                    return pieces;
                }
                Act::Progress(text) => (ToolItem::Progress(text.as_str().into()), false),
                Act::Output(output) => (done(ToolEnd::Output(output.clone())), true),
                Act::Fault(fault) => (done(ToolEnd::Failed(Box::new(fault.clone()))), true),
                Act::Panic => (done(ToolEnd::Panicked), true),
                Act::Ask(question) => {
                    let ask = Ask { ticket: at as u64, question: Arc::clone(question) };
                    (ToolItem::Ask(Box::new(ask)), false)
                }
                Act::ReturnAsking(question) => {
                    let ask = ToolAsk { question: Arc::clone(question), state: (at + 1).to_string().into() };
                    (done(ToolEnd::Ask(Box::new(ask))), false)
                }
            };
            piece.items.push((std::mem::take(&mut wait), item));
            if last {
                pieces.push(piece);
                return pieces;
            }
            if matches!(act, Act::Ask(_) | Act::ReturnAsking(_)) {
                pieces.push(std::mem::replace(&mut piece, Piece { from: at + 1, items: Vec::new() }));
            }
        }
        piece.items.push((wait, done(ToolEnd::Output(ToolOutput::text("")))));
        pieces.push(piece);
        pieces
    }

    /// How many calls were entered.
    pub fn calls(&self) -> usize {
        lock(&self.account).seen.len()
    }

    /// How many calls returned.
    pub fn finished(&self) -> usize {
        lock(&self.account).finished
    }

    /// How many calls were dropped or panicked after they had been entered and before they returned.
    pub fn dropped(&self) -> usize {
        lock(&self.account).dropped
    }

    /// The calls, in the order in which they were entered.
    pub fn seen(&self) -> Vec<ToolInvocation> {
        lock(&self.account).seen.clone()
    }
}

impl<T> fmt::Debug for ScriptedTool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedTool")
            .field("name", &self.spec.name)
            .field("calls", &self.calls())
            .finish_non_exhaustive()
    }
}

/// Books how a call ended.
struct Booking(Arc<Mutex<Account>>, bool);

impl Drop for Booking {
    fn drop(&mut self) {
        let mut account = lock(&self.0);
        if self.1 { account.finished += 1 } else { account.dropped += 1 }
    }
}

impl<T: Timer + Clone + Send + Sync + 'static> Tool for ScriptedTool<T> {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn prepare(&self, _: ToolInvocation, _: ToolContext) -> Result<Preparation, ToolFault> {
        let (span, says) = &self.preparation;
        if !span.is_zero() {
            sleep(self.timer.clone(), *span).await;
        }
        says.clone()
    }

    async fn call(&self, invocation: ToolInvocation, cx: ToolContext) -> Result<ToolReturn, ToolFault> {
        let from = cx.resumed().map_or(0, |resumed| {
            lock(&self.account).heard.push(resumed.answer.clone());
            resumed.state.parse().unwrap_or(0)
        });
        lock(&self.account).seen.push(invocation);
        let mut booking = Booking(Arc::clone(&self.account), false);
        for (at, act) in self.acts.iter().enumerate().skip(from) {
            match act {
                Act::Progress(text) => cx.progress(text).await,
                Act::Wait(span) => sleep(self.timer.clone(), *span).await,
                Act::Panic => scripted_panic(),
                Act::Hang => pending().await,
                Act::Ask(question) => {
                    let answer = cx.ask((**question).clone()).await;
                    lock(&self.account).heard.push(answer);
                }
                Act::ReturnAsking(question) => {
                    booking.1 = true;
                    return Ok(ToolReturn::ask((**question).clone(), (at + 1).to_string()));
                }
                Act::Output(output) => {
                    booking.1 = true;
                    return Ok(output.clone().into());
                }
                Act::Fault(fault) => {
                    booking.1 = true;
                    return Err(fault.clone());
                }
            }
        }
        booking.1 = true;
        Ok(ToolOutput::text("").into())
    }
}
