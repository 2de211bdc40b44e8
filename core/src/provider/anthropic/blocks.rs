//! Content blocks of a Messages stream in the making.

use crate::assemble::parses;
use crate::json::{Object, string};
use crate::provider::read::Members;
use crate::text::Text;
use alloc::string::String;
use alloc::vec::Vec;

/// What a block is to us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Thinking,
    Call,
    /// A call of a tool that the provider runs itself: never the client's to run.
    HostedCall,
    /// Anything else: results of hosted tools, redacted thinking, what is invented next. Sent back as it came.
    #[default]
    Opaque,
}

impl Kind {
    pub(super) fn of(name: &str) -> Self {
        match name {
            "text" => Self::Text,
            "thinking" => Self::Thinking,
            "tool_use" => Self::Call,
            name if name.ends_with("_tool_use") => Self::HostedCall,
            _ => Self::Opaque,
        }
    }
}

/// An open block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) index: u32,
    pub(super) kind: Kind,
    /// The block's type, in the provider's word.
    pub(super) name: Text,
    /// The block as it was opened, if it may have to be sent back; of a call, the arguments that stood there.
    pub(super) start: String,
    /// Its thinking, arguments or other text so far.
    pub(super) text: String,
    pub(super) signature: String,
    /// Whether pieces of a call's arguments came.
    pub(super) streamed: bool,
}

impl Block {
    /// The whole block's JSON, for sending it back; `None` if there is nothing that the provider would want.
    pub(super) fn payload(&self) -> Option<String> {
        let mut members = Vec::new();
        match self.kind {
            Kind::Text | Kind::Call => return None,
            Kind::Thinking if self.signature.is_empty() => return None,
            Kind::Thinking => {
                members.push(("thinking", json_string(&self.text)));
                members.push(("signature", json_string(&self.signature)));
            }
            Kind::HostedCall => match self.text.trim() {
                "" => {}
                text if parses(text) => members.push(("input", String::from(text))),
                // Cut inside its arguments: it cannot be sent back.
                _ => return None,
            },
            Kind::Opaque if self.text.is_empty() => {}
            Kind::Opaque => members.push(("content", json_string(&self.text))),
        }
        rewrite(&self.start, &members)
    }

    /// What a hosted call asks for, for display.
    pub(super) fn hosted(&self) -> (Text, Text) {
        let name =
            Members::read(&self.start).and_then(|block| block.text("name").map(|name| Text::new(&name)));
        let input = match self.text.trim() {
            "" => Members::read(&self.start).and_then(|block| Members::read(block.get("input")?)),
            text => Members::read(text),
        };
        let detail = input.and_then(|input| {
            ["query", "url"].iter().find_map(|field| Some(crate::problem::clean(&input.text(field)?, 1024)))
        });
        (name.unwrap_or_else(|| self.name.clone()), detail.unwrap_or_default())
    }
}

/// `text` as a JSON string.
pub(super) fn json_string(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    string(&mut out, text);
    String::from_utf8(out).unwrap_or_default()
}

/// The object `start` with these members' values in place of its own; new ones come last, all else stays as it is.
fn rewrite(start: &str, members: &[(&str, String)]) -> Option<String> {
    if members.is_empty() {
        return Some(String::from(start));
    }
    let old = Members::read(start)?;
    let new = |name: &str| members.iter().find(|(new, _)| *new == name).map(|(_, json)| json.as_str());
    let mut out = Vec::with_capacity(start.len() + members.iter().map(|(_, json)| json.len()).sum::<usize>());
    let mut object = Object::begin(&mut out);
    for (name, value) in &old.0 {
        object.raw(name, new(name).unwrap_or(value.get()));
    }
    for (name, json) in members.iter().filter(|(name, _)| old.get(name).is_none()) {
        object.raw(name, json);
    }
    object.end();
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(kind: Kind, start: &str, text: &str, signature: &str) -> Block {
        let (start, text, signature) = (start.into(), text.into(), signature.into());
        Block { kind, start, text, signature, ..Block::default() }
    }

    #[test]
    fn blocks_go_back_as_they_came_with_what_was_streamed() {
        let start = "{\"type\":\"thinking\",\"x\": 1.50,\"thinking\":\"\"}";
        let whole = block(Kind::Thinking, start, "a\nb", "s").payload();
        let json = "{\"type\":\"thinking\",\"x\":1.50,\"thinking\":\"a\\nb\",\"signature\":\"s\"}";
        assert_eq!(whole.as_deref(), Some(json));
        assert_eq!(block(Kind::Thinking, start, "a", "").payload(), None);
        let call = "{\"type\":\"server_tool_use\",\"name\":\"web_search\",\"input\":{}}";
        let whole = block(Kind::HostedCall, call, "{\"query\": \"q\"}", "");
        assert_eq!(whole.payload().unwrap(), call.replace("{}", "{\"query\": \"q\"}"));
        assert_eq!(whole.hosted(), ("web_search".into(), "q".into()));
        assert_eq!(block(Kind::HostedCall, call, "{\"que", "").payload(), None);
        assert_eq!(block(Kind::HostedCall, call, "", "").payload().as_deref(), Some(call));
        assert_eq!(block(Kind::Opaque, "{\"a\" : [1]}", "", "").payload().as_deref(), Some("{\"a\" : [1]}"));
    }

    #[test]
    fn only_plain_calls_are_the_clients() {
        assert_eq!(Kind::of("tool_use"), Kind::Call);
        for name in ["server_tool_use", "mcp_tool_use"] {
            assert_eq!(Kind::of(name), Kind::HostedCall);
        }
        for name in ["redacted_thinking", "web_search_tool_result", "compaction", "", "x"] {
            assert_eq!(Kind::of(name), Kind::Opaque);
        }
    }
}
