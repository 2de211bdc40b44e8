//! Limits of a run. Invalid values cannot be built (L1, bounds).

mod sizes;

use crate::assemble::ResponseBounds;
use crate::compaction::CompactionPolicy;
use crate::message::MessageBounds;
use crate::text::Text;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

/// Encoded bytes that one closing event takes at most (L1), its envelope included.
pub const CLOSING_EVENT: u64 = 1024;
/// Encoded bytes that a closing event's text takes at most.
pub const CLOSING_TEXT: u64 = 512;
/// Encoded bytes that a run's outcome takes beside its answer.
pub const OUTCOME_EXTRA: u64 = 4 * 1024;
/// Events that close a run beside its calls, with the ones of the attempt and the step.
pub const CLOSING_EVENTS: usize = 8;
/// Encoded bytes of an envelope around its payload, with the longest run id and numbers, each character escaped.
pub(crate) const ENVELOPE: u64 = 512;
/// Encoded bytes that one part of a tool result takes beside its text.
pub(crate) const RESULT_PART: u64 = 192;
/// Encoded bytes of the longest character, a control character.
const LONGEST_CHARACTER: u64 = 6;
/// Events of an attempt that fails by its deadline: it starts, fails, and is void.
const ATTEMPT_EVENTS: u64 = 3;
/// Events from the end of one step to the beginning of the next beside steers: the step ends, boundary input at its
/// completion and before the next step, a compaction, the step and its attempt begin.
const BOUNDARY_EVENTS: usize = 8;
/// Encoded bytes of the note that stands before the result of a call whose arguments people changed, a part of its own.
pub(crate) const MAX_NOTE: u64 = 1024;
/// Encoded bytes of a provider's display text or fact (M5).
pub(crate) const MAX_DETAIL: u64 = 4 * 1024;

/// Time limits of a run (R10). Absent means none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deadlines {
    /// From an attempt's start to its first byte.
    pub first_item: Option<Duration>,
    /// From one byte of an attempt to the next.
    pub idle: Option<Duration>,
    /// One attempt.
    pub attempt: Option<Duration>,
    /// One model call with its attempts and waits.
    pub model_call: Option<Duration>,
    /// One tool call, from the moment at which its code is entered.
    pub tool: Option<Duration>,
    /// One request for host input: an approval, a question, a call that the client executes. It does not stand still
    /// while the stream is full.
    pub host_input: Option<Duration>,
    /// One compaction; when it passes, the compaction has failed (K4).
    pub compaction: Option<Duration>,
    /// From the run's last event on, for required observers to accept the end of the record (L5); absent: as long as they
    /// take.
    pub finalization: Option<Duration>,
    /// The whole run.
    pub run: Option<Duration>,
}

impl Default for Deadlines {
    /// First item 300 s, idle 120 s, a compaction 300 s, finalization 2 s, others none.
    fn default() -> Self {
        Self {
            first_item: Some(Duration::from_secs(300)),
            idle: Some(Duration::from_secs(120)),
            attempt: None,
            model_call: None,
            tool: None,
            host_input: None,
            compaction: Some(Duration::from_secs(300)),
            finalization: Some(Duration::from_secs(2)),
            run: None,
        }
    }
}

/// The retry schedule (R1, R2, R7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// Most attempts per model call.
    pub attempts: u32,
    /// First wait; each further failure doubles it.
    pub first_wait: Duration,
    /// Most of a provider's hint that is honoured.
    pub hint_cap: Duration,
    /// A hint above this ends the model call.
    pub give_up_hint: Duration,
    /// Malformed responses that end the model call.
    pub malformed: u32,
    /// Turns in a row whose arguments do not parse that end the run (M7).
    pub invalid_turns: u32,
}

impl Default for RetryPolicy {
    /// 4 attempts, 1 s doubling, hints up to 60 s, giving up above 15 min, 2 malformed, 3 invalid turns.
    fn default() -> Self {
        Self {
            attempts: 4,
            first_wait: Duration::from_secs(1),
            hint_cap: Duration::from_secs(60),
            give_up_hint: Duration::from_secs(15 * 60),
            malformed: 2,
            invalid_turns: 3,
        }
    }
}

