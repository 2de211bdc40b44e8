//! Writing a Messages request.

use super::compaction::{is_summary, summary_of};
use super::{CONTEXT_PREFIX, DEFAULT_MAX_TOKENS};
use crate::assemble::parses;
use crate::json::Object;
use crate::message::{Image, ImageData, Message, Part, ProviderContext, ToolCall, ToolResult};
use crate::model::{ModelParameters, ModelRequest, Problem, ToolChoice};
use crate::provider::BOUNDARY_FRAME;
use crate::provider::wire::{Body, IdRule, WireIds, array, invalid};
use crate::text::Text;
use crate::tool::ToolSpec;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Answer {
        /// Whether summaries that the API has made may go back to it.
        adopts: bool,
    },
    /// The API is to shorten the conversation and answers nothing.
    Summary,
}

pub(super) fn encode(request: &ModelRequest, purpose: Purpose) -> Result<Vec<u8>, Problem> {
    let (summary, adopts) = match purpose {
        Purpose::Answer { adopts } => (false, adopts),
        Purpose::Summary => (true, true),
    };
    let parameters = &request.model.parameters;
    let mut out = Vec::new();
    let mut body = Body::begin(&mut out, parameters)?;
    body.str("model", &request.model.name);
    let default = DEFAULT_MAX_TOKENS.saturating_add(parameters.thinking_budget.unwrap_or(0));
    let most = parameters.max_output_tokens.unwrap_or(default);
    body.int("max_tokens", Some(if summary { most.max(default) } else { most }));
    body.bool("stream", true);
    if summary {
        body.member("compaction", |out| {
            let mut compaction = Object::begin(out);
            compaction.str("type", "summarize");
            compaction.end();
        });
    } else {
        body.texts("stop_sequences", &parameters.stop);
    }
    write_parameters(&mut body, parameters)?;
    if let Some(system) = request.model.system.as_deref().filter(|text| !text.trim().is_empty()) {
        body.str("system", system);
    }
    if !request.tools.is_empty() {
        body.member("tools", |out| array(out, request.tools.iter(), |out, tool| write_tool(out, tool)));
        if !summary {
            write_choice(&mut body, parameters);
        }
    }
    let mut written = false;
    body.member("messages", |out| written = write_messages(out, request, adopts));
    if !written {
        return Err(invalid("the conversation holds nothing to send"));
    }
    body.end();
    Ok(out)
}

fn write_parameters(body: &mut Body<'_>, parameters: &ModelParameters) -> Result<(), Problem> {
    body.float("temperature", parameters.temperature)?;
    body.float("top_p", parameters.top_p)?;
    if let Some(budget) = parameters.thinking_budget {
        body.member("thinking", |out| {
            let mut thinking = Object::begin(out);
            match budget {
                0 => thinking.str("type", "disabled"),
                budget => thinking.str("type", "enabled").u64("budget_tokens", u64::from(budget)),
            };
            thinking.end();
        });
    }
    if let Some(effort) = &parameters.reasoning_effort {
        body.member("output_config", |out| {
            let mut config = Object::begin(out);
            config.str("effort", effort);
            config.end();
        });
    }
    Ok(())
}

fn write_tool(out: &mut Vec<u8>, tool: &ToolSpec) {
    let mut object = Object::begin(out);
    object.str("name", &tool.name);
    if !tool.description.is_empty() {
        object.str("description", &tool.description);
    }
    object.raw("input_schema", &tool.schema);
    object.end();
}

fn write_choice(body: &mut Body<'_>, parameters: &ModelParameters) {
    let (kind, name) = match &parameters.tool_choice {
        ToolChoice::Auto => ("auto", None),
        ToolChoice::None => ("none", None),
        ToolChoice::Required => ("any", None),
        ToolChoice::Tool(name) => ("tool", Some(name)),
    };
    let parallel = parameters.parallel_tool_calls.filter(|_| kind != "none");
    if kind == "auto" && parallel.is_none() {
        return;
    }
    body.member("tool_choice", |out| {
        let mut choice = Object::begin(out);
        choice.str("type", kind).opt_str("name", name.map(Text::as_str));
        if let Some(parallel) = parallel {
            choice.bool("disable_parallel_tool_use", !parallel);
        }
        choice.end();
    });
}

/// Writes the messages; whether there was anything to write.
fn write_messages(out: &mut Vec<u8>, request: &ModelRequest, adopts: bool) -> bool {
    out.push(b'[');
    let mut writer =
        Writer { out, model: &request.model.name, ids: WireIds::new(IdRule::Word(64)), side: None, adopts };
    for message in &request.history {
        writer.message(message);
    }
    let written = writer.side.is_some();
    if written {
        writer.out.extend_from_slice(b"]}");
    }
    out.push(b']');
    written
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    User,
    Assistant,
}

