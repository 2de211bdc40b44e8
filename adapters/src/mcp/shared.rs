//! A connection that many calls share: the state behind one lock, and how it is driven.

use super::McpTransport;
use super::wakes::Wakes;
use crate::core::mcp::{McpConnection, McpError, McpEvent, McpLine, McpProgress, McpRequest, McpToolList};
use crate::core::tool::ToolOutput;
use crate::panics::{caught, drop_caught};
use crate::sync::{Arc, Mutex, lock};
use std::collections::{BTreeMap, VecDeque};
use std::task::{Context, Poll, Waker};

/// Most lines of each direction in one round, and most rounds before the task lets others run.
const LINES: usize = 64;
const ROUNDS: usize = 4;
/// Most lines that are still read after sending has failed.
const LAST_LINES: usize = 1024;

pub(super) struct Shared<X> {
    state: Mutex<State<X>>,
    pub(super) wakes: Arc<Wakes>,
    /// What the transport is polled with.
    waker: Waker,
}

pub(super) struct State<X> {
    pub(super) connection: McpConnection,
    /// Away while a task polls it; gone for good after the end.
    transport: Option<X>,
    /// A line that the transport has begun to send.
    unsent: Option<String>,
    slots: BTreeMap<McpRequest, Slot>,
    pub(super) changes: u64,
    pub(super) closed: Option<McpError>,
}

/// Where the events of a request wait for it.
struct Slot {
    place: u64,
    progress: VecDeque<McpProgress>,
    end: Option<End>,
}

/// How a request ended.
pub(super) enum End {
    Listed(Result<McpToolList, McpError>),
    Called(Result<ToolOutput, McpError>),
}

/// What a request has for its task.
pub(super) enum Got {
    Progress(McpProgress),
    End(End),
}

impl<X> Shared<X> {
    pub(super) fn new(connection: McpConnection, transport: X) -> Arc<Self> {
        let wakes = Arc::<Wakes>::default();
        // The handshake is to be sent.
        wakes.due();
        let state = State {
            connection,
            transport: Some(transport),
            unsent: None,
            slots: BTreeMap::new(),
            changes: 0,
            closed: None,
        };
        let waker = Waker::from(Arc::clone(&wakes));
        Arc::new(Self { state: Mutex::new(state), wakes, waker })
    }

    /// Looks at the state. `f` is code of this module: nothing foreign runs under the lock (X5).
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut State<X>) -> R) -> R {
        f(&mut lock(&self.state))
    }

    /// Ends the connection.
    pub(super) fn close(&self, error: McpError) {
        let transport = self.with(|state| {
            state.connection.close(error);
            state.sort_events();
            state.transport.take()
        });
        drop_caught(transport);
        self.wakes.wake_all();
    }
}

impl<X> State<X> {
    /// Makes a request whose events wait in a slot.
    pub(super) fn open(
        &mut self,
        place: u64,
        make: impl FnOnce(&mut McpConnection) -> Result<McpRequest, McpError>,
    ) -> Result<McpRequest, McpError> {
        let request = make(&mut self.connection)?;
        self.slots.insert(request, Slot { place, progress: VecDeque::new(), end: None });
        Ok(request)
    }

    /// The next thing for a request. With its end the slot is gone.
    pub(super) fn take(&mut self, request: McpRequest) -> Option<Got> {
        let slot = self.slots.get_mut(&request)?;
        if let Some(progress) = slot.progress.pop_front() {
            return Some(Got::Progress(progress));
        }
        let end = slot.end.take()?;
        self.slots.remove(&request);
        Some(Got::End(end))
    }

    /// Gives up a request.
    pub(super) fn cancel(&mut self, request: McpRequest, reason: &str) {
        self.slots.remove(&request);
        self.connection.cancel(request, reason);
    }

