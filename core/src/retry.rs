//! The retry schedule: which failures are tried again, and when (R1-R3, R7).

use crate::config::RetryPolicy;
use crate::model::Problem;
use core::time::Duration;

/// What follows a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Another attempt after this wait.
    Wait(Duration),
    /// The model call has failed.
    GiveUp,
}

/// Decides on the `failures`-th retryable failure (from 1) of a model call that has made `attempts` attempts.
pub(crate) fn decide(policy: &RetryPolicy, problem: &Problem, attempts: u32, failures: u32) -> Decision {
    let hopeless = problem.retry_after.is_some_and(|hint| hint > policy.give_up_hint);
    if !problem.is_retryable() || hopeless || attempts >= policy.attempts {
        return Decision::GiveUp;
    }
    let doubled = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
    let exponential = policy.first_wait.saturating_mul(doubled);
    let hint = problem.retry_after.unwrap_or_default().min(policy.hint_cap);
    Decision::Wait(exponential.max(hint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ProblemKind;

    fn wait(hint: u64, attempts: u32, failures: u32) -> Decision {
        let problem =
            Problem::new(ProblemKind::Overloaded, "").retry_after(Some(Duration::from_millis(hint)));
        decide(&RetryPolicy::default(), &problem, attempts, failures)
    }

    // proves: R1, R2, R7
    #[test]
    fn waits_double_and_hints_are_capped() {
        let seconds = |s| Decision::Wait(Duration::from_secs(s));
        assert_eq!([wait(0, 1, 1), wait(0, 2, 2), wait(0, 3, 3)], [seconds(1), seconds(2), seconds(4)]);
        assert_eq!(wait(0, 4, 4), Decision::GiveUp);
        assert_eq!(wait(500, 1, 1), seconds(1));
        assert_eq!(wait(3_000, 1, 1), seconds(3));
        assert_eq!(wait(61_000, 1, 1), seconds(60));
        assert_eq!(wait(900_000, 1, 1), seconds(60));
        assert_eq!(wait(900_001, 1, 1), Decision::GiveUp);
    }

    #[test]
    fn huge_counts_saturate() {
        let policy = RetryPolicy { attempts: u32::MAX, ..RetryPolicy::default() };
        let problem = Problem::new(ProblemKind::Server, "");
        for failures in [31, 32, 33, u32::MAX - 1] {
            assert!(matches!(decide(&policy, &problem, 1, failures), Decision::Wait(_)));
        }
    }
}
