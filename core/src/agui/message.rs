//! Messages of a thread, and what they hold.

use super::content::Content;
use super::event::Metadata;
use super::wire::{Context, Raw, Wire, custom, object, tag};
use crate::json::Out;
use alloc::string::String;
use serde::de::{Deserialize, Deserializer};

wire_names! {
    /// Whose message it is.
    pub enum Role ("a role is expected", open) {
        /// The application's developer.
        Developer = "developer",
        /// The system prompt.
        System = "system",
        /// The model.
        Assistant = "assistant",
        /// A person.
        User = "user",
        /// A tool.
        Tool = "tool",
        /// Something that goes on, shown to people only.
        Activity = "activity",
        /// The model's reasoning.
        Reasoning = "reasoning",
    }
}

wire_struct! {
    /// A message of the developer.
    pub struct DeveloperMessage {
        /// Unique in its thread.
        req id: String = "id",
        /// The text.
        req content: String = "content",
        /// Names the speaker within the role.
        opt name: String = "name",
        /// A sealed value that goes back to its issuer unchanged.
        opt encrypted_value: String = "encryptedValue",
        /// What kind of value it is.
        opt encrypted_value_type: String = "encryptedValueType",
        /// Extra information.
        opt metadata: Metadata = "metadata",
        /// The invocation that this belongs to.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// A message of the system prompt.
    pub struct SystemMessage {
        /// Unique in its thread.
        req id: String = "id",
        /// The text.
        req content: String = "content",
        /// Names the speaker within the role.
        opt name: String = "name",
        /// A sealed value that goes back to its issuer unchanged.
        opt encrypted_value: String = "encryptedValue",
        /// What kind of value it is.
        opt encrypted_value_type: String = "encryptedValueType",
        /// Extra information.
        opt metadata: Metadata = "metadata",
        /// The invocation that this belongs to.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// A message of the model.
    pub struct AssistantMessage {
        /// Unique in its thread.
        req id: String = "id",
        /// The text, if it said any.
        opt content: String = "content",
        /// The calls that it made.
        list tool_calls: ToolCall = "toolCalls",
        /// Names the speaker within the role.
        opt name: String = "name",
        /// A sealed value that goes back to its issuer unchanged.
        opt encrypted_value: String = "encryptedValue",
        /// What kind of value it is.
        opt encrypted_value_type: String = "encryptedValueType",
        /// Extra information.
        opt metadata: Metadata = "metadata",
        /// The invocation that this belongs to.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// A message of a person.
    pub struct UserMessage {
        /// Unique in its thread.
        req id: String = "id",
        /// What the person said or sent.
        req content: Content = "content",
        /// Names the speaker within the role.
        opt name: String = "name",
        /// A sealed value that goes back to its issuer unchanged.
        opt encrypted_value: String = "encryptedValue",
        /// What kind of value it is.
        opt encrypted_value_type: String = "encryptedValueType",
        /// Extra information.
        opt metadata: Metadata = "metadata",
        /// The invocation that this belongs to.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// A tool's result.
    pub struct ToolMessage {
        /// Unique in its thread.
        req id: String = "id",
        /// The result.
        req content: Content = "content",
        /// The call that it answers.
        req tool_call_id: String = "toolCallId",
        /// What went wrong, if the call failed.
        opt error: String = "error",
        /// A sealed value that goes back to its issuer unchanged.
        opt encrypted_value: String = "encryptedValue",
        /// What kind of value it is.
        opt encrypted_value_type: String = "encryptedValueType",
        /// Extra information.
        opt metadata: Metadata = "metadata",
        /// The invocation that this belongs to.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// Something that goes on, shown to people and never sent to a model.
    pub struct ActivityMessage {
        /// Unique in its thread.
        req id: String = "id",
        /// What kind of activity, in the application's words.
        req activity_type: String = "activityType",
        /// What it shows.
        req content: Metadata = "content",
        /// Extra information.
        opt metadata: Metadata = "metadata",
        /// The invocation that this belongs to.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// The model's reasoning.
    pub struct ReasoningMessage {
        /// Unique in its thread.
        req id: String = "id",
        /// The text.
        req content: String = "content",
        /// A sealed value that goes back to its issuer unchanged.
        opt encrypted_value: String = "encryptedValue",
        /// What kind of value it is.
        opt encrypted_value_type: String = "encryptedValueType",
        /// Extra information.
        opt metadata: Metadata = "metadata",
        /// The invocation that this belongs to.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// A call that the model made.
    pub struct ToolCall {
        /// The call's id.
        req id: String = "id",
        /// Always `function`.
        req kind: CallKind = "type",
        /// What is called.
        req function: FunctionCall = "function",
        /// A sealed value that goes back to its issuer unchanged.
        opt encrypted_value: String = "encryptedValue",
        /// What kind of value it is.
        opt encrypted_value_type: String = "encryptedValueType",
        /// Extra information.
        opt metadata: Metadata = "metadata",
    }
}

wire_struct! {
    /// What a call calls.
    pub struct FunctionCall {
        /// The tool's name.
        req name: String = "name",
        /// The arguments' text; by convention JSON, never checked.
        req arguments: String = "arguments",
    }
}

wire_names! {
    /// What kind of call it is; there is only this one.
    #[derive(Default)]
    pub enum CallKind ("\"function\" is expected", closed) {
        /// A function.
        #[default]
        Function = "function",
    }
}

wire_object! { ToolCall FunctionCall }

/// Calls `$with!` for every kind of message.
macro_rules! messages {
    ($($variant:ident $message:ident $($sealed:ident)?),* $(,)?) => {
        /// A message of a thread.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Message {
            $( #[doc = concat!("See [`", stringify!($message), "`].")] $variant($message), )*
        }

        $(
            impl From<$message> for Message {
                fn from(message: $message) -> Self {
                    Self::$variant(message)
                }
            }
        )*

        impl Message {
            /// Unique in its thread.
            pub fn id(&self) -> &str {
                match self { $( Self::$variant(message) => &message.id, )* }
            }

            /// Whose message it is.
            pub const fn role(&self) -> Role {
                match self { $( Self::$variant(_) => Role::$variant, )* }
            }

            /// The invocation that it belongs to.
            pub fn subagent_run_id(&self) -> Option<&str> {
                match self { $( Self::$variant(message) => message.subagent_run_id.as_deref(), )* }
            }

            /// The place of its metadata.
            pub fn metadata_mut(&mut self) -> &mut Option<Metadata> {
                match self { $( Self::$variant(message) => &mut message.metadata, )* }
            }

            /// The places of its sealed value and that value's type, for messages that can have one.
            pub fn sealed_mut(&mut self) -> Option<(&mut Option<String>, &mut Option<String>)> {
                match self { $( Self::$variant(message) => sealed!(message $($sealed)?), )* }
            }
        }

        impl Wire for Message {
            const EXPECTED: &'static str = "a message is expected: an object with a role";

            fn read<'de, D: Deserializer<'de>>(from: D, context: Context<'_>) -> Result<Option<Self>, D::Error> {
                let json = Raw::deserialize(from)?;
                match Role::from_name(tag(json.get(), "role").ok_or_else(custom)?.as_str()) {
                    $(
                        Some(Role::$variant) => {
                            Ok(object::<$message, _>(json, context, "role")?.map(Self::from))
                        }
                    )*
                    None => Ok(None),
                }
            }

            fn write<O: Out>(&self, out: &mut O) {
                out.push(b"{\"role\":\"");
                out.push(self.role().as_str().as_bytes());
                out.push(b"\"");
                match self { $( Self::$variant(message) => message.write_members(out, &mut false), )* }
                out.push(b"}");
            }
        }
    };
}

macro_rules! sealed {
    ($message:ident sealed) => {
        Some((&mut $message.encrypted_value, &mut $message.encrypted_value_type))
    };
    ($message:ident) => {{
        let _ = $message;
        None
    }};
}

messages! {
    Developer DeveloperMessage sealed,
    System SystemMessage sealed,
    Assistant AssistantMessage sealed,
    User UserMessage sealed,
    Tool ToolMessage sealed,
    Activity ActivityMessage,
    Reasoning ReasoningMessage sealed,
}

impl Message {
    /// A message of a person that is plain text.
    pub fn user(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::User(UserMessage {
            id: id.into(),
            content: Content::Text(text.into()),
            ..UserMessage::default()
        })
    }

    /// A message of the model that is plain text.
    pub fn assistant(id: impl Into<String>, text: impl Into<String>) -> Self {
        let content = Some(text.into());
        Self::Assistant(AssistantMessage { id: id.into(), content, ..AssistantMessage::default() })
    }

    /// A tool's result that is plain text.
    pub fn tool(id: impl Into<String>, call: impl Into<String>, text: impl Into<String>) -> Self {
        let (content, tool_call_id) = (Content::Text(text.into()), call.into());
        Self::Tool(ToolMessage { id: id.into(), content, tool_call_id, ..ToolMessage::default() })
    }

    /// The text of the message, its text parts put together. Activities have none.
    pub fn text(&self) -> String {
        match self {
            Self::Developer(message) => message.content.clone(),
            Self::System(message) => message.content.clone(),
            Self::Assistant(message) => message.content.clone().unwrap_or_default(),
            Self::User(message) => message.content.text(),
            Self::Tool(message) => message.content.text(),
            Self::Activity(_) => String::new(),
            Self::Reasoning(message) => message.content.clone(),
        }
    }
}