/// What bounds a run. Build one with [`Limits::default`] and changed fields, then [`Config::new`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Events that the primary reader may leave unread before the run pauses (E13).
    pub event_capacity: usize,
    /// Encoded bytes of the same.
    pub event_capacity_bytes: u64,
    /// Events that the log keeps (L1).
    pub log_events: usize,
    /// Encoded bytes that the log keeps.
    pub log_bytes: u64,
    /// Events that a subscription may be behind (L3).
    pub subscription_events: u64,
    /// Encoded bytes that a subscription may be behind.
    pub subscription_bytes: u64,
    /// Encoded bytes of one payload, the outcome's excepted.
    pub payload_bytes: u64,
    /// Encoded bytes of a response over all parts.
    pub response_bytes: u64,
    /// Encoded bytes of one call's arguments.
    pub argument_bytes: u64,
    /// Calls in one response.
    pub calls: usize,
    /// Parts of one message; at least calls + 2.
    pub parts: usize,
    /// Encoded bytes of a run's input.
    pub input_bytes: u64,
    /// Bytes of one image.
    pub image_bytes: usize,
    /// Encoded bytes of one delta event; longer pieces are recorded as several.
    pub delta_bytes: u64,
    /// Encoded bytes of a tool's text output; longer ones are cut with a mark (T5).
    pub tool_output_bytes: u64,
    /// Encoded bytes of one progress report; longer ones are cut with a mark.
    pub progress_bytes: u64,
    /// Encoded bytes of an error text.
    pub error_bytes: u64,
    /// Tools that run at the same time (T1).
    pub parallel_tools: usize,
    /// Steps of a run (R9).
    pub steps: u32,
    /// Late completions that the outcome keeps (C6).
    pub late: usize,
    /// Facts of one attempt that are recorded (M5); further ones are left out.
    pub facts: u32,
    /// Encoded bytes of one fact; a larger one is left out.
    pub fact_bytes: u64,
    /// Calls that tools look at at the same time, before they are scheduled.
    pub preparations: usize,
    /// Questions of tools that stand open at the same time (H1); a batch may ask 32 times as many in all.
    pub open_questions: usize,
    /// Encoded bytes of one question.
    pub question_bytes: u64,
    /// Encoded bytes of one answer (H2), the text of a result that a client gives included.
    pub answer_bytes: u64,
    /// Consents that a session remembers (T2); beyond, the oldest is forgotten.
    pub approvals: usize,
    /// Inputs that people added and that are not applied yet (H3); further ones are refused.
    pub steers: usize,
    /// Encoded bytes of the text of one such input.
    pub steer_bytes: u64,
    /// Encoded bytes of the text of one boundary input (B4).
    pub boundary_bytes: u64,
}

impl Default for Limits {
    /// The contract's defaults.
    fn default() -> Self {
        Self {
            event_capacity: 64,
            event_capacity_bytes: 1 << 20,
            log_events: 8_192,
            log_bytes: 16 << 20,
            subscription_events: 1_024,
            subscription_bytes: 4 << 20,
            payload_bytes: 256 << 10,
            response_bytes: 1 << 20,
            argument_bytes: 192 << 10,
            calls: 128,
            parts: 256,
            input_bytes: 256 << 10,
            image_bytes: 5 << 20,
            delta_bytes: 64 << 10,
            tool_output_bytes: 128 << 10,
            progress_bytes: 4 << 10,
            error_bytes: 4 << 10,
            parallel_tools: 4,
            steps: 50,
            late: 8,
            facts: 32,
            fact_bytes: 4 << 10,
            preparations: 8,
            open_questions: 128,
            question_bytes: 16 << 10,
            answer_bytes: 16 << 10,
            approvals: 256,
            steers: 64,
            steer_bytes: 32 << 10,
            boundary_bytes: 256 << 10,
        }
    }
}

/// Why limits do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A limit that must not be zero is zero.
    #[error("{0} must not be zero")]
    Zero(&'static str),
    /// A limit is below what others need.
    #[error("{what} is {observed} but needs at least {least}")]
    TooSmall {
        /// Which limit.
        what: &'static str,
        /// What the other limits ask for.
        least: u64,
        /// What was given.
        observed: u64,
    },
    /// A limit is above what its values can carry.
    #[error("{what} is {observed} but must be at most {most}")]
    TooLarge {
        /// Which limit.
        what: &'static str,
        /// The most that is possible.
        most: u64,
        /// What was given.
        observed: u64,
    },
}

/// Checked limits, deadlines and retry policy of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    pub(crate) limits: Limits,
    pub(crate) deadlines: Deadlines,
    pub(crate) retry: RetryPolicy,
    pub(crate) compaction: CompactionPolicy,
    pub(crate) limits_pointer: Option<Text>,
    pub(crate) fact_namespaces: Arc<[Text]>,
}

impl Config {
    /// Checks `limits` against one another: the log must hold what is unread, two largest steps and the closing set.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] names the limit that is zero, or too small or too large beside the others.
    pub fn new(limits: Limits) -> Result<Self, ConfigError> {
        let config = Self { limits, ..Self::default() };
        config.check()?;
        Ok(config)
    }

    /// The default limits with some of them changed, checked as [`Config::new`] does.
    ///
    /// ```
    /// # use runloom_core::config::Config;
    /// let config = Config::with(|limits| limits.steps = 10)?;
    /// assert_eq!(config.limits().steps, 10);
    /// # Ok::<(), runloom_core::config::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Config::new`].
    pub fn with(change: impl FnOnce(&mut Limits)) -> Result<Self, ConfigError> {
        let mut limits = Limits::default();
        change(&mut limits);
        Self::new(limits)
    }

