//! The names that events use.

wire_names! {
    /// The type of an event. Exhaustive on purpose, as [`Event`](super::Event) is.
    pub enum EventType ("a type of an event is expected", open) {
        /// Opens a text message.
        TextMessageStart = "TEXT_MESSAGE_START",
        /// Extends a text message.
        TextMessageContent = "TEXT_MESSAGE_CONTENT",
        /// Closes a text message.
        TextMessageEnd = "TEXT_MESSAGE_END",
        /// Stands for any of the three.
        TextMessageChunk = "TEXT_MESSAGE_CHUNK",
        /// Opens a tool call.
        ToolCallStart = "TOOL_CALL_START",
        /// Extends a call's arguments.
        ToolCallArgs = "TOOL_CALL_ARGS",
        /// Closes a tool call.
        ToolCallEnd = "TOOL_CALL_END",
        /// Stands for any of the three.
        ToolCallChunk = "TOOL_CALL_CHUNK",
        /// A tool's result, a message of its own.
        ToolCallResult = "TOOL_CALL_RESULT",
        /// Replaces the state.
        StateSnapshot = "STATE_SNAPSHOT",
        /// Amends the state.
        StateDelta = "STATE_DELTA",
        /// Reconciles the conversation.
        MessagesSnapshot = "MESSAGES_SNAPSHOT",
        /// Makes or replaces an activity.
        ActivitySnapshot = "ACTIVITY_SNAPSHOT",
        /// Amends an activity.
        ActivityDelta = "ACTIVITY_DELTA",
        /// An event of another system.
        Raw = "RAW",
        /// An event of the application.
        Custom = "CUSTOM",
        /// Opens a run.
        RunStarted = "RUN_STARTED",
        /// Closes a run that did not fail.
        RunFinished = "RUN_FINISHED",
        /// Ends a run that failed.
        RunError = "RUN_ERROR",
        /// Opens a step.
        StepStarted = "STEP_STARTED",
        /// Closes a step.
        StepFinished = "STEP_FINISHED",
        /// Opens a span of reasoning.
        ReasoningStart = "REASONING_START",
        /// Opens a reasoning message.
        ReasoningMessageStart = "REASONING_MESSAGE_START",
        /// Extends a reasoning message.
        ReasoningMessageContent = "REASONING_MESSAGE_CONTENT",
        /// Closes a reasoning message.
        ReasoningMessageEnd = "REASONING_MESSAGE_END",
        /// Stands for any of the three.
        ReasoningMessageChunk = "REASONING_MESSAGE_CHUNK",
        /// Closes a span of reasoning.
        ReasoningEnd = "REASONING_END",
        /// Sealed reasoning that goes back to its issuer unchanged.
        ReasoningEncryptedValue = "REASONING_ENCRYPTED_VALUE",
        /// Announces an invocation of a subagent.
        SubagentStarted = "SUBAGENT_STARTED",
        /// Closes an invocation.
        SubagentFinished = "SUBAGENT_FINISHED",
        /// Closes an invocation that failed.
        SubagentError = "SUBAGENT_ERROR",
    }
}

wire_names! {
    /// Whose words a streamed text message holds; absent means the assistant's.
    #[derive(Default)]
    pub enum TextRole ("one of developer, system, assistant, user is expected", closed) {
        /// The application's developer.
        Developer = "developer",
        /// The system prompt.
        System = "system",
        /// The model.
        #[default]
        Assistant = "assistant",
        /// A person.
        User = "user",
    }
}

wire_names! {
    /// The role of a tool's result; there is only this one.
    #[derive(Default)]
    pub enum ToolRole ("\"tool\" is expected", closed) {
        /// A tool.
        #[default]
        Tool = "tool",
    }
}

wire_names! {
    /// The role of a reasoning message; there is only this one.
    #[derive(Default)]
    pub enum ReasoningRole ("\"reasoning\" is expected", closed) {
        /// Reasoning.
        #[default]
        Reasoning = "reasoning",
    }
}

wire_names! {
    /// What a sealed value belongs to.
    #[derive(Default)]
    pub enum EncryptedSubtype ("one of tool-call, message is expected", open) {
        /// A tool call.
        ToolCall = "tool-call",
        /// A message.
        #[default]
        Message = "message",
    }
}
