//! Runs as text that people can read and a test can compare: one line for each event, input, output and message.

use super::world::Report;
use crate::core::boundary::BoundaryAnswer;
use crate::core::event::Envelope;
use crate::core::host_input::{AskError, HostAnswer, HostRequest};
use crate::core::input::{Input, Reader};
use crate::core::message::{ImageData, Message, Part};
use crate::core::model::{Activity, ModelItem};
use crate::core::outcome::{Outcome, RunResult};
use crate::core::output::{CancelReply, Next, Output, Reply, Work};
use crate::core::time::Time;
use crate::core::tool::{ToolEnd, ToolItem, ToolVisibility, Verdict};
use crate::core::usage::Usage;
use std::fmt::Write;
use std::path::Path;

/// Repeated characters above this number are written once, with their count.
const RUN: usize = 40;

/// Bytes of credit are shown where they are few.
const FEW: u64 = 100_000;

/// An event: its position, time, kind and payload.
pub fn event(envelope: &Envelope) -> String {
    let mut payload = Vec::new();
    envelope.event.write_payload(&mut payload);
    let payload = squeezed(&String::from_utf8_lossy(&payload));
    format!("{} {} {} {payload}", envelope.seq, envelope.at, envelope.event.kind().as_str())
}

/// An output.
pub fn output(output: &Output) -> String {
    match output {
        Output::Begin { op, work } => match work {
            Work::Model(request) => {
                let (attempt, messages) = (request.attempt, request.history.len());
                format!("begin {op} model {} attempt={attempt} messages={messages}", request.operation)
            }
            Work::Tool(invocation) => {
                let call = &invocation.call;
                let json = squeezed(call.arguments_json());
                let again = invocation.resumed.as_ref().map_or_else(String::new, |resumed| {
                    let state = squeezed(&format!("{:?}", resumed.state.as_str()));
                    format!(" again, kept {state}, {}", answered(&resumed.answer))
                });
                format!("begin {op} tool {} {} {json}{again}", call.call, call.name)
            }
            Work::Authorize(request) => {
                let call = &request.call;
                format!("begin {op} authorize {} {} {}", call.call, call.name, squeezed(&call.arguments))
            }
            Work::Boundary(request) => format!("begin {op} boundary {}", request.boundary.as_str()),
            Work::Compact(request) => {
                let (trigger, messages) = (request.trigger.as_str(), request.history.len());
                format!("begin {op} compact {trigger} {} of {messages} messages", request.cut)
            }
            Work::Prepare(invocation) => {
                let call = &invocation.call;
                format!("begin {op} prepare {} {} {}", call.call, call.name, squeezed(call.arguments_json()))
            }
            Work::Observe(request) => {
                let (first, through) = (request.after().0 + 1, request.through());
                format!("begin {op} observe {first}..{through} by {}", request.observer)
            }
            Work::Respond(asked) => format!("begin {op} respond to {}", request(asked)),
            other => format!("begin {op} {other:?}"),
        },
        Output::Abandon { op } => format!("abandon {op}"),
        Output::Reply { command, reply } => match reply {
            Reply::Cancel(CancelReply::Cancelled) => format!("reply {command} cancelled"),
            Reply::Cancel(CancelReply::AlreadyFinished) => format!("reply {command} already_finished"),
            Reply::Steer(Ok(id)) => format!("reply {command} staged {id}"),
            Reply::Steer(Err(error)) => format!("reply {command} refused: {error}"),
            Reply::Retract(reply) => format!("reply {command} {reply:?}"),
            Reply::Boundary(Ok(committed)) => format!("reply {command} committed={committed}"),
            Reply::Boundary(Err(error)) => format!("reply {command} refused: {error}"),
            Reply::Respond(Ok(())) => format!("reply {command} taken"),
            Reply::Respond(Err(error)) => format!("reply {command} not taken: {error}"),
            Reply::Suspend(Ok(())) => format!("reply {command} suspended"),
            Reply::Suspend(Err(error)) => format!("reply {command} not suspended: {error}"),
            other => format!("reply {command} {other:?}"),
        },
        Output::Deliver { op, ticket, answer } => format!("deliver {op} {ticket} {}", answered(answer)),
        Output::Steer { op, steer } => format!("steer {op} {} {}", steer.id, parts(&steer.parts)),
        other => format!("{other:?}"),
    }
}

/// A request for host input: its id and kind.
pub fn request(request: &HostRequest) -> String {
    format!("{} {}", request.id, request.kind.as_str())
}

