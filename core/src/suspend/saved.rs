//! The saved form of a suspended run, version 1 (H6).
//!
//! What follows from something else is not written: a call stands in its message, and beside its state only the hash that
//! binds the two; a request names no call but the one that it stands in.

use super::{AppliedSteer, ResumeError, Suspended, SuspendedCall, SuspendedState};
use crate::host_input::{AskError, HostRequest, RequestKind};
use crate::id::{RequestId, Revision, RunId, Seq, SessionId, SteerId};
use crate::message::{Message, ToolCall, ToolResult};
use crate::saved::{
    self, Additions, Build, Fields, ImportBounds, ImportError, ImportProblem, Node, Place, Saved, object,
};
use crate::text::Text;
use crate::tool::{Access, Binding, Resource};
use crate::usage::Usage;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

/// The version of the saved form that this crate writes, and the only one that it reads.
pub const VERSION: u32 = 1;

const FORMAT: &str = "runloom.suspended";

impl Suspended {
    /// The value as canonical JSON, for any store. Members that were read and not known are in it again.
    ///
    /// Besides ids, numbers, messages and results it holds what people were asked, what tools wanted kept, and answers
    /// that wait for their tool; but no answer to a secret question, no token, no credentials and parameters of models, no
    /// policies and no remembered consents. A text may take any size that its run allowed.
    pub fn to_json(&self) -> String {
        self.to_node().to_json()
    }

    /// Reads what [`Suspended::to_json`] wrote, within the default [`ImportBounds`].
    ///
    /// # Errors
    ///
    /// [`ImportError`] says what is wrong, where, and which bound was exceeded.
    pub fn from_json(json: &str) -> Result<Self, ImportError> {
        Self::from_json_within(json, &ImportBounds::default())
    }

    /// Reads what [`Suspended::to_json`] wrote, within these bounds.
    ///
    /// # Errors
    ///
    /// As [`Suspended::from_json`].
    pub fn from_json_within(json: &str, bounds: &ImportBounds) -> Result<Self, ImportError> {
        saved::from_json(json, bounds)
    }
}

impl Saved for Suspended {
    fn to_node(&self) -> Node {
        let mut node = write(self);
        self.additions.graft(&mut node);
        node
    }

    fn of_node(node: &Node) -> Result<Self, ImportError> {
        let (mut value, additions) = Additions::import(node, read, write)?;
        value.additions = additions;
        Ok(value)
    }
}

impl Serialize for Suspended {
    /// As the JSON of [`Suspended::to_json`] would be; in formats that people do not read, as that text.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        saved::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Suspended {
    /// As [`Suspended::from_json`], with the same bounds.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        saved::deserialize(deserializer)
    }
}

fn write(value: &Suspended) -> Node {
    let shown = |(name, shown): &(Text, bool)| Build::new().text("name", name).flag("shown", *shown).end();
    Build::new()
        .name("format", FORMAT)
        .number("version", VERSION)
        .text("run", value.run.text())
        .text("session", value.session.text())
        .number("revision", value.revision.0)
        .text("model", &value.model)
        .number("seq", value.seq.0)
        .number("log_bytes", value.end)
        .number("step", value.step)
        .number("operations", value.ops)
        .number("added", value.messages)
        .number("invalid_turns", value.invalid_turns)
        .with("usage", usage(&value.usage))
        .with("billed", usage(&value.billed))
        .span("left_us", value.left)
        .number("history", value.base)
        .with("messages", Node::list(&value.tail, |message| saved::message(message)))
        .text("answer", &value.answer)
        .with("calls", Node::list(&value.calls, write_call))
        .with("used_requests", Node::list(&value.used, |id| Node::text(id.text())))
        .number("asked", value.asked)
        .with("tools", Node::list(&value.visibility, shown))
        .maybe("steers", (value.steers > 0).then(|| Node::number(value.steers)))
        .maybe("applied", (!value.applied.is_empty()).then(|| Node::list(&value.applied, write_applied)))
        .maybe("collected", value.collected.then_some(Node::Bool(true)))
        .end()
}

pub(crate) fn read(node: &Node, place: &Place<'_>) -> Result<Suspended, ImportError> {
    object(node, place, |fields| {
        saved::head(fields, FORMAT, VERSION)?;
        let value = read_members(fields)?;
        match value.check() {
            Ok(()) => Ok(value),
            Err(ResumeError::Invalid(what)) => Err(place.contradiction(what)),
            Err(_) => Err(place.contradiction("it cannot be resumed")),
        }
    })
}

