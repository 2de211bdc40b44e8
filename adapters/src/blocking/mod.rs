//! Runs without an executor: the calling thread polls the driver and parks in between.
//!
//! [`run`] answers one input and hands each event to a function as it comes. [`BlockingTimer::block_on`] is the same for
//! any future; models and tools may use whatever wakes from a thread of its own, such as what the feature `smol` brings.
//!
//! ```
//! use runloom::blocking::{self, BlockingTimer};
//! use runloom::testing::ScriptedModel;
//! use runloom::{Engine, Host, ModelSpec};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = ScriptedModel::new(["Hello!".into()]);
//! let host = Host::shared().model(ModelSpec::new("scripted"), model).build()?;
//! let session = Engine::new(host, BlockingTimer::new()).session()?;
//!
//! let mut kinds = Vec::new();
//! let outcome = blocking::run(&session, "Hi.", |envelope| kinds.push(envelope.event.kind().as_str()))?;
//! assert_eq!(outcome.answer().map(|answer| answer.text.as_str()), Some("Hello!"));
//! assert_eq!((kinds.first(), kinds.last()), (Some(&"run.started"), Some(&"run.completed")));
//! # Ok(())
//! # }
//! ```

mod park;
mod timer;

pub use timer::BlockingTimer;

use crate::core::event::Envelope;
use crate::core::outcome::Outcome;
use crate::host::Flavour;
use crate::session::Session;
use crate::start::{StartError, UserInput};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

/// Answers `input` on the calling thread. `each` gets every event, in order, before the driver is polled again: it sets
/// the run's pace (E13). If it panics, the run ends as dropped, and the panic goes on.
///
/// To cancel the run from elsewhere, start it with [`Session::start_with`] and block on its driver.
///
/// # Errors
///
/// As [`Session::start`].
pub fn run<F: Flavour>(
    session: &Session<F, BlockingTimer>,
    input: impl Into<UserInput>,
    mut each: impl FnMut(&Envelope),
) -> Result<Arc<Outcome>, StartError> {
    let (mut run, mut driver) = session.start(input)?;
    let outcome = session.engine.timer.block_on(poll_fn(move |cx| {
        let outcome = Pin::new(&mut driver).poll(cx);
        loop {
            while let Some(envelope) = run.take() {
                each(envelope);
            }
            match pin!(run.fill()).poll(cx) {
                Poll::Ready(true) => {}
                // All events have been seen when the outcome is given.
                Poll::Ready(false) | Poll::Pending => return outcome,
            }
        }
    }));
    Ok(outcome)
}
