//! The calls of one step: proposed, started, updated, finished (E6, E7).

use super::Broken;
use super::requests::Requests;
use crate::event::ToolUpdated;
use crate::host_input::{HostRequest, RequestKind};
use crate::id::CallRef;
use crate::log::Ledger;
use crate::message::{ToolCall, ToolResult, ToolStatus};
use crate::suspend::{Suspended, SuspendedState};
use crate::text::Text;
use alloc::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub(super) struct Calls {
    /// Whether calls may have been proposed before the first event that was seen.
    unknown: bool,
    calls: BTreeMap<u32, Call>,
    /// How many are not finished.
    open: usize,
    /// Whether the run is being closed: a call was interrupted.
    closing: bool,
    /// The last call that was interrupted.
    interrupted: Option<CallRef>,
    /// Whether another process has just taken the run over: calls that were under way are interrupted without an end.
    taken_over: bool,
    /// Whether these are the complete calls of an aborted attempt.
    aborted: bool,
    requests: Requests,
}

#[derive(Clone, Debug)]
struct Call {
    call: CallRef,
    id: Text,
    name: Option<Text>,
    started: bool,
    finished: bool,
}

impl Calls {
    pub(super) fn unknown() -> Self {
        Self { unknown: true, requests: Requests::unknown(), ..Self::default() }
    }

    /// The calls of a run that goes on.
    pub(super) fn resumed(value: &Suspended) -> Self {
        let mut calls = Self { requests: Requests::resumed(value), ..Self::default() };
        for call in &value.calls {
            let finished = matches!(call.state, SuspendedState::Done(_));
            calls.open += usize::from(!finished);
            let (started, name) = (call.started, Some(call.call.name.clone()));
            let id = call.call.id.clone();
            calls
                .calls
                .insert(call.call.call.ordinal, Call { call: call.call.call, id, name, started, finished });
        }
        calls
    }

    /// A request of an open call is asked (H1).
    pub(super) fn requested(&mut self, request: &HostRequest) -> Result<(), Broken> {
        if self.closing || self.aborted {
            return Err(("H1", "something is asked while the run is being closed"));
        }
        let started = !matches!(request.kind, RequestKind::Approval { .. });
        let started = self.open(request.call.call, &request.call.id, started)?.started;
        self.requests.requested(request, started)
    }

    /// A request of an open call has an answer, has failed, or is not needed any more.
    pub(super) fn closed(&mut self, request: &HostRequest, cancelled: bool) -> Result<(), Broken> {
        if self.closing && !cancelled {
            return Err(("H1", "an answer comes while the run is being closed"));
        }
        let started = !matches!(request.kind, RequestKind::Approval { .. });
        self.open(request.call.call, &request.call.id, started)?;
        self.requests.closed(request)
    }

    /// Whether interrupted calls are what a process has lost, and not the beginning of the run's end (H7).
    pub(super) fn taken_over(&mut self, taken_over: bool) {
        self.taken_over = taken_over;
    }

    pub(super) fn next_step(&mut self) -> Result<(), Broken> {
        self.all_finished()?;
        if self.closing {
            return Err(("E3", "a step starts after calls were interrupted"));
        }
        *self = Self::default();
        Ok(())
    }

    pub(super) fn all_finished(&self) -> Result<(), Broken> {
        if self.open == 0 { Ok(()) } else { Err(("E3", "a call is open")) }
    }

    pub(super) fn none_proposed(&self) -> Result<(), Broken> {
        if self.calls.is_empty() || self.unknown {
            Ok(())
        } else {
            Err(("R4", "an abandoned attempt proposed calls"))
        }
    }

    pub(super) fn aborted(&mut self) {
        self.aborted = true;
    }

    pub(super) fn proposed(&mut self, call: &ToolCall, step: Option<u32>) -> Result<(), Broken> {
        let CallRef { step: of, ordinal } = call.call;
        if step.is_some_and(|step| step != of) {
            return Err(("E6", "a call of another step is proposed"));
        }
        // Places may stay empty: of a call that only repeats an earlier one, and of one that an aborted attempt left
        // open.
        let in_order = match self.calls.last_key_value() {
            Some((last, _)) => ordinal > *last,
            None => ordinal == 0 || self.aborted || self.unknown,
        };
        if !in_order {
            return Err(("E6", "calls are proposed once, in model order"));
        }
        if self.calls.values().any(|other| other.id == call.id) {
            return Err(("M4", "two calls of a response have one id"));
        }
        let name = Some(call.name.clone());
        self.calls.insert(
            ordinal,
            Call { call: call.call, id: call.id.clone(), name, started: false, finished: false },
        );
        self.open += 1;
        Ok(())
    }