fn read_members(fields: &mut Fields<'_>) -> Result<Suspended, ImportError> {
    let tail: Vec<Arc<Message>> =
        fields.list("messages", |node, place| saved::read_message(node, place).map(Arc::new))?;
    let own: Vec<&Arc<ToolCall>> = tail.last().into_iter().flat_map(|message| message.calls()).collect();
    let mut at = 0;
    let calls = fields.list("calls", |node, place| {
        let call = own.get(at).ok_or_else(|| place.contradiction("the last message has no such call"))?;
        at += 1;
        read_call(node, place, call)
    })?;
    Ok(Suspended {
        run: fields.id("run", RunId::new)?,
        session: fields.id("session", SessionId::new)?,
        revision: Revision(fields.number("revision")?),
        model: fields.text("model")?,
        seq: Seq(fields.number("seq")?),
        end: fields.number("log_bytes")?,
        step: fields.small("step")?,
        ops: fields.number("operations")?,
        messages: fields.small("added")?,
        invalid_turns: fields.small("invalid_turns")?,
        usage: fields.need("usage", read_usage)?,
        billed: fields.need("billed", read_usage)?,
        left: fields.span("left_us")?,
        base: fields.number("history")?,
        answer: fields.text("answer")?,
        used: fields.list("used_requests", |node, place| {
            RequestId::new(saved::text(node, place)?).map_err(|error| place.error(error))
        })?,
        asked: fields.small("asked")?,
        visibility: fields.list("tools", |node, place| {
            object(node, place, |fields| Ok((fields.text("name")?, fields.flag("shown")?)))
        })?,
        steers: fields.maybe_number("steers")?.unwrap_or(0),
        applied: fields
            .maybe("applied", |node, place| saved::list(node, place, read_applied))?
            .unwrap_or_default(),
        collected: fields.maybe("collected", saved::flag)?.unwrap_or(false),
        tail,
        calls,
        additions: Additions::default(),
    })
}

fn write_applied(applied: &AppliedSteer) -> Node {
    Build::new()
        .text("id", applied.id.text())
        .maybe("message", applied.at.map(|at| Node::number(at.into())))
        .end()
}

fn read_applied(node: &Node, place: &Place<'_>) -> Result<AppliedSteer, ImportError> {
    object(node, place, |fields| {
        Ok(AppliedSteer { id: fields.id("id", SteerId::new)?, at: fields.maybe_small("message")? })
    })
}

fn usage(usage: &Usage) -> Node {
    let Usage { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens } =
        *usage;
    Build::new()
        .maybe("input_tokens", input_tokens.map(Node::number))
        .maybe("output_tokens", output_tokens.map(Node::number))
        .maybe("cache_read_tokens", cache_read_tokens.map(Node::number))
        .maybe("cache_write_tokens", cache_write_tokens.map(Node::number))
        .maybe("reasoning_tokens", reasoning_tokens.map(Node::number))
        .end()
}

fn read_usage(node: &Node, place: &Place<'_>) -> Result<Usage, ImportError> {
    object(node, place, |fields| {
        Ok(Usage {
            input_tokens: fields.maybe_number("input_tokens")?,
            output_tokens: fields.maybe_number("output_tokens")?,
            cache_read_tokens: fields.maybe_number("cache_read_tokens")?,
            cache_write_tokens: fields.maybe_number("cache_write_tokens")?,
            reasoning_tokens: fields.maybe_number("reasoning_tokens")?,
        })
    })
}

fn write_call(call: &SuspendedCall) -> Node {
    Build::new()
        .with("hash", Node::Text(Binding::of(&call.call).to_hex()))
        .maybe("edited", call.edited.as_ref().map(Node::text))
        .maybe("access", call.access.as_ref().map(access))
        .flag("started", call.started)
        .with("state", write_state(&call.state))
        .end()
}

fn read_call(node: &Node, place: &Place<'_>, call: &Arc<ToolCall>) -> Result<SuspendedCall, ImportError> {
    object(node, place, |fields| {
        fields.need("hash", |node, place| {
            let own = saved::text(node, place)? == Binding::of(call).to_hex();
            if own { Ok(()) } else { Err(place.error(ImportProblem::Hash)) }
        })?;
        let edited = fields.maybe("edited", saved::text)?;
        let access = fields.maybe("access", read_access)?;
        let started = fields.flag("started")?;
        let state = fields.need("state", |node, place| read_state(node, place, call, edited.as_ref()))?;
        Ok(SuspendedCall { call: Arc::clone(call), edited, access, started, state })
    })
}

pub(crate) fn access(access: &Access) -> Node {
    let resource = |resource: &Resource| {
        Build::new()
            .text("name", &resource.name)
            .flag("writes", resource.writes)
            .flag("tree", resource.tree)
            .end()
    };
    match access {
        Access::Exclusive => Build::of("exclusive"),
        Access::Shared => Build::of("shared"),
        Access::Resources(resources) => {
            Build::of("resources").with("resources", Node::list(resources.iter(), resource))
        }
    }
    .end()
}

pub(crate) fn read_access(node: &Node, place: &Place<'_>) -> Result<Access, ImportError> {
    let resource = |node: &Node, place: &Place<'_>| {
        object(node, place, |fields| {
            let (name, writes) = (fields.text("name")?, fields.flag("writes")?);
            Ok(Resource { name, writes, tree: fields.flag("tree")? })
        })
    };
    object(node, place, |fields| {
        let named = fields.one_of("type", "access", |name| match name {
            "exclusive" => Some(Some(Access::Exclusive)),
            "shared" => Some(Some(Access::Shared)),
            "resources" => Some(None),
            _ => None,
        })?;
        match named {
            Some(access) => Ok(access),
            None => Ok(Access::Resources(fields.list("resources", resource)?.into())),
        }
    })
}

