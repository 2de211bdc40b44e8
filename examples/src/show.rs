//! What a program prints of a run: a timeline and a report, or its log as JSON Lines.

use crate::interrupt::INTERRUPTED;
use crate::screen::{Style, complain};
use crate::timeline::Timeline;
use runloom_core::event::Envelope;
use runloom_core::id::RunId;
use runloom_core::outcome::{Outcome, RunResult};
use std::io::{self, Stdout, Write};
use std::process::ExitCode;

/// One run on standard output.
#[derive(Debug)]
pub enum Shown {
    /// For programs: one event a line and nothing else.
    Json(Stdout),
    /// For people.
    Timeline(Timeline<Stdout>, Style),
}

impl Shown {
    /// Nothing is printed yet.
    pub fn new(json: bool) -> Self {
        if json {
            return Self::Json(io::stdout());
        }
        let style = Style::of_stdout();
        Self::Timeline(Timeline::new(io::stdout(), style), style)
    }

    /// Prints an event.
    ///
    /// # Errors
    ///
    /// Those of standard output; [`BrokenPipe`](io::ErrorKind::BrokenPipe) if nobody reads it any more.
    pub fn show(&mut self, run: &RunId, envelope: &Envelope) -> io::Result<()> {
        match self {
            Self::Json(out) => {
                writeln!(out, "{}", envelope.to_json(run))?;
                out.flush()
            }
            Self::Timeline(timeline, _) => timeline.show(envelope.at, &envelope.event),
        }
    }

    /// Prints what is to be told at the end, and returns the exit status that goes with the outcome.
    ///
    /// # Errors
    ///
    /// As for [`show`](Self::show).
    pub fn end(self, outcome: &Outcome) -> io::Result<ExitCode> {
        if let Self::Timeline(timeline, style) = self {
            let (mut out, report) = timeline.end()?;
            writeln!(out)?;
            report.write(outcome, style, &mut out)?;
        } else if let RunResult::Failed(error) = &outcome.result {
            complain(format_args!("failed: {error}"));
        }
        Ok(match &outcome.result {
            RunResult::Completed(_) => ExitCode::SUCCESS,
            RunResult::Cancelled(_) => ExitCode::from(INTERRUPTED),
            _ => ExitCode::FAILURE,
        })
    }
}
