//! Recorded request bodies: read into a history, written again, and compared in what they say.

use runloom_core::history::{History, HistoryBounds};
use runloom_core::id::{CallRef, MessageId};
use runloom_core::message::{
    Image, ImageData, Message, MessageBounds, Part, ProviderContext, Role, ToolCall, ToolResult, ToolStatus,
};
use runloom_core::model::{ModelParameters, ModelRequest, ModelSpec, ToolChoice};
use runloom_core::text::Text;
use runloom_core::tool::ToolSpec;
use runloom_tests::providers::Wire;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::Arc;

/// Checks every recorded request of our providers; returns how many there were.
pub(crate) fn check(folder: &Path) -> usize {
    let mut count = 0;
    for entry in std::fs::read_dir(folder.join("requests")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let (provider, what) = name.split_once("__").unwrap();
        let Some(wire) = Wire::of(provider, what) else { continue };
        let recorded = super::json(&path)["body"].take();
        let request = Reader { step: 0 }.request(&recorded);
        let ours: Value = serde_json::from_slice(&wire.encode(&request).unwrap()).unwrap();
        let (ours, recorded) = (normal(&ours), normal(&recorded));
        for (member, value) in recorded.as_object().unwrap() {
            let (ours, value) = (ours[member].to_string(), value.to_string());
            // Whole bodies would bury the difference.
            let same = ours.bytes().zip(value.bytes()).take_while(|(a, b)| a == b).count().saturating_sub(80);
            let near = |text: &str| text.chars().skip(same).take(300).collect::<String>();
            assert!(ours == value, "{member} of {name}:\n {}\n {}", near(&ours), near(&value));
        }
        count += 1;
    }
    assert!(count >= 13, "{count} requests");
    count
}

struct Reader {
    step: u32,
}

impl Reader {
    fn request(mut self, body: &Value) -> ModelRequest {
        let model = body["model"].as_str().unwrap();
        let mut spec = ModelSpec::new(model);
        let mut messages: Vec<Message> = Vec::new();
        let mut results: Vec<Part> = Vec::new();
        if let Some(system) = body.get("system") {
            spec = spec.system(flat(system));
        }
        for message in body["messages"].as_array().unwrap() {
            let role = message["role"].as_str().unwrap();
            let mut parts = self.parts(model, message);
            if role == "system" {
                spec = spec.system(flat(&message["content"]));
                continue;
            }
            let (answers, others): (Vec<_>, Vec<_>) =
                parts.drain(..).partition(|part| matches!(part, Part::ToolResult(_)));
            results.extend(answers);
            if role != "tool" && !results.is_empty() {
                push(&mut messages, Role::Tool, std::mem::take(&mut results));
            }
            if !others.is_empty() {
                push(&mut messages, if role == "user" { Role::User } else { Role::Assistant }, others);
            }
        }
        if !results.is_empty() {
            push(&mut messages, Role::Tool, results);
        }
        let history = History::from_messages(HistoryBounds::default(), messages).unwrap();
        let tools: Vec<Arc<ToolSpec>> =
            body.get("tools").and_then(Value::as_array).into_iter().flatten().map(tool).collect();
        ModelRequest::new(spec.parameters(parameters(body)), history, tools)
    }

    fn parts(&mut self, model: &str, message: &Value) -> Vec<Part> {
        let mut parts = Vec::new();
        let context = |kind: &str, value: &Value| {
            let payload = Arc::from(value.to_string());
            let (model, kind) = (model.into(), kind.into());
            Part::Context(Arc::new(ProviderContext { model, kind, payload }))
        };
        if let Some(details) = message.get("reasoning_details") {
            parts.push(context("openai_chat.reasoning_details", details));
        }
        if message["role"] == "tool" {
            return vec![self.result(&message["tool_call_id"], &message["content"])];
        }
        self.step += u32::from(message["role"] == "assistant");
        let mut ordinal = 0;
        for block in blocks(&message["content"]) {
            match block["type"].as_str().unwrap() {
                "text" => parts.push(Part::Text(block["text"].as_str().unwrap().into())),
                "image" => parts.push(Part::Image(Arc::new(Image {
                    media_type: block["source"]["media_type"].as_str().unwrap().into(),
                    data: ImageData::Bytes(Arc::from(*b"image")),
                }))),
                "thinking" => parts.push(context("anthropic.thinking", &block)),
                "tool_use" => {
                    let arguments = block["input"].to_string();
                    parts.push(self.call(&mut ordinal, &block["id"], &block["name"], &arguments));
                }
                "tool_result" => parts.push(self.result(&block["tool_use_id"], &block["content"])),
                other => panic!("{other}"),
            }
        }
        for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let function = &call["function"];
            let arguments = function["arguments"].as_str().unwrap();
            parts.push(self.call(&mut ordinal, &call["id"], &function["name"], arguments));
        }
        parts
    }

    fn call(&self, ordinal: &mut u32, id: &Value, name: &Value, arguments: &str) -> Part {
        let call = CallRef { step: self.step, ordinal: *ordinal };
        *ordinal += 1;
        let text = |value: &Value| Text::new(value.as_str().unwrap());
        Part::ToolCall(Arc::new(ToolCall {
            call,
            id: text(id),
            name: text(name),
            arguments: arguments.into(),
        }))
    }

    /// A result; which call of the step it answers is found when the message is put together.
    fn result(&self, id: &Value, content: &Value) -> Part {
        let content: Vec<Part> =
            blocks(content).iter().map(|block| Part::Text(block["text"].as_str().unwrap().into())).collect();
        Part::ToolResult(Arc::new(ToolResult {
            call: CallRef { step: self.step, ordinal: 0 },
            id: id.as_str().unwrap().into(),
            name: Text::EMPTY,
            status: ToolStatus::Success,
            content: content.into(),
        }))
    }
}

