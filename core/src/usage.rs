//! Token counts in the project's terms (R5).

use crate::json::{Object, Out};

/// Tokens of one physical request, or a sum of such. Absent is not zero: a provider that did not say stays unsaid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// All input tokens, those read from and written to a cache included.
    pub input_tokens: Option<u64>,
    /// All output tokens, reasoning included.
    pub output_tokens: Option<u64>,
    /// The part of the input that was read from a prompt cache.
    pub cache_read_tokens: Option<u64>,
    /// The part of the input that was written to a prompt cache.
    pub cache_write_tokens: Option<u64>,
    /// The part of the output that was reasoning.
    pub reasoning_tokens: Option<u64>,
}

impl Usage {
    /// Input and output tokens, the rest unsaid.
    pub const fn new(input_tokens: u64, output_tokens: u64) -> Self {
        Self {
            input_tokens: Some(input_tokens),
            output_tokens: Some(output_tokens),
            cache_read_tokens: None,
            cache_write_tokens: None,
            reasoning_tokens: None,
        }
    }

    fn merge(&mut self, other: &Self, field: impl Fn(Option<u64>, Option<u64>) -> Option<u64>) {
        self.input_tokens = field(self.input_tokens, other.input_tokens);
        self.output_tokens = field(self.output_tokens, other.output_tokens);
        self.cache_read_tokens = field(self.cache_read_tokens, other.cache_read_tokens);
        self.cache_write_tokens = field(self.cache_write_tokens, other.cache_write_tokens);
        self.reasoning_tokens = field(self.reasoning_tokens, other.reasoning_tokens);
    }

    /// Takes over what a later, cumulative report of the same request says; what it leaves out stays.
    pub fn replace(&mut self, later: &Self) {
        self.merge(later, |old, new| new.or(old));
    }

    /// Adds another request's tokens; saturates, absent plus absent stays absent.
    pub fn add(&mut self, other: &Self) {
        self.merge(other, |a, b| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (one, other) => one.or(other),
        });
    }

    /// Whether nothing was said at all.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Writes the counts as a canonical JSON object; absent ones are left out.
    pub fn write<O: Out>(&self, object: &mut Object<'_, O>) {
        const EXACT: u64 = crate::time::MAX_EXACT;
        let exact = |n: Option<u64>| n.map(|n| n.min(EXACT));
        object
            .opt_u64("cache_read_tokens", exact(self.cache_read_tokens))
            .opt_u64("cache_write_tokens", exact(self.cache_write_tokens))
            .opt_u64("input_tokens", exact(self.input_tokens))
            .opt_u64("output_tokens", exact(self.output_tokens))
            .opt_u64("reasoning_tokens", exact(self.reasoning_tokens));
    }
}

/// How many output tokens fall into the measured generation time (T7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GenerationTokens {
    /// This many.
    Reported(u64),
    /// Not known, and the total must not stand in for it.
    Unavailable,
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: R5
    #[test]
    fn reports_replace_and_requests_add() {
        let mut usage = Usage::new(10, 1);
        usage.replace(&Usage { output_tokens: Some(7), ..Usage::default() });
        assert_eq!(usage, Usage::new(10, 7));
        usage.add(&Usage { reasoning_tokens: Some(3), input_tokens: Some(u64::MAX), ..Usage::default() });
        assert_eq!(usage.input_tokens, Some(u64::MAX));
        assert_eq!(usage.output_tokens, Some(7));
        assert_eq!(usage.reasoning_tokens, Some(3));
        assert_eq!(usage.cache_read_tokens, None);
    }
}
