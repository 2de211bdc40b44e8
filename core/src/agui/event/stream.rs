//! Events of messages, tool calls and reasoning.

use super::kind::{EncryptedSubtype, ReasoningRole, TextRole, ToolRole};
use crate::agui::content::Content;
use alloc::string::String;

wire_struct! {
    /// Opens a text message.
    pub struct TextMessageStart: base {
        /// The message's id: opaque, unique in its thread, may be empty.
        req message_id: String = "messageId",
        /// Whose words they are; absent means the assistant's.
        opt role: TextRole = "role",
        /// Names the speaker within the role.
        opt name: String = "name",
        /// The invocation that this belongs to; absent means the run's own agent.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// Extends an open text message.
    pub struct TextMessageContent: base {
        /// The message.
        req message_id: String = "messageId",
        /// What is appended; may be empty.
        req delta: String = "delta",
        /// The invocation that this belongs to; absent agrees with any.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// Closes a text message.
    pub struct TextMessageEnd: base {
        /// The message.
        req message_id: String = "messageId",
        /// The invocation that this belongs to; absent agrees with any.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// Opens, extends and closes a text message without saying so.
    pub struct TextMessageChunk: base {
        /// The message; required on its first chunk.
        opt message_id: String = "messageId",
        /// Whose words they are; absent means the assistant's.
        opt role: TextRole = "role",
        /// What is appended.
        opt delta: String = "delta",
        /// Names the speaker within the role.
        opt name: String = "name",
        /// The invocation that this belongs to.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// Opens a tool call.
    pub struct ToolCallStart: base {
        /// The call's id.
        req tool_call_id: String = "toolCallId",
        /// The tool's name.
        req tool_call_name: String = "toolCallName",
        /// The assistant's message that holds the call.
        opt parent_message_id: String = "parentMessageId",
        /// The invocation that this belongs to; absent means the parent message's.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// Extends the arguments of an open tool call.
    pub struct ToolCallArgs: base {
        /// The call.
        req tool_call_id: String = "toolCallId",
        /// A piece of the arguments' text.
        req delta: String = "delta",
        /// The invocation that this belongs to; absent agrees with any.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// Closes a tool call: its arguments are complete.
    pub struct ToolCallEnd: base {
        /// The call.
        req tool_call_id: String = "toolCallId",
        /// The invocation that this belongs to; absent agrees with any.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// Opens, extends and closes a tool call without saying so.
    pub struct ToolCallChunk: base {
        /// The call; required on its first chunk.
        opt tool_call_id: String = "toolCallId",
        /// The tool's name; required on its first chunk.
        opt tool_call_name: String = "toolCallName",
        /// The assistant's message that holds the call.
        opt parent_message_id: String = "parentMessageId",
        /// A piece of the arguments' text.
        opt delta: String = "delta",
        /// The invocation that this belongs to.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// A tool's result: a message of its own.
    pub struct ToolCallResult: base {
        /// The result's own message id.
        req message_id: String = "messageId",
        /// The call that it answers.
        req tool_call_id: String = "toolCallId",
        /// The result.
        req content: Content = "content",
        /// The message's role, if it is said.
        opt role: ToolRole = "role",
        /// The invocation that this belongs to.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// Opens a span of reasoning.
    pub struct ReasoningStart: base {
        /// The span's id, in a name space of its own.
        req message_id: String = "messageId",
        /// The invocation that this belongs to.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// Closes a span of reasoning.
    pub struct ReasoningEnd: base {
        /// The span.
        req message_id: String = "messageId",
        /// The invocation that this belongs to; absent agrees with any.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// Opens a reasoning message.
    pub struct ReasoningMessageStart: base {
        /// The message's id.
        req message_id: String = "messageId",
        /// Always `reasoning`.
        req role: ReasoningRole = "role",
        /// The invocation that this belongs to.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// Extends an open reasoning message.
    pub struct ReasoningMessageContent: base {
        /// The message.
        req message_id: String = "messageId",
        /// What is appended; may be empty.
        req delta: String = "delta",
        /// The invocation that this belongs to; absent agrees with any.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// Closes a reasoning message.
    pub struct ReasoningMessageEnd: base {
        /// The message.
        req message_id: String = "messageId",
        /// The invocation that this belongs to; absent agrees with any.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// Opens, extends and closes a reasoning message without saying so.
    pub struct ReasoningMessageChunk: base {
        /// The message; required on its first chunk.
        opt message_id: String = "messageId",
        /// What is appended.
        opt delta: String = "delta",
        /// The invocation that this belongs to.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// Sealed reasoning, to be stored with a message or call and given back to its issuer unchanged.
    pub struct ReasoningEncryptedValue: base {
        /// What it belongs to.
        req subtype: EncryptedSubtype = "subtype",
        /// The message or call.
        req entity_id: String = "entityId",
        /// The sealed value.
        req encrypted_value: String = "encryptedValue",
        /// What kind of value it is, in the issuer's words.
        opt encrypted_value_type: String = "encryptedValueType",
        /// The invocation that this belongs to.
        opt subagent_run_id: String = "subagentRunId",
    }
}
