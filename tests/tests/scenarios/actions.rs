//! What happens in a scenario: each line one input.

use crate::people;
use crate::setup::answerers;
use crate::stage::Stage;
use crate::words::{Words, number, span};
use runloom_core::id::{CommandId, OpId, RequestId, Seq};
use runloom_core::input::{AbortCause, Answerers, Input, Reader, Recover, Respond};
use runloom_core::message::{Image, ImageData, Part, ProviderContext};
use runloom_core::model::{
    Activity, CallDelta, Completion, FinalCall, Finish, ModelItem, Problem, ProblemKind,
};
use runloom_core::text::Text;
use runloom_core::tool::{
    Ask, Binding, Preparation, ToolAsk, ToolEnd, ToolFault, ToolItem, ToolOutput, Verdict,
};
use runloom_core::usage::{GenerationTokens, Usage};
use std::sync::Arc;

/// The input that `line` stands for.
pub(crate) fn input(stage: &Stage, line: &str) -> Input {
    if let Some(input) = crate::additions::input(stage, line) {
        return input;
    }
    let mut words = Words::new(line);
    match words.next() {
        "start" => Input::Start(Box::new(stage.setup.start(words.text()))),
        "wake" => Input::Wake { quiet: false },
        "quiet" => Input::Wake { quiet: true },
        "take" => match words.next() {
            "all" => Input::Taken { through: stage.last_seq() },
            through => Input::Taken { through: Seq(number(through)) },
        },
        "gone" => Input::ConsumerGone { awaited: words.next() == "awaited" },
        "cancel" => Input::Cancel { command: CommandId(number(words.next())) },
        "abort" => Input::Abort(match words.next() {
            "handle_dropped" => AbortCause::HandleDropped,
            "driver_dropped" => AbortCause::DriverDropped,
            "driver_panicked" => AbortCause::DriverPanicked,
            "process_lost" => AbortCause::ProcessLost,
            _ => AbortCause::Shutdown,
        }),
        "tool" => {
            let op = OpId(number(words.next()));
            Input::Tool { op, item: tool_item(&mut words) }
        }
        "allow" => {
            let op = OpId(number(words.next()));
            Input::Authorized { op, verdict: Verdict::Allow(stage.binding(op)) }
        }
        "mistake" => {
            let op = OpId(number(words.next()));
            let other = stage.binding_of_another(op);
            Input::Authorized { op, verdict: Verdict::Allow(other) }
        }
        "deny" => {
            let op = OpId(number(words.next()));
            Input::Authorized { op, verdict: Verdict::Deny { reason: words.text().into() } }
        }
        "ask_people" => {
            let op = OpId(number(words.next()));
            let timeout = words.option("timeout").map(span);
            Input::Authorized { op, verdict: Verdict::Ask { reason: words.text().into(), timeout } }
        }
        "prepared" => {
            let op = OpId(number(words.next()));
            let preparation =
                people::access(&mut words).into_iter().fold(Preparation::new(), Preparation::access);
            Input::Prepared { op, result: Ok(Box::new(preparation.summary(words.text()))) }
        }
        "unprepared" => {
            let op = OpId(number(words.next()));
            Input::Prepared { op, result: Err(Box::new(fault(&mut words))) }
        }
        "respond" | "responder" | "handle_gone" | "suspend" | "resume" | "recover" | "visibility" => {
            people_do(stage, line)
        }
        _ => {
            let mut words = Words::new(line);
            let op = words.option("op").map(|op| OpId(number(op)));
            let item = model_item(&mut words);
            Input::Model { op: op.unwrap_or_else(|| stage.last_model()), item }
        }
    }
}

/// What comes from whoever holds the handle, and from the responder.
fn people_do(stage: &Stage, line: &str) -> Input {
    let mut words = Words::new(line);
    match words.next() {
        "respond" => {
            let request = RequestId::new(words.next()).expect("an id");
            let answer = people::answer(&mut words);
            Input::Respond(Box::new(Respond { command: CommandId(1), request, answer }))
        }
        "responder" => {
            let op = OpId(number(words.next()));
            let nothing = words.clone().next() == "nothing";
            let answer = (!nothing).then(|| Box::new(people::answer(&mut words)));
            Input::Responded { op, answer }
        }
        "handle_gone" => Input::HandleGone,
        "suspend" => Input::Suspend { command: CommandId(1) },
        "recover" => {
            let unattended = words.clone().next() == "unattended";
            let reader = if unattended { Reader::Unattended } else { Reader::Primary };
            if unattended {
                words.next();
            }
            let anyone = if words.is_empty() { Answerers::default() } else { answerers(&mut words) };
            Input::Recover(Box::new(Recover::new(reader, anyone)))
        }
        "resume" => Input::Resume(Box::new(stage.resumption(&mut words))),
        _ => Input::Visibility(Box::new(people::visibility(&mut words))),
    }
}

