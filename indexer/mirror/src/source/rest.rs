//! When an endpoint that failed may be used again.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::error::SourceError;

/// First pause after a failure. Each further failure in a row doubles it, up to the longest.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// The pause of one endpoint for one purpose.
#[derive(Debug, Default)]
pub(super) struct Rest(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    failures: u32,
    until: Option<Instant>,
    /// Why it failed last, if that is known.
    reason: Option<String>,
}

impl Rest {
    /// Notes how a use ended. One that is behind, or refuses a request, does not rest: it answered.
    pub(super) fn note(&self, error: Option<&SourceError>) {
        match error {
            None => *self.state() = State::default(),
            Some(SourceError::Behind { .. } | SourceError::Refused { .. } | SourceError::StreamEnded) => {}
            // Noted where the chain was checked.
            Some(SourceError::OtherGenesis { .. }) if self.reason().is_some() => {}
            Some(error) => self.failed(Some(error)),
        }
    }

    /// A stream that worked and ended has no reason that tells anything about the endpoint.
    pub(super) fn failed(&self, reason: Option<&SourceError>) {
        let mut state = self.state();
        let pause = SHORTEST.saturating_mul(2_u32.saturating_pow(state.failures)).min(LONGEST);
        state.failures = state.failures.saturating_add(1);
        state.until = Instant::now().checked_add(pause);
        state.reason = reason.map(ToString::to_string).or(state.reason.take());
    }

    /// Why it failed last; `None` if it succeeded since.
    pub(super) fn reason(&self) -> Option<String> {
        self.state().reason.clone()
    }

    /// Time until the endpoint may be used. Zero: now.
    pub(super) fn left(&self) -> Duration {
        let until = self.state().until;
        until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_end_with_a_success() {
        let rest = Rest::default();
        assert_eq!(rest.left(), Duration::ZERO);
        let silent = SourceError::Silent { node: "node".to_owned(), after: LONGEST };
        let pauses: Vec<u64> = (0..8)
            .map(|_| {
                rest.note(Some(&silent));
                // The part of a second that has passed since counts as a whole one.
                rest.left().as_secs() + 1
            })
            .collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        rest.note(Some(&SourceError::StreamEnded));
        assert!(!rest.left().is_zero() && rest.reason().is_some());
        rest.note(None);
        assert_eq!((rest.left(), rest.reason()), (Duration::ZERO, None));
    }
}
