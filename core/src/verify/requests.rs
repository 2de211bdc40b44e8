//! Requests for host input: asked once, ended once, and within their call (H1, E3, E9, T2).

use super::Broken;
use crate::host_input::{HostRequest, RequestKind};
use crate::id::{CallRef, RequestId};
use crate::suspend::Suspended;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;

#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    open: BTreeMap<RequestId, Open>,
    used: BTreeSet<RequestId>,
    /// Whether requests may have been asked before the first event that was seen.
    unknown: bool,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    call: CallRef,
    consent: bool,
}

impl Requests {
    pub(super) fn unknown() -> Self {
        Self { unknown: true, ..Self::default() }
    }

    pub(super) fn resumed(value: &Suspended) -> Self {
        let mut requests = Self { used: value.used.iter().cloned().collect(), ..Self::default() };
        for request in value.requests() {
            requests.insert(request);
        }
        requests
    }

    fn insert(&mut self, request: &HostRequest) {
        let consent = matches!(request.kind, RequestKind::Approval { .. });
        self.open.insert(request.id.clone(), Open { call: request.call.call, consent });
    }

    /// A request is asked of a call that has or has not `started`.
    pub(super) fn requested(&mut self, request: &HostRequest, started: bool) -> Result<(), Broken> {
        if self.open.contains_key(&request.id) || self.used.contains(&request.id) {
            return Err(("H1", "the request's id was used before"));
        }
        match (&request.kind, started) {
            (RequestKind::Approval { .. }, true) => {
                return Err(("T2", "consent is asked for a call that has started"));
            }
            (RequestKind::Question(_), false) => return Err(("H1", "a tool asks that has not started")),
            (RequestKind::Call, false) => {
                return Err(("E7", "the client is asked for a call that was not handed over"));
            }
            (RequestKind::Approval { .. }, false) | (RequestKind::Question(_) | RequestKind::Call, true) => {}
        }
        self.insert(request);
        Ok(())
    }

    pub(super) fn closed(&mut self, request: &HostRequest) -> Result<(), Broken> {
        match self.open.remove(&request.id) {
            Some(open) if open.call == request.call.call => {}
            Some(_) => return Err(("E9", "the request belongs to another call")),
            None if self.unknown && !self.used.contains(&request.id) => {}
            None => return Err(("H1", "the request is not open")),
        }
        self.used.insert(request.id.clone());
        Ok(())
    }

    /// The call starts: it has its consent.
    pub(super) fn started(&self, call: CallRef) -> Result<(), Broken> {
        if self.open.values().any(|open| open.call == call && open.consent) {
            Err(("T2", "a call starts while consent to it is asked"))
        } else {
            Ok(())
        }
    }

    /// The call ends: nothing of it stands open.
    pub(super) fn finished(&self, call: CallRef) -> Result<(), Broken> {
        if self.open.values().any(|open| open.call == call) {
            Err(("E3", "a call ends while a request of it is open"))
        } else {
            Ok(())
        }
    }

    /// Whether the ledger holds the same open requests; a tail may know fewer.
    pub(super) fn agree(&self, ledger: &[Arc<HostRequest>]) -> bool {
        let known = ledger
            .iter()
            .filter(|request| self.open.get(&request.id).is_some_and(|open| open.call == request.call.call));
        known.count() == self.open.len() && (self.unknown || ledger.len() == self.open.len())
    }
}
