//! What a host uses: engine, sessions, drivers.

pub use runloom_core as core;

pub mod http;
#[cfg(feature = "smol")]
pub mod smol;

mod driver;
mod engine;
mod feed;
mod gate;
mod host;
mod outcome;
mod panics;
mod registry;
mod run;
mod session;
mod shared;
mod start;
mod sync;
pub mod testing;
mod timer;
mod token;
mod transport;
mod wakers;

pub use crate::core::config::{Config, ConfigError, Deadlines, Limits, RetryPolicy};
pub use crate::core::error::{Misuse, RunError};
pub use crate::core::event::{Envelope, Event, EventKind};
pub use crate::core::history::{History, HistoryBounds, HistoryError};
pub use crate::core::id::{CallRef, MessageId, OpId, Revision, RunId, Seq, SessionId};
pub use crate::core::message::{
    Image, ImageData, Message, MessageBounds, Part, Role, ToolCall, ToolResult, ToolStatus,
};
pub use crate::core::model::{
    Completion, Finish, ModelItem, ModelParameters, ModelRequest, ModelSpec, Problem, ProblemKind, ToolChoice,
};
pub use crate::core::outcome::{Answer, CancelCause, Ended, LateCompletion, Outcome, RunResult, StopReason};
pub use crate::core::output::{CancelReply, Credit, Work};
pub use crate::core::text::Text;
pub use crate::core::time::Time;
pub use crate::core::tool::{
    Access, AuthorizeRequest, Certainty, ToolFault, ToolInvocation, ToolOutput, ToolSpec, ToolSpecError,
};
pub use crate::core::usage::Usage;
pub use crate::driver::Driver;
pub use crate::engine::{Engine, EngineBuilder, EngineShutdown, IdKind, SessionError};
pub use crate::feed::{EventStream, Events};
pub use crate::host::{
    Approval, ApprovalContext, Approver, ApproverFn, Flavour, Host, HostBuilder, HostError, HostTransport,
    Local, LocalApprover, LocalApproverFn, LocalModel, LocalModelFn, LocalTool, LocalToolFn, Model,
    ModelContext, ModelFn, Progress, Shared, Tool, ToolContext, ToolFn, approver_fn, local_approver_fn,
    local_model_fn, local_tool_fn, model_fn, tool_fn,
};
pub use crate::outcome::WaitForOutcome;
pub use crate::run::{Run, RunHandle};
pub use crate::session::{Session, SessionState};
pub use crate::start::{RunOptions, RunSeed, StartError, UserInput};
pub use crate::timer::{ManualTimer, Sleep, Timer, sleep, sleep_until};
pub use crate::token::{CancellationToken, Cancelled, WaitForCancellation};
pub use crate::transport::Transport;
