//! When an endpoint that failed may be used again.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// First pause after a failure. Each further failure in a row doubles it, up to the longest.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// The pause of one endpoint for one purpose.
#[derive(Debug, Default)]
pub(super) struct Rest {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    until: Option<Instant>,
    /// Why it failed last, if that is known.
    reason: Option<String>,
}

impl Rest {
    pub(super) fn failed(&self, now: Instant) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let pause = SHORTEST.saturating_mul(2_u32.saturating_pow(state.failures)).min(LONGEST);
        state.failures = state.failures.saturating_add(1);
        state.until = now.checked_add(pause);
    }

    pub(super) fn failed_because(&self, now: Instant, reason: impl ToString) {
        self.failed(now);
        self.state.lock().unwrap_or_else(PoisonError::into_inner).reason = Some(reason.to_string());
    }

    /// Why it failed last; `None` if it succeeded since.
    pub(super) fn reason(&self) -> Option<String> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).reason.clone()
    }

    pub(super) fn succeeded(&self) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State::default();
    }

    /// Time until the endpoint may be used. Zero: now.
    pub(super) fn left(&self, now: Instant) -> Duration {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_end_with_a_success() {
        let (rest, now) = (Rest::default(), Instant::now());
        assert_eq!(rest.left(now), Duration::ZERO);
        let pauses: Vec<u64> = (0..8)
            .map(|_| {
                rest.failed(now);
                rest.left(now).as_secs()
            })
            .collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(rest.left(now + Duration::from_secs(61)), Duration::ZERO);
        rest.succeeded();
        assert_eq!(rest.left(now), Duration::ZERO);
    }
}
