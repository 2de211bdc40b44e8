//! What is opened is closed once, and nothing is closed that was not open (E2, E3, E7), by kinds and identities alone.
//!
//! The head of a log may be missing. What began before it is taken as it shows: an end without its beginning is one of
//! those, as long as nothing of its sort has begun since.

use super::RecordProblem as Problem;
use super::event::member;
use crate::canonical::Node;
use crate::event::EventKind;
use crate::id::{CallRef, Seq};
use crate::text::Text;
use crate::time::MAX_EXACT;
use alloc::collections::{BTreeMap, BTreeSet};

/// Something of which one at a time is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot<T> {
    /// It may have been open when the log began.
    Unknown,
    Closed,
    Open(T),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Run {
    New,
    Open,
    Suspended,
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Proposed,
    /// It was proposed before the log began, and may have started there.
    Began,
    Started,
    Finished,
}

/// The state of the run, as far as the events show it.
#[derive(Clone, Debug)]
pub(super) struct Pairing {
    /// Whether the head of the log is missing.
    tail: bool,
    /// Whether no event has come yet.
    first: bool,
    run: Run,
    step: Slot<u64>,
    /// The first step that began in this log.
    first_step: Option<u64>,
    attempt: Slot<(u64, u64)>,
    compaction: Slot<()>,
    /// Calls of the open step, and those before it that are not finished.
    calls: BTreeMap<CallRef, Call>,
    open_calls: u64,
    /// Requests of each call, and whether they are open.
    requests: BTreeMap<CallRef, BTreeMap<Text, bool>>,
    /// Ids that requests of the step have had.
    ids: BTreeSet<Text>,
}

type Payload<'n> = &'n [(Text, Node)];
type Found = Result<(), Problem>;

fn unmatched(what: &'static str) -> Found {
    Err(Problem::UnmatchedLifecycle(what))
}

fn number(payload: Payload<'_>, name: &'static str) -> Result<u64, Problem> {
    match member(payload, name) {
        Some(Node::Integer(n)) if *n <= MAX_EXACT => Ok(*n),
        Some(_) => Err(Problem::Kind { member: name, expected: "an integer from 0 to 2^53 - 1" }),
        None => Err(Problem::Missing(name)),
    }
}

fn small(payload: Payload<'_>, name: &'static str) -> Result<u32, Problem> {
    let wrong = |_| Problem::Kind { member: name, expected: "an integer below 2^32" };
    u32::try_from(number(payload, name)?).map_err(wrong)
}

fn text(payload: Payload<'_>, name: &'static str) -> Result<Text, Problem> {
    match member(payload, name) {
        Some(Node::Text(text)) => Ok(text.clone()),
        Some(_) => Err(Problem::Kind { member: name, expected: "a text" }),
        None => Err(Problem::Missing(name)),
    }
}

fn call(payload: Payload<'_>) -> Result<CallRef, Problem> {
    Ok(CallRef { step: small(payload, "step")?, ordinal: small(payload, "ordinal")? })
}

