//! The slot up to which this client has seen the chain: whoever was told that a transaction is confirmed
//! does not read from a node that has not heard of it.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// For how long reads have to include what was seen: longer than a node behind a balancer lags, and short
/// enough that a network which is set back, as local ones are, is soon read again.
const REMEMBERED: Duration = Duration::from_secs(15);

#[derive(Default)]
pub(crate) struct Seen {
    newest: Mutex<Option<(u64, Instant)>>,
}

impl Seen {
    pub(crate) fn note(&self, slot: u64, now: Instant) {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let known = newest.filter(|(_, at)| now.saturating_duration_since(*at) < REMEMBERED);
        if known.is_none_or(|(known, _)| known <= slot) {
            *newest = Some((slot, now));
        }
    }

    /// The slot that a read has to include. 0: any will do.
    pub(crate) fn slot(&self, now: Instant) -> u64 {
        let newest = *self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        newest.filter(|(_, at)| now.saturating_duration_since(*at) < REMEMBERED).map_or(0, |(slot, _)| slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_slot_counts_until_it_is_forgotten() {
        let (seen, now) = (Seen::default(), Instant::now());
        assert_eq!(seen.slot(now), 0);
        seen.note(7, now);
        seen.note(5, now);
        assert_eq!(seen.slot(now), 7);
        let later = now.checked_add(REMEMBERED).expect("in range");
        assert_eq!(seen.slot(later), 0);
        // A network that was set back is followed again.
        seen.note(3, later);
        assert_eq!(seen.slot(later), 3);
    }
}
