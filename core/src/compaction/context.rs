//! How large the context is: an estimate that learns from what providers report (K1, K3, K4).

use super::CompactionPolicy;

/// The least and the most tokens that one estimated token may stand for, in per mille.
const RATIO: (u64, u64) = (250, 16_000);

/// What a session knows about the size of its context. It is carried from run to run; nothing in it is content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextState {
    pub(super) measured: Option<Measured>,
    /// Tokens of the context when it was compacted last, or when that was tried last.
    pub(super) last: Option<u64>,
    /// Compactions in a row that failed, or after which the context was as large as before.
    pub(super) failures: u32,
    /// Set after a compaction until the provider has measured what came of it: the failures before it.
    pub(super) unproven: Option<u32>,
    /// Whether the run's record says already that none is tried any more.
    pub(super) told: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Measured {
    pub(super) reported: u64,
    pub(super) local: u64,
    /// Whether the request that was measured is a beginning of the context.
    pub(super) is_prefix: bool,
}

impl Measured {
    /// Estimated tokens as the provider would count them.
    fn scaled(self, local: u64) -> u64 {
        let (least, most) = RATIO;
        let ratio = u128::from(self.reported) * 1_000 / u128::from(self.local.max(1));
        let ratio = ratio.clamp(u128::from(least), u128::from(most));
        u64::try_from(u128::from(local) * ratio / 1_000).unwrap_or(u64::MAX)
    }
}

impl ContextState {
    /// A state whose members are all set, and larger than real ones.
    #[cfg(test)]
    pub(crate) fn extreme() -> Self {
        let measured = Some(Measured { reported: u64::MAX, local: 1, is_prefix: true });
        Self { measured, last: Some(1 << 60), failures: 3, unproven: Some(0), told: true }
    }

    /// Tokens of a context whose plain estimate is `local`: what the provider reported last, and an estimate of what
    /// came since.
    pub fn tokens(&self, local: u64) -> u64 {
        match self.measured {
            None => local,
            Some(measured) if measured.is_prefix && local >= measured.local => {
                measured.reported.saturating_add(measured.scaled(local - measured.local))
            }
            Some(measured) => measured.scaled(local),
        }
    }

    /// The provider counts `reported` tokens in a request whose plain estimate is `local`.
    pub(crate) fn measure(&mut self, reported: u64, local: u64, policy: &CompactionPolicy) {
        if reported == 0 {
            return;
        }
        self.measured = Some(Measured { reported, local, is_prefix: true });
        if let Some(before) = self.unproven.take() {
            let over = policy.at_tokens.is_some_and(|at| reported >= at);
            self.failures = if over { before.saturating_add(1) } else { 0 };
            self.last = Some(reported);
        }
    }

    /// Whether the policy asks for a compaction of `messages` messages with the plain estimate `local`.
    pub(crate) fn is_due(&self, policy: &CompactionPolicy, messages: usize, local: u64) -> bool {
        let (over, tokens) = (self.is_over(policy, messages, local), self.tokens(local));
        over && !self.gave_up(policy) && self.has_grown(policy, tokens)
    }

    /// Whether a threshold of the policy is reached (K1).
    pub(crate) fn is_over(&self, policy: &CompactionPolicy, messages: usize, local: u64) -> bool {
        policy.after_messages.is_some_and(|most| messages >= most)
            || policy.at_tokens.is_some_and(|at| self.tokens(local) >= at)
    }

    /// Whether too many compactions in a row have failed (K4).
    pub(crate) fn gave_up(&self, policy: &CompactionPolicy) -> bool {
        self.failures >= policy.failures
    }

    /// How many compactions in a row have failed, if they are too many and this run's record does not say so yet (K4).
    pub(crate) fn tell_stop(&mut self, policy: &CompactionPolicy) -> Option<u32> {
        if !self.gave_up(policy) || self.told {
            return None;
        }
        self.told = true;
        Some(self.failures)
    }

    /// Another run begins, with a record of its own.
    pub(crate) fn run_begins(&mut self) {
        self.told = false;
    }

    /// K3.
    fn has_grown(&self, policy: &CompactionPolicy, tokens: u64) -> bool {
        let grown = |last: u64| {
            let least = u128::from(last) * (100 + u128::from(policy.growth_percent));
            u128::from(tokens) * 100 >= least
        };
        self.last.is_none_or(grown)
    }

