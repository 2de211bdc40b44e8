//! What a run is started from.

use super::event::Metadata;
use super::message::Message;
use super::outcome::ResumeEntry;
use super::version::Version;
use alloc::string::String;
use alloc::vec::Vec;
use serde_json::Value;

wire_struct! {
    /// The input of a run.
    pub struct RunAgentInput {
        /// The thread.
        req thread_id: String = "threadId",
        /// The run, never used before on its thread.
        req run_id: String = "runId",
        /// The consumer's version; absent means a peer from before there were versions.
        opt protocol_version: String = "protocolVersion",
        /// The run that starts this one as a run of its own.
        opt parent_run_id: String = "parentRunId",
        /// The state to start from; not null, absent means `{}`.
        opt state: Value = "state",
        /// The whole history.
        req messages: Vec<Message> = "messages",
        /// Tools that the application offers.
        list tools: Tool = "tools",
        /// Further context.
        list context: ContextEntry = "context",
        /// What goes through to the agent unchanged; not null.
        opt forwarded_props: Value = "forwardedProps",
        /// Answers to the interrupts of the thread's latest interrupted run.
        list resume: ResumeEntry = "resume",
    }
}

wire_struct! {
    /// A tool that the application offers.
    pub struct Tool {
        /// Its name.
        req name: String = "name",
        /// What it does.
        req description: String = "description",
        /// The JSON schema of its arguments; not null.
        opt parameters: Value = "parameters",
        /// Extra information.
        opt metadata: Metadata = "metadata",
    }
}

wire_struct! {
    /// A piece of further context.
    pub struct ContextEntry {
        /// What it is.
        req description: String = "description",
        /// The context itself.
        req value: String = "value",
    }
}

wire_object! { RunAgentInput Tool ContextEntry }

impl RunAgentInput {
    /// An input with no history that declares no protocol version (V3).
    pub fn new(thread_id: impl Into<String>, run_id: impl Into<String>) -> Self {
        Self { thread_id: thread_id.into(), run_id: run_id.into(), ..Self::default() }
    }

    /// Whether the peer declares version 1.0 or later (V8). What cannot be read as a version is taken for a later one.
    pub fn declares_1_0(&self) -> bool {
        let declared = self.protocol_version.as_deref();
        declared.is_some_and(|text| Version::parse(text).is_none_or(|version| version >= Version::V1_0))
    }

    /// The text of the last message of a person.
    pub fn last_user_text(&self) -> Option<String> {
        let user = |message: &&Message| matches!(message, Message::User(_));
        self.messages.iter().rev().find(user).map(Message::text)
    }
}
