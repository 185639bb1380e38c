//! Slows down callers whose calls are refused or fail. Such calls cost the caller nothing, but cost this service a
//! read of the chain or two transactions. Each key has a burst of immediate answers. Further answers wait for their
//! turn, so a program that repeats such a call in a loop delays only itself.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use crtx_http::{ApiError, QuotaUnit, RateLimit, token_bucket::TokenBucket};
use parking_lot::Mutex;
use solana_pubkey::Pubkey;

/// Keys and wallets that are remembered at the same time: those with a refused call moments ago.
const MAX_KEYS: usize = 10_000;
const SECOND: Duration = Duration::from_secs(1);

/// Answers that are sent without delay.
const BURST: u32 = 50;
/// Answers that wait for their turn. When this number is reached, calls of the key get 429.
const WAITING: u32 = 64;

/// The refused and failed calls of each key in this process.
pub(crate) struct RefusedCalls {
    /// Answers after the burst.
    per_second: u32,
    burst: u32,
    waiting: u32,
    keys: Mutex<HashMap<Pubkey, TokenBucket>>,
}

impl RefusedCalls {
    pub fn new(per_second: u32) -> Self {
        Self { per_second, burst: BURST, waiting: WAITING, keys: Mutex::default() }
    }

    /// Returns 429 `rate_limited` if the answer to another refused call of the key would wait too long.
    pub fn check(&self, session_key: &Pubkey) -> Result<(), ApiError> {
        let longest = self.share().saturating_mul(self.waiting);
        let pause = self.pause(session_key);
        if pause < longest || pause.is_zero() {
            return Ok(());
        }
        let quota = self.per_second;
        let message = format!("more than {quota} calls of this key or wallet per second were refused or failed");
        let limit = RateLimit { policy: "refused-calls-per-key", quota, unit: QuotaUnit::Within(SECOND) };
        Err(ApiError::rate_limited(message, limit, pause.saturating_sub(longest).max(SECOND)))
    }

    /// Counts a refused call as so many short ones, and delays its answer.
    pub async fn slow<T>(&self, session_key: &Pubkey, calls: u32, checked: Result<T, ApiError>) -> Result<T, ApiError> {
        if checked.is_err() {
            self.count(session_key, calls);
            tokio::time::sleep(self.pause(session_key)).await;
        }
        checked
    }

    /// Counts a call that was refused or failed as so many short ones. Every key is counted: where there is no room, the
    /// key that has to wait least is forgotten.
    pub fn count(&self, session_key: &Pubkey, calls: u32) {
        let now = Instant::now();
        let mut keys = self.keys.lock();
        if keys.len() >= MAX_KEYS && !keys.contains_key(session_key) {
            keys.retain(|_, bucket| !bucket.is_even(now));
            if keys.len() >= MAX_KEYS {
                let least = keys.iter().min_by_key(|(_, bucket)| bucket.wait(now, Duration::ZERO)).map(|(key, _)| *key);
                least.map(|key| keys.remove(&key));
            }
        }
        keys.entry(*session_key)
            .or_insert_with(|| TokenBucket::new(now))
            .charge(now, self.share().saturating_mul(calls));
    }

    /// How long the answer to a counted call is delayed.
    pub fn pause(&self, session_key: &Pubkey) -> Duration {
        let burst = self.share().saturating_mul(self.burst);
        self.keys.lock().get(session_key).map_or(Duration::ZERO, |bucket| bucket.wait(Instant::now(), burst))
    }

    /// The time per refused call of one key.
    fn share(&self) -> Duration {
        SECOND.checked_div(self.per_second).unwrap_or(SECOND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Pubkey = Pubkey::new_from_array([1; 32]);
    const OTHER: Pubkey = Pubkey::new_from_array([2; 32]);

    fn refused(per_second: u32, burst: u32, waiting: u32) -> RefusedCalls {
        RefusedCalls { burst, waiting, ..RefusedCalls::new(per_second) }
    }

    #[test]
    fn a_burst_is_answered_at_once_and_the_rest_one_after_the_other() {
        // The rate is one per second, so the duration of the test itself does not matter.
        let refused = refused(1, 3, 100);
        let pauses: Vec<_> = (0..5)
            .map(|_| {
                refused.count(&KEY, 1);
                refused.pause(&KEY).as_secs_f64().round()
            })
            .collect();
        assert_eq!(pauses, [0.0, 0.0, 0.0, 1.0, 2.0]);
        assert!(refused.pause(&OTHER).is_zero(), "another key has a burst of its own");
    }

    #[test]
    fn a_call_that_is_dear_to_refuse_counts_as_several() {
        let refused = refused(1, 16, 100);
        refused.count(&KEY, 16);
        assert!(refused.pause(&KEY).is_zero());
        refused.count(&KEY, 16);
        assert_eq!(refused.pause(&KEY).as_secs_f64().round(), 16.0);
    }

    #[test]
    fn a_key_whose_answers_would_wait_too_long_is_refused_with_a_retry_after() {
        let refused = refused(1, 1, 2);
        refused.count(&KEY, 1);
        refused.count(&KEY, 1);
        assert_eq!(refused.check(&KEY), Ok(()));
        for _ in 0..4 {
            refused.count(&KEY, 1);
        }
        let error = refused.check(&KEY).expect_err("five answers wait");
        assert_eq!(error.code, crtx_http::ErrorCode::RateLimited);
        let retry_after = error.retry_after.expect("a time").as_secs_f64();
        assert!((2.5..=3.0).contains(&retry_after), "{retry_after}");
        assert_eq!(refused.check(&OTHER), Ok(()));
    }

    #[test]
    fn the_number_of_remembered_keys_is_bounded() {
        let refused = refused(1, 1, 1);
        for number in 0..u32::try_from(MAX_KEYS).expect("small") + 100 {
            let mut key = [0; 32];
            key[..4].copy_from_slice(&number.to_le_bytes());
            refused.count(&Pubkey::new_from_array(key), 1);
        }
        assert_eq!(refused.keys.lock().len(), MAX_KEYS);
        // Where everybody is remembered, a further key is counted too, and those with the most calls stay.
        let (greedy, late) = (Pubkey::new_from_array([200; 32]), Pubkey::new_from_array([201; 32]));
        for key in [greedy, late] {
            for _ in 0..3 {
                refused.count(&key, 1);
            }
        }
        for key in [greedy, late] {
            assert!(!refused.pause(&key).is_zero());
        }
        assert_eq!(refused.keys.lock().len(), MAX_KEYS);
    }
}
