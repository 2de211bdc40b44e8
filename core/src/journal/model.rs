//! What a model's stream yields, and what a compactor brings.

use super::scalar::{number, read_number, read_small, read_span, small, span};
use crate::compaction::{Compaction, CompactionFault};
use crate::id::SteerId;
use crate::message::{Part, Role};
use crate::model::{
    Activity, CallDelta, Completion, FinalCall, Finish, ModelItem, Problem, ProblemKind, SteeringItem,
};
use crate::saved::{self, Build, Fields, ImportError, Node, Place, flag, list, object, text};
use crate::text::Text;
use crate::usage::{GenerationTokens, Usage};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

pub(super) const FINISHES: [Finish; 9] = [
    Finish::Stop,
    Finish::StopSequence,
    Finish::ToolCalls,
    Finish::Length,
    Finish::ContentFilter,
    Finish::Refusal,
    Finish::Pause,
    Finish::Error,
    Finish::Other,
];

const ROLES: [Role; 5] = [Role::User, Role::Assistant, Role::AbortedAssistant, Role::Tool, Role::Boundary];

pub(super) fn item(item: &ModelItem) -> Node {
    match item {
        ModelItem::Text(text) => Build::of("text").text("text", text),
        ModelItem::Refusal(text) => Build::of("refusal").text("text", text),
        ModelItem::Reasoning(text) => Build::of("reasoning").text("text", text),
        ModelItem::ReasoningSummary(text) => Build::of("reasoning_summary").text("text", text),
        ModelItem::CallDelta(delta) => {
            let CallDelta { index, id, name, arguments } = &**delta;
            Build::of("call_delta")
                .maybe("index", index.map(small))
                .maybe("id", id.as_ref().map(Node::text))
                .maybe("name", name.as_ref().map(Node::text))
                .text("arguments", arguments)
        }
        ModelItem::Call(call) => {
            let FinalCall { id, name, arguments } = &**call;
            let build = Build::of("call").maybe("id", id.as_ref().map(Node::text));
            build.text("name", name).text("arguments", arguments)
        }
        ModelItem::CallEnd(index) => Build::of("call_end").with("index", small(*index)),
        ModelItem::Usage(own) => Build::of("usage").with("usage", usage(own)),
        ModelItem::GenerationTokens(GenerationTokens::Reported(tokens)) => {
            Build::of("generation_tokens").with("tokens", number(*tokens))
        }
        ModelItem::GenerationTokens(GenerationTokens::Unavailable) => Build::of("generation_tokens"),
        ModelItem::Context(context) => {
            Build::of("context").with("context", saved::part(&Part::Context(Arc::clone(context))))
        }
        ModelItem::Steering(said) => match &**said {
            SteeringItem::Claim => Build::of("claim"),
            SteeringItem::Delivered(id) => Build::of("delivered").text("id", id.text()),
            SteeringItem::Released(id) => Build::of("released").text("id", id.text()),
        },
        ModelItem::Activity(own) => activity(own),
        ModelItem::Alive => Build::of("alive"),
        ModelItem::Done(completion) => {
            let Completion { finish, raw } = &**completion;
            let name = finish.map(|finish| Node::Text(Text::new(finish.as_str())));
            Build::of("done").maybe("finish", name).text("raw", raw)
        }
        ModelItem::Failed(own) => Build::of("failed").with("problem", problem(own)),
    }
    .end()
}

pub(super) fn read_item(node: &Node, place: &Place<'_>) -> Result<ModelItem, ImportError> {
    object(node, place, |fields| match &*fields.text("type")? {
        "text" => fields.text("text").map(ModelItem::Text),
        "refusal" => fields.text("text").map(ModelItem::Refusal),
        "reasoning" => fields.text("text").map(ModelItem::Reasoning),
        "reasoning_summary" => fields.text("text").map(ModelItem::ReasoningSummary),
        "call_delta" => Ok(ModelItem::CallDelta(Box::new(CallDelta {
            index: fields.maybe("index", read_small)?,
            id: fields.maybe("id", text)?,
            name: fields.maybe("name", text)?,
            arguments: fields.text("arguments")?,
        }))),
        "call" => Ok(ModelItem::Call(Box::new(FinalCall {
            id: fields.maybe("id", text)?,
            name: fields.text("name")?,
            arguments: fields.text("arguments")?,
        }))),
        "call_end" => fields.need("index", read_small).map(ModelItem::CallEnd),
        "usage" => Ok(ModelItem::Usage(Box::new(fields.need("usage", read_usage)?))),
        "generation_tokens" => {
            let tokens = fields.maybe("tokens", read_number)?;
            let tokens = tokens.map_or(GenerationTokens::Unavailable, GenerationTokens::Reported);
            Ok(ModelItem::GenerationTokens(tokens))
        }
        "context" => fields.need("context", |node, place| match saved::read_any_part(node, place)? {
            Part::Context(context) => Ok(ModelItem::Context(context)),
            Part::Text(_) | Part::Image(_) | Part::ToolCall(_) | Part::ToolResult(_) => {
                Err(place.wrong("a provider's context"))
            }
        }),
        "claim" => Ok(ModelItem::Steering(Box::new(SteeringItem::Claim))),
        "delivered" => {
            Ok(ModelItem::Steering(Box::new(SteeringItem::Delivered(fields.id("id", SteerId::new)?))))
        }
        "released" => {
            Ok(ModelItem::Steering(Box::new(SteeringItem::Released(fields.id("id", SteerId::new)?))))
        }
        "request_retry" | "web_search" | "hosted_tool" | "diagnostic" => {
            Ok(ModelItem::Activity(Box::new(read_activity(fields)?)))
        }
        "alive" => Ok(ModelItem::Alive),
        "done" => {
            let finish = fields.maybe("finish", |node, place| {
                let name = text(node, place)?;
                let known = FINISHES.into_iter().find(|finish| *finish.as_str() == *name);
                known.ok_or_else(|| place.unknown("finish"))
            })?;
            Ok(ModelItem::Done(Box::new(Completion { finish, raw: fields.text("raw")? })))
        }
        "failed" => Ok(ModelItem::Failed(Box::new(fields.need("problem", read_problem)?))),
        _ => Err(fields.place.member("type").unknown("item of a model")),
    })
}

