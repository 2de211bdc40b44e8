//! How one phase follows another.

use super::Run;
use crate::assemble::Response;
use crate::error::RunError;
use crate::message::{Part, Role};
use crate::model::{Completion, Finish};
use crate::outcome::StopReason;
use crate::output::Outbox;
use crate::phase::{Ending, Flow, Phase, batch, compact};
use crate::text::Text;
use alloc::boxed::Box;

impl Run {
    #[inline]
    pub(super) fn follow(&mut self, flow: Flow, out: &mut Outbox) {
        match flow {
            Flow::Stay => {}
            Flow::Respond(response, completion) => self.respond(*response, &completion, out),
            Flow::RetryAt(until) => {
                if let Phase::Model(call) = core::mem::replace(&mut self.phase, Phase::Closed) {
                    self.phase = Phase::Backoff(call, until);
                }
            }
            Flow::RetryNow => match core::mem::replace(&mut self.phase, Phase::Closed) {
                Phase::Model(mut call) | Phase::Backoff(mut call, _) => {
                    call.next_attempt(&mut self.m, out);
                    self.phase = Phase::Model(call);
                }
                other @ (Phase::New
                | Phase::Batch(_)
                | Phase::Boundary(_)
                | Phase::Compact(_)
                | Phase::Closed) => self.phase = other,
            },
            Flow::Overflow(problem) => {
                if let Phase::Model(call) = core::mem::replace(&mut self.phase, Phase::Closed) {
                    let compacting = compact::recover(&mut self.m, call, problem, out);
                    self.phase = Phase::Compact(Box::new(compacting));
                }
            }
            Flow::Compacted(done) => self.after_compaction(done, out),
            Flow::Settled => self.after_batch(out),
            Flow::End(ending) => self.end(ending, out),
        }
    }

    /// A whole response: what follows depends on its calls, not on the finish reason (M8).
    fn respond(&mut self, response: Response, completion: &Completion, out: &mut Outbox) {
        let Response { mut parts, answer, calls, .. } = response;
        parts.retain(|part| !matches!(part, Part::Text(text) if text.is_empty()));
        self.m.add(Role::Assistant, parts);
        let cut = completion.finish == Some(Finish::Length);
        let refused = matches!(completion.finish, Some(Finish::Refusal | Finish::ContentFilter));
        let stop = match (refused, cut) {
            (true, _) => StopReason::Refusal,
            (false, true) => StopReason::MaxTokens,
            (false, false) => StopReason::EndTurn,
        };
        if calls.is_empty() {
            if completion.finish != Some(Finish::Pause) {
                return if stop == StopReason::EndTurn {
                    self.end_turn(answer, out)
                } else {
                    self.end(Ending::Completed(stop, answer), out)
                };
            }
            self.m.invalid_turns = 0;
            return self.after_step(answer, out);
        }
        let barred = refused || (cut && calls.iter().any(|call| !call.complete));
        let calls = calls.into_iter().map(|call| call.call).collect();
        let batch = batch::begin(&mut self.m, calls, barred, answer, out);
        let settled = batch.is_settled();
        self.phase = Phase::Batch(Box::new(batch));
        if barred {
            let answer = self.take_answer();
            return self.end(Ending::Completed(stop, answer), out);
        }
        if settled {
            self.after_batch(out);
        }
    }

    fn take_answer(&mut self) -> Text {
        match &mut self.phase {
            Phase::Batch(batch) => batch.take_answer(),
            Phase::New
            | Phase::Model(_)
            | Phase::Backoff(..)
            | Phase::Boundary(_)
            | Phase::Compact(_)
            | Phase::Closed => Text::EMPTY,
        }
    }

    pub(super) fn after_batch(&mut self, out: &mut Outbox) {
        let answer = self.take_answer();
        if let Phase::Batch(batch) = core::mem::replace(&mut self.phase, Phase::Closed) {
            let results = batch.close(&mut self.m);
            self.m.add(Role::Tool, results);
        }
        let turns = self.m.invalid_turns;
        if turns >= self.m.config.retry.invalid_turns {
            return self.end(Ending::Failed(RunError::InvalidArguments { turns }), out);
        }
        self.after_step(answer, out);
    }

    /// The step is done; another follows, or the step limit is reached (R9).
    fn after_step(&mut self, answer: Text, out: &mut Outbox) {
        if !self.m.steps_left() {
            return self.end(Ending::Completed(StopReason::MaxSteps, answer), out);
        }
        self.another_step(out);
    }
}