    /// With these deadlines; a deadline of zero is refused.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Zero`] names the deadline.
    pub fn deadlines(mut self, deadlines: Deadlines) -> Result<Self, ConfigError> {
        let all = [
            ("deadline of the first item", deadlines.first_item),
            ("idle deadline", deadlines.idle),
            ("deadline of an attempt", deadlines.attempt),
            ("deadline of a model call", deadlines.model_call),
            ("deadline of a tool", deadlines.tool),
            ("deadline of a request for host input", deadlines.host_input),
            ("deadline of a compaction", deadlines.compaction),
            ("deadline of the finalization", deadlines.finalization),
            ("deadline of the run", deadlines.run),
        ];
        match all.iter().find(|(_, span)| span.is_some_and(|span| crate::time::micros(span) == 0)) {
            Some((name, _)) => Err(ConfigError::Zero(name)),
            None => {
                self.deadlines = deadlines;
                Ok(self)
            }
        }
    }

    /// With this retry policy; it needs at least one attempt and 1 ms of wait, and each attempt needs room in the log.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] names the number that is zero, or the bound of the log that is too small.
    pub fn retry(mut self, retry: RetryPolicy) -> Result<Self, ConfigError> {
        let counts = [
            ("attempts", u64::from(retry.attempts)),
            ("malformed responses", u64::from(retry.malformed)),
            ("invalid turns", u64::from(retry.invalid_turns)),
            ("first wait", retry.first_wait.as_millis().try_into().unwrap_or(u64::MAX)),
        ];
        match counts.iter().find(|(_, count)| *count == 0) {
            Some((name, _)) => Err(ConfigError::Zero(name)),
            None => {
                self.retry = retry;
                self.check_sizes()?;
                Ok(self)
            }
        }
    }

    /// With this policy of compaction; a threshold of zero, a history of which nothing stays, or no failure that is
    /// suffered are refused.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Zero`] names the number.
    pub fn compaction(mut self, policy: CompactionPolicy) -> Result<Self, ConfigError> {
        let counts = [
            ("messages from which a history is compacted", policy.after_messages.map(|n| n as u64)),
            ("tokens from which a history is compacted", policy.at_tokens),
            ("messages that stay in a compaction", Some(policy.keep_messages as u64)),
            ("tokens that stay in a compaction", policy.keep_tokens),
            ("failed compactions", Some(u64::from(policy.failures))),
        ];
        match counts.iter().find(|(_, count)| *count == Some(0)) {
            Some((name, _)) => Err(ConfigError::Zero(name)),
            None => {
                self.compaction = policy;
                Ok(self)
            }
        }
    }

    /// The policy of compaction.
    pub fn compaction_policy(&self) -> &CompactionPolicy {
        &self.compaction
    }

    /// With a pointer to usage pages, shown with rate-limit failures (R7); cut to 256 encoded bytes.
    #[must_use]
    pub fn limits_pointer(mut self, pointer: &str) -> Self {
        self.limits_pointer = Some(Text::new(crate::json::encoded_prefix(pointer, 256)));
        self
    }

    /// Lets facts of these namespaces into events (M5): the part of a fact's name before its first dot. None by default.
    #[must_use]
    pub fn fact_namespaces<'a>(mut self, namespaces: impl IntoIterator<Item = &'a str>) -> Self {
        self.fact_namespaces = namespaces.into_iter().map(Text::new).collect::<Vec<_>>().into();
        self
    }

    /// The limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn response_bounds(&self) -> ResponseBounds {
        ResponseBounds {
            response: self.limits.response_bytes,
            arguments: self.limits.argument_bytes,
            calls: self.limits.calls,
            parts: self.limits.parts,
        }
    }

    pub(crate) fn input_bounds(&self) -> MessageBounds {
        MessageBounds {
            parts: self.limits.parts,
            text: self.limits.input_bytes,
            image: self.limits.image_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: L1
    // bounds: log, bytes
    #[test]
    fn defaults_fit_and_the_log_bound_is_sharp() {
        let config = Config::default();
        config.check().unwrap();
        let least = config.min_log_bytes();
        let with = |log_bytes| Config::new(Limits { log_bytes, ..Limits::default() });
        assert!(with(least).is_ok());
        assert!(matches!(with(least - 1), Err(ConfigError::TooSmall { what: "log bytes", .. })));
        let events = config.min_log_events();
        let with = |log_events| Config::new(Limits { log_events, ..Limits::default() });
        assert!(with(events).is_ok());
        assert!(with(events - 1).is_err());
        assert!(Config::new(Limits { event_capacity: 0, ..Limits::default() }).is_err());
        assert!(Config::new(Limits { parts: 129, ..Limits::default() }).is_err());
        assert!(Config::new(Limits { parts: 130, ..Limits::default() }).is_ok());
    }

    #[test]
    fn deadlines_and_retries_are_checked() {
        let zero = Deadlines { idle: Some(Duration::ZERO), ..Deadlines::default() };
        assert_eq!(Config::default().deadlines(zero), Err(ConfigError::Zero("idle deadline")));
        let none = RetryPolicy { attempts: 0, ..RetryPolicy::default() };
        assert_eq!(Config::default().retry(none), Err(ConfigError::Zero("attempts")));
    }
}
