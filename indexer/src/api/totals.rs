//! Totals of lists. Cheap totals are counted exactly each time. Expensive totals are counted once for all callers and
//! remembered for a time that grows with their cost.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use crtx_http::ApiError;

use super::flights::Flights;

/// A count that took less time is not remembered.
const CHEAP: Duration = Duration::from_millis(25);
/// A total is remembered for this multiple of its time, but not longer than [`MAX_AGE`].
const AGE_PER_COST: u32 = 10;
const MAX_AGE: Duration = Duration::from_secs(5);
/// Maximum number of remembered filters.
const MAX_FILTERS: usize = 1_000;

/// Totals by filter. Cheap to clone.
#[derive(Clone, Default)]
pub struct Totals {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// The totals, and until when they may be used.
    counted: Mutex<HashMap<String, (Instant, u64)>>,
    flights: Flights<u64>,
}

impl Totals {
    /// Returns the total of a filter, identified by its `key`: remembered, or counted now. `count` returns the total
    /// and its database time.
    pub async fn of(
        &self,
        key: String,
        count: impl Future<Output = Result<(u64, Duration), ApiError>> + Send + 'static,
    ) -> Result<u64, ApiError> {
        if let Some(total) = self.remembered(&key) {
            return Ok(total);
        }
        let (totals, counted_key) = (self.clone(), key.clone());
        let counting = async move {
            let (total, took) = count.await?;
            if took >= CHEAP {
                totals.remember(counted_key, total, took);
            }
            Ok(total)
        };
        self.shared.flights.join(&key, counting).await
    }

    fn remembered(&self, key: &str) -> Option<u64> {
        let counted = self.shared.counted.lock().unwrap_or_else(PoisonError::into_inner);
        counted.get(key).filter(|(until, _)| Instant::now() < *until).map(|(_, total)| *total)
    }

    fn remember(&self, key: String, total: u64, took: Duration) {
        let now = Instant::now();
        let Some(until) = now.checked_add(took.saturating_mul(AGE_PER_COST).min(MAX_AGE)) else { return };
        let mut counted = self.shared.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.len() >= MAX_FILTERS {
            counted.retain(|_, (until, _)| now < *until);
        }
        if counted.len() < MAX_FILTERS {
            counted.insert(key, (until, total));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ask(totals: &Totals, key: &str, total: u64, took: Duration) -> u64 {
        totals.of(key.to_owned(), async move { Ok((total, took)) }).await.expect("counted")
    }

    #[tokio::test]
    async fn cheap_totals_are_exact_and_expensive_ones_remembered_for_a_while() {
        let totals = Totals::default();
        let (cheap, expensive) = (Duration::from_millis(24), Duration::from_secs(1));
        assert_eq!(ask(&totals, "cheap", 9_999_999, cheap).await, 9_999_999);
        assert_eq!(ask(&totals, "cheap", 10, cheap).await, 10);
        assert_eq!(ask(&totals, "expensive", 3, expensive).await, 3);
        assert_eq!(ask(&totals, "expensive", 4, expensive).await, 3);
        assert_eq!(ask(&totals, "another", 7, expensive).await, 7);
    }

    #[tokio::test]
    async fn a_total_that_was_remembered_long_enough_is_counted_again() {
        let totals = Totals::default();
        let took = CHEAP;
        assert_eq!(ask(&totals, "key", 3, took).await, 3);
        tokio::time::sleep(took * (AGE_PER_COST + 1)).await;
        assert_eq!(ask(&totals, "key", 4, took).await, 4);
    }

    #[tokio::test]
    async fn a_flood_of_filters_does_not_fill_the_memory() {
        let totals = Totals::default();
        for number in 0..3_000 {
            ask(&totals, &number.to_string(), 5, MAX_AGE).await;
        }
        assert_eq!(totals.shared.counted.lock().expect("no thread panicked").len(), MAX_FILTERS);
    }
}
