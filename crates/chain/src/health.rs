//! Health of an RPC node: a circuit breaker that lets one request at a time test a failed node.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::error::ChainError;

/// A node rests after this number of failures in a row. One lost connection is no reason to avoid it.
const FAILURES_BEFORE_REST: u32 = 3;
/// First rest. Each further failure doubles it, up to the longest.
const SHORTEST_REST: Duration = Duration::from_millis(250);
const LONGEST_REST: Duration = Duration::from_secs(5);
/// While one request tests a rested node, other requests wait this long for the outcome.
const TEST_PATIENCE: Duration = Duration::from_secs(1);
/// A node that lags, or that failed but does not rest, is asked last for this long.
const LAG_MEMORY: Duration = Duration::from_secs(10);
const FAILURE_MEMORY: Duration = Duration::from_secs(1);

/// Whether a node may be asked now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Ready,
    /// The rest is over. The next request tests whether the node works again.
    Due,
    Resting(Duration),
}

#[derive(Default)]
pub(crate) struct Health {
    state: Mutex<HealthState>,
}

#[derive(Default)]
struct HealthState {
    failures: u32,
    rests_until: Option<Instant>,
    lags_until: Option<Instant>,
    doubted_until: Option<Instant>,
}

impl Health {
    pub(crate) fn standing(&self, now: Instant) -> Standing {
        match self.state.lock().rests_until {
            None => Standing::Ready,
            Some(until) if until <= now => Standing::Due,
            Some(until) => Standing::Resting(until.saturating_duration_since(now)),
        }
    }

    /// Starts the one test that a node gets after its rest. Returns false if another request is testing it.
    pub(crate) fn begin_test(&self, now: Instant) -> bool {
        let mut state = self.state.lock();
        let due = state.rests_until.is_some_and(|until| until <= now);
        if due {
            state.rests_until = now.checked_add(TEST_PATIENCE);
        }
        due
    }

    pub(crate) fn succeeded(&self) {
        let mut state = self.state.lock();
        state.failures = 0;
        state.rests_until = None;
        state.doubted_until = None;
    }

    pub(crate) fn failed(&self, error: &ChainError, now: Instant) {
        let mut state = self.state.lock();
        match error {
            ChainError::RateLimited { retry_after } => state.rests_until = now.checked_add(*retry_after),
            ChainError::Behind { .. } => state.lags_until = now.checked_add(LAG_MEMORY),
            // The node answered, and it may have a good reason to refuse the request.
            ChainError::Refused { .. } => state.failures = 0,
            _ => {
                state.failures = state.failures.saturating_add(1);
                state.doubted_until = now.checked_add(FAILURE_MEMORY);
                if let Some(doublings) = state.failures.checked_sub(FAILURES_BEFORE_REST) {
                    let factor = 2_u32.saturating_pow(doublings);
                    let until = now.checked_add(SHORTEST_REST.saturating_mul(factor).min(LONGEST_REST));
                    // A rest that the node asked for is not shortened.
                    state.rests_until = until.max(state.rests_until);
                }
            }
        }
    }

    pub(crate) fn lags(&self, now: Instant) {
        self.state.lock().lags_until = now.checked_add(LAG_MEMORY);
    }

    /// Nodes are asked in the order of this number, then in the configured order.
    pub(crate) fn rank(&self, now: Instant) -> u8 {
        let state = self.state.lock();
        let is_before = |until: Option<Instant>| u8::from(until.is_some_and(|until| until > now));
        is_before(state.lags_until) << 1 | is_before(state.doubted_until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STALL: ChainError = ChainError::TimedOut;

    fn after(now: Instant, ms: u64) -> Instant {
        now.checked_add(Duration::from_millis(ms)).expect("in range")
    }

    #[test]
    fn a_node_rests_after_three_failures_in_a_row_and_not_after_two() {
        let (health, now) = (Health::default(), Instant::now());
        health.failed(&STALL, now);
        health.failed(&STALL, now);
        assert_eq!(health.standing(now), Standing::Ready);
        health.succeeded();
        health.failed(&STALL, now);
        health.failed(&STALL, now);
        assert_eq!(health.standing(now), Standing::Ready);
        health.failed(&STALL, now);
        assert!(matches!(health.standing(now), Standing::Resting(_)));
    }

    #[test]
    fn one_request_tests_a_node_that_rested_and_the_others_wait_for_it() {
        let (health, now) = (Health::default(), Instant::now());
        (0..3).for_each(|_| health.failed(&STALL, now));
        let later = after(now, 300);
        assert_eq!(health.standing(later), Standing::Due);
        assert!(health.begin_test(later));
        assert!(!health.begin_test(later));
        assert!(matches!(health.standing(later), Standing::Resting(_)));
        health.succeeded();
        assert_eq!(health.standing(later), Standing::Ready);
    }

    #[test]
    fn a_test_that_never_ends_does_not_keep_a_node_from_being_tested_again() {
        let (health, now) = (Health::default(), Instant::now());
        (0..3).for_each(|_| health.failed(&STALL, now));
        assert!(health.begin_test(after(now, 300)));
        assert!(health.begin_test(after(now, 1_400)));
    }

    #[test]
    fn rests_grow_but_stay_bounded() {
        let (health, now) = (Health::default(), Instant::now());
        (0..100).for_each(|_| health.failed(&STALL, now));
        assert_eq!(health.standing(now), Standing::Resting(LONGEST_REST));
    }

    #[test]
    fn a_node_that_limits_requests_rests_for_as_long_as_it_asks() {
        let (health, now) = (Health::default(), Instant::now());
        let wait = Duration::from_secs(20);
        health.failed(&ChainError::RateLimited { retry_after: wait }, now);
        assert_eq!(health.standing(now), Standing::Resting(wait));
        (0..3).for_each(|_| health.failed(&STALL, now));
        assert_eq!(health.standing(now), Standing::Resting(wait));
    }

    #[test]
    fn a_node_that_failed_once_is_asked_first_again_after_a_while() {
        let (health, now) = (Health::default(), Instant::now());
        health.failed(&STALL, now);
        assert!(health.rank(now) > 0);
        assert_eq!(health.rank(after(now, 1_100)), 0);
    }

    #[test]
    fn a_refused_request_does_not_count_as_a_failure_of_the_node() {
        let (health, now) = (Health::default(), Instant::now());
        let refusal = ChainError::Refused { code: -32_602, message: "invalid".to_owned() };
        (0..10).for_each(|_| health.failed(&refusal, now));
        assert_eq!(health.standing(now), Standing::Ready);
        assert_eq!(health.rank(now), 0);
    }
}
