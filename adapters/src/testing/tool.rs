//! A tool that follows a script.

use super::NoWaiting;
use super::model::scripted_panic;
#[cfg(feature = "verify")]
use crate::core::tool::{ToolEnd, ToolItem};
use crate::core::tool::{ToolFault, ToolInvocation, ToolOutput, ToolSpec};
use crate::host::{Tool, ToolContext};
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
}

#[derive(Debug, Default)]
struct Account {
    seen: Vec<ToolInvocation>,
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
        Self { spec, timer, acts: Vec::new(), account: Arc::default() }
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

    /// Its declaration, and what comes of a call: each item after a wait that counts from the one before.
    #[cfg(feature = "verify")]
    pub(super) fn schedule(&self) -> (ToolSpec, Vec<(Duration, ToolItem)>) {
        let done = |end| ToolItem::Done(end);
        let (mut items, mut wait) = (Vec::new(), Duration::ZERO);
        for act in &self.acts {
            let (item, last) = match act {
                Act::Wait(span) => {
                    wait += *span;
                    continue;
                }
                Act::Hang => return (self.spec.clone(), items),
                Act::Progress(text) => (ToolItem::Progress(text.as_str().into()), false),
                Act::Output(output) => (done(ToolEnd::Output(output.clone())), true),
                Act::Fault(fault) => (done(ToolEnd::Failed(Box::new(fault.clone()))), true),
                Act::Panic => (done(ToolEnd::Panicked), true),
            };
            items.push((std::mem::take(&mut wait), item));
            if last {
                return (self.spec.clone(), items);
            }
        }
        items.push((wait, done(ToolEnd::Output(ToolOutput::text("")))));
        (self.spec.clone(), items)
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

    async fn call(&self, invocation: ToolInvocation, cx: ToolContext) -> Result<ToolOutput, ToolFault> {
        lock(&self.account).seen.push(invocation);
        let mut booking = Booking(Arc::clone(&self.account), false);
        for act in &self.acts {
            match act {
                Act::Progress(text) => cx.progress(text).await,
                Act::Wait(span) => sleep(self.timer.clone(), *span).await,
                Act::Panic => scripted_panic(),
                Act::Hang => pending().await,
                Act::Output(output) => {
                    booking.1 = true;
                    return Ok(output.clone());
                }
                Act::Fault(fault) => {
                    booking.1 = true;
                    return Err(fault.clone());
                }
            }
        }
        booking.1 = true;
        Ok(ToolOutput::text(""))
    }
}
