//! Reading a Chat Completions stream.

use super::chunk::{Chunk, Delta, WireUsage, call_delta};
use super::details::{Details, shown};
use super::{REASONING_CONTENT, REASONING_DETAILS};
use crate::message::ProviderContext;
use crate::model::{Activity, Completion, Finish, ModelItem, ModelRequest};
use crate::provider::dialect::{Dialect, ReasoningEcho};
use crate::provider::error::stream_error;
use crate::provider::sse::SseEvent;
use crate::provider::stream::{Events, Kept, Reasoning, Unreadable, is_done_mark, object};
use crate::text::Text;
use crate::usage::Usage;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Events of a Chat Completions stream.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenAiChatEvents {
    model: Text,
    echo: ReasoningEcho,
    show_details: bool,
    /// Whether the request asked for reasoning.
    asked: bool,
    reported: Usage,
    visible: bool,
    refused: bool,
    called: bool,
    searched: bool,
    finish: Option<Text>,
    /// Reasoning to be sent back.
    content: String,
    details: Details,
    kept: Kept,
}

/// The finish behind a `finish_reason`.
fn finish_of(reason: &str) -> Finish {
    match reason {
        "stop" | "end_turn" | "eos" => Finish::Stop,
        "stop_sequence" => Finish::StopSequence,
        "tool_calls" | "function_call" | "tool_use" => Finish::ToolCalls,
        "length" | "max_tokens" | "model_length" => Finish::Length,
        "content_filter" => Finish::ContentFilter,
        "error" | "insufficient_system_resource" => Finish::Error,
        _ => Finish::Other,
    }
}

impl Events for OpenAiChatEvents {
    fn event(&mut self, event: &SseEvent<'_>, out: &mut Vec<ModelItem>) -> Result<(), Unreadable> {
        if is_done_mark(event.data) {
            self.done(out);
            return Ok(());
        }
        let chunk = match object::<Chunk<'_>>(event.data) {
            Some(chunk) => chunk,
            None if event.name == "error" => {
                out.push(ModelItem::Failed(Box::new(stream_error(event.data))));
                return Ok(());
            }
            None if matches!(event.name, "" | "message" | "data" | "chunk") => {
                return Err(Unreadable("a chunk of the stream cannot be read"));
            }
            // An event of a kind that this API does not have.
            None => return Ok(()),
        };
        if let Some(usage) = chunk.usage.as_ref().or(chunk.x_groq.as_ref().and_then(|x| x.usage.as_ref())) {
            self.usage(usage, out);
        }
        // Further choices are not asked for; where a server sends them, the first one is the answer.
        for choice in chunk.choices.0.iter().filter(|choice| choice.index.0.unwrap_or(0) == 0) {
            if let Some(delta) = &choice.delta {
                self.delta(delta, out)?;
            }
            if let Some(reason) = choice.finish_reason.get() {
                self.finish = Some(Text::new(reason));
            }
        }
        let error = chunk.error.is_some_and(|error| !matches!(error.get(), "\"\"" | "false" | "{}"));
        if error || event.name == "error" {
            out.push(ModelItem::Failed(Box::new(stream_error(event.data))));
        }
        Ok(())
    }

    fn done(&mut self, out: &mut Vec<ModelItem>) {
        let content = (self.called && !self.content.is_empty()).then(|| core::mem::take(&mut self.content));
        let contexts = [(REASONING_CONTENT, content), (REASONING_DETAILS, self.details.payload())];
        out.extend(contexts.into_iter().filter_map(|(kind, payload)| {
            let (model, kind, payload) = (self.model.clone(), Text::new(kind), Arc::from(payload?));
            Some(ModelItem::Context(Arc::new(ProviderContext { model, kind, payload })))
        }));
        let tokens = Reasoning { visible: self.visible, hidden: self.asked && !self.visible }
            .generation(self.reported.output_tokens, self.reported.reasoning_tokens);
        out.extend(tokens.map(ModelItem::GenerationTokens));
        let raw = self.finish.clone().unwrap_or_default();
        let finish = self.finish.as_deref().map(finish_of);
        // This API says "stop" after a refusal.
        let refused = self.refused && finish == Some(Finish::Stop);
        let finish = if refused { Some(Finish::Refusal) } else { finish };
        out.push(ModelItem::Done(Box::new(Completion { finish, raw })));
    }

    fn finish_reason(&self) -> Option<&str> {
        self.finish.as_deref()
    }
}