    /// Moves what has happened to where it is waited for; the places to be woken.
    fn sort_events(&mut self) -> Vec<u64> {
        let most = self.connection.limits().progress.max(1);
        let mut places = Vec::new();
        while let Some(event) = self.connection.next_event() {
            let (request, got) = match event {
                McpEvent::Progress(request, report) => (request, Got::Progress(report)),
                McpEvent::Listed(request, list) => (request, Got::End(End::Listed(list))),
                McpEvent::Called(request, output) => (request, Got::End(End::Called(output))),
                McpEvent::ToolsChanged => {
                    self.changes += 1;
                    continue;
                }
                McpEvent::Closed(error) => {
                    self.closed = Some(error);
                    continue;
                }
                _ => continue,
            };
            let Some(slot) = self.slots.get_mut(&request) else { continue };
            match got {
                Got::Progress(report) => {
                    // The newest report says how far the call is; what it replaces was on the way there.
                    if slot.progress.len() >= most {
                        slot.progress.pop_back();
                    }
                    slot.progress.push_back(report);
                }
                Got::End(end) => slot.end = Some(end),
            }
            places.push(slot.place);
        }
        places
    }
}

impl<X: McpTransport> Shared<X> {
    /// Moves lines in both directions as far as they go, if something is due and no other task is doing so: that one goes
    /// on a little longer then.
    pub(super) fn drive(&self) {
        let mut rounds = 0;
        while self.wakes.begin() {
            self.round();
            rounds += 1;
            if !self.wakes.end(rounds >= ROUNDS) {
                return;
            }
        }
    }

    fn round(&self) {
        let Some(mut transport) = self.with(|state| state.transport.take()) else { return };
        let well = caught(|| self.exchange(&mut transport));
        let error = match well {
            Some(Ok(())) => {
                let unwanted = self.with(|state| match state.closed {
                    None => {
                        state.transport = Some(transport);
                        None
                    }
                    Some(_) => Some(transport),
                });
                return drop_caught(unwanted);
            }
            Some(Err(error)) => error,
            None => McpError::closed("the transport panicked"),
        };
        drop_caught(transport);
        self.close(error);
    }

    fn exchange(&self, transport: &mut X) -> Result<(), McpError> {
        let mut cx = Context::from_waker(&self.waker);
        for _ in 0..LINES {
            let mut moved = false;
            let line = self.with(|state| state.unsent.take().or_else(|| state.connection.next_line()));
            if let Some(line) = line {
                match transport.poll_send(&mut cx, &line) {
                    Poll::Ready(Ok(())) => moved = true,
                    Poll::Ready(Err(error)) => return Err(self.last_words(transport, &mut cx, error)),
                    Poll::Pending => self.with(|state| state.unsent = Some(line)),
                }
            }
            if let Poll::Ready(line) = transport.poll_receive(&mut cx) {
                self.take_in(line?);
                moved = true;
            }
            if !moved {
                return Ok(());
            }
        }
        self.wakes.due();
        Ok(())
    }

    /// Reads what a server has answered before it stopped to listen.
    fn last_words(&self, transport: &mut X, cx: &mut Context<'_>, error: McpError) -> McpError {
        for _ in 0..LAST_LINES {
            match transport.poll_receive(cx) {
                Poll::Ready(Ok(line)) => self.take_in(line),
                Poll::Ready(Err(error)) => return error,
                Poll::Pending => break,
            }
        }
        error
    }

    fn take_in(&self, line: McpLine) {
        let (places, ended) = self.with(|state| {
            state.connection.receive(line);
            (state.sort_events(), state.closed.is_some())
        });
        if ended {
            // The handshake has failed: that concerns everyone.
            self.wakes.wake_all();
        } else {
            self.wakes.wake(&places);
        }
    }
}

/// A task that waits for the connection.
pub(super) struct Waiter<X> {
    pub(super) shared: Arc<Shared<X>>,
    pub(super) place: u64,
}

impl<X> Waiter<X> {
    pub(super) fn new(shared: &Arc<Shared<X>>) -> Self {
        Self { shared: Arc::clone(shared), place: shared.wakes.enter() }
    }
}

impl<X: McpTransport> Waiter<X> {
    /// Drives the connection and looks whether there is something.
    pub(super) fn poll<R>(
        &self,
        cx: &mut Context<'_>,
        look: impl FnOnce(&mut State<X>) -> Option<R>,
    ) -> Poll<R> {
        self.shared.wakes.wait(self.place, cx.waker());
        self.shared.drive();
        match self.shared.with(look) {
            Some(found) => Poll::Ready(found),
            None => Poll::Pending,
        }
    }
}

impl<X> Drop for Waiter<X> {
    fn drop(&mut self) {
        self.shared.wakes.leave(self.place);
    }
}
