//! What a run, or the next part of one, begins with.

use super::scalar::{
    float, hash, number, read_float, read_hash, read_number, read_size, read_small, read_span,
};
use super::scalar::{size, small, span};
use crate::compaction::{read_context, write_context};
use crate::history::{History, HistoryBounds};
use crate::id::{Revision, SessionId};
use crate::input::{Answerers, Reader, Start};
use crate::model::{ModelParameters, ModelSpec, ToolChoice};
use crate::saved::{self, Build, Fields, ImportError, Node, Place, Saved, flag, list, object, text};
use crate::suspend::{Resume, Suspended};
use crate::text::Text;
use crate::tool::{ApprovalPolicy, Approvals, ToolSpec};
use alloc::sync::Arc;

pub(super) fn start(build: Build, start: &Start) -> Build {
    let Start {
        session,
        revision,
        history: messages,
        input,
        model: spec,
        tools,
        reader: paces,
        cancelled,
        approvals: consents,
        answerers: people,
        suspends,
        boundaries,
        compacts,
        context: size,
        observers,
    } = start;
    build
        .text("session", session.text())
        .with("revision", number(revision.0))
        .with("history", history(messages))
        .with("input", Node::list(input, saved::part))
        .with("model", model(spec))
        .with("tools", Node::list(tools.iter(), |spec| tool(spec)))
        .with("reader", reader(*paces))
        .flag("cancelled", *cancelled)
        .with("approvals", approvals(consents))
        .with("answerers", answerers(*people))
        .flag("suspends", *suspends)
        .flag("boundaries", *boundaries)
        .flag("compacts", *compacts)
        .with("context", write_context(size))
        .with("observers", small(*observers))
}

pub(super) fn read_start(fields: &mut Fields<'_>) -> Result<Start, ImportError> {
    Ok(Start {
        session: fields.id("session", SessionId::new)?,
        revision: Revision(fields.need("revision", read_number)?),
        history: fields.need("history", read_history)?,
        input: fields.list("input", saved::read_any_part)?,
        model: fields.need("model", read_model)?,
        tools: fields.list("tools", read_tool)?.into(),
        reader: fields.need("reader", read_reader)?,
        cancelled: fields.flag("cancelled")?,
        approvals: fields.need("approvals", read_approvals)?,
        answerers: fields.need("answerers", read_answerers)?,
        suspends: fields.flag("suspends")?,
        boundaries: fields.flag("boundaries")?,
        compacts: fields.flag("compacts")?,
        context: fields.need("context", read_context)?,
        observers: fields.need("observers", read_small)?,
    })
}

pub(super) fn resume(build: Build, resume: &Resume) -> Build {
    let Resume {
        suspended,
        session,
        revision,
        history: messages,
        model: spec,
        tools,
        reader: paces,
        cancelled,
        approvals: consents,
        answerers: people,
        suspends,
        boundaries,
        compacts,
        context: size,
        observers,
    } = resume;
    build
        .with("suspended", suspended.to_node())
        .text("session", session.text())
        .with("revision", number(revision.0))
        .with("history", history(messages))
        .with("model", model(spec))
        .with("tools", Node::list(tools.iter(), |spec| tool(spec)))
        .with("reader", reader(*paces))
        .flag("cancelled", *cancelled)
        .with("approvals", approvals(consents))
        .with("answerers", answerers(*people))
        .flag("suspends", *suspends)
        .flag("boundaries", *boundaries)
        .flag("compacts", *compacts)
        .with("context", write_context(size))
        .with("observers", small(*observers))
}

pub(super) fn read_resume(fields: &mut Fields<'_>) -> Result<Resume, ImportError> {
    let suspended = fields.need("suspended", |node, place| {
        Suspended::of_node(node).map_err(|inner| {
            let outer = place.error(inner.problem);
            ImportError { at: Text::concat(&[&outer.at, &inner.at]), problem: outer.problem }
        })
    })?;
    Ok(Resume {
        suspended: Arc::new(suspended),
        session: fields.id("session", SessionId::new)?,
        revision: Revision(fields.need("revision", read_number)?),
        history: fields.need("history", read_history)?,
        model: fields.need("model", read_model)?,
        tools: fields.list("tools", read_tool)?.into(),
        reader: fields.need("reader", read_reader)?,
        cancelled: fields.flag("cancelled")?,
        approvals: fields.need("approvals", read_approvals)?,
        answerers: fields.need("answerers", read_answerers)?,
        suspends: fields.flag("suspends")?,
        boundaries: fields.flag("boundaries")?,
        compacts: fields.flag("compacts")?,
        context: fields.need("context", read_context)?,
        observers: fields.need("observers", read_small)?,
    })
}

