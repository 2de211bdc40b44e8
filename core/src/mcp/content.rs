//! What a call returned, as parts of a tool's output.

use super::error::McpError;
use crate::base64;
use crate::message::{Image, ImageData, Part};
use crate::problem::clean;
use crate::provider::read::{List, Members};
use crate::text::Text;
use crate::tool::ToolOutput;
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use serde_json::Value;
use serde_json::value::RawValue;

/// Longest name, address or type that a placeholder shows, in encoded bytes.
const SHOWN: u64 = 512;
/// Longest media type of an image.
const LONGEST_TYPE: usize = 128;

/// Reads the result of `tools/call`. Text and images are carried as they are; what a model cannot take becomes a text
/// that says what it was. Structured content that no text repeats is added as its JSON.
pub(super) fn output(result: &str) -> Result<ToolOutput, McpError> {
    let members = Members::read(result).ok_or_else(|| McpError::malformed("its result is no object"))?;
    let list = members.get("content").unwrap_or("[]");
    let List(blocks) = serde_json::from_str::<List<&RawValue>>(list)
        .map_err(|_| McpError::malformed("its content cannot be read"))?;
    let structured = members.get("structuredContent").filter(|json| *json != "null");
    if blocks.is_empty() && structured.is_none() && members.get("content").is_none() {
        return Err(McpError::malformed("its result has no content"));
    }
    let mut parts: Vec<Part> = Vec::with_capacity(blocks.len() + 1);
    blocks.iter().for_each(|block| part(block.get(), &mut parts));
    if let Some(json) = structured
        && !repeated(json, &parts)
    {
        parts.push(Part::Text(Text::new(json)));
    }
    let is_error = members.get("isError") == Some("true");
    let mut output = ToolOutput::parts(parts);
    output.is_error = is_error;
    Ok(output)
}

/// Whether a text says the same as the structured content.
fn repeated(json: &str, parts: &[Part]) -> bool {
    let Ok(value) = serde_json::from_str::<Value>(json) else { return false };
    parts.iter().any(|part| match part {
        Part::Text(text) => serde_json::from_str::<Value>(text).is_ok_and(|told| told == value),
        Part::Image(_) | Part::ToolCall(_) | Part::ToolResult(_) | Part::Context(_) => false,
    })
}

fn part(json: &str, parts: &mut Vec<Part>) {
    let block = Members::read(json).unwrap_or_default();
    let kind = block.text("type").unwrap_or_default();
    match &*kind {
        "text" => parts.push(Part::Text(block.text("text").map(String::from).unwrap_or_default().into())),
        "image" => parts.push(binary("an image", &block, "data")),
        "audio" => parts.push(binary("audio", &block, "data")),
        "resource_link" => parts.push(note(&format!("link to a resource: {}", described(&block)))),
        "resource" => {
            let resource = block.get("resource").and_then(Members::read).unwrap_or_default();
            if let Some(text) = resource.text("text") {
                parts.push(note(&format!("resource: {}", described(&resource))));
                parts.push(Part::Text(String::from(text).into()));
            } else {
                parts.push(binary(&format!("resource: {}", described(&resource)), &resource, "blob"));
            }
        }
        other => parts.push(note(&format!("content of type {}, which is not known here", shown(other)))),
    }
}

/// Address, name and description, as far as they are there.
fn described(block: &Members<'_>) -> String {
    let mut said: Vec<Cow<'_, str>> = Vec::new();
    said.extend(["uri", "name", "description"].iter().filter_map(|name| block.text(name)));
    said.iter().map(|text| String::from(&*shown(text))).collect::<Vec<_>>().join(", ")
}

