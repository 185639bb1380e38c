//! How much of something scarce one client may take: a burst at once, and after it a steady share.

use std::time::{Duration, Instant};

/// What one client has taken, as the time until which its share pays for it (the generic cell rate algorithm).
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    paid_until: Instant,
}

impl TokenBucket {
    /// A client that has taken nothing.
    pub const fn new(now: Instant) -> Self {
        Self { paid_until: now }
    }

    /// Charges the client. `cost`: the time in which its share pays for what it took.
    pub fn charge(&mut self, now: Instant, cost: Duration) {
        let from = self.paid_until.max(now);
        self.paid_until = from.checked_add(cost).unwrap_or(from);
    }

    /// How long the client has to wait until what it took is within its burst.
    pub fn wait(&self, now: Instant, burst: Duration) -> Duration {
        self.paid_until.saturating_duration_since(now).saturating_sub(burst)
    }

    /// Whether everything is paid for: a new value would say the same.
    pub fn is_even(&self, now: Instant) -> bool {
        self.paid_until <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_burst_is_free_and_what_follows_waits_for_its_share() {
        let now = Instant::now();
        let mut bucket = TokenBucket::new(now);
        let waits: Vec<_> = (0..5)
            .map(|_| {
                bucket.charge(now, SECOND);
                bucket.wait(now, SECOND * 3).as_secs()
            })
            .collect();
        assert_eq!(waits, [0, 0, 0, 1, 2]);
        assert_eq!(bucket.wait(now + SECOND, SECOND * 3), SECOND);
        assert!(!bucket.is_even(now + SECOND * 4));
        assert!(bucket.is_even(now + SECOND * 5));
    }

    #[test]
    fn time_without_use_is_not_saved_up() {
        let now = Instant::now();
        let mut bucket = TokenBucket::new(now);
        let later = now + SECOND * 100;
        bucket.charge(later, SECOND * 4);
        assert_eq!(bucket.wait(later, SECOND * 3), SECOND);
    }
}
