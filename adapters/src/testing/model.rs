//! A model that follows a script.

use super::NoWaiting;
use crate::core::model::{CallDelta, Completion, Finish, ModelItem, ModelRequest, Problem, ProblemKind};
use crate::core::text::Text;
use crate::core::usage::Usage;
use crate::host::{Model, ModelContext};
use crate::sync::{Mutex, lock};
use crate::timer::{Sleep, Timer, sleep};
use futures_core::Stream;
use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// What one attempt does, step by step. Build it with its methods; a script that says no other end is done at its
/// end, with the finish that fits its calls.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Attempt {
    /// Done before the stream is there.
    opening: Vec<Act>,
    acts: VecDeque<Act>,
    calls: u32,
    ended: bool,
}

#[derive(Clone, Debug)]
enum Act {
    Item(ModelItem),
    Wait(Duration),
    Panic,
    Hang,
    End,
    Refuse(Box<Problem>),
}

impl Attempt {
    /// An attempt that does nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// An attempt that answers with this text in one piece.
    pub fn answer(text: impl Into<Text>) -> Self {
        Self::new().text(text)
    }

    fn act(mut self, act: Act) -> Self {
        self.acts.push_back(act);
        self
    }

    /// Yields this item. `Done` and `Failed` are ends: nothing is added after them.
    pub fn item(mut self, item: ModelItem) -> Self {
        self.ended |= matches!(item, ModelItem::Done(_) | ModelItem::Failed(_));
        self.act(Act::Item(item))
    }

    /// Yields a piece of text.
    pub fn text(self, text: impl Into<Text>) -> Self {
        self.item(ModelItem::Text(text.into()))
    }

    /// Yields this piece of text so many times.
    pub fn texts(mut self, text: impl Into<Text>, times: usize) -> Self {
        let item = ModelItem::Text(text.into());
        self.acts.extend(std::iter::repeat_n(Act::Item(item), times));
        self
    }

    /// Yields a tool call in one piece; its id counts from `call-1`.
    pub fn call(mut self, name: impl Into<Text>, arguments: impl Into<Text>) -> Self {
        self.calls += 1;
        let id = format!("call-{}", self.calls);
        let (index, id) = (Some(self.calls - 1), Some(id.into()));
        let delta = CallDelta { index, id, name: Some(name.into()), arguments: arguments.into() };
        self.item(ModelItem::CallDelta(Box::new(delta)))
    }

    /// Yields a report of usage.
    pub fn usage(self, input_tokens: u64, output_tokens: u64) -> Self {
        self.item(ModelItem::Usage(Box::new(Usage::new(input_tokens, output_tokens))))
    }

    /// Ends well, for this reason.
    pub fn finish(self, finish: Finish) -> Self {
        self.item(ModelItem::Done(Box::new(Completion::new(Some(finish), finish.as_str()))))
    }

    /// Fails within the stream.
    pub fn fail(self, problem: Problem) -> Self {
        self.item(ModelItem::Failed(Box::new(problem)))
    }

    /// Ends the stream without `Done` or `Failed`.
    pub fn cut(mut self) -> Self {
        self.ended = true;
        self.act(Act::End)
    }

    /// Waits, by the script's timer.
    pub fn wait(self, span: Duration) -> Self {
        self.act(Act::Wait(span))
    }

    /// Panics within the stream.
    pub fn panic(self) -> Self {
        self.act(Act::Panic)
    }

    /// Yields nothing more, for ever.
    pub fn hang(self) -> Self {
        self.act(Act::Hang)
    }

    /// Waits before the response begins.
    pub fn open_after(mut self, span: Duration) -> Self {
        self.opening.push(Act::Wait(span));
        self
    }

    /// Fails before the response begins.
    pub fn refuse(mut self, problem: Problem) -> Self {
        self.opening.push(Act::Refuse(Box::new(problem)));
        self
    }

    /// Panics before the response begins.
    pub fn open_panic(mut self) -> Self {
        self.opening.push(Act::Panic);
        self
    }

    /// Never begins to respond.
    pub fn open_hang(mut self) -> Self {
        self.opening.push(Act::Hang);
        self
    }

    fn ended(mut self) -> Self {
        if self.ended {
            return self;
        }
        let finish = if self.calls > 0 { Finish::ToolCalls } else { Finish::Stop };
        self.ended = true;
        self.finish(finish)
    }
}

impl Attempt {
    /// What comes of it, each after a wait that counts from the one before; what hangs yields nothing more.
    #[cfg(feature = "verify")]
    pub(super) fn schedule(&self) -> Vec<(Duration, ModelItem)> {
        let attempt = self.clone().ended();
        let (mut items, mut wait) = (Vec::new(), Duration::ZERO);
        for act in attempt.opening.into_iter().chain(attempt.acts) {
            let (item, last) = match act {
                Act::Wait(span) => {
                    wait += span;
                    continue;
                }
                Act::Hang => break,
                Act::Item(item) => (item, false),
                Act::Refuse(problem) => (ModelItem::Failed(problem), true),
                Act::Panic => (failed(ProblemKind::Panicked, "the model panicked"), true),
                Act::End => (failed(ProblemKind::Truncated, "the stream ended early"), true),
            };
            items.push((std::mem::take(&mut wait), item));
            if last {
                break;
            }
        }
        items
    }
}

