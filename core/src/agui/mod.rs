//! AG-UI 1.1 without IO: events and messages, their JSON, and the rules that streams of them keep.
//!
//! ```
//! use runloom_core::agui::{Event, TextRole};
//!
//! let event = Event::text_message_start("msg-1", TextRole::Assistant);
//! let json = event.encode();
//! assert_eq!(json, r#"{"type":"TEXT_MESSAGE_START","messageId":"msg-1","role":"assistant"}"#);
//!
//! let decoded = Event::decode(&json)?;
//! assert_eq!(decoded.value, Some(event));
//! assert!(decoded.notices.is_empty());
//!
//! // What the protocol does not describe is taken out and told of.
//! let decoded = Event::decode(r#"{"type":"STEP_STARTED","stepName":"plan","mood":"fine"}"#)?;
//! assert_eq!(decoded.value, Some(Event::step_started("plan")));
//! assert_eq!(decoded.notices[0].to_string(), "unknown member removed at /mood");
//!
//! // What it describes and finds wrong is an error that says where.
//! let error = Event::decode(r#"{"type":"STEP_STARTED","stepName":1}"#).unwrap_err();
//! assert_eq!(error.to_string(), "malformed at /stepName: a string is expected");
//! # Ok::<(), runloom_core::agui::wire::DecodeError>(())
//! ```

#[macro_use]
pub mod wire;
pub mod capabilities;
pub mod compact;
pub mod consume;
pub mod content;
pub mod event;
pub mod input;
mod lanes;
pub mod message;
pub mod outcome;
pub mod patch;
pub mod resume;
pub mod sse;
pub mod verify;
pub mod version;

pub use capabilities::AgentCapabilities;
pub use compact::compact;
pub use content::{Content, ContentPart};
pub use event::{Base, Event, EventType, Metadata, TextRole};
pub use input::RunAgentInput;
pub use message::{Message, Role};
pub use outcome::{Interrupt, ResumeEntry, ResumeStatus, RunOutcome, SubagentOutcome, TokenUsage};
pub use patch::Operation;
pub use verify::{Mode, Rule, VerificationError, Verifier};
pub use version::{PROTOCOL_VERSION, Version};
pub use wire::{DecodeError, Decoded, Notice};
