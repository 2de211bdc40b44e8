//! What tests of agents need: scripted worlds in virtual time, every interleaving of a small case, golden transcripts.
//!
//! ```
//! use runloom::testing::{World, text};
//!
//! let report = World::new().model(text("hi")).run();
//! assert_eq!(report.answer(), Some("hi"));
//! ```

pub mod explore;
mod random;
mod script;
pub mod transcript;
pub mod world;

pub use explore::{Explore, Explored, explore};
pub use random::Random;
pub use script::{Attempt, ToolScript, calls, fails, text, tool};
pub use world::{Reading, Report, World, WorldError};
