//! Fields of spans: `tracing` wants their names where a span is made, and their values whenever they are known.

use crate::core::telemetry::{Attribute, SpanEnd, SpanEvent, SpanKind, SpanStart, Value, names};
use ::tracing::field::Empty;
use ::tracing::{Level, Span};

/// A span with the fields that it may have.
macro_rules! span {
    ($parent:expr, $name:literal, $($field:literal),*) => {
        ::tracing::span!(
            target: "runloom",
            parent: $parent,
            Level::INFO,
            $name,
            "otel.name" = Empty,
            "otel.kind" = Empty,
            "otel.status_code" = Empty,
            "error.type" = Empty,
            "gen_ai.operation.name" = Empty,
            "runloom.end" = Empty,
            "runloom.reason" = Empty,
            $($field = Empty),*
        )
    };
}

fn made(parent: &Span, kind: SpanKind) -> Span {
    let parent = parent.id();
    match kind {
        SpanKind::Run => span!(
            parent,
            "invoke_agent",
            "gen_ai.provider.name",
            "gen_ai.conversation.id",
            "gen_ai.request.model",
            "gen_ai.usage.input_tokens",
            "gen_ai.usage.output_tokens",
            "gen_ai.usage.cache_read.input_tokens",
            "gen_ai.usage.cache_write.input_tokens",
            "gen_ai.usage.reasoning.output_tokens",
            "runloom.run.id",
            "runloom.revision"
        ),
        SpanKind::Attempt => span!(
            parent,
            "chat",
            "gen_ai.provider.name",
            "gen_ai.request.model",
            "gen_ai.response.finish_reasons",
            "gen_ai.response.time_to_first_chunk",
            "gen_ai.usage.input_tokens",
            "gen_ai.usage.output_tokens",
            "gen_ai.usage.cache_read.input_tokens",
            "gen_ai.usage.cache_write.input_tokens",
            "gen_ai.usage.reasoning.output_tokens",
            "runloom.step",
            "runloom.attempt"
        ),
        SpanKind::Tool => span!(
            parent,
            "execute_tool",
            "gen_ai.tool.name",
            "gen_ai.tool.call.id",
            "gen_ai.tool.type",
            "runloom.call"
        ),
        SpanKind::HostInput => span!(
            parent,
            "host_input",
            "gen_ai.tool.name",
            "runloom.request.id",
            "runloom.request.kind",
            "runloom.call"
        ),
        SpanKind::Compaction => span!(
            parent,
            "compaction",
            "gen_ai.usage.input_tokens",
            "gen_ai.usage.output_tokens",
            "gen_ai.usage.cache_read.input_tokens",
            "gen_ai.usage.cache_write.input_tokens",
            "gen_ai.usage.reasoning.output_tokens",
            "runloom.revision",
            "runloom.messages"
        ),
        _ => span!(parent, "step", "runloom.step"),
    }
}

pub(super) fn start(parent: &Span, start: &SpanStart) -> Span {
    let span = made(parent, start.kind);
    span.record("otel.name", start.name.as_str());
    let kind = if start.kind == SpanKind::Attempt { "client" } else { "internal" };
    span.record("otel.kind", kind);
    record(&span, &start.attributes);
    span
}

pub(super) fn end(span: &Span, end: &SpanEnd) {
    record(span, &end.attributes);
    if end.failed {
        span.record("otel.status_code", "ERROR");
    }
}

fn record(span: &Span, attributes: &[Attribute]) {
    for Attribute { key, value } in attributes {
        match value {
            Value::Text(text) => span.record(*key, text.as_str()),
            Value::Integer(number) => span.record(*key, *number),
            Value::Number(number) => span.record(*key, *number),
            Value::Texts(texts) => {
                let texts: Vec<&str> = texts.iter().map(|text| text.as_str()).collect();
                span.record(*key, texts.join(",").as_str())
            }
            _ => span,
        };
    }
}

pub(super) fn event(span: &Span, event: &SpanEvent) {
    let find = |key: &str| event.attributes.iter().find(|fact| fact.key == key).map(|fact| &fact.value);
    let text = |key: &str| match find(key) {
        Some(Value::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    let number = |key: &str| match find(key) {
        Some(Value::Integer(number)) => Some(*number),
        _ => None,
    };
    let seconds = match find(names::DELAY) {
        Some(Value::Number(number)) => Some(*number),
        _ => None,
    };
    ::tracing::event!(
        target: "runloom",
        parent: span.id(),
        Level::INFO,
        "error.type" = text(names::ERROR),
        "gen_ai.tool.name" = text(names::TOOL),
        "runloom.detail" = text(names::DETAIL),
        "runloom.delay" = seconds,
        "runloom.revision" = number(names::REVISION),
        "{}",
        event.name
    );
}
