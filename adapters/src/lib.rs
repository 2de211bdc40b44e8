//! Agent runs on any executor, in one ordered stream of events that can be verified and replayed.
//!
//! An [`Engine`] has a [`Host`] (a model, tools, an approver) and a [`Timer`]. Its [`Session`]s are conversations.
//! [`Session::start`] answers an input with two values: a [`Run`], the handle to follow and to command the run by, and
//! a [`Driver`], a future that does the work when it is polled. Spawn it, join it, or block on it: there is no runtime
//! behind it.
//!
//! ```
//! use futures_lite::future::{block_on, zip};
//! use runloom::testing::{Attempt, ScriptedModel};
//! use runloom::{Engine, Event, Host, ManualTimer, ModelSpec, ToolOutput, ToolSpec, tool_fn};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let schema = r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}}}"#;
//! let add = tool_fn(ToolSpec::new("add", "Adds two numbers.", schema)?, |arguments, cx| async move {
//!     cx.progress("adding").await;
//!     match (arguments["a"].as_i64(), arguments["b"].as_i64()) {
//!         (Some(a), Some(b)) => Ok(ToolOutput::text((a + b).to_string())),
//!         _ => Ok(ToolOutput::error("a and b must be whole numbers")),
//!     }
//! });
//! // A model that follows a script; a real one speaks to its provider.
//! let model = ScriptedModel::new([
//!     Attempt::new().text("Let me see. ").call("add", r#"{"a":19,"b":23}"#),
//!     Attempt::new().text("It is ").text("42."),
//! ]);
//! let host = Host::shared().model(ModelSpec::new("scripted").system("Be brief."), model).tool(add).build()?;
//! let session = Engine::new(host, ManualTimer::new()).session()?;
//!
//! let (mut run, driver) = session.start("What is 19 + 23?")?;
//! let follow = async {
//!     let mut shown = String::new();
//!     let mut events = run.events();
//!     while let Some(envelope) = events.next().await {
//!         match envelope.event {
//!             Event::TextDelta(text) => shown.push_str(&text),
//!             Event::ToolUpdated(update) => shown.push_str(&format!("[{}] ", update.progress)),
//!             _ => {}
//!         }
//!     }
//!     shown
//! };
//! let (outcome, shown) = block_on(zip(driver, follow));
//!
//! assert_eq!(shown, "Let me see. [adding] It is 42.");
//! assert_eq!(outcome.answer().map(|answer| answer.text.as_str()), Some("It is 42."));
//! assert_eq!(session.history().len(), 4);
//! assert_eq!(session.revision(), outcome.revision);
//! # Ok(())
//! # }
//! ```
//!
//! - A run keeps the pace of its reader (E13). Read its events, await its [`outcome`](Run::outcome), or start it
//!   [`unattended`](RunOptions::unattended).
//! - [`Run::cancel`], a dropped [`Run`], a dropped [`Driver`] and [`Engine::shutdown`] end a run at once: when they
//!   return, it is committed and its log closed, on every executor alike (C7, C8, C10).
//! - [`Host::shared`] takes [`Model`], [`Tool`] and [`Approver`], whose futures are `Send`; [`Host::local`] takes
//!   [`LocalModel`], [`LocalTool`] and [`LocalApprover`], which may hold what stays on one thread.
//! - Nothing here starts a thread, and only [`blocking`] reads a clock, for programs without an executor. The features `smol` and `tokio` bring a timer and an HTTP client
//!   each.
//!
//! The state machine itself is the crate [`runloom_core`], here as [`core`].

pub use runloom_core as core;

pub mod agui;
// A browser's thread cannot park.
#[cfg(not(target_family = "wasm"))]
pub mod blocking;
pub mod http;
#[cfg(any(feature = "smol", feature = "tokio"))]
pub mod http1;
pub mod mcp;
#[cfg(feature = "smol")]
pub mod smol;
#[cfg(feature = "tracing")]
pub mod telemetry;
#[cfg(feature = "tokio")]
pub mod tokio;

mod agent;
mod best_effort;
mod boundary;
mod compaction;
mod control;
mod driver;
mod engine;
mod feed;
mod gate;
mod host;
mod journal;
#[cfg(all(test, runloom_loom))]
mod models;
mod outcome;
mod panics;
mod reading;
mod registry;
mod run;
mod session;
mod shared;
mod start;
mod state;
pub mod store;
mod sub_agent;
mod sync;
pub mod testing;
mod timer;
mod token;
mod transport;
mod wakers;

