//! What runs on tokio: a timer, ways to spawn drivers, and an HTTP client.
//!
//! A driver is a plain future, so `tokio::spawn(driver)` is all that it needs; [`spawn`] adds an error in place of a
//! panic where there is no runtime. [`TokioTimer`] belongs to one runtime and works on every thread, tokio's or not. On
//! a runtime whose time is paused, a run's waits pass as the runtime's clock is moved.
//!
//! ```
//! use runloom::testing::ScriptedModel;
//! use runloom::tokio::{TokioTimer, spawn};
//! use runloom::{Engine, Host, ModelSpec};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! let outcome = runtime.block_on(async {
//!     let host = Host::shared().model(ModelSpec::new("scripted"), ScriptedModel::new(["hi".into()])).build()?;
//!     let session = Engine::new(host, TokioTimer::current()?).session()?;
//!     let (run, driver) = session.start("hello")?;
//!     spawn(driver)?;
//!     Ok::<_, Box<dyn std::error::Error>>(run.outcome().await)
//! })?;
//! assert_eq!(outcome.answer().map(|answer| answer.text.as_str()), Some("hi"));
//! # Ok(())
//! # }
//! ```

pub mod http;
mod spawn;
mod timer;

pub use spawn::{DriverTask, TaskEnded, spawn, spawn_local_on, spawn_on};
pub use timer::TokioTimer;

/// The calling thread is in no tokio runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no tokio runtime on this thread")]
pub struct NoRuntime;
