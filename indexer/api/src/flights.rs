//! Runs a query once for all callers that ask for it at the same time, and cancels it when no caller waits for it any
//! more.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use crtx_http::ApiError;
use futures::{
    FutureExt,
    future::{BoxFuture, Shared, WeakShared},
};

type Answer<T> = BoxFuture<'static, Result<T, ApiError>>;

/// Queries in progress, by key.
pub struct Flights<T: Clone> {
    under_way: Mutex<HashMap<String, WeakShared<Answer<T>>>>,
}

impl<T: Clone> Default for Flights<T> {
    fn default() -> Self {
        Self { under_way: Mutex::default() }
    }
}

impl<T: Clone + Send + Sync + 'static> Flights<T> {
    /// Joins the query in progress under this key, or starts `question`.
    pub async fn join(
        &self,
        key: &str,
        question: impl Future<Output = Result<T, ApiError>> + Send + 'static,
    ) -> Result<T, ApiError> {
        let shared = self.boarded(key, question);
        shared.await
    }

    fn boarded(
        &self,
        key: &str,
        question: impl Future<Output = Result<T, ApiError>> + Send + 'static,
    ) -> Shared<Answer<T>> {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        // A finished query runs again, because its answer is already old.
        if let Some(shared) = under_way.get(key).and_then(WeakShared::upgrade)
            && shared.peek().is_none()
        {
            return shared;
        }
        under_way.retain(|_, shared| shared.upgrade().is_some_and(|shared| shared.peek().is_none()));
        let shared = question.boxed().shared();
        if let Some(weak) = shared.downgrade() {
            under_way.insert(key.to_owned(), weak);
        }
        shared
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        time::Duration,
    };

    use super::*;

    struct Ended(Arc<AtomicUsize>);

    impl Drop for Ended {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[tokio::test]
    async fn concurrent_callers_share_one_question() {
        let flights = Arc::new(Flights::<u64>::default());
        let asked = Arc::new(AtomicUsize::new(0));
        let ask = |key: &'static str| {
            let (flights, asked) = (Arc::clone(&flights), Arc::clone(&asked));
            tokio::spawn(async move {
                let question = async move {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    asked.fetch_add(1, Ordering::Relaxed);
                    Ok(7)
                };
                flights.join(key, question).await
            })
        };
        let all: Vec<_> = (0..64).map(|_| ask("same")).chain([ask("other")]).collect();
        for one in all {
            assert_eq!(one.await.expect("no panic"), Ok(7));
        }
        assert_eq!(asked.load(Ordering::Relaxed), 2);
        assert_eq!(ask("same").await.expect("no panic"), Ok(7));
        assert_eq!(asked.load(Ordering::Relaxed), 3, "an answer is not kept");
    }

    #[tokio::test]
    async fn a_question_continues_while_a_caller_waits_and_ends_with_the_last_one() {
        let flights = Arc::new(Flights::<u64>::default());
        let ended = Arc::new(AtomicUsize::new(0));
        let ask = || {
            let (flights, guard) = (Arc::clone(&flights), Ended(Arc::clone(&ended)));
            tokio::spawn(async move {
                let question = async move {
                    let _guard = guard;
                    tokio::time::sleep(Duration::from_secs(600)).await;
                    Ok(7)
                };
                flights.join("same", question).await
            })
        };
        let first = ask();
        tokio::time::sleep(Duration::from_millis(20)).await;
        let second = ask();
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(ended.swap(0, Ordering::Relaxed), 1, "the second question is not needed");
        first.abort();
        let _ = first.await;
        assert_eq!(ended.load(Ordering::Relaxed), 0, "a caller still waits");
        second.abort();
        let _ = second.await;
        assert_eq!(ended.load(Ordering::Relaxed), 1);
    }
}
