//! Reading a Messages stream.

use super::CONTEXT_PREFIX;
use super::blocks::{Block, Kind};
use super::event::{Counts, WireDelta, WireEvent, WireMessage, WireUsage};
use crate::message::ProviderContext;
use crate::model::{Activity, CallDelta, Completion, Finish, ModelItem, ProblemKind};
use crate::provider::error::stream_error;
use crate::provider::read::Members;
use crate::provider::sse::SseEvent;
use crate::provider::stream::{Events, Kept, Reasoning, Unreadable, failed, object};
use crate::text::Text;
use crate::usage::Usage;
use alloc::boxed::Box;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use serde_json::value::RawValue;

/// Most blocks that are open at once. The API opens one after the other; the bound keeps the search short.
const MAX_OPEN: usize = 256;

/// Events of an Anthropic Messages stream.
#[derive(Clone, Debug, PartialEq)]
pub struct AnthropicEvents {
    model: Text,
    /// The message's id, once it has begun.
    message: Option<Text>,
    blocks: Vec<Block>,
    kept: Kept,
    counts: Counts,
    reported: Usage,
    reasoning: Reasoning,
    stop: Option<Text>,
    /// A call without arguments whose end waits for a sign that the output limit did not cut it.
    held_end: Option<u32>,
}

/// The finish behind a `stop_reason`.
fn finish_of(reason: &str) -> Finish {
    match reason {
        "end_turn" => Finish::Stop,
        "stop_sequence" => Finish::StopSequence,
        "tool_use" => Finish::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "refusal" => Finish::Refusal,
        "pause_turn" => Finish::Pause,
        _ => Finish::Other,
    }
}

impl Events for AnthropicEvents {
    fn event(&mut self, event: &SseEvent<'_>, out: &mut Vec<ModelItem>) -> Result<(), Unreadable> {
        let wire = match object::<WireEvent<'_>>(event.data) {
            Some(wire) => wire,
            None if event.name == "error" => {
                out.push(ModelItem::Failed(Box::new(stream_error(event.data))));
                return Ok(());
            }
            None if is_known(event.name) => return Err(Unreadable("an event of the stream is not JSON")),
            // What proxies add, such as a `[DONE]`.
            None => return Ok(()),
        };
        let kind = wire.kind.get().unwrap_or(event.name);
        if kind == "error" || (wire.error.is_some() && wire.kind.get().is_none()) {
            out.push(ModelItem::Failed(Box::new(stream_error(event.data))));
            return Ok(());
        }
        match kind {
            "message_start" => self.begin(wire.message.map_or("{}", RawValue::get), out),
            "content_block_start" => {
                let index = wire.index.index().unwrap_or(0);
                self.open(index, wire.content_block.map_or("{}", RawValue::get), out)
            }
            "content_block_delta" => match wire.delta {
                Some(delta) => self.delta(wire.index.index().unwrap_or(0), &delta, out),
                None => Ok(()),
            },
            "content_block_stop" => {
                self.close(wire.index.index().unwrap_or(0), out);
                Ok(())
            }
            "message_delta" => {
                self.message_delta(&wire, out);
                Ok(())
            }
            "message_stop" => {
                self.done(out);
                Ok(())
            }
            // `ping`, and what is invented next.
            _ => Ok(()),
        }
    }

    fn done(&mut self, out: &mut Vec<ModelItem>) {
        let finish = self.stop.as_deref().map(finish_of);
        if finish != Some(Finish::Length) {
            self.release(out);
        }
        let tokens = self.reasoning.generation(self.counts.output, self.counts.thinking);
        out.extend(tokens.map(ModelItem::GenerationTokens));
        let raw = self.stop.clone().unwrap_or_default();
        out.push(ModelItem::Done(Box::new(Completion { finish, raw })));
    }

    fn finish_reason(&self) -> Option<&str> {
        self.stop.as_deref()
    }
}

/// Whether an event of this name must be readable.
fn is_known(name: &str) -> bool {
    matches!(name, "" | "message") || name.starts_with("message_") || name.starts_with("content_block_")
}

impl AnthropicEvents {
    pub(super) fn new(model: Text) -> Self {
        Self {
            model,
            message: None,
            blocks: Vec::new(),
            kept: Kept::default(),
            counts: Counts::default(),
            reported: Usage::default(),
            reasoning: Reasoning::default(),
            stop: None,
            held_end: None,
        }
    }

