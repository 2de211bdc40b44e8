//! Events of state, conversation, activities, and what passes through.

use super::Metadata;
use crate::agui::message::Message;
use crate::agui::patch::Operation;
use alloc::string::String;
use serde_json::Value;

wire_struct! {
    /// Replaces the run's state.
    pub struct StateSnapshot: base {
        /// The state; any JSON value, null too.
        req snapshot: Value = "snapshot",
        /// Who produced it; the state is the run's all the same.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// Amends the run's state.
    pub struct StateDelta: base {
        /// A JSON Patch (RFC 6902), applied whole or not at all.
        req delta: alloc::vec::Vec<Operation> = "delta",
        /// Who produced it; the state is the run's all the same.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// Reconciles the conversation.
    pub struct MessagesSnapshot: base {
        /// The messages.
        req messages: alloc::vec::Vec<Message> = "messages",
    }
}

wire_struct! {
    /// Makes an activity, or replaces it.
    pub struct ActivitySnapshot: base {
        /// The activity's message id.
        req message_id: String = "messageId",
        /// What kind of activity, in the application's words.
        req activity_type: String = "activityType",
        /// What it shows.
        req content: Metadata = "content",
        /// Whether it replaces one that is there; absent means yes.
        opt replace: bool = "replace",
        /// The invocation that this belongs to.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// Amends an activity.
    pub struct ActivityDelta: base {
        /// The activity's message id.
        req message_id: String = "messageId",
        /// What kind of activity; it may change.
        req activity_type: String = "activityType",
        /// A JSON Patch (RFC 6902) over the content, applied whole or not at all.
        req patch: alloc::vec::Vec<Operation> = "patch",
        /// The invocation that this belongs to; absent agrees with any.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// An event of another system, carried as it is.
    pub struct Raw: base {
        /// The event; any JSON value, null too.
        req event: Value = "event",
        /// Where it is from.
        opt source: String = "source",
        /// The invocation that this belongs to.
        opt subagent_run_id: String = "subagentRunId",
    }
}

wire_struct! {
    /// An event of the application.
    pub struct Custom: base {
        /// Its name, which should begin with the vendor's.
        req name: String = "name",
        /// Its value; any JSON value, null too.
        req value: Value = "value",
        /// The invocation that this belongs to.
        opt subagent_run_id: String = "subagentRunId",
    }
}
