//! The core in a bare loop, as a program without an operating system runs it: no std, no executor, and a clock that is
//! a number. What the model and the tools do is a [`Script`].

#![no_std]

extern crate alloc;

mod script;

pub use script::Script;

use runloom_core::error::Misuse;
use runloom_core::input::Start;
use runloom_core::time::Time;
use runloom_core::{Input, Outbox, Output, Run};

/// Runs to the end, or to where nothing can happen any more; when that is.
///
/// # Errors
///
/// [`Misuse`] if the start or the script is not a proper one.
pub fn drive(run: &mut Run, start: Start, script: &mut Script) -> Result<Time, Misuse> {
    let mut out = Outbox::new();
    let mut now = Time::ZERO;
    let mut next = run.step(now, Input::Start(start.into()), &mut out)?;
    while next.live {
        // What is to be done.
        while let Some(output) = out.pop() {
            match output {
                Output::Begin { op, work } => script.begin(now, op, &work),
                Output::Abandon { op } => script.abandon(op),
                _ => {}
            }
        }
        // What has come in.
        if let Some(input) = script.take(now, !next.credit.is_zero()) {
            next = run.step(now, input, &mut out)?;
            continue;
        }
        // Nothing: on to what happens next, in the world or by the machine's own wish.
        let wish = next.wake.map(|wake| wake.at);
        let Some(at) = script.next().into_iter().chain(wish).min() else { break };
        now = now.max(at);
        if script.next().is_none_or(|at| at > now) && wish.is_some_and(|at| at <= now) {
            next = run.step(now, Input::Wake { quiet: true }, &mut out)?;
        }
    }
    Ok(now)
}