fn answered(answer: &Result<HostAnswer, AskError>) -> String {
    match answer {
        Ok(answer) => self::answer(answer),
        Err(error) => format!("error {}: {error}", error.as_str()),
    }
}

/// An answer to a request.
pub fn answer(answer: &HostAnswer) -> String {
    match answer {
        HostAnswer::Allow { remember, arguments } => {
            let always = if *remember { " always" } else { "" };
            let with =
                arguments.as_ref().map_or_else(String::new, |text| format!(" with {}", squeezed(text)));
            format!("allow{always}{with}")
        }
        HostAnswer::Deny { reason } => format!("deny {}", squeezed(&format!("{:?}", reason.as_str()))),
        HostAnswer::Choices(answers) => {
            let chosen = answers.iter().map(|(id, values)| format!(" {id}={}", values.join(",")));
            format!("choose{}", chosen.collect::<String>())
        }
        HostAnswer::Value(json) => format!("value {}", squeezed(json)),
        HostAnswer::Result(output) if output.is_error => format!("result_error {}", parts(&output.content)),
        HostAnswer::Result(output) => format!("result {}", parts(&output.content)),
        HostAnswer::Refused(refusal) => String::from(refusal.as_str()),
        other => squeezed(&format!("{other:?}")),
    }
}

/// What a run waits for.
pub fn next(next: &Next) -> String {
    if !next.live {
        return String::from("ended");
    }
    let wake =
        next.wake.map_or_else(|| String::from("no wake"), |wake| format!("wake {} {:?}", wake.at, wake.why));
    let bytes = next.credit.bytes;
    let bytes = if bytes < FEW { format!(" of {bytes} B") } else { String::new() };
    format!("{wake}, credit {}{bytes}", next.credit.items)
}

/// An input, with its time.
pub fn input(now: Time, input: &Input) -> String {
    format!("{now} {}", input_name(input))
}

fn input_name(input: &Input) -> String {
    match input {
        Input::Start(start) => {
            let unattended = if start.reader == Reader::Unattended { " unattended" } else { "" };
            let cancelled = if start.cancelled { " cancelled" } else { "" };
            format!("start {}{unattended}{cancelled}", parts(&start.input))
        }
        Input::Cancel { command } => format!("cancel {command}"),
        Input::Abort(cause) => format!("abort {cause:?}"),
        Input::Wake { quiet } => String::from(if *quiet { "wake quiet" } else { "wake" }),
        Input::Model { op, item } => format!("model {op} {}", model_item(item)),
        Input::Tool { op, item } => format!("tool {op} {}", tool_item(item)),
        Input::Authorized { op, verdict } => match verdict {
            Verdict::Allow(_) => format!("allow {op}"),
            Verdict::Deny { reason } => format!("deny {op} {:?}", reason.as_str()),
            Verdict::Ask { reason, .. } => format!("ask_people {op} {:?}", reason.as_str()),
            other => format!("authorized {op} {other:?}"),
        },
        Input::Steer(steer) => {
            let id = steer.id.as_ref().map_or("-", |id| id.as_str());
            format!("steer {} {id} {}", steer.command, parts(&steer.parts))
        }
        Input::Retract(retract) => format!("retract {} {}", retract.command, retract.id),
        Input::Boundary { op, answer: BoundaryAnswer::Input(said), .. } => {
            format!("boundary {op} {}", parts(said))
        }
        Input::Boundary { op, answer: BoundaryAnswer::Lost, .. } => format!("boundary {op} lost"),
        Input::Compacted { op, result: Ok(done) } => format!("compacted {op} to {}", done.messages.len()),
        Input::Compacted { op, result: Err(fault) } => format!("compacted {op} failed {:?}", fault.message),
        Input::Observed { op, result: Ok(()) } => format!("observed {op}"),
        Input::Observed { op, result: Err(fault) } => {
            format!("observed {op} to {}: {}", fault.accepted, squeezed(&format!("{:?}", fault.message)))
        }
        Input::Prepared { op, result } => match result {
            Ok(preparation) => format!("prepared {op} {:?}", preparation.access),
            Err(fault) => format!("unprepared {op} {}", squeezed(&format!("{:?}", fault.message))),
        },
        Input::Responded { op, answer: None } => format!("responder {op} nothing"),
        Input::Responded { op, answer: Some(answer) } => format!("responder {op} {}", self::answer(answer)),
        Input::Respond(respond) => format!("respond {} {}", respond.request, answer(&respond.answer)),
        Input::HandleGone => String::from("handle_gone"),
        Input::Suspend { command } => format!("suspend {command}"),
        Input::Resume(resume) => {
            let cancelled = if resume.cancelled { " cancelled" } else { "" };
            format!("resume behind {}{cancelled}", resume.suspended.last_seq())
        }
        Input::Recover(recover) => format!("recover {:?}", recover.reader).to_lowercase(),
        Input::Visibility(change) => format!("visibility {}", visibility(change)),
        Input::Taken { through } => format!("taken {through}"),
        Input::ConsumerGone { awaited } => {
            String::from(if *awaited { "consumer_gone awaited" } else { "consumer_gone" })
        }
        other => format!("{other:?}"),
    }
}

