//! One answer for all who ask within a time that grows with what the answer cost.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use crtx_http::ApiError;

use crate::flights::Flights;

/// An answer is kept for [`AGE_PER_COST`] times as long as it took, within these bounds.
const MIN_AGE: Duration = Duration::from_secs(2);
const AGE_PER_COST: u32 = 10;
const MAX_AGE: Duration = Duration::from_secs(30);

/// The last answer, and when it expires.
pub struct Cache<T: Clone> {
    flights: Flights<T>,
    kept: Mutex<Option<(Instant, T)>>,
}

impl<T: Clone> Default for Cache<T> {
    fn default() -> Self {
        Self { flights: Flights::default(), kept: Mutex::default() }
    }
}

impl<T: Clone + Send + Sync + 'static> Cache<T> {
    /// The last answer, if it has not expired.
    pub fn fresh(&self) -> Option<T> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().filter(|(until, _)| Instant::now() < *until).map(|(_, answer)| answer.clone())
    }

    /// The answer of `question`, or of the same question that is under way already.
    pub async fn ask(
        &self,
        question: impl Future<Output = Result<T, ApiError>> + Send + 'static,
    ) -> Result<T, ApiError> {
        self.flights.join("", question).await
    }

    /// Keeps an answer that took so long.
    pub fn keep(&self, answer: &T, took: Duration) {
        self.keep_for(answer, took.saturating_mul(AGE_PER_COST).clamp(MIN_AGE, MAX_AGE));
    }

    /// Keeps an answer for that long.
    pub fn keep_for(&self, answer: &T, age: Duration) {
        let until = Instant::now().checked_add(age);
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = until.map(|until| (until, answer.clone()));
    }
}
