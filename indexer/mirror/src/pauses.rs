//! Pauses between attempts.

use std::time::Duration;

/// A pause that doubles with each failed attempt, up to the longest.
pub fn doubled(first: Duration, attempts: u32, longest: Duration) -> Duration {
    first.saturating_mul(2_u32.saturating_pow(attempts.min(20))).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_become_rarer_and_never_stop() {
        let pause = |attempts| doubled(Duration::from_secs(2), attempts, Duration::from_secs(3_600)).as_secs();
        assert_eq!([0, 3, u32::MAX].map(pause), [2, 16, 3_600]);
    }
}
