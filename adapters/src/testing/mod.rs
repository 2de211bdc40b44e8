//! Scripted models and tools, for tests that must give the same answer every time, and worlds in virtual time.
//!
//! Scripts plug into a [`Host`](crate::Host) like any other model or tool and keep accounts: clones of a script share
//! them, so that a test keeps one clone and asks it afterwards. With the feature `verify`, a world plays the same scripts
//! without an executor and without waiting, and `explore` runs every order in which things can happen in it.

#[cfg(feature = "verify")]
mod additions;
#[cfg(feature = "verify")]
mod cast;
#[cfg(feature = "verify")]
pub mod conformance;
#[cfg(feature = "verify")]
pub mod explore;
mod model;
#[cfg(feature = "verify")]
mod player;
mod random;
pub mod store;
mod timer;
mod tool;
#[cfg(feature = "verify")]
pub mod transcript;
#[cfg(feature = "verify")]
pub mod world;

#[cfg(feature = "verify")]
pub use explore::{Explore, ExploreError, Explored, explore};
pub use model::{Attempt, ScriptedModel, ScriptedStream};
pub use random::Random;
pub use timer::{CheckedTimer, NoWaiting};
pub use tool::ScriptedTool;
#[cfg(feature = "verify")]
pub use world::{Reading, Report, World, WorldError};
