//! How much room a log needs, so that closing cannot fail (L1, W6).

use super::{CLOSING_EVENT, CLOSING_EVENTS, Config, ENVELOPE, MAX_NOTE, OUTCOME_EXTRA};

/// Encoded bytes that one part of a tool result takes beside its text.
const RESULT_PART: u64 = 192;
/// Encoded bytes of the longest character, a control character.
const LONGEST_CHARACTER: u64 = 6;
/// Events of an attempt that fails by its deadline: it starts, fails, and is void.
const ATTEMPT_EVENTS: u64 = 3;
/// Events from the end of one step to the beginning of the next beside steers: the step ends, boundary input at its
/// completion and before the next step, a compaction, the step and its attempt begin.
const BOUNDARY_EVENTS: usize = 8;

impl Config {
    /// Most events that one machine step records (W6).
    pub fn max_step_events(&self) -> usize {
        // A response's end proposes and may at once finish each call, ends its step and begins the next; a piece of
        // text may be recorded as several deltas; closing adds its own set.
        // An escape that does not fit leaves room at the end of a piece.
        let shortest = self.limits.delta_bytes.saturating_sub(LONGEST_CHARACTER - 1).max(1);
        let deltas = usize::try_from(self.limits.response_bytes.div_ceil(shortest)).unwrap_or(usize::MAX);
        // Each call may in one step be proposed, ask for consent, be refused it and end.
        let calls = self.limits.calls.saturating_mul(4).saturating_add(self.limits.open_questions);
        calls
            .saturating_add(deltas)
            .saturating_add(self.limits.steers)
            .saturating_add(CLOSING_EVENTS + BOUNDARY_EVENTS + 4)
    }

    /// Most outputs of one machine step (W6).
    pub fn max_step_outputs(&self) -> usize {
        let begun = self.limits.parallel_tools.min(self.limits.calls);
        // Each call may in one step give up an operation and the one that asks the responder, and begin one of each.
        let calls = self.limits.calls.saturating_mul(4).saturating_add(begun);
        let questions = self.limits.open_questions.saturating_mul(2);
        calls.saturating_add(questions).saturating_add(self.limits.steers).saturating_add(4)
    }

    /// Most encoded bytes that one machine step records.
    pub fn max_step_bytes(&self) -> u64 {
        let limits = &self.limits;
        let finished =
            (limits.calls as u64).saturating_mul(limits.error_bytes.saturating_add(CLOSING_EVENT + ENVELOPE));
        let envelopes = (self.max_step_events() as u64).saturating_mul(ENVELOPE);
        let largest = limits.response_bytes.max(limits.payload_bytes);
        let requests = (limits.calls as u64).saturating_mul(2).saturating_add(limits.open_questions as u64);
        let requests = requests.saturating_mul(CLOSING_EVENT).saturating_add(self.between_bytes());
        largest
            .saturating_add(requests)
            .saturating_add(finished)
            .saturating_add(envelopes)
            .saturating_add(OUTCOME_EXTRA)
    }

    /// Encoded bytes that the largest closing set takes.
    pub fn closing_bytes(&self) -> u64 {
        let limits = &self.limits;
        let events = (limits.calls as u64).saturating_mul(2).saturating_add(limits.open_questions as u64);
        let events = events.saturating_add(CLOSING_EVENTS as u64).saturating_add(limits.steers as u64);
        let events = events.saturating_mul(CLOSING_EVENT + ENVELOPE);
        events.saturating_add(limits.response_bytes.saturating_mul(2)).saturating_add(OUTCOME_EXTRA)
    }

    /// Events of the largest closing set, an aborted response's proposals included.
    pub fn closing_events(&self) -> usize {
        let calls = self.limits.calls.saturating_mul(3).saturating_add(self.limits.open_questions);
        calls.saturating_add(self.limits.steers).saturating_add(CLOSING_EVENTS)
    }

    /// Events of the attempts that time may begin and end while nobody reads.
    fn attempt_events(&self) -> u64 {
        u64::from(self.retry.attempts).saturating_mul(ATTEMPT_EVENTS)
    }

    /// Encoded bytes of the results that tools may bring while nobody reads, and that an end still records (C5).
    fn held_bytes(&self) -> u64 {
        let tools = self.limits.parallel_tools.min(self.limits.calls) as u64;
        tools.saturating_mul(self.result_bytes().saturating_add(CLOSING_EVENT + ENVELOPE))
    }

    /// Encoded bytes of the answers that may come while nobody reads; each may end its call as well.
    fn answered_bytes(&self) -> u64 {
        let limits = &self.limits;
        let open = (limits.calls as u64).saturating_add(limits.open_questions as u64);
        let answer = limits.answer_bytes.saturating_add(2 * (CLOSING_EVENT + ENVELOPE));
        open.saturating_mul(answer)
    }

    /// Events of the same.
    fn answered_events(&self) -> usize {
        self.limits.calls.saturating_mul(2).saturating_add(self.limits.open_questions)
    }

    /// Encoded bytes of the largest content of a tool's result.
    pub(super) fn result_bytes(&self) -> u64 {
        let parts = (self.limits.parts as u64).saturating_mul(RESULT_PART);
        self.limits
            .tool_output_bytes
            .max(self.limits.answer_bytes)
            .saturating_add(parts)
            .saturating_add(MAX_NOTE)
    }

    /// Events between two steps that pass while nobody reads: compactions, boundary inputs, steers (E13, B4).
    fn between_events(&self) -> usize {
        self.limits.steers.saturating_add(BOUNDARY_EVENTS)
    }

    /// Encoded bytes of the same.
    fn between_bytes(&self) -> u64 {
        (self.between_events() as u64).saturating_mul(CLOSING_EVENT + ENVELOPE)
    }

    /// The least log, in events, that these limits can do with (L1).
    pub fn min_log_events(&self) -> usize {
        self.limits
            .event_capacity
            .saturating_add(self.max_step_events().saturating_mul(2))
            .saturating_add(usize::try_from(self.attempt_events()).unwrap_or(usize::MAX))
            .saturating_add(self.answered_events())
            .saturating_add(self.between_events())
            .saturating_add(self.closing_events())
    }

    /// The least log, in encoded bytes, that these limits can do with (L1).
    pub fn min_log_bytes(&self) -> u64 {
        self.limits
            .event_capacity_bytes
            .saturating_add(self.max_step_bytes().saturating_mul(2))
            .saturating_add(self.attempt_events().saturating_mul(CLOSING_EVENT + ENVELOPE))
            .saturating_add(self.held_bytes())
            .saturating_add(self.answered_bytes())
            .saturating_add(self.between_bytes())
            .saturating_add(self.closing_bytes())
    }
}