fn model_item(item: &ModelItem) -> String {
    let quoted = |name: &str, text: &str| format!("{name} {}", squeezed(&format!("{text:?}")));
    match item {
        ModelItem::Text(text) => quoted("text", text),
        ModelItem::Refusal(text) => quoted("refusal", text),
        ModelItem::Reasoning(text) => quoted("reasoning", text),
        ModelItem::ReasoningSummary(text) => quoted("summary", text),
        ModelItem::CallDelta(delta) => squeezed(&format!("{delta:?}")),
        ModelItem::Call(call) => format!("call {} {}", call.name, squeezed(&call.arguments)),
        ModelItem::CallEnd(index) => format!("call_end {index}"),
        ModelItem::Usage(usage) => format!("usage {}", self::usage(usage)),
        ModelItem::Activity(activity) => match &**activity {
            Activity::RequestRetry { kind, delay } => format!("retry {} {delay:?}", kind.as_str()),
            other => squeezed(&format!("{other:?}")),
        },
        ModelItem::Alive => String::from("alive"),
        ModelItem::Done(end) => format!("done {}", end.finish.map_or("-", |finish| finish.as_str())),
        ModelItem::Failed(problem) => format!("fail {}", problem.kind.as_str()),
        other => squeezed(&format!("{other:?}")),
    }
}

fn tool_item(item: &ToolItem) -> String {
    match item {
        ToolItem::Started => String::from("started"),
        ToolItem::Progress(text) => format!("progress {}", squeezed(&format!("{text:?}"))),
        ToolItem::Done(end) => match end {
            ToolEnd::Output(output) if output.is_error => format!("error {}", parts(&output.content)),
            ToolEnd::Output(output) => format!("done {}", parts(&output.content)),
            ToolEnd::Failed(fault) => format!("fault {}", squeezed(&format!("{:?}", fault.message))),
            ToolEnd::Panicked => String::from("panicked"),
            ToolEnd::Ask(ask) => format!("return_ask {}", squeezed(&format!("{:?}", ask.question.form))),
            other => format!("{other:?}"),
        },
        ToolItem::Ask(ask) => {
            format!("ask ticket={} {}", ask.ticket, squeezed(&format!("{:?}", ask.question.form)))
        }
        ToolItem::Withdraw(ticket) => format!("withdraw {ticket}"),
        ToolItem::Visibility(change) => format!("visibility {}", visibility(change)),
        other => format!("{other:?}"),
    }
}

fn visibility(change: &ToolVisibility) -> String {
    format!("show={} hide={}", change.show.join(","), change.hide.join(","))
}

/// A message: its role and parts.
pub fn message(message: &Message) -> String {
    format!("{} {}", message.role().as_str(), parts(message.parts()))
}

fn parts(parts: &[Part]) -> String {
    let all: Vec<String> = parts.iter().map(part).collect();
    all.join(" ")
}

fn part(part: &Part) -> String {
    match part {
        Part::Text(text) => squeezed(&format!("{:?}", text.as_str())),
        Part::Image(image) => {
            let by = if matches!(image.data, ImageData::Url(_)) { "url" } else { "bytes" };
            format!("<image {} {} {by}>", image.media_type, image.data.len())
        }
        Part::ToolCall(call) => {
            format!("<call {} {} {} {}>", call.call, call.id, call.name, squeezed(&call.arguments))
        }
        Part::ToolResult(result) => {
            let content = self::parts(&result.content);
            format!("<result {} {} {} {content}>", result.call, result.id, result.status.as_str())
        }
        Part::Context(context) => {
            format!("<context {} {} {}>", context.model, context.kind, squeezed(&context.payload))
        }
        other => format!("{other:?}"),
    }
}