fn history(history: &History) -> Node {
    let HistoryBounds { messages, bytes } = history.bounds();
    Build::new()
        .with("messages", Node::list(history, |message| saved::message(message)))
        .with("most_messages", size(messages))
        .with("most_bytes", number(bytes))
        .end()
}

/// A history as it stood: a run may have brought it above its bounds.
fn read_history(node: &Node, place: &Place<'_>) -> Result<History, ImportError> {
    object(node, place, |fields| {
        let messages = fields.list("messages", saved::read_message)?;
        let (most, bytes) =
            (fields.need("most_messages", read_size)?, fields.need("most_bytes", read_number)?);
        let unbounded = HistoryBounds { messages: usize::MAX, bytes: u64::MAX };
        let history = History::from_messages(unbounded, messages).map_err(|error| place.error(error))?;
        Ok(history.with_bounds(HistoryBounds { messages: most, bytes }))
    })
}

pub(super) fn reader(reader: Reader) -> Node {
    Node::Text(Text::new(match reader {
        Reader::Primary => "primary",
        Reader::Unattended => "unattended",
    }))
}

pub(super) fn read_reader(node: &Node, place: &Place<'_>) -> Result<Reader, ImportError> {
    match &*text(node, place)? {
        "primary" => Ok(Reader::Primary),
        "unattended" => Ok(Reader::Unattended),
        _ => Err(place.unknown("reader")),
    }
}

fn approvals(approvals: &Approvals) -> Node {
    Node::list(approvals.keys(), hash)
}

fn read_approvals(node: &Node, place: &Place<'_>) -> Result<Approvals, ImportError> {
    list(node, place, read_hash).map(Approvals::of_keys)
}

pub(super) fn answerers(answerers: Answerers) -> Node {
    let Answerers { handle, responder } = answerers;
    Build::new().flag("handle", handle).flag("responder", responder).end()
}

pub(super) fn read_answerers(node: &Node, place: &Place<'_>) -> Result<Answerers, ImportError> {
    object(node, place, |fields| {
        Ok(Answerers { handle: fields.flag("handle")?, responder: fields.flag("responder")? })
    })
}

fn shared(text: &Arc<str>) -> Node {
    Node::Text(Text::from(Arc::clone(text)))
}

fn read_shared(node: &Node, place: &Place<'_>) -> Result<Arc<str>, ImportError> {
    text(node, place).map(|text| text.to_shared())
}

fn model(model: &ModelSpec) -> Node {
    let ModelSpec { name, system, parameters: own } = model;
    Build::new()
        .text("name", name)
        .maybe("system", system.as_ref().map(shared))
        .with("parameters", parameters(own))
        .end()
}

fn read_model(node: &Node, place: &Place<'_>) -> Result<Arc<ModelSpec>, ImportError> {
    object(node, place, |fields| {
        let (name, system) = (fields.text("name")?, fields.maybe("system", read_shared)?);
        Ok(Arc::new(ModelSpec { name, system, parameters: fields.need("parameters", read_parameters)? }))
    })
}

