//! Writing a Chat Completions request.

use super::{REASONING_CONTENT, REASONING_DETAILS};
use crate::assemble::parses;
use crate::json::{Object, string};
use crate::message::{Image, Message, Part, Role, ToolResult};
use crate::model::{ModelParameters, ModelRequest, Problem, ToolChoice};
use crate::provider::BOUNDARY_FRAME;
use crate::provider::dialect::{Dialect, MaxTokens, ReasoningEcho, ReasoningRequest, SystemRole};
use crate::provider::wire::{Body, WireIds, array, image_url, invalid};
use crate::text::Text;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

pub(super) fn encode(dialect: &Dialect, request: &ModelRequest) -> Result<Vec<u8>, Problem> {
    let parameters = &request.model.parameters;
    let mut out = Vec::new();
    let mut body = Body::begin(&mut out, parameters)?;
    body.str("model", &request.model.name);
    body.bool("stream", true);
    if dialect.include_usage {
        body.member("stream_options", |out| out.extend_from_slice(b"{\"include_usage\":true}"));
    }
    write_parameters(&mut body, dialect, parameters)?;
    if !request.tools.is_empty() {
        body.member("tools", |out| array(out, request.tools.iter(), |out, tool| write_tool(out, tool)));
        write_choice(&mut body, dialect, parameters);
    }
    let mut written = false;
    body.member("messages", |out| written = write_messages(out, dialect, request));
    if !written {
        return Err(invalid("the conversation holds nothing to send"));
    }
    body.end();
    Ok(out)
}

fn write_parameters(
    body: &mut Body<'_>,
    dialect: &Dialect,
    parameters: &ModelParameters,
) -> Result<(), Problem> {
    let limit = match dialect.max_tokens {
        MaxTokens::MaxCompletionTokens => "max_completion_tokens",
        MaxTokens::MaxTokens => "max_tokens",
    };
    body.int(limit, parameters.max_output_tokens);
    body.float("temperature", parameters.temperature)?;
    body.float("top_p", parameters.top_p)?;
    body.texts("stop", &parameters.stop);
    let (effort, budget) = (parameters.reasoning_effort.as_deref(), parameters.thinking_budget);
    match dialect.reasoning {
        ReasoningRequest::Effort => {
            if let Some(effort) = effort {
                body.str("reasoning_effort", effort);
            }
        }
        ReasoningRequest::Object if effort.is_some() || budget.is_some() => {
            body.member("reasoning", |out| {
                let mut reasoning = Object::begin(out);
                reasoning.opt_str("effort", effort).opt_u64("max_tokens", budget.map(u64::from));
                reasoning.end();
            });
        }
        ReasoningRequest::Object => {}
    }
    Ok(())
}

fn write_tool(out: &mut Vec<u8>, tool: &crate::tool::ToolSpec) {
    let mut object = Object::begin(out);
    object.str("type", "function").object("function", |function| {
        function.str("name", &tool.name);
        if !tool.description.is_empty() {
            function.str("description", &tool.description);
        }
        function.raw("parameters", &tool.schema);
    });
    object.end();
}

fn write_choice(body: &mut Body<'_>, dialect: &Dialect, parameters: &ModelParameters) {
    match &parameters.tool_choice {
        ToolChoice::Auto => {}
        ToolChoice::None => body.str("tool_choice", "none"),
        ToolChoice::Required => body.str("tool_choice", &dialect.required),
        ToolChoice::Tool(name) => body.member("tool_choice", |out| {
            let mut choice = Object::begin(out);
            choice.str("type", "function").object("function", |function| {
                function.str("name", name);
            });
            choice.end();
        }),
    }
    if let Some(parallel) = parameters.parallel_tool_calls {
        body.bool("parallel_tool_calls", parallel);
    }
}

