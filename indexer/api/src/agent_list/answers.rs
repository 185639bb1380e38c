//! Keeps answers, so that the same page of the same table is computed once.

use std::sync::Arc;

use crtx_http::{ApiError, Whole};
use moka::{future::Cache, policy::EvictionPolicy};
use tokio::{sync::Semaphore, task::spawn_blocking};

/// Bytes of all answers that are kept.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// What an answer costs beyond its bytes.
const OVERHEAD: usize = 512;

/// The last answers. The key is the version of the table and the query as the client sent it, so nobody finds an answer of
/// an older table. Answers that nobody asks for are dropped first.
pub struct Answers {
    kept: Cache<(u64, String), Arc<Whole>>,
    /// Half of the processors may search.
    searches: Arc<Semaphore>,
}

impl Default for Answers {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let kept = Cache::builder().max_capacity(MAX_BYTES).eviction_policy(EvictionPolicy::lru()).weigher(size);
        Self { kept: kept.build(), searches: Arc::new(Semaphore::new(processors.div_ceil(2))) }
    }
}

/// With room for the compressed form.
fn size((_, query): &(u64, String), answer: &Arc<Whole>) -> u32 {
    let bytes = answer.bytes.len().saturating_add(answer.bytes.len().div_ceil(2));
    u32::try_from(bytes.saturating_add(query.len()).saturating_add(OVERHEAD)).unwrap_or(u32::MAX)
}

impl Answers {
    /// The answer to a query, which is made once, however many ask.
    pub async fn get(
        &self,
        version: u64,
        query: String,
        make: impl Future<Output = Result<Whole, ApiError>>,
    ) -> Result<Arc<Whole>, ApiError> {
        let answer = async { make.await.map(Arc::new) };
        let answer = self.kept.try_get_with((version, query), answer).await;
        answer.map_err(|error| ApiError::clone(&error))
    }

    /// Runs a search. Texts of strangers decide how long it takes, so it waits for a permit and runs on a thread for
    /// blocking work. It has the permit until it ends, even if the client goes away.
    pub async fn search<T: Send + 'static>(
        &self,
        make: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let place = Arc::clone(&self.searches).acquire_owned().await.map_err(ApiError::internal)?;
        let made = spawn_blocking(move || {
            let _place = place;
            make()
        });
        made.await.map_err(ApiError::internal)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ask(answers: &Answers, table: u64, query: &str, bytes: Option<usize>) -> Option<Arc<Whole>> {
        let whole = bytes.map(|bytes| Whole::json(vec![b'x'; bytes].into()));
        let make = async { whole.ok_or_else(|| ApiError::unavailable("none")) };
        answers.get(table, query.to_owned(), make).await.ok()
    }

    #[tokio::test]
    async fn an_answer_is_found_by_its_query_and_ends_with_its_table() {
        let (answers, first, second) = (Answers::default(), 1, 2);
        assert!(ask(&answers, first, "sort=trust", None).await.is_none());
        let made = ask(&answers, first, "sort=trust", Some(10)).await.expect("made");
        let found = ask(&answers, first, "sort=trust", None).await.expect("kept");
        assert!(Arc::ptr_eq(&made, &found));
        assert!(ask(&answers, first, "sort=trust&limit=20", None).await.is_none());
        assert!(ask(&answers, second, "sort=trust", None).await.is_none());
    }

    #[tokio::test]
    async fn answers_have_bounded_bytes_and_the_ones_that_are_asked_for_stay() {
        let (answers, current) = (Answers::default(), 1);
        for number in 0..1_000 {
            assert!(ask(&answers, current, &format!("offset={number}"), Some(40 * 1024)).await.is_some());
            assert!(ask(&answers, current, "offset=0", None).await.is_some(), "{number}");
            answers.kept.run_pending_tasks().await;
        }
        assert!(answers.kept.weighted_size() <= MAX_BYTES && answers.kept.entry_count() > 200);
    }
}