fn parameters(parameters: &ModelParameters) -> Node {
    let ModelParameters {
        max_output_tokens,
        temperature,
        top_p,
        stop,
        reasoning_effort,
        thinking_budget,
        tool_choice,
        parallel_tool_calls,
        extra,
    } = parameters;
    let choice = match tool_choice {
        ToolChoice::Auto => Build::of("auto"),
        ToolChoice::None => Build::of("none"),
        ToolChoice::Required => Build::of("required"),
        ToolChoice::Tool(name) => Build::of("tool").text("name", name),
    };
    Build::new()
        .maybe("max_output_tokens", max_output_tokens.map(small))
        .maybe("temperature", temperature.map(float))
        .maybe("top_p", top_p.map(float))
        .with("stop", Node::list(stop, Node::text))
        .maybe("reasoning_effort", reasoning_effort.as_ref().map(Node::text))
        .maybe("thinking_budget", thinking_budget.map(small))
        .with("tool_choice", choice.end())
        .maybe("parallel_tool_calls", parallel_tool_calls.map(Node::Bool))
        .maybe("extra", extra.as_ref().map(shared))
        .end()
}

fn read_parameters(node: &Node, place: &Place<'_>) -> Result<ModelParameters, ImportError> {
    object(node, place, |fields| {
        Ok(ModelParameters {
            max_output_tokens: fields.maybe("max_output_tokens", read_small)?,
            temperature: fields.maybe("temperature", read_float)?,
            top_p: fields.maybe("top_p", read_float)?,
            stop: fields.list("stop", text)?,
            reasoning_effort: fields.maybe("reasoning_effort", text)?,
            thinking_budget: fields.maybe("thinking_budget", read_small)?,
            tool_choice: fields.need("tool_choice", read_choice)?,
            parallel_tool_calls: fields.maybe("parallel_tool_calls", flag)?,
            extra: fields.maybe("extra", read_shared)?,
        })
    })
}

fn read_choice(node: &Node, place: &Place<'_>) -> Result<ToolChoice, ImportError> {
    object(node, place, |fields| match &*fields.text("type")? {
        "auto" => Ok(ToolChoice::Auto),
        "none" => Ok(ToolChoice::None),
        "required" => Ok(ToolChoice::Required),
        "tool" => Ok(ToolChoice::Tool(fields.text("name")?)),
        _ => Err(fields.place.member("type").unknown("choice of tools")),
    })
}

fn tool(tool: &ToolSpec) -> Node {
    let ToolSpec {
        name,
        description,
        schema,
        access,
        deadline,
        approval: policy,
        fatal,
        prepares,
        client,
        hidden,
    } = tool;
    Build::new()
        .text("name", name)
        .text("description", description)
        .with("schema", shared(schema))
        .with("access", crate::suspend::access(access))
        .maybe("deadline", deadline.map(span))
        .with("approval", approval(policy))
        .flag("fatal", *fatal)
        .flag("prepares", *prepares)
        .flag("client", *client)
        .flag("hidden", *hidden)
        .end()
}

fn read_tool(node: &Node, place: &Place<'_>) -> Result<Arc<ToolSpec>, ImportError> {
    object(node, place, |fields| {
        Ok(Arc::new(ToolSpec {
            name: fields.text("name")?,
            description: fields.text("description")?,
            schema: fields.need("schema", read_shared)?,
            access: fields.need("access", crate::suspend::read_access)?,
            deadline: fields.maybe("deadline", read_span)?,
            approval: fields.need("approval", read_approval)?,
            fatal: fields.flag("fatal")?,
            prepares: fields.flag("prepares")?,
            client: fields.flag("client")?,
            hidden: fields.flag("hidden")?,
        }))
    })
}

fn approval(policy: &ApprovalPolicy) -> Node {
    match policy {
        ApprovalPolicy::Allow => Build::of("allow"),
        ApprovalPolicy::Deny { reason } => Build::of("deny").text("reason", reason),
        ApprovalPolicy::Ask => Build::of("ask"),
        ApprovalPolicy::Decide => Build::of("decide"),
    }
    .end()
}

fn read_approval(node: &Node, place: &Place<'_>) -> Result<ApprovalPolicy, ImportError> {
    object(node, place, |fields| match &*fields.text("type")? {
        "allow" => Ok(ApprovalPolicy::Allow),
        "deny" => Ok(ApprovalPolicy::Deny { reason: fields.text("reason")? }),
        "ask" => Ok(ApprovalPolicy::Ask),
        "decide" => Ok(ApprovalPolicy::Decide),
        _ => Err(fields.place.member("type").unknown("policy about consent")),
    })
}