/// Writes the messages; whether the conversation has one, the system prompt aside.
fn write_messages(out: &mut Vec<u8>, dialect: &Dialect, request: &ModelRequest) -> bool {
    out.push(b'[');
    let mut writer = Writer {
        out,
        dialect,
        model: &request.model.name,
        ids: WireIds::new(dialect.ids),
        any: false,
        after_results: false,
    };
    if let Some(system) = request.model.system.as_deref().filter(|text| !text.is_empty()) {
        let role = match dialect.system_role {
            SystemRole::Developer => "developer",
            SystemRole::System => "system",
        };
        writer.write(role, |message| {
            message.str("content", system);
        });
    }
    let mut written = false;
    for message in &request.history {
        written |= writer.message(message);
    }
    out.push(b']');
    written
}

struct Writer<'a> {
    out: &'a mut Vec<u8>,
    dialect: &'a Dialect,
    model: &'a Text,
    ids: WireIds,
    /// Whether a message was written.
    any: bool,
    /// Whether the last message written holds a tool's result.
    after_results: bool,
}

/// What a user message is made of.
enum Piece<'a> {
    Text(&'a str),
    Image(&'a Image),
}

impl Writer<'_> {
    /// Writes one message; `fill` writes all but its role.
    fn write(&mut self, role: &str, fill: impl FnOnce(&mut Object<'_, Vec<u8>>)) {
        if self.any {
            self.out.push(b',');
        }
        self.any = true;
        self.after_results = role == "tool";
        let mut message = Object::begin(self.out);
        message.str("role", role);
        fill(&mut message);
        message.end();
    }

    /// Whether anything was written.
    fn message(&mut self, message: &Message) -> bool {
        match message.role() {
            Role::User => self.user(message),
            Role::Boundary => self.boundary(message),
            Role::Assistant | Role::AbortedAssistant => self.assistant(message),
            Role::Tool => self.results(message),
        }
    }

    fn user(&mut self, message: &Message) -> bool {
        let pieces = message.parts().iter().filter_map(|part| match part {
            Part::Text(text) if !text.is_empty() => Some(Piece::Text(text)),
            Part::Image(image) => Some(Piece::Image(image)),
            Part::Text(_) | Part::ToolCall(_) | Part::ToolResult(_) | Part::Context(_) => None,
        });
        self.user_pieces(&pieces.collect::<Vec<_>>())
    }

    /// Framed as what it is; in one text, since many servers take nothing else where there is no image.
    fn boundary(&mut self, message: &Message) -> bool {
        let mut text = String::from(BOUNDARY_FRAME);
        let mut images = Vec::new();
        for part in message.parts() {
            match part {
                Part::Text(piece) => {
                    text.push('\n');
                    text.push_str(piece);
                }
                Part::Image(image) => images.push(Piece::Image(image)),
                Part::ToolCall(_) | Part::ToolResult(_) | Part::Context(_) => {}
            }
        }
        images.insert(0, Piece::Text(&text));
        self.user_pieces(&images)
    }

    fn user_pieces(&mut self, pieces: &[Piece<'_>]) -> bool {
        if pieces.is_empty() {
            return false;
        }
        if self.after_results && self.dialect.bridge {
            self.write("assistant", |message| {
                message.str("content", "OK.");
            });
        }
        let images = self.dialect.images;
        self.write("user", |message| match pieces {
            [Piece::Text(text)] => {
                message.str("content", text);
            }
            pieces => {
                message.array("content", pieces, |out, piece| write_piece(out, piece, images));
            }
        });
        true
    }

    fn assistant(&mut self, message: &Message) -> bool {
        self.ids.turn();
        let mut text = String::new();
        for part in message.parts() {
            match part {
                Part::Text(piece) => text.push_str(piece),
                Part::Image(_) | Part::ToolCall(_) | Part::ToolResult(_) | Part::Context(_) => {}
            }
        }
        let calls: Vec<_> = message.calls().map(|call| (Text::new(self.ids.call(&call.id)), call)).collect();
        if text.is_empty() && calls.is_empty() {
            return false;
        }
        let (dialect, model) = (self.dialect, self.model);
        self.write("assistant", |out| {
            match text.is_empty() && !dialect.empty_content {
                true => out.raw("content", "null"),
                false => out.str("content", &text),
            };
            write_echo(out, dialect, model, message, !calls.is_empty());
            if calls.is_empty() {
                return;
            }
            out.array("tool_calls", &calls, |out, (id, call)| {
                let mut object = Object::begin(out);
                object.str("id", id).str("type", "function").object("function", |function| {
                    function.str("name", &call.name).str("arguments", call.arguments_json());
                });
                object.end();
            });
        });
        true
    }

    /// One message for each result, then the images of all of them.
    fn results(&mut self, message: &Message) -> bool {
        let mut images = Vec::new();
        for result in message.results() {
            let id = Text::new(self.ids.result(&result.id));
            let before = images.len();
            let pictures = result.content.iter().filter_map(|part| match part {
                Part::Image(image) => Some(Piece::Image(image)),
                Part::Text(_) | Part::ToolCall(_) | Part::ToolResult(_) | Part::Context(_) => None,
            });
            images.extend(pictures);
            let text = result_text(result, images.len() - before);
            self.write("tool", |message| {
                message.str("tool_call_id", &id).str("content", &text);
            });
        }
        if !images.is_empty() {
            images.insert(0, Piece::Text("Images from the tool results above, in their order:"));
            self.user_pieces(&images);
        }
        self.any
    }
}

/// A result's text. Tool messages have no mark for errors and hold no images: words stand in where there is no text.
fn result_text(result: &Arc<ToolResult>, images: usize) -> String {
    let mut text = String::new();
    for part in result.content.iter() {
        match part {
            Part::Text(piece) if !piece.is_empty() => {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(piece);
            }
            Part::Text(_) | Part::Image(_) | Part::ToolCall(_) | Part::ToolResult(_) | Part::Context(_) => {}
        }
    }
    match (text.is_empty(), images) {
        (false, _) => text,
        (true, 0) if result.status.is_error() => format!("error: {}", result.status.as_str()),
        (true, 0) => text,
        (true, _) => String::from("The result is an image; it follows."),
    }
}

fn write_piece(out: &mut Vec<u8>, piece: &Piece<'_>, images: bool) {
    let mut object = Object::begin(out);
    match piece {
        Piece::Text(text) => {
            object.str("type", "text").str("text", text);
        }
        Piece::Image(image) if images => {
            object.str("type", "image_url").object("image_url", |url| image_url(url.key("url"), image));
        }
        Piece::Image(image) => {
            let left_out = format!("[an image ({}) was left out: this model takes none]", image.media_type);
            object.str("type", "text").str("text", &left_out);
        }
    }
    object.end();
}

/// Writes back the reasoning that the server wants.
fn write_echo(
    out: &mut Object<'_, Vec<u8>>,
    dialect: &Dialect,
    model: &Text,
    message: &Message,
    calls: bool,
) {
    let kept = |kind: &str| {
        message.parts().iter().find_map(|part| match part {
            Part::Context(context) if context.kind == *kind && context.model == *model => {
                Some(&*context.payload)
            }
            Part::Context(_) | Part::Text(_) | Part::Image(_) | Part::ToolCall(_) | Part::ToolResult(_) => {
                None
            }
        })
    };
    match dialect.echo {
        ReasoningEcho::None => {}
        ReasoningEcho::Content if calls => {
            string(out.key("reasoning_content"), kept(REASONING_CONTENT).unwrap_or_default());
        }
        ReasoningEcho::Content => {}
        ReasoningEcho::Details => {
            if let Some(details) = kept(REASONING_DETAILS).filter(|json| parses(json)) {
                out.raw("reasoning_details", details);
            }
        }
    }
}