/// Usage: what was said of it.
pub fn usage(usage: &Usage) -> String {
    let fields = [
        ("in", usage.input_tokens),
        ("out", usage.output_tokens),
        ("cache_read", usage.cache_read_tokens),
        ("cache_write", usage.cache_write_tokens),
        ("reasoning", usage.reasoning_tokens),
    ];
    let said: Vec<String> =
        fields.iter().filter_map(|(name, count)| count.map(|count| format!("{name}={count}"))).collect();
    if said.is_empty() { String::from("none") } else { said.join(" ") }
}

/// An outcome with its history, a message a line.
pub fn outcome(outcome: &Outcome) -> Vec<String> {
    let result = match &outcome.result {
        RunResult::Completed(answer) => {
            let text = squeezed(&format!("{:?}", answer.text.as_str()));
            format!("completed {} {text}", answer.stop_reason.as_str())
        }
        RunResult::Cancelled(cause) => format!("cancelled {}", cause.as_str()),
        RunResult::Failed(error) => format!("failed {}: {}", error.code(), squeezed(&error.to_string())),
        RunResult::Suspended(value) => {
            let open: Vec<String> = value.requests().map(|open| request(open)).collect();
            format!("suspended behind {}: [{}]", value.last_seq(), open.join(", "))
        }
        other => format!("{other:?}"),
    };
    let mut lines = vec![
        format!("outcome {result}"),
        format!(
            "revision {}, usage {}, billed {}, late {}",
            outcome.revision,
            usage(&outcome.usage),
            usage(&outcome.billed),
            outcome.late.len()
        ),
    ];
    lines.extend(
        outcome.durability.as_ref().map(|lost| format!("durability {}", squeezed(&lost.to_string()))),
    );
    lines.extend(
        outcome.unapplied.iter().map(|steer| format!("unapplied {} {}", steer.id, parts(&steer.parts))),
    );
    lines.extend(outcome.history.iter().map(|own| message(own)));
    lines
}

/// A whole run in a world: its events, then its outcome.
pub fn report(report: &Report) -> String {
    let mut text = String::new();
    let mut line = |part: String| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{part}");
    };
    report.events.iter().for_each(|envelope| line(event(envelope)));
    match report.outcome() {
        Some(end) => outcome(end).into_iter().for_each(line),
        None => line(String::from("no outcome: nothing can happen any more")),
    }
    text
}

/// Writes long runs of one character with their count, so that a line stays readable.
pub fn squeezed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let mut count = 1;
        while rest.next_if_eq(&c).is_some() {
            count += 1;
        }
        if count > RUN {
            let _ = write!(out, "{c}{{{count}}}");
        } else {
            out.extend(std::iter::repeat_n(c, count));
        }
    }
    out
}

/// Compares `actual` with the file at `path`; with `REWRITE=1` in the environment it writes the file instead.
///
/// # Panics
///
/// If they differ, with the first line that does, or if the file cannot be read.
#[track_caller]
pub fn golden(path: impl AsRef<Path>, actual: &str) {
    let path = path.as_ref();
    if std::env::var_os("REWRITE").is_some_and(|value| value == "1") {
        std::fs::write(path, actual).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        return;
    }
    let expected = std::fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("{}: {error} (REWRITE=1 writes it)", path.display()));
    if let Some(difference) = difference(&expected, actual) {
        panic!("{}: {difference}\n(REWRITE=1 writes what is there now)", path.display());
    }
}

/// The first line that differs, if one does.
pub fn difference(expected: &str, actual: &str) -> Option<String> {
    if expected == actual {
        return None;
    }
    let (mut one, mut other) = (expected.lines(), actual.lines());
    let mut number = 0;
    loop {
        number += 1;
        match (one.next(), other.next()) {
            (Some(one), Some(other)) if one == other => {}
            (None, None) => return Some(String::from("the line ends differ")),
            (one, other) => {
                let (one, other) = (one.unwrap_or("(no line)"), other.unwrap_or("(no line)"));
                return Some(format!("line {number}\n  expected: {one}\n    actual: {other}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_runs_are_squeezed() {
        assert_eq!(squeezed(&format!("b{}c", "a".repeat(41))), "ba{41}c");
        assert_eq!(squeezed(&"a".repeat(40)), "a".repeat(40));
    }

    #[test]
    fn differences_name_their_line() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(difference("a\nb\n", "a\nc\n").unwrap(), "line 2\n  expected: b\n    actual: c");
        assert_eq!(difference("a\n", "a\nc\n").unwrap(), "line 2\n  expected: (no line)\n    actual: c");
        assert_eq!(difference("a\n", "a").unwrap(), "the line ends differ");
    }
}
