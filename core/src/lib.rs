//! The runloom state machine: one agent run as a pure step from inputs to outputs and recorded events.
//!
//! Everything that can happen to a run is an [`Input`]: model items, tool progress, time, cancellation, the position
//! of the reader. Everything that a run wants done is an [`Output`]: begin this, abandon that, reply to this command.
//! [`Run::step`] turns one into the other. It does no IO, reads no clock, draws no random number and needs no
//! executor; the events that it records in its [`EventLog`](log::EventLog) are ordered, verified and replayable.
//!
//! ```
//! use runloom_core::config::Config;
//! use runloom_core::history::History;
//! use runloom_core::id::{Revision, RunId, SessionId};
//! use runloom_core::input::Start;
//! use runloom_core::message::Part;
//! use runloom_core::model::{Completion, Finish, ModelItem, ModelSpec};
//! use runloom_core::time::Time;
//! use runloom_core::{Input, Outbox, Output, Run};
//! use std::sync::Arc;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut run = Run::new(RunId::new("run-1")?, Arc::new(Config::default()));
//! let mut out = Outbox::new();
//! let input = vec![Part::Text("hello".into())];
//! let model = Arc::new(ModelSpec::new("some-model"));
//! let start = Start::new(SessionId::new("s")?, Revision(0), History::default(), input, model);
//! let next = run.step(Time::ZERO, Input::Start(Box::new(start)), &mut out)?;
//! assert!(next.live);
//!
//! // The run asks for a model call; whoever drives it brings the answer back as inputs.
//! let Some(Output::Begin { op, .. }) = out.pop() else { panic!() };
//! let at = Time::from_millis(20);
//! let _ = run.step(at, Input::Model { op, item: ModelItem::Text("Hi!".into()) }, &mut out)?;
//! let done = ModelItem::Done(Box::new(Completion::new(Some(Finish::Stop), "stop")));
//! let next = run.step(at, Input::Model { op, item: done }, &mut out)?;
//!
//! assert!(!next.live);
//! assert_eq!(run.outcome().unwrap().answer().unwrap().text, "Hi!");
//! let kinds: Vec<_> = run.log().iter().map(|e| e.event.kind().as_str()).collect();
//! assert_eq!(kinds, [
//!     "run.started", "step.started", "model.started", "text.delta", "model.completed", "step.completed",
//!     "run.completed",
//! ]);
//! # Ok(())
//! # }
//! ```
//!
//! # The laws
//!
//! - **W1** Misuse changes nothing.
//! - **W2** A spurious wake is a no-op.
//! - **W3** After a step at `now`, `wake.at > now`, due work being done in the same step; except for the deadlines of
//!   first item, idle and tool, which only `Wake { quiet: true }` decides.
//! - **W4** Nothing but replies comes out once a run is not live.
//! - **W5** Each `Begin` gets exactly one end: an accepted final completion or an `Abandon`.
//! - **W6** Events and outputs of a step stay below [`Config::max_step_events`](config::Config::max_step_events) and
//!   [`Config::max_step_outputs`](config::Config::max_step_outputs).
//! - **W7** Exactly one terminal event, and the outcome agrees with it.
//! - **W8** Equal inputs give equal logs, byte for byte.
//! - **W9** Every log passes the verifier.
//! - **W10** History is always valid.

#![no_std]
#![warn(clippy::wildcard_enum_match_arm, clippy::missing_errors_doc)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod agui;
pub mod assemble;
mod base64;
pub mod boundary;
pub mod canonical;
mod clock;
pub mod compaction;
pub mod config;
pub mod error;
pub mod event;
pub mod history;
pub mod host_input;
pub mod id;
pub mod input;
mod joined;
pub mod journal;
pub mod json;
#[cfg(feature = "verify")]
pub mod laws;
pub mod log;
mod machine;
pub mod mcp;
pub mod message;
pub mod model;
pub mod observe;
mod observers;
pub mod outcome;
pub mod output;
mod phase;
#[cfg(feature = "verify")]
mod planted;
pub mod problem;
pub mod provider;
mod read_json;
pub mod reader;
pub mod record;
mod retry;
mod run;
pub mod saved;
pub mod snapshot;
pub mod steer;
pub mod suspend;
pub mod telemetry;
pub mod text;
pub mod time;
pub mod tool;
pub mod usage;
#[cfg(feature = "verify")]
pub mod verify;

pub use input::Input;
pub use output::{Next, Outbox, Output, Reply};
pub use run::Run;
