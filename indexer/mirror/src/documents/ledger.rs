//! How much time the fetches of a host or a creator took lately.

use std::{collections::HashMap, hash::Hash, time::Duration};

use tokio::time::Instant;

/// Spent time counts half after this time.
const HALF_LIFE: Duration = Duration::from_secs(300);
/// Names that are remembered. Beyond that, the one with the least time is forgotten.
const MAX_NAMES: usize = 4_096;

#[derive(Clone, Copy, Debug)]
struct Spent {
    time: Duration,
    at: Instant,
}

impl Spent {
    fn now(self, now: Instant) -> Duration {
        let halves = now.saturating_duration_since(self.at).as_secs().checked_div(HALF_LIFE.as_secs()).unwrap_or(0);
        let divisor = u32::try_from(halves).ok().and_then(|halves| 1u32.checked_shl(halves)).unwrap_or(u32::MAX);
        self.time.checked_div(divisor).unwrap_or_default()
    }
}

#[derive(Debug)]
pub struct Ledger<Name>(HashMap<Name, Spent>);

impl<Name> Default for Ledger<Name> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<Name: Clone + Eq + Hash> Ledger<Name> {
    pub fn spent(&self, name: &Name, now: Instant) -> Duration {
        self.0.get(name).map_or(Duration::ZERO, |spent| spent.now(now))
    }

    pub fn add(&mut self, name: &Name, time: Duration, now: Instant) {
        let time = self.spent(name, now).saturating_add(time);
        self.0.insert(name.clone(), Spent { time, at: now });
        if self.0.len() > MAX_NAMES {
            let least = self.0.iter().min_by_key(|(_, spent)| spent.now(now)).map(|(name, _)| name.clone());
            least.and_then(|name| self.0.remove(&name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn spent_time_adds_up_and_is_forgotten_by_halves() {
        let (mut ledger, start) = (Ledger::default(), Instant::now());
        ledger.add(&"a", Duration::from_secs(3), start);
        ledger.add(&"a", Duration::from_secs(5), start);
        assert_eq!(ledger.spent(&"a", start), Duration::from_secs(8));
        assert_eq!(ledger.spent(&"a", start + HALF_LIFE * 2), Duration::from_secs(2));
        assert_eq!(ledger.spent(&"a", start + HALF_LIFE * 1_000), Duration::from_nanos(1));
        assert_eq!(ledger.spent(&"b", start), Duration::ZERO);
    }

    #[tokio::test]
    async fn its_memory_is_bounded_and_the_slowest_are_remembered() {
        let (mut ledger, now) = (Ledger::default(), Instant::now());
        ledger.add(&usize::MAX, Duration::from_secs(60), now);
        for name in 0..MAX_NAMES * 2 {
            ledger.add(&name, Duration::from_secs(1), now);
        }
        assert_eq!(ledger.0.len(), MAX_NAMES);
        assert_eq!(ledger.spent(&usize::MAX, now), Duration::from_secs(60));
    }
}
