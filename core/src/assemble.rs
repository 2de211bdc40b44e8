//! Putting a response together from stream items, within bounds, and judging it (M3, M7, M8).

use crate::id::{CallRef, check_id};
use crate::joined::Joined;
use crate::json::encoded_len;
use crate::message::{Part, ProviderContext, ToolCall};
use crate::model::{CallDelta, Completion, FinalCall, Finish, Problem, ProblemKind};
use crate::text::Text;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Bounds of one response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseBounds {
    /// Most encoded bytes over all parts.
    pub response: u64,
    /// Most encoded bytes of one call's arguments.
    pub arguments: u64,
    /// Most calls.
    pub calls: usize,
    /// Most parts.
    pub parts: usize,
}

impl Default for ResponseBounds {
    /// 1 MiB, 192 KiB of arguments, 128 calls, 256 parts.
    fn default() -> Self {
        Self { response: 1 << 20, arguments: 192 << 10, calls: 128, parts: 256 }
    }
}

/// How a response breaks the stream union (M3): malformed, to be asked for again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// There is nothing in it.
    #[error("the response is empty")]
    Empty,
    /// A call has no name.
    #[error("call {ordinal} has no name")]
    NameMissing {
        /// Place of the call.
        ordinal: usize,
    },
    /// A call's id or name is not one.
    #[error("call {ordinal} has an invalid id or name")]
    InvalidId {
        /// Place of the call.
        ordinal: usize,
    },
    /// A call has two names.
    #[error("call {ordinal} has two names")]
    Renamed {
        /// Place of the call.
        ordinal: usize,
    },
    /// One id stands for two different calls.
    #[error("call {ordinal} repeats an id with other content")]
    RepeatedId {
        /// Place of the call.
        ordinal: usize,
    },
    /// The provider stopped for calls, and there is none.
    #[error("the response stopped for tool calls but holds none")]
    NoCalls,
    /// A call goes on after it was closed.
    #[error("call {ordinal} goes on after its end")]
    CallReopened {
        /// Place of the call.
        ordinal: usize,
    },
    /// A bound of the response was passed.
    #[error("{what}: {observed} are more than {limit}")]
    Oversized {
        /// What is too large.
        what: &'static str,
        /// The bound.
        limit: u64,
        /// What was found.
        observed: u64,
    },
    /// The stream ended without a finish, usage or complete call: it was cut (M8).
    #[error("the stream ended before the response did")]
    Truncated,
}

impl From<Violation> for Problem {
    fn from(violation: Violation) -> Self {
        let kind = match violation {
            Violation::Truncated => ProblemKind::Truncated,
            Violation::Empty
            | Violation::NameMissing { .. }
            | Violation::InvalidId { .. }
            | Violation::Renamed { .. }
            | Violation::RepeatedId { .. }
            | Violation::NoCalls
            | Violation::CallReopened { .. }
            | Violation::Oversized { .. } => ProblemKind::InvalidResponse,
        };
        Self::new(kind, &violation.to_string())
    }
}

#[derive(Clone, Debug)]
enum Slot {
    Text(Joined),
    Call(usize),
    Context(Arc<ProviderContext>),
}

#[derive(Clone, Debug, Default)]
struct Draft {
    index: Option<u32>,
    id: Option<Text>,
    name: Option<Text>,
    arguments: Joined,
    encoded: u64,
    closed: bool,
}

impl Draft {
    /// Whether the model has finished writing it, as far as that shows before the end of the stream.
    fn is_whole(&self) -> bool {
        let text = core::str::from_utf8(self.arguments.as_bytes()).unwrap_or_default();
        self.name.is_some() && (parses(text) || (text.trim().is_empty() && self.closed))
    }
}

/// A response in the making.
#[derive(Clone, Debug)]
pub struct Assembler {
    step: u32,
    bounds: ResponseBounds,
    slots: Vec<Slot>,
    drafts: Vec<Draft>,
    used: u64,
}

/// A call of a response, and whether it came whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssembledCall {
    /// The call.
    pub call: Arc<ToolCall>,
    /// Whether the model finished writing it: its arguments parse, or it was closed with none.
    pub complete: bool,
}

