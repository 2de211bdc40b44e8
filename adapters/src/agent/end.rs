//! How a run's stream ends, whatever the agent did (V1, V4, V6, V8).

use super::context::RunContext;
use super::error::{CANCELLED, Error, Result};
use super::traits::AgentState;
use crate::core::agui::{Event, RunAgentInput, RunOutcome};
use crate::panics::{caught, drop_caught};

const STOPPED: &str = "the run was cancelled";

/// What a stop, be it by a person, a deadline, a disconnect or a shutdown, looks like to the peer (V8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StopPolicy {
    /// As the input's protocol version demands: [`Finish`](Self::Finish) from 1.0 on, [`Fail`](Self::Fail) where none is
    /// declared.
    #[default]
    ByVersion,
    /// What is open is closed, then `RUN_FINISHED` with outcome `cancelled`.
    Finish,
    /// `RUN_ERROR` with code `CANCELLED`.
    Fail,
}

/// What became of an agent.
pub(super) enum Ended {
    Returned(Result<RunOutcome>),
    Panicked,
    /// It went on waiting after a cancellation.
    Abandoned,
}

/// What ends are made of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    pub(super) stop: StopPolicy,
    /// An event that was refused fails the run, even if the agent passed over it.
    pub(super) strict: bool,
    /// A success closes what is open, instead of failing.
    pub(super) close_open: bool,
}

impl StopPolicy {
    fn finishes(self, input: &RunAgentInput) -> bool {
        match self {
            Self::ByVersion => input.declares_1_0(),
            Self::Finish => true,
            Self::Fail => false,
        }
    }
}

impl<S: AgentState> RunContext<S> {
    /// Ends the stream, unless it has its end.
    pub(super) fn end(&mut self, ended: Ended, manner: Manner) {
        if self.sink.ended {
            return;
        }
        let finished = match ended {
            _ if self.is_cancelled() => Err(Error::Cancelled),
            Ended::Abandoned | Ended::Returned(Ok(RunOutcome::Cancelled)) => Err(Error::Cancelled),
            Ended::Panicked => Err(Error::agent("it panicked")),
            Ended::Returned(Ok(outcome)) => self.finish(outcome, manner),
            Ended::Returned(Err(error)) => Err(error),
        };
        match finished {
            Ok(()) => {}
            Err(Error::Cancelled) => self.stop(manner),
            Err(error) => self.fail(error),
        }
    }

    /// Ends the run as what the agent returned; whatever keeps that from being sent is an error.
    fn finish(&mut self, outcome: RunOutcome, manner: Manner) -> Result<()> {
        if let Some(violation) = self.violation().filter(|_| manner.strict) {
            return Err(violation.clone().into());
        }
        outcome.check()?;
        // Converting state is the agent's code.
        caught(|| self.flush()).unwrap_or_else(|| Err(Error::agent("its state panicked")))?;
        if manner.close_open {
            self.sink.close_all(STOPPED);
        }
        let pending = self.pending_tool_calls();
        let outcome = match outcome {
            RunOutcome::Success if !pending.is_empty() => RunOutcome::SuccessWithPendingToolCalls(pending),
            outcome => outcome,
        };
        let mut event = self.finished(outcome);
        if let Event::RunFinished(finished) = &mut event {
            finished.result = self.result.take();
        }
        self.sink.terminate(event)
    }

    fn finished(&self, outcome: RunOutcome) -> Event {
        let mut event = Event::run_finished(self.thread_id(), self.run_id(), Some(outcome));
        if let Event::RunFinished(finished) = &mut event {
            finished.usage.clone_from(&self.usage);
        }
        event
    }

    fn stop(&mut self, manner: Manner) {
        if manner.stop.finishes(self.input()) {
            self.sink.close_all(STOPPED);
            if self.sink.terminate(self.finished(RunOutcome::Cancelled)).is_ok() {
                return;
            }
        }
        self.error(STOPPED.to_owned(), CANCELLED);
    }

    pub(super) fn fail(&mut self, error: Error) {
        let code = error.code();
        let message = caught(|| error.to_string()).unwrap_or_else(|| "agent error".to_owned());
        drop_caught(error);
        self.error(message, code);
    }

    fn error(&mut self, message: String, code: &str) {
        let mut event = Event::run_error(message, Some(code.to_owned()));
        if let Event::RunError(error) = &mut event {
            error.usage.clone_from(&self.usage);
        }
        // It fails only where nobody reads, or where the run has its end.
        let _ = self.sink.terminate(event);
    }
}
