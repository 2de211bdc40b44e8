//! What a request's messages say, in either format.

use crate::endpoint::Provider;
use serde_json::Value;

/// A conversation as far as the server cares for it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Conversation {
    /// What the user said, oldest first.
    pub(super) user: Vec<String>,
    /// What the calls of the last step returned, if the conversation ends with that, in call order.
    pub(super) results: Vec<String>,
}

impl Conversation {
    /// Reads the member `messages` of a request; `None` if it lacks.
    pub(super) fn read(provider: Provider, request: &Value) -> Option<Self> {
        let mut conversation = Self::default();
        for message in request.get("messages")?.as_array()? {
            match (provider, message.get("role")?.as_str()?) {
                (_, "assistant") => conversation.results.clear(),
                (Provider::Anthropic, "user") => conversation.blocks(message),
                (Provider::OpenAi, "user") => {
                    conversation.results.clear();
                    conversation.user.push(text(message.get("content")?));
                }
                (Provider::OpenAi, "tool") => conversation.results.push(text(message.get("content")?)),
                _ => {}
            }
        }
        Some(conversation)
    }

    /// A user message of Anthropic's holds the results of calls too; a text after them begins a new turn.
    fn blocks(&mut self, message: &Value) {
        self.results.clear();
        let whole = [message.get("content").cloned().unwrap_or_default()];
        let blocks = message.get("content").and_then(Value::as_array).map_or(&whole[..], Vec::as_slice);
        for block in blocks {
            if block.get("type").and_then(Value::as_str) == Some("tool_result") {
                self.results.push(block.get("content").map(text).unwrap_or_default());
            } else {
                self.results.clear();
                self.user.push(text(block));
            }
        }
    }
}

/// The text of a content: a string, a block with a text, or a list of such.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().map(text).collect(),
        other => other.get("text").and_then(Value::as_str).unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(provider: Provider, messages: Value) -> (Vec<String>, Vec<String>) {
        let Conversation { user, results } =
            Conversation::read(provider, &json!({ "messages": messages })).unwrap();
        (user, results)
    }

    #[test]
    fn anthropic_messages() {
        let user = json!({"role": "user", "content": [{"type": "text", "text": "a"}]});
        let calls = json!({"role": "assistant", "content": [{"type": "tool_use"}]});
        let result = |content| json!({"type": "tool_result", "tool_use_id": "x", "content": content});
        let results = json!({"role": "user", "content": [result(json!("1")), result(json!([{"type": "text", "text": "2"}]))]});
        let done = json!({"role": "assistant", "content": "done"});
        let more = json!({"role": "user", "content": "b"});
        assert_eq!(read(Provider::Anthropic, json!([user])), (vec!["a".into()], vec![]));
        let both = (vec!["a".into()], vec!["1".into(), "2".into()]);
        assert_eq!(read(Provider::Anthropic, json!([user, calls, results])), both);
        let turns = (vec!["a".into(), "b".into()], vec![]);
        assert_eq!(read(Provider::Anthropic, json!([user, calls, results, done, more])), turns);
    }

    #[test]
    fn openai_messages() {
        let message = |role: &str, content: &str| json!({"role": role, "content": content});
        let parts = json!({"role": "user", "content": [{"type": "text", "text": "b"}]});
        let calls = json!({"role": "assistant", "content": null, "tool_calls": []});
        let system = message("developer", "s");
        assert_eq!(
            read(
                Provider::OpenAi,
                json!([system, message("user", "a"), calls, message("tool", "1"), message("tool", "2")])
            ),
            (vec!["a".into()], vec!["1".into(), "2".into()])
        );
        assert_eq!(
            read(Provider::OpenAi, json!([message("user", "a"), calls, message("tool", "1"), parts])),
            (vec!["a".into(), "b".into()], vec![])
        );
        assert_eq!(Conversation::read(Provider::OpenAi, &json!({})), None);
    }
}
