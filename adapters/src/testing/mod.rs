//! Scripted models and tools, for tests that must give the same answer every time.
//!
//! They plug into a [`Host`](crate::Host) like any other and keep accounts: clones of a script share them, so that a
//! test keeps one clone and asks it afterwards.

mod model;
mod timer;
mod tool;

pub use model::{Attempt, ScriptedModel, ScriptedStream};
pub use timer::{CheckedTimer, NoWaiting};
pub use tool::ScriptedTool;