struct Writer<'a> {
    out: &'a mut Vec<u8>,
    model: &'a Text,
    ids: WireIds,
    /// Whose message is open.
    side: Option<Side>,
    /// Whether summaries go back as the API made them.
    adopts: bool,
}

impl Writer<'_> {
    /// Opens a content block of `side`, in the open message if that is its own.
    fn block(&mut self, side: Side) -> &mut Vec<u8> {
        if self.side == Some(side) {
            self.out.push(b',');
            return self.out;
        }
        if self.side.replace(side).is_some() {
            self.out.extend_from_slice(b"]},");
        }
        self.out.extend_from_slice(match side {
            Side::User => b"{\"role\":\"user\",\"content\":[",
            Side::Assistant => b"{\"role\":\"assistant\",\"content\":[",
        });
        self.out
    }

    fn message(&mut self, message: &Message) {
        use crate::message::Role;
        let side = match message.role() {
            Role::User | Role::Tool | Role::Boundary => Side::User,
            Role::Assistant | Role::AbortedAssistant => Side::Assistant,
        };
        if side == Side::Assistant {
            self.ids.turn();
        }
        if message.role() == Role::Boundary {
            write_text(self.block(side), BOUNDARY_FRAME);
        }
        if let Some(summary) = summary_of(message, self.model).filter(|_| self.adopts) {
            return self.context(summary);
        }
        for part in message.parts() {
            match part {
                Part::Text(text) if text.trim().is_empty() => {}
                Part::Text(text) => write_text(self.block(side), text),
                Part::Image(image) => write_image(self.block(side), image),
                Part::ToolCall(call) => self.call(call),
                Part::ToolResult(result) => self.result(result),
                Part::Context(context) => self.context(context),
            }
        }
    }

    fn call(&mut self, call: &Arc<ToolCall>) {
        let id = Text::new(self.ids.call(&call.id));
        let mut object = Object::begin(self.block(Side::Assistant));
        object.str("type", "tool_use").str("id", &id).str("name", &call.name);
        let arguments = call.arguments_json();
        if arguments.starts_with('{') && parses(arguments) {
            object.raw("input", arguments);
        } else {
            object.object("input", |input| {
                input.str("_raw", arguments);
            });
        }
        object.end();
    }

    fn result(&mut self, result: &Arc<ToolResult>) {
        let id = Text::new(self.ids.result(&result.id));
        let mut object = Object::begin(self.block(Side::User));
        object.str("type", "tool_result").str("tool_use_id", &id);
        let content = result.content.iter().filter(|part| match part {
            Part::Text(text) => !text.trim().is_empty(),
            Part::Image(_) => true,
            Part::ToolCall(_) | Part::ToolResult(_) | Part::Context(_) => false,
        });
        let mut content = content.peekable();
        let is_error = result.status.is_error();
        if content.peek().is_some() {
            object.array("content", content, write_content);
        } else if is_error {
            // An error without content is refused.
            object.str("content", format!("error: {}", result.status.as_str()));
        }
        if is_error {
            object.bool("is_error", true);
        }
        object.end();
    }

    fn context(&mut self, context: &ProviderContext) {
        let own = context.kind.starts_with(CONTEXT_PREFIX) && context.model == *self.model;
        let own = own && (self.adopts || !is_summary(context));
        // A restored history may hold anything: only whole JSON goes into the body.
        if own && parses(&context.payload) {
            self.block(Side::Assistant).extend_from_slice(context.payload.as_bytes());
        }
    }
}

/// A text or an image of a result.
fn write_content(out: &mut Vec<u8>, part: &Part) {
    match part {
        Part::Text(text) => write_text(out, text),
        Part::Image(image) => write_image(out, image),
        Part::ToolCall(_) | Part::ToolResult(_) | Part::Context(_) => {}
    }
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    let mut object = Object::begin(out);
    object.str("type", "text").str("text", text);
    object.end();
}

fn write_image(out: &mut Vec<u8>, image: &Image) {
    let mut object = Object::begin(out);
    object.str("type", "image");
    object.object("source", |source| match &image.data {
        ImageData::Url(url) => {
            source.str("type", "url").str("url", url);
        }
        ImageData::Bytes(bytes) => {
            source.str("type", "base64").str("media_type", &image.media_type);
            let out = source.key("data");
            string_of(out, |out| crate::base64::encode(out, bytes));
        }
    });
    object.end();
}

/// A JSON string whose inside `write` writes.
fn string_of(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    write(out);
    out.push(b'"');
}
