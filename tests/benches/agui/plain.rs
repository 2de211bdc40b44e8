//! What plain serde derives for the same events: tagged unions, optional members left out. It takes unknown members
//! without a word and knows no ranges.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

macro_rules! events {
    ($($variant:ident $tag:literal { $($(#[$meta:meta])* $field:ident: $ty:ty),* $(,)? })*) => {
        /// Events with what all of them share beside their own members.
        #[derive(Deserialize, Serialize)]
        #[serde(tag = "type")]
        pub(crate) enum Event {
            $(
                #[serde(rename = $tag, rename_all = "camelCase")]
                $variant {
                    $($(#[$meta])* $field: $ty,)*
                    #[serde(skip_serializing_if = "Option::is_none")]
                    subagent_run_id: Option<String>,
                    #[serde(skip_serializing_if = "Option::is_none")]
                    timestamp: Option<i64>,
                    #[serde(skip_serializing_if = "Option::is_none")]
                    raw_event: Option<Value>,
                    #[serde(skip_serializing_if = "Option::is_none")]
                    metadata: Option<Map<String, Value>>,
                },
            )*
        }
    };
}

events! {
    TextMessageStart "TEXT_MESSAGE_START" {
        message_id: String,
        #[serde(skip_serializing_if = "Option::is_none")] role: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")] name: Option<String>,
    }
    TextMessageContent "TEXT_MESSAGE_CONTENT" { message_id: String, delta: String }
    TextMessageEnd "TEXT_MESSAGE_END" { message_id: String }
    ToolCallStart "TOOL_CALL_START" {
        tool_call_id: String,
        tool_call_name: String,
        #[serde(skip_serializing_if = "Option::is_none")] parent_message_id: Option<String>,
    }
    ToolCallArgs "TOOL_CALL_ARGS" { tool_call_id: String, delta: String }
    ToolCallEnd "TOOL_CALL_END" { tool_call_id: String }
    ToolCallResult "TOOL_CALL_RESULT" { message_id: String, tool_call_id: String, content: String }
    StateSnapshot "STATE_SNAPSHOT" { snapshot: Value }
    MessagesSnapshot "MESSAGES_SNAPSHOT" { messages: Vec<Message> }
}

/// Messages by role.
#[derive(Deserialize, Serialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub(crate) enum Message {
    User {
        id: String,
        content: String,
    },
    #[serde(rename_all = "camelCase")]
    Assistant {
        id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
    },
    #[serde(rename_all = "camelCase")]
    Tool {
        id: String,
        content: String,
        tool_call_id: String,
    },
}

#[derive(Deserialize, Serialize)]
pub(crate) struct ToolCall {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    function: Function,
}

#[derive(Deserialize, Serialize)]
pub(crate) struct Function {
    name: String,
    arguments: String,
}
