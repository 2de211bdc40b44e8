//! Where a running tool leaves its questions for its transport, and finds the answers.

use super::ready::OpWaker;
use crate::core::host_input::{AskError, HostAnswer, Question};
use crate::core::tool::{Ask as AskItem, ToolItem, ToolVisibility};
use crate::panics::drop_caught;
use crate::sync::{Arc, Mutex, lock};
use crate::wakers::Woken;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Wake, Waker};

type Answered = Result<HostAnswer, AskError>;

#[derive(Default)]
pub(super) struct AskSlot {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: u64,
    closed: bool,
    /// With their places in the tool's order.
    outgoing: VecDeque<(usize, ToolItem)>,
    waiting: BTreeMap<u64, Waiting>,
}

enum Waiting {
    For(Option<Waker>),
    Done(Box<Answered>),
}

impl Waiting {
    fn into_waker(self) -> Option<Waker> {
        match self {
            Self::For(waker) => waker,
            Self::Done(_) => None,
        }
    }
}

impl AskSlot {
    /// What the tool has left first: a question, the news that one is not waited for any more, other tools.
    pub(super) fn take(&self) -> Option<ToolItem> {
        lock(&self.state).outgoing.pop_front().map(|(_, item)| item)
    }

    /// The place of what is taken next.
    pub(super) fn place(&self) -> Option<usize> {
        lock(&self.state).outgoing.front().map(|(place, _)| *place)
    }

    /// Hands an answer to whoever waits for it.
    pub(super) fn deliver(&self, ticket: u64, answer: Box<Answered>) {
        let before = {
            let mut state = lock(&self.state);
            match state.waiting.get_mut(&ticket) {
                Some(place) => std::mem::replace(place, Waiting::Done(answer)),
                None => return,
            }
        };
        let mut woken = Woken::default();
        woken.push(before.into_waker());
        woken.wake();
    }

    /// The call has ended: nothing is asked any more, and nobody waits in vain.
    pub(super) fn close(&self) {
        let (waiting, outgoing) = {
            let mut state = lock(&self.state);
            state.closed = true;
            (std::mem::take(&mut state.waiting), std::mem::take(&mut state.outgoing))
        };
        drop(outgoing);
        let mut woken = Woken::default();
        waiting.into_values().for_each(|place| woken.push(place.into_waker()));
        woken.wake();
    }

    /// Leaves a question; its ticket, unless the call is over.
    fn ask(&self, question: Arc<Question>, place: usize) -> Option<u64> {
        let mut state = lock(&self.state);
        if state.closed {
            return None;
        }
        state.last += 1;
        let ticket = state.last;
        state.waiting.insert(ticket, Waiting::For(None));
        state.outgoing.push_back((place, ToolItem::Ask(Box::new(AskItem { ticket, question }))));
        Some(ticket)
    }

    /// Leaves the wish for other tools. What was wished for and not taken yet is put together with it, so that a tool
    /// that wishes without end fills no memory.
    pub(super) fn show(&self, change: ToolVisibility, place: usize) {
        let mut state = lock(&self.state);
        if state.closed {
            return;
        }
        match state.outgoing.back_mut() {
            Some((_, ToolItem::Visibility(last))) => {
                last.show.retain(|name| !change.hide.contains(name) && !change.show.contains(name));
                last.hide.retain(|name| !change.show.contains(name) && !change.hide.contains(name));
                last.show.extend(change.show);
                last.hide.extend(change.hide);
            }
            _ => state.outgoing.push_back((place, ToolItem::Visibility(Box::new(change)))),
        }
    }

    /// The answer, if it is there. `waker` takes the place of the one before, which comes back in it.
    fn look(&self, ticket: u64, waker: &mut Option<Waker>) -> Poll<Answered> {
        let mut state = lock(&self.state);
        match state.waiting.get_mut(&ticket) {
            None => Poll::Ready(Err(AskError::Gone)),
            Some(Waiting::For(known)) => {
                std::mem::swap(known, waker);
                Poll::Pending
            }
            Some(Waiting::Done(_)) => match state.waiting.remove(&ticket) {
                Some(Waiting::Done(answer)) => Poll::Ready(*answer),
                Some(Waiting::For(_)) | None => Poll::Ready(Err(AskError::Gone)),
            },
        }
    }

    /// Nobody waits for the answer any more; whether the question had been taken, so that it is to be taken back.
    fn withdraw(&self, ticket: u64, place: usize) -> (bool, Option<Waker>) {
        let mut state = lock(&self.state);
        let waker = match state.waiting.remove(&ticket) {
            Some(Waiting::For(waker)) => waker,
            Some(Waiting::Done(_)) | None => return (false, None),
        };
        let unasked =
            |(_, item): &(usize, ToolItem)| matches!(item, ToolItem::Ask(ask) if ask.ticket == ticket);
        if let Some(at) = state.outgoing.iter().position(unasked) {
            state.outgoing.remove(at);
            return (false, waker);
        }
        state.outgoing.push_back((place, ToolItem::Withdraw(ticket)));
        (true, waker)
    }
}

/// Waits for the answer to a question; see [`ToolContext::ask`](super::ToolContext::ask).
///
/// Dropped before the answer has come, it takes the question back.
#[must_use = "futures do nothing unless polled"]
pub struct Asking {
    call: Arc<OpWaker>,
    place: Place,
}

enum Place {
    Unasked(Arc<Question>),
    Asked(u64),
    Over,
}

impl Asking {
    pub(super) fn new(call: Arc<OpWaker>, question: Question) -> Self {
        Self { call, place: Place::Unasked(Arc::new(question)) }
    }
}

impl Future for Asking {
    type Output = Answered;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answered> {
        let this = self.get_mut();
        if let Place::Unasked(question) = &this.place {
            let Some(ticket) = this.call.asks.ask(Arc::clone(question), this.call.place()) else {
                this.place = Place::Over;
                return Poll::Ready(Err(AskError::Gone));
            };
            this.place = Place::Asked(ticket);
            this.call.wake_by_ref();
        }
        let Place::Asked(ticket) = this.place else { return Poll::Ready(Err(AskError::Gone)) };
        let mut waker = Some(cx.waker().clone());
        let answer = this.call.asks.look(ticket, &mut waker);
        drop(waker);
        if answer.is_ready() {
            this.place = Place::Over;
        }
        answer
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        if let Place::Asked(ticket) = self.place {
            let (asked, waker) = self.call.asks.withdraw(ticket, self.call.place());
            if asked {
                self.call.wake_by_ref();
            }
            drop_caught(waker);
        }
    }
}

impl fmt::Debug for Asking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asking").field("over", &matches!(self.place, Place::Over)).finish_non_exhaustive()
    }
}
