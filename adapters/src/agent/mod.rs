//! The way of an agent's events: context and guards, transformers, order, queue, stream; public as
//! [`agui::server`](crate::agui::server).

mod context;
mod end;
mod error;
mod guards;
mod ids;
mod queue;
mod runner;
mod sink;
mod speak;
mod state;
mod stream;
mod traits;
mod transform;
#[cfg(all(test, not(feature = "verify")))]
mod unverified;
mod usage;
mod watch;

pub use crate::core::agui::{ProtocolError, Rule, VerificationError};
pub use crate::token::{CancellationToken, Cancelled, WaitForCancellation};
pub use context::RunContext;
pub use end::StopPolicy;
pub use error::{Error, Result};
pub use guards::{MessageHandle, ReasoningHandle, StepGuard, SubagentHandle, ToolCallHandle};
pub use ids::{EntityKind, IdSource};
pub use queue::{EventReceiver, Ready};
pub use runner::{Runner, run, run_local};
pub use speak::Activity;
pub use stream::RunStream;
pub use traits::{Agent, AgentState, LocalAgent};
pub use transform::Transformer;