#[cfg(feature = "verify")]
fn failed(kind: ProblemKind, text: &str) -> ModelItem {
    ModelItem::Failed(Box::new(Problem::new(kind, text)))
}

impl From<&str> for Attempt {
    fn from(text: &str) -> Self {
        Self::answer(text)
    }
}

/// A model that answers one request after the other from a script. Clones share the script and its accounts.
///
/// When the script is used up, attempts fail for good.
///
/// ```
/// use runloom::testing::{Attempt, ScriptedModel};
///
/// let model = ScriptedModel::new([Attempt::new().text("two ").call("add", r#"{"a":1,"b":1}"#), "2".into()]);
/// assert_eq!(model.requests(), 0);
/// ```
#[derive(Clone)]
pub struct ScriptedModel<T = NoWaiting> {
    timer: T,
    script: Arc<Mutex<Script>>,
}

#[derive(Debug, Default)]
struct Script {
    attempts: VecDeque<Attempt>,
    seen: Vec<Arc<ModelRequest>>,
}

impl ScriptedModel {
    /// A script whose waits are over at once.
    pub fn new(attempts: impl IntoIterator<Item = Attempt>) -> Self {
        Self::timed(NoWaiting, attempts)
    }
}

impl<T> ScriptedModel<T> {
    /// A script whose waits are by `timer`.
    pub fn timed(timer: T, attempts: impl IntoIterator<Item = Attempt>) -> Self {
        let script = Script { attempts: attempts.into_iter().collect(), seen: Vec::new() };
        Self { timer, script: Arc::new(Mutex::new(script)) }
    }

    /// Adds an attempt at the script's end.
    pub fn push(&self, attempt: impl Into<Attempt>) {
        let attempt = attempt.into();
        lock(&self.script).attempts.push_back(attempt);
    }

    /// How many requests were made.
    pub fn requests(&self) -> usize {
        lock(&self.script).seen.len()
    }

    /// The requests, oldest first.
    pub fn seen(&self) -> Vec<Arc<ModelRequest>> {
        lock(&self.script).seen.clone()
    }
}

impl<T> fmt::Debug for ScriptedModel<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedModel").field("requests", &self.requests()).finish_non_exhaustive()
    }
}

impl<T: Timer + Clone + Send + Sync + 'static> Model for ScriptedModel<T> {
    type Stream = ScriptedStream<T>;

    async fn open(&self, request: Arc<ModelRequest>, _: ModelContext) -> Result<Self::Stream, Problem> {
        let attempt = {
            let mut script = lock(&self.script);
            script.seen.push(request);
            script.attempts.pop_front()
        };
        let Some(attempt) = attempt else {
            return Err(Problem::new(ProblemKind::InvalidRequest, "the script has no further attempt"));
        };
        let attempt = attempt.ended();
        for act in attempt.opening {
            match act {
                Act::Wait(span) => sleep(self.timer.clone(), span).await,
                Act::Refuse(problem) => return Err(*problem),
                Act::Hang => pending().await,
                Act::Panic | Act::Item(_) | Act::End => scripted_panic(),
            }
        }
        Ok(ScriptedStream { acts: attempt.acts, timer: self.timer.clone(), waiting: None })
    }
}

#[allow(clippy::panic, reason = "the script asks for it")]
pub(super) fn scripted_panic() {
    panic!("scripted");
}

/// The stream of a [`ScriptedModel`].
#[derive(Debug)]
pub struct ScriptedStream<T> {
    acts: VecDeque<Act>,
    timer: T,
    waiting: Option<Sleep<T>>,
}

impl<T> Unpin for ScriptedStream<T> {}

impl<T: Timer + Clone> Stream for ScriptedStream<T> {
    type Item = ModelItem;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ModelItem>> {
        let this = self.get_mut();
        loop {
            if let Some(wait) = &mut this.waiting {
                if Pin::new(wait).poll(cx).is_pending() {
                    return Poll::Pending;
                }
                this.waiting = None;
            }
            match this.acts.pop_front() {
                Some(Act::Item(item)) => return Poll::Ready(Some(item)),
                Some(Act::Wait(span)) => this.waiting = Some(sleep(this.timer.clone(), span)),
                Some(Act::Panic) => scripted_panic(),
                Some(Act::Hang) => {
                    this.acts.push_front(Act::Hang);
                    return Poll::Pending;
                }
                Some(Act::End | Act::Refuse(_)) | None => return Poll::Ready(None),
            }
        }
    }
}
