//! Messages: every role and every part, texts as they are, images by their bytes or address (M1, M9).

use super::fields::{list, text};
use super::{Build, Node};
use super::{Fields, ImportError, ImportProblem, Place, object};
use crate::base64;
use crate::id::{CallRef, MessageId};
use crate::message::{
    Image, ImageData, Message, MessageBounds, Part, ProviderContext, Role, ToolCall, ToolResult, ToolStatus,
};
use crate::text::Text;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// What bounds the whole value bounds its messages; those of a run were checked when they came into being.
const BOUNDS: MessageBounds = MessageBounds { parts: usize::MAX, text: u64::MAX, image: usize::MAX };

const ROLES: [Role; 5] = [Role::User, Role::Assistant, Role::AbortedAssistant, Role::Tool, Role::Boundary];

const STATUSES: [ToolStatus; 9] = [
    ToolStatus::Success,
    ToolStatus::Failure,
    ToolStatus::Denied,
    ToolStatus::Unavailable,
    ToolStatus::InvalidArguments,
    ToolStatus::TimedOut,
    ToolStatus::Panicked,
    ToolStatus::InterruptedNotStarted,
    ToolStatus::InterruptedOutcomeUnknown,
];

pub(crate) fn message(message: &Message) -> Node {
    Build::new()
        .text("id", message.id().text())
        .name("role", message.role().as_str())
        .with("parts", Node::list(message.parts(), part))
        .end()
}

pub(crate) fn read_message(node: &Node, place: &Place<'_>) -> Result<Message, ImportError> {
    object(node, place, |fields| {
        let id = fields.id("id", MessageId::new)?;
        let role =
            fields.one_of("role", "role", |name| ROLES.into_iter().find(|role| role.as_str() == name))?;
        let parts = fields.list("parts", read_part)?;
        Message::new(id, role, parts, &BOUNDS).map_err(|error| place.error(error))
    })
}

/// A part of any kind.
pub(crate) fn part(part: &Part) -> Node {
    match part {
        Part::Text(text) => Build::of("text").text("text", text).end(),
        Part::Image(image) => of_image(image),
        Part::ToolCall(call) => named(Build::of("tool_call"), call.call, &call.id, &call.name)
            .text("arguments", &call.arguments)
            .end(),
        Part::ToolResult(result) => named(Build::of("tool_result"), result.call, &result.id, &result.name)
            .name("status", result.status.as_str())
            .with("content", content(&result.content))
            .end(),
        Part::Context(context) => Build::of("context")
            .text("model", &context.model)
            .text("kind", &context.kind)
            .with("payload", Node::Text(Text::from(Arc::clone(&context.payload))))
            .end(),
    }
}

fn named(build: Build, call: CallRef, id: &Text, name: &Text) -> Build {
    build.number("step", call.step).number("ordinal", call.ordinal).text("id", id).text("name", name)
}

fn of_image(image: &Image) -> Node {
    let build = Build::of("image").text("media_type", &image.media_type);
    match &image.data {
        ImageData::Bytes(bytes) => {
            let mut data = Vec::new();
            base64::encode(&mut data, bytes);
            // Base64 is ASCII.
            let data = String::from_utf8(data).unwrap_or_default();
            build.with("data", Node::Text(Text::from(data))).end()
        }
        ImageData::Url(url) => build.text("url", url).end(),
    }
}

/// Texts and images.
pub(crate) fn content(parts: &[Part]) -> Node {
    Node::list(parts, part)
}

/// Texts and images, and nothing else.
pub(crate) fn read_content(node: &Node, place: &Place<'_>) -> Result<Arc<[Part]>, ImportError> {
    let parts = list(node, place, |node, place| match read_part(node, place)? {
        part @ (Part::Text(_) | Part::Image(_)) => Ok(part),
        Part::ToolCall(_) | Part::ToolResult(_) | Part::Context(_) => Err(place.wrong("a text or an image")),
    })?;
    Ok(parts.into())
}

pub(crate) fn read_status(fields: &mut Fields<'_>) -> Result<ToolStatus, ImportError> {
    let known = |name: &str| STATUSES.into_iter().find(|status| status.as_str() == name);
    fields.one_of("status", "status of a result", known)
}

fn read_part(node: &Node, place: &Place<'_>) -> Result<Part, ImportError> {
    object(node, place, |fields| {
        let read = fields.one_of("type", "kind of part", |name| {
            Some(match name {
                "text" => read_text,
                "image" => read_image,
                "tool_call" => read_call,
                "tool_result" => read_result,
                "context" => read_context,
                _ => return None,
            })
        })?;
        read(fields)
    })
}

/// A part of any kind, as something outside has given it: what a result may hold is not looked at.
pub(crate) fn read_any_part(node: &Node, place: &Place<'_>) -> Result<Part, ImportError> {
    let is_result = matches!(node, Node::Object(members) if members.iter().any(|(name, value)| {
        **name == *"type" && matches!(value, Node::Text(kind) if **kind == *"tool_result")
    }));
    if !is_result {
        return read_part(node, place);
    }
    object(node, place, |fields| {
        fields.text("type")?;
        let (call, id, name) = read_names(fields)?;
        let status = read_status(fields)?;
        let content = fields.list("content", read_any_part)?.into();
        Ok(Part::ToolResult(Arc::new(ToolResult { call, id, name, status, content })))
    })
}

fn read_text(fields: &mut Fields<'_>) -> Result<Part, ImportError> {
    fields.text("text").map(Part::Text)
}

fn read_image(fields: &mut Fields<'_>) -> Result<Part, ImportError> {
    let media_type = fields.text("media_type")?;
    let url = fields.maybe("url", text)?;
    let data = match url {
        Some(url) => ImageData::Url(url),
        None => ImageData::Bytes(fields.need("data", |node, place| {
            let bytes = base64::decode(&text(node, place)?);
            Ok(bytes.ok_or_else(|| place.error(ImportProblem::Base64))?.into())
        })?),
    };
    Ok(Part::Image(Arc::new(Image { media_type, data })))
}

fn read_names(fields: &mut Fields<'_>) -> Result<(CallRef, Text, Text), ImportError> {
    let call = CallRef { step: fields.small("step")?, ordinal: fields.small("ordinal")? };
    Ok((call, fields.text("id")?, fields.text("name")?))
}

fn read_call(fields: &mut Fields<'_>) -> Result<Part, ImportError> {
    let (call, id, name) = read_names(fields)?;
    Ok(Part::ToolCall(Arc::new(ToolCall { call, id, name, arguments: fields.text("arguments")? })))
}

fn read_result(fields: &mut Fields<'_>) -> Result<Part, ImportError> {
    let (call, id, name) = read_names(fields)?;
    let status = read_status(fields)?;
    let content = fields.need("content", read_content)?;
    Ok(Part::ToolResult(Arc::new(ToolResult { call, id, name, status, content })))
}

fn read_context(fields: &mut Fields<'_>) -> Result<Part, ImportError> {
    let (model, kind) = (fields.text("model")?, fields.text("kind")?);
    let payload = fields.text("payload")?.to_shared();
    Ok(Part::Context(Arc::new(ProviderContext { model, kind, payload })))
}
