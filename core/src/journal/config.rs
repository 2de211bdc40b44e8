//! A run's configuration in the head of its journal: all of it, since all of it decides what a run does.

use super::scalar::{number, read_number, read_size, read_small, read_span, size, small, span};
use crate::compaction::CompactionPolicy;
use crate::config::{Config, Deadlines, Limits, RetryPolicy};
use crate::saved::{Build, Fields, ImportError, Node, Place, object, text};
use alloc::sync::Arc;

/// Writes and reads a struct whose members all have a writer and a reader of one name.
macro_rules! members {
    ($write:ident, $read:ident, $type:ident { $($name:ident: $to:ident $from:ident,)* }) => {
        fn $write(value: &$type) -> Node {
            let $type { $($name,)* } = value.clone();
            Build::new()$(.with(stringify!($name), $to($name)))*.end()
        }

        fn $read(node: &Node, place: &Place<'_>) -> Result<$type, ImportError> {
            object(node, place, |fields| {
                Ok($type { $($name: fields.need(stringify!($name), $from)?,)* })
            })
        }
    };
}

members!(limits, read_limits, Limits {
    event_capacity: size read_size,
    event_capacity_bytes: number read_number,
    log_events: size read_size,
    log_bytes: number read_number,
    payload_bytes: number read_number,
    response_bytes: number read_number,
    argument_bytes: number read_number,
    calls: size read_size,
    parts: size read_size,
    input_bytes: number read_number,
    image_bytes: size read_size,
    delta_bytes: number read_number,
    tool_output_bytes: number read_number,
    progress_bytes: number read_number,
    error_bytes: number read_number,
    parallel_tools: size read_size,
    steps: small read_small,
    late: size read_size,
    facts: small read_small,
    fact_bytes: number read_number,
    preparations: size read_size,
    open_questions: size read_size,
    question_bytes: number read_number,
    answer_bytes: number read_number,
    approvals: size read_size,
    steers: size read_size,
    steer_bytes: number read_number,
    boundary_bytes: number read_number,
    subscription_events: number read_number,
    subscription_bytes: number read_number,
});

members!(retry, read_retry, RetryPolicy {
    attempts: small read_small,
    first_wait: span read_span,
    hint_cap: span read_span,
    give_up_hint: span read_span,
    malformed: small read_small,
    invalid_turns: small read_small,
});

fn deadlines(deadlines: &Deadlines) -> Node {
    let Deadlines { first_item, idle, attempt, model_call, tool, host_input, compaction, finalization, run } =
        *deadlines;
    Build::new()
        .maybe("first_item", first_item.map(span))
        .maybe("idle", idle.map(span))
        .maybe("attempt", attempt.map(span))
        .maybe("model_call", model_call.map(span))
        .maybe("tool", tool.map(span))
        .maybe("host_input", host_input.map(span))
        .maybe("compaction", compaction.map(span))
        .maybe("finalization", finalization.map(span))
        .maybe("run", run.map(span))
        .end()
}

fn read_deadlines(node: &Node, place: &Place<'_>) -> Result<Deadlines, ImportError> {
    object(node, place, |fields| {
        Ok(Deadlines {
            first_item: fields.maybe("first_item", read_span)?,
            idle: fields.maybe("idle", read_span)?,
            attempt: fields.maybe("attempt", read_span)?,
            model_call: fields.maybe("model_call", read_span)?,
            tool: fields.maybe("tool", read_span)?,
            host_input: fields.maybe("host_input", read_span)?,
            compaction: fields.maybe("compaction", read_span)?,
            finalization: fields.maybe("finalization", read_span)?,
            run: fields.maybe("run", read_span)?,
        })
    })
}

fn policy(policy: &CompactionPolicy) -> Node {
    let CompactionPolicy { after_messages, at_tokens, keep_messages, keep_tokens, growth_percent, failures } =
        *policy;
    Build::new()
        .maybe("after_messages", after_messages.map(size))
        .maybe("at_tokens", at_tokens.map(number))
        .with("keep_messages", size(keep_messages))
        .maybe("keep_tokens", keep_tokens.map(number))
        .with("growth_percent", small(growth_percent))
        .with("failures", small(failures))
        .end()
}

fn read_policy(node: &Node, place: &Place<'_>) -> Result<CompactionPolicy, ImportError> {
    object(node, place, |fields| {
        Ok(CompactionPolicy {
            after_messages: fields.maybe("after_messages", read_size)?,
            at_tokens: fields.maybe("at_tokens", read_number)?,
            keep_messages: fields.need("keep_messages", read_size)?,
            keep_tokens: fields.maybe("keep_tokens", read_number)?,
            growth_percent: fields.need("growth_percent", read_small)?,
            failures: fields.need("failures", read_small)?,
        })
    })
}

pub(super) fn config(config: &Config) -> Node {
    let Config { limits: own, deadlines: times, retry: again, compaction, limits_pointer, fact_namespaces } =
        config;
    Build::new()
        .with("limits", limits(own))
        .with("deadlines", deadlines(times))
        .with("retry", retry(again))
        .with("compaction", policy(compaction))
        .maybe("limits_pointer", limits_pointer.as_ref().map(Node::text))
        .with("fact_namespaces", Node::list(fact_namespaces.iter(), Node::text))
        .end()
}

/// The configuration, checked as one that is built.
pub(super) fn read_config(node: &Node, place: &Place<'_>) -> Result<Arc<Config>, ImportError> {
    object(node, place, |fields| {
        let built = built(fields)?;
        let pointer = fields.maybe("limits_pointer", text)?;
        let namespaces = fields.list("fact_namespaces", text)?;
        let built = built.fact_namespaces(namespaces.iter().map(|name| &**name));
        Ok(Arc::new(match pointer {
            Some(pointer) => built.limits_pointer(&pointer),
            None => built,
        }))
    })
}

fn built(fields: &mut Fields<'_>) -> Result<Config, ImportError> {
    let place = fields.place;
    let limits = fields.need("limits", read_limits)?;
    let deadlines = fields.need("deadlines", read_deadlines)?;
    let retry = fields.need("retry", read_retry)?;
    let compaction = fields.need("compaction", read_policy)?;
    let built = Config::new(limits).and_then(|config| config.deadlines(deadlines));
    let built = built.and_then(|config| config.retry(retry)?.compaction(compaction));
    built.map_err(|error| place.error(error))
}
