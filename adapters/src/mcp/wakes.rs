//! Who waits for a connection, and who drives it at the moment.

use crate::panics::{caught, drop_caught};
use crate::sync::{Arc, Mutex, lock};
use std::collections::BTreeMap;
use std::task::{Wake, Waker};

/// The tasks that wait for one connection. As a waker, which the transport gets, it wakes all of them: any one that is
/// polled serves all, and one that is never polled again holds up nobody.
#[derive(Default)]
pub(super) struct Wakes {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// One task polls the transport.
    driving: bool,
    /// There is something to do: the transport has woken, or a line is to be sent.
    due: bool,
    next: u64,
    waiting: BTreeMap<u64, Waker>,
}

impl Wakes {
    /// A place for a task.
    pub(super) fn enter(&self) -> u64 {
        let mut state = lock(&self.state);
        state.next += 1;
        state.next
    }

    /// Has the place wake this task.
    pub(super) fn wait(&self, place: u64, waker: &Waker) {
        let known = lock(&self.state).waiting.get(&place).is_some_and(|known| known.will_wake(waker));
        if !known {
            let waker = waker.clone();
            let replaced = lock(&self.state).waiting.insert(place, waker);
            drop(replaced);
        }
    }

    /// Gives up the place.
    pub(super) fn leave(&self, place: u64) {
        let left = lock(&self.state).waiting.remove(&place);
        drop_caught(left);
    }

    /// There is something to do, for whoever is polled next or polls the transport just now.
    pub(super) fn due(&self) {
        lock(&self.state).due = true;
    }

    /// Whether the caller is to poll the transport: not if nothing is due, so that of many that were woken one does it,
    /// and not while another one does, who looks again before it stops.
    pub(super) fn begin(&self) -> bool {
        let mut state = lock(&self.state);
        let begins = state.due && !state.driving;
        if begins {
            (state.driving, state.due) = (true, false);
        }
        begins
    }

    /// The caller has polled the transport: whether it is to do it again. `tired`, it leaves that to whoever is polled
    /// next.
    pub(super) fn end(&self, tired: bool) -> bool {
        let all = {
            let mut state = lock(&self.state);
            state.driving = false;
            if !state.due {
                return false;
            }
            if !tired {
                return true;
            }
            std::mem::take(&mut state.waiting)
        };
        wake(all.into_values());
        false
    }

    /// Wakes these places.
    pub(super) fn wake(&self, places: &[u64]) {
        let found: Vec<Waker> = {
            let mut state = lock(&self.state);
            places.iter().filter_map(|place| state.waiting.remove(place)).collect()
        };
        wake(found.into_iter());
    }

    /// Wakes everyone.
    pub(super) fn wake_all(&self) {
        let all = std::mem::take(&mut lock(&self.state).waiting);
        wake(all.into_values());
    }
}

fn wake(wakers: impl Iterator<Item = Waker>) {
    for waker in wakers {
        let _ = caught(|| waker.wake());
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let all = {
            let mut state = lock(&self.state);
            state.due = true;
            if state.driving {
                return;
            }
            std::mem::take(&mut state.waiting)
        };
        wake(all.into_values());
    }
}
