//! Inputs that go into a model's attempt during its turn (H4).

use crate::core::steer::Steer;
use crate::panics::{caught, drop_caught};
use crate::sync::{Arc, Mutex, lock};
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

/// Where a model that can be steered during its turn receives inputs.
///
/// It first says in its stream that it can take one, by [`SteeringItem::Claim`](crate::core::steer::SteeringItem); then
/// the oldest staged input arrives here, or the next that comes. When the provider has acknowledged it, the stream says
/// `Delivered`, and if it could not be passed on, `Released`. Models that never claim get nothing.
#[derive(Clone, Default)]
pub struct Steering {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Arc<Steer>>,
    waker: Option<Waker>,
}

impl Steering {
    /// The next input that was claimed, if it has come; else the task is woken when it does. One task waits at a time.
    pub fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Arc<Steer>> {
        let waker = cx.waker().clone();
        let (poll, old) = {
            let mut state = lock(&self.state);
            match state.queue.pop_front() {
                Some(steer) => (Poll::Ready(steer), Some(waker)),
                None => (Poll::Pending, state.waker.replace(waker)),
            }
        };
        drop_caught(old);
        poll
    }

    /// Waits for the next input that was claimed.
    pub async fn next(&self) -> Arc<Steer> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    pub(crate) fn push(&self, steer: Arc<Steer>) {
        let waker = {
            let mut state = lock(&self.state);
            state.queue.push_back(steer);
            state.waker.take()
        };
        if let Some(waker) = waker {
            let _ = caught(|| waker.wake());
        }
    }
}

impl fmt::Debug for Steering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Steering").finish_non_exhaustive()
    }
}
