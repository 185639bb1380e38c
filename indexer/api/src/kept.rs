//! Answers that are kept for a while. Requests for the same answer at the same time share one read. If the client of that
//! read goes away, the next client reads. All clients that wait get the same error, and an error is not kept.

use std::{
    hash::Hash,
    time::{Duration, Instant},
};

use crtx_http::ApiError;
use moka::{Expiry, future::Cache};

/// An answer is kept for [`AGE_PER_COST`] times as long as it took, within these bounds.
const MIN_AGE: Duration = Duration::from_secs(2);
const AGE_PER_COST: u32 = 10;
const MAX_AGE: Duration = Duration::from_secs(30);

/// How long an answer is kept if its read took this time.
pub fn age_of(took: Duration) -> Duration {
    took.saturating_mul(AGE_PER_COST).clamp(MIN_AGE, MAX_AGE)
}

#[derive(Clone)]
struct KeptAnswer<T> {
    answer: T,
    age: Duration,
}

struct Age;

impl<K, T> Expiry<K, KeptAnswer<T>> for Age {
    fn expire_after_create(&self, _: &K, held: &KeptAnswer<T>, _: Instant) -> Option<Duration> {
        Some(held.age)
    }
}

/// The last answers, each with its own lifetime.
pub struct Kept<K, T>(Cache<K, KeptAnswer<T>>);

impl<K: Hash + Eq + Send + Sync + 'static, T: Clone + Send + Sync + 'static> Kept<K, T> {
    /// Keeps at most so many answers, those that are asked for most.
    pub fn new(most: u64) -> Self {
        Self(Cache::builder().max_capacity(most).expire_after(Age).build())
    }

    /// The answer that is kept.
    pub async fn known(&self, key: &K) -> Option<T> {
        self.0.get(key).await.map(|held| held.answer)
    }

    /// The answer that is kept. If there is none, `read` returns one, with its lifetime.
    pub async fn get(
        &self,
        key: K,
        read: impl Future<Output = Result<(T, Duration), ApiError>>,
    ) -> Result<T, ApiError> {
        let reading = async { read.await.map(|(answer, age)| KeptAnswer { answer, age }) };
        let held = self.0.try_get_with(key, reading).await;
        held.map(|held| held.answer).map_err(|error| ApiError::clone(&error))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use tokio::time::sleep;

    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    #[derive(Clone)]
    struct Number {
        kept: Arc<Kept<&'static str, u64>>,
        asked: Arc<AtomicUsize>,
    }

    impl Number {
        fn new() -> Self {
            Self { kept: Arc::new(Kept::new(10)), asked: Arc::default() }
        }

        fn asked(&self) -> usize {
            self.asked.load(Ordering::Relaxed)
        }

        fn ask(
            &self,
            key: &'static str,
            answer: Result<Duration, ApiError>,
        ) -> tokio::task::JoinHandle<Result<u64, ApiError>> {
            let Self { kept, asked } = self.clone();
            tokio::spawn(async move {
                let read = async {
                    asked.fetch_add(1, Ordering::Relaxed);
                    sleep(Duration::from_millis(50)).await;
                    answer.map(|age| (7, age))
                };
                kept.get(key, read).await
            })
        }
    }

    #[tokio::test]
    async fn those_who_ask_at_the_same_time_share_one_read_and_later_ones_its_answer() {
        let number = Number::new();
        let all: Vec<_> =
            (0..64).map(|_| number.ask("same", Ok(LONG))).chain([number.ask("other", Ok(LONG))]).collect();
        for one in all {
            assert_eq!(one.await.expect("no panic"), Ok(7));
        }
        assert_eq!(number.ask("same", Ok(LONG)).await.expect("no panic"), Ok(7));
        assert_eq!(number.asked(), 2);
    }

    #[tokio::test]
    async fn an_answer_ends_with_its_time_and_an_error_is_told_and_not_kept() {
        let number = Number::new();
        let refused = ApiError::unavailable("no database");
        let all = [number.ask("same", Err(refused.clone())), number.ask("same", Err(refused.clone()))];
        for one in all {
            assert_eq!(one.await.expect("no panic"), Err(refused.clone()));
        }
        assert_eq!(number.asked(), 1);
        for asked in [2, 3] {
            assert_eq!(number.ask("same", Ok(Duration::from_millis(1))).await.expect("no panic"), Ok(7));
            assert_eq!(number.asked(), asked);
            sleep(Duration::from_millis(20)).await;
        }
    }

    #[tokio::test]
    async fn a_client_that_goes_away_leaves_the_others_their_answer() {
        let number = Number::new();
        let first = number.ask("same", Ok(LONG));
        sleep(Duration::from_millis(10)).await;
        let second = number.ask("same", Ok(LONG));
        sleep(Duration::from_millis(10)).await;
        first.abort();
        assert_eq!(second.await.expect("no panic"), Ok(7));
        assert_eq!(number.asked(), 2, "the second one read");
    }
}
