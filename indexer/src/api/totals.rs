//! Totals of lists. Small ones are counted each time and exact to the moment; large ones, which are what
//! makes a list expensive, are counted at most once a second for each filter.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use crtx_http::ApiError;
use crtx_store::StoreError;

/// From this total on, one more or less matters to nobody.
const LARGE: u64 = 10_000;
const MAX_AGE: Duration = Duration::from_secs(1);
/// Filters remembered at a time.
const MAX_FILTERS: usize = 1_000;

/// Large totals, by filter.
#[derive(Debug, Default)]
pub struct Totals {
    counted: Mutex<HashMap<String, (Instant, u64)>>,
}

impl Totals {
    /// The total of a filter, told apart by its `key`: remembered, or counted now.
    pub async fn of(&self, key: String, count: impl Future<Output = Result<u64, StoreError>>) -> Result<u64, ApiError> {
        if let Some(total) = self.remembered(&key) {
            return Ok(total);
        }
        let total = count.await?;
        if total >= LARGE {
            self.remember(key, total);
        }
        Ok(total)
    }

    fn remembered(&self, key: &str) -> Option<u64> {
        let counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        counted.get(key).filter(|(at, _)| at.elapsed() < MAX_AGE).map(|(_, total)| *total)
    }

    fn remember(&self, key: String, total: u64) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.len() >= MAX_FILTERS {
            counted.retain(|_, (at, _)| at.elapsed() < MAX_AGE);
        }
        if counted.len() < MAX_FILTERS {
            counted.insert(key, (Instant::now(), total));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ask(totals: &Totals, key: &str, total: u64) -> u64 {
        totals.of(key.to_owned(), async { Ok(total) }).await.expect("counted")
    }

    #[tokio::test]
    async fn small_totals_are_exact_and_large_ones_remembered_for_a_moment() {
        let totals = Totals::default();
        assert_eq!(ask(&totals, "small", 9_999).await, 9_999);
        assert_eq!(ask(&totals, "small", 10).await, 10);
        assert_eq!(ask(&totals, "large", 10_000).await, 10_000);
        assert_eq!(ask(&totals, "large", 10_001).await, 10_000);
        assert_eq!(ask(&totals, "another", 7).await, 7);
    }

    #[tokio::test]
    async fn a_flood_of_filters_does_not_fill_the_memory() {
        let totals = Totals::default();
        for number in 0..3_000 {
            ask(&totals, &number.to_string(), LARGE).await;
        }
        assert_eq!(totals.counted.lock().expect("nobody panicked").len(), MAX_FILTERS);
    }
}
