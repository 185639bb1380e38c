//! The highest slot that this client has seen: after a transaction is confirmed, the client does not read from a node
//! that has not reached it.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How long reads must include the seen slot: longer than a node behind a load balancer lags, and short enough that a
/// network that was rolled back, like a local one, is soon read again.
const REMEMBERED: Duration = Duration::from_secs(15);

#[derive(Default)]
pub(crate) struct NewestSlot {
    newest: Mutex<Option<(u64, Instant)>>,
}

impl NewestSlot {
    pub(crate) fn note(&self, slot: u64, now: Instant) {
        let mut newest = self.newest.lock();
        let known = newest.filter(|(_, at)| now.saturating_duration_since(*at) < REMEMBERED);
        if known.is_none_or(|(known, _)| known <= slot) {
            *newest = Some((slot, now));
        }
    }

    /// The slot that a read must include. 0: any slot.
    pub(crate) fn slot(&self, now: Instant) -> u64 {
        let newest = *self.newest.lock();
        newest.filter(|(_, at)| now.saturating_duration_since(*at) < REMEMBERED).map_or(0, |(slot, _)| slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_slot_counts_until_it_is_forgotten() {
        let (seen, now) = (NewestSlot::default(), Instant::now());
        assert_eq!(seen.slot(now), 0);
        seen.note(7, now);
        seen.note(5, now);
        assert_eq!(seen.slot(now), 7);
        let later = now.checked_add(REMEMBERED).expect("in range");
        assert_eq!(seen.slot(later), 0);
        // A network that was rolled back is read again.
        seen.note(3, later);
        assert_eq!(seen.slot(later), 3);
    }
}