fn activity(activity: &Activity) -> Build {
    match activity {
        Activity::RequestRetry { kind, delay } => {
            Build::of("request_retry").name("kind", kind.as_str()).with("delay", span(*delay))
        }
        Activity::WebSearch { detail } => Build::of("web_search").text("detail", detail),
        Activity::HostedTool { name, detail } => {
            Build::of("hosted_tool").text("name", name).text("detail", detail)
        }
        Activity::Diagnostic { name, value } => {
            Build::of("diagnostic").text("name", name).text("value", value)
        }
    }
}

fn read_activity(fields: &mut Fields<'_>) -> Result<Activity, ImportError> {
    match &*fields.text("type")? {
        "request_retry" => {
            let kind = read_kind(fields)?;
            Ok(Activity::RequestRetry { kind, delay: fields.need("delay", read_span)? })
        }
        "web_search" => Ok(Activity::WebSearch { detail: fields.text("detail")? }),
        "hosted_tool" => {
            Ok(Activity::HostedTool { name: fields.text("name")?, detail: fields.text("detail")? })
        }
        "diagnostic" => Ok(Activity::Diagnostic { name: fields.text("name")?, value: fields.text("value")? }),
        _ => Err(fields.place.member("type").unknown("activity")),
    }
}

fn read_kind(fields: &mut Fields<'_>) -> Result<ProblemKind, ImportError> {
    let known = |name: &str| ProblemKind::ALL.into_iter().find(|kind| kind.as_str() == name);
    fields.one_of("kind", "problem", known)
}

fn problem(problem: &Problem) -> Node {
    let Problem { kind, message, status, retry_after, retryable } = problem;
    Build::new()
        .name("kind", kind.as_str())
        .text("message", message)
        .maybe("status", status.map(|status| small(u32::from(status))))
        .maybe("retry_after", retry_after.map(span))
        .maybe("retryable", retryable.map(Node::Bool))
        .end()
}

fn read_problem(node: &Node, place: &Place<'_>) -> Result<Problem, ImportError> {
    object(node, place, |fields| {
        Ok(Problem {
            kind: read_kind(fields)?,
            message: fields.text("message")?,
            status: fields.maybe("status", |node, place| {
                let status = saved::number(node, place, u64::from(u16::MAX))?;
                Ok(u16::try_from(status).unwrap_or(u16::MAX))
            })?,
            retry_after: fields.maybe("retry_after", read_span)?,
            retryable: fields.maybe("retryable", flag)?,
        })
    })
}

fn usage(usage: &Usage) -> Node {
    let Usage { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens } =
        *usage;
    Build::new()
        .maybe("input_tokens", input_tokens.map(number))
        .maybe("output_tokens", output_tokens.map(number))
        .maybe("cache_read_tokens", cache_read_tokens.map(number))
        .maybe("cache_write_tokens", cache_write_tokens.map(number))
        .maybe("reasoning_tokens", reasoning_tokens.map(number))
        .end()
}

fn read_usage(node: &Node, place: &Place<'_>) -> Result<Usage, ImportError> {
    object(node, place, |fields| {
        Ok(Usage {
            input_tokens: fields.maybe("input_tokens", read_number)?,
            output_tokens: fields.maybe("output_tokens", read_number)?,
            cache_read_tokens: fields.maybe("cache_read_tokens", read_number)?,
            cache_write_tokens: fields.maybe("cache_write_tokens", read_number)?,
            reasoning_tokens: fields.maybe("reasoning_tokens", read_number)?,
        })
    })
}

/// What a compactor brought, or why it brought nothing.
pub(super) fn compacted(build: Build, result: &Result<Box<Compaction>, Box<CompactionFault>>) -> Build {
    match result {
        Ok(compaction) => {
            let Compaction { messages, usage: own } = &**compaction;
            let message = |(role, parts): &(Role, Vec<Part>)| {
                let parts = Node::list(parts, saved::part);
                Build::new().name("role", role.as_str()).with("parts", parts).end()
            };
            build.with("messages", Node::list(messages, message)).with("usage", usage(own))
        }
        Err(fault) => {
            let CompactionFault { message, usage: own } = &**fault;
            build.text("fault", message).with("usage", usage(own))
        }
    }
}

pub(super) fn read_compacted(
    fields: &mut Fields<'_>,
) -> Result<Result<Box<Compaction>, Box<CompactionFault>>, ImportError> {
    let usage = fields.need("usage", read_usage)?;
    if let Some(message) = fields.maybe("fault", text)? {
        return Ok(Err(Box::new(CompactionFault { message, usage })));
    }
    let message = |node: &Node, place: &Place<'_>| {
        object(node, place, |fields| {
            let known = |name: &str| ROLES.into_iter().find(|role| role.as_str() == name);
            let role = fields.one_of("role", "role", known)?;
            Ok((role, fields.list("parts", saved::read_any_part)?))
        })
    };
    let messages = fields.need("messages", |node, place| list(node, place, message))?;
    Ok(Ok(Box::new(Compaction { messages, usage })))
}
