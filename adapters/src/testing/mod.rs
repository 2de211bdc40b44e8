//! Scripted models and tools, for tests that must give the same answer every time, and worlds in virtual time.
//!
//! Scripts plug into a [`Host`](crate::Host) like any other model or tool and keep accounts: clones of a script share
//! them, so that a test keeps one clone and asks it afterwards. A [`World`] plays the same scripts without an executor
//! and without waiting; [`explore()`] runs every order in which things can happen in it.
//!
//! ```
//! use runloom::testing::World;
//!
//! let report = World::new().model("hi").run();
//! assert_eq!(report.answer(), Some("hi"));
//! ```

mod additions;
mod cast;
pub mod conformance;
pub mod explore;
mod model;
mod random;
mod timer;
mod tool;
pub mod transcript;
pub mod world;

pub use explore::{Explore, ExploreError, Explored, explore};
pub use model::{Attempt, ScriptedModel, ScriptedStream};
pub use random::Random;
pub use timer::{CheckedTimer, NoWaiting};
pub use tool::ScriptedTool;
pub use world::{Reading, Report, World, WorldError};