pub use crate::best_effort::{
    BestEffort, BestEffortCounts, BestEffortError, BestEffortEvent, BestEffortOptions, MAX_BEST_EFFORT,
};
pub use crate::boundary::{
    BoundaryInputs, BoundaryQuestion, BoundaryRefused, BoundarySource, boundary_inputs,
};
pub use crate::compaction::{CompactError, Compacted};
pub use crate::control::RunControl;
pub use crate::core::boundary::{Boundary, BoundaryError};
pub use crate::core::compaction::{
    Compaction, CompactionError, CompactionFault, CompactionPolicy, CompactionRequest, Trigger,
};
pub use crate::core::config::{Config, ConfigError, Deadlines, Limits, RetryPolicy};
pub use crate::core::error::{Misuse, RunError};
pub use crate::core::event::{Envelope, Event, EventKind};
pub use crate::core::history::{History, HistoryBounds, HistoryError};
pub use crate::core::host_input::{
    AskError, Choice, Field, Form, HostAnswer, HostRequest, Prompt, Question, Questionnaire, Refusal,
    RequestKind, RespondError, Shape,
};
pub use crate::core::id::{CallRef, MessageId, OpId, RequestId, Revision, RunId, Seq, SessionId, SteerId};
pub use crate::core::message::{
    Image, ImageData, Message, MessageBounds, Part, Role, ToolCall, ToolResult, ToolStatus,
};
pub use crate::core::model::{
    Activity, CallDelta, Completion, FinalCall, Finish, ModelItem, ModelParameters, ModelRequest, ModelSpec,
    Problem, ProblemKind, ToolChoice,
};
pub use crate::core::observe::{
    DurabilityError, DurabilityReason, MAX_OBSERVERS, ObserveRequest, ObserverFault,
};
pub use crate::core::outcome::{Answer, CancelCause, Ended, LateCompletion, Outcome, RunResult, StopReason};
pub use crate::core::output::{CancelReply, Credit, Work};
pub use crate::core::reader::{
    After, Cursor, CursorError, Exceeded, LiveHistory, Page, ReadBounds, ReadError, ReadFault, ReadResource,
};
pub use crate::core::saved::{ImportBounds, ImportError, ImportProblem};
pub use crate::core::snapshot::{LastRun, Lifecycle, Metadata, MetadataError, Snapshot, SnapshotError};
pub use crate::core::steer::{RetractReply, Steer, SteerError, SteeringItem};
pub use crate::core::suspend::{NotSuspendable, ResumeError, Suspended};
pub use crate::core::text::Text;
pub use crate::core::time::Time;
pub use crate::core::tool::{
    Access, ApprovalPolicy, AuthorizeRequest, Certainty, Preparation, Resource, Resumption, ToolAsk,
    ToolFault, ToolInvocation, ToolOutput, ToolSpec, ToolSpecError,
};
pub use crate::core::usage::Usage;
pub use crate::driver::Driver;
pub use crate::engine::{Engine, EngineBuilder, EngineShutdown, IdKind, SessionError};
pub use crate::feed::{EventStream, Events};
pub use crate::host::{
    Approval, ApprovalContext, Approver, ApproverFn, Asking, CompactionContext, Compactor, CompactorFn,
    Flavour, Host, HostBuilder, HostError, HostTransport, Local, LocalApprover, LocalApproverFn,
    LocalCompactor, LocalCompactorFn, LocalModel, LocalModelFn, LocalObserver, LocalObserverFn,
    LocalResponder, LocalResponderFn, LocalSummarizer, LocalTool, LocalToolFn, Model, ModelContext, ModelFn,
    Observer, ObserverFn, Progress, Responder, ResponderContext, ResponderFn, Shared, Steering, Summarizer,
    Tool, ToolContext, ToolFn, ToolReturn, UnknownTool, approver_fn, compactor_fn, local_approver_fn,
    local_compactor_fn, local_model_fn, local_observer_fn, local_responder_fn, local_tool_fn, model_fn,
    observer_fn, responder_fn, tool_fn,
};
pub use crate::journal::{Journal, JournalFull};
pub use crate::outcome::WaitForOutcome;
pub use crate::reading::{RunReader, Subscription};
pub use crate::run::{Run, RunHandle};
pub use crate::session::{Session, SessionState};
pub use crate::start::{RunOptions, RunSeed, StartError, UserInput};
pub use crate::sub_agent::{SubAgent, SubAgentCall, SubAgentUpdate, sub_agent_progress};
pub use crate::timer::{ManualTimer, Sleep, Timer, sleep, sleep_until};
pub use crate::token::{CancellationToken, Cancelled, WaitForCancellation};
pub use crate::transport::Transport;