impl Pairing {
    /// For a log whose first event is this one.
    pub(super) fn from(first: Seq) -> Self {
        let tail = first > Seq(1);
        fn slot<T>(tail: bool) -> Slot<T> {
            if tail { Slot::Unknown } else { Slot::Closed }
        }
        Self {
            tail,
            first: true,
            run: if tail { Run::Open } else { Run::New },
            step: slot(tail),
            first_step: None,
            attempt: slot(tail),
            compaction: slot(tail),
            calls: BTreeMap::new(),
            open_calls: 0,
            requests: BTreeMap::new(),
            ids: BTreeSet::new(),
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        matches!(self.run, Run::Ended | Run::Suspended)
    }

    pub(super) fn observe(&mut self, kind: EventKind, payload: Payload<'_>) -> Found {
        use EventKind as K;
        self.within_run(kind)?;
        match kind {
            K::RunStarted | K::RunResumed | K::RunRecovered => Ok(()),
            K::RunSuspended => self.suspend(),
            K::RunCompleted | K::RunCancelled | K::RunFailed => self.end(),
            K::StepStarted => self.open_step(number(payload, "step")?),
            K::StepCompleted | K::StepFailed | K::StepCancelled => self.close_step(number(payload, "step")?),
            K::ModelStarted => self.open_attempt(number(payload, "op")?, number(payload, "attempt")?),
            K::ModelCompleted | K::ModelFailed | K::ModelCancelled => {
                let attempt = (number(payload, "op")?, number(payload, "attempt")?);
                close(&mut self.attempt, &attempt, "no such attempt is open")
            }
            K::ToolProposed => self.propose(call(payload)?),
            K::ToolStarted => self.start(call(payload)?),
            K::ToolUpdated => self.update(call(payload)?),
            K::ToolFinished => self.finish(call(payload)?),
            K::HostInputRequested => self.ask(call(payload)?, text(payload, "request_id")?),
            K::HostInputAnswered | K::HostInputFailed | K::HostInputCancelled => {
                self.close_request(call(payload)?, text(payload, "request_id")?)
            }
            K::CompactionStarted => match self.compaction {
                Slot::Open(()) => unmatched("a compaction is open"),
                Slot::Unknown | Slot::Closed => {
                    self.compaction = Slot::Open(());
                    Ok(())
                }
            },
            K::CompactionCompleted | K::CompactionFailed | K::CompactionCancelled => {
                close(&mut self.compaction, &(), "no compaction is open")
            }
            K::TextDelta
            | K::ReasoningDelta
            | K::ReasoningSummaryDelta
            | K::ToolCallDelta
            | K::ProviderStreamReset
            | K::ProviderRequestRetry
            | K::ProviderContextUpdated
            | K::ProviderWebSearch
            | K::ProviderHostedTool
            | K::ProviderDiagnostic
            | K::UsageUpdated
            | K::SteeringDelivered
            | K::SteeringApplied
            | K::BoundaryApplied
            | K::CompactionStopped => Ok(()),
        }
    }

    /// The first event, and what may follow an end.
    fn within_run(&mut self, kind: EventKind) -> Found {
        let first = core::mem::replace(&mut self.first, false);
        match (self.run, kind) {
            (Run::New, EventKind::RunStarted) | (Run::Suspended, EventKind::RunResumed) => {
                self.run = Run::Open;
                Ok(())
            }
            (Run::New, _) => unmatched("the run has not started"),
            (Run::Suspended, _) => unmatched("the run is suspended"),
            (Run::Ended, _) => unmatched("the run has ended"),
            (Run::Open, EventKind::RunStarted) => unmatched("the run has started already"),
            // A resumed part may be recorded alone.
            (Run::Open, EventKind::RunResumed) if !first => unmatched("the run is not suspended"),
            (Run::Open, _) => Ok(()),
        }
    }

    fn nothing_inside(&self) -> Found {
        if matches!(self.attempt, Slot::Open(_)) {
            return unmatched("an attempt is open");
        }
        if self.compaction == Slot::Open(()) {
            return unmatched("a compaction is open");
        }
        Ok(())
    }

    fn end(&mut self) -> Found {
        self.nothing_inside()?;
        if matches!(self.step, Slot::Open(_)) {
            return unmatched("a step is open");
        }
        if self.open_calls > 0 {
            return unmatched("a call is open");
        }
        self.run = Run::Ended;
        Ok(())
    }

    /// Calls and requests stay open for the next part.
    fn suspend(&mut self) -> Found {
        self.nothing_inside()?;
        self.run = Run::Suspended;
        Ok(())
    }

    fn open_step(&mut self, step: u64) -> Found {
        self.nothing_inside()?;
        if matches!(self.step, Slot::Open(_)) {
            return unmatched("a step is open");
        }
        (self.attempt, self.compaction) = (Slot::Closed, Slot::Closed);
        self.step = Slot::Open(step);
        self.first_step.get_or_insert(step);
        self.calls.retain(|_, call| *call != Call::Finished);
        self.requests.clear();
        self.ids.clear();
        Ok(())
    }

    fn close_step(&mut self, step: u64) -> Found {
        self.nothing_inside()?;
        if self.open_calls > 0 {
            return unmatched("a call is open");
        }
        (self.attempt, self.compaction) = (Slot::Closed, Slot::Closed);
        close(&mut self.step, &step, "no such step is open")
    }

    fn open_attempt(&mut self, op: u64, attempt: u64) -> Found {
        if self.step == Slot::Closed {
            return unmatched("no step is open");
        }
        if matches!(self.attempt, Slot::Open(_)) {
            return unmatched("an attempt is open");
        }
        self.attempt = Slot::Open((op, attempt));
        Ok(())
    }

    fn propose(&mut self, call: CallRef) -> Found {
        if self.step == Slot::Closed {
            return unmatched("no step is open");
        }
        if self.calls.contains_key(&call) {
            return unmatched("the call was proposed already");
        }
        self.calls.insert(call, Call::Proposed);
        self.open_calls += 1;
        Ok(())
    }

    /// The state of a call; one that began before the log is taken as it shows.
    fn call(&mut self, call: CallRef, shown: Call) -> Result<&mut Call, Problem> {
        let before = self.tail && self.first_step.is_none_or(|first| u64::from(call.step) < first);
        if before && !self.calls.contains_key(&call) {
            self.calls.insert(call, shown);
            self.open_calls += 1;
        }
        self.calls.get_mut(&call).ok_or(Problem::UnmatchedLifecycle("the call was not proposed"))
    }

    fn start(&mut self, call: CallRef) -> Found {
        match self.call(call, Call::Proposed)? {
            state @ (Call::Proposed | Call::Began) => {
                *state = Call::Started;
                Ok(())
            }
            Call::Started => unmatched("the call has started already"),
            Call::Finished => unmatched("the call is finished"),
        }
    }

    fn update(&mut self, call: CallRef) -> Found {
        match self.call(call, Call::Started)? {
            Call::Started => Ok(()),
            state @ Call::Began => {
                *state = Call::Started;
                Ok(())
            }
            Call::Proposed => unmatched("the call has not started"),
            Call::Finished => unmatched("the call is finished"),
        }
    }

    fn finish(&mut self, call: CallRef) -> Found {
        let open = self.requests.get(&call).is_some_and(|ids| ids.values().any(|open| *open));
        if open {
            return unmatched("a request of the call is open");
        }
        match self.call(call, Call::Proposed)? {
            Call::Finished => unmatched("the call is finished"),
            state @ (Call::Proposed | Call::Began | Call::Started) => {
                *state = Call::Finished;
                self.open_calls -= 1;
                Ok(())
            }
        }
    }

    fn ask(&mut self, call: CallRef, id: Text) -> Found {
        if *self.call(call, Call::Began)? == Call::Finished {
            return unmatched("the call is finished");
        }
        if !self.ids.insert(id.clone()) {
            return unmatched("a request had the id already");
        }
        self.requests.entry(call).or_default().insert(id, true);
        Ok(())
    }

    fn close_request(&mut self, call: CallRef, id: Text) -> Found {
        let state = *self.call(call, Call::Began)?;
        let requests = self.requests.entry(call).or_default();
        match requests.get_mut(&id) {
            Some(open @ true) => {
                *open = false;
                Ok(())
            }
            Some(false) => unmatched("the request is closed"),
            // It was asked before the log began, and so was its call proposed.
            None if self.tail && state != Call::Finished && self.first_step.is_none() => {
                self.ids.insert(id.clone());
                requests.insert(id, false);
                Ok(())
            }
            None => unmatched("no such request is open"),
        }
    }
}

fn close<T: PartialEq>(slot: &mut Slot<T>, closed: &T, otherwise: &'static str) -> Found {
    let matches = match slot {
        Slot::Unknown => true,
        Slot::Open(open) => open == closed,
        Slot::Closed => false,
    };
    if matches {
        *slot = Slot::Closed;
        Ok(())
    } else {
        unmatched(otherwise)
    }
}