impl OpenAiChatEvents {
    pub(super) fn new(dialect: &Dialect, request: &ModelRequest) -> Self {
        let parameters = &request.model.parameters;
        Self {
            model: request.model.name.clone(),
            echo: dialect.echo,
            show_details: dialect.show_details,
            asked: parameters.reasoning_effort.is_some() || parameters.thinking_budget.is_some(),
            reported: Usage::default(),
            visible: false,
            refused: false,
            called: false,
            searched: false,
            finish: None,
            content: String::new(),
            details: Details::default(),
            kept: Kept::default(),
        }
    }

    fn usage(&mut self, wire: &WireUsage, out: &mut Vec<ModelItem>) {
        let before = self.reported;
        self.reported.replace(&wire.usage());
        if self.reported != before {
            out.push(ModelItem::Usage(Box::new(self.reported)));
        }
    }

    fn delta(&mut self, delta: &Delta<'_>, out: &mut Vec<ModelItem>) -> Result<(), Unreadable> {
        // The same text may stand under several names: one of them counts.
        let thinking = Some(delta.content.thinking.as_str()).filter(|text| !text.is_empty());
        let plain = delta.reasoning_content.get().or(delta.reasoning.get()).or(thinking);
        if let Some(text) = plain {
            self.reason(text, out)?;
        }
        for piece in &delta.reasoning_details.0 {
            if self.echo == ReasoningEcho::Details {
                self.kept.add(piece.get().len())?;
                self.details.push(piece.get());
            }
            if let Some(text) = shown(piece.get()).filter(|_| self.show_details && plain.is_none()) {
                self.reason(&text, out)?;
            }
        }
        if !delta.content.text.is_empty() {
            out.push(ModelItem::Text(Text::new(&delta.content.text)));
        }
        if let Some(text) = delta.refusal.get() {
            self.refused = true;
            out.push(ModelItem::Refusal(Text::new(text)));
        }
        out.extend(delta.tool_calls.0.iter().filter_map(call_delta));
        self.called |= !delta.tool_calls.0.is_empty();
        let cited = delta.annotations.0.iter().any(|note| note.kind.get() == Some("url_citation"));
        if cited && !core::mem::replace(&mut self.searched, true) {
            out.push(ModelItem::Activity(Box::new(Activity::WebSearch { detail: Text::EMPTY })));
        }
        Ok(())
    }

    fn reason(&mut self, text: &str, out: &mut Vec<ModelItem>) -> Result<(), Unreadable> {
        self.visible = true;
        if self.echo == ReasoningEcho::Content {
            self.kept.add(text.len())?;
            self.content.push_str(text);
        }
        out.push(ModelItem::Reasoning(Text::new(text)));
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::wildcard_enum_match_arm)]
mod tests {
    use super::*;
    use crate::history::History;
    use crate::model::{ModelSpec, ProblemKind};
    use crate::provider::Decode;
    use crate::provider::stream::StreamDecoder;
    use crate::usage::GenerationTokens;
    use alloc::format;

    fn items(dialect: &str, events: &[&str]) -> Vec<ModelItem> {
        let tools: [Arc<crate::tool::ToolSpec>; 0] = [];
        let request = ModelRequest::new(ModelSpec::new("m"), History::default(), tools);
        let dialect = Dialect::named(dialect).unwrap();
        let mut decoder = StreamDecoder::new(OpenAiChatEvents::new(&dialect, &request));
        let mut out = Vec::new();
        for data in events {
            decoder.feed(format!("data: {data}\n\n").as_bytes(), &mut out);
        }
        decoder.finish(&mut out);
        out.retain(|item| *item != ModelItem::Alive);
        out
    }