fn write_state(state: &SuspendedState) -> Node {
    match state {
        SuspendedState::Done(result) => Build::of("done")
            .name("status", result.status.as_str())
            .with("content", saved::content(&result.content)),
        SuspendedState::Queued => Build::of("queued"),
        SuspendedState::Answered { state, answer } => {
            let build = Build::of("answered").text("state", state);
            match answer {
                Ok(answer) => build.with("answer", saved::answer(answer)),
                Err(error) => build.with("error", ask_error(error)),
            }
        }
        SuspendedState::Waiting { request, left, state, order } => Build::of("waiting")
            .with("request", write_request(request))
            .span("left_us", *left)
            .maybe("state", state.as_ref().map(Node::text))
            .number("order", *order),
    }
    .end()
}

fn read_state(
    node: &Node,
    place: &Place<'_>,
    call: &Arc<ToolCall>,
    edited: Option<&Text>,
) -> Result<SuspendedState, ImportError> {
    object(node, place, |fields| match &*fields.text("type")? {
        "done" => {
            let (status, content) =
                (saved::read_status(fields)?, fields.need("content", saved::read_content)?);
            let (id, name) = (call.id.clone(), call.name.clone());
            Ok(SuspendedState::Done(Arc::new(ToolResult { call: call.call, id, name, status, content })))
        }
        "queued" => Ok(SuspendedState::Queued),
        "answered" => {
            let state = fields.text("state")?;
            let answer = match fields.maybe("answer", saved::read_answer)? {
                Some(answer) => Ok(answer),
                None => Err(fields.need("error", read_ask_error)?),
            };
            Ok(SuspendedState::Answered { state, answer })
        }
        "waiting" => {
            let request = fields.need("request", |node, place| read_request(node, place, call, edited))?;
            let (left, state) = (fields.span("left_us")?, fields.maybe("state", saved::text)?);
            let order = fields.small("order")?;
            Ok(SuspendedState::Waiting { request: Arc::new(request), left, state, order })
        }
        _ => Err(fields.place.member("type").unknown("state of a call")),
    })
}

/// Errors that end the call at once never wait for its turn; only the others are told apart.
fn ask_error(error: &AskError) -> Node {
    match error {
        AskError::NoResponder => Build::of("no_responder"),
        AskError::TimedOut(span) => Build::of("timed_out").span("after_us", Some(*span)),
        AskError::Refused(refusal) => Build::of("refused").name("refusal", refusal.as_str()),
        AskError::DuplicateId(_) | AskError::Invalid(_) | AskError::TooMany { .. } | AskError::Gone => {
            Build::of("gone")
        }
    }
    .end()
}

fn read_ask_error(node: &Node, place: &Place<'_>) -> Result<AskError, ImportError> {
    object(node, place, |fields| match &*fields.text("type")? {
        "no_responder" => Ok(AskError::NoResponder),
        "timed_out" => Ok(AskError::TimedOut(fields.span("after_us")?.unwrap_or_default())),
        "refused" => saved::read_refusal(fields).map(AskError::Refused),
        "gone" => Ok(AskError::Gone),
        _ => Err(fields.place.member("type").unknown("error")),
    })
}

fn write_request(request: &HostRequest) -> Node {
    let build =
        Build::of(request.kind.as_str()).text("id", request.id.text()).span("timeout_us", request.timeout);
    match &request.kind {
        RequestKind::Approval { reason, .. } => build.text("reason", reason),
        RequestKind::Question(question) => build.with("question", saved::question(question)),
        RequestKind::Call => build,
    }
    .end()
}

fn read_request(
    node: &Node,
    place: &Place<'_>,
    call: &Arc<ToolCall>,
    edited: Option<&Text>,
) -> Result<HostRequest, ImportError> {
    object(node, place, |fields| {
        let (id, timeout) = (fields.id("id", RequestId::new)?, fields.span("timeout_us")?);
        let own = Arc::clone(call);
        match &*fields.text("type")? {
            "approval" => {
                let kind =
                    RequestKind::Approval { binding: Binding::of(call), reason: fields.text("reason")? };
                Ok(HostRequest { id, call: own, kind, timeout })
            }
            "question" => {
                let question = Arc::new(fields.need("question", saved::read_question)?);
                Ok(HostRequest { id, call: own, kind: RequestKind::Question(question), timeout })
            }
            "call" => {
                let edit = |text: &Text| Arc::new(ToolCall { arguments: text.clone(), ..(**call).clone() });
                Ok(HostRequest { id, call: edited.map_or(own, edit), kind: RequestKind::Call, timeout })
            }
            _ => Err(fields.place.member("type").unknown("kind of request")),
        }
    })
}