/// A whole response.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Response {
    /// Text, calls and context, in order.
    pub parts: Vec<Part>,
    /// All text, joined.
    pub answer: Text,
    /// The calls, in model order.
    pub calls: Vec<AssembledCall>,
}

impl Assembler {
    /// An empty response of `step`.
    pub fn new(step: u32, bounds: ResponseBounds) -> Self {
        Self { step, bounds, slots: Vec::new(), drafts: Vec::new(), used: 0 }
    }

    /// Whether nothing has come in.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    fn spend(&mut self, bytes: u64) -> Result<(), Violation> {
        let observed = self.used + bytes;
        if observed > self.bounds.response {
            return Err(Violation::Oversized {
                what: "bytes of response",
                limit: self.bounds.response,
                observed,
            });
        }
        self.used = observed;
        Ok(())
    }

    fn slot(&mut self, slot: Slot) -> Result<(), Violation> {
        if self.slots.len() >= self.bounds.parts {
            let limit = self.bounds.parts as u64;
            return Err(Violation::Oversized { what: "parts", limit, observed: limit + 1 });
        }
        self.slots.push(slot);
        Ok(())
    }

    /// Adds a piece of text.
    ///
    /// # Errors
    ///
    /// [`Violation`] if the response grows beyond a bound (M3).
    pub fn text(&mut self, text: &Text) -> Result<(), Violation> {
        self.spend(encoded_len(text))?;
        if let Some(Slot::Text(buffer)) = self.slots.last_mut() {
            buffer.push(text);
            return Ok(());
        }
        self.slot(Slot::Text(Joined::One(text.clone())))
    }

    /// Adds opaque material.
    ///
    /// # Errors
    ///
    /// [`Violation`] if the response grows beyond a bound (M3).
    pub fn context(&mut self, context: Arc<ProviderContext>) -> Result<(), Violation> {
        self.spend(encoded_len(&*context.payload))?;
        self.slot(Slot::Context(context))
    }

    /// Adds a piece of a call and returns the call's ordinal.
    ///
    /// # Errors
    ///
    /// [`Violation`] if the call contradicts itself or an earlier one, or the response grows beyond a bound (M3).
    pub fn call_delta(&mut self, delta: &CallDelta) -> Result<u32, Violation> {
        let id = delta.id.as_ref().filter(|id| !id.is_empty());
        let name = delta.name.as_ref().filter(|name| !name.is_empty());
        let found = self.find(delta.index, id);
        if [id, name].into_iter().flatten().any(|text| check_id(text).is_err()) {
            return Err(Violation::InvalidId { ordinal: found.unwrap_or(self.drafts.len()) });
        }
        let at = match found {
            Some(at) => at,
            None => self.open(Draft { index: delta.index, ..Draft::default() })?,
        };
        let encoded = encoded_len(&delta.arguments);
        self.spend(encoded)?;
        let limit = self.bounds.arguments;
        let Some(draft) = self.drafts.get_mut(at) else { return Ok(0) };
        if draft.closed && !delta.arguments.is_empty() {
            return Err(Violation::CallReopened { ordinal: at });
        }
        draft.encoded += encoded;
        if draft.encoded > limit {
            let observed = draft.encoded;
            return Err(Violation::Oversized { what: "bytes of arguments", limit, observed });
        }
        draft.arguments.push(&delta.arguments);
        if draft.id.is_none() {
            draft.id = id.cloned();
        }
        match (&draft.name, name) {
            (Some(known), Some(name)) if known != name => return Err(Violation::Renamed { ordinal: at }),
            (None, Some(name)) => {
                draft.name = Some(name.clone());
                self.spend(encoded_len(name))?;
            }
            (_, None) | (Some(_), Some(_)) => {}
        }
        Ok(u32::try_from(at).unwrap_or(u32::MAX))
    }

    /// The draft that a piece with this index and id belongs to (M7).
    fn find(&self, index: Option<u32>, id: Option<&Text>) -> Option<usize> {
        let newest = |hit: &dyn Fn(&Draft) -> bool| self.drafts.iter().rposition(hit);
        let fits = |draft: &Draft| id.is_none() || draft.id.is_none() || draft.id.as_ref() == id;
        match (index, id) {
            (Some(_), _) => {
                newest(&|draft| draft.index == index).filter(|at| self.drafts.get(*at).is_some_and(fits))
            }
            (None, Some(_)) => newest(&|draft| draft.id.as_ref() == id),
            (None, None) => self.drafts.len().checked_sub(1),
        }
    }

    fn open(&mut self, draft: Draft) -> Result<usize, Violation> {
        let at = self.drafts.len();
        if at >= self.bounds.calls {
            let limit = self.bounds.calls as u64;
            return Err(Violation::Oversized { what: "calls", limit, observed: limit + 1 });
        }
        self.slot(Slot::Call(at))?;
        self.drafts.push(draft);
        Ok(at)
    }

    /// Adds a call that came whole; `None` if it only repeats one that is here.
    ///
    /// # Errors
    ///
    /// [`Violation`] if the call contradicts itself or an earlier one, or the response grows beyond a bound (M3).
    pub fn call(&mut self, call: &FinalCall) -> Result<Option<u32>, Violation> {
        let id = call.id.clone().filter(|id| !id.is_empty());
        if id.as_ref().is_some_and(|id| check_id(id).is_err()) {
            return Err(Violation::InvalidId { ordinal: self.drafts.len() });
        }
        if let Some(at) = self.drafts.iter().position(|draft| id.is_some() && draft.id == id) {
            let same = self.drafts.get(at).is_some_and(|draft| {
                draft.name.as_ref() == Some(&call.name)
                    && draft.arguments.as_bytes() == call.arguments.as_bytes()
            });
            return if same { Ok(None) } else { Err(Violation::RepeatedId { ordinal: at }) };
        }
        let at = self.open(Draft { id, ..Draft::default() })?;
        let delta = CallDelta {
            name: Some(call.name.clone()),
            arguments: call.arguments.clone(),
            ..CallDelta::default()
        };
        let ordinal = self.call_delta(&delta)?;
        self.close(at);
        Ok(Some(ordinal))
    }

    fn close(&mut self, at: usize) {
        if let Some(draft) = self.drafts.get_mut(at) {
            draft.closed = true;
        }
    }

    /// Closes the newest call at `index`.
    pub fn call_end(&mut self, index: u32) {
        if let Some(at) = self.drafts.iter().rposition(|draft| draft.index == Some(index)) {
            self.close(at);
        }
    }

    /// Whether the stream was cut: it ended without a finish, usage or complete call (M8).
    pub fn is_truncated(&self, end: &Completion, reported: bool) -> bool {
        end.finish.is_none() && !reported && !self.drafts.iter().any(Draft::is_whole)
    }

    /// Judges the response at the good end of its stream. `reported`: whether usage was reported.
    ///
    /// # Errors
    ///
    /// [`Violation`] if the response is truncated (M8), empty, or malformed (M3).
    pub fn complete(self, end: &Completion, reported: bool) -> Result<Response, Violation> {
        if self.is_truncated(end, reported) {
            return Err(Violation::Truncated);
        }
        let response = self.build(end.finish != Some(Finish::Length), false)?;
        if end.finish == Some(Finish::ToolCalls) && response.calls.is_empty() {
            return Err(Violation::NoCalls);
        }
        let may_be_empty = matches!(
            end.finish,
            Some(Finish::StopSequence | Finish::Length | Finish::ContentFilter | Finish::Refusal)
        );
        if response.parts.is_empty() && !may_be_empty {
            return Err(Violation::Empty);
        }
        Ok(response)
    }

    /// What an ended attempt leaves: its text and its complete calls, without context (C4, M9). A call that was still
    /// being written is left out, whatever it lacks; a malformed attempt leaves nothing.
    pub fn abort(self) -> Response {
        let mut response = self.build(false, true).unwrap_or(Response {
            parts: Vec::new(),
            answer: Text::EMPTY,
            calls: Vec::new(),
        });
        response.parts.retain(|part| match part {
            Part::ToolCall(_) => true,
            Part::Text(text) => !text.is_empty(),
            Part::Image(_) | Part::ToolResult(_) | Part::Context(_) => false,
        });
        response
    }

    /// The calls so far, for display; none if the response is malformed.
    pub(crate) fn drafts(self) -> Vec<AssembledCall> {
        self.build(false, false).map(|response| response.calls).unwrap_or_default()
    }

    /// Parts and calls, each with the ordinal that its pieces had. `ended`: whether a call without arguments may be taken
    /// as whole; `whole`: complete calls only, and of those that contradict each other the first.
    fn build(self, ended: bool, whole: bool) -> Result<Response, Violation> {
        let mut calls: Vec<AssembledCall> = Vec::with_capacity(self.drafts.len());
        let mut place = Vec::with_capacity(self.drafts.len());
        let mut by_id: BTreeMap<Text, usize> = BTreeMap::new();
        let mut used_ids: Vec<Text> = self.drafts.iter().filter_map(|draft| draft.id.clone()).collect();
        for (at, draft) in self.drafts.into_iter().enumerate() {
            if whole && !draft.is_whole() {
                place.push(None);
                continue;
            }
            let built = match finish_draft(self.step, at, draft, ended, &mut used_ids) {
                Ok(built) => built,
                Err(_) if whole => {
                    place.push(None);
                    continue;
                }
                Err(violation) => return Err(violation),
            };
            match by_id.get(&built.call.id).and_then(|known| calls.get(*known)) {
                Some(other)
                    if whole
                        || (other.call.name == built.call.name
                            && other.call.arguments == built.call.arguments) =>
                {
                    place.push(None);
                }
                Some(_) => return Err(Violation::RepeatedId { ordinal: at }),
                None => {
                    place.push(Some(Arc::clone(&built.call)));
                    by_id.insert(built.call.id.clone(), calls.len());
                    calls.push(built);
                }
            }
        }
        let mut parts = Vec::with_capacity(self.slots.len());
        for slot in self.slots {
            match slot {
                Slot::Text(text) => parts.push(Part::Text(text.into_text())),
                Slot::Context(context) => parts.push(Part::Context(context)),
                Slot::Call(at) => {
                    parts.extend(place.get_mut(at).and_then(Option::take).map(Part::ToolCall));
                }
            }
        }
        Ok(Response { answer: answer_of(&parts), parts, calls })
    }
}