    fn delta(delta: &str) -> String {
        format!(r#"{{"choices":[{{"delta":{delta}}}]}}"#)
    }

    const STOP: &str = r#"{"choices":[{"finish_reason":"stop"}]}"#;

    #[test]
    fn content_comes_in_every_shape() {
        let parts = r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"h"}]},{"type":"text","text":"t"},7]}"#;
        for (json, reasoning, text) in [
            (r#"{"content":"t","reasoning":"h","reasoning_content":"h"}"#, "h", "t"),
            (r#"{"content":null,"reasoning":"h"}"#, "h", ""),
            (&parts.replace(",7", ""), "h", "t"),
            (r#"{"content":{"a":1},"tool_calls":null,"refusal":7}"#, "", ""),
        ] {
            let out = items("compatible", &[&delta(json)]);
            let expected = [ModelItem::Reasoning(reasoning.into()), ModelItem::Text(text.into())];
            let expected: Vec<_> = expected.into_iter().filter(|item| !is_empty(item)).collect();
            assert_eq!(&out[..out.len() - 1], expected, "{json}");
        }
    }

    fn is_empty(item: &ModelItem) -> bool {
        matches!(item, ModelItem::Reasoning(text) | ModelItem::Text(text) if text.is_empty())
    }

    #[test]
    fn calls_are_passed_on_as_they_are_numbered() {
        let call = |json: &str| match items("compatible", &[&delta(&format!(r#"{{"tool_calls":[{json}]}}"#))])
            .remove(0)
        {
            ModelItem::CallDelta(call) => Some(*call),
            _ => None,
        };
        let whole = call(r#"{"index":1,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}"#).unwrap();
        assert_eq!((whole.index, whole.id, whole.name), (Some(1), Some("a".into()), Some("f".into())));
        assert_eq!(whole.arguments, "{\"x\":1}");
        assert_eq!(
            call(r#"{"id":null,"function":{"name":null,"arguments":{"x": 1}}}"#).unwrap().arguments,
            "{\"x\": 1}"
        );
        assert_eq!(call(r#"{"index":0,"id":"","function":{"name":"","arguments":""}}"#), None);
        assert_eq!(call(r#"{"index":0,"function":null}"#), None);
    }

    #[test]
    fn reasoning_is_kept_where_the_dialect_wants_it_back() {
        let think = delta(r#"{"reasoning_content":"a\n","reasoning_details":[{"type":"t","text":"b"}]}"#);
        let call = delta(r#"{"tool_calls":[{"id":"c","function":{"name":"f"}}]}"#);
        let kept = |dialect: &str, events: &[&str]| {
            items(dialect, events).into_iter().find_map(|item| match item {
                ModelItem::Context(context) => {
                    Some((String::from(context.kind.as_str()), context.payload.clone()))
                }
                _ => None,
            })
        };
        assert_eq!(kept("deepseek", &[&think, &call, STOP]), Some((REASONING_CONTENT.into(), "a\n".into())));
        assert_eq!(kept("deepseek", &[&think, STOP]), None);
        let details = r#"[{"type":"t","text":"b"}]"#;
        assert_eq!(kept("openrouter", &[&think, STOP]), Some((REASONING_DETAILS.into(), details.into())));
        assert_eq!(kept("openrouter", &[&think]), None, "a cut stream keeps nothing");
        assert_eq!(kept("openai", &[&think, &call, STOP]), None);
        let shown = delta(r#"{"reasoning_details":[{"text":"b"}]}"#);
        assert_eq!(items("snowflake", &[&shown])[0], ModelItem::Reasoning("b".into()));
    }

    #[test]
    fn usage_is_cumulative_and_hidden_reasoning_is_taken_off() {
        let usage = r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":9,"completion_tokens_details":{"reasoning_tokens":4}}}"#;
        let out = items("openai", &[usage, usage, r#"{"choices":[],"usage":null}"#, STOP, "[DONE]"]);
        let expected = Usage { reasoning_tokens: Some(4), ..Usage::new(5, 9) };
        assert_eq!(out[0], ModelItem::Usage(Box::new(expected)));
        assert_eq!(out[1], ModelItem::GenerationTokens(GenerationTokens::Reported(5)));
        assert_eq!(out.len(), 3);
    }

    #[test]
    fn ends_and_errors() {
        let end = |events: &[&str]| match items("openai", events).pop() {
            Some(ModelItem::Done(done)) => Ok((done.finish, String::from(done.raw.as_str()))),
            Some(ModelItem::Failed(problem)) => Err(problem.kind),
            _ => Err(ProblemKind::Other),
        };
        assert_eq!(end(&[STOP]), Ok((Some(Finish::Stop), "stop".into())));
        assert_eq!(end(&["[DONE]"]), Ok((None, "".into())));
        assert_eq!(end(&[&delta(r#"{"content":"a"}"#)]), Err(ProblemKind::Truncated));
        assert_eq!(end(&[&delta(r#"{"refusal":"no"}"#), STOP]), Ok((Some(Finish::Refusal), "stop".into())));
        assert_eq!(
            end(&[r#"{"choices":[{"index":1,"finish_reason":"stop"}]}"#]),
            Err(ProblemKind::Truncated)
        );
        assert_eq!(end(&[STOP, r#"{"error":{"code":503}}"#, "[DONE]"]), Err(ProblemKind::Overloaded));
        assert_eq!(end(&[r#"{"error":null}"#, STOP]), Ok((Some(Finish::Stop), "stop".into())));
        assert_eq!(end(&["{"]), Err(ProblemKind::InvalidResponse));
        assert_eq!(end(&["[1]"]), Err(ProblemKind::InvalidResponse));
    }
}
