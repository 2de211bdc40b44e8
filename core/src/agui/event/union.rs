//! The union of all events.

use super::*;
use crate::agui::wire::{
    Context, DecodeError, Decoded, Raw as RawJson, Wire, custom, decode, decode_bytes, encode, encode_into,
    tag, whole,
};
use alloc::vec::Vec;
use serde::de::{Deserialize, Deserializer};

/// Calls `$with!` with every event: its name and whether it says whose it is (`tagged`), cannot (`plain`), or is about
/// an invocation (`subject`).
macro_rules! union {
    ($($name:ident $boxed:ident $tag:ident),* $(,)?) => {
        /// An event on the wire.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Event {
            $( #[doc = concat!("See [`", stringify!($name), "`].")] $name(boxed!($boxed $name)), )*
        }

        $(
            impl From<$name> for Event {
                fn from(event: $name) -> Self {
                    Self::$name(event.into())
                }
            }
        )*

        impl Event {
            /// The event's type.
            pub const fn event_type(&self) -> EventType {
                match self { $( Self::$name(_) => EventType::$name, )* }
            }

            /// What every event may carry.
            pub fn base(&self) -> &Base {
                match self { $( Self::$name(event) => &event.base, )* }
            }

            /// What every event may carry, to be changed.
            pub fn base_mut(&mut self) -> &mut Base {
                match self { $( Self::$name(event) => &mut event.base, )* }
            }

            /// The invocation that the event says it belongs to. An event about an invocation has a subject, no owner.
            pub fn subagent_run_id(&self) -> Option<&str> {
                match self { $( Self::$name(event) => owner!($tag event), )* }
            }

            /// The place of the owner, for events that can have one.
            pub fn subagent_run_id_mut(&mut self) -> Option<&mut Option<String>> {
                match self { $( Self::$name(event) => owner_mut!($tag event), )* }
            }

            fn members(kind: EventType, json: &str, context: Context<'_>) -> Result<Option<Self>, serde_json::Error> {
                Ok(match kind {
                    $( EventType::$name => whole::<$name>(json, context, "type")?.map(Self::from), )*
                })
            }

            fn write_members<O: Out>(&self, out: &mut O) {
                match self { $( Self::$name(event) => event.write_members(out, &mut false), )* }
            }
        }
    };
}

macro_rules! boxed {
    (boxed $name:ident) => { Box<$name> };
    (plain $name:ident) => { $name };
}

macro_rules! owner {
    (tagged $event:ident) => {
        $event.subagent_run_id.as_deref()
    };
    (untagged $event:ident) => {{
        let _ = $event;
        None
    }};
}

macro_rules! owner_mut {
    (tagged $event:ident) => {
        Some(&mut $event.subagent_run_id)
    };
    (untagged $event:ident) => {{
        let _ = $event;
        None
    }};
}

union! {
    TextMessageStart plain tagged,
    TextMessageContent plain tagged,
    TextMessageEnd plain tagged,
    TextMessageChunk plain tagged,
    ToolCallStart plain tagged,
    ToolCallArgs plain tagged,
    ToolCallEnd plain tagged,
    ToolCallChunk plain tagged,
    ToolCallResult plain tagged,
    StateSnapshot plain tagged,
    StateDelta plain tagged,
    MessagesSnapshot plain untagged,
    ActivitySnapshot plain tagged,
    ActivityDelta plain tagged,
    Raw plain tagged,
    Custom plain tagged,
    RunStarted boxed untagged,
    RunFinished boxed untagged,
    RunError plain untagged,
    StepStarted plain tagged,
    StepFinished plain tagged,
    ReasoningStart plain tagged,
    ReasoningMessageStart plain tagged,
    ReasoningMessageContent plain tagged,
    ReasoningMessageEnd plain tagged,
    ReasoningMessageChunk plain tagged,
    ReasoningEnd plain tagged,
    ReasoningEncryptedValue plain tagged,
    SubagentStarted boxed untagged,
    SubagentFinished plain untagged,
    SubagentError plain untagged,
}

impl Event {
    /// Reads one event from JSON text; its `type` may stand anywhere. See [`decode`].
    ///
    /// # Errors
    ///
    /// As [`decode`]. An event of an unknown type is no error: its value is absent, and a notice names it.
    pub fn decode(json: &str) -> Result<Decoded<Self>, DecodeError> {
        decode(json)
    }

    /// Reads one event from bytes; see [`Event::decode`].
    ///
    /// # Errors
    ///
    /// As [`Event::decode`].
    pub fn decode_bytes(json: &[u8]) -> Result<Decoded<Self>, DecodeError> {
        decode_bytes(json)
    }

    /// The event as one line of JSON, without its end.
    pub fn encode(&self) -> String {
        encode(self)
    }

    /// Appends the event as one line of JSON, without its end.
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        encode_into(self, out);
    }

    /// Whether the event ends a run.
    pub const fn is_terminal(&self) -> bool {
        matches!(self.event_type(), EventType::RunFinished | EventType::RunError)
    }
}

impl Wire for Event {
    const EXPECTED: &'static str = "an event is expected: an object with a type";

    fn read<'de, D: Deserializer<'de>>(from: D, context: Context<'_>) -> Result<Option<Self>, D::Error> {
        Self::read_text(RawJson::deserialize(from)?.get(), context).map_err(|_| custom())
    }

    fn read_text(json: &str, context: Context<'_>) -> Result<Option<Self>, serde_json::Error> {
        // The type comes first in practice, so that looking for it costs next to nothing.
        let Some(name) = tag(json, "type") else {
            context.fail(Self::EXPECTED);
            return Err(custom());
        };
        match EventType::from_name(name.as_str()) {
            Some(kind) => Self::members(kind, json, context),
            None => {
                crate::read_json::check(json)?;
                context.unknown_event(name.as_str());
                Ok(None)
            }
        }
    }

    fn write<O: Out>(&self, out: &mut O) {
        out.push(b"{\"type\":\"");
        out.push(self.event_type().as_str().as_bytes());
        out.push(b"\"");
        self.write_members(out);
        out.push(b"}");
    }
}
