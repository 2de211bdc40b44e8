//! A whole stream at a glance: what a decoder and the assembler make of it.

use crate::assemble::{AssembledCall, Assembler, ResponseBounds, parses};
use crate::json::Object;
use crate::message::ToolCall;
use crate::model::{Completion, Finish, ModelItem, Problem, ProblemKind};
use crate::provider::Decode;
use crate::text::Text;
use crate::usage::Usage;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// What came out of a stream.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// All text.
    pub text: String,
    /// All reasoning that was shown, raw and summaries.
    pub reasoning: String,
    /// The text of a refusal.
    pub refusal: String,
    /// The calls, in order.
    pub calls: Vec<SummaryCall>,
    /// The provider's own word for why it stopped.
    pub finish_reason: Option<Text>,
    /// The last usage report, in the project's terms.
    pub usage: Option<Usage>,
    /// What went wrong.
    pub error: Option<Problem>,
    /// If the stream could not be read: the byte offset at which.
    pub unreadable_at: Option<u64>,
}

/// A call of a summarized stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryCall {
    /// The call; its arguments are the original text.
    pub call: Arc<ToolCall>,
    /// Whether it could be run: it came whole, and the stream did not fail.
    pub complete: bool,
}

/// Reads a whole stream, given in pieces. Bounds are the engine's defaults.
pub fn summarize<'a, D: Decode>(mut decoder: D, pieces: impl IntoIterator<Item = &'a [u8]>) -> Summary {
    let mut items = Vec::new();
    for piece in pieces {
        decoder.feed(piece, &mut items);
    }
    decoder.finish(&mut items);
    let mut summary = Summary {
        finish_reason: decoder.finish_reason().map(Text::new),
        unreadable_at: decoder.unreadable_at(),
        ..Summary::default()
    };
    summary.collect(&items);
    summary
}

impl Summary {
    fn collect(&mut self, items: &[ModelItem]) {
        let mut assembler = Assembler::new(1, ResponseBounds::default());
        let mut broken = None;
        let mut end = None;
        for item in items {
            let taken = match item {
                ModelItem::Text(text) => {
                    self.text.push_str(text);
                    assembler.text(text)
                }
                ModelItem::CallDelta(delta) => assembler.call_delta(delta).map(drop),
                ModelItem::Call(call) => assembler.call(call).map(drop),
                ModelItem::Context(context) => assembler.context(Arc::clone(context)),
                ModelItem::CallEnd(index) => {
                    assembler.call_end(*index);
                    Ok(())
                }
                ModelItem::Refusal(_)
                | ModelItem::Reasoning(_)
                | ModelItem::ReasoningSummary(_)
                | ModelItem::Usage(_)
                | ModelItem::GenerationTokens(_)
                | ModelItem::Steering(_)
                | ModelItem::Activity(_)
                | ModelItem::Alive
                | ModelItem::Done(_)
                | ModelItem::Failed(_) => {
                    self.other(item, &mut end);
                    Ok(())
                }
            };
            broken = broken.or(taken.err());
        }
        if end.as_ref().is_some_and(|end| end.finish == Some(Finish::Error)) {
            let message = "the provider ended the response with an error";
            self.error.get_or_insert(Problem::new(ProblemKind::Server, message));
        }
        let whole = match (&end, broken) {
            (_, Some(violation)) => Err(violation),
            (Some(end), None) if self.error.is_none() => {
                assembler.clone().complete(end, self.usage.is_some())
            }
            // The stream failed and says so itself.
            _ => return self.calls = incomplete(assembler),
        };
        match whole {
            Ok(response) => {
                let call = |call: AssembledCall| SummaryCall { call: call.call, complete: call.complete };
                self.calls = response.calls.into_iter().map(call).collect();
            }
            Err(violation) => {
                self.calls = incomplete(assembler);
                self.error.get_or_insert(violation.into());
            }
        }
    }

    fn other(&mut self, item: &ModelItem, end: &mut Option<Completion>) {
        match item {
            ModelItem::Reasoning(text) | ModelItem::ReasoningSummary(text) => self.reasoning.push_str(text),
            ModelItem::Refusal(text) => self.refusal.push_str(text),
            ModelItem::Usage(usage) => self.usage = Some(**usage),
            ModelItem::Done(done) => *end = Some((**done).clone()),
            ModelItem::Failed(problem) => self.error = Some((**problem).clone()),
            ModelItem::Text(_)
            | ModelItem::CallDelta(_)
            | ModelItem::Call(_)
            | ModelItem::CallEnd(_)
            | ModelItem::Context(_)
            | ModelItem::GenerationTokens(_)
            | ModelItem::Steering(_)
            | ModelItem::Activity(_)
            | ModelItem::Alive => {}
        }
    }