    /// The open call; in a tail one that was proposed before is taken as open.
    fn open(&mut self, call: CallRef, id: &Text, started: bool) -> Result<&mut Call, Broken> {
        if self.unknown && !self.calls.contains_key(&call.ordinal) {
            self.calls
                .insert(call.ordinal, Call { call, id: id.clone(), name: None, started, finished: false });
            self.open += 1;
        }
        match self.calls.get_mut(&call.ordinal) {
            Some(open) if open.call == call && !open.finished => {
                if open.id == *id {
                    Ok(open)
                } else {
                    Err(("E9", "the call's id is another one"))
                }
            }
            Some(open) if open.call == call => Err(("E7", "the call is finished")),
            Some(_) | None => Err(("E6", "the call was not proposed")),
        }
    }

    pub(super) fn started(&mut self, call: &ToolCall) -> Result<(), Broken> {
        if self.closing || self.aborted {
            return Err(("E7", "a tool starts while the run is being closed"));
        }
        let open = self.open(call.call, &call.id, false)?;
        if open.started {
            return Err(("E7", "the tool has started before"));
        }
        if open.name.as_ref().is_some_and(|name| *name != call.name) {
            return Err(("E9", "the call's name is another one"));
        }
        open.started = true;
        self.requests.started(call.call)
    }

    pub(super) fn updated(&mut self, update: &ToolUpdated) -> Result<(), Broken> {
        if self.closing {
            return Err(("E7", "a tool reports while the run is being closed"));
        }
        let open = self.open(update.call.call, &update.call.id, true)?;
        if open.started { Ok(()) } else { Err(("E7", "a tool reports that has not started")) }
    }

    pub(super) fn finished(&mut self, result: &ToolResult) -> Result<(), Broken> {
        let ran = match result.status {
            ToolStatus::Success
            | ToolStatus::Failure
            | ToolStatus::TimedOut
            | ToolStatus::Panicked
            | ToolStatus::InterruptedOutcomeUnknown => true,
            ToolStatus::Denied
            | ToolStatus::Unavailable
            | ToolStatus::InvalidArguments
            | ToolStatus::InterruptedNotStarted => false,
        };
        self.in_closing_order(result)?;
        let open = self.open(result.call, &result.id, ran)?;
        if open.name.as_ref().is_some_and(|name| *name != result.name) {
            return Err(("E9", "the call's name is another one"));
        }
        match (ran, open.started) {
            // An infrastructure failure may prevent the start (T3).
            (true, false) if result.status == ToolStatus::Failure => {}
            (true, false) => return Err(("E7", "this status needs tool.started before it")),
            (false, true) => return Err(("E7", "this status forbids tool.started before it")),
            (true, true) | (false, false) => {}
        }
        open.finished = true;
        self.open -= 1;
        self.requests.finished(result.call)
    }

    /// Interrupted calls end the run: in call order, and nothing but their like comes after them.
    fn in_closing_order(&mut self, result: &ToolResult) -> Result<(), Broken> {
        let interrupted = matches!(
            result.status,
            ToolStatus::InterruptedNotStarted | ToolStatus::InterruptedOutcomeUnknown
        );
        if self.aborted && result.status != ToolStatus::InterruptedNotStarted {
            return Err(("E6", "a call of an aborted attempt is not interrupted(not_started)"));
        }
        if !interrupted {
            let late = ("E3", "a call has an own result after others were interrupted");
            return if self.closing { Err(late) } else { Ok(()) };
        }
        if self.taken_over && result.status == ToolStatus::InterruptedOutcomeUnknown {
            return Ok(());
        }
        if self.interrupted.is_some_and(|last| last >= result.call) {
            return Err(("E3", "interrupted calls are closed in call order"));
        }
        self.closing = true;
        self.interrupted = Some(result.call);
        Ok(())
    }

    /// Whether the ledger holds the same open calls; a tail may know fewer.
    pub(super) fn agree(&self, ledger: &Ledger) -> bool {
        if !self.requests.agree(&ledger.requests) {
            return false;
        }
        let ledger = &ledger.calls;
        let own = self.calls.values().filter(|call| !call.finished);
        if self.unknown {
            return own.clone().all(|own| {
                ledger.iter().any(|open| open.call.call == own.call && open.started == own.started)
            });
        }
        own.map(|own| (own.call, own.started)).eq(ledger.iter().map(|open| (open.call.call, open.started)))
    }
}