fn finish_draft(
    step: u32,
    at: usize,
    draft: Draft,
    ended: bool,
    used: &mut Vec<Text>,
) -> Result<AssembledCall, Violation> {
    let Some(name) = draft.name else { return Err(Violation::NameMissing { ordinal: at }) };
    let ordinal = u32::try_from(at).unwrap_or(u32::MAX);
    let id = draft.id.unwrap_or_else(|| fresh_id(step, ordinal, used));
    if check_id(&id).is_err() || check_id(&name).is_err() {
        return Err(Violation::InvalidId { ordinal: at });
    }
    let arguments = draft.arguments.into_text();
    let complete = match arguments.trim() {
        "" => draft.closed || ended,
        text => parses(text),
    };
    let call = ToolCall { call: CallRef { step, ordinal }, id, name, arguments };
    Ok(AssembledCall { call: Arc::new(call), complete })
}

/// An id for a call that came without one; unlike every other of the response.
fn fresh_id(step: u32, ordinal: u32, used: &mut Vec<Text>) -> Text {
    let mut id = alloc::format!("call_{step}_{ordinal}");
    while used.iter().any(|other| other.as_str() == id) {
        id.push('_');
    }
    used.push(Text::new(&id));
    Text::from(id)
}

fn answer_of(parts: &[Part]) -> Text {
    let mut texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text),
        Part::Image(_) | Part::ToolCall(_) | Part::ToolResult(_) | Part::Context(_) => None,
    });
    let Some(first) = texts.next() else { return Text::EMPTY };
    let mut rest = texts.peekable();
    if rest.peek().is_none() {
        return first.clone();
    }
    let mut joined = String::from(first.as_str());
    rest.for_each(|text| joined.push_str(text));
    Text::from(joined)
}

/// Whether `text` is JSON.
pub(crate) fn parses(text: &str) -> bool {
    crate::read_json::check(text).is_ok()
}