    /// The summary as one line of JSON: `{"text","reasoning","refusal","tool_calls":[{"id","name","arguments",
    /// "complete"}],"finish_reason","usage","error"}`.
    ///
    /// Absent texts are `""`. `arguments` is the parsed JSON; `{}` if the model wrote none or `null`; `null` if what it
    /// wrote does not parse. `usage` and `finish_reason` may be `null`, as may `error`, else `{"kind","message"}`.
    pub fn to_json(&self) -> String {
        let mut out = Vec::new();
        let mut object = Object::begin(&mut out);
        object.str("text", &self.text).str("reasoning", &self.reasoning).str("refusal", &self.refusal);
        object.array("tool_calls", &self.calls, write_call);
        match &self.finish_reason {
            Some(reason) => object.str("finish_reason", reason),
            None => object.raw("finish_reason", "null"),
        };
        match &self.usage {
            Some(usage) => object.object("usage", |out| usage.write(out)),
            None => object.raw("usage", "null"),
        };
        match &self.error {
            Some(problem) => object.object("error", |out| {
                out.str("kind", problem.kind.as_str()).str("message", &problem.message);
            }),
            None => object.raw("error", "null"),
        };
        object.end();
        String::from_utf8(out).unwrap_or_default()
    }
}

fn write_call(out: &mut Vec<u8>, call: &SummaryCall) {
    let mut object = Object::begin(out);
    object.str("id", &call.call.id).str("name", &call.call.name);
    let arguments = call.call.arguments_json();
    object.raw("arguments", if parses(arguments) { arguments } else { "null" });
    object.bool("complete", call.complete);
    object.end();
}

/// The calls of a failed stream: none of them may run.
fn incomplete(assembler: Assembler) -> Vec<SummaryCall> {
    let calls = assembler.drafts().into_iter();
    calls.map(|call| SummaryCall { call: call.call, complete: false }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::History;
    use crate::model::{ModelRequest, ModelSpec};
    use crate::provider::Codec;
    use crate::provider::openai_chat::OpenAiChat;
    use crate::tool::ToolSpec;

    fn summary(body: &str) -> Summary {
        let tools: [Arc<ToolSpec>; 0] = [];
        let request = ModelRequest::new(ModelSpec::new("m"), History::default(), tools);
        summarize(OpenAiChat::default().decoder(&request), [body.as_bytes()])
    }

    #[test]
    fn json_holds_every_member() {
        let call = |index: u32, arguments: &str| {
            alloc::format!(
                "data: {{\"choices\":[{{\"delta\":{{\"content\":\"t\",\"tool_calls\":[{{\"index\":{index},\"id\":\"c{index}\",\
                 \"function\":{{\"name\":\"f\",\"arguments\":\"{arguments}\"}}}}]}}}}]}}\n\n"
            )
        };
        let end = "data: {\"choices\":[{\"finish_reason\":\"length\"}],\"usage\":{\"prompt_tokens\":3}}\n\ndata: [DONE]\n\n";
        let body = call(0, "{ }") + &call(1, "null") + &call(2, "{") + end;
        assert_eq!(
            summary(&body).to_json(),
            "{\"text\":\"ttt\",\"reasoning\":\"\",\"refusal\":\"\",\"tool_calls\":[\
             {\"id\":\"c0\",\"name\":\"f\",\"arguments\":{ },\"complete\":true},\
             {\"id\":\"c1\",\"name\":\"f\",\"arguments\":{},\"complete\":true},\
             {\"id\":\"c2\",\"name\":\"f\",\"arguments\":null,\"complete\":false}],\
             \"finish_reason\":\"length\",\"usage\":{\"input_tokens\":3},\"error\":null}"
        );
        let cut = summary(&call(0, "{}"));
        assert!(!cut.calls[0].complete);
        assert!(cut.to_json().ends_with(
            "\"finish_reason\":null,\"usage\":null,\"error\":{\"kind\":\"truncated\",\"message\":\"the stream ended before the response did\"}}"
        ));
        assert_eq!(summary("data: [DONE]\n\n").error.unwrap().kind, ProblemKind::Truncated);
    }
}