    fn begin(&mut self, message: &str, out: &mut Vec<ModelItem>) -> Result<(), Unreadable> {
        let Ok(message) = serde_json::from_str::<WireMessage<'_>>(message) else {
            return Err(Unreadable("the start of the message cannot be read"));
        };
        let id = Text::new(message.id.get().unwrap_or_default());
        match &self.message {
            Some(first) if *first == id => return Ok(()),
            // A gateway went over to another server and spliced its answer in: the two must not be mixed.
            // It can be read well enough, so that the failure is the stream's and not that of its bytes.
            Some(_) => {
                out.push(failed(ProblemKind::InvalidResponse, "a second message begins inside the stream"));
                return Ok(());
            }
            None => self.message = Some(id),
        }
        self.usage(message.usage.as_ref(), out);
        Ok(())
    }

    fn usage(&mut self, wire: Option<&WireUsage<'_>>, out: &mut Vec<ModelItem>) {
        let Some(wire) = wire else { return };
        self.counts.take(wire);
        let usage = self.counts.usage();
        if usage != self.reported {
            self.reported = usage;
            out.push(ModelItem::Usage(Box::new(usage)));
        }
    }

    fn open(&mut self, index: u32, start: &str, out: &mut Vec<ModelItem>) -> Result<(), Unreadable> {
        self.kept.add(start.len())?;
        if self.blocks.len() >= MAX_OPEN {
            return Err(Unreadable("too many blocks are open at once"));
        }
        self.release(out);
        let members = Members::read(start).unwrap_or_default();
        let text =
            |name: &str| members.text(name).map(|text| Text::new(&text)).filter(|text| !text.is_empty());
        let name = text("type").unwrap_or_default();
        let kind = Kind::of(&name);
        let mut block = Block { index, kind, name, ..Block::default() };
        match kind {
            Kind::Text => out.extend(text("text").map(ModelItem::Text)),
            Kind::Call => {
                let (id, name) = (text("id"), text("name"));
                out.push(call_delta(CallDelta { index: Some(index), id, name, arguments: Text::EMPTY }));
                // Some servers send the arguments here at once and stream none.
                block.start.push_str(members.get("input").unwrap_or_default());
            }
            Kind::Thinking => {
                block.text.push_str(members.text("thinking").as_deref().unwrap_or_default());
                block.signature.push_str(members.text("signature").as_deref().unwrap_or_default());
                self.think(&block.text, out);
                block.start.push_str(start);
            }
            Kind::HostedCall | Kind::Opaque => block.start.push_str(start),
        }
        self.reasoning.hidden |= block.name == "redacted_thinking";
        self.blocks.retain(|open| open.index != index);
        self.blocks.push(block);
        Ok(())
    }

    fn think(&mut self, text: &str, out: &mut Vec<ModelItem>) {
        if !text.is_empty() {
            self.reasoning.visible = true;
            out.push(ModelItem::Reasoning(Text::new(text)));
        }
    }

    fn delta(
        &mut self,
        index: u32,
        delta: &WireDelta<'_>,
        out: &mut Vec<ModelItem>,
    ) -> Result<(), Unreadable> {
        let block = self.blocks.iter_mut().find(|block| block.index == index);
        match (delta.kind.get().unwrap_or_default(), block) {
            ("text_delta", None | Some(Block { kind: Kind::Text, .. })) => {
                out.extend(delta.text.get().map(|text| ModelItem::Text(Text::new(text))));
            }
            ("thinking_delta", block) => {
                let text = delta.thinking.get().unwrap_or_default();
                self.kept.add(text.len())?;
                if let Some(block) = block {
                    block.text.push_str(text);
                }
                self.think(text, out);
            }
            ("signature_delta", Some(block)) => {
                let signature = delta.signature.get().unwrap_or_default();
                self.kept.add(signature.len())?;
                block.signature.push_str(signature);
            }
            ("input_json_delta", None) => {
                return Err(Unreadable("arguments come for a call that was never opened"));
            }
            ("input_json_delta", Some(block)) => {
                let Some(json) = delta.partial_json.get() else { return Ok(()) };
                if block.kind == Kind::Call {
                    block.streamed = true;
                    let arguments = Text::new(json);
                    out.push(call_delta(CallDelta { index: Some(index), arguments, ..CallDelta::default() }));
                } else {
                    self.kept.add(json.len())?;
                    block.text.push_str(json);
                }
            }
            (_, Some(block)) if block.kind == Kind::Opaque => {
                let content = delta.content.get().unwrap_or_default();
                self.kept.add(content.len())?;
                block.text.push_str(content);
            }
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self, index: u32, out: &mut Vec<ModelItem>) {
        let Some(at) = self.blocks.iter().position(|block| block.index == index) else { return };
        let block = self.blocks.swap_remove(at);
        match block.kind {
            Kind::Text => {}
            Kind::Call => self.close_call(&block, out),
            Kind::Thinking => {
                // Models that keep their thinking to themselves send a signature only.
                self.reasoning.hidden |= block.text.is_empty();
                self.keep(&block, out);
            }
            Kind::HostedCall => {
                let (name, detail) = block.hosted();
                out.push(ModelItem::Activity(Box::new(match name.as_str() {
                    "web_search" => Activity::WebSearch { detail },
                    _ => Activity::HostedTool { name, detail },
                })));
                self.keep(&block, out);
            }
            Kind::Opaque => self.keep(&block, out),
        }
    }

    /// The end of a call. One without arguments is whole unless the output limit came at this very place, which only
    /// what follows tells.
    fn close_call(&mut self, block: &Block, out: &mut Vec<ModelItem>) {
        let index = block.index;
        let whole = Members::read(&block.start).is_some_and(|input| !input.0.is_empty());
        if !block.streamed && whole {
            let arguments = Text::new(&block.start);
            out.push(call_delta(CallDelta { index: Some(index), arguments, ..CallDelta::default() }));
        }
        if block.streamed || whole {
            out.push(ModelItem::CallEnd(index));
        } else {
            self.held_end = Some(index);
        }
    }

    fn release(&mut self, out: &mut Vec<ModelItem>) {
        out.extend(self.held_end.take().map(ModelItem::CallEnd));
    }

    /// Keeps a block that has to be sent back.
    fn keep(&self, block: &Block, out: &mut Vec<ModelItem>) {
        let Some(payload) = block.payload() else { return };
        out.push(ModelItem::Context(Arc::new(ProviderContext {
            model: self.model.clone(),
            kind: Text::from(format!("{CONTEXT_PREFIX}{}", block.name)),
            payload: Arc::from(payload),
        })));
    }

    fn message_delta(&mut self, wire: &WireEvent<'_>, out: &mut Vec<ModelItem>) {
        let delta = wire.delta.as_ref();
        if let Some(reason) = delta.and_then(|delta| delta.stop_reason.get()) {
            self.stop = Some(Text::new(reason));
        }
        let details = delta.and_then(|delta| Members::read(delta.stop_details?.get()));
        if let Some(text) = details.and_then(|details| details.text("explanation")) {
            out.extend((!text.is_empty()).then(|| ModelItem::Refusal(Text::new(&text))));
        }
        self.usage(wire.usage.as_ref(), out);
    }
}

