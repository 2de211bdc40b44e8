//! The 31 events of AG-UI 1.1, as one exhaustive union.
//!
//! Exhaustive on purpose (E12): an event that a later version adds is a compile error for whoever matches, instead of
//! something that falls through a wildcard.

mod kind;
mod lifecycle;
mod make;
mod state;
mod stream;
mod union;

pub use kind::{EncryptedSubtype, EventType, ReasoningRole, TextRole, ToolRole};
pub use lifecycle::{
    RunError, RunFinished, RunStarted, StepFinished, StepStarted, SubagentError, SubagentFinished,
    SubagentStarted,
};
pub use state::{ActivityDelta, ActivitySnapshot, Custom, MessagesSnapshot, Raw, StateDelta, StateSnapshot};
pub use stream::{
    ReasoningEncryptedValue, ReasoningEnd, ReasoningMessageChunk, ReasoningMessageContent,
    ReasoningMessageEnd, ReasoningMessageStart, ReasoningStart, TextMessageChunk, TextMessageContent,
    TextMessageEnd, TextMessageStart, ToolCallArgs, ToolCallChunk, ToolCallEnd, ToolCallResult,
    ToolCallStart,
};
pub use union::Event;

use super::wire::{Context, Flat, member};
use crate::json::Out;
use alloc::boxed::Box;
use alloc::string::String;
use serde::de::MapAccess;
use serde_json::{Map, Value};

/// Extra information under open keys; values may be null, the key `ag-ui` is the protocol's own.
pub type Metadata = Map<String, Value>;

/// What every event may carry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Base {
    /// When the event was made, usually in milliseconds since 1970; within ±(2^53 − 1). Orders nothing.
    pub timestamp: Option<i64>,
    /// What the provider sent that this event was made from; not null.
    pub raw_event: Option<Box<Value>>,
    /// Extra information about the item that the event builds.
    pub metadata: Option<Box<Metadata>>,
}

impl Flat for Base {
    #[inline]
    fn member<'de, A: MapAccess<'de>>(
        &mut self,
        name: &str,
        map: &mut A,
        context: Context<'_>,
    ) -> Result<bool, A::Error> {
        match name {
            "timestamp" => member(&mut self.timestamp, "timestamp", map, context)?,
            "rawEvent" => member(&mut self.raw_event, "rawEvent", map, context)?,
            "metadata" => member(&mut self.metadata, "metadata", map, context)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    #[inline]
    fn write<O: Out>(&self, out: &mut O, first: &mut bool) {
        wire_write!(opt self.timestamp, "timestamp", out first);
        wire_write!(opt self.raw_event, "rawEvent", out first);
        wire_write!(opt self.metadata, "metadata", out first);
    }
}
