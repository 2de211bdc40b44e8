//! Boundary inputs as hosts give them: a source for the session, and the questions that it is asked (B1-B6).

use crate::core::boundary::{Boundary, BoundaryAnswer, BoundaryError, BoundaryRequest};
use crate::core::id::{OpId, RunId, SessionId};
use crate::panics::drop_caught;
use crate::shared::RunShared;
use crate::start::UserInput;
use crate::sync::{Arc, Mutex, Weak, lock};
use futures_core::Stream;
use std::collections::VecDeque;
use std::fmt;
use std::future::{Ready, poll_fn, ready};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// A source of boundary inputs and the questions that it is asked.
///
/// Install the source with [`Session::set_boundary_inputs`](crate::Session::set_boundary_inputs) and answer the
/// questions beside the run, each of them: a run waits for its answer, and one whose question is dropped unanswered, or
/// whose [`BoundaryInputs`] are dropped, fails (B6). Use a fresh source for each run.
///
/// ```
/// use futures_lite::future::{block_on, zip};
/// use runloom::testing::ScriptedModel;
/// use runloom::{Boundary, Engine, Host, ManualTimer, ModelSpec, boundary_inputs};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model = ScriptedModel::new(["All is well.".into()]);
/// let host = Host::shared().model(ModelSpec::new("scripted"), model).build()?;
/// let session = Engine::new(host, ManualTimer::new()).session()?;
/// let (source, mut questions) = boundary_inputs();
/// session.set_boundary_inputs(Some(source))?;
/// let (run, driver) = session.start("How is the build?")?;
/// let notices = async {
///     while let Some(question) = questions.next().await {
///         let committed = match question.boundary() {
///             Boundary::BeforeProvider => question.respond("The build has just finished.").await,
///             _ => question.nothing().await,
///         };
///         if let Ok(committed) = committed {
///             println!("committed: {committed}");
///         }
///     }
/// };
/// let driver = async {
///     let outcome = driver.await;
///     session.set_boundary_inputs(None)?;
///     Ok::<_, runloom::SessionError>(outcome)
/// };
/// let (outcome, ()) = block_on(zip(driver, notices));
/// assert_eq!(outcome?.history.len(), 3);
/// drop(run);
/// # Ok(())
/// # }
/// ```
pub fn boundary_inputs() -> (BoundarySource, BoundaryInputs) {
    let channel = Arc::new(Channel { state: Mutex::new(State::default()) });
    let end = Arc::new(SourceEnd { channel: Arc::clone(&channel) });
    (BoundarySource { end }, BoundaryInputs { channel })
}

#[derive(Default)]
struct State {
    queue: VecDeque<BoundaryQuestion>,
    waker: Option<Waker>,
    /// Whether no source is left that could ask.
    silent: bool,
    /// Whether nobody receives any more.
    gone: bool,
}

struct Channel {
    state: Mutex<State>,
}

impl Channel {
    fn push(&self, question: BoundaryQuestion) {
        let (waker, refused) = {
            let mut state = lock(&self.state);
            if state.gone {
                (None, Some(question))
            } else {
                state.queue.push_back(question);
                (state.waker.take(), None)
            }
        };
        // Dropped unanswered it fails its run.
        drop(refused);
        wake(waker);
    }

    /// Takes a question back that nobody has received.
    fn withdraw(&self, run: &RunId, op: OpId) {
        let mut withdrawn: VecDeque<BoundaryQuestion> = {
            let mut state = lock(&self.state);
            let queue = std::mem::take(&mut state.queue);
            let (taken, rest) = queue.into_iter().partition(|own| own.op == op && own.request.run == *run);
            state.queue = rest;
            taken
        };
        // The run asks no more: nobody is to be told.
        withdrawn.iter_mut().for_each(|question| question.answered = true);
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        let _ = crate::panics::caught(|| waker.wake());
    }
}

/// The asking side of a channel, for as long as a source is left.
struct SourceEnd {
    channel: Arc<Channel>,
}

impl Drop for SourceEnd {
    fn drop(&mut self) {
        let waker = {
            let mut state = lock(&self.channel.state);
            state.silent = true;
            state.waker.take()
        };
        wake(waker);
    }
}

/// Where a session's runs ask for boundary inputs; see [`boundary_inputs`]. Clones are the same source. To clone one
/// takes no lock, so that it can be done under any.
#[derive(Clone)]
pub struct BoundarySource {
    end: Arc<SourceEnd>,
}

impl fmt::Debug for BoundarySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundarySource").finish_non_exhaustive()
    }
}

/// The questions that a source is asked, one after the other; a stream too. Dropping it fails the runs that ask (B6).
pub struct BoundaryInputs {
    channel: Arc<Channel>,
}

impl BoundaryInputs {
    /// The next question; `None` once no session and no run has the source any more.
    pub async fn next(&mut self) -> Option<BoundaryQuestion> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// The next question, if one is there.
    pub fn try_next(&mut self) -> Option<BoundaryQuestion> {
        lock(&self.channel.state).queue.pop_front()
    }
}

