//! What a suspended run says about itself must fit together: a value may have been kept anywhere.

use super::{ResumeError, Suspended, SuspendedCall, SuspendedState};
use crate::config::Limits;
use crate::host_input::{HostAnswer, HostRequest, RequestKind};
use crate::id::{RequestId, SteerId};
use crate::json::{Len, encoded_len};
use crate::message::Role;
use crate::phase::invalid_arguments;
use crate::tool::Binding;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

impl Suspended {
    /// Checks the value against itself; [`Resume`](super::Resume) is checked against the session too.
    pub(crate) fn check(&self) -> Result<(), ResumeError> {
        match self.contradiction() {
            Some(what) => Err(ResumeError::Invalid(what)),
            None => Ok(()),
        }
    }

    /// The first contradiction, in words.
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        let Some(last) = self.tail.last() else { return Some("it has no messages") };
        if last.role() != Role::Assistant {
            return Some("its last message is not the model's");
        }
        if !last.calls().eq(self.calls.iter().map(|call| &call.call)) {
            return Some("its calls are not those of its last message");
        }
        if self.calls.iter().any(|call| call.call.call.step != self.step) {
            return Some("a call belongs to another step");
        }
        // A repeated call leaves its place empty.
        let places = self.calls.iter().map(|call| call.call.call.ordinal);
        if !places.clone().zip(places.skip(1)).all(|(one, next)| one < next) {
            return Some("the places of its calls do not grow");
        }
        let added = self.messages as usize;
        if added < self.tail.len() || self.messages > u32::MAX / 2 {
            return Some("its messages are not as many as it has added");
        }
        if self.seq.0 < self.tail.len() as u64 || self.end < self.seq.0 {
            return Some("its log is shorter than what was recorded");
        }
        let calls = self.calls.iter().find_map(SuspendedCall::contradiction);
        calls.or_else(|| self.requests_contradict()).or_else(|| self.inputs_contradict())
    }

    /// Each input that was applied has an id and a message of its own.
    fn inputs_contradict(&self) -> Option<&'static str> {
        if self.applied.len() > self.messages as usize {
            return Some("it has applied more inputs than it has added messages");
        }
        let ids: BTreeSet<&SteerId> = self.applied.iter().map(|applied| &applied.id).collect();
        if ids.len() != self.applied.len() {
            return Some("two inputs have one id");
        }
        let places: Vec<u32> = self.applied.iter().filter_map(|applied| applied.at).collect();
        let grow = places.iter().zip(places.iter().skip(1)).all(|(one, next)| one < next);
        let said = |at: &u32| self.tail.get(*at as usize).is_some_and(|message| message.role() == Role::User);
        (!grow || !places.iter().all(said)).then_some("an input that was applied has no message")
    }

    /// Whether it fits the limits of the engine that is to resume it: the room in its log was reckoned by them (L1).
    pub(crate) fn fits(&self, limits: &Limits) -> Result<(), ResumeError> {
        let within = |what, limit: u64, observed: u64| {
            if observed > limit { Err(ResumeError::TooLarge { what, limit, observed }) } else { Ok(()) }
        };
        within("calls", limits.calls as u64, self.calls.len() as u64)?;
        for call in &self.calls {
            within("bytes of arguments", limits.argument_bytes, encoded_len(&call.call.arguments))?;
            match &call.state {
                SuspendedState::Waiting { request, state, .. } => {
                    if let RequestKind::Question(question) = &request.kind {
                        let mut len = Len::default();
                        question.form.write(&mut len);
                        within("bytes of a question", limits.question_bytes, len.0)?;
                    }
                    let state = state.as_ref().map_or(0, encoded_len);
                    within("bytes of a tool's state", limits.tool_output_bytes, state)?;
                }
                SuspendedState::Done(_) | SuspendedState::Queued | SuspendedState::Answered { .. } => {}
            }
        }
        Ok(())
    }

    fn requests_contradict(&self) -> Option<&'static str> {
        let waiting = self.waiting();
        if waiting.is_empty() {
            return Some("no request is open");
        }
        let mut ids: BTreeSet<&RequestId> = self.used.iter().collect();
        if ids.len() != self.used.len() || !waiting.iter().all(|(_, _, request)| ids.insert(&request.id)) {
            return Some("two requests have one id");
        }
        let orders: BTreeSet<u32> = waiting.iter().map(|(order, ..)| *order).collect();
        if orders.len() != waiting.len() || orders.last().is_some_and(|last| *last >= self.asked) {
            return Some("the order of its requests is not one");
        }
        None
    }
}

impl SuspendedCall {
    /// Whether the request is about this call: a client gets the arguments that people gave, people the model's.
    fn is_asked_by(&self, request: &HostRequest) -> bool {
        let (own, asked) = (&self.call, &request.call);
        let arguments = match (&request.kind, &self.edited) {
            (RequestKind::Call, Some(edited)) => edited,
            (RequestKind::Call | RequestKind::Approval { .. } | RequestKind::Question(_), _) => {
                &own.arguments
            }
        };
        (own.call, &own.id, &own.name, arguments) == (asked.call, &asked.id, &asked.name, &asked.arguments)
    }

    fn contradiction(&self) -> Option<&'static str> {
        if let Some(edited) = &self.edited
            && !(edited.trim_start().starts_with('{') && crate::read_json::check(edited).is_ok())
        {
            return Some("edited arguments are not a JSON object");
        }
        let done = matches!(self.state, SuspendedState::Done(_));
        if !done && invalid_arguments(&self.call).is_some() {
            return Some("a call with invalid arguments is not over");
        }
        let fits = match &self.state {
            SuspendedState::Done(result) => {
                result.call == self.call.call && result.id == self.call.id && result.name == self.call.name
            }
            SuspendedState::Queued => !self.started,
            SuspendedState::Answered { answer, .. } => {
                let kind = matches!(answer, Ok(HostAnswer::Choices(_) | HostAnswer::Value(_)) | Err(_));
                self.started && kind
            }
            SuspendedState::Waiting { request, state, .. } => {
                let binds = match &request.kind {
                    RequestKind::Approval { binding, .. } => {
                        let fresh = !self.started && state.is_none() && self.edited.is_none();
                        *binding == Binding::of(&self.call) && fresh
                    }
                    RequestKind::Question(question) => {
                        let own = question.id.as_ref().is_none_or(|id| *id == request.id);
                        self.started && state.is_some() && own
                    }
                    RequestKind::Call => self.started && state.is_none(),
                };
                binds && self.is_asked_by(request)
            }
        };
        (!fits).then_some("a call's state does not fit the call")
    }
}