    /// A compaction has failed; the context is as it was.
    pub(crate) fn failed(&mut self, local: u64) {
        self.failures = self.failures.saturating_add(1);
        self.last = Some(self.tokens(local));
    }

    /// The context was replaced by one with the plain estimate `local`. If that is as large as the policy's threshold
    /// still, the compaction counts as failed, until a request is measured.
    pub(crate) fn compacted(&mut self, local: u64, policy: &CompactionPolicy) {
        self.replaced();
        let tokens = self.tokens(local);
        let before = self.failures;
        let over = policy.at_tokens.is_some_and(|at| tokens >= at);
        self.failures = if over { before.saturating_add(1) } else { 0 };
        self.last = Some(tokens);
        self.unproven = Some(before);
    }

    /// Another history stands in the place of the one that was measured.
    pub(crate) fn replaced(&mut self) {
        if let Some(measured) = &mut self.measured {
            measured.is_prefix = false;
        }
    }

    /// After the host has changed the history, or compacted it by hand: nothing has failed, and nothing was tried.
    pub fn start_over(&mut self) {
        self.replaced();
        (self.last, self.failures, self.unproven, self.told) = (None, 0, None, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: K1
    #[test]
    fn the_estimate_learns_from_what_is_reported() {
        let policy = CompactionPolicy::at_tokens(1_000);
        let mut context = ContextState::default();
        assert_eq!(context.tokens(400), 400);
        context.measure(800, 400, &policy);
        assert_eq!((context.tokens(400), context.tokens(450)), (800, 900));
        assert!(!context.is_due(&policy, 1, 499));
        assert!(context.is_due(&policy, 1, 500));
        // A context that was replaced is estimated at the same rate.
        context.replaced();
        assert_eq!((context.tokens(400), context.tokens(100)), (800, 200));
        // No report makes the estimate useless.
        context.measure(u64::MAX, 1, &policy);
        context.replaced();
        assert_eq!(context.tokens(10), 160);
        context.measure(1, 1_000, &policy);
        context.replaced();
        assert_eq!(context.tokens(1_000), 250);
        context.measure(0, 1_000, &policy);
        assert_eq!(context.tokens(1_000), 250);
    }

    // proves: K3
    #[test]
    fn it_is_not_tried_again_before_the_context_has_grown_by_a_tenth() {
        let policy = CompactionPolicy::at_tokens(100);
        let mut context = ContextState::default();
        assert!(!context.is_due(&policy, 9, 99));
        assert!(context.is_due(&policy, 9, 100));
        context.failed(200);
        assert!(!context.is_due(&policy, 9, 219));
        assert!(context.is_due(&policy, 9, 220));
        let policy = CompactionPolicy::after_messages(4);
        let mut context = ContextState::default();
        assert!(!context.is_due(&policy, 3, 100));
        assert!(context.is_due(&policy, 4, 100));
        context.compacted(50, &policy);
        assert!(!context.is_due(&policy, 4, 54));
        assert!(context.is_due(&policy, 4, 55));
    }

    // proves: K4
    #[test]
    fn after_two_failures_in_a_row_it_is_not_tried_any_more() {
        let policy = CompactionPolicy::at_tokens(100);
        let mut context = ContextState::default();
        context.failed(100);
        assert!(context.is_due(&policy, 9, 1_000));
        let mut lucky = context;
        lucky.compacted(50, &policy);
        lucky.failed(200);
        assert!(lucky.is_due(&policy, 9, 1_000));
        context.failed(1_000);
        assert!(!context.is_due(&policy, 9, u64::MAX));
        context.start_over();
        assert!(context.is_due(&policy, 9, 100));
    }

    // proves: K4
    #[test]
    fn a_compaction_after_which_the_context_is_still_over_counts_as_failed_once_that_is_measured() {
        let policy = CompactionPolicy::at_tokens(100);
        let mut context = ContextState::default();
        for local in [40, 20] {
            context.compacted(local, &policy);
            assert!(!context.gave_up(&policy));
            context.measure(150, local, &policy);
        }
        assert!(context.gave_up(&policy));
        let mut context = ContextState::default();
        context.compacted(120, &policy);
        context.compacted(120, &policy);
        assert!(context.gave_up(&policy));
        context.measure(90, 120, &policy);
        assert!(!context.gave_up(&policy));
    }
}
