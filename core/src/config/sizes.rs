//! What follows from limits: how large a machine step can be, what the log must hold, and whether limits fit (L1, W6).

use super::{
    ATTEMPT_EVENTS, BOUNDARY_EVENTS, CLOSING_EVENT, CLOSING_EVENTS, Config, ConfigError, ENVELOPE,
    LONGEST_CHARACTER, MAX_DETAIL, MAX_NOTE, OUTCOME_EXTRA, RESULT_PART,
};

impl Config {
    /// Most events that one machine step records (W6).
    pub fn max_step_events(&self) -> usize {
        // A response's end proposes and may at once finish each call, ends its step and begins the next; a piece of
        // text may be recorded as several deltas; closing adds its own set.
        // An escape that does not fit leaves room at the end of a piece.
        let shortest = self.limits.delta_bytes.saturating_sub(LONGEST_CHARACTER - 1).max(1);
        let deltas = usize::try_from(self.limits.response_bytes.div_ceil(shortest)).unwrap_or(usize::MAX);
        // Each call may in one step be proposed, be handed to the client, find nobody who answers, and end.
        let calls = self.limits.calls.saturating_mul(5).saturating_add(self.limits.open_questions);
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
        calls.saturating_add(questions).saturating_add(self.limits.steers).saturating_add(6)
    }

    /// Most encoded bytes that one machine step records (W6): the time of all questions may be up at once, and then the
    /// fallback of each is recorded.
    pub fn max_step_bytes(&self) -> u64 {
        let answers = (self.limits.open_questions as u64).saturating_mul(self.limits.answer_bytes);
        self.step_bytes().saturating_add(answers)
    }

    /// The same without answers, for which the log has room of its own.
    fn step_bytes(&self) -> u64 {
        let limits = &self.limits;
        let finished =
            (limits.calls as u64).saturating_mul(limits.error_bytes.saturating_add(CLOSING_EVENT + ENVELOPE));
        let envelopes = (self.max_step_events() as u64).saturating_mul(ENVELOPE);
        let largest = limits.response_bytes.max(limits.payload_bytes);
        let (calls, questions) = (limits.calls as u64, limits.open_questions as u64);
        // A response ends, and each call is handed to the client, who is not there.
        largest
            .saturating_add(calls.saturating_mul(3).saturating_add(questions).saturating_mul(CLOSING_EVENT))
            .saturating_add((self.between_events() as u64).saturating_mul(CLOSING_EVENT))
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
    fn result_bytes(&self) -> u64 {
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
            .saturating_add(self.step_bytes().saturating_mul(2))
            .saturating_add(self.attempt_events().saturating_mul(CLOSING_EVENT + ENVELOPE))
            .saturating_add(self.held_bytes())
            .saturating_add(self.answered_bytes())
            .saturating_add(self.between_bytes())
            .saturating_add(self.closing_bytes())
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let limits = &self.limits;
        let nonzero: [(&'static str, u64); 17] = [
            ("event capacity", limits.event_capacity as u64),
            ("event capacity in bytes", limits.event_capacity_bytes),
            ("subscription events", limits.subscription_events),
            ("subscription bytes", limits.subscription_bytes),
            ("payload bytes", limits.payload_bytes),
            ("response bytes", limits.response_bytes),
            ("argument bytes", limits.argument_bytes),
            ("calls", limits.calls as u64),
            ("input bytes", limits.input_bytes),
            ("image bytes", limits.image_bytes as u64),
            ("parallel tools", limits.parallel_tools as u64),
            ("preparations", limits.preparations as u64),
            ("steps", u64::from(limits.steps)),
            ("delta bytes", limits.delta_bytes),
            ("tool output bytes", limits.tool_output_bytes),
            ("steer bytes", limits.steer_bytes),
            ("boundary bytes", limits.boundary_bytes),
        ];
        if let Some((name, _)) = nonzero.iter().find(|(_, value)| *value == 0) {
            return Err(ConfigError::Zero(name));
        }
        self.check_sizes()
    }

    pub(super) fn check_sizes(&self) -> Result<(), ConfigError> {
        let limits = &self.limits;
        if limits.calls > 4_096 {
            return Err(ConfigError::TooLarge { what: "calls", most: 4_096, observed: limits.calls as u64 });
        }
        // A payload's members beside its one long text.
        let members = CLOSING_EVENT;
        let inner = limits
            .argument_bytes
            .max(limits.delta_bytes)
            .max(self.result_bytes())
            .max(limits.progress_bytes)
            .max(limits.fact_bytes)
            .max(limits.question_bytes)
            .max(limits.answer_bytes)
            .max(limits.error_bytes)
            .max(MAX_DETAIL);
        let floors: [(&'static str, u64, u64); 10] = [
            ("parts", limits.calls as u64 + 2, limits.parts as u64),
            ("delta bytes", 16, limits.delta_bytes),
            ("tool output bytes", 256, limits.tool_output_bytes),
            ("progress bytes", 256, limits.progress_bytes),
            ("error bytes", 256, limits.error_bytes),
            ("question bytes", 256, limits.question_bytes),
            ("answer bytes", 256, limits.answer_bytes),
            ("payload bytes", inner.saturating_add(members), limits.payload_bytes),
            ("log events", self.min_log_events() as u64, limits.log_events as u64),
            ("log bytes", self.min_log_bytes(), limits.log_bytes),
        ];
        match floors.into_iter().find(|(_, least, observed)| observed < least) {
            Some((what, least, observed)) => Err(ConfigError::TooSmall { what, least, observed }),
            None => Ok(()),
        }
    }
}