fn push(messages: &mut Vec<Message>, role: Role, mut parts: Vec<Part>) {
    for (ordinal, part) in parts.iter_mut().enumerate() {
        if let Part::ToolResult(result) = part {
            Arc::make_mut(result).call.ordinal = u32::try_from(ordinal).unwrap();
        }
    }
    let bounds = MessageBounds { parts: 256, text: 1 << 20, image: 1 << 20 };
    let id = MessageId::new(format!("m{}", messages.len())).unwrap();
    messages.push(Message::new(id, role, parts, &bounds).unwrap());
}

/// Content as a list of blocks.
fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    }
}

fn flat(content: &Value) -> String {
    blocks(content).iter().map(|block| block["text"].as_str().unwrap()).collect()
}

fn tool(tool: &Value) -> Arc<ToolSpec> {
    let function = tool.get("function").unwrap_or(tool);
    let schema = function.get("parameters").or(function.get("input_schema")).unwrap();
    let description = function["description"].as_str().unwrap_or_default();
    Arc::new(ToolSpec::new(function["name"].as_str().unwrap(), description, schema.to_string()).unwrap())
}

/// Members that have no parameter of their own go through `extra`.
fn parameters(body: &Value) -> ModelParameters {
    let mut parameters = ModelParameters::default();
    let mut extra = Map::new();
    for (name, value) in body.as_object().unwrap() {
        match name.as_str() {
            "messages" | "model" | "stream" | "stream_options" | "system" | "tools" => {}
            "max_tokens" => parameters.max_output_tokens = value.as_u64().map(|n| u32::try_from(n).unwrap()),
            "temperature" => parameters.temperature = value.as_f64(),
            "parallel_tool_calls" => parameters.parallel_tool_calls = value.as_bool(),
            "tool_choice" => {
                parameters.tool_choice = match value.as_str().or(value["type"].as_str()).unwrap() {
                    "required" | "any" => ToolChoice::Required,
                    "auto" => ToolChoice::Auto,
                    "none" => ToolChoice::None,
                    other => panic!("{other}"),
                }
            }
            _ => {
                extra.insert(name.clone(), value.clone());
            }
        }
    }
    if !extra.is_empty() {
        parameters.extra = Some(Value::Object(extra).to_string().into());
    }
    parameters
}

/// A body with the differences gone that mean nothing.
fn normal(body: &Value) -> Value {
    let mut body = body.as_object().unwrap().clone();
    if let Some(limit) = body.remove("max_completion_tokens") {
        body.insert("max_tokens".into(), limit);
    }
    // What is left to the server either way.
    for (name, default) in [("tool_choice", json!({"type": "auto"})), ("stream_options", Value::Null)] {
        if body.get(name) == Some(&default) || name == "stream_options" {
            body.remove(name);
        }
    }
    if let Some(number) = body.get_mut("temperature") {
        *number = json!(number.as_f64());
    }
    if let Some(system) = body.get_mut("system") {
        *system = flat(system).into();
    }
    let ids = &mut Vec::new();
    for message in body.get_mut("messages").unwrap().as_array_mut().unwrap() {
        normal_message(message, ids);
    }
    for tool in body.get_mut("tools").and_then(Value::as_array_mut).into_iter().flatten() {
        let tool = tool.as_object_mut().unwrap();
        tool.remove("cache_control");
        let inner = match tool.get_mut("function") {
            Some(function) => function.as_object_mut().unwrap(),
            None => tool,
        };
        inner.remove("strict");
        inner.retain(|name, value| name != "description" || value != "");
    }
    Value::Object(body)
}

fn normal_message(message: &mut Value, ids: &mut Vec<String>) {
    let message = message.as_object_mut().unwrap();
    if message["role"] == "developer" {
        message["role"] = "system".into();
    }
    message.remove("prefix");
    // Its thinking models want the member, its others do not mind.
    message.retain(|name, value| name != "reasoning_content" || value != "");
    let content = message.remove("content").unwrap_or_default();
    let mut content = blocks(&content);
    for block in &mut content {
        block.as_object_mut().unwrap().remove("cache_control");
        if block["type"] == "image" {
            block["source"]["data"] = "…".into();
        }
        for name in ["id", "tool_use_id"] {
            if let Some(id) = block.get_mut(name) {
                number(id, ids);
            }
        }
        if let Some(inner) = block.get_mut("content") {
            *inner = blocks(inner).into();
        }
    }
    message.insert("content".into(), content.into());
    if let Some(id) = message.get_mut("tool_call_id") {
        number(id, ids);
    }
    for call in message.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten() {
        call.as_object_mut().unwrap().remove("index");
        number(&mut call["id"], ids);
    }
}

/// Ids stand for their calls: only where they come first matters.
fn number(id: &mut Value, ids: &mut Vec<String>) {
    let text = id.as_str().unwrap().to_owned();
    let at = ids.iter().position(|known| *known == text).unwrap_or_else(|| {
        ids.push(text);
        ids.len() - 1
    });
    *id = at.into();
}