impl Stream for BoundaryInputs {
    type Item = BoundaryQuestion;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<BoundaryQuestion>> {
        // A waker is cloned and dropped outside of the lock: both are foreign code.
        let waker = cx.waker().clone();
        let (poll, old) = {
            let mut state = lock(&self.channel.state);
            match state.queue.pop_front() {
                Some(question) => (Poll::Ready(Some(question)), Some(waker)),
                None if state.silent => (Poll::Ready(None), Some(waker)),
                None => (Poll::Pending, state.waker.replace(waker)),
            }
        };
        drop_caught(old);
        poll
    }
}

impl Drop for BoundaryInputs {
    fn drop(&mut self) {
        let (queue, waker) = {
            let mut state = lock(&self.channel.state);
            state.gone = true;
            (std::mem::take(&mut state.queue), state.waker.take())
        };
        drop(queue);
        drop_caught(waker);
    }
}

impl fmt::Debug for BoundaryInputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundaryInputs").finish_non_exhaustive()
    }
}

/// A run's question for input. It waits for the answer; dropped unanswered, it fails (B6).
#[must_use = "a question that is dropped unanswered fails its run"]
pub struct BoundaryQuestion {
    request: Arc<BoundaryRequest>,
    op: OpId,
    run: Weak<RunShared>,
    answered: bool,
}

impl BoundaryQuestion {
    /// The session.
    pub fn session(&self) -> &SessionId {
        &self.request.session
    }

    /// The run.
    pub fn run(&self) -> &RunId {
        &self.request.run
    }

    /// Where the run stands.
    pub fn boundary(&self) -> Boundary {
        self.request.boundary
    }

    /// The last step that was begun; 0 before the first.
    pub fn step(&self) -> u32 {
        self.request.step
    }

    /// Answers with input that no human typed: text and images. It is sent by this call, whether or not the future is
    /// awaited, and decided at once, whoever polls the run.
    ///
    /// The future gives `true` when the input is committed to the session's history, under a revision of its own; it
    /// waits for neither readers nor the provider. It gives `false` if the input is empty, or if the run was cancelled,
    /// interrupted or failed first (B4): then nothing is committed, and what was reserved for delivery is to be kept.
    ///
    /// # Errors
    ///
    /// [`BoundaryRefused`] if the input is out of bounds. It holds the question, which stands open.
    pub fn respond(self, input: impl Into<UserInput>) -> Ready<Result<bool, BoundaryRefused>> {
        ready(self.answer(BoundaryAnswer::Input(input.into().into_parts())))
    }

    /// Answers that there is nothing. At completion this ends collection: the run asks no more (B3).
    pub fn nothing(self) -> Ready<Result<bool, BoundaryRefused>> {
        ready(self.answer(BoundaryAnswer::Input(Vec::new())))
    }

    fn answer(mut self, answer: BoundaryAnswer) -> Result<bool, BoundaryRefused> {
        let run = self.run.upgrade();
        let op = self.op;
        match run.map_or(Ok(false), |run| run.with(|state| state.boundary(op, answer))) {
            Ok(committed) => {
                self.answered = true;
                Ok(committed)
            }
            Err(error) => Err(BoundaryRefused { error, question: self }),
        }
    }
}

impl Drop for BoundaryQuestion {
    fn drop(&mut self) {
        if let (false, Some(run)) = (self.answered, self.run.upgrade()) {
            let op = self.op;
            // Of a run that has ended, or has taken the question back, nobody minds it.
            let _ = run.with(|state| state.boundary(op, BoundaryAnswer::Lost));
        }
    }
}

impl fmt::Debug for BoundaryQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.request, f)
    }
}

/// Boundary input that was not accepted, with the question, which can be answered otherwise.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
#[non_exhaustive]
pub struct BoundaryRefused {
    /// What is wrong with the input.
    pub error: BoundaryError,
    /// The question.
    pub question: BoundaryQuestion,
}

/// A run's way to its source.
#[derive(Clone, Debug)]
pub(crate) struct BoundaryPort {
    source: BoundarySource,
    run: Arc<Mutex<Weak<RunShared>>>,
}

impl BoundaryPort {
    pub(crate) fn new(source: BoundarySource) -> Self {
        Self { source, run: Arc::new(Mutex::new(Weak::new())) }
    }

    /// The run is made: answers go to it.
    pub(crate) fn connect(&self, run: &Arc<RunShared>) {
        *lock(&self.run) = Arc::downgrade(run);
    }

    pub(crate) fn ask(&self, op: OpId, request: Arc<BoundaryRequest>) {
        let run = lock(&self.run).clone();
        self.source.end.channel.push(BoundaryQuestion { request, op, run, answered: false });
    }

    pub(crate) fn withdraw(&self, run: &RunId, op: OpId) {
        self.source.end.channel.withdraw(run, op);
    }
}
