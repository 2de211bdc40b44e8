//! A suite that holds an executor, and a timer, to what drivers need of them (X2, C3, C8, X5).
//!
//! Whoever brings an executor of their own implements [`SharedExecutor`] or [`LocalExecutor`] for it and runs a
//! [`Suite`]. It plays scripted runs on it: in order, ended at every moment from outside, with panics, odd timers, hostile
//! wakers, tools that call back; it counts polls and wakes; and it compares each log with that of the barest executor
//! there is. The [`Report`] has one row for each scenario.
//!
//! ```
//! use runloom::testing::conformance::{BlockOn, Suite};
//! use runloom::ManualTimer;
//!
//! # #[cfg(not(feature = "smol"))]
//! # fn main() {}
//! # #[cfg(feature = "smol")]
//! # fn main() {
//! // Something that blocks on one future; the suite brings the tasks.
//! let block_on = || BlockOn::new(|future| futures_lite::future::block_on(future));
//! let suite = Suite::local("futures-lite", move || (block_on(), runloom::smol::SmolTimer::new()));
//! let report = suite.run();
//! println!("{report}");
//! report.assert();
//! # }
//! ```
//!
//! An executor with tasks of its own says how they are spawned, and how one is ended from outside:
//!
//! ```
//! # #[cfg(feature = "tokio")]
//! # mod with_tokio {
//! use runloom::testing::conformance::{LocalExecutor, LocalTask, Spawned};
//! use tokio::runtime::Runtime;
//! use tokio::task::LocalSet;
//!
//! struct OnLocalSet(Runtime, LocalSet);
//!
//! impl LocalExecutor for OnLocalSet {
//!     fn run(&self, main: LocalTask) {
//!         self.1.block_on(&self.0, main);
//!     }
//!
//!     fn spawn(&self, task: LocalTask) -> Spawned {
//!         let task = self.1.spawn_local(task);
//!         Spawned::new(move || task.abort())
//!     }
//! }
//! # }
//! ```

mod bare;
mod block_on;
mod executor;
mod flavours;
mod hosts;
mod odd;
mod probe;
mod report;
mod scenarios;
mod stage;
mod suite;
mod watch;

pub use block_on::BlockOn;
pub use executor::{LocalExecutor, LocalTask, SharedExecutor, SharedTask, Spawned};
pub use report::{Report, Row};
pub use suite::Suite;