fn call_delta(delta: CallDelta) -> ModelItem {
    ModelItem::CallDelta(Box::new(delta))
}

#[cfg(test)]
#[allow(clippy::wildcard_enum_match_arm)]
mod tests {
    use super::*;
    use crate::provider::Decode;
    use crate::provider::stream::StreamDecoder;
    use crate::usage::GenerationTokens;
    use alloc::string::String;

    fn items(events: &[&str]) -> Vec<ModelItem> {
        let mut decoder = StreamDecoder::new(AnthropicEvents::new("m".into()));
        let mut out = Vec::new();
        for data in events {
            decoder.feed(format!("data: {data}\n\n").as_bytes(), &mut out);
        }
        decoder.finish(&mut out);
        out.retain(|item| *item != ModelItem::Alive);
        out
    }

    const CALL: &str = r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}"#;
    const STOP: &str = r#"{"type":"content_block_stop","index":1}"#;
    const END: &str = r#"{"type":"message_stop"}"#;

    fn ended(reason: &str) -> String {
        format!(
            r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}},"usage":{{"output_tokens":5}}}}"#
        )
    }

    #[test]
    fn a_call_without_arguments_ends_unless_the_limit_cut_it() {
        let end = |reason: &str| items(&[CALL, STOP, &ended(reason), END]).contains(&ModelItem::CallEnd(1));
        assert!(end("tool_use") && end("refusal") && !end("max_tokens"));
        let two = items(&[CALL, STOP, &CALL.replace(":1,", ":2,"), &ended("max_tokens"), END]);
        assert!(two.contains(&ModelItem::CallEnd(1)) && !two.contains(&ModelItem::CallEnd(2)));
    }

    #[test]
    fn arguments_in_the_start_count_if_none_are_streamed() {
        let start = CALL.replace("{}", r#"{"a": 1}"#);
        let arguments = |events: &[&str]| -> String {
            let deltas = items(events).into_iter().filter_map(|item| match item {
                ModelItem::CallDelta(delta) => Some(String::from(delta.arguments.as_str())),
                _ => None,
            });
            deltas.collect()
        };
        assert_eq!(arguments(&[&start, STOP, END]), r#"{"a": 1}"#);
        let delta = r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#;
        assert_eq!(arguments(&[&start, delta, STOP, END]), "{}");
        let stray = items(&[delta]);
        assert!(
            matches!(stray.first(), Some(ModelItem::Failed(problem)) if problem.kind == ProblemKind::InvalidResponse)
        );
    }

    #[test]
    fn usage_counts_the_cache_in_and_thinking_without_text_is_taken_off() {
        let usage = r#"{"type":"message_start","message":{"id":"a","usage":{"input_tokens":3,"cache_read_input_tokens":4,"output_tokens":1}}}"#;
        let hidden = r#"{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"x"}}"#;
        let out = items(&[usage, hidden, &STOP.replace('1', "0"), &ended("end_turn"), END]);
        assert_eq!(
            out.first(),
            Some(&ModelItem::Usage(Box::new(Usage { cache_read_tokens: Some(4), ..Usage::new(7, 1) })))
        );
        assert!(out.contains(&ModelItem::GenerationTokens(GenerationTokens::Unavailable)));
        let Some(ModelItem::Context(context)) = out.get(1) else { panic!("{out:?}") };
        assert_eq!(&*context.payload, r#"{"type":"redacted_thinking","data":"x"}"#);
        assert_eq!((context.kind.as_str(), context.model.as_str()), ("anthropic.redacted_thinking", "m"));
    }

    #[test]
    fn open_blocks_are_bounded() {
        let open =
            |n: usize| -> Vec<String> { (0..n).map(|n| CALL.replace(":1,", &format!(":{n},"))).collect() };
        let kind = |n: usize| {
            let events = open(n);
            let events: Vec<&str> = events.iter().map(String::as_str).chain([END]).collect();
            matches!(items(&events).pop(), Some(ModelItem::Done(_)))
        };
        assert!(kind(MAX_OPEN) && !kind(MAX_OPEN + 1));
    }

    #[test]
    fn ends_and_errors() {
        let last = |events: &[&str]| items(events).pop();
        let kind = |events: &[&str]| match last(events) {
            Some(ModelItem::Failed(problem)) => Some(problem.kind),
            _ => None,
        };
        assert_eq!(kind(&[CALL]), Some(ProblemKind::Truncated));
        assert_eq!(kind(&[&ended("end_turn")]), None);
        assert_eq!(last(&[END]), Some(ModelItem::Done(Box::new(Completion::new(None, "")))));
        assert_eq!(
            kind(&[r#"{"type":"error","error":{"type":"overloaded_error"}}"#]),
            Some(ProblemKind::Overloaded)
        );
        assert_eq!(kind(&[r#"{"error":{"code":500}}"#]), Some(ProblemKind::Server));
        assert_eq!(kind(&["nonsense"]), Some(ProblemKind::InvalidResponse));
        let start = |id: &str| format!(r#"{{"type":"message_start","message":{{"id":"{id}"}}}}"#);
        assert_eq!(kind(&[&start("a"), &start("a"), END]), None);
        assert_eq!(kind(&[&start("a"), &start("b"), END]), Some(ProblemKind::InvalidResponse));
        let odd = r#"{"type":"x","index":-1,"delta":{"type":"y"}}"#;
        assert_eq!(
            kind(&[odd, r#"{"type":"content_block_delta","index":9,"delta":{"type":"new_delta"}}"#, END]),
            None
        );
    }
}