/// An image, or what stands for bytes that are none.
fn binary(what: &str, block: &Members<'_>, member: &str) -> Part {
    let kind = block.text("mimeType").unwrap_or_default();
    let data = block.text(member).unwrap_or_default();
    let Some(bytes) = base64::decode(&data) else {
        return note(&format!("{what} of type {}, whose bytes cannot be read", shown(&kind)));
    };
    let is_image = kind.starts_with("image/") && kind.len() <= LONGEST_TYPE && kind.is_ascii();
    if is_image && !kind.contains(|c: char| c.is_ascii_control()) && !bytes.is_empty() {
        let (media_type, data) = (Text::from(String::from(kind)), ImageData::Bytes(bytes.into()));
        return Part::Image(Arc::new(Image { media_type, data }));
    }
    note(&format!("{what} of type {}, {} bytes, which cannot be shown", shown(&kind), bytes.len()))
}

fn note(text: &str) -> Part {
    Part::Text(Text::from(format!("[{text}]")))
}

fn shown(text: &str) -> Text {
    if text.is_empty() { Text::new("unknown") } else { clean(text, SHOWN) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(result: &str) -> Vec<String> {
        let output = output(result).unwrap();
        let part = |part: &Part| match part {
            Part::Text(text) => String::from(&**text),
            Part::Image(_) | Part::ToolCall(_) | Part::ToolResult(_) | Part::Context(_) => {
                format!("{part:?}")
            }
        };
        output.content.iter().map(part).collect()
    }

    #[test]
    fn text_and_images_are_carried_and_the_rest_is_told() {
        let found = texts(
            r#"{"content":[
                {"type":"text","text":"a\nb"},
                {"type":"image","mimeType":"image/png","data":"Zm9v"},
                {"type":"image","mimeType":"image/png","data":"!"},
                {"type":"image","mimeType":"text/html","data":"Zm9v"},
                {"type":"audio","mimeType":"audio/wav","data":"Zm9v"},
                {"type":"resource_link","uri":"file:///a.rs","name":"a.rs","description":"entry"},
                {"type":"resource","resource":{"uri":"file:///b","text":"inside"}},
                {"type":"resource","resource":{"uri":"file:///c","mimeType":"image/gif","blob":"Zm9v"}},
                {"type":"resource","resource":{"uri":"file:///d","mimeType":"application/zip","blob":"Zm9v"}},
                {"type":"hologram\u0000"}, {}, 5]}"#,
        );
        assert_eq!(
            found,
            [
                "a\nb",
                r#"Image(Image { media_type: "image/png", len: 3 })"#,
                "[an image of type image/png, whose bytes cannot be read]",
                "[an image of type text/html, 3 bytes, which cannot be shown]",
                "[audio of type audio/wav, 3 bytes, which cannot be shown]",
                "[link to a resource: file:///a.rs, a.rs, entry]",
                "[resource: file:///b]",
                "inside",
                r#"Image(Image { media_type: "image/gif", len: 3 })"#,
                "[resource: file:///d of type application/zip, 3 bytes, which cannot be shown]",
                "[content of type hologram , which is not known here]",
                "[content of type unknown, which is not known here]",
                "[content of type unknown, which is not known here]",
            ]
        );
    }

    #[test]
    fn structured_content_is_said_once() {
        let once = r#"{"content":[{"type":"text","text":"{\"b\":2,\"a\":1.0}"}],"structuredContent":{ "a":1.0,"b":2 }}"#;
        assert_eq!(texts(once), ["{\"b\":2,\"a\":1.0}"]);
        let beside = r#"{"content":[{"type":"text","text":"fine"}],"structuredContent":{ "a":1.50 }}"#;
        assert_eq!(texts(beside), ["fine", "{ \"a\":1.50 }"]);
        assert_eq!(texts(r#"{"structuredContent":[1]}"#), ["[1]"]);
        assert_eq!(texts(r#"{"content":[],"structuredContent":null}"#), [""; 0]);
    }

    #[test]
    fn errors_of_a_tool_are_marked() {
        assert!(output(r#"{"content":[],"isError":true}"#).unwrap().is_error);
        assert!(!output(r#"{"content":[],"isError":"true"}"#).unwrap().is_error);
    }

    #[test]
    fn a_result_that_is_none_is_malformed() {
        for result in ["[]", "{}", "7", "\"x\"", r#"{"isError":true}"#] {
            assert!(matches!(output(result), Err(McpError::Malformed(_))), "{result}");
        }
    }
}
