//! Futures whose polls and wakes are counted, so that a test knows when all of them sleep.

use crate::sync::{Arc, Mutex, lock};
use crate::wakers::Woken;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, Wake, Waker};

/// Knows how many of its futures are awake, and wakes who waits for none to be.
#[derive(Default)]
pub(super) struct Watch {
    state: Mutex<WatchState>,
}

#[derive(Default)]
struct WatchState {
    awake: usize,
    waiting: Option<Waker>,
}

impl Watch {
    fn more(&self) {
        lock(&self.state).awake += 1;
    }

    fn less(&self) {
        let mut woken = Woken::default();
        {
            let mut state = lock(&self.state);
            state.awake -= 1;
            if state.awake == 0 {
                woken.push(state.waiting.take());
            }
        }
        woken.wake();
    }

    /// Waits until all futures sleep or are done: then nothing happens until something comes from outside.
    pub(super) async fn quiet(self: Arc<Self>) {
        poll_fn(|cx| {
            let waker = cx.waker().clone();
            let mut state = lock(&self.state);
            if state.awake == 0 {
                drop(state);
                return Poll::Ready(());
            }
            let replaced = state.waiting.replace(waker);
            drop(state);
            drop(replaced);
            Poll::Pending
        })
        .await;
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Asleep,
    Woken,
    Polled,
    /// Woken while it was polled.
    PolledAndWoken,
    Done,
}

/// What became of one watched future.
#[derive(Default)]
pub(super) struct Account {
    watch: Arc<Watch>,
    state: Mutex<AccountState>,
}

#[derive(Default)]
struct AccountState {
    phase: Phase,
    polls: u64,
    wakes: u64,
    executor: Option<Waker>,
}

impl Account {
    /// How often it was polled.
    pub(super) fn polls(&self) -> u64 {
        lock(&self.state).polls
    }

    /// How often its waker was called, also for nothing.
    pub(super) fn wakes(&self) -> u64 {
        lock(&self.state).wakes
    }

    /// Whether it has ended or was dropped.
    pub(super) fn is_done(&self) -> bool {
        lock(&self.state).phase == Phase::Done
    }

    fn wake_now(&self) {
        let executor = {
            let mut state = lock(&self.state);
            state.wakes += 1;
            if state.phase == Phase::Asleep {
                self.watch.more();
            }
            state.phase = match state.phase {
                Phase::Asleep => Phase::Woken,
                Phase::Polled => Phase::PolledAndWoken,
                other => other,
            };
            state.executor.clone()
        };
        if let Some(executor) = executor {
            executor.wake();
        }
    }

    fn begin(&self, executor: &Waker) {
        let executor = executor.clone();
        let replaced = {
            let mut state = lock(&self.state);
            if state.phase == Phase::Asleep {
                self.watch.more();
            }
            state.phase = Phase::Polled;
            state.polls += 1;
            state.executor.replace(executor)
        };
        drop(replaced);
    }

    fn end(&self, done: bool) {
        let (less, executor) = {
            let mut state = lock(&self.state);
            let before = state.phase;
            state.phase = match before {
                _ if done => Phase::Done,
                Phase::PolledAndWoken => Phase::Woken,
                Phase::Done => Phase::Done,
                Phase::Asleep | Phase::Woken | Phase::Polled => Phase::Asleep,
            };
            let was_awake = !matches!(before, Phase::Asleep | Phase::Done);
            let is_awake = state.phase == Phase::Woken;
            (was_awake && !is_awake, if done { state.executor.take() } else { None })
        };
        drop(executor);
        if less {
            self.watch.less();
        }
    }
}

impl Wake for Account {
    fn wake(self: Arc<Self>) {
        self.wake_now();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wake_now();
    }
}

/// A future under watch. Until its first poll it counts as awake.
pub(super) struct Watched<F> {
    future: Option<Pin<Box<F>>>,
    account: Arc<Account>,
    waker: Waker,
}

impl<F> Watched<F> {
    pub(super) fn new(watch: &Arc<Watch>, future: F) -> Self {
        watch.more();
        let state = Mutex::new(AccountState { phase: Phase::Woken, ..AccountState::default() });
        let account = Arc::new(Account { watch: Arc::clone(watch), state });
        let waker = Waker::from(Arc::clone(&account));
        Self { future: Some(Box::pin(future)), account, waker }
    }

    pub(super) fn account(&self) -> Arc<Account> {
        Arc::clone(&self.account)
    }
}

impl<F> Unpin for Watched<F> {}

impl<F: Future> Future for Watched<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let Some(future) = &mut this.future else { return Poll::Ready(()) };
        this.account.begin(cx.waker());
        let ready = future.as_mut().poll(&mut Context::from_waker(&this.waker)).is_ready();
        if ready {
            this.future = None;
        }
        this.account.end(ready);
        if ready { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl<F> Drop for Watched<F> {
    fn drop(&mut self) {
        self.future = None;
        self.account.end(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;

    #[test]
    fn all_are_quiet_only_when_each_sleeps_or_is_gone() {
        let watch = Arc::new(Watch::default());
        let mut cx = Context::from_waker(Waker::noop());
        let mut first = Watched::new(&watch, pending::<()>());
        let second = Watched::new(&watch, pending::<()>());
        let account = first.account();
        let mut quiet = Box::pin(Arc::clone(&watch).quiet());
        assert!(quiet.as_mut().poll(&mut cx).is_pending());
        assert!(Pin::new(&mut first).poll(&mut cx).is_pending());
        assert!(quiet.as_mut().poll(&mut cx).is_pending());
        drop(second);
        assert!(quiet.as_mut().poll(&mut cx).is_ready());
        Waker::from(Arc::clone(&account)).wake();
        let mut quiet = Box::pin(Arc::clone(&watch).quiet());
        assert!(quiet.as_mut().poll(&mut cx).is_pending());
        assert!(Pin::new(&mut first).poll(&mut cx).is_pending());
        assert!(quiet.as_mut().poll(&mut cx).is_ready());
        assert_eq!((account.polls(), account.wakes(), account.is_done()), (2, 1, false));
        drop(first);
        assert!(account.is_done());
        Waker::from(account).wake();
        assert!(Box::pin(watch.quiet()).as_mut().poll(&mut cx).is_ready());
    }
}
