//! What tools, approvers and people say.

use super::scalar::{exact_micros, hash, number, read_hash, read_number, read_span, span};
use crate::host_input::Question;
use crate::saved::{self, Build, Fields, ImportError, Node, Place, object, text};
use crate::text::Text;
use crate::tool::{
    Ask, Binding, Certainty, Preparation, ToolAsk, ToolEnd, ToolFault, ToolItem, ToolOutput, ToolVisibility,
    Verdict,
};
use alloc::boxed::Box;
use alloc::sync::Arc;

pub(super) fn item(item: &ToolItem) -> Node {
    match item {
        ToolItem::Started => Build::of("started"),
        ToolItem::Progress(text) => Build::of("progress").text("text", text),
        ToolItem::Ask(ask) => {
            let Ask { ticket, question: own } = &**ask;
            question(Build::of("ask").with("ticket", number(*ticket)), own)
        }
        ToolItem::Withdraw(ticket) => Build::of("withdraw").with("ticket", number(*ticket)),
        ToolItem::Visibility(change) => visibility(Build::of("visibility"), change),
        ToolItem::Done(ToolEnd::Output(output)) => {
            let ToolOutput { content, is_error } = output;
            let content = Node::list(content.iter(), saved::part);
            Build::of("output").with("content", content).flag("is_error", *is_error)
        }
        ToolItem::Done(ToolEnd::Failed(own)) => Build::of("failed").with("fault", fault(own)),
        ToolItem::Done(ToolEnd::Panicked) => Build::of("panicked"),
        ToolItem::Done(ToolEnd::Ask(ask)) => {
            let ToolAsk { question: own, state } = &**ask;
            question(Build::of("returned_ask").text("state", state), own)
        }
    }
    .end()
}

pub(super) fn read_item(node: &Node, place: &Place<'_>) -> Result<ToolItem, ImportError> {
    object(node, place, |fields| match &*fields.text("type")? {
        "started" => Ok(ToolItem::Started),
        "progress" => fields.text("text").map(ToolItem::Progress),
        "ask" => {
            let ticket = fields.need("ticket", read_number)?;
            Ok(ToolItem::Ask(Box::new(Ask { ticket, question: read_question(fields)? })))
        }
        "withdraw" => fields.need("ticket", read_number).map(ToolItem::Withdraw),
        "visibility" => Ok(ToolItem::Visibility(Box::new(read_visibility(fields)?))),
        "output" => {
            let content = fields.list("content", saved::read_any_part)?.into();
            Ok(ToolItem::Done(ToolEnd::Output(ToolOutput { content, is_error: fields.flag("is_error")? })))
        }
        "failed" => Ok(ToolItem::Done(ToolEnd::Failed(Box::new(fields.need("fault", read_fault)?)))),
        "panicked" => Ok(ToolItem::Done(ToolEnd::Panicked)),
        "returned_ask" => {
            let (state, question) = (fields.text("state")?, read_question(fields)?);
            Ok(ToolItem::Done(ToolEnd::Ask(Box::new(ToolAsk { question, state }))))
        }
        _ => Err(fields.place.member("type").unknown("item of a tool")),
    })
}

/// A question; its time stands beside it where microseconds do not carry it.
fn question(build: Build, question: &Question) -> Build {
    let inexact = question.timeout.filter(|timeout| exact_micros(*timeout).is_none());
    build.with("question", saved::question(question)).maybe("timeout", inexact.map(span))
}

fn read_question(fields: &mut Fields<'_>) -> Result<Arc<Question>, ImportError> {
    let mut question = fields.need("question", saved::read_any_question)?;
    question.timeout = fields.maybe("timeout", read_span)?.or(question.timeout);
    Ok(Arc::new(question))
}

pub(super) fn visibility(build: Build, change: &ToolVisibility) -> Build {
    let ToolVisibility { show, hide } = change;
    build.with("show", Node::list(show, Node::text)).with("hide", Node::list(hide, Node::text))
}

pub(super) fn read_visibility(fields: &mut Fields<'_>) -> Result<ToolVisibility, ImportError> {
    Ok(ToolVisibility { show: fields.list("show", text)?, hide: fields.list("hide", text)? })
}

fn fault(fault: &ToolFault) -> Node {
    let ToolFault { message, certainty, retryable } = fault;
    let certainty = match certainty {
        Certainty::Definitive => "definitive",
        Certainty::Uncertain => "uncertain",
    };
    Build::new().text("message", message).name("certainty", certainty).flag("retryable", *retryable).end()
}

fn read_fault(node: &Node, place: &Place<'_>) -> Result<ToolFault, ImportError> {
    object(node, place, |fields| {
        let certainty = fields.one_of("certainty", "certainty", |name| match name {
            "definitive" => Some(Certainty::Definitive),
            "uncertain" => Some(Certainty::Uncertain),
            _ => None,
        })?;
        Ok(ToolFault { message: fields.text("message")?, certainty, retryable: fields.flag("retryable")? })
    })
}

pub(super) fn prepared(build: Build, result: &Result<Box<Preparation>, Box<ToolFault>>) -> Build {
    match result {
        Ok(preparation) => {
            let Preparation { access, summary } = &**preparation;
            let access = access.as_ref().map(crate::suspend::access);
            build.maybe("access", access).text("summary", summary)
        }
        Err(own) => build.with("fault", fault(own)),
    }
}

pub(super) fn read_prepared(
    fields: &mut Fields<'_>,
) -> Result<Result<Box<Preparation>, Box<ToolFault>>, ImportError> {
    if let Some(fault) = fields.maybe("fault", read_fault)? {
        return Ok(Err(Box::new(fault)));
    }
    let access = fields.maybe("access", crate::suspend::read_access)?;
    Ok(Ok(Box::new(Preparation { access, summary: fields.text("summary")? })))
}

pub(super) fn verdict(verdict: &Verdict) -> Node {
    match verdict {
        Verdict::Allow(binding) => Build::of("allow").with("binding", hash(binding.as_bytes())),
        Verdict::Deny { reason } => Build::of("deny").text("reason", reason),
        Verdict::Ask { reason, timeout } => {
            Build::of("ask").text("reason", reason).maybe("timeout", timeout.map(span))
        }
    }
    .end()
}

pub(super) fn read_verdict(node: &Node, place: &Place<'_>) -> Result<Verdict, ImportError> {
    object(node, place, |fields| match &*fields.text("type")? {
        "allow" => fields.need("binding", read_hash).map(Binding::of_bytes).map(Verdict::Allow),
        "deny" => Ok(Verdict::Deny { reason: fields.text("reason")? }),
        "ask" => {
            let reason: Text = fields.text("reason")?;
            Ok(Verdict::Ask { reason, timeout: fields.maybe("timeout", read_span)? })
        }
        _ => Err(fields.place.member("type").unknown("verdict")),
    })
}