fn model_item(words: &mut Words<'_>) -> ModelItem {
    match words.next() {
        "text" => ModelItem::Text(words.text().into()),
        "refusal" => ModelItem::Refusal(words.text().into()),
        "reasoning" => ModelItem::Reasoning(words.text().into()),
        "summary" => ModelItem::ReasoningSummary(words.text().into()),
        "piece" => piece(words),
        "call" => {
            let id = words.option("id").map(Text::new);
            let name = Text::from(Words::new(words.next()).text());
            ModelItem::Call(Box::new(FinalCall { id, name, arguments: words.text().into() }))
        }
        "call_end" => ModelItem::CallEnd(u32::try_from(number(words.next())).expect("an index")),
        "usage" => ModelItem::Usage(Box::new(usage(words))),
        "tokens" => ModelItem::GenerationTokens(match words.next() {
            "unavailable" => GenerationTokens::Unavailable,
            count => GenerationTokens::Reported(number(count)),
        }),
        "context" => {
            let kind = Text::new(words.next());
            let payload = words.text().as_str().into();
            ModelItem::Context(Arc::new(ProviderContext { model: "model".into(), kind, payload }))
        }
        "retry_request" => {
            let (kind, delay) = (kind(words.next()), span(words.next()));
            ModelItem::Activity(Box::new(Activity::RequestRetry { kind, delay }))
        }
        "search" => ModelItem::Activity(Box::new(Activity::WebSearch { detail: words.text().into() })),
        "hosted" => {
            let name = Text::new(words.next());
            ModelItem::Activity(Box::new(Activity::HostedTool { name, detail: words.text().into() }))
        }
        "fact" => {
            let name = Text::new(words.next());
            ModelItem::Activity(Box::new(Activity::Diagnostic { name, value: words.text().into() }))
        }
        "alive" => ModelItem::Alive,
        "done" => {
            let word = words.next();
            ModelItem::Done(Box::new(Completion::new(finish(word), word)))
        }
        "fail" => ModelItem::Failed(Box::new(problem(words))),
        other => panic!("there is no action {other:?}"),
    }
}

fn piece(words: &mut Words<'_>) -> ModelItem {
    let index = words.option("index").and_then(|index| u32::try_from(number(index)).ok());
    let id = words.option("id").map(Text::new);
    let name = words.option("name").map(Text::new);
    ModelItem::CallDelta(Box::new(CallDelta { index, id, name, arguments: words.text().into() }))
}

fn usage(words: &mut Words<'_>) -> Usage {
    let mut usage = Usage::default();
    while let Some((name, value)) = words.pair() {
        let count = Some(number(value));
        match name {
            "in" => usage.input_tokens = count,
            "out" => usage.output_tokens = count,
            "cache_read" => usage.cache_read_tokens = count,
            "cache_write" => usage.cache_write_tokens = count,
            "reasoning" => usage.reasoning_tokens = count,
            other => panic!("there is no {other:?} in usage"),
        }
    }
    usage
}

fn finish(word: &str) -> Option<Finish> {
    let all = [
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
    let found = all.into_iter().find(|finish| finish.as_str() == word);
    assert!(found.is_some() || word.is_empty(), "there is no finish {word:?}");
    found
}

fn kind(word: &str) -> ProblemKind {
    let found = ProblemKind::ALL.into_iter().find(|kind| kind.as_str() == word);
    found.unwrap_or_else(|| panic!("there is no problem {word:?}"))
}

fn problem(words: &mut Words<'_>) -> Problem {
    let kind = kind(words.next());
    let (mut status, mut hint, mut word) = (None, None, None);
    while let Some((name, value)) = words.pair() {
        match name {
            "status" => status = u16::try_from(number(value)).ok(),
            "after" => hint = Some(span(value)),
            _ => word = Some(value == "true"),
        }
    }
    let text = words.text();
    let text = if text.is_empty() { String::from("a failure") } else { text };
    let problem = Problem::new(kind, &text).retry_after(hint).retryable(word);
    match status {
        Some(status) => problem.status(status),
        None => problem,
    }
}

fn tool_item(words: &mut Words<'_>) -> ToolItem {
    let end = ToolItem::Done;
    match words.next() {
        "started" => ToolItem::Started,
        "progress" => ToolItem::Progress(words.text().into()),
        "done" => end(ToolEnd::Output(ToolOutput::text(words.text()))),
        "error" => end(ToolEnd::Output(ToolOutput::error(words.text()))),
        "panicked" => end(ToolEnd::Panicked),
        "fault" => end(ToolEnd::Failed(Box::new(fault(words)))),
        "ask" => {
            let ticket = words.option("ticket").map_or(1, number);
            let question = Arc::new(people::question(words));
            ToolItem::Ask(Box::new(Ask { ticket, question }))
        }
        "withdraw" => ToolItem::Withdraw(number(words.next())),
        "return_ask" => {
            let state = words.option("state").unwrap_or_default();
            let state = Words::new(state).text().into();
            let question = Arc::new(people::question(words));
            end(ToolEnd::Ask(Box::new(ToolAsk { question, state })))
        }
        "visibility" => ToolItem::Visibility(Box::new(people::visibility(words))),
        "image" => {
            let bytes = usize::try_from(number(words.next())).expect("a number that fits");
            let data = ImageData::Bytes(vec![0; bytes].into());
            let image = Part::Image(Arc::new(Image { media_type: "image/png".into(), data }));
            let text = Part::Text(words.text().into());
            end(ToolEnd::Output(ToolOutput::parts(vec![text, image])))
        }
        "parts" => {
            let count = usize::try_from(number(words.next())).expect("a number that fits");
            let part = Part::Text(words.text().into());
            end(ToolEnd::Output(ToolOutput::parts(vec![part; count])))
        }
        other => panic!("a tool does not do {other:?}"),
    }
}

/// `[definitive=yes] [retryable=yes] TEXT`.
fn fault(words: &mut Words<'_>) -> ToolFault {
    let mut fault = ToolFault::new("");
    if words.option("definitive").is_some() {
        fault = fault.definitive();
    }
    if words.option("retryable").is_some() {
        fault = fault.retryable();
    }
    fault.message = ToolFault::new(&words.text()).message;
    fault
}

/// What an approval of `call` with other arguments is bound to.
pub(crate) fn another(call: &runloom_core::message::ToolCall) -> Binding {
    let mut other = call.clone();
    other.arguments = Text::from(format!("{} ", other.arguments));
    Binding::of(&other)
}
